"""What a door asks of numbers, choices and shapes, and the one sentence in which it refuses them.

A rule is the words that follow "must". `require` reads the words, so that the sentence which a user sees is the
check that was made:

    be positive                 be a whole number, 1 or more
    be finite                   be a whole number in [1, 20]
    be 0 or more                be True or False
    lie in (0, 1]

Any number may stand where these have one. NaN and infinity obey no rule. Every refusal is a ValueError of the form
`budget must lie in (0, 1], got 1.4`: the argument, the rule, the value. A door whose rule says something particular
words it itself, in the same form. Needs NumPy only.
"""

import functools
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crest._base.floats import Numbers

_SWITCH = "be True or False"
_LEAST = re.compile(r"be (a whole number, )?(\S+) or more")
_WITHIN = re.compile(r"(lie|be a whole number) in ([\[(])(\S+), (\S+)([\])])")


class _Range(NamedTuple):
    low: float
    high: float
    with_low: bool = True
    with_high: bool = True
    whole: bool = False


@functools.lru_cache(maxsize=512)
def _range(rule: str) -> _Range:
    """The numbers that a rule allows."""
    if rule == "be finite":
        return _Range(-math.inf, math.inf)
    if rule == "be positive":
        return _Range(0, math.inf, with_low=False)
    if found := _LEAST.fullmatch(rule):
        return _Range(float(found[2]), math.inf, whole=found[1] is not None)
    if found := _WITHIN.fullmatch(rule):
        low, high = float(found[3]), float(found[4])
        return _Range(low, high, found[2] == "[", found[5] == "]", whole=found[1] != "lie")
    raise ValueError(f"rule must be in words that crest._base.arguments reads, got {rule!r}")


def _inside(value: object, rule: str) -> bool | npt.NDArray[np.bool_]:
    """Whether a value obeys a rule; for an array of numbers, number by number."""
    if rule == _SWITCH:
        return isinstance(value, bool)
    low, high, with_low, with_high, whole = _range(rule)
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in ("iu" if whole else "iuf"):
            return False
        inside = np.isfinite(value)
        if math.isfinite(low):
            inside &= (value >= low) if with_low else (value > low)
        if math.isfinite(high):
            inside &= (value <= high) if with_high else (value < high)
        return np.asarray(inside)
    # For Python, True is the number 1.
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    if whole and not isinstance(value, int | np.integer):
        return False
    above = value >= low if with_low else value > low
    below = value <= high if with_high else value < high
    return bool(above and below and -math.inf < value < math.inf)


def _all(inside: bool | npt.NDArray[np.bool_]) -> bool:
    # Not np.all: for a single truth value it takes longer than the rest of a check.
    return bool(inside.all()) if isinstance(inside, np.ndarray) else inside


def obeys(value: object, rule: str) -> bool:
    """Whether a number, or every number of an array, obeys the rule.

    Example:
        >>> obeys(0.1, "lie in (0, 1]"), obeys(True, "lie in (0, 1]"), obeys(3.0, "be a whole number, 1 or more")
        (True, False, False)
    """
    return _all(_inside(value, rule))


def require(name: str, value: object, rule: str) -> None:
    """Raise a ValueError if the number, or a number of the array, breaks the rule.

    Example:
        >>> require("budget", 0.1, "lie in (0, 1]")
        >>> require("budget", 1.4, "lie in (0, 1]")
        Traceback (most recent call last):
        ValueError: budget must lie in (0, 1], got 1.4
        >>> require("x", np.array([0.0, np.nan]), "be finite")
        Traceback (most recent call last):
        ValueError: x must be finite, got nan at index [1]
    """
    inside = _inside(value, rule)
    if not _all(inside):
        raise ValueError(f"{name} must {rule}, got {_culprit(value, inside)}")


def _culprit(value: object, inside: bool | npt.NDArray[np.bool_]) -> str:
    """The value as a message shows it; of an array, the first number that broke the rule."""
    if not isinstance(value, np.ndarray):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if not isinstance(inside, np.ndarray):
        return f"an array of {value.dtype}"
    place = np.argwhere(~inside)[0].tolist()
    return f"{value[tuple(place)].item()!r}{f' at index {place}' if place else ''}"


