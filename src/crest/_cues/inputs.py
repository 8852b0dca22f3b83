"""What `crest.cues` is given, checked and brought to one form."""

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from crest._base.arguments import require_shape
from crest._base.order import natural_order
from crest._base.tensors import as_flags, as_tensor, require_finite
from crest._cues.scores import Wanted
from crest.exchange.ties import Conditions, Tie, condition_columns, telling_tie, unvarying

# our choice: docs/evidence/choices.md#cues
_LEAST_ROWS = 4
_LEAST_STEPS = 16
_FEW_CLASSES = 20
_LEAST_OF_A_CLASS = 2
_LEAST_GROUPS = 4
# Up to so many values a target in numbers has levels; each must be in so many groups, and none may hold more of it than this.
_FEW_LEVELS = 10
_LEAST_OF_A_LEVEL = 3
_MOST_OF_A_LEVEL = 2 / 3


@dataclass(frozen=True, eq=False)
class SignalRows:
    """Signals (N, T, C) around the mean of each channel, each with a largest value of 1, and their valid steps."""

    signals: Tensor
    mask: Tensor | None


def signals_of(x: Any, mask: Any, channels_first: bool, *, constant_too: bool = False) -> SignalRows:
    """The signals, if something can be read from them; a ValueError that names the argument if not.

    Args:
        x: signals (N, T, C), or (N, C, T).
        mask: valid steps (N, T), or lengths (N,).
        channels_first: whether x is (N, C, T).
        constant_too: whether channels that do not vary are left out, and not refused.
    """
    values = as_tensor("x", x)
    letters = "(N, C, T)" if channels_first else "(N, T, C)"
    if values is None:
        raise ValueError("x must be a tensor or an array, got None")
    if values.is_complex() or values.dtype == torch.bool:
        raise ValueError(f"x must be real numbers, got {values.dtype}")
    if values.ndim == 2:
        raise ValueError(
            f"x must have shape {letters}, got {tuple(values.shape)}: x[:, :, None] is one channel"
        )
    require_shape("x", values, letters, (None, None, None))
    values = values.transpose(1, 2) if channels_first else values
    N, T, _ = values.shape
    if N < _LEAST_ROWS:
        raise ValueError(f"x must hold {_LEAST_ROWS} trajectories or more, got {N}")
    valid = _mask_of(mask, values)
    require_finite("x", values, valid)
    counts = torch.full((N,), T) if valid is None else valid.sum(1).cpu()
    if int(counts.min()) < _LEAST_STEPS:
        hint = ": (N, C, T) needs channels_first=True" if not channels_first and values.shape[2] > T else ""
        raise ValueError(
            f"x must have {_LEAST_STEPS} valid steps or more in each trajectory for a spectrum, got {int(counts.min())} in trajectory {int(counts.argmin())}{hint}"
        )
    return SignalRows(_scaled(values, valid, constant_too), valid)


def _mask_of(mask: Any, values: Tensor) -> Tensor | None:
    """Valid steps from flags (N, T) or lengths (N,); None if all are."""
    given = as_tensor("mask", mask)
    if given is None:
        return None
    N, T = values.shape[:2]
    if given.ndim == 1:
        if given.is_floating_point() or given.is_complex() or given.dtype == torch.bool:
            raise ValueError(f"mask must be flags (N, T) or whole lengths (N,), got {given.dtype}")
        require_shape("mask", given, "(N,)", (N,))
        outside = given[(given < 1) | (given > T)]
        if outside.numel():
            raise ValueError(f"mask must have lengths in [1, {T}], got {int(outside[0])}")
        given = torch.arange(T, device=given.device) < given.unsqueeze(1)
    flags = as_flags("mask", given, values)
    return None if bool(flags.all()) else flags


