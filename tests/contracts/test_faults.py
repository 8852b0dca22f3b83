"""Every system call of the store fails in turn, and power is lost after each: nothing half is read, nothing done is lost."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from crest._base.files import PARTIAL
from crest._repair import Structure
from crest._repair.saving import save_weights
from crest.lab.report.formats import write_markdown
from crest.lab.runs.checkpoint import save_checkpoint
from crest.lab.runs.pack import fold
from crest.lab.runs.record import Record
from crest.lab.runs.store import Store
from crest.lab.runs.study import Study
from crest.recordings import Trajectories, save
from faulty_disk import faulty, recorded
from lab.runs.store_worker import record, traced
from toy import tiny_spec

OLD, NEW = traced(record(1000), 0.125), traced(record(1000, loss=0.25), 0.75)
OTHER = record(1001)


def handles() -> int:
    return len(os.listdir("/proc/self/fd"))


def write(store: Store) -> None:
    store.write(NEW)


def note_a_failure(store: Store) -> None:
    store.fail(NEW.id, "no")


def claim_and_write(store: Store) -> None:
    claim = store.claim(NEW.id)
    assert claim is not None
    with claim:
        store.write(NEW)


def pack(store: Store) -> None:
    fold(store, store)


def attempt(act: Callable[[Store], None], store: Store) -> str | None:
    """What an action complains about."""
    try:
        act(store)
    except OSError as problem:
        return str(problem)
    return None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("act", "error"),
    [(write, errno.EIO), (note_a_failure, errno.ENOSPC), (claim_and_write, errno.ENOSPC), (pack, errno.EIO)],
)
def test_a_call_that_fails_harms_nothing(act: Callable[[Store], None], error: int, tmp_path: Path) -> None:
    failed = []
    for number in range(1000):
        folder = tmp_path / str(number)
        store = Store(folder)
        store.write(OLD)
        store.write(OTHER)
        before = handles()
        with faulty(number, error) as faults:
            problem = attempt(act, store)
        # Done, or it says so. A folder that is there already need not be made.
        assert problem is not None or faults.failed in (None, "mkdir"), faults.failed
        assert problem is None or faults.failed is not None
        assert problem is None or "made to fail" in problem
        # You must know which disk is full; calls that take a path are told with it by the system.
        assert problem is None or str(folder) in problem or faults.failed not in ("write", "fsync")
        assert handles() == before, faults.failed
        again = Store(folder)
        assert again.read(OLD.id) in (OLD, NEW)
        assert again.read(OTHER.id) == OTHER
        assert again.ids() == {OLD.id, OTHER.id}
        # What is left over is nobody's, and goes.
        again.sweep_partials()
        assert not [path for path in folder.rglob(f".*{PARTIAL}") if path.parent == folder]
        # The next attempt is not hindered.
        act(again)
        assert Store(folder).ids() == {OLD.id, OTHER.id}
        shutil.rmtree(folder)
        if faults.failed is None:
            break
        failed.append(faults.failed)
    # Each kind of call was among them.
    expected = {"open", "fdopen", "write", "fsync", "replace", "close"}
    assert expected <= set(failed), failed
    assert number >= 7


def save_data(folder: Path) -> None:
    trajectories = Trajectories(x=np.zeros((2, 4, 1)), y=np.zeros(2), sample_rate=1.0, channels=("a",))
    save(trajectories, folder / "data.npz")


def save_checkpointed(folder: Path) -> None:
    save_checkpoint(folder / "model.safetensors", tiny_spec().model(2), tiny_spec())


def save_repaired(folder: Path) -> None:
    save_weights(folder, torch.nn.Linear(2, 1), Structure(), {})


def save_page(folder: Path) -> None:
    write_markdown([], folder / "report.md")


def save_study(folder: Path) -> None:
    Study(name="double", compute=lambda n: 2 * n, parameters={"n": 4}).ensure(folder)


def failure(act: Callable[[Path], None], folder: Path) -> OSError | None:
    try:
        act(folder)
    except OSError as problem:
        return problem
    return None


@pytest.mark.parametrize("act", [save_data, save_checkpointed, save_repaired, save_page, save_study])
def test_a_full_disk_is_told_with_its_folder(act: Callable[[Path], None], tmp_path: Path) -> None:
    told: list[str | None] = []
    for number in range(100):
        with faulty(number, errno.ENOSPC) as faults:
            problem = failure(act, tmp_path)
        if problem is not None:
            assert (problem.errno, str(problem.filename).startswith(str(tmp_path))) == (errno.ENOSPC, True)
            told.append(faults.failed)
        if faults.failed is None:
            break
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
    assert {"write", "fsync"} <= set(told)


def found(folder: Path, files: dict[str, bytes]) -> Store:
    """A store in a new folder with these files."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return Store(folder / "runs")


@pytest.mark.slow
def test_after_a_loss_of_power_what_was_done_is_there_and_nothing_is_half(tmp_path: Path) -> None:
    with recorded(tmp_path / "disk") as disk:
        (tmp_path / "disk").mkdir()
        store = Store(tmp_path / "disk" / "runs")

        def report(one: Record) -> None:
            store.write(one)
            disk.done.append(one.id)
            disk.note()

        store.fail(OTHER.id, "no")
        report(OLD)
        report(OTHER)
        report(NEW)
        fold(store, store)
        disk.note()
        store.write(OLD)
        fold(store, store)
        disk.note()
    tried = 0
    for files, done in disk.after_losses():
        tried += 1
        again = found(tmp_path / f"after-{tried}", files)
        assert set(done) <= again.ids(), files.keys()
        for name in again.ids():
            assert again.read(name) in (OLD, NEW, OTHER)
        shutil.rmtree(tmp_path / f"after-{tried}")
    assert tried > 20


def test_after_a_loss_of_power_a_study_that_was_done_is_there(tmp_path: Path) -> None:
    study = Study(name="double", compute=lambda n: 2 * n, parameters={"n": 4})
    with recorded(tmp_path / "disk") as disk:
        (tmp_path / "disk").mkdir()
        Store(tmp_path / "disk" / "runs")
        study.ensure(tmp_path / "disk" / "runs")
        disk.done.append(study.id)
        disk.note()
    for number, (files, done) in enumerate(disk.after_losses()):
        folder = found(tmp_path / f"after-{number}", files).folder
        assert study.done(folder) or study.id not in done
        assert not study.done(folder) or study.read(folder) == 8


def test_a_disk_without_flushes_would_lose_what_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test can fail: without the flush of the file its name comes without its bytes."""
    with recorded(tmp_path / "disk") as disk:
        monkeypatch.setattr(os, "fsync", lambda handle: None)
        (tmp_path / "disk").mkdir()
        store = Store(tmp_path / "disk")
        store.write(OLD)
    contents = [files.get(f"{OLD.id}.json") for files, _ in disk.after_losses()]
    assert b"" in contents
    assert None in contents