def require_fields(owner: object, rule: str, *names: str) -> None:
    """Raise a ValueError for the first of these attributes that breaks the rule; for the fields of a dataclass.

    Example:
        >>> from types import SimpleNamespace
        >>> require_fields(SimpleNamespace(steps=512, teeth=0), "be a whole number, 1 or more", "steps", "teeth")
        Traceback (most recent call last):
        ValueError: teeth must be a whole number, 1 or more, got 0
    """
    for name in names:
        require(name, getattr(owner, name), rule)


def as_numbers(name: str, value: Numbers, rule: str) -> npt.NDArray[np.float64]:
    """The value as a float64 array, if each of its numbers obeys the rule.

    Example:
        >>> as_numbers("epsilon", 0.25, "lie in (0, 1)")
        array(0.25)
        >>> as_numbers("epsilon", [0.25, 1.4], "lie in (0, 1)")
        Traceback (most recent call last):
        ValueError: epsilon must lie in (0, 1), got 1.4 at index [1]
    """
    values = np.asarray(value)
    require(name, values, rule)
    return values.astype(np.float64, copy=False)


def require_choice(name: str, value: object, choices: Iterable[object]) -> None:
    """Raise a ValueError that lists the choices if the value is none of them; a registry's keys are choices.

    Example:
        >>> require_choice("direction", "up", ("transient", "stable"))
        Traceback (most recent call last):
        ValueError: direction must be one of transient, stable, got 'up'
        >>> require_choice("direction", "stabel", ("transient", "stable"))
        Traceback (most recent call last):
        ValueError: direction must be one of transient, stable, got 'stabel': did you mean 'stable'?
    """
    choices = tuple(choices)
    if value not in choices:
        listed = ", ".join(map(str, choices))
        raise ValueError(f"{name} must be one of {listed}, got {value!r}{did_you_mean(value, choices)}")


def did_you_mean(value: object, choices: Iterable[object]) -> str:
    """A question after a name that is nearly one of the choices; else nothing.

    Example:
        >>> did_you_mean("stabel", ("transient", "stable"))
        ": did you mean 'stable'?"
    """
    import difflib  # noqa: PLC0415, only a refusal needs it

    near = difflib.get_close_matches(str(value), [one for one in choices if isinstance(one, str)], 1)
    return f": did you mean {near[0]!r}?" if near and isinstance(value, str) else ""


# So many names are told in a message.
_TOLD = 5


def require_known(owner: str, kind: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise a ValueError if the owner does not have a given name; it lists the first five of these, and what the owner has.

    Example:
        >>> require_known("windowed", "option", {"window": 8, "speed": 3}, ["width", "window"])
        Traceback (most recent call last):
        ValueError: windowed has no option speed; it has width, window
        >>> require_known("windowed", "option", {"windwo": 8}, ["width", "window"])
        Traceback (most recent call last):
        ValueError: windowed has no option windwo; it has width, window: did you mean 'window'?
    """
    known = tuple(known)
    unknown = sorted(set(given) - set(known))
    if unknown:
        meant = did_you_mean(unknown[0], known) if len(unknown) == 1 else ""
        told = ", ".join(f"{name!s:.60}" for name in unknown[:_TOLD])
        more = f" and {len(unknown) - _TOLD} more" if len(unknown) > _TOLD else ""
        raise ValueError(f"{owner} has no {kind} {told}{more}; it has {', '.join(known)}{meant}")


def require_shape(name: str, value: Any, letters: str, expected: Sequence[int | None]) -> None:
    """Raise a ValueError if an array or a tensor has another shape; `None` stands for any size but 0.

    Example:
        >>> require_shape("pooled", np.zeros((2, 3)), "(B, D)", (2, 4))
        Traceback (most recent call last):
        ValueError: pooled must have shape (B, D) = (2, 4), got (2, 3)
    """
    shape = tuple(value.shape)
    fits = len(shape) == len(expected)
    # A plain loop, since readouts ask this in each forward pass: a generator takes twice as long.
    for size, wanted in zip(shape, expected, strict=False):
        fits = fits and (size == wanted or (wanted is None and size > 0))
    if not fits:
        known = ", none of them 0" if None in expected else f" = {tuple(expected)}"
        raise ValueError(f"{name} must have shape {letters}{known}, got {shape}")
