"""CWRU windows: no leak between splits, standardised on training alone; on made files and the real ones."""

import dataclasses
import hashlib
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from crest.lab.systems.base import Sizes
from crest.lab.systems.cwru import CwruSystem
from crest.lab.systems.cwru.files import RecordingFile, RecordingFileError
from crest.lab.systems.cwru.order_tracking import SKF
from crest.lab.systems.cwru.system import log_rms
from crest.recordings.trajectories import Splits
from real_recordings import FOLDER, real

SMALL = Sizes(train=60, id=20, ood=20)


def made(folder: Path) -> CwruSystem:
    """A system on eight small files whose level grows with the diameter."""
    draw, table = np.random.default_rng(0), []
    for size in (1, 2, 3, 4):
        for load in (2, 3):
            path = folder / f"{10 * size + load}.mat"
            signal = (5.0 + size * draw.standard_normal(12000))[:, None]
            scipy.io.savemat(
                path, {f"X0{10 * size + load}_DE_time": signal, f"X0{10 * size + load}RPM": 1750}
            )
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            table.append(RecordingFile(10 * size + load, size, load, SKF, path.stat().st_size, digest))
    return CwruSystem(folder=folder, steps=100, hop=50, gap=130, recordings=tuple(table), held_diameter=2)


@pytest.fixture
def system(tmp_path: Path) -> CwruSystem:
    return made(tmp_path)


def reach(splits: Splits) -> int:
    """Least number of samples between a training and an ID window of a recording; below 0 they overlap."""
    steps, least = splits.train.x.shape[1], 10**9
    for number in np.unique(splits.train.extra["recording"]):
        train = splits.train.extra["start"][splits.train.extra["recording"] == number]
        held = splits.id.extra["start"][splits.id.extra["recording"] == number]
        if len(held):
            least = min(least, int(np.abs(train[:, None] - held[None]).min()) - steps)
    return least


@pytest.mark.parametrize("split", ["load", "bearing"])
def test_training_and_id_windows_keep_the_gap(system: CwruSystem, split: str) -> None:
    sizes = Sizes(train=700, id=180, ood=200)
    splits = dataclasses.replace(system, split=split).splits(1000, sizes)
    assert reach(splits) >= system.gap
    for part in (splits.train, splits.id, splits.ood):
        windows = set(zip(part.extra["recording"].tolist(), part.extra["start"].tolist(), strict=True))
        assert len(windows) == len(part), "a window was drawn twice"


def test_what_is_held_out_is_held_out(system: CwruSystem) -> None:
    by_load = system.splits(1000, SMALL)
    assert set(by_load.train.extra["load"]) == set(by_load.id.extra["load"]) == {2}
    assert set(by_load.ood.extra["load"]) == {3}
    by_bearing = dataclasses.replace(system, split="bearing").splits(1000, SMALL)
    assert set(by_bearing.train.extra["diameter"]) == set(by_bearing.id.extra["diameter"]) == {1, 3, 4}
    assert set(by_bearing.ood.extra["diameter"]) == {2}
    assert set(by_bearing.ood.extra["load"]) == {2, 3}


def test_labels_and_signal_are_standardised_on_training(system: CwruSystem) -> None:
    splits = system.splits(1000, SMALL)
    known = np.array([1, 2, 3, 4])
    for part in (splits.train, splits.id, splits.ood):
        np.testing.assert_allclose(part.y, (part.extra["diameter"] - 2.5) / known.std())
    # Levels 1, 2, 3, 4 about a mean of 5: one offset and one scale for all, so the levels stay in proportion.
    scale = np.sqrt((known**2).mean())
    expected = splits.ood.extra["diameter"] / scale
    np.testing.assert_allclose(splits.ood.x[:, :, 0].std(axis=1), expected, rtol=0.3)
    np.testing.assert_allclose(splits.ood.x.mean(), 0.0, atol=0.1)
    raw = scipy.io.loadmat(system.folder / "12.mat")["X012_DE_time"][:, 0]  # type: ignore[operator]
    row = int(np.flatnonzero(splits.train.extra["recording"] == 12)[0])
    start = splits.train.extra["start"][row]
    assert splits.train.proxy is not None
    np.testing.assert_allclose(splits.train.proxy[row], 0.5 * np.log(np.mean(raw[start : start + 100] ** 2)))
    assert np.corrcoef(splits.train.x[row, :, 0], raw[start : start + 100])[0, 1] > 0.999999


