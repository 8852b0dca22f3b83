"""Checked arguments: arrays of finite numbers inside the range that the paper's model gives them."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

# numpy.typing.ArrayLike lists complex but not float or int, and a check at run time takes it at its word
Numbers: TypeAlias = (
    float | int | np.floating[Any] | np.integer[Any] | Sequence[float | int] | npt.NDArray[np.number[Any]]
)
"""What the laws take: a number, a list of numbers or an array."""

Values: TypeAlias = np.float64 | npt.NDArray[np.float64]
"""What NumPy gives back: a scalar for scalars, an array as soon as one argument is an array."""

Rule: TypeAlias = Literal["be positive", "be at least 1", "lie in (0, 1)", "lie in (0, 1]", "lie in [0, 1]"]


def _obeys(values: npt.NDArray[np.float64], rule: Rule) -> npt.NDArray[np.bool_]:
    match rule:
        case "be positive":
            inside = values > 0
        case "be at least 1":
            inside = values >= 1
        case "lie in (0, 1)":
            inside = (values > 0) & (values < 1)
        case "lie in (0, 1]":
            inside = (values > 0) & (values <= 1)
        case "lie in [0, 1]":
            inside = (values >= 0) & (values <= 1)
    return np.asarray(inside & np.isfinite(values))


def checked(name: str, value: Numbers, rule: Rule) -> npt.NDArray[np.float64]:
    """The value as a float64 array, or a ValueError that names the argument, the rule and the culprit.

    Example:
        >>> checked("epsilon", 0.25, "lie in (0, 1)")
        array(0.25)
        >>> checked("epsilon", [0.25, 1.4], "lie in (0, 1)")
        Traceback (most recent call last):
        ValueError: epsilon must lie in (0, 1), got 1.4
    """
    values = np.asarray(value, dtype=np.float64)
    broken = values[~_obeys(values, rule)]
    if broken.size:
        raise ValueError(f"{name} must {rule}, got {broken.flat[0]:g}")
    return values
