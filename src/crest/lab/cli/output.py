"""Where a command may write, checked before it works: a misspelt folder shows at once.

One policy for all commands: a file of that name is replaced, and the command says so.
"""

import contextlib
import os
import warnings
from collections.abc import Collection, Iterator
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


def replaced_note(path: Path) -> str:
    """Words to put behind the name of a file that is about to be written: whether it replaces one. Ask before you write.

    Example:
        >>> replaced_note(Path("no such file.html"))
        ''
    """
    return " (replaces the file that was there)" if path.exists() else ""


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[str]:
    """Inside the block a file may be replaced without a warning; the words of `replaced_note` are for the command to say."""
    note = replaced_note(path)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* replaces the file that was there")
        yield note


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
