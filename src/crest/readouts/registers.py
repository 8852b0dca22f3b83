"""Attention pooling over the steps and a few learned register tokens (after Darcet et al. 2024)."""

import torch
from torch import nn

from crest._base.arguments import require
from crest._base.arrays import Features, Pooled, StepFlags, StepScores
from crest.readouts.base import Readout, learned_vector, masked_softmax, scaled_scores, weighted_sum


class RegistersReadout(Readout):
    """Attend with one learned query over the steps and learned registers, which can take surplus attention.

    Args:
        width: number of feature channels D.
        registers: number of register tokens.
        validate: see `Readout`.
    """

    # our choice: docs/evidence/choices.md#registers
    def __init__(self, width: int, *, registers: int = 4, validate: bool = True) -> None:
        super().__init__(width=width, validate=validate)
        require("registers", registers, "be a whole number, 1 or more")
        self.query = learned_vector(width)
        self.registers = nn.Parameter(torch.stack([learned_vector(width) for _ in range(registers)]).detach())

    def forward(self, features: Features, mask: StepFlags | None = None) -> Pooled:
        """Pooled vector of each trajectory; zero if no step is valid."""
        features, valid, far = self.checked_for_scores(features, mask)
        registers = self.registers.to(features.dtype).expand(features.shape[0], -1, -1)
        tokens = torch.cat([features, registers], dim=1)
        present = torch.nn.functional.pad(valid, (0, len(self.registers)), value=True)
        pooled = weighted_sum(
            tokens, masked_softmax(scaled_scores(self.scored(tokens, far), self.query), present)
        )
        return pooled * valid.any(1, keepdim=True)

    def step_weights(self, features: Features, mask: StepFlags | None = None) -> StepScores:
        """Attention on the steps, as a share of what the registers leave to them."""
        features, valid, far = self.checked_for_scores(features, mask)
        weights = masked_softmax(scaled_scores(self.scored(features, far), self.query), valid)
        return weights.to(features.dtype)
