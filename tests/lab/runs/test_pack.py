"""Packing loses nothing: killed at any moment, on a full disk, beside a sweep, beside another packing."""

import dataclasses
import errno
import json
import math
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crest._base.files import PARTIAL
from crest.lab.runs import pack
from crest.lab.runs.pack import Folded, fold
from crest.lab.runs.packed import RECORDS, TRACES, Packed, line_of
from crest.lab.runs.record import Record
from crest.lab.runs.store import Store
from lab.runs.machine import Workers
from lab.runs.store_worker import record, traced

OLD = traced(record(1000), 0.125)
AGAIN = traced(record(1000, loss=0.25), 0.75)
BYSTANDER = traced(record(1001), 0.5)
NEW = record(1002)
FAILED = record(1003).id


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder, but for locks."""
    files = [path for path in folder.rglob("*") if path.is_file() and ".claims" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def names(*runs: Record) -> list[str]:
    return sorted(one.id for one in runs)


def packed(folder: Path, *runs: Record) -> Store:
    """A store with these records packed."""
    store = Store(folder)
    for one in runs:
        store.write(one)
    fold(store, store)
    assert store.unpacked() == set()
    return store


def files_of(*runs: Record) -> dict[str, bytes]:
    """What a folder has in which these are packed."""
    lines = {one.id: line_of(one) for one in runs}
    traces = {name: content for _, files in lines.values() for name, content in files.items()}
    return {RECORDS: b"".join(lines[name][0] + b"\n" for name in sorted(lines)), **traces}


# -- in place


def test_files_become_sorted_lines_and_traces_apart(store: Store) -> None:
    for one in (NEW, BYSTANDER, OLD):
        store.write(one)
    folded = fold(store, store)
    assert folded == Folded(
        packed=names(OLD, BYSTANDER, NEW),
        added=names(OLD, BYSTANDER, NEW),
        replaced=[],
        stale=[],
        failed=[],
        busy=[],
    )
    assert contents(store.folder) == files_of(OLD, BYSTANDER, NEW)
    assert len(list((store.folder / TRACES).iterdir())) == 2
    assert [store.read(one.id) for one in (OLD, BYSTANDER, NEW)] == [OLD, BYSTANDER, NEW]
    # Those who look with another store, and the claims of all runs.
    assert Store(store.folder).ids() == set(names(OLD, BYSTANDER, NEW))
    assert list((store.folder / ".claims").iterdir()) == []


NUMBERS = [
    0.1,
    1 / 3,
    -0.0,
    5e-324,
    1.7976931348623157e308,
    2.0**-1074 * 3,
    math.pi,
    1e22,
    123456789.123456789,
]


def test_numbers_come_back_to_the_bit(store: Store) -> None:
    one = dataclasses.replace(traced(record(1000), math.e), losses=NUMBERS, peak_memory=1 / 7)
    text = one.to_json()
    store.write(one)
    fold(store, store)
    again = store.read(one.id)
    assert again == one
    assert again.to_json() == text
    assert [number.hex() for number in again.losses] == [number.hex() for number in NUMBERS]


def test_what_is_packed_is_left_alone(store: Store) -> None:
    packed(store.folder, OLD, NEW)
    times = {path: path.stat().st_mtime_ns for path in store.folder.rglob("*.json*")}
    assert len(times) == 2
    folded = fold(store, store)
    assert (folded.packed, folded.added, folded.replaced) == (names(OLD, NEW), [], [])
    assert {path: path.stat().st_mtime_ns for path in store.folder.rglob("*.json*")} == times


def test_lines_of_other_runs_stay_as_they_are_to_the_byte(store: Store) -> None:
    """Else one new field of records would be a change of every line."""
    packed(store.folder, OLD, BYSTANDER)
    path = store.packed.path
    first, second = path.read_bytes().splitlines()
    path.write_bytes(first.replace(b'"seed": ', b'"seed":   ') + b"\n" + second + b"\n")
    before = path.read_bytes().splitlines()
    store.write(NEW)
    fold(store, store)
    assert set(before) < set(path.read_bytes().splitlines())
    # A file with the same content in other words is no change either.
    store.path(OLD.id).write_text(json.dumps(json.loads(OLD.to_json()), indent=3))
    assert fold(store, store).replaced == []
    assert set(before) < set(path.read_bytes().splitlines())
    assert store.unpacked() == set()


def test_a_run_that_was_done_again_takes_the_place_of_its_line_and_traces(store: Store) -> None:
    packed(store.folder, OLD, BYSTANDER)
    (store.folder / TRACES / "notes.json").touch()
    store.write(AGAIN)
    store.write(NEW)
    folded = fold(store, store)
    assert (folded.added, folded.replaced) == (names(NEW), names(AGAIN))
    assert contents(store.folder) == files_of(AGAIN, BYSTANDER, NEW) | {f"{TRACES}/notes.json": b""}
    assert store.read(AGAIN.id) == AGAIN


def test_a_change_from_whole_to_fraction_counts(store: Store) -> None:
    """Python takes 1 for 1.0; the text of a record does not."""
    one = dataclasses.replace(NEW, losses=[1.0])
    other = dataclasses.replace(NEW, losses=[1])
    assert one == other
    packed(store.folder, one)
    store.write(other)
    assert fold(store, store).replaced == [NEW.id]
    assert store.read(NEW.id).to_json() == other.to_json()


def test_failures_and_stale_records_stay_and_are_told(store: Store) -> None:
    store.write(NEW)
    store.fail(FAILED, "no")
    stale = dataclasses.replace(OLD, id="gear-old")
    store.path("gear-old").write_text(stale.to_json())
    folded = fold(store, store)
    assert (folded.packed, folded.failed, folded.stale) == ([NEW.id], [FAILED], ["gear-old"])
    rest = {f"{FAILED}.error": b"no", "gear-old.json": stale.to_json().encode()}
    assert contents(store.folder) == files_of(NEW) | rest
    assert store.failures() == {FAILED}
    assert store.read("gear-old") == stale


def test_a_line_that_has_become_stale_stays_and_is_told(store: Store) -> None:
    stale = dataclasses.replace(OLD, id="gear-old")
    path = store.packed.path
    line, files = line_of(stale)
    (store.folder / TRACES).mkdir()
    for name, content in files.items():
        (store.folder / name).write_bytes(content)
    path.write_bytes(line + b"\n")
    store.write(NEW)
    folded = fold(store, store)
    assert (folded.packed, folded.stale) == (sorted(["gear-old", NEW.id]), ["gear-old"])
    assert store.read("gear-old") == stale


def test_nothing_to_pack_leaves_nothing(store: Store) -> None:
    assert fold(store, store).packed == []
    assert contents(store.folder) == {}


def test_lines_out_of_order_are_sorted(store: Store) -> None:
    packed(store.folder, OLD, BYSTANDER, NEW)
    path = store.packed.path
    whole = path.read_bytes()
    path.write_bytes(b"\n".join(reversed(whole.splitlines())))
    store.fail(FAILED, "no")
    assert fold(store, store).packed == names(OLD, BYSTANDER, NEW)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("damage", ["file", "line", "nameless", "twice", "traces", "missing traces"])
def test_damage_is_refused_and_nothing_is_changed(store: Store, damage: str) -> None:
    packed(store.folder, OLD, BYSTANDER)
    store.write(NEW)
    path = store.packed.path
    lines = path.read_bytes().splitlines()
    traces = next((store.folder / TRACES).iterdir())
    if damage == "file":
        store.path(record(1004).id).write_text("{}")
    elif damage == "line":
        path.write_bytes(lines[0][:-1] + b"\n" + lines[1] + b"\n")
    elif damage == "nameless":
        path.write_bytes(lines[0] + b"\n=======\n" + lines[1] + b"\n")
    elif damage == "twice":
        path.write_bytes(lines[0] + b"\n" + lines[0] + b"\n")
    elif damage == "traces":
        traces.write_text("{}")
    else:
        traces.unlink()
    before = contents(store.folder)
    with pytest.raises(ValueError, match=r"not a record|two records|not as it was packed|is missing"):
        fold(store, store)
    assert contents(store.folder) == before
    # It holds nobody up afterwards.
    with store.claim(RECORDS) or pytest.fail("the claim was not given back"):
        pass


def test_a_damaged_line_gives_way_to_a_new_record(store: Store) -> None:
    packed(store.folder, OLD, BYSTANDER)
    path = store.packed.path
    path.write_bytes(path.read_bytes().replace(b'"losses": [1.0, 0.5]', b'"losses": [1.0, 0.5', 1))
    damaged = next(one for one in (OLD, BYSTANDER) if one.id == names(OLD, BYSTANDER)[0])
    with pytest.raises(ValueError, match="line 1, is not a record"):
        store.read(damaged.id)
    store.write(damaged)
    assert fold(store, store).replaced == [damaged.id]
    assert contents(store.folder) == files_of(OLD, BYSTANDER)


def test_without_a_packed_file_traces_are_left_alone(store: Store) -> None:
    """Somebody lost the file: what belongs to it must not go too."""
    packed(store.folder, OLD)
    store.packed.path.unlink()
    before = contents(store.folder)
    assert len(before) == 1
    fold(store, store)
    assert contents(store.folder) == before


# -- into another folder


def test_another_folder_takes_the_records_in_and_the_first_stays(tmp_path: Path) -> None:
    target = packed(tmp_path / "results", OLD, BYSTANDER)
    target.write(record(1004))
    source = Store(tmp_path / "work")
    for one in (AGAIN, NEW):
        source.write(one)
    source.fail(FAILED, "no")
    source.fail(BYSTANDER.id, "it has a record in the target")
    before = contents(source.folder)
    folded = fold(source, target)
    assert (folded.added, folded.replaced) == (names(NEW, record(1004)), names(AGAIN))
    assert folded.failed == [FAILED]
    assert contents(source.folder) == before
    assert contents(target.folder) == files_of(AGAIN, BYSTANDER, NEW, record(1004))
    assert target.failures() == set()


def test_a_packed_folder_can_be_merged_too(tmp_path: Path) -> None:
    source, target = packed(tmp_path / "a", OLD, NEW), Store(tmp_path / "b")
    target.write(NEW)
    assert fold(source, target).packed == names(OLD, NEW)
    assert contents(target.folder) == contents(source.folder)


def test_two_new_records_of_a_run_are_refused(tmp_path: Path) -> None:
    source, target = Store(tmp_path / "work"), packed(tmp_path / "results", BYSTANDER)
    source.write(OLD)
    target.write(AGAIN)
    before = contents(tmp_path)
    with pytest.raises(
        ValueError, match=rf"one new record, got two of {OLD.id}: .*work and .*results.*\.json differ"
    ):
        fold(source, target)
    assert contents(tmp_path) == before
    # Packed, the target's is an old one.
    fold(target, target)
    assert fold(source, target).replaced == [OLD.id]
    assert target.read(OLD.id) == OLD


def test_a_folder_under_another_name_is_the_same(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs")
    store.write(OLD)
    (tmp_path / "link").symlink_to(store.folder)
    assert fold(Store(tmp_path / "link"), store).added == [OLD.id]
    assert contents(store.folder) == files_of(OLD)


# -- beside others


def test_a_run_that_another_process_holds_keeps_its_file(store: Store) -> None:
    store.write(OLD)
    store.write(NEW)
    with store.claim(NEW.id) or pytest.fail("no claim"):
        folded = fold(store, store)
        assert (folded.packed, folded.busy) == (names(OLD, NEW), [NEW.id])
        assert store.unpacked() == {NEW.id}
    folded = fold(store, store)
    assert (folded.added, folded.replaced, folded.busy) == ([], [], [])
    assert contents(store.folder) == files_of(OLD, NEW)


def test_a_run_that_is_done_again_meanwhile_keeps_its_file(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(OLD)
    write = pack._write

    def done_again(*arguments: object) -> None:
        write(*arguments)  # type: ignore[arg-type]
        store.write(AGAIN)

    monkeypatch.setattr(pack, "_write", done_again)
    fold(store, store)
    assert store.read(OLD.id) == AGAIN
    assert store.packed.read(OLD.id) == OLD
    monkeypatch.setattr(pack, "_write", write)
    assert fold(store, store).replaced == [OLD.id]
    assert contents(store.folder) == files_of(AGAIN)


LOOKS = {
    "ids": lambda store: store.ids() == {NEW.id},
    "in": lambda store: NEW.id in store,
    "read": lambda store: store.read(NEW.id) == NEW,
    "failures": lambda store: store.failures() == set(),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())
def test_a_run_that_is_packed_between_two_looks_is_not_missed(
    store: Store, look: Callable[[Store], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(NEW)
    store.fail(NEW.id, "no")
    once = []

    def then_packed(method: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            try:
                return method(*arguments)
            finally:
                if not once:
                    once.append(1)
                    fold(Store(store.folder), Store(store.folder))

        return wrapped

    for owner, name in ((Store, "_stems"), (Packed, "_now"), (Path, "is_file"), (Path, "read_bytes")):
        monkeypatch.setattr(owner, name, then_packed(getattr(owner, name)))
    assert look(store)
    assert once
    assert store.unpacked() == set()


def test_one_process_packs_at_a_time(store: Store) -> None:
    store.write(OLD)
    before = contents(store.folder)
    with (
        store.claim(RECORDS) or pytest.fail("no claim"),
        pytest.raises(ValueError, match="one process at a time"),
    ):
        fold(store, store)
    assert contents(store.folder) == before


@pytest.mark.slow
def test_runs_are_done_once_and_always_readable_while_others_pack(
    store: Store, workers: Workers, tmp_path: Path
) -> None:
    seeds = range(1000, 1030)
    wanted = {record(seed).id: record(seed) for seed in seeds}
    log = tmp_path / "log"
    log.touch()
    packers = [workers.start("pack_until", store.folder, tmp_path / "end") for _ in range(2)]
    # Both pack, each at the other's heels.
    workers.wait_for("refused")
    children = [workers.start("share", store.folder, log, *seeds) for _ in range(2)]
    seen: set[str] = set()
    while len(seen) < len(wanted):
        # Whatever was there once stays, whichever form it has by now.
        assert seen <= store.ids()
        seen |= store.ids()
        assert all(store.read(name) == wanted[name] for name in seen)
        assert not store.failures()
    assert [workers.join(child) for child in children] == [0, 0]
    (tmp_path / "end").touch()
    assert [workers.join(child) for child in packers] == [0, 0]
    assert sorted(log.read_text().split()) == sorted(wanted)
    fold(store, store)
    assert contents(store.folder) == files_of(*wanted.values())


# -- kills and full disks


def partials(folder: Path) -> list[Path]:
    return list(folder.rglob(f".*{PARTIAL}"))


@pytest.mark.slow
def test_killed_before_any_change_of_the_disk_that_packing_in_place_makes(
    workers: Workers, tmp_path: Path
) -> None:
    start = packed(tmp_path / "start", OLD, BYSTANDER)
    start.write(AGAIN)
    start.write(NEW)
    start.fail(FAILED, "no")
    wanted = {one.id: one for one in (AGAIN, BYSTANDER, NEW)}
    ended, changes = -signal.SIGKILL, 0
    states = set()
    while ended == -signal.SIGKILL:
        store = Store(tmp_path / "runs")
        shutil.copytree(start.folder, store.folder, dirs_exist_ok=True)
        ended = workers.join(workers.start("die_packing", store.folder, store.folder, changes))
        assert store.ids() == set(wanted)
        assert {name: store.read(name) for name in wanted} == wanted
        assert store.failures() == {FAILED}
        states.add((len(store.packed.ids()), len(store.unpacked()), bool(partials(store.folder))))
        # Nobody holds anything, and the next one does the rest.
        assert fold(store, store).packed == sorted(wanted)
        assert contents(store.folder) == files_of(*wanted.values()) | {f"{FAILED}.error": b"no"}
        shutil.rmtree(store.folder)
        changes += 1
    assert ended == 0
    assert changes > 10
    # Before the packed file; when it is there and two files, one, none are left.
    assert states >= {(2, 2, False), (2, 2, True), (3, 2, False), (3, 1, False), (3, 0, False)}
    assert {state[:2] for state in states} == {(2, 2), (3, 2), (3, 1), (3, 0)}


@pytest.mark.slow
def test_killed_before_any_change_of_the_disk_that_packing_another_folder_makes(
    workers: Workers, tmp_path: Path
) -> None:
    start = packed(tmp_path / "start", OLD, BYSTANDER)
    source = Store(tmp_path / "work")
    source.write(AGAIN)
    source.write(NEW)
    before = contents(source.folder)
    ended, changes = -signal.SIGKILL, 0
    states = set()
    while ended == -signal.SIGKILL:
        store = Store(tmp_path / "runs")
        shutil.copytree(start.folder, store.folder, dirs_exist_ok=True)
        ended = workers.join(workers.start("die_packing", source.folder, store.folder, changes))
        assert contents(source.folder) == before
        # All of the old, or all of the new.
        found = {name: store.read(name) for name in store.ids()}
        assert list(found.values()) in [
            [wanted[name] for name in found]
            for wanted in (
                {one.id: one for one in runs} for runs in ((OLD, BYSTANDER), (AGAIN, BYSTANDER, NEW))
            )
            if wanted.keys() == found.keys()
        ]
        states.add(len(found))
        fold(source, store)
        assert contents(store.folder) == files_of(AGAIN, BYSTANDER, NEW)
        shutil.rmtree(store.folder)
        changes += 1
    assert ended == 0
    assert changes > 10
    assert states == {2, 3}


def test_a_full_disk_stops_packing_and_harms_nothing(small: Store) -> None:
    first, second = (record(seed, padding=90_000) for seed in (1000, 1001))
    small.write(first)
    small.write(second)
    before = contents(small.folder)
    for _ in range(3):
        with pytest.raises(OSError) as caught:  # noqa: PT011
            fold(small, small)
        assert caught.value.errno == errno.ENOSPC
        assert contents(small.folder) == before
    assert [small.read(one.id) for one in (first, second)] == [first, second]
    small.path(second.id).unlink()
    assert fold(small, small).packed == [first.id]
    assert contents(small.folder) == files_of(first)
