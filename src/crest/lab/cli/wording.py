"""What went wrong in the words of the person at the terminal: options as they are typed, files as they are named.

Functions behind a command refuse an argument by its Python name: `jobs must be ...`. Whoever typed `--jobs` knows no
argument `jobs`. So the one place that prints errors also turns the name, where a sentence begins with it, into the
spelling of the command's signature: `--jobs` of an option, `NAME` of what has no option. Where a function behind a
command has another name for the same thing, the signature says so with `Behind`.
"""

import errno
import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from cyclopts import Parameter

_BEGINNING = re.compile(r"(?P<name>\w+)(?P<rest>(?: of \w+)? (?:must|is|has)\b)", re.ASCII)

_REASONS = {
    errno.EACCES: "you may not read or write it",
    errno.EPERM: "you may not read or write it",
    errno.EROFS: "it is on a disk that can only be read",
    errno.ENOENT: "it does not exist",
    errno.EEXIST: "it is a file, and a folder is needed",
    errno.ENOTDIR: "it is under a file, and a folder is needed",
    errno.EISDIR: "it is a folder, and a file is needed",
    errno.ENOSPC: "the disk is full",
}


class Behind(NamedTuple):
    """Beside a parameter of a command: how what is behind the command calls it."""

    name: str


def spellings(command: Callable[..., Any]) -> dict[str, str]:
    """How the parameters of a command are typed, by the names under which they are refused.

    Example:
        >>> def fetch(name: str, /, *, from_dir: str = "", cluster: Annotated[str, Behind("address")] = "") -> None: ...
        >>> spellings(fetch)
        {'name': 'NAME', 'from_dir': '--from-dir', 'cluster': '--cluster', 'address': '--cluster'}
    """
    found: dict[str, str] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        option = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        notes = get_args(parameter.annotation)[1:] if get_origin(parameter.annotation) is Annotated else ()
        typed = f"--{name.replace('_', '-')}" if option else name.upper()
        for note in notes:
            if isinstance(note, Parameter) and note.name:
                typed = next(iter(note.name))
        found[name] = typed
        for note in notes:
            if isinstance(note, Behind):
                found[note.name] = typed
    return found


def in_words_of(command: Callable[..., Any] | None, error: BaseException) -> str:
    """The sentence that an error prints, with the command's options as they are typed.

    Example:
        >>> def run(*names: str, jobs: int = 1) -> None: ...
        >>> in_words_of(run, ValueError("jobs must be a whole number, 1 or more, got 0"))
        '--jobs must be a whole number, 1 or more, got 0'
        >>> in_words_of(run, FileExistsError(17, "File exists", "notes.txt"))
        "cannot use 'notes.txt': it is a file, and a folder is needed"
    """
    if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
        # Where a file is renamed, the second name is the one that was asked for.
        place = error.filename if error.filename2 is None else error.filename2
        reason = _REASONS.get(error.errno) or str(error.strerror)
        return f"cannot use {str(place)!r}: {reason}"
    sentence = str(error)
    begins = _BEGINNING.match(sentence)
    if command is None or begins is None:
        return sentence
    typed = spellings(command).get(begins["name"])
    return sentence if typed is None else f"{typed}{begins['rest']}{sentence[begins.end() :]}"
