"""The supervised reference: the mean over the annotated event steps."""

import torch

from crest.arrays import EventMask, Features, Pooled, StepMask, StepScores
from crest.readouts.base import EventReadout, checked, equal_weights, valid_steps, weighted_sum


class EventWindowReadout(EventReadout):
    """Average the event steps; a trajectory without an event step is averaged whole.

    Example:
        >>> features = torch.tensor([[[1.0], [3.0], [5.0]]])
        >>> EventWindowReadout()(features, torch.tensor([[False, True, True]]))
        tensor([[4.]])
    """

    def forward(self, features: Features, events: EventMask, mask: StepMask | None = None) -> Pooled:
        """Pooled vector of each trajectory; zero where no step is valid."""
        features = checked(features, mask, self.validate)
        return weighted_sum(features, self._weights(features, events, valid_steps(features, mask)))

    def step_weights(self, features: Features, events: EventMask, mask: StepMask | None = None) -> StepScores:
        """Equal weights on the event steps."""
        features = checked(features, mask, self.validate)
        return self._weights(features, events, valid_steps(features, mask)).to(features.dtype)

    def _weights(self, features: Features, events: EventMask, valid: StepMask) -> StepScores:
        if events.shape != valid.shape or events.dtype != torch.bool:
            raise ValueError(
                f"events must be boolean (events.bool() converts) of shape {tuple(valid.shape)}, "
                f"got {events.dtype} {tuple(events.shape)}"
            )
        inside = events & valid
        inside = torch.where(inside.any(1, keepdim=True), inside, valid)
        return equal_weights(inside, features)
