"""What went wrong in the words of the person at the terminal: options as they are typed, files as they are named.

Functions behind a command refuse an argument by its Python name, `jobs must be ...`, and advise in Python, `id_by='recording'`.
The user who typed `--jobs` knows no argument `jobs`. So the one place that prints errors also turns the name, where a sentence
begins with it, and every `name=value` into the spelling of the command's signature: `--jobs` and `--id-by recording` of an
option, `NAME` of what has no option. Where a function behind a command has another name for the same thing, the signature
says so with `Behind`. Errors in the file of a study are told in its own words: `id_by = "recording"`.
"""

import ast
import contextlib
import errno
import inspect
import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from cyclopts import CoercionError, CycloptsError, MissingArgumentError, Parameter, UnusedCliTokensError

# A call, as in `crest.HighPass("level", channels_first=True)`, is code to be copied. Advice stands in the middle of a
# sentence that a module far from here words, so it is found by its form: `name=`, and a Python value behind it.
_KEYWORD = re.compile(
    r"[\w.]+\((?:[^()]|\([^()]*\))*\)|(?<![\w.])(?P<name>[a-z_]+)=(?P<value>'[^']*'|\[['\w][^\]]*\]|\([^()]*\)|[\w.]*\w)?",
    re.ASCII,
)
# What reads a signal file says behind these words what was wrong with the options there.
_UNREADABLE = "cannot be read: "

_KINDS = {int: "a whole number", float: "a number"}

_REASONS = {
    errno.EACCES: "you may not read or write it",
    errno.EPERM: "you may not read or write it",
    errno.EROFS: "the disk is read-only",
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
        # A class of options, as cyclopts spreads it: `RecordingFlags`.
        if hasattr(parameter.annotation, "__dataclass_fields__"):
            found |= spellings(parameter.annotation)
            continue
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
    # Not above: help needs no NumPy.
    from crest.lab.study_keys import StudyFileError  # noqa: PLC0415

    if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
        # Where a file is renamed, the second name is the one that was asked for.
        place = error.filename if error.filename2 is None else error.filename2
        reason = _REASONS.get(error.errno) or str(error.strerror)
        return f"cannot use {str(place)!r}: {reason}"
    if isinstance(error, StudyFileError):
        return in_words_of_study(str(error))
    return str(error) if command is None else in_options_of(command, str(error))


def in_words_of_parser(error: CycloptsError) -> str:
    """What the parser says against the words that were typed: of missing, wrong and superfluous ones as all other errors do."""
    if isinstance(error, UnusedCliTokensError):
        return f"unknown argument {', '.join(map(repr, error.unused_tokens or ()))}."
    if isinstance(error, CoercionError) and error.token is not None and error.target_type in _KINDS:
        typed = error.token.keyword or "a value"
        return f"{typed} must be {_KINDS[error.target_type]}, got {error.token.value!r}."
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        name = error.keyword or error.argument.name
        guess = str(error).partition("requires an argument.")[2].rstrip()
        return f"{name} must be given{', with a value' if name.startswith('-') else ''}.{guess}"
    return str(error).rstrip()


def in_options_of(command: Callable[..., Any], sentence: str, *, begins: bool = True) -> str:
    """The sentence with the command's options as they are typed.

    Args:
        command: whose options they are.
        sentence: in the words of what is behind the command.
        begins: whether it begins with an argument. What is said about a row begins with a column of the table.

    Example:
        >>> def check(*, id_by: str = "", time: str = "", no_time: bool = False) -> None: ...
        >>> in_options_of(check, "gap must be smaller; use id_by='recording'")
        'gap must be smaller; use --id-by recording'
        >>> in_options_of(check, "time must be said: time=0 takes it for seconds, time=False for a channel")
        '--time must be said: --time 0 takes it for seconds, --no-time for a channel'
        >>> in_options_of(check, 'declare it: time=("offset", "gain"), or crest.repair(model, time=("offset",))')
        'declare it: --time offset gain, or crest.repair(model, time=("offset",))'
    """
    typed = spellings(command)

    def keyword(name: str, value: Any) -> str | None:
        option = typed.get(name)
        if option is None or value is True or value is None:
            return option
        if value is False:
            return f"--no-{option.removeprefix('--')}"
        return f"{option} {shlex.join(map(str, value if isinstance(value, list | tuple) else [value]))}"

    before, _, last = sentence.rpartition(_UNREADABLE)
    if before:
        sentence = f"{before}{_UNREADABLE}{_with_subject(last, typed)}"
    elif begins:
        sentence = _with_subject(sentence, typed)
    return _with_keywords(sentence, keyword)


def _with_subject(sentence: str, typed: Mapping[str, str]) -> str:
    """The sentence with the arguments that it begins with, one or several, as they are typed."""
    for verb in (" must ", " is ", " has "):
        subject, found, rest = sentence.partition(verb)
        # As in "regime of gear must be": whose it is stays.
        names, of, owner = subject.partition(" of ")
        if found and " " not in owner and all(name in typed for name in names.split(", ")):
            return f"{', '.join(typed[name] for name in names.split(', '))}{of}{owner}{verb}{rest}"
    return sentence


def _with_keywords(sentence: str, spelt: Callable[[str, Any], str | None]) -> str:
    """The sentence with every `name=value` as `spelt` has it; what it has no words for stays, and so do calls."""

    def replaced(found: re.Match[str]) -> str:
        if not found["name"]:
            return found[0]
        value = found["value"]
        with contextlib.suppress(ValueError, SyntaxError):
            value = None if value is None else ast.literal_eval(value)
        return spelt(found["name"], value) or found[0]

    return _KEYWORD.sub(replaced, sentence)


def in_words_of_study(sentence: str) -> str:
    """The sentence with the keys of a study's file as TOML has them.

    Example:
        >>> in_words_of_study("my.toml: gap must be smaller; use id_by='recording', or time=False; folder= says where they are")
        'my.toml: gap must be smaller; use id_by = "recording", or time = false; signals says where they are'
    """
    from crest.lab.study_keys import STUDY_KEYS  # noqa: PLC0415

    keys = {key: key for section in STUDY_KEYS.values() for key in section} | {"folder": "signals"}

    def keyword(name: str, value: Any) -> str | None:
        key = keys.get(name)
        return key if key is None or value is None else f"{key} = {json.dumps(value, ensure_ascii=False)}"

    return _with_keywords(sentence, keyword)