def _scaled(values: Tensor, valid: Tensor | None, constant_too: bool) -> Tensor:
    """Each channel around its mean, over its largest value: readings have no unit then, and a channel in small units is seen.

    The core is found in all channels together, and sees no units either: their transience is.
    """
    # Only float64 has digits to lose here.
    wide = values.to(torch.float64)
    flags = None if valid is None else valid.unsqueeze(-1)
    if flags is not None:
        wide = wide.masked_fill(~flags, 0.0)
    # A first division: the sum of large numbers would overflow.
    wide = wide / wide.abs().amax((0, 1)).clamp(min=torch.finfo(torch.float64).tiny)
    steps = wide[..., 0].numel() if flags is None else int(flags.sum())
    wide = wide - wide.sum((0, 1)) / steps
    if flags is not None:
        wide = wide.masked_fill(~flags, 0.0)
    reach = wide.abs().amax((0, 1))
    # float32 has seven digits; what a constant leaves is rounding.
    varies = reach > 1e-7
    if not bool(varies.any() if constant_too else varies.all()):
        raise ValueError(
            f"x must vary in every channel, got channel {int((~varies).nonzero()[0])} constant"
            if not constant_too
            else "x must vary, got every channel constant"
        )
    made: Tensor = wide[..., varies] / reach[varies]
    return made if values.dtype == torch.float64 else made.to(torch.float32)


class Targets(NamedTuple):
    """Targets for a ridge and for a tie."""

    wanted: Wanted
    values: Tensor
    """(N,), numbers, or the numbers of classes."""
    names: tuple[str, ...]
    """Of the classes; none for numbers."""
    note: str | None


