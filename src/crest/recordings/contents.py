"""A name for what a table of recordings and its files hold, so that a result is not taken for one of other data."""

import hashlib
from pathlib import Path

from crest.recordings.table import read_table

_DIGITS = 16


def recordings_digest(
    table: Path, folder: Path | None = None, *, file: str = "file", events: str | None = None
) -> str:
    r"""Hexadecimal digits that name the bytes of a table and of the files that it lists, wherever they lie.

    Args:
        table: the table.
        folder: where relative paths in it begin; the table's own folder by default.
        file: column with the paths of the signals.
        events: column with the event steps, some of which may be in files.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "a.txt").write_text("1\n2\n")
        ...     _ = (Path(folder) / "table.csv").write_text("file,label\na.txt,0.5\n")
        ...     recordings_digest(Path(folder) / "table.csv")
        'fa6e2ab710264e31'
    """
    found = read_table(table)
    place = table.parent if folder is None else folder
    digest = hashlib.sha256(table.read_bytes())
    for row in found.rows:
        # Event steps may also stand in the table itself.
        steps = "" if events is None else row.cells.get(events, "")
        for cell in (row.cells.get(file, ""), steps if steps.lower().endswith(".npy") else ""):
            if not cell:
                continue
            path = place / cell
            if not path.is_file():
                raise FileNotFoundError(
                    f"file {str(path)!r} does not exist, and {found.place} {row.line} of {str(table)!r} lists it "
                    "(`crest recordings check` tells all that is wrong)"
                )
            with path.open("rb") as content:
                digest.update(f"{cell}\n{hashlib.file_digest(content, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()[:_DIGITS]
