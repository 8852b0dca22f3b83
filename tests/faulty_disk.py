"""System calls that fail in turn, and a disk that forgets what was not flushed: wrappers of the functions of `os`."""

import contextlib
import errno
import itertools
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

CALLS = ("open", "fdopen", "fsync", "replace", "unlink", "close", "mkdir", "write")
"""What is made to fail: functions of `os`, and the write of a file that `fdopen` gave."""


class Faults:
    """Counts the calls, and lets the one with a given number fail; none for None."""

    def __init__(self, failing: int | None, error: int = errno.EIO) -> None:
        self.failing = failing
        self.error = error
        self.count = 0
        self.failed: str | None = None

    def step(self, name: str) -> None:
        number, self.count = self.count, self.count + 1
        if number == self.failing:
            self.failed = name
            raise OSError(self.error, f"{os.strerror(self.error)} (made to fail: {name})")

    def wrapped(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            if name == "close":
                # A close that fails has closed nevertheless, on Linux.
                function(*args, **kwargs)
                return self.step(name)
            self.step(name)
            result = function(*args, **kwargs)
            if name == "fdopen":
                # The object's own method cannot be replaced, so the file is wrapped.
                return _Written(result, self)
            return result

        return called


class _Written:
    """A file whose writes can fail."""

    def __init__(self, file: Any, faults: Faults) -> None:
        self._file = file
        self._faults = faults

    def write(self, content: bytes) -> int:
        self._faults.step("write")
        return int(self._file.write(content))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> "_Written":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


@contextlib.contextmanager
def faulty(failing: int | None, error: int = errno.EIO) -> Iterator[Faults]:
    """The calls under `CALLS`, of which one fails, while the block runs."""
    faults = Faults(failing, error)
    with contextlib.ExitStack() as stack:
        for name in CALLS:
            if hasattr(os, name) and name != "write":
                stack.enter_context(mock.patch.object(os, name, faults.wrapped(name, getattr(os, name))))
        yield faults


class Disk:
    """What would be found in a folder after a loss of power at any moment.

    Bytes last once their file was flushed, and names (of files and folders, and their removal) once their folder was.
    What was not flushed may be there nevertheless: a folder's changes come in their order, and each folder on its own.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.content: dict[int, bytes] = {}
        """What lasts of each file, by its number."""
        self.lasting: dict[Path, list[tuple[str, int | None]]] = {root: []}
        self.pending: dict[Path, list[tuple[str, int | None]]] = {}
        """Changes of each folder, a name and a file or nothing; a folder has the number 0."""
        self.moments: list[tuple[Any, list[str]]] = []
        """All states, each with what was reported as done by then."""
        self.done: list[str] = []
        self._numbers: dict[int, int] = {}
        self._serial = itertools.count(1)

    def number(self, handle: int | str, new: bool = False) -> int:
        """The number of a file. The disk's own would not do: it gives that of a file which is gone to the next one."""
        inode = os.stat(handle).st_ino
        if new or inode not in self._numbers:
            self._numbers[inode] = next(self._serial)
        return self._numbers[inode]

    def change(self, path: Path, number: int | None) -> None:
        self.pending.setdefault(path.parent, []).append((path.name, number))
        self.note()

    def note(self) -> None:
        copies = [
            {folder: list(names) for folder, names in one.items()} for one in (self.lasting, self.pending)
        ]
        self.moments.append(((dict(self.content), *copies), list(self.done)))

    def after_losses(self) -> Iterator[tuple[dict[str, bytes], list[str]]]:
        """Every content of the root that could be found, by relative path, and what had been reported by then."""
        seen = set()
        for (content, lasting, pending), done in self.moments:
            choices = [range(len(changes) + 1) for changes in pending.values()]
            for kept in itertools.product(*choices):
                names = {folder: list(changes) for folder, changes in lasting.items()}
                for (folder, changes), count in zip(pending.items(), kept, strict=True):
                    names.setdefault(folder, []).extend(changes[:count])
                files = dict(self._found(self.root, "", names, content))
                key = (tuple(sorted(files.items())), tuple(done))
                if key not in seen:
                    seen.add(key)
                    yield files, done

    def _found(
        self,
        folder: Path,
        place: str,
        names: dict[Path, list[tuple[str, int | None]]],
        content: dict[int, bytes],
    ) -> Iterator[tuple[str, bytes]]:
        for name, number in dict(names.get(folder, [])).items():
            if number == 0:
                yield from self._found(folder / name, f"{place}{name}/", names, content)
            elif number is not None:
                # Never flushed: the name is there, and no byte.
                yield f"{place}{name}", content.get(number, b"")


@contextlib.contextmanager
def recorded(root: Path) -> Iterator[Disk]:
    """The disk under a folder, as the calls of the block leave it."""
    disk = Disk(root)
    opened, fsync, replace, unlink, mkdir = os.open, os.fsync, os.replace, os.unlink, os.mkdir

    def inside(path: Any) -> bool:
        return Path(path).is_relative_to(root) and ".claims" not in Path(path).parts

    def seen_open(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        there = os.path.exists(path)
        handle = opened(path, flags, *args, **kwargs)
        if flags & os.O_CREAT and not there and inside(path):
            disk.change(Path(path), disk.number(handle, new=True))
        return handle

    def seen_fsync(handle: int) -> None:
        fsync(handle)
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            disk.lasting.setdefault(path, []).extend(disk.pending.pop(path, []))
        else:
            disk.content[disk.number(handle)] = path.read_bytes()
        disk.note()

    def seen_replace(source: Any, target: Any) -> None:
        number = disk.number(source)
        replace(source, target)
        if inside(target):
            # One change: a renaming is there whole or not at all.
            disk.pending.setdefault(Path(source).parent, [])
            disk.pending[Path(source).parent] += [(Path(target).name, number)]
            disk.note()
            disk.change(Path(source), None)

    def seen_unlink(path: Any, *args: Any, **kwargs: Any) -> None:
        unlink(path, *args, **kwargs)
        if inside(path):
            disk.change(Path(path), None)

    def seen_mkdir(path: Any, *args: Any, **kwargs: Any) -> None:
        mkdir(path, *args, **kwargs)
        if inside(path):
            disk.change(Path(path), 0)

    changed = {"open": seen_open, "fsync": seen_fsync, "replace": seen_replace, "unlink": seen_unlink}
    with contextlib.ExitStack() as stack:
        for name, function in {**changed, "mkdir": seen_mkdir}.items():
            stack.enter_context(mock.patch.object(os, name, function))
        yield disk
