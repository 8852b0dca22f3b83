"""Labels that are the names of classes: which names there are, and the number of each."""

from collections.abc import Iterable, Sequence

from crest.recordings.table import is_number

_LISTED = 5
"""At most this many classes that `classes=` leaves out are listed: a column of numbers would have hundreds."""


def class_names(cells: Iterable[str], classes: Sequence[str] | bool | None) -> tuple[str, ...] | None:
    """The classes that the cells of a label column name, in the order of their numbers; None if labels are numbers.

    Args:
        cells: of the column, as text.
        classes: the names in their order; True if the labels are names whatever they look like, False if they are
            numbers; None finds out: they are names if no cell is a number.

    Example:
        >>> class_names(["ok", "fault", "ok"], None), class_names(["1", "2"], None), class_names(["10", "9"], True)
        (('fault', 'ok'), None, ('9', '10'))
    """
    if classes is False:
        return None
    if not isinstance(classes, bool) and classes is not None:
        named = isinstance(classes, list | tuple) and all(isinstance(name, str) and name for name in classes)
        if not named or not classes or len(set(classes)) < len(classes):
            raise ValueError(
                f"classes must be a list of different names, True, False or None, got {classes!r}"
            )
        return tuple(classes)
    found = sorted({cell for cell in cells if cell})
    numbers = [is_number(name) for name in found]
    if classes is None and (not found or any(numbers)):
        return None
    return tuple(sorted(found, key=float) if found and all(numbers) else found)


def require_named(column: str, cells: Iterable[str], names: Sequence[str]) -> set[str]:
    """The classes that the cells name; a ValueError if one of them is not among the names.

    Example:
        >>> require_named("state", ["ok", "", "worn"], ("ok", "fault"))
        Traceback (most recent call last):
        ValueError: classes must name every class of the column 'state', got ok, fault, and it also has worn
    """
    there = {cell for cell in cells if cell}
    if missing := sorted(there.difference(names)):
        raise ValueError(
            f"classes must name every class of the column {column!r}, got {', '.join(names)}, and it also has "
            f"{', '.join(missing[:_LISTED])}{' and others' if len(missing) > _LISTED else ''}"
        )
    return there


def class_number(column: str, text: str, names: Sequence[str]) -> float:
    """The number of the class that a cell names.

    Example:
        >>> class_number("state", "ok", ("fault", "ok"))
        1.0
    """
    if not text:
        raise ValueError(f"{column} must not be empty")
    if text not in names:
        raise ValueError(f"{column} must be one of {', '.join(names)}, got {text!r}")
    return float(names.index(text))
