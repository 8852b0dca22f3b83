"""Records in the lines of one file: read as if each had a file, and whatever is wrong with a line is told by its number."""

import json
import os
import re
from pathlib import Path

import pytest

from crest.lab.runs import packed
from crest.lab.runs.packed import RECORDS, TRACES, line_of
from crest.lab.runs.record import Record
from crest.lab.runs.store import Store
from lab.runs.store_worker import record, traced
from places import RESULTS

RUNS = {one.id: one for one in (record(1000), traced(record(1001), 0.125), record(1002))}
FIRST, SECOND, THIRD = sorted(RUNS)
TRACED = record(1001).id


def write_lines(folder: Path, lines: list[bytes]) -> Path:
    path = folder / RECORDS
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def lines(*runs: Record) -> list[bytes]:
    return [line_of(one)[0] for one in runs]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with three packed records, one of them with traces."""
    folder = tmp_path / "runs"
    (folder / TRACES).mkdir(parents=True)
    for one in RUNS.values():
        for name, content in line_of(one)[1].items():
            (folder / name).write_bytes(content)
    write_lines(folder, lines(*(RUNS[name] for name in sorted(RUNS))))
    return Store(folder)


def replace_line(store: Store, name: str, new: bytes) -> None:
    """Put other bytes in the place of a run's line."""
    write_lines(store.folder, [new if name.encode() in line else line for line in lines_on_disk(store)])


def lines_on_disk(store: Store) -> list[bytes]:
    return store.packed.path.read_bytes().splitlines()


# -- as if each had a file


def test_packed_records_come_back_as_they_were(store: Store) -> None:
    assert store.ids() == set(RUNS)
    assert store.unpacked() == store.failures() == set()
    for name, one in RUNS.items():
        assert name in store
        assert store.read(name) == one
        assert store.read(name).to_json() == one.to_json()


def test_a_line_is_a_record_without_its_traces() -> None:
    line, files = line_of(RUNS[TRACED])
    fields = json.loads(line)
    [(name, content)] = files.items()
    assert fields.pop("traces") == name
    assert re.fullmatch(rf"traces/{TRACED}\.[0-9a-f]{{10}}\.json", name)
    plain = json.loads(RUNS[TRACED].to_json())
    assert json.loads(content) == plain.pop("traces")
    assert fields == plain
    assert b"\n" not in line
    assert line_of(record(1000))[1] == {}
    assert json.loads(line_of(record(1000))[0]) == json.loads(record(1000).to_json())


def test_traces_of_two_records_of_a_run_have_two_names() -> None:
    assert line_of(traced(record(1000), 0.5))[1].keys() != line_of(traced(record(1000), 0.25))[1].keys()


def test_what_is_not_there_is_a_missing_file(store: Store) -> None:
    other = record(1003).id
    assert other not in store
    with pytest.raises(FileNotFoundError, match=other):
        store.read(other)


def test_a_file_of_its_own_counts_before_the_line(store: Store) -> None:
    newer = record(1000, loss=0.25)
    store.write(newer)
    store.write(record(1003))
    assert store.read(newer.id) == newer
    assert store.read(TRACED) == RUNS[TRACED]
    assert store.ids() == {*RUNS, record(1003).id}
    store.path(newer.id).unlink()
    assert store.read(newer.id) == RUNS[newer.id]


def test_a_run_with_a_line_has_not_failed(store: Store) -> None:
    store.fail(FIRST, "no")
    store.fail(record(1003).id, "no")
    assert store.failures() == {record(1003).id}


