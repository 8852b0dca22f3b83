"""The pooling interface of a model: the features of each step, and the vector that the head reads."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from crest._base.arrays import Features, Pooled
from crest.strangers.batch import Batch
from crest.strangers.model import StrangerModel, part_at
from crest.strangers.series import Axes, axes_of, copy_of, one_vector, series_of


@dataclass(frozen=True, kw_only=True)
class Interface:
    """Where a model's features and its pooled vector are."""

    features: str
    """Name of the module that gives the features, as `model.named_modules()` lists it."""
    head: str
    """Name of the module whose input is the pooled vector."""
    axes: Axes
    """Where batch, time and channels are in the features."""
    steps: int
    """Number of feature steps."""
    width: int
    """Number of feature channels."""
    activation: str = ""
    """Name of the function in `torch.nn.functional` that stands between the module and the pooling, if one was found."""
    token: bool = False
    """Whether the first step is a class token, which stands for no step of the inputs."""
    inputs: int = 0
    """Number of input steps for which there are that many feature steps; 0 for as many."""
    channels_first: bool = False
    """Whether the model takes (B, C, T)."""
    linear: str | None = None
    """Name of the linear layer that reads the pooled vector, maybe behind the normalisation that is the head here."""

    @property
    def rate(self) -> float:
        """Input steps for each step of the features."""
        steps = self.steps - self.token
        return (self.inputs or steps) / steps

    @property
    def stride(self) -> int:
        """The rate in whole steps, 1 at least."""
        return max(1, round(self.rate))

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> "Interface":
        """What `dataclasses.asdict` gave, also behind JSON, which has no tuples."""
        return cls(**{**fields, "axes": tuple(fields["axes"])})

    def active(self, features: Features) -> Features:
        """The features (B, T', D) as they are pooled."""
        return _ACTIVATIONS[self.activation](features) if self.activation else features

    def __str__(self) -> str:
        order = {(0, 1, 2): "(B, T, D)", (0, 2, 1): "(B, D, T)"}.get(self.axes, "(T, B, D)")
        behind = f" behind {self.activation}" if self.activation else ""
        return (
            f"features of {self.features!r}{behind}, {order} with T = {self.steps} and D = {self.width}, "
            f"read by {self.head!r}"
        )


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    name: getattr(nn.functional, name)
    for name in ("relu", "gelu", "silu", "elu", "leaky_relu", "tanh", "sigmoid")
}
_POOLINGS: tuple[Callable[[Tensor], Tensor], ...] = (
    lambda steps: steps.mean(1),
    lambda steps: steps.amax(1),
    lambda steps: steps.sum(1),
    lambda steps: steps[:, 0],
    lambda steps: steps[:, -1],
)
_NORMS = (nn.LayerNorm, nn.BatchNorm1d, nn.RMSNorm)


class InterfaceError(ValueError):
    """A model whose features and pooled vector were not found; the message says what to give."""


class ModuleCall(NamedTuple):
    """One call of a module, as the finders see it; its tensors are copies."""

    name: str
    """As `model.named_modules()` lists it."""
    inputs: Tensor | None
    """The first tensor that it was given."""
    output: Tensor | None
    """What it gave, if that has three axes."""
    kind: type[nn.Module]
    """Its class."""


def find_interface(
    stranger: StrangerModel, batch: Batch, *, features: str | None = None, head: str | None = None
) -> Interface:
    """Where the features and the pooled vector are: as named, or found from one call of the model.

    The pooled vector is the input of the first linear layer behind the last features, or of a normalisation in front of it;
    the features are the last output with a time axis and as many channels as that vector has numbers. What counts is the
    head's *input*, so that it does not matter how the model pools. If a usual pooling of the features behind an
    activation gives that input, the activation counts as part of the features.

    Args:
        stranger: a module. Its order of the axes decides where steps and channels are equally many.
        batch: some trajectories, as it takes them.
        features: name of a module, if it is known.
        head: name of a module, if it is known.

    Example:
        >>> model = nn.Sequential(nn.Conv1d(1, 4, 3), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 1))
        >>> stranger = StrangerModel(model, channels_first=True)
        >>> print(find_interface(stranger, Batch(torch.randn(2, 1, 32), channels_first=True)))
        features of '0', (B, D, T) with T = 30 and D = 4, read by '3'
    """
    model = stranger.model
    assert isinstance(model, nn.Module)
    for argument, name in (("features", features), ("head", head)):
        if name is not None:
            part_at(model, argument, name)
    few, channels_first = batch.first(2), stranger.channels_first
    inputs, mask, steps = few.inputs, few.mask, batch.inputs.shape[2 if channels_first else 1]
    if mask is not None:
        # All steps count as valid here: a model that packs its features, or cuts off the padding, shows all of them then.
        inputs, mask = (
            torch.where(mask.bool().unsqueeze(1 if channels_first else 2), inputs, 0),
            torch.ones_like(mask),
        )
    with stranger.quiet(), watched(model) as calls:
        stranger.raw(inputs, mask)
    rows = len(inputs)
    heads = [
        (place, call)
        for place, call in enumerate(calls)
        if (call.name == head if head is not None else issubclass(call.kind, nn.Linear))
        and one_vector(call.inputs, rows) is not None
    ]
    if not heads:
        named = (
            "no linear layer reads one vector of each trajectory" if head is None else f"{head!r} does not"
        )
        raise InterfaceError(f"head must name the module that reads the pooled vector (B, D), but {named}")
    # Before which head a candidate for the features was last seen: the first head behind them reads what was pooled.
    for place, call in heads:
        vector = one_vector(call.inputs, rows)
        width = 0 if vector is None else vector.shape[1]
        later_steps = any(
            axes_of(other.output, rows, steps, None) for other in calls[place:] if other.output is not None
        )
        if later_steps and (place, call) != heads[-1] and head is None:
            continue
        before = [
            (number, one, axes)
            for number, one in enumerate(calls[:place])
            if (features is None or one.name == features)
            and one.output is not None
            and (axes := axes_of(one.output, rows, steps, width, one.kind, channels_first=channels_first))
            is not None
        ]
        if before:
            number, one, axes = before[-1]
            reader, vector = _normalised(calls[number + 1 : place], call, vector, rows, head)
            linear = call.name if issubclass(call.kind, nn.Linear) else None
            found = _described(one, axes, reader, vector, steps)
            return replace(found, channels_first=channels_first, linear=linear)
    seen = sorted({one.name for one in calls if one.output is not None and one.output.ndim == 3})
    width = one_vector(heads[-1][1].inputs, rows).shape[1]  # type: ignore[union-attr]
    if features is None:
        asked = f"3-D outputs are those of {', '.join(seen) or 'none'}"
    else:
        asked = f"got {features!r}, {_what_it_gave([one for one in calls if one.name == features])}"
    raise InterfaceError(
        f"features must name a module that gives (B, T', {width}) or (B, {width}, T'), as many channels as the head "
        f"{heads[-1][1].name!r} reads, with T' from 2 to {steps}; {asked}"
    )


