"""A budget that is found before any training: on the signals, which do not change while an encoder learns."""

import torch
from torch import Tensor

from crest._base.doors import door
from crest._base.tensors import as_mask, require_finite, require_series
from crest.readouts.budget import event_budget
from crest.readouts.config import CrestConfig
from crest.readouts.crest import CrestReadout

# So many at once; the budget does not depend on it where all are full.
_BATCH = 64


@door
def signal_budget(signals: Tensor, mask: Tensor | None = None, *, config: CrestConfig | None = None) -> float:
    """The event fraction that CREST finds on signals (N, T, C), for `CrestReadout(signal_budget(signals))`.

    The pooled budget follows the features, and so the encoder, which it teaches in turn: behind recurrent encoders it can run to
    either end of its range. The signals stay. Give training data as the model gets them; no label is used.

    Args:
        signals: (N, T, C).
        mask: (N, T), True where a step is valid.
        config: the constants.

    Example:
        >>> signals = 0.01 * torch.randn(8, 500, 2, generator=torch.Generator().manual_seed(0))
        >>> signals[:, 100:104] += 1.0
        >>> round(signal_budget(signals), 3)  # the least that there is
        0.02
    """
    require_series("signals", signals, "(N, T, C)")
    valid = as_mask(mask, signals)
    require_finite("signals", signals, valid)
    readout = CrestReadout(run_up=0, config=config)
    whole = torch.split(signals, _BATCH)
    parts = whole if valid is None else zip(whole, torch.split(valid, _BATCH), strict=True)
    running = readout.calibrate(parts).running
    assert running is not None
    return float(event_budget(running.width, running.tail, readout.config))
