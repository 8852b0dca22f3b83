"""Where a command may write, asked before it works: nobody waits for minutes to hear of a misspelt folder."""

import os
from collections.abc import Collection
from pathlib import Path


def require_output(name: str, path: Path, endings: Collection[str]) -> None:
    """Raise a ValueError unless a file of one of these endings can be written there; missing folders can be made.

    Example:
        >>> require_output("output", Path("report.md"), [".html", ".md"])
        >>> require_output("output", Path("report.doc"), [".html", ".md"])
        Traceback (most recent call last):
        ValueError: output must end in .html or .md, got 'report.doc'
    """
    if path.suffix.lower() not in endings:
        raise ValueError(f"{name} must end in {' or '.join(endings)}, got {str(path)!r}")
    if path.is_dir():
        raise ValueError(f"{name} must be a file, got the folder {str(path)!r}")
    require_place(name, path.parent)


def require_place(name: str, folder: Path) -> None:
    """Raise a ValueError unless the folder is there, or can be made, and can be written to.

    Example:
        >>> require_place("output", Path("new") / "folder")
    """
    # Not the path as it is typed: ".." behind a link leads elsewhere, and "" is the folder one is in.
    whole = folder.absolute()
    there = next(one for one in (whole, *whole.parents) if one.exists())
    if not there.is_dir():
        raise ValueError(f"{name} must be in a folder, got the file {str(there)!r} in the way")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(f"{name} must be in a folder that you may write to, got {str(there)!r}")
