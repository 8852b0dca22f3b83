"""The line of a user's code that called crest, for warnings that come from many depths."""

import inspect
import warnings
from pathlib import Path


def users_line() -> int:
    """The `stacklevel` with which the caller's warning points to the line that called crest."""
    level, found, frame = 1, 1, inspect.currentframe()
    while frame is not None and (frame := frame.f_back) is not None:
        level += 1
        if frame.f_globals.get("__name__", "").partition(".")[0] == "crest":
            found = level
    return found


def warn_of_replacing(path: Path) -> None:
    """Warn, where the user called, that a file which is about to be written replaces another."""
    if path.exists():
        warnings.warn(f"{path} replaces the file that was there", UserWarning, stacklevel=users_line())
