"""The order in which people list names with numbers in them: 600, 900, 1200."""

import re
from collections.abc import Iterable
from typing import TypeVar

Listed = TypeVar("Listed")

# A minus after a letter or a digit is a hyphen.
_NUMBERS = re.compile(r"((?:(?<!\S)-)?\d+(?:\.\d+)?)")


def natural_order(values: Iterable[Listed]) -> list[Listed]:
    """The values in their natural order: by size if all are numbers or read as numbers, else as text, in which numbers count by their size.

    Example:
        >>> natural_order(["1200", "600", "900"]), natural_order(["run 10", "run 9"]), natural_order(["-1", "-2.5"])
        (['600', '900', '1200'], ['run 9', 'run 10'], ['-2.5', '-1'])
    """
    found = list(values)
    numbers = [_number(one) for one in found]
    if all(one is not None for one in numbers):
        places = sorted(range(len(found)), key=lambda place: (numbers[place], str(found[place])))
        return [found[place] for place in places]
    return sorted(found, key=_key)


def _number(value: object) -> float | None:
    """The number that a value is or reads as; None for text, and for NaN, which has no place in any order."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return None if number != number else number  # noqa: PLR0124


def _key(value: object) -> list[tuple[int, float, str]]:
    """Text in pieces: numbers by their size, and before other text."""
    return [
        (0, float(piece), piece) if place % 2 else (1, 0.0, piece)
        for place, piece in enumerate(_NUMBERS.split(str(value)))
        if piece
    ]
