"""`--where speed=900`: some rows of a table of recordings, by what stands in any of its columns."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crest.recordings.table import RecordingTable

_TOLD = 8
"""A message names at most so many values of a column."""


def rows_where(wanted: Sequence[str]) -> "Callable[[RecordingTable], RecordingTable]":
    """A function from a table to the same table with only the rows that are wanted.

    Args:
        wanted: `column=value` each. Values of one column are alternatives; every column must fit. Values are compared as numbers if both
            are numbers, else as text.
    """
    columns: dict[str, list[str]] = {}
    for one in wanted:
        column, sign, value = (part.strip() for part in one.partition("="))
        if not sign or not column:
            raise ValueError(f"where must be column=value, such as speed=900, got {one!r}")
        columns.setdefault(column, []).append(value)

    def chosen(table: "RecordingTable") -> "RecordingTable":
        from crest._base.arguments import did_you_mean  # noqa: PLC0415

        for column, values in columns.items():
            if column not in table.columns:
                raise ValueError(
                    f"where must name a column of the table, got {column!r}; {str(table.path)!r} has "
                    f"{', '.join(table.columns)}{did_you_mean(column, table.columns)}"
                )
            for value in values:
                if not any(_same(row.cells[column], value) for row in table.rows):
                    raise ValueError(
                        f"where must name a value of {column!r}, got {value!r}: it has {_values(table, column)}"
                    )
        rows = [
            row
            for row in table.rows
            if all(any(_same(row.cells[column], value) for value in of) for column, of in columns.items())
        ]
        if not rows:
            raise ValueError(f"where must leave a row of the table, got none for {', '.join(wanted)}")
        # A row that could not be taken apart has no cells to look at, so it stays a problem.
        return table._replace(rows=rows)

    return chosen


def _same(cell: str, value: str) -> bool:
    from crest.recordings.table import is_number  # noqa: PLC0415

    return float(cell) == float(value) if is_number(cell) and is_number(value) else cell == value


def _values(table: "RecordingTable", column: str) -> str:
    from crest._base.order import natural_order  # noqa: PLC0415

    there = natural_order({row.cells[column] for row in table.rows})
    return ", ".join(there[:_TOLD]) + (" and others" if len(there) > _TOLD else "")
