import errno
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from crest.lab.runs import datasets
from crest.lab.runs.datasets import shared_folder, splits_of
from crest.lab.runs.spec import RunSpec
from crest.lab.systems import GearSystem, Sizes
from crest.recordings import Splits
from toy import TINY, tiny_spec

MAKE = datasets._make


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    datasets._latest.clear()


@pytest.fixture(autouse=True)
def _fresh() -> None:
    datasets._load.cache_clear()


@pytest.fixture
def makes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made: list[str] = []

    def counted(spec: RunSpec) -> Splits:
        made.append(spec.data_key)
        return MAKE(spec)

    monkeypatch.setattr(datasets, "_make", counted)
    return made


def assert_equal(one: Splits, two: Splits) -> None:
    for name in ("train", "id", "ood"):
        a, b = getattr(one, name), getattr(two, name)
        for array in ("x", "y", "events", "proxy"):
            np.testing.assert_array_equal(getattr(a, array), getattr(b, array))
            assert getattr(a, array).dtype == getattr(b, array).dtype
        assert (a.channels, a.sample_rate, a.source) == (b.channels, b.sample_rate, b.source)


def test_the_data_are_the_systems() -> None:
    direct = GearSystem(**TINY, ripple=0.06).splits(1000, Sizes(train=16, id=8, ood=8))
    assert_equal(splits_of(tiny_spec(regime="coarse_mesh")), direct)


def test_what_is_read_equals_what_was_made(tmp_path: Path) -> None:
    made = splits_of(tiny_spec())
    assert_equal(splits_of(tiny_spec(), tmp_path), made)
    datasets._load.cache_clear()
    assert_equal(splits_of(tiny_spec(), tmp_path), made)


def test_runs_that_share_their_data_make_them_once(tmp_path: Path, makes: list[str]) -> None:
    folder = tmp_path / "a" / "b"
    for readout in ("mean", "crest", "attention"):
        for encoder in ("pointwise", "gru"):
            splits_of(tiny_spec(readout=readout, encoder=encoder), folder)
            datasets._load.cache_clear()
    assert makes == [tiny_spec().data_key]
    splits_of(tiny_spec(seed=1001), folder)
    assert makes == [tiny_spec().data_key, tiny_spec(seed=1001).data_key]
    assert sorted(part.name for part in folder.iterdir()) == sorted(makes)


def test_other_data_are_not_mixed_up(tmp_path: Path) -> None:
    one, two = splits_of(tiny_spec(), tmp_path), splits_of(tiny_spec(seed=1001), tmp_path)
    assert not np.array_equal(one.train.x, two.train.x)
    assert_equal(splits_of(tiny_spec(), tmp_path), one)


def test_without_a_folder_the_last_ones_are_kept_in_memory(
    tmp_path: Path, makes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = splits_of(tiny_spec(seed=1001))
    assert splits_of(tiny_spec(seed=1001, readout="max")) is first
    assert len(makes) == 1
    splits_of(tiny_spec(seed=1002))
    splits_of(tiny_spec(seed=1001))
    assert len(makes) == 3
    assert list(tmp_path.iterdir()) == []


def test_threads_make_them_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    start = threading.Barrier(4)

    def slow(spec: RunSpec) -> Splits:
        made.append(threading.get_ident())
        time.sleep(0.1)
        return MAKE(spec)

    def work(_: int) -> Splits:
        start.wait()
        return splits_of(tiny_spec(), tmp_path)

    monkeypatch.setattr(datasets, "_make", slow)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, range(4)))
    assert len(made) == 1
    for other in found[1:]:
        assert_equal(found[0], other)


WORK = """
import sys, time
from pathlib import Path
from toy import tiny_spec
from crest.lab.runs import datasets
make, folder = datasets._make, Path(sys.argv[1])
def slow(spec):
    with (folder / "log").open("a") as file:
        file.write("made\\n")
    time.sleep(0.3)
    return make(spec)
datasets._make = slow
datasets.splits_of(tiny_spec(), folder / "data")
"""


@pytest.mark.slow
def test_processes_make_them_once(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    workers = [
        subprocess.Popen([sys.executable, "-c", WORK, str(tmp_path)], env=environment) for _ in range(2)
    ]
    assert [worker.wait(120) for worker in workers] == [0, 0]
    assert (tmp_path / "log").read_text() == "made\n"
    assert_equal(splits_of(tiny_spec(), tmp_path / "data"), splits_of(tiny_spec()))


def test_a_maker_that_died_leaves_no_half(
    tmp_path: Path, makes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    save, saved = datasets.save, []

    def dying(*arguments: object) -> None:
        if saved:
            raise KeyboardInterrupt
        saved.append(arguments)
        save(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(datasets, "save", dying)
        with pytest.raises(KeyboardInterrupt):
            splits_of(tiny_spec(), tmp_path)
    assert_equal(splits_of(tiny_spec(), tmp_path), MAKE(tiny_spec()))
    assert len(makes) == 2


@pytest.mark.parametrize("part", ["train", "id", "ood"])
def test_a_damaged_file_is_named(tmp_path: Path, part: str) -> None:
    splits_of(tiny_spec(), tmp_path)
    datasets._load.cache_clear()
    path = tmp_path / tiny_spec().data_key / f"{part}.npz"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match=rf"{path} is not a file of trajectories, or is damaged"):
        splits_of(tiny_spec(), tmp_path)


def test_the_files_are_read_once_while_runs_share_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of one seed follow one another: the next one finds the last data in memory."""
    splits_of(tiny_spec(), tmp_path)
    assert splits_of(tiny_spec(readout="mean"), tmp_path) is splits_of(tiny_spec(), tmp_path)


def test_no_more_than_one_systems_data_stay_in_memory(tmp_path: Path) -> None:
    first = splits_of(tiny_spec(), tmp_path)
    splits_of(tiny_spec(seed=1001), tmp_path)
    assert splits_of(tiny_spec(), tmp_path) is not first


def test_the_shared_folder_is_one_that_kills_do_not_leave_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "crest-data-dead").mkdir()
    with shared_folder() as folder:
        assert [path.name for path in tmp_path.iterdir()] == [folder.name]
        assert folder.name.startswith("crest-data-")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_room_costs_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(datasets, "save", full)
    assert len(splits_of(tiny_spec(), tmp_path).train) == tiny_spec().sizes.train
