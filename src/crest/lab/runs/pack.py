"""Fold the records of a working folder into the one file in which they are published."""

import dataclasses
import re
from collections.abc import Mapping

from crest._base.files import sweep_partials, whole_file
from crest._base.plain_json import read_json
from crest.lab.runs.packed import RECORDS, TRACES, TRACES_NAME, line_of
from crest.lab.runs.record import Record
from crest.lab.runs.store import Store


@dataclasses.dataclass(frozen=True, kw_only=True)
class Folded:
    """What became of the runs, by id."""

    packed: list[str]
    """All runs of the packed file."""
    added: list[str]
    """Those of them that it did not have before."""
    replaced: list[str]
    """Those of them that it had another record of."""
    stale: list[str]
    """Left as they are, be they files or lines: their spec stands for another run by now."""
    failed: list[str]
    """Left as they are: their run failed and has no record."""
    busy: list[str]
    """Packed, but with a file of their own still: another process holds the run."""


def fold(source: Store, target: Store) -> Folded:
    """Write the records of the source to the packed file of the target, and remove the target's single files.

    Lines of runs that the source does not have stay as they are, to the byte. Nothing of the source is changed if
    it is another folder than the target. A file is removed when its record was read back from the packed file, so
    that a kill at any moment loses nothing; the next call does the rest.

    Args:
        source: where the runs were done.
        target: where the packed file is, or will be; the same store to pack a folder in place.

    Raises:
        ValueError: if a record is damaged, or a line that no record replaces, or if a run has two new
            records; nothing is changed then.
    """
    # The packed file has a claim of its own, by the means of runs: two packings would each drop the other's lines.
    claim = target.claim(RECORDS)
    if claim is None:
        raise ValueError(f"folder must be packed by one process at a time, and another is at {target.folder}")
    with claim:
        target.sweep_partials()
        sweep_partials(target.folder / TRACES)
        old = target.packed.lines()
        records = _new_records(source, target)
        fresh = {name: record for name, record in records.items() if not record.stale}
        # Read, so that what is published is known to be whole.
        kept = {name: target.packed.read(name) for name in old.keys() - fresh}
        changed = {name: record for name, record in fresh.items() if not _is_packed(target, record)}
        # From here on the order matters: traces, then the line that names them, then the single file, then old traces.
        # After a kill between any two, each record is still there once, and the next call goes on.
        _write(target, old, changed)
        busy = [name for name in sorted(fresh) if not _remove(target, name)]
        if target.packed.path.exists():
            _remove_unused_traces(target)
        packed = old.keys() | fresh
        return Folded(
            packed=sorted(packed),
            added=sorted(changed.keys() - old),
            replaced=sorted(changed.keys() & old),
            stale=sorted(name for name, record in {**records, **kept}.items() if record.stale),
            failed=sorted((source.failures() | target.failures()) - packed),
            busy=busy,
        )


def _is_packed(target: Store, record: Record) -> bool:
    """Whether the line of a run holds just this record; not if it has none, or a damaged one."""
    try:
        # As text: in Python 1 equals 1.0, and 0.0 equals -0.0.
        return target.packed.read(record.id).to_json() == record.to_json()
    except (FileNotFoundError, ValueError):
        return False


def _new_records(source: Store, target: Store) -> dict[str, Record]:
    """The records of the target's single files, and all of another source."""
    records = {name: target.read(name) for name in sorted(target.unpacked())}
    if source.folder.resolve() == target.folder.resolve():
        return records
    for name in sorted(source.ids()):
        record = source.read(name)
        if name in records and record.to_json() != records[name].to_json():
            raise ValueError(
                f"a run must have one new record, got two of {name}: {source.folder} and {target.path(name)} differ. "
                f"Remove one of them, or pack {target.folder} first"
            )
        records[name] = record
    return records


def _write(target: Store, old: Mapping[str, bytes], changed: Mapping[str, Record]) -> None:
    """The packed file with these records in the place of their old lines, if that changes it; traces come first."""
    lines = dict(old)
    for name, record in changed.items():
        lines[name], files = line_of(record)
        for place, content in files.items():
            path = target.folder / place
            path.parent.mkdir(exist_ok=True)
            with whole_file(path) as file:
                file.write(content)
    content = b"".join(lines[name] + b"\n" for name in sorted(lines))
    path = target.packed.path
    if lines and not (path.exists() and path.read_bytes() == content):
        with whole_file(path) as file:
            file.write(content)


def _remove(target: Store, name: str) -> bool:
    """Remove the file of a run whose record is packed; False where another process holds the run."""
    path = target.path(name)
    if not path.exists():
        return True
    # The process that holds the run may be about to write its file anew.
    claim = target.claim(name)
    if claim is None:
        return False
    with claim:
        # File and line are read from the disk again: the run may have been done once more since.
        if _is_packed(target, target.read(name)):
            path.unlink(missing_ok=True)
    return True


def _remove_unused_traces(target: Store) -> None:
    """Remove the traces that no line refers to: those of replaced records, and of a packing that was killed."""
    used = {read_json(line)["traces"] for line in target.packed.lines().values()}
    for path in sorted((target.folder / TRACES).glob("*.json")):
        if re.fullmatch(TRACES_NAME, path.name) and f"{TRACES}/{path.name}" not in used:
            path.unlink()
