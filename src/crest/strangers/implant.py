"""A readout between features and head of a model that pools in a line of its `forward`; its code stays as it is."""

import threading
from typing import Any

import torch
from torch import Tensor, nn

from crest._base.arrays import Features, Pooled, StepFlags, StepMask
from crest.readouts.base import Readout
from crest.strangers.interface import Interface
from crest.strangers.lengths import valid_at
from crest.strangers.model import part_at
from crest.strangers.series import copy_of, one_vector, series_of
from crest.strangers.signature import (
    argument_names,
    is_mask,
    length_argument,
    require_valid_steps,
    step_argument,
)

_NAME = "crest_implant"
"""Under this name the head holds the implant, so that readout and running averages are in the model's state."""


class Implant(nn.Module):
    """A readout that gives a head its input: hooks take the features on their way and put the pooled vector in its place.

    Four hooks do it, all of them methods of this module. `copy.deepcopy` and `pickle` copy a method together with its object,
    so each copy of a model has hooks that lead to its own implant, and none twice. Around each call of the model, one
    hook learns the mask from the arguments and one forgets everything, also after an error. One takes what the features' module
    gives, with its gradients. One replaces what the head is given. The model's own line still runs; nothing reads its result.

    It cannot be taken out again: keep a copy of the model from before. `nn.DataParallel` is not supported, since its replicas would share
    the hooks of one implant; `DistributedDataParallel` has a whole model in each process.

    Args:
        readout: pools (B, T', D) -> (B, D).
        interface: where features and head are.
        model: whose `forward` says how it takes a mask or lengths; it is not kept.
    """

    def __init__(self, readout: Readout, interface: Interface, model: nn.Module) -> None:
        super().__init__()
        self.readout = readout
        self.interface = interface
        # Read once: signatures cannot be traced.
        names = argument_names(model)
        self._argument = step_argument(model)
        self._place = names.index(self._argument) if self._argument in names else -1
        self._first = names[0] if names else ""
        self._by_length = length_argument(model) is not None
        self._call = threading.local()

    def forward(self, features: Features, mask: StepFlags | None = None) -> Pooled:
        """The pooled vector (B, D) of the features (B, T', D)."""
        pooled: Tensor = self.readout(features, mask)
        return pooled

    def extra_repr(self) -> str:
        """Where it stands, for `print(model)`."""
        return str(self.interface)

    def steps_of(self, output: Any, valid: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Features (B, T', D) as they are pooled, from what their module gave, and which of their steps are valid.

        Args:
            output: of the features' module.
            valid: (B, T), the valid steps of the inputs; None for all.
        """
        series, lengths = series_of(output)
        if series is None:
            raise ValueError(
                f"features must have a time axis, got {type(output).__name__} from {self.interface.features!r}"
            )
        features = self.interface.active(series.permute(self.interface.axes))
        features = features[:, int(self.interface.token) :]
        if lengths is not None:
            # A packed sequence knows its lengths, whatever the model was told.
            return features, torch.arange(features.shape[1], device=features.device) < lengths.unsqueeze(1)
        if valid is not None:
            valid = valid_at(valid, features.shape[1], self.interface.rate)
        return features, valid

    def reads(self, mask: Tensor) -> bool:
        """Whether it will know a mask (B, T) like this one for a mask when the model is called with it."""
        rows, steps = mask.shape
        return self._by_length or (self._place > 0 and is_mask(mask, self._argument, (rows, steps)))

    def attach(self, model: nn.Module) -> None:
        """Register the hooks; once for each implant, since copies bring theirs along."""
        features, head = (
            model.get_submodule(path) for path in (self.interface.features, self.interface.head)
        )
        model.register_forward_pre_hook(self._begin, with_kwargs=True)
        model.register_forward_hook(self._end, always_call=True)
        features.register_forward_hook(self._take)
        head.register_forward_pre_hook(self._give)

    def _begin(self, _: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._call.valid = self._valid(inputs, named)
        self._call.taken = None
        self._call.count = 0

    def _end(self, *_: Any) -> None:
        self._call.__dict__.clear()

    def _take(self, _: nn.Module, __: Any, output: Any) -> None:
        called = self._call.__dict__
        if "count" not in called:
            # Outside of a call of the whole model there is nothing to pool for.
            return
        called["count"] += 1
        # A copy, as the finder and `captured` have it: the next line may write over the features, such as a ReLU in place. Whether
        # one will cannot be known here, and the readout makes more copies than this one.
        called["taken"] = copy_of(output)

    def _give(self, _: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        called, names = self._call.__dict__, self.interface
        if "count" not in called:
            raise ValueError(
                f"model must be called as model(x), not by its parts or by model.forward(x): {names.head!r} reads a readout of "
                "crest, which needs the whole call"
            )
        if called["count"] != 1:
            raise ValueError(
                f"features must come from a module that the model calls once before its head, got {names.features!r}: "
                f"{called['count']} calls before {names.head!r}"
            )
        features, valid = self.steps_of(called["taken"], called["valid"])
        called["taken"] = None
        given = inputs[0] if inputs else None
        vector = one_vector(given, len(features)) if isinstance(given, Tensor) else None
        if given is None or vector is None or vector.shape[1] != features.shape[2]:
            got = tuple(given.shape) if isinstance(given, Tensor) else type(given).__name__
            raise ValueError(
                f"head must read one vector (B, {features.shape[2]}) of each trajectory, as wide as the features of "
                f"{names.features!r}, got {got} in front of {names.head!r}"
            )
        pooled = self(features, valid)
        return (pooled.reshape(given.shape).to(given.dtype), *inputs[1:])

    def _valid(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> StepMask | None:
        """The valid steps (B, T) that this call of the model was told, if it was told any."""
        signals = inputs[0] if inputs else named.get(self._first)
        given = inputs[self._place] if 0 < self._place < len(inputs) else named.get(self._argument or "")
        if given is None or not isinstance(signals, Tensor):
            return None
        steps = signals.shape[2 if self.interface.channels_first else 1]
        if self._by_length:
            lengths = torch.as_tensor(given, device=signals.device)
            return torch.arange(steps, device=signals.device) < lengths.unsqueeze(1)
        if not is_mask(given, self._argument, (len(signals), steps)):
            return None
        if given.shape != (len(signals), steps):
            raise ValueError(
                f"{self._argument} must have shape (B, T) = {(len(signals), steps)}, got {tuple(given.shape)}: the readout in front of "
                f"{self.interface.head!r} would pool the padding"
            )
        require_valid_steps(self._argument)
        valid: Tensor = given.to(signals.device) != 0
        return valid

    def __getstate__(self) -> dict[str, Any]:
        # What a call has taken stays with its thread: it can be neither copied nor written.
        return {name: value for name, value in self.__dict__.items() if name != "_call"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._call = threading.local()


def implant_readout(model: nn.Module, readout: Readout, interface: Interface) -> nn.Module:
    """The same model, in place, with `readout` between its features and its head.

    The readout moves to the device of the head, its weights to the head's dtype, and it takes the model's training mode. A second
    one at the same head takes the place of the first.

    Args:
        model: any module; it must be called as `model(x)`.
        readout: what pools from now on.
        interface: where features and head are, from `find_interface`.

    Example:
        >>> from crest.readouts import MaxReadout
        >>> class Network(nn.Module):
        ...     def __init__(self) -> None:
        ...         super().__init__()
        ...         self.encoder, self.head = nn.Conv1d(1, 8, 5), nn.Linear(8, 1)
        ...     def forward(self, x: Tensor) -> Tensor:
        ...         return self.head(self.encoder(x).mean(-1))
        >>> found = Interface(features="encoder", head="head", axes=(0, 2, 1), steps=46, width=8, inputs=50, channels_first=True)
        >>> model, x = Network(), torch.randn(2, 1, 50)
        >>> _ = implant_readout(model, MaxReadout(), found)
        >>> torch.equal(model(x), nn.functional.linear(model.encoder(x).amax(-1), model.head.weight, model.head.bias))
        True
    """
    part_at(model, "features", interface.features)
    head = part_at(model, "head", interface.head)
    if isinstance(head, nn.Sequential | nn.ModuleList | nn.ModuleDict):
        raise ValueError(
            f"head must name a layer, got {interface.head!r}: {type(head).__name__}; name its first layer"
        )
    weight = next(head.parameters(), None)
    if weight is not None:
        readout.to(weight.device)
        for own in readout.parameters():
            own.data = own.data.to(weight.dtype)
    readout.train(model.training)
    before = getattr(head, _NAME, None)
    if isinstance(before, Implant):
        if before.interface != interface:
            raise ValueError(
                f"head must be one that no other readout feeds, got {interface.head!r}, fed by {before.interface}"
            )
        before.readout = readout
        return model
    implant = Implant(readout, interface, model).train(model.training)
    head.add_module(_NAME, implant)
    implant.attach(model)
    return model
