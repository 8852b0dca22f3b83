"""Store: the records of a folder, safe against kills, full disks and other processes."""

# An id is what the rest of the package calls it.
# ruff: noqa: A002

import fcntl
import os
import re
from pathlib import Path

from crest._base.files import lasting_folder, named_by, sweep_partials, whole_file
from crest.lab.runs.packed import RUN_ID, Packed, record_of, refused_id
from crest.lab.runs.record import Record
from crest.lab.runs.spec import RunSpec

_RECORD = ".json"
_ERROR = ".error"


class RunClaim:
    """The right to do a run, held until `release` or the end of the block, or until the process dies.

    A claim that is dropped without a release stays held while the process lives: losing the object must not
    let a second process into a run that goes on. A forked child shares the lock but not the right: its
    `release` leaves the parent's claim alone, and a parent's death frees the run only when such children end.
    """

    def __init__(self, path: Path, handle: int) -> None:
        self._path = path
        self._handle: int | None = handle
        self._owner = os.getpid()

    def release(self) -> None:
        """Let others have the run; a second call does nothing."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        try:
            # Removed under the lock, so that no other process's file goes. It frees the run even if a
            # forked child has the file open and so still locked: the next claim makes a new one.
            if os.getpid() == self._owner and named_by(self._path, handle):
                self._path.unlink(missing_ok=True)
        finally:
            os.close(handle)

    def __enter__(self) -> "RunClaim":
        return self

    def __exit__(self, *error: object) -> None:
        self.release()


class Store:
    """The records of a folder: `<id>.json` for a finished run, `<id>.error` for one that failed.

    `crest pack` moves finished records to the lines of one file, `records.jsonl`. A folder may have both: the file of
    a run is newer than its line, so it counts.

    A record is there whole or not at all, so present means complete. Processes share a folder by claims:

        with claim:                    # of store.claim(id), if that is not None
            if id not in store:        # another process may have finished it before
                store.write(run(spec))

    Args:
        folder: made if it is missing.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = Store(Path(folder) / "runs")
        ...     _ = store.fail("gear-s0", "ValueError: no")
        ...     store.ids(), store.failures(), store.failure("gear-s0")
        (set(), {'gear-s0'}, 'ValueError: no')
    """

    def __init__(self, folder: Path) -> None:
        try:
            lasting_folder(folder)
        except OSError as error:
            raise ValueError(
                f"folder must be a folder or a place for one, got {folder} ({error.strerror})"
            ) from error
        if not os.access(folder, os.R_OK | os.X_OK):
            raise ValueError(f"folder must be open to reading, got {folder}")
        self.folder = folder
        self.packed = Packed(folder)

    def path(self, id: str) -> Path:
        """Where the record of a run is written; once it is packed there is no such file."""
        return self._place(id, _RECORD)

    def __contains__(self, id: str) -> bool:
        # In this order, here and below: packing writes the line before it removes the file.
        return self.path(id).is_file() or id in self.packed

    def ids(self) -> set[str]:
        """Runs with a record; a ValueError if the packed file is damaged, since some may be missing."""
        return self.unpacked() | self.packed.ids()

    def unpacked(self) -> set[str]:
        """Runs whose record has a file of its own."""
        return self._stems(_RECORD)

    def failures(self) -> set[str]:
        """Runs that failed and have no record."""
        # In this order: a run that is finished in between counts as finished.
        failed = self._stems(_ERROR)
        return failed - self.ids()

    def failure(self, id: str) -> str:
        """Why the run failed: what `fail` was told."""
        return self._place(id, _ERROR).read_text(encoding="utf-8")

    def failed_at(self, id: str) -> int | None:
        """When the run failed, in nanoseconds; None if it did not."""
        try:
            return self._place(id, _ERROR).stat().st_mtime_ns
        except FileNotFoundError:
            return None

    def read(self, id: str) -> Record:
        """The record of a run; FileNotFoundError if there is none, ValueError if it is damaged."""
        path = self.path(id)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return self.packed.read(id)
        return record_of(content, id, place=str(path), remedy="move it away, and its run is done again")

    def record(self, spec: RunSpec) -> Record:
        """The record of a spec; as `read`, and a ValueError if it holds the spec of another run.

        A stale record has an id that no spec has any more. So under the id of a spec as it is now there can be no
        other one, unless the record was edited.
        """
        record = self.read(spec.id)
        if record.stale:
            raise ValueError(
                f"the record of {spec.id} in {self.folder} must hold the spec of its run, got that of "
                f"{record.spec.id}: restore it from version control, or remove it, and its run is done again"
            )
        return record

    def write(self, record: Record) -> Path:
        """Put a record on the disk and forget an earlier failure of its run; its path."""
        if record.stale:
            raise ValueError(f"record must be of its spec as it is now, {record.spec.id}, got {record.id}")
        path = self.path(record.id)
        content = record.to_json().encode()
        with whole_file(path) as file:
            file.write(content)
        # Only now: a kill in between leaves both, and the record counts.
        self._place(record.id, _ERROR).unlink(missing_ok=True)
        return path

    def fail(self, id: str, text: str) -> Path:
        """Note why a run failed; the note's path. A record of the run stays, and counts."""
        path = self._place(id, _ERROR)
        # A traceback may quote what UTF-8 cannot hold; noting a failure must not fail.
        with whole_file(path) as file:
            file.write(text.encode("utf-8", errors="backslashreplace"))
        return path

    def claim(self, id: str) -> RunClaim | None:
        """The right to do a run, or None while another living process, or another claim of this one, has it."""
        claims = self.folder / ".claims"
        path = claims / self._place(id, ".lock").name
        claims.mkdir(exist_ok=True)
        while True:
            handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                return None
            except BaseException:
                os.close(handle)
                raise
            # A holder that let go after our opening took the file away: a lock on it keeps no other process out.
            if named_by(path, handle):
                return RunClaim(path, handle)
            os.close(handle)

    def sweep_partials(self) -> list[Path]:
        """The half-written files of killed processes, which are removed; those of living ones stay."""
        return sweep_partials(self.folder)

    def _place(self, id: str, ending: str) -> Path:
        if not re.fullmatch(RUN_ID, id):
            raise ValueError(refused_id(id))
        return self.folder / f"{id}{ending}"

    def _stems(self, ending: str) -> set[str]:
        # Hidden files are not ours: editors and copying programs leave some.
        with os.scandir(self.folder) as entries:
            return {
                entry.name.removesuffix(ending)
                for entry in entries
                if entry.name.endswith(ending) and not entry.name.startswith(".") and entry.is_file()
            }
