"""A layer in front of a model, with the masks and lengths that either of them takes."""

from typing import Any

import torch
from torch import Tensor, nn

from crest.remedies.high_pass import HighPass
from crest.remedies.remedy import mask_argument
from crest.strangers.lengths import lengths_of, mask_from
from crest.strangers.signature import (
    is_mask,
    length_argument,
    length_beside_mask,
    mask_keyword,
    names_mask,
    needed_lengths,
    require_valid_steps,
    step_argument,
)


class WithFront(nn.Module):
    """A model behind a layer for its signals, such as `crest.HighPass`.

    Args:
        front: from signals, and a mask (B, T) if it has an argument of such a name, to signals.
        model: called with the signals and, if there is one, the mask, or the lengths if it takes those.

    Example:
        >>> import torch
        >>> model = WithFront(HighPass("level"), nn.Flatten())
        >>> model(torch.tensor([[[1.0], [2.0], [6.0]]]))
        tensor([[-2., -1.,  3.]])
    """

    def __init__(self, front: nn.Module, model: nn.Module) -> None:
        super().__init__()
        if isinstance(model, HighPass):
            raise ValueError(
                "model must be the model behind the filter, got the filter: WithFront(front, model)"
            )
        self.front = front
        self.model = model
        # Read once: signatures cannot be traced.
        self._front_mask = mask_argument(front)
        self._by_name = mask_keyword(model)
        self._by_length = length_argument(model)
        self._beside = length_beside_mask(model)
        self._needed = needed_lengths(model)
        self._own = step_argument(model)

    def forward(self, x: Tensor, mask: Any = None, lengths: Any = None, **others: Any) -> Tensor:
        """The model's prediction from what the front leaves of the signals.

        Args:
            x: signals.
            mask: (B, T), True on valid steps; or lengths (B,). What is neither goes to the model as its second argument.
            lengths: (B,), in the place of a mask.
            **others: for the model. Mask or lengths under the model's own name for them are taken from these.
        """
        first = getattr(self.front, "channels_first", None)
        own = self._own or ""
        by_length = self._by_length or self._beside or ""
        if lengths is None and _has_lengths(others.get(by_length)):
            lengths = others.pop(by_length)
        if mask is None and self._is_mask(others.get(own), x, first):
            mask = others.pop(own)
        if mask is not None and not self._tells_steps(mask, x, first):
            others[own], mask = mask, None
        if mask is not None and _has_lengths(mask):
            mask, lengths = None, mask
        # Only lengths, for a model that takes them beside a mask of padding: the mask made of them is for the front alone.
        alone = mask is None and lengths is not None and self._beside is not None and "pad" in own
        if lengths is not None:
            lengths = torch.as_tensor(lengths, device=x.device)
            mask = mask_from(lengths, x, channels_first=first) if mask is None else mask
        if mask is not None and not alone:
            require_valid_steps(self._own)
        left = self.front(x) if self._front_mask is None else self.front(x, **{self._front_mask: mask})
        return self._answer(left, None if alone else mask, lengths, others)

    def _answer(
        self, left: Tensor, mask: Tensor | None, lengths: Tensor | None, others: dict[str, Any]
    ) -> Tensor:
        """What the model says to the signals that the front has left, with mask and lengths under its own names for them."""
        answer: Tensor
        if mask is not None and self._needed is not None and lengths is None:
            lengths = lengths_of(mask)
        if self._beside is not None and lengths is not None:
            others.setdefault(self._beside, lengths)
        if mask is None or self._by_length in others:
            answer = self.model(left, **others)
        elif self._by_length is not None:
            given = lengths_of(mask) if lengths is None else lengths
            answer = self.model(left, **{self._by_length: given}, **others)
        elif self._by_name is not None:
            answer = self.model(left, **{self._by_name: mask}, **others)
        else:
            answer = self.model(left, mask, **others)
        return answer

    def _is_mask(self, value: Any, x: Tensor, channels_first: bool | None) -> bool:
        """Whether what the model is given in the place of its mask is one (B, T); a mask with other axes is refused."""
        if value is None:
            return False
        # Not `len`: it would fix the batch size of an exported graph.
        found = is_mask(value, self._own, (x.shape[0], x.shape[2 if channels_first else 1]))
        if found and value.ndim != 2:
            raise ValueError(
                f"{self._own} must have shape (B, T), got {tuple(value.shape)}: the front would read the padding"
            )
        return found

    def _tells_steps(self, value: Any, x: Tensor, channels_first: bool | None) -> bool:
        """Whether what was given in the second place is a mask or lengths, or else the model's own second argument."""
        by_name = (
            self._own is None
            or self._by_name is not None
            or self._by_length is not None
            or names_mask(self._own)
        )
        return by_name or self._is_mask(value, x, channels_first)


def _has_lengths(value: Any) -> bool:
    """Whether this may be lengths (B,), in a list too."""
    return isinstance(value, list | tuple) or getattr(value, "ndim", None) == 1
