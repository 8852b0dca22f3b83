"""Signals in Parquet files: one column per channel, read after a look at their number."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from crest.recordings.archives import require_own_names, require_room
from crest.recordings.optional import optional_module
from crest.recordings.parquet_pages import is_wanted, room_of_pages
from crest.recordings.selection import ColumnSelection, Content, planned

_ROWS = 2**16
"""Rows that are read at a time."""


def read_parquet(path: Path, selection: ColumnSelection) -> Content:
    """The columns of a Parquet file that are wanted. Dates and durations become seconds from the first of them.

    Raises:
        ImportError: pyarrow is missing.

    Example:
        >>> import tempfile
        >>> parquet = optional_module("pyarrow.parquet", "this example")
        >>> table = optional_module("pyarrow", "this example").table({"t": [0.0, 0.1], "x": [1, 2]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     parquet.write_table(table, Path(folder) / "a.parquet")
        ...     read_parquet(Path(folder) / "a.parquet", ColumnSelection()).array.tolist()
        [[0.0, 1.0], [0.1, 2.0]]
    """
    parquet = optional_module("pyarrow.parquet", "a Parquet signal")
    arrow = optional_module("pyarrow", "a Parquet signal")
    with arrow.OSFile(str(path)) as handle, parquet.ParquetFile(handle) as file:
        schema = file.schema_arrow
        names = tuple(str(name) for name in schema.names)
        require_own_names("columns", names)
        kinds = [arrow.types.is_temporal(kind) for kind in schema.types]
        dated = frozenset(place for place, is_date in enumerate(kinds) if is_date)
        plan = planned(selection, names, len(names), dated)
        number = [arrow.types.is_integer(kind) or arrow.types.is_floating(kind) for kind in schema.types]
        read = tuple(
            place for place in plan.read if place in plan.channels or place == plan.time or number[place]
        )
        for place in read:
            if not number[place] and place not in dated:
                raise ValueError(
                    f"its column {names[place]!r} must hold numbers, got {schema.types[place]}; "
                    "columns= names those to read"
                )
        wanted = [names[place] for place in read]
        rows = require_rows(handle, file, wanted, path.name, selection.largest)
        array = np.empty((rows, len(read)))
        begin: dict[int, Any] = {}
        done = 0
        for batch in file.iter_batches(_ROWS, columns=wanted):
            if done + len(batch) > rows:
                raise ValueError(f"it is damaged: it tells of {rows} rows and holds more")
            for column, place in enumerate(read):
                cells = batch.column(names[place])
                found = _seconds(cells, begin, place) if place in dated else _numbers(cells)
                array[done : done + len(batch), column] = found
            done += len(batch)
        if done < rows:
            raise ValueError(f"it is damaged: it tells of {rows} rows and holds {done}")
    return Content(array, names=names, read=read, dated=dated)


def require_rows(
    handle: Any, file: Any, columns: Collection[str], name: str, largest: int | None = None, *, cell: int = 16
) -> int:
    """The rows of a Parquet file, refused when its columns take more memory than `largest` bytes.

    Args:
        handle: the file, as `room_of_pages` takes it.
        file: pyarrow's ParquetFile of it.
        columns: those that are to be read.
        name: of the file, for the message.
        largest: bytes, as `require_room` takes them.
        cell: bytes that one cell takes: by default a number twice, as Parquet's library has it, and joined.
    """
    about = file.metadata
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    rows: int = about.num_rows
    if rows != sum(group.num_rows for group in groups) or rows < 0:
        raise ValueError(f"it is damaged: it tells of {rows} rows, and its parts of other numbers")
    wanted = set(columns)
    parts = (group.column(place) for group in groups for place in range(group.num_columns))
    unpacked = sum(max(part.total_uncompressed_size, 0) for part in parts if is_wanted(part, wanted))
    # The largest: what repeats a value is short in the file and long in memory, and a page may tell more than the index.
    require_room(
        {name: max(cell * rows * len(wanted), unpacked, room_of_pages(handle, about, wanted))}, largest
    )
    return rows


def _numbers(cells: Any) -> npt.NDArray[np.float64]:
    """Cells as float64; an empty one is NaN, which no signal may have."""
    found: npt.NDArray[np.float64] = cells.to_numpy(zero_copy_only=False).astype(np.float64)
    return found


def _seconds(cells: Any, begin: dict[int, Any], place: int) -> npt.NDArray[np.float64]:
    """Dates as seconds from the first of their column, which `begin` keeps from one piece to the next."""
    if cells.null_count:
        raise ValueError(f"its dates must not have empty cells, got {cells.null_count}")
    times = cells.to_numpy(zero_copy_only=False)
    if times.dtype.kind not in "mM":  # a date without time of day, or a time of day without date
        raise ValueError(f"its dates must be timestamps or durations, got {cells.type}")
    # Whole nanoseconds first: a date in seconds has no digits left for microseconds.
    steps = (times - begin.setdefault(place, times[0])) if len(times) else times
    seconds: npt.NDArray[np.float64] = steps.astype("timedelta64[ns]").astype(np.int64) / 1e9
    return seconds
