"""Attention inside local windows, then the average over windows: the locality prior, a negative control."""

import torch

from crest._base.arguments import require
from crest._base.arrays import Features, StepMask, StepScores
from crest.readouts.base import WeightedReadout, learned_vector, masked_softmax, scaled_scores


def windowed_softmax(logits: StepScores, mask: StepMask, window: int) -> StepScores:
    """Softmax inside windows of consecutive steps, divided by the number of windows with a valid step.

    Windows start at the first step of the tensor; the last one may be shorter.

    Example:
        >>> windowed_softmax(torch.zeros(1, 3), torch.ones(1, 3, dtype=torch.bool), window=2)
        tensor([[0.2500, 0.2500, 0.5000]])
    """
    steps = logits.shape[1]
    surplus = (window - steps % window) % window
    blocks = torch.nn.functional.pad(logits, (0, surplus)).reshape(logits.shape[0], -1, window)
    valid = torch.nn.functional.pad(mask, (0, surplus)).reshape(blocks.shape)
    windows = valid.any(-1).sum(1, keepdim=True)
    return masked_softmax(blocks, valid).flatten(1)[:, :steps] / windows.clamp(min=1)


class WindowedReadout(WeightedReadout):
    """Attend with one learned query inside each local window and average the windows.

    Windows start at the first step of the tensor, so padding belongs at the end: at the start it would shift
    them.

    Args:
        width: number of feature channels D.
        window: steps per window.
        validate: see `Readout`.
    """

    # our choice: docs/evidence/choices.md#window
    def __init__(self, width: int, *, window: int = 32, validate: bool = True) -> None:
        super().__init__(width=width, validate=validate)
        require("window", window, "be a whole number, 1 or more")
        self.window = window
        self.query = learned_vector(width)

    def extra_repr(self) -> str:
        """The window, for `print(model)`."""
        return f"window={self.window}"

    def _weights(self, features: Features, mask: StepMask) -> StepScores:
        return windowed_softmax(scaled_scores(features, self.query), mask, self.window)
