"""A name for what a table of recordings and its files hold, so that a result is not taken for one of other data."""

import hashlib
from pathlib import Path

from crest.recordings.signal_files import reading
from crest.recordings.table import read_table
from crest.recordings.wfdb_files import signal_files
from crest.recordings.windows import event_file

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
    seen: set[Path] = set()
    for row in found.rows:
        listed = row.cells.get(file, ""), "" if events is None else event_file(row.cells.get(events, ""))
        for cell in filter(None, listed):
            path = place / cell
            named = [(cell, path)]
            if path.suffix.lower() == ".hea" and path.is_file():
                with reading("file", path):
                    named += [(one.name, one) for one in signal_files(path)]
            for name, one in named:
                # Rows may be parts of one file.
                if one in seen:
                    continue
                seen.add(one)
                if not one.is_file():
                    raise FileNotFoundError(
                        f"file {str(one)!r} does not exist, and {found.place} {row.line} of {str(table)!r} lists it "
                        "(`crest recordings check` tells all that is wrong)"
                    )
                with one.open("rb") as content:
                    digest.update(f"{name}\n{hashlib.file_digest(content, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()[:_DIGITS]
