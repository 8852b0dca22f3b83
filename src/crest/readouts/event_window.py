"""The supervised reference: the mean over the annotated event steps."""

import torch

from crest._base.arrays import Features, Pooled, StepFlags, StepScores, valid_steps
from crest._base.tensors import as_flags
from crest.readouts.base import EventReadout, checked_inputs, equal_weights, weighted_sum


class EventWindowReadout(EventReadout):
    """Average the event steps; a trajectory without an event step is averaged whole.

    Example:
        >>> features = torch.tensor([[[1.0], [3.0], [5.0]]])
        >>> EventWindowReadout()(features, torch.tensor([[False, True, True]]))
        tensor([[4.]])
    """

    def forward(self, features: Features, events: StepFlags, mask: StepFlags | None = None) -> Pooled:
        """Pooled vector of each trajectory; zero if no step is valid."""
        return weighted_sum(*self._weighted(features, events, mask))

    def step_weights(
        self, features: Features, events: StepFlags, mask: StepFlags | None = None
    ) -> StepScores:
        """Equal weights on the event steps."""
        return self._weighted(features, events, mask)[1].to(features.dtype)

    def _weighted(
        self, features: Features, events: StepFlags, mask: StepFlags | None
    ) -> tuple[Features, StepScores]:
        """Checked features and the weight of each step."""
        features, given, _ = checked_inputs(features, mask, self.validate)
        valid = valid_steps(given, features[..., 0])
        inside = as_flags("events", events, features, self.validate) & valid
        inside = torch.where(inside.any(1, keepdim=True), inside, valid)
        return features, equal_weights(inside, features)