def targets_of(y: Any, trajectories: int, classes: bool | None) -> Targets:
    """The targets as numbers or as classes: text and booleans are classes, and so are whole numbers with few values."""
    listed = y.tolist() if isinstance(y, np.ndarray) and y.dtype.kind in "OUS" else y
    if isinstance(listed, list | tuple) and listed and all(isinstance(one, str) for one in listed):
        require_shape("y", np.empty(len(listed)), "(N,)", (trajectories,))
        if classes is False:
            raise ValueError(f"y must be numbers with classes=False, got text such as {listed[0]!r}")
        words = natural_order(set(listed))
        return _as_classes(torch.tensor([words.index(one) for one in listed]), tuple(words), None)
    values = as_tensor("y", y)
    if values is None:
        raise ValueError("y must be a tensor, an array or a list, got None")
    if values.shape == (trajectories, 1):
        values = values[:, 0]
    note = None
    if values.ndim == 2 and len(values) == trajectories and classes is not False:
        hot = bool(((values == 0) | (values == 1)).all() & (values.sum(1) == 1).all())
        if not hot:
            raise ValueError(
                f"y must be (N,), or one-hot classes (N, K), got {tuple(values.shape)}: of several columns pass one, such as y[:, 0]"
            )
        note = f"y of {values.shape[1]} columns is one-hot: read as class numbers 0 to {values.shape[1] - 1}."
        values, classes = values.to(torch.int64).argmax(1), True
    require_shape("y", values, "(N,)", (trajectories,))
    if values.is_complex():
        raise ValueError(f"y must be real numbers or classes, got {values.dtype}")
    values = values.detach().cpu()
    require_finite("y", values)
    kinds = torch.tensor(sorted(set(values.tolist())), dtype=values.dtype)
    if len(kinds) < 2:
        raise ValueError(f"y must vary, got {values[0].item()!r} for every trajectory")
    if classes is None:
        few = len(kinds) <= min(_FEW_CLASSES, trajectories // 2)
        classes = values.dtype == torch.bool or (not values.is_floating_point() and few)
        if classes and values.dtype != torch.bool:
            note = f"y has {len(kinds)} classes, because its values are whole numbers. Pass classes=False to read them as numbers."
    if classes:
        names = tuple(f"{one:g}" if isinstance(one, float) else str(one) for one in kinds.tolist())
        codes = (values.unsqueeze(1) == kinds).to(torch.int64).argmax(1)
        return _as_classes(codes, names, note)
    numbers = values.to(torch.float64)
    # Targets of any unit: the scores have none.
    reach = (numbers - numbers.mean()).abs().amax()
    if not (bool(reach.isfinite()) and float(reach) > 0):
        raise ValueError(
            f"y must vary within float64, got {float(numbers.min()):g} to {float(numbers.max()):g}"
        )
    standard = (numbers - numbers.mean()) / reach
    return Targets(Wanted(standard.unsqueeze(1), False), numbers, (), None)


def _as_classes(codes: Tensor, names: tuple[str, ...], note: str | None) -> Targets:
    if len(names) < 2:
        raise ValueError(f"y must vary, got {names[0]!r} for every trajectory")
    if len(names) > len(codes) // 2:
        raise ValueError(
            f"y must have several trajectories of a class, got {len(names)} classes of {len(codes)} trajectories"
        )
    columns = torch.nn.functional.one_hot(codes, len(names)).to(torch.float64)
    return Targets(Wanted(columns, True), codes, names, note)


def tie_with(targets: Targets, conditions: Conditions) -> Tie:
    """The tie of targets and conditions; a ValueError if these do not vary, or hardly repeat."""
    trajectories = len(targets.values)
    columns = condition_columns(conditions, trajectories)
    if still := unvarying(columns):
        raise ValueError(still[0])
    tie = telling_tie(targets.values, columns)
    if len(tie.conditions) > trajectories // 2:
        raise ValueError(
            f"conditions must repeat, got {len(tie.conditions)} of them for {trajectories} trajectories"
        )
    # All classes, by their names: a tie puts many values in groups.
    return dataclasses.replace(tie, targets=targets.names, rows=targets.values) if targets.names else tie


def emptied_level(groups: Tensor, targets: Targets) -> str | None:
    """What is lost if groups are left out as a whole, in words: most of a level of the target. None if nothing is.

    A reader then never saw what it is asked about, and no score tells of a cue. A target with as many values as groups has no levels:
    what is between them is read from its neighbours.

    Args:
        groups: (N,), whole numbers from 0.
        targets: of the same trajectories.
    """
    levels = sorted(set(targets.values.tolist()))
    if not targets.names and len(levels) > min(_FEW_LEVELS, int(groups.max())):
        return None
    for place, level in enumerate(levels):
        held = torch.bincount(groups[targets.values == level])
        name = f"class {targets.names[place]!r}" if targets.names else f"the target {level:.6g}"
        there = int((held > 0).sum())
        if not targets.names and there < _LEAST_OF_A_LEVEL:
            return f"only {there} of the groups {'has' if there == 1 else 'have'} {name}"
        if int(held.max()) > _MOST_OF_A_LEVEL * int(held.sum()):
            return (
                f"one of the groups holds {int(held.max())} of the {int(held.sum())} trajectories of {name}"
            )
    return None


class TooFewGroupsError(ValueError):
    """Groups that cannot be left out as a whole: what is left of the targets would not tell them."""


def require_enough_groups(groups: Tensor, targets: Targets) -> None:
    """Raise a TooFewGroupsError if a reader could not have learnt what a left-out group holds.

    Args:
        groups: (N,), whole numbers from 0.
        targets: of the same trajectories.
    """
    if not targets.names:
        if (count := int(groups.max()) + 1) < _LEAST_GROUPS:
            raise TooFewGroupsError(
                f"groups must be {_LEAST_GROUPS} or more for a target in numbers, got {count}"
            )
        return
    for code, name in enumerate(targets.names):
        held = len(set(groups[targets.values == code].tolist()))
        if held < _LEAST_OF_A_CLASS:
            raise TooFewGroupsError(
                f"groups must be {_LEAST_OF_A_CLASS} or more of each class, got {held} of class {name!r}: left out, it would leave "
                "none to learn the class from"
            )
