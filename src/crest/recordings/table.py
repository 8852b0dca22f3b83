"""The table that lists recordings: its rows as text, and those that could not be taken apart."""

import collections
import csv
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from crest._base.arguments import did_you_mean
from crest.recordings.archives import require_room
from crest.recordings.optional import optional_module
from crest.recordings.parquet_files import require_rows

MOST_RECORDINGS = 1_000_000
"""Rows of a table. A Parquet file of a few bytes can tell of any number of them."""
_TOLD = 5
"""So many columns are told in a message."""
_CELL = 128
"""Bytes that a cell takes as text of its own."""
_ROWS = 100
"""Rows of a Parquet file that are read at a time."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")


class Row(NamedTuple):
    """One row of the table."""

    line: int
    """The line of a CSV file, if the header is 1; the row of a Parquet file, from 1."""
    cells: dict[str, str]
    """Text by column; a null is the empty text."""


class Problem(NamedTuple):
    """What is wrong with one row."""

    line: int
    reason: str


class RecordingTable(NamedTuple):
    """Columns and rows, with the rows that could not be taken apart."""

    path: Path
    place: str
    columns: tuple[str, ...]
    rows: list[Row]
    problems: list[Problem]

    @property
    def size(self) -> int:
        """Rows, those that could not be taken apart included."""
        return len({row.line for row in self.rows} | {problem.line for problem in self.problems})


def read_table(path: Path) -> RecordingTable:
    r"""The rows of a .csv or .parquet file as text.

    Commas separate the cells of a CSV file, or semicolons or tabs if its header has no comma. Between these a number may
    have a decimal comma, which becomes a point. Blank lines of a CSV file are no rows. A row with too few or too many cells is a problem, not an error, so
    that all problems can be told at once.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "table.csv").write_text("file,label\na.npy,0.5\n")
        ...     read_table(Path(folder) / "table.csv").rows
        [Row(line=2, cells={'file': 'a.npy', 'label': '0.5'})]
    """
    readers = {".csv": _csv_table, ".parquet": _parquet_table}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"table must end in {' or '.join(readers)}, got {str(path)!r}")
    if not path.is_file():
        raise FileNotFoundError(f"table must be a file that exists, got {str(path)!r}")
    table = reader(path)
    repeated = [name for name, count in collections.Counter(table.columns).items() if count > 1]
    if repeated:
        told = ", ".join(sorted(repeated)[:_TOLD])
        raise ValueError(f"table must not repeat a column, got {told} twice in {str(path)!r}")
    if not table.rows and not table.problems:
        raise ValueError(f"table must have at least one row, got none in {str(path)!r}")
    return table


def require_columns(table: RecordingTable, wanted: Mapping[str, str]) -> None:
    """Raise a ValueError if the table lacks one of the columns, which are given by option, and say which it has."""
    missing = {
        name.partition(" ")[0]: column for name, column in wanted.items() if column not in table.columns
    }
    if missing:
        # Who leaves `file` or `label` away gets a column of the same name.
        named = ", ".join(
            f"{name}={column!r}{' (the default)' * (column == name in ('file', 'label'))}"
            for name, column in missing.items()
        )
        meant = did_you_mean(next(iter(missing.values())), table.columns) if len(missing) == 1 else ""
        raise ValueError(
            f"{', '.join(missing)} must name a column of the table, got {named}; "
            f"{str(table.path)!r} has {', '.join(table.columns) or 'none'}{meant}"
        )


def is_number(text: str) -> bool:
    """Whether a cell holds a number, finite or not.

    Example:
        >>> is_number("1e3"), is_number("nan"), is_number("high")
        (True, True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def finite_number(column: str, text: str) -> float:
    """The number that a cell holds.

    Example:
        >>> finite_number("label", " 2.5 ")
        2.5
    """
    value = float(text) if is_number(text) else math.nan
    if not math.isfinite(value):
        raise ValueError(f"{column} must be a finite number, got {text!r}")
    return value


def _csv_table(path: Path) -> RecordingTable:
    rows: list[Row] = []
    problems: list[Problem] = []
    line, taken = 1, 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = file.readline()
            file.seek(0)
            others = [mark for mark in ";\t" if mark in header and "," not in header]
            reader = csv.reader(file, strict=True, delimiter=others[0] if others else ",")
            columns = tuple(cell.strip() for cell in next(reader, []))
            line = reader.line_num + 1
            for cells in reader:
                if len(cells) == len(columns):
                    texts = (_with_point(cell.strip()) if others else cell.strip() for cell in cells)
                    rows.append(Row(line, dict(zip(columns, texts, strict=True))))
                elif cells:
                    reason = f"must have {len(columns)} cells, as the header has, got {len(cells)}"
                    problems.append(Problem(line, reason))
                # A row of a wrong length is kept too, by its reason.
                _require_count(len(rows) + len(problems))
                taken += _CELL * (1 + len(cells)) + sum(map(len, cells))
                require_room({path.name: taken}, None)
                line = reader.line_num + 1  # a quoted cell may span lines; the row is where it begins
    except csv.Error as error:
        where = f"line {line} of {str(path)!r}"
        raise ValueError(f"table must be CSV in UTF-8, got {where}: {error}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"table must be CSV in UTF-8, got {str(path)!r}: {error}") from error
    return RecordingTable(path, "line", columns, rows, problems)


def _require_count(rows: int) -> None:
    if rows > MOST_RECORDINGS:
        raise ValueError(f"table must have at most {MOST_RECORDINGS} rows, one for each recording, got more")


def _with_point(cell: str) -> str:
    """A number with a decimal comma, as spreadsheets write it between semicolons or tabs, with a point; other text as it is."""
    return cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell


def _parquet_table(path: Path) -> RecordingTable:
    parquet = optional_module("pyarrow.parquet", "a Parquet table (a CSV table does not)")
    arrow = optional_module("pyarrow", "a Parquet table (a CSV table does not)")
    try:
        with arrow.OSFile(str(path)) as handle, parquet.ParquetFile(handle) as file:
            columns = tuple(str(name) for name in file.schema_arrow.names)
            _require_count(require_rows(handle, file, columns, path.name, cell=_CELL))
            texts: list[list[str]] = [[] for _ in columns]
            taken = 0
            for batch in file.iter_batches(_ROWS):
                for column, cells in zip(texts, batch.columns, strict=True):
                    for cell in cells:
                        column.append(_text(cell.as_py()))
                        # A text that repeats is in the file once, and in memory as often as there are rows.
                        taken += _CELL + len(column[-1])
                    require_room({path.name: taken}, None)
    except Exception as error:  # damaged files make the reader raise almost anything
        raise ValueError(f"table must be a Parquet file, got {str(path)!r}: {error}") from error
    rows = [
        Row(n, dict(zip(columns, cells, strict=True))) for n, cells in enumerate(zip(*texts, strict=True), 1)
    ]
    return RecordingTable(path, "row", columns, rows, [])


def _text(value: object) -> str:
    """A Parquet value as CSV would show it: 1500.0 is 1500, as pandas turns whole numbers into floats."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
