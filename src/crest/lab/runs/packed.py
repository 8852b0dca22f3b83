"""Packed: the published form of records, one line per run in one sorted file, with the large traces apart."""

# An id is what the rest of the package calls it.
# ruff: noqa: A002

import dataclasses
import functools
import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crest._base.plain_json import read_json
from crest.lab.runs.record import Record

RECORDS = "records.jsonl"
"""The file with a line per run, sorted by id."""
TRACES = "traces"
"""The folder of the files that lines refer to: traces are a hundred times as long as the rest of a record."""
RUN_ID = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}"
"""An id: made of names in the code, so ASCII, and short enough for the name of a file with what is written around it."""
TRACES_NAME = rf"({RUN_ID})\.([0-9a-f]{{10}})\.json"
"""Such a file's name: the run, and a digest of the content."""

# What a line begins with.
_ID = re.compile(rb'\{"id": "(%b)"' % RUN_ID.encode())
_MENDED = "restore the file from version control, or remove the line, and its run is done again"
_RESTORED = "restore it from version control, or remove the line, and the run is done again"
# As much of a line as a message quotes.
_QUOTED = 40


def record_of(
    content: bytes, id: str, *, place: str, remedy: str, traces: Callable[[Any], Any] | None = None
) -> Record:
    """The record that a file or a line holds; a ValueError that names the place and the remedy if it is none.

    Args:
        content: JSON.
        id: the run that it must be the record of.
        place: how a message names the file or the line.
        remedy: what to do about it.
        traces: gives the traces for what stands in their place.
    """
    try:
        fields = read_json(content)
        if not isinstance(fields, dict):
            raise ValueError(f"it holds a {type(fields).__name__}")
        # A copy under another name would count one run twice.
        if fields["id"] != id:
            raise ValueError(f"it is the record of {fields['id']!r}")
        if traces is not None:
            fields["traces"] = traces(fields["traces"])
        return Record.from_dict(fields)
    except KeyError as error:
        raise ValueError(f"{place} is not a record: it has no {error}; {remedy}") from error
    except _TracesError:
        # It says already which file is missing and what to do: the next clause would wrap a second sentence around it.
        raise
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{place} is not a record, or damaged, or of another version of crest ({error}): update crest if a newer "
            f"one wrote it; else {remedy}"
        ) from error


class _TracesError(ValueError):
    """A whole sentence about the file that a line refers to."""


def line_of(record: Record) -> tuple[bytes, dict[str, bytes]]:
    """The line of a record, without its end, and the file that it refers to, by its place in the folder.

    The file's name has a digest of its content: traces of two records of one run can lie side by side, so that a
    new line and its traces come into force together.
    """
    # The id comes first, so that an index of the file needs the first bytes of each line and no JSON.
    fields = {"id": record.id, **record.to_dict()}
    files = {}
    if fields["traces"] is not None:
        content = (json.dumps(fields["traces"], allow_nan=False) + "\n").encode()
        fields["traces"] = f"{TRACES}/{record.id}.{_digest(content)}.json"
        files = {fields["traces"]: content}
    line = json.dumps(fields, allow_nan=False).encode()
    if not _ID.match(line):
        raise ValueError(refused_id(record.id))
    return line, files


def refused_id(id: str) -> str:
    """The sentence about an id that no run can have."""
    got = repr(id) if len(id) <= _QUOTED else f"{id[:_QUOTED]!r} and {len(id) - _QUOTED} more"
    return f"id must be at most 200 letters of ASCII, digits, '_', '-' and '.', not first a '.' or '-', got {got}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:10]


@dataclasses.dataclass(frozen=True)
class _Index:
    """The lines of the file as it was at one time."""

    signature: tuple[int, ...] = ()
    lines: dict[str, tuple[int, bytes]] = dataclasses.field(default_factory=dict)
    """Number and content of the line of each run."""
    twice: dict[str, str] = dataclasses.field(default_factory=dict)
    """What is wrong with the runs that have several lines."""
    damage: list[str] = dataclasses.field(default_factory=list)
    """What is wrong with the file."""
    order: list[str] = dataclasses.field(default_factory=list)
    """What is wrong with the order of its lines, which packing mends."""


