"""How a repaired model differs in its build from the model that was given: a filter in front, another pooling."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor, nn

from crest.checks.doors import door
from crest.lengths import lengths_of, mask_from
from crest.readouts.crest import CrestReadout
from crest.remedies.high_pass import HighPass
from crest.remedies.reanchored import BudgetChoice
from crest.replacement.calls import (
    length_argument,
    require_valid_steps,
    step_argument,
    takes_mask_by_name,
)
from crest.replacement.replacing import replace_pooling
from crest.replacement.slot import Layout


class WithFront(nn.Module):
    """A model behind a layer for its signals, such as `crest.HighPass`.

    Args:
        front: from signals, and maybe a mask (B, T), to signals.
        model: called with the signals and, where there is one, the mask, or the lengths where it takes those.

    Example:
        >>> import torch
        >>> model = WithFront(HighPass("level"), nn.Flatten())
        >>> model(torch.tensor([[[1.0], [2.0], [6.0]]]))
        tensor([[-2., -1.,  3.]])
    """

    def __init__(self, front: nn.Module, model: nn.Module) -> None:
        super().__init__()
        self.front = front
        self.model = model
        # Read once: signatures cannot be traced.
        self._by_name = takes_mask_by_name(model)
        self._by_length = length_argument(model)
        self._own = step_argument(model)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, lengths: Tensor | None = None, **others: Any
    ) -> Tensor:
        """The model's answer to what the front leaves of the signals.

        Args:
            x: signals.
            mask: (B, T), True on valid steps; or lengths (B,), for a model whose second argument they are.
            lengths: (B,), in the place of a mask.
            **others: for the model. Mask or lengths under the model's own name for them are taken from these.
        """
        if mask is None and self._own in others:
            mask = others.pop(self._own)
        if mask is not None and mask.ndim == 1:
            mask, lengths = None, mask
        if lengths is not None and mask is None:
            mask = mask_from(lengths, x, channels_first=getattr(self.front, "channels_first", None))
        if mask is not None:
            require_valid_steps(self._own)
        left = self.front(x, mask)
        answer: Tensor
        if mask is None:
            answer = self.model(left, **others)
        elif self._by_length is not None:
            given = lengths_of(mask) if lengths is None else lengths
            answer = self.model(left, **{self._by_length: given}, **others)
        elif self._by_name:
            answer = self.model(left, mask=mask, **others)
        else:
            answer = self.model(left, mask, **others)
        return answer


@door
@dataclass(frozen=True, kw_only=True)
class Structure:
    """What a repair changed in the build of a model; its weights are apart.

    Example:
        >>> structure = Structure(front="level")
        >>> structure.build(nn.Flatten()).front
        HighPass('level')
        >>> Structure.read(structure.written()) == structure
        True
    """

    front: str | None = None
    """The kind of background that a `crest.HighPass` in front of the model takes off."""
    channels_first: bool = False
    """Whether the model takes signals (B, C, T)."""
    pooling: str | None = None
    """The path where CREST stands."""
    layout: Layout | None = None
    """How the layer there is called."""
    keepdim: bool | None = None
    """Whether it keeps a time axis of length one."""
    budget: BudgetChoice = "pooled"
    """CREST's budget."""
    stride: int = 1
    """Input steps for each step of the features, in which CREST's constants count."""

    def build(self, model: nn.Module) -> nn.Module:
        """The model, built so; it is changed in place."""
        if self.pooling is not None:
            readout = CrestReadout(self.budget, stride=self.stride)
            replace_pooling(
                model, self.pooling, readout, layout=self.layout, keepdim=self.keepdim, warn=False
            )
        if self.front is None:
            return model
        return WithFront(HighPass(self.front, channels_first=self.channels_first), model).train(
            model.training
        )

    def written(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    @door
    def read(cls, text: str) -> "Structure":
        """What `written` wrote.

        Raises:
            ValueError: For another text.
        """
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"text must be what Structure.written wrote: {error}") from error
