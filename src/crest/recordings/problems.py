"""What is wrong with the rows of a table, told once for each reason however many rows have it."""

import re
from collections.abc import Iterable, Sequence

from crest.recordings.table import Problem, RecordingTable

_LISTED = 5
"""Up to this many rows, or reasons that differ in a name or a number alone, are listed one by one."""
_FIRST = 3
"""If there are more rows, this many are named."""
_PARTICULAR = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(?<!\w)[-+]?\d[\w.+-]*")


def told_problems(place: str, problems: Iterable[tuple[int | None, str]]) -> list[str]:
    """A line of text for each reason, with the rows that have it.

    Reasons that differ in names and numbers alone are one if there are many of them: its text is then that of the first row.

    Args:
        place: how the table counts, "line" or "row".
        problems: pairs of a row (None for the whole table) and a reason, in the order in which they are told.

    Example:
        >>> told_problems("line", [(2, "label must not be empty"), (7, "label must not be empty")])
        ['lines 2, 7: label must not be empty']
        >>> told_problems("line", [(row, f"file '{row}.npy' does not exist") for row in range(2, 42)])
        ["lines 2, 3, 4 and 37 more: file '2.npy' does not exist, and likewise the others"]
    """
    by_reason: dict[str, list[int | None]] = {}
    for line, reason in problems:
        by_reason.setdefault(reason, []).append(line)
    alike: dict[str, list[str]] = {}
    for reason in by_reason:
        alike.setdefault(_PARTICULAR.sub("…", reason), []).append(reason)
    told: list[str] = []
    for reason, rows in by_reason.items():
        same = alike[_PARTICULAR.sub("…", reason)]
        if len(same) <= _LISTED:
            told.append(f"{_places(place, rows)}{reason}")
        elif reason == same[0]:
            all_rows = [row for one in same for row in by_reason[one]]
            told.append(f"{_places(place, all_rows)}{reason}, and likewise the others")
    return told


def _places(place: str, rows: Sequence[int | None]) -> str:
    numbers = [str(row) for row in dict.fromkeys(rows) if row is not None]
    if not numbers:
        return ""
    shown = numbers if len(numbers) <= _LISTED else numbers[:_FIRST]
    rest = f" and {len(numbers) - len(shown)} more" if len(shown) < len(numbers) else ""
    return f"{place}{'s' * (len(numbers) > 1)} {', '.join(shown)}{rest}: "


def refuse_problems(table: RecordingTable, problems: Sequence[Problem], advice: Sequence[str] = ()) -> None:
    """Raise one ValueError that tells the problems in the order of the table, and what to do, if there are any."""
    if not problems:
        return
    in_order = sorted(problems, key=lambda problem: problem.line)
    lines = told_problems(table.place, in_order)
    bad = len({problem.line for problem in problems})
    raise ValueError(
        f"table must have good rows only, got {len(problems)} problem{'s' * (len(problems) > 1)} "
        f"in {bad} of {table.size} rows of {str(table.path)!r}:\n"
        + "\n".join([*(f"  {line}" for line in lines), *(f"What to do: {one}" for one in advice)])
    )