class Packed:
    """The records of a folder's `records.jsonl`; none if there is no such file.

    The file is read when it has changed, and a line is taken apart when its record is asked for. What is wrong with
    one line leaves the records of the others readable.

    Args:
        folder: where the file is, or would be.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / RECORDS
        self._index = _Index()

    def __contains__(self, id: str) -> bool:
        return id in self._now().lines

    def ids(self) -> set[str]:
        """Runs with a line; a ValueError if the file is not what packing leaves, since some may be missing."""
        index = self._now()
        if index.damage or index.order:
            raise ValueError((*index.damage, *index.order)[0])
        return set(index.lines)

    def lines(self) -> dict[str, bytes]:
        """The lines by run, without their ends, in any order; a ValueError if one is damaged."""
        index = self._now()
        if index.damage:
            raise ValueError(index.damage[0])
        return {name: content for name, (_, content) in index.lines.items()}

    def read(self, id: str) -> Record:
        """The record of a run; FileNotFoundError if it has no line, ValueError if the line is not one."""
        while True:
            index = self._now()
            if id in index.twice:
                raise ValueError(index.twice[id])
            if id not in index.lines:
                raise FileNotFoundError(f"{self.path} has no line of {id}")
            number, content = index.lines[id]
            place = f"{self.path}, line {number},"
            traces = functools.partial(self._traces, id, place)
            try:
                return record_of(content, id, place=place, remedy=_MENDED, traces=traces)
            except ValueError:
                # Packing replaces the line before it removes the traces of the old one. So if the file has changed
                # since it was indexed, the line is read again. If it has not, the damage is real.
                if self._now() is index:
                    raise

    def _traces(self, id: str, place: str, name: Any) -> Any:
        """What the file holds that the line of a run refers to."""
        if name is None:
            return None
        # A name that stands in a file must not lead out of the folder.
        named = re.fullmatch(f"{TRACES}/{TRACES_NAME}", name) if isinstance(name, str) else None
        if named is None or named[1] != id:
            raise ValueError(f"its traces are not the name of a file of its own in {TRACES}")
        path = self.path.parent / name
        try:
            content = path.read_bytes()
        except FileNotFoundError as error:
            raise _TracesError(f"{place} refers to {path}, which is missing: {_RESTORED}") from error
        if _digest(content) != named[2]:
            raise _TracesError(f"{place} refers to {path}, which is not as it was packed: {_RESTORED}")
        return read_json(content)

    def _now(self) -> _Index:
        """The index of the file as it is now."""
        # Packing renames a new file into place, so a change shows in the inode even within the clock's resolution.
        try:
            if _signature(self.path.stat()) != self._index.signature:
                # The signature of what is open: between the look above and here the file may be replaced again.
                with self.path.open("rb") as file:
                    signature = _signature(os.fstat(file.fileno()))
                    self._index = _indexed(file.read(), signature, self.path)
        except FileNotFoundError:
            self._index = _Index()
        return self._index


def _signature(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _indexed(content: bytes, signature: tuple[int, ...], path: Path) -> _Index:
    """The lines of a file by the ids that they begin with."""
    index = _Index(signature)
    # Behind the last line's end is nothing, unless the file was cut off or edited by hand.
    *lines, rest = content.split(b"\n")
    if rest:
        lines.append(rest)
        if not _is_json(rest):
            index.damage.append(
                f"{path} is cut off in line {len(lines)}: restore the file from version control"
            )
    last = ""
    for number, line in enumerate(lines, start=1):
        found = _ID.match(line)
        if found is None:
            begin = line[:_QUOTED].decode(errors="replace")
            index.damage.append(
                f"{path}, line {number}, is not a record: it begins with {begin!r} and not with an id; restore the "
                "file from version control, or mend the line"
            )
            continue
        name = found[1].decode()
        if name in index.lines:
            first, _ = index.lines[name]
            index.twice[name] = (
                f"{path} has two records of {name}, in lines {first} and {number}: remove one of them"
            )
            index.damage.append(index.twice[name])
            continue
        # A merge may leave lines out of order. Their records are whole, so this is no damage, but packing must see it.
        if name < last:
            index.order.append(
                f"{path} is not sorted: line {number}, {name}, stands after {last}; "
                f"sort it with `crest pack --folder {path.parent}`"
            )
        index.lines[name] = number, line
        last = max(name, last)
    return index


def _is_json(content: bytes) -> bool:
    try:
        read_json(content)
    except ValueError:
        return False
    return True
