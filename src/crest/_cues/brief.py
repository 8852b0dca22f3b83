"""Can the target be read from what is brief alone? The premise of every audit."""

from typing import Any

import numpy as np
from torch import Tensor

from crest._cues.cues import readings_of
from crest._cues.inputs import signals_of, targets_of
from crest._cues.readers import read, widened
from crest._cues.result import Cue
from crest._cues.scores import Draws, score_of


def brief_cue(x: Tensor, y: Any, mask: Tensor | None = None, *, bootstrap: int = 200, seed: int = 0) -> Cue:
    """The row "core" of `crest.cues`, by itself.

    Args:
        x: signals (N, T, C); channels that do not vary are left out.
        y: targets (N,).
        mask: valid steps (N, T).
        bootstrap: how many samples the interval comes from.
        seed: of the reader's waves and of the bootstrap.

    Example:
        >>> import torch
        >>> generator = torch.Generator().manual_seed(1000)
        >>> size = torch.rand(64, generator=generator)
        >>> x = 0.01 * torch.randn(64, 100, 1, generator=generator)
        >>> x[:, 50:53, 0] += 1 + size[:, None]
        >>> brief_cue(x, size).score > 0.9
        True
    """
    rows = signals_of(x, mask, False, constant_too=True)
    targets = targets_of(y, len(x), None)
    vectors = widened(readings_of(rows, ("core",))["core"], seed)
    draws = Draws.made(np.arange(len(x)), bootstrap, seed)
    score = score_of(targets.wanted, read(vectors, targets.wanted.columns, None), draws)
    return Cue(
        name="core",
        score=score.value,
        interval=score.interval,
        chance=targets.wanted.chance,
        beats_constant=score.beats_constant,
    )