def test_standardised_windows_have_no_level(system: CwruSystem) -> None:
    """The windows are the same ones, each less its own mean and over its own deviation."""
    sizes = Sizes(train=20, id=5, ood=5)
    plain = system.splits(0, sizes)
    alone = dataclasses.replace(system, standardized=True).splits(0, sizes)
    for part in ("train", "id", "ood"):
        before, after = getattr(plain, part).x, getattr(alone, part).x
        expected = (before - before.mean(1, keepdims=True)) / before.std(1, keepdims=True)
        np.testing.assert_allclose(after, expected, rtol=0, atol=1e-4)
        np.testing.assert_array_equal(getattr(plain, part).y, getattr(alone, part).y)


def test_the_fault_size_may_be_the_class(system: CwruSystem) -> None:
    """The windows are the same ones; the label is the number of the diameter among all, which are the names."""
    plain, classes = system.splits(0, SMALL), dataclasses.replace(system, size_classes=True)
    found = classes.splits(0, SMALL)
    assert (system.classes, classes.classes) == ((), ("1 in", "2 in", "3 in", "4 in"))
    for part in ("train", "id", "ood"):
        before, after = getattr(plain, part), getattr(found, part)
        np.testing.assert_array_equal(after.x, before.x)
        np.testing.assert_array_equal(after.y, before.extra["diameter"] - 1)
        np.testing.assert_array_equal(after.extra["label"], before.y)
        assert (before.classes, after.classes) == ((), classes.classes)
        assert "label" not in before.extra


def test_a_bearing_that_is_held_out_has_no_class_to_be_learned(system: CwruSystem) -> None:
    with pytest.raises(
        ValueError, match=r"size_classes must be False if a diameter is held out, .* got True"
    ):
        dataclasses.replace(system, split="bearing", size_classes=True)


def test_a_seed_gives_the_same_bits_and_another_does_not(system: CwruSystem) -> None:
    first, again, other = (system.splits(seed, SMALL) for seed in (1000, 1000, 1001))
    for part in ("train", "id", "ood"):
        np.testing.assert_array_equal(getattr(first, part).x, getattr(again, part).x)
        assert not np.array_equal(getattr(first, part).extra["start"], getattr(other, part).extra["start"])


def test_too_many_windows_are_refused(system: CwruSystem) -> None:
    with pytest.raises(ValueError, match=r"sizes.id must be at most the \d+ windows .*, got 5000"):
        system.splits(1000, Sizes(train=5, id=5000, ood=5))
    with pytest.raises(ValueError, match="steps must leave a window in each split, got 9000"):
        dataclasses.replace(system, steps=9000).splits(1000, SMALL)


def test_a_damaged_file_stops_the_run_by_name(system: CwruSystem) -> None:
    assert system.folder is not None
    path = system.folder / "23.mat"
    content = bytearray(path.read_bytes())
    content[5000] ^= 1
    path.write_bytes(content)
    with pytest.raises(RecordingFileError, match=r"23\.mat: wrong checksum"):
        system.splits(1000, SMALL)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "time"}, "split must be one of load, bearing, got 'time'"),
        ({"held_load": 7}, "held_load must be one of 0, 1, 2, 3, got 7"),
        ({"split": "bearing", "held_diameter": 0.015}, r"held_diameter must be one of .* got 0.015"),
        ({"hop": 0}, "hop must be a whole number, 1 or more, got 0"),
        ({"gap": -1}, "gap must be a whole number, 0 or more, got -1"),
        ({"size_classes": 1}, "size_classes must be True or False, got 1"),
        ({"blocks": 3}, "blocks must be a whole number, 5 or more, got 3"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CwruSystem(**options)  # type: ignore[arg-type]


def test_silence_has_no_level() -> None:
    with pytest.raises(ValueError, match="x must not be silent, got RMS 0 in trajectory 1"):
        log_rms(np.array([[[1.0]], [[0.0]]]))


@real
@pytest.mark.parametrize("split", ["load", "bearing"])
def test_the_real_splits(split: str) -> None:
    system = CwruSystem(folder=FOLDER, split=split)
    splits = system.splits(1000)
    assert [len(part) for part in (splits.train, splits.id, splits.ood)] == [1024, 256, 256]
    assert reach(splits) >= 1200
    assert splits.train.events is not None
    assert splits.train.events.mean() == pytest.approx(0.2, abs=0.005)
    assert splits.train.x.std() == pytest.approx(1.0, abs=0.05)
    levels = [-1.3416, -0.4472, 0.4472, 1.3416] if split == "load" else [-0.5345]
    np.testing.assert_allclose(np.unique(splits.ood.y.round(9)), levels, atol=1e-4)


@real
def test_the_real_sizes_as_classes() -> None:
    splits = CwruSystem(folder=FOLDER, size_classes=True).splits(1000)
    assert splits.train.classes == ("0.007 in", "0.014 in", "0.021 in", "0.028 in")
    assert np.unique(splits.ood.y).tolist() == [0, 1, 2, 3]
    assert np.unique(splits.train.extra["diameter"][splits.train.y == 3]).tolist() == [0.028]
