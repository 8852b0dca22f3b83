"""Nothing finished is lost, nothing half-written is read, no run is done twice at once: by doing just that."""

import dataclasses
import errno
import fcntl
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from crest._base.files import PARTIAL
from crest.lab.runs.store import Store
from lab.runs.machine import Workers, mount
from lab.runs.store_worker import record

ID = record(1000).id


def partials(store: Store) -> list[Path]:
    return list(store.folder.glob(f".*{PARTIAL}"))


# Records and failures


def test_a_record_comes_back_as_it_was(store: Store) -> None:
    made = record(1000)
    assert made.id not in store
    assert store.write(made) == store.path(made.id) == store.folder / f"{made.id}.json"
    assert made.id in store
    assert store.ids() == {made.id}
    assert store.read(made.id) == made


def test_a_second_record_of_a_run_takes_the_place_of_the_first(store: Store) -> None:
    store.write(record(1000, loss=0.5))
    store.write(record(1000, loss=0.25))
    assert store.read(ID).losses == [1.0, 0.25]


def test_a_failure_is_told_until_the_run_has_a_record(store: Store) -> None:
    path = store.fail(ID, "Traceback: \u00e4 \ud800")
    assert path == store.folder / f"{ID}.error"
    assert store.failures() == {ID}
    assert store.failure(ID) == "Traceback: \u00e4 \\ud800"
    assert ID not in store
    assert store.ids() == set()
    store.write(record(1000))
    assert store.failures() == set()
    assert not path.exists()


def test_a_failure_leaves_a_record_alone(store: Store) -> None:
    store.write(record(1000))
    store.fail(ID, "no")
    assert store.failures() == set()
    assert store.ids() == {ID}
    assert store.read(ID) == record(1000)


def test_numbers_that_json_cannot_hold_are_refused_and_leave_nothing(store: Store) -> None:
    store.write(record(1000))
    with pytest.raises(ValueError, match="not JSON compliant"):
        store.write(record(1000, loss=float("nan")))
    assert store.read(ID) == record(1000)
    assert not partials(store)


def test_what_is_not_there_is_a_missing_file(store: Store) -> None:
    with pytest.raises(FileNotFoundError, match=ID):
        store.read(ID)
    with pytest.raises(FileNotFoundError, match=ID):
        store.failure(ID)


def test_only_finished_files_are_listed(store: Store) -> None:
    for name in (f".{ID}.json.0123.partial", ".hidden.json", ".hidden.error", "notes.txt", "json", "error"):
        (store.folder / name).touch()
    (store.folder / "folder.json").mkdir()
    with store.claim(ID) or pytest.fail("no claim"):
        assert store.ids() == store.failures() == set()
    assert "folder" not in store


@pytest.mark.parametrize("name", ["", ".", "..", "../up", "a/b", "/root", ".hidden", "-x", "a\n", "a\0"])
def test_an_id_cannot_leave_the_folder(store: Store, name: str) -> None:
    for use in (store.path, store.read, store.failure, store.claim, store.__contains__):
        with pytest.raises(ValueError, match="id must be"):
            use(name)
    with pytest.raises(ValueError, match="id must be"):
        store.fail(name, "no")


# The folder


def test_the_folder_is_made(tmp_path: Path) -> None:
    assert Store(tmp_path / "a" / "b").folder.is_dir()
    assert Store(tmp_path / "a" / "b").ids() == set()


@pytest.mark.parametrize("folder", ["file", "file/runs"])
def test_a_file_is_no_folder(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=f"folder must be a folder.*{folder}"):
        Store(tmp_path / folder)


