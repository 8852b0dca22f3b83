"""What the parameters of a simulator must be, checked when it is made."""

import math
from collections.abc import Sequence


def require(system: object, rule: str, names: Sequence[str]) -> None:
    """Nothing, or a ValueError that names the first parameter which breaks the rule, and its value.

    Rules: "be positive", "be 0 or more", "lie in [0, 1]", "be a whole number, N or more".

    Example:
        >>> from types import SimpleNamespace
        >>> require(SimpleNamespace(teeth=0), "be a whole number, 1 or more", ["teeth"])
        Traceback (most recent call last):
        ValueError: teeth must be a whole number, 1 or more, got 0
    """
    for name in names:
        value = getattr(system, name)
        if not _obeys(value, rule):
            raise ValueError(f"{name} must {rule}, got {value!r}")


def _obeys(value: object, rule: str) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    if rule == "be positive":
        return value > 0
    if rule == "be 0 or more":
        return value >= 0
    if rule == "lie in [0, 1]":
        return 0 <= value <= 1
    least = int(rule.removeprefix("be a whole number, ").removesuffix(" or more"))
    return isinstance(value, int) and value >= least