def test_a_change_of_the_file_is_seen_and_read_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []
    indexed = packed._indexed

    def counting(*arguments: object) -> object:
        reads.append(1)
        return indexed(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(packed, "_indexed", counting)
    for _ in range(3):
        assert store.ids() == set(RUNS)
        assert all(store.read(name) == one for name, one in RUNS.items())
    assert len(reads) == 1
    replace_line(store, FIRST, lines(record(1000, loss=0.75))[0])
    assert store.read(record(1000).id) == record(1000, loss=0.75)
    assert len(reads) == 2
    store.packed.path.unlink()
    assert store.ids() == set()
    assert FIRST not in store


def test_a_file_of_the_same_length_and_age_is_seen(store: Store) -> None:
    assert store.read(FIRST) == RUNS[FIRST]
    path = store.packed.path
    before = path.stat()
    other = path.with_name("other")
    other.write_bytes(path.read_bytes().replace(b'"losses": [1.0, 0.5]', b'"losses": [1.0, 0.7]'))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert store.read(FIRST).losses == [1.0, 0.7]


def test_no_line_is_taken_apart_before_it_is_asked_for(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object, **options: object) -> None:
        raise AssertionError("a line was taken apart")

    monkeypatch.setattr(json, "loads", fails)
    assert store.ids() == set(RUNS)
    assert FIRST in store


def test_the_order_of_ids_is_that_of_lines() -> None:
    # So that `LC_ALL=C sort` and packing agree.
    names = ["a", "a-b", "a.b", "a_b", "a0", "aB", "ab", "b"]
    texts = [json.dumps({"id": name}) for name in names]
    assert sorted(texts) == [json.dumps({"id": name}) for name in sorted(names)]


# -- damage


def changed(**parts: object) -> bytes:
    return json.dumps({**json.loads(line_of(record(1000))[0]), **parts}).encode()


LINE = line_of(record(1000))[0]
OTHER = record(1003).id
DAMAGED = {
    "first half": LINE[: len(LINE) // 2],
    "all but the last brace": LINE[:-1],
    "twice": LINE * 2,
    "zeros at the end": LINE[:-50] + bytes(50),
    "not UTF-8": LINE.replace(b"gear", b"g\xffar").replace(b"g\xffar", b"gear", 1),
    "only an id": json.dumps({"id": record(1000).id}).encode(),
    "deep": LINE[:-1] + b', "x": ' + b"[" * 100_000,
    "another id at its end": LINE[:-1] + f', "id": "{OTHER}"}}'.encode(),
    "unknown field": changed(colour="red"),
    "spec of nothing known": changed(spec={**record(1000).spec.to_dict(), "readout": "tarot"}),
    "score lacks ood": changed(score={"id": 0.1}),
    "a loss that is no number": changed(losses=[1.0, float("nan")]),
    "traces in place": changed(traces=RUNS[TRACED].to_dict()["traces"]),
    "traces of another run": changed(traces=f"traces/{OTHER}.0123456789.json"),
    "traces elsewhere": changed(traces=f"../{record(1000).id}.0123456789.json"),
    "traces without a digest": changed(traces=f"traces/{record(1000).id}.json"),
    "traces a number": changed(traces=3),
}


@pytest.mark.parametrize("line", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_line_is_refused_by_its_number_and_the_others_are_read(store: Store, line: bytes) -> None:
    name = record(1000).id
    number = sorted(RUNS).index(name) + 1
    replace_line(store, name, line)
    with pytest.raises(
        ValueError, match=rf"records\.jsonl, line {number}, is not a record.*run is done again"
    ):
        store.read(name)
    for other in RUNS.keys() - {name}:
        assert store.read(other) == RUNS[other]
    # It stays listed, as a damaged file does: nobody takes it for a run that was never done.
    assert store.ids() == set(RUNS)
    # A new record of its run helps.
    store.write(record(1000))
    assert store.read(name) == record(1000)


def test_a_line_with_another_id_at_its_end_is_refused(store: Store) -> None:
    replace_line(store, record(1000).id, DAMAGED["another id at its end"])
    with pytest.raises(ValueError, match="it has 'id' twice"):
        store.read(record(1000).id)


NAMELESS = {
    "a conflict": b"<<<<<<< HEAD",
    "an empty line": b"",
    "the last half": LINE[len(LINE) // 2 :],
    "an id that leaves the folder": b'{"id": "../up"}',
    "an empty id": b'{"id": ""}',
    "binary": bytes(range(200, 256)),
    "id in second place": b'{"spec": {}, "id": "gear"}',
}


@pytest.mark.parametrize("line", NAMELESS.values(), ids=NAMELESS.keys())
def test_a_line_without_an_id_is_an_error_for_the_list_and_not_for_others(store: Store, line: bytes) -> None:
    write_lines(store.folder, [lines_on_disk(store)[0], line, *lines_on_disk(store)[1:]])
    with pytest.raises(
        ValueError, match=r"records\.jsonl, line 2, is not a record: it begins with .*restore the file"
    ):
        store.ids()
    with pytest.raises(ValueError, match="line 2, is not a record"):
        store.failures()
    for name, one in RUNS.items():
        assert name in store
        assert store.read(name) == one


def test_a_run_with_two_lines_is_an_error_and_the_others_are_read(store: Store) -> None:
    first, second, third = lines_on_disk(store)
    write_lines(store.folder, [first, first, second, third])
    message = rf"records\.jsonl has two records of {FIRST}, in lines 1 and 2: remove one of them"
    with pytest.raises(ValueError, match=message):
        store.ids()
    with pytest.raises(ValueError, match=message):
        store.read(FIRST)
    assert FIRST in store
    assert store.read(SECOND) == RUNS[SECOND]


def test_lines_out_of_order_are_an_error_that_names_the_remedy(store: Store) -> None:
    first, second, third = lines_on_disk(store)
    write_lines(store.folder, [second, first, third])
    remedy = re.escape(f"`crest pack --folder {store.folder}`")
    with pytest.raises(ValueError, match=rf"not sorted: line 2, {FIRST}, stands after {SECOND}; .*{remedy}"):
        store.ids()
    assert all(store.read(name) == one for name, one in RUNS.items())


def test_a_file_that_was_cut_off_is_an_error(store: Store) -> None:
    path = store.packed.path
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(ValueError, match=r"records\.jsonl is cut off in line 3: restore the file"):
        store.ids()
    assert store.read(FIRST) == RUNS[FIRST]
    with pytest.raises(ValueError, match="line 3, is not a record"):
        store.read(THIRD)
    # Some editors leave out the last end of line: nothing is missing then.
    path.write_bytes(whole[:-1])
    assert store.ids() == set(RUNS)
    assert store.read(THIRD) == RUNS[THIRD]


def test_windows_ends_of_line_do_not_matter(store: Store) -> None:
    store.packed.path.write_bytes(store.packed.path.read_bytes().replace(b"\n", b"\r\n"))
    assert store.ids() == set(RUNS)
    assert all(store.read(name) == one for name, one in RUNS.items())


def test_missing_and_changed_traces_are_named(store: Store) -> None:
    [path] = (store.folder / TRACES).iterdir()
    content = path.read_bytes()
    number = sorted(RUNS).index(TRACED) + 1
    path.write_bytes(content.replace(b"0.75", b"0.76"))
    place = rf"records\.jsonl, line {number}, refers to {re.escape(str(path))}, which"
    with pytest.raises(ValueError, match=f"{place} is not as it was packed: restore it"):
        store.read(TRACED)
    path.unlink()
    with pytest.raises(
        ValueError, match=f"{place} is missing: restore it from version control, or remove the line"
    ):
        store.read(TRACED)
    assert store.ids() == set(RUNS)
    assert all(store.read(name) == RUNS[name] for name in RUNS.keys() - {TRACED})


def test_a_line_that_is_replaced_while_its_old_traces_go_is_read_anew(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = traced(record(1001), 0.75)
    read_bytes = Path.read_bytes

    def packed_in_between(path: Path) -> bytes:
        if path.parent.name == TRACES:
            monkeypatch.setattr(Path, "read_bytes", read_bytes)
            line, files = line_of(newer)
            for name, content in files.items():
                (store.folder / name).write_bytes(content)
            replace_line(store, TRACED, line)
            path.unlink()
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", packed_in_between)
    assert store.read(TRACED) == newer


# -- what is published


def test_the_published_records_are_as_packing_leaves_them() -> None:
    store = Store(RESULTS)
    assert store.unpacked() == store.failures() == set()
    assert store.ids()
    assert store.packed.path.read_bytes().endswith(b"}\n")
    used = {json.loads(line)["traces"] for line in store.packed.lines().values()} - {None}
    assert used == {f"{TRACES}/{path.name}" for path in (RESULTS / TRACES).iterdir()}
