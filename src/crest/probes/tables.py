"""Arrays of two axes: N trajectories of one channel, (N, T), and tables of features, which are no signals."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

# As many as the readers of `crest.cues` need. our choice: docs/evidence/choices.md#tables
FEWEST_STEPS = 16
FEATURES_TO_MODEL = "lambda x: model.predict(features(x))"
"""What to write for a model of features: a function from signals to predictions."""


def require_no_features(argument: str, shape: tuple[int, ...]) -> None:
    """Raise a ValueError for (N, F) with few columns: a table of features, or a single trajectory.

    Args:
        argument: what messages call it.
        shape: of two axes.

    Example:
        >>> require_no_features("inputs", (64, 5))
        Traceback (most recent call last):
        ValueError: inputs must be signals, got (64, 5), which looks like a table of features: crest needs the signals. Give \
(signals, targets), and for a model of features the function lambda x: model.predict(features(x)). A single trajectory: stack \
some of them
    """
    if shape[1] < FEWEST_STEPS:
        raise ValueError(
            f"{argument} must be signals, got {shape}, which looks like a table of features: crest needs the signals. Give "
            f"(signals, targets), and for a model of features the function {FEATURES_TO_MODEL}. A single trajectory: stack "
            "some of them"
        )


def table_note(shape: tuple[int, ...]) -> str:
    """How (N, T) is read, for an audit's notes.

    Example:
        >>> table_note((64, 200))
        'inputs (64, 200) read as 64 trajectories of 200 steps and one channel. If the columns are features, crest needs the \
signals: pass these, and lambda x: model.predict(features(x)) as the model'
    """
    return (
        f"inputs {shape} read as {shape[0]} trajectories of {shape[1]} steps and one channel. If the columns are features, crest "
        f"needs the signals: pass these, and {FEATURES_TO_MODEL} as the model"
    )


def signals_of_table(
    inputs: Tensor, function: Callable[..., Any], argument: str
) -> tuple[Tensor, Callable[..., Any]]:
    """(N, T) as signals (N, T, 1), and the function of (B, T) as one of those.

    Example:
        >>> import torch
        >>> signals, function = signals_of_table(torch.ones(4, 50), lambda x: x.sum(1), "inputs")
        >>> signals.shape, function(signals)
        (torch.Size([4, 50, 1]), tensor([50., 50., 50., 50.]))
    """
    require_no_features(argument, tuple(inputs.shape))
    return inputs.unsqueeze(-1), lambda signals, *mask: function(signals[..., 0], *mask)