def _what_it_gave(calls: list[ModuleCall]) -> str:
    """What is wrong with a module that gives no features."""
    if not calls:
        return "which the model does not call"
    shapes = [tuple(one.output.shape) for one in calls if one.output is not None]
    return f"which gives {shapes[-1]}" if shapes else "whose output has no time axis"


def _normalised(
    between: list[ModuleCall], reader: ModuleCall, vector: Tensor | None, rows: int, head: str | None
) -> tuple[ModuleCall, Tensor | None]:
    """The first normalisation of one vector between features and head, if there is one: what is pooled goes into it."""
    for call in between if head is None else ():
        found = one_vector(call.inputs, rows)
        if (
            issubclass(call.kind, _NORMS)
            and found is not None
            and vector is not None
            and found.shape == vector.shape
        ):
            return call, found
    return reader, vector


def _described(
    one: ModuleCall, axes: Axes, reader: ModuleCall, vector: Tensor | None, inputs: int
) -> Interface:
    output = one.output
    if output is None or vector is None:
        raise InterfaceError("features must be a tensor with a time axis")
    series = output.permute(axes)

    def pooled_from(steps: Tensor) -> bool:
        return any(torch.allclose(pool(steps), vector, rtol=1e-4, atol=1e-6) for pool in _POOLINGS)

    activation = ""
    if not pooled_from(series):
        activation = next(
            (name for name, function in _ACTIVATIONS.items() if pooled_from(function(series))), ""
        )
    # A class token is the first step, which the head reads as it is. One step more than the inputs tells nothing alone: even kernels
    # make one too. Steps that are all the same, such as those of dead units, are equal to their mean without any token.
    active = _ACTIVATIONS[activation](series) if activation else series
    same = torch.equal(active, active[:, :1].expand_as(active))
    recurrent = issubclass(one.kind, nn.RNNBase) and series.shape[1] <= inputs
    token = not recurrent and not same and torch.equal(active[:, 0], vector)
    return Interface(
        features=one.name,
        head=reader.name,
        axes=axes,
        steps=series.shape[1],
        width=series.shape[2],
        activation=activation,
        token=token,
        inputs=inputs,
    )


@contextlib.contextmanager
def captured_interface(
    stranger: StrangerModel, interface: Interface
) -> Iterator[Callable[[], tuple[Features, Pooled]]]:
    """Inside the block, a function that gives features (B, T', D) and pooled vectors (B, D) of the last call.

    The hooks are gone afterwards, also after an error.
    """
    kept: dict[str, Tensor] = {}

    def keep_features(_: nn.Module, __: Any, output: Any) -> None:
        found = series_of(output)[0]
        if found is not None:
            kept["features"] = found.detach().permute(interface.axes).clone()

    def keep_pooled(_: nn.Module, inputs: tuple[Any, ...]) -> None:
        found = next((part for part in inputs if isinstance(part, Tensor)), None)
        if found is not None:
            kept["pooled"] = found.detach().reshape(len(found), -1).clone()

    def last() -> tuple[Features, Pooled]:
        features, pooled = kept["features"], kept["pooled"]
        kept.clear()
        return features, pooled

    model = stranger.model
    assert isinstance(model, nn.Module)
    handles = [
        model.get_submodule(interface.features).register_forward_hook(keep_features),
        model.get_submodule(interface.head).register_forward_pre_hook(keep_pooled),
    ]
    try:
        yield last
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def watched(model: nn.Module) -> Iterator[list[ModuleCall]]:
    """The calls of all modules inside the block, in the order in which they end.

    Example:
        >>> with watched(nn.Sequential(nn.Conv1d(1, 4, 3), nn.Flatten())) as calls:
        ...     pass
        >>> calls
        []
    """
    seen: list[ModuleCall] = []

    def hook(name: str) -> Callable[..., None]:
        def keep(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
            # Copies, as in `calls_of`: an activation that works in place would hide itself, and what it was given.
            given = next((part.detach() for part in inputs if isinstance(part, Tensor)), None)
            seen.append(ModuleCall(name, copy_of(given), copy_of(series_of(output)[0]), type(module)))

        return keep

    # Scripted parts take no hooks.
    handles = [
        part.register_forward_hook(hook(name))
        for name, part in model.named_modules()
        if name and not isinstance(part, torch.jit.ScriptModule)
    ]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()
