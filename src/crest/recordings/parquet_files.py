"""Signals in Parquet files: one column per channel, read after a look at their number."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from crest.recordings.archives import require_room
from crest.recordings.optional import optional_module
from crest.recordings.selection import ColumnSelection, Content, planned


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
    with parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        names = tuple(str(name) for name in schema.names)
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"its columns must have names of their own, got {', '.join(repeated)} twice")
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
        # Twice: as Parquet's library has them, and joined.
        require_room({path.name: 16 * file.metadata.num_rows * len(read)}, selection.largest)
        table = file.read(columns=[names[place] for place in read])
    arrays = [_numbers(table.column(names[place]), place in dated) for place in read]
    return Content(np.stack(arrays, axis=1), names=names, read=read, dated=dated)


def _numbers(column: Any, dated: bool) -> npt.NDArray[np.float64]:
    """A column as float64; an empty cell is NaN, which no signal may have."""
    if not dated:
        found: npt.NDArray[np.float64] = column.to_numpy().astype(np.float64)
        return found
    if column.null_count:
        raise ValueError(f"its dates must not have empty cells, got {column.null_count}")
    times = column.to_numpy()
    if times.dtype.kind not in "mM":  # a date without time of day, or a time of day without date
        raise ValueError(f"its dates must be timestamps or durations, got {column.type}")
    # Whole nanoseconds first: a date in seconds has no digits left for microseconds.
    steps = (times - times[0]) if len(times) else times
    seconds: npt.NDArray[np.float64] = steps.astype("timedelta64[ns]").astype(np.int64) / 1e9
    return seconds