def test_a_folder_that_cannot_be_written_to_can_be_read(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    # Rights do not stop root, but a disk that is mounted read-only does.
    if os.geteuid() == 0:
        mount(closed, "ro")
    else:
        closed.mkdir(mode=0o500)
    try:
        assert Store(closed).ids() == set()
        for attempt in (lambda: Store(closed).write(record(1000)), lambda: Store(closed).claim("a")):
            with pytest.raises(OSError, match="closed"):
                attempt()
        with pytest.raises(ValueError, match=r"folder must be a folder or a place for one.*closed/runs"):
            Store(closed / "runs")
    finally:
        if os.path.ismount(closed):
            subprocess.run(["umount", closed], check=True)


# Damaged files


def changed(**parts: Any) -> bytes:
    return json.dumps({**record(1000).to_dict(), **parts}).encode()


WHOLE = record(1000).to_json().encode()
DAMAGED = {
    "empty": b"",
    "first half": WHOLE[: len(WHOLE) // 2],
    "last half": WHOLE[len(WHOLE) // 2 :],
    "all but the last brace": WHOLE.rstrip()[:-1],
    "zeros": bytes(len(WHOLE)),
    "binary": bytes(range(256)),
    "zeros at the end": WHOLE[:-50] + bytes(50),
    "twice": WHOLE * 2,
    "deep": b"[" * 100_000,
    "a list": b"[]",
    "a number": b"1",
    "null": b"null",
    "another object": b'{"name": "x"}',
    "only an id": json.dumps({"id": ID}).encode(),
    "no id": json.dumps(
        {key: value for key, value in record(1000).to_dict().items() if key != "id"}
    ).encode(),
    "id of another run": record(1001).to_json().encode(),
    "unknown field": changed(colour="red"),
    "spec is a text": changed(spec="gear"),
    "spec of nothing known": changed(spec={**record(1000).spec.to_dict(), "readout": "tarot"}),
    "score lacks ood": changed(score={"id": 0.1}),
    "score is a text": changed(score={"id": "low", "ood": 0.1}),
    "credit is a list": changed(credit=[]),
    "looks is a number": changed(looks=3),
    "a loss that is no number": changed(losses=[1.0, float("nan")]),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_file_is_refused_by_name(store: Store, content: bytes) -> None:
    store.write(record(1001))
    store.path(ID).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{ID}\.json is not a record"):
        store.read(ID)
    assert store.read(record(1001).id) == record(1001)


def test_what_is_no_object_is_told(store: Store) -> None:
    store.path(ID).write_text("[]")
    with pytest.raises(ValueError, match="it holds a list"):
        store.read(ID)


def test_the_record_of_a_spec_whose_constants_changed_since_is_read(store: Store) -> None:
    old = {**record(1000).to_dict(), "id": "gear-old"}
    store.path("gear-old").write_text(json.dumps(old))
    assert store.read("gear-old") == dataclasses.replace(record(1000), id="gear-old")
    with pytest.raises(ValueError, match=r"record must be of its spec as it is now, .*, got gear-old"):
        store.write(store.read("gear-old"))


# Kill -9


@pytest.mark.slow
def test_killed_at_random_nothing_reported_is_lost_and_nothing_half_is_read(
    store: Store, workers: Workers
) -> None:
    chance = random.Random(0)
    reported: set[str] = set()
    left_over = 0
    # Until a kill came while a file was being written: else this would show nothing.
    turn = 0
    while turn < 20 or not left_over:
        # New records and ones to write over, by turns.
        child = workers.start("write", store.folder, 1000 + turn // 4 * 2)
        for _ in range(turn % 3):
            reported.add(workers.wait_for("wrote"))
        time.sleep(chance.uniform(0, 0.008))
        assert workers.kill(child) == -signal.SIGKILL
        reported |= {name for _, name in workers.said}
        workers.said.clear()
        present = store.ids()
        assert reported <= present
        for name in present:
            assert sum(map(len, store.read(name).versions.values())) == 500_001
        left_over += len(partials(store))
        store.sweep_partials()
        assert not partials(store)
        turn += 1
        assert turn < 200


@pytest.mark.slow
def test_killed_before_any_line_of_claim_and_write(store: Store, workers: Workers) -> None:
    bystander, wanted = record(1000), record(1001)
    store.write(bystander)
    ended, lines = -signal.SIGKILL, 0
    states = set()
    while ended == -signal.SIGKILL:
        store.path(wanted.id).unlink(missing_ok=True)
        store.fail(wanted.id, "no")
        ended = workers.join(workers.start("die", store.folder, lines))
        assert store.read(bystander.id) == bystander
        if wanted.id in store:
            assert store.read(wanted.id) == wanted
        else:
            assert store.failures() == {wanted.id}
            assert store.failure(wanted.id) == "no"
        states.add((wanted.id in store, len(partials(store))))
        with store.claim(wanted.id) or pytest.fail(f"the claim outlived its holder, killed at line {lines}"):
            pass
        store.sweep_partials()
        assert not partials(store)
        lines += 1
    assert ended == 0
    # Killed before, within and after.
    assert states == {(False, 0), (False, 1), (True, 0)}
    assert store.failures() == set()
    assert not list((store.folder / ".claims").iterdir())


# Ids of others


@pytest.mark.parametrize("id", ["x" * 201, "x" * 300, "x" * 10**6, "\u00e9" * 150, "a\n"])
def test_an_id_that_no_file_can_have_is_refused_at_every_door(store: Store, id: str) -> None:  # noqa: A002
    for door in (store.path, store.read, store.failure, store.failed_at, store.claim, store.__contains__):
        with pytest.raises(ValueError, match="id must be at most 200 letters of ASCII") as caught:
            door(id)
        assert len(str(caught.value)) < 250
    with pytest.raises(ValueError, match="id must be at most 200"):
        store.fail(id, "no")
    # The longest that is allowed can be written, claimed and read.
    longest = "x" * 200
    store.fail(longest, "no")
    assert store.failure(longest) == "no"
    claim = store.claim(longest)
    assert claim is not None
    claim.release()
    assert longest not in store


# A full disk


def test_a_full_disk_stops_the_write_and_harms_nothing(small: Store) -> None:
    first, second, third = (record(seed, padding=100_000) for seed in (1000, 1001, 1002))
    small.write(first)
    small.write(second)
    small.fail(third.id, "no")
    for _ in range(3):
        with pytest.raises(OSError) as caught:  # noqa: PT011
            small.write(third)
        assert caught.value.errno == errno.ENOSPC
        with pytest.raises(OSError) as caught:  # noqa: PT011
            small.write(record(1000, loss=0.25, padding=100_000))
        assert caught.value.errno == errno.ENOSPC
        with pytest.raises(OSError) as caught:  # noqa: PT011
            small.fail(third.id, "x" * 100_000)
        assert caught.value.errno == errno.ENOSPC
        assert not partials(small)
        assert small.ids() == {first.id, second.id}
        assert [small.read(one.id) for one in (first, second)] == [first, second]
        assert small.failures() == {third.id}
        assert small.failure(third.id) == "no"
    small.path(second.id).unlink()
    small.write(third)
    assert small.read(third.id) == third
    assert small.failures() == set()


# Claims


def test_a_claim_keeps_others_out_until_it_is_released(store: Store) -> None:
    first = store.claim(ID)
    assert first is not None
    assert store.claim(ID) is None
    assert Store(store.folder).claim(ID) is None
    with store.claim(record(1001).id) or pytest.fail("another run is free"):
        first.release()
    second = store.claim(ID)
    assert second is not None
    # The second release of the first claim must not let go of the second claim.
    first.release()
    assert store.claim(ID) is None
    second.release()
    assert not list((store.folder / ".claims").iterdir())


def test_a_claim_ends_with_its_block_also_by_an_error(store: Store) -> None:
    def fails() -> None:
        with store.claim(ID) or pytest.fail("no claim"):
            assert store.claim(ID) is None
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    with store.claim(ID) or pytest.fail("no claim"):
        pass


def test_a_claim_that_is_dropped_stays(store: Store) -> None:
    # The object is gone after this line.
    assert store.claim(ID) is not None
    assert store.claim(ID) is None


def test_a_lock_on_a_file_that_its_holder_removed_is_no_claim(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, first = fcntl.flock, store.claim(ID)
    assert first is not None

    def released_in_between(handle: int, operation: int) -> None:
        # After the newcomer opened the file and before it locks it.
        monkeypatch.setattr(fcntl, "flock", flock)
        first.release()
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", released_in_between)
    second = store.claim(ID)
    assert second is not None
    assert store.claim(ID) is None
    second.release()


def test_a_claim_leaves_a_lock_file_that_is_not_its_own(store: Store) -> None:
    first = store.claim(ID)
    assert first is not None
    [lock] = (store.folder / ".claims").iterdir()
    lock.unlink()
    second = store.claim(ID)
    assert second is not None
    first.release()
    assert store.claim(ID) is None
    second.release()


def test_a_lock_that_fails_leaves_no_open_file(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def fails(handle: int, operation: int) -> None:
        opened.append(handle)
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr(fcntl, "flock", fails)
    with pytest.raises(OSError, match="no locks here"):
        store.claim(ID)
    [handle] = opened
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(handle)


@pytest.mark.slow
def test_the_claim_of_a_killed_process_is_free_at_once(store: Store, workers: Workers) -> None:
    for _ in range(5):
        child = workers.start("hold", store.folder, ID)
        workers.wait_for("held")
        assert store.claim(ID) is None
        other = workers.start("hold", store.folder, ID)
        workers.wait_for("refused")
        workers.kill(child)
        with store.claim(ID) or pytest.fail("the claim outlived its holder"):
            pass
        workers.kill(other)


@pytest.mark.slow
def test_a_forked_child_cannot_give_the_claim_away_and_does_not_keep_it(
    store: Store, workers: Workers
) -> None:
    child = workers.start("fork", store.folder, ID, "child")
    workers.wait_for("forked")
    assert store.claim(ID) is None
    workers.kill(child)
    other = record(1001).id
    child = workers.start("fork", store.folder, other, "parent")
    workers.wait_for("released")
    with store.claim(other) or pytest.fail("a forked child keeps the claim"):
        pass
    workers.kill(child)


@pytest.mark.slow
def test_racing_processes_never_hold_one_run_together(store: Store, workers: Workers, tmp_path: Path) -> None:
    children = [workers.start("contend", store.folder, tmp_path / "log", 1000, "a", "b") for _ in range(3)]
    assert [workers.join(child) for child in children] == [0, 0, 0]
    holder: dict[str, str] = {}
    holders = set()
    for line in (tmp_path / "log").read_text().splitlines():
        what, name, process = line.split()
        if what == "begin":
            assert name not in holder, line
            holder[name] = process
            holders.add(process)
        else:
            assert holder.pop(name) == process, line
    assert not holder
    assert holders == {str(child) for child in children}


@pytest.mark.slow
def test_processes_that_share_a_folder_do_each_run_once(
    store: Store, workers: Workers, tmp_path: Path
) -> None:
    seeds = range(1000, 1060)
    children = [workers.start("share", store.folder, tmp_path / "log", *seeds) for _ in range(3)]
    assert [workers.join(child) for child in children] == [0, 0, 0]
    assert sorted((tmp_path / "log").read_text().split()) == sorted(record(seed).id for seed in seeds)
    assert store.ids() == {record(seed).id for seed in seeds}


# Left-over files


def test_sweeping_leaves_all_but_the_files_of_dead_writers(store: Store) -> None:
    store.write(record(1000))
    store.fail(record(1001).id, "no")
    dead = store.folder / f".{ID}.json.0123{PARTIAL}"
    dead.write_bytes(WHOLE[:10])
    with store.claim(ID) or pytest.fail("no claim"):
        assert store.sweep_partials() == [dead]
        assert store.claim(ID) is None
    assert store.sweep_partials() == []
    assert store.read(ID) == record(1000)
    assert store.failures() == {record(1001).id}


def test_specs_that_differ_by_what_determines_the_numbers_have_their_own_files(store: Store) -> None:
    one = record(1000)
    spec = dataclasses.replace(one.spec, readout_options={"config": {"sigma": 9.0}})
    other = dataclasses.replace(one, id=spec.id, spec=spec)
    assert store.write(one) != store.write(other)
    assert store.read(other.id).spec == other.spec
