"""The arguments of the closed forms, checked: each number far enough from 0 and infinity for its ratios to be numbers.

A ratio such as epsilon^2 T / s0^2 has four factors. With each between 1e-50 and 1e50 it lies between 1e-200 and
1e150 for an event, and neither it nor the square that a risk takes of it leaves float64: no 0 / 0, no infinity, and
a refusal names the argument that was given. No experiment comes near these ends.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from crest._base.arguments import as_numbers, require
from crest._base.floats import Numbers

_Array: TypeAlias = npt.NDArray[np.float64]

_FACTOR = "lie in [1e-50, 1e+50]"


def _factor(name: str, value: Numbers, rule: str) -> _Array:
    numbers = as_numbers(name, value, rule)
    require(name, numbers, _FACTOR)
    return numbers


def as_noise(name: str, value: Numbers) -> _Array:
    """A standard deviation: positive.

    Example:
        >>> as_noise("s0", 1e-305)
        Traceback (most recent call last):
        ValueError: s0 must lie in [1e-50, 1e+50], got 1e-305
    """
    return _factor(name, value, "be positive")


def as_steps(name: str, value: Numbers) -> _Array:
    """A number of steps: 1 or more, not necessarily whole."""
    return _factor(name, value, "be 1 or more")


def as_sparsity(value: Numbers) -> _Array:
    """`epsilon`, the share of steps that are events: in (0, 1)."""
    return _factor("epsilon", value, "lie in (0, 1)")


def as_cue(value: Numbers) -> _Array:
    """`gamma`, the strength of the cue: in (0, 1]."""
    return _factor("gamma", value, "lie in (0, 1]")


def as_ratio(name: str, value: Numbers) -> _Array:
    """A signal-to-noise ratio: 0 or more, and small enough to be squared."""
    numbers = as_numbers(name, value, "be 0 or more")
    require(name, numbers, "lie in [0, 1e+150]")
    return numbers
