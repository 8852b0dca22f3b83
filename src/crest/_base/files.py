"""Files that appear under their name only when they are whole."""

import contextlib
import errno
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

# `crest.lab.systems` imports this module, so it must load on Windows too, where nothing here can be called.
if sys.platform != "win32":
    import fcntl

PARTIAL = ".partial"
"""Ending of files that are being written; one without a living writer is the rest of a killed process."""

_NO_LOCKS_HERE = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK)


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write bytes to, which takes its name when the block ends well; else nothing changes.

    The bytes go to a temporary name in the same folder, are flushed to the disk, and are renamed, so a
    reader sees the old file or the new one and never a part, after a kill or a loss of power too. A disk that is full
    is an OSError that names the folder.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with whole_file(Path(folder) / "note") as file:
        ...         _ = file.write(b"done")
        ...     (Path(folder) / "note").read_text()
        'done'
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"folder {path.parent} does not exist")
    if path.name and path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder: name a file in it", str(path))
    with _named(path.parent):
        temporary, handle = _locked_partial(path)
        try:
            with _opened(handle) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                # Before the file is closed: closing gives up the lock, and a sweep could come in between.
                os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _flush_folder(path.parent)


@contextlib.contextmanager
def _named(folder: Path) -> Iterator[None]:
    """An error of the disk names the folder. A write to an open file knows no name, and the message must say which disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(folder)) from error


def lasting_folder(folder: Path) -> None:
    """Make a folder, and what is missing above it, so that a loss of power does not take it away with its files.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     lasting_folder(Path(folder) / "a" / "b")
        ...     (Path(folder) / "a" / "b").is_dir()
        True
    """
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    with _named(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for one in missing:
            _flush_folder(one.parent)


def sweep_partials(folder: Path) -> list[Path]:
    """The temporary files of dead writers in a folder, which are removed.

    A living writer holds a lock on its file, and the kernel lets go of the lock when a process dies, however it
    dies. Hence not the age of the file, since a slow writer may live, nor a process number in its name, which
    is given out again and means nothing in another container or on another machine.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, whole_file(Path(folder) / "note") as file:
        ...     (Path(folder) / ".old.0123.partial").touch()
        ...     [path.name for path in sweep_partials(Path(folder))]
        ['.old.0123.partial']
    """
    removed = []
    for path in sorted(folder.glob(f".*{PARTIAL}")):
        try:
            handle = os.open(path, os.O_RDWR)
        except OSError:  # finished a moment ago, or another user's: not ours to remove
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Renamed before it could be locked: what is open here is now another process's finished file.
            if named_by(path, handle):
                path.unlink()
                removed.append(path)
        except OSError:  # being written, or a file system that cannot tell: leftovers do no harm
            continue
        finally:
            os.close(handle)
    return removed


@contextlib.contextmanager
def held_folder(prefix: str) -> Iterator[Path]:
    """A temporary folder that goes when the block ends; those that killed processes left behind go first.

    The folder itself is locked from the moment it is made. So a folder without a lock belongs to no living process,
    and a kill never leaves a folder that looks as if it were still in use.

    Args:
        prefix: of the folder's name; what starts with it in the system's folder for temporary files is ours.

    Example:
        >>> with held_folder("crest-example-") as folder:
        ...     folder.is_dir()
        True
        >>> folder.exists()
        False
    """
    for old in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError), _locked_folder(old):
            shutil.rmtree(old, ignore_errors=True)
    folder, handle = _new_held_folder(prefix)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _new_held_folder(prefix: str) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
        with contextlib.suppress(FileNotFoundError):  # taken for a dead one before it could be locked
            handle = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                # Without locks no other process can remove it either.
                if error.errno in _NO_LOCKS_HERE:
                    return folder, handle
            else:
                if named_by(folder, handle):
                    return folder, handle
            os.close(handle)


@contextlib.contextmanager
def _locked_folder(folder: Path) -> Iterator[None]:
    """The lock of a folder while the block runs; an OSError if another process has it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def named_by(path: Path, handle: int) -> bool:
    """Whether the open file is the one that the path names now."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _locked_partial(path: Path) -> tuple[Path, int]:
    """A new temporary file for `path` and its handle, which holds the lock that says: in use."""
    while True:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}{PARTIAL}")
        # Made with the rights of any file of this user: to read the umask for a later chmod, one has to set it,
        # and that is not safe beside other threads.
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if named_by(temporary, handle):
                return temporary, handle
        except OSError as error:
            # Without locks a sweep removes nothing, so this file is safe as it is.
            if error.errno in _NO_LOCKS_HERE:
                return temporary, handle
            os.close(handle)
            temporary.unlink(missing_ok=True)
            raise
        # A sweep took the file between its making and its lock.
        os.close(handle)


def _opened(handle: int) -> IO[bytes]:
    try:
        return os.fdopen(handle, "wb")
    except BaseException:
        os.close(handle)
        raise


def _flush_folder(folder: Path) -> None:
    """Write the renaming itself to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
