"""HIT-SM bearings: the tie by hand on made windows, and the counts of the real recordings where they are."""

import dataclasses
import hashlib
import itertools
import os
from pathlib import Path

import numpy as np
import pytest

from crest.lab.systems import Sizes
from crest.lab.systems import hitsm as module
from crest.lab.systems.hitsm import HitsmSystem
from crest.lab.systems.public import HITSM
from crest.lab.systems.public_files import RecordingFileError
from crest.recordings.trajectories import Splits, Trajectories
from places import ROOT

PLACES = [os.environ.get("CREST_DATA"), ROOT.parent / "shared" / "data"]
FOLDERS = [Path(place) / "hitsm" for place in PLACES if place]
FOLDER = next((folder for folder in FOLDERS if (folder / "IR2_600.mat").exists()), None)
real = pytest.mark.skipif(FOLDER is None, reason="no HIT-SM files in CREST_DATA or ../shared/data/hitsm")

SPEEDS, SIZES, STEPS = (600, 900, 1200), (2, 5, 8), 64


def made() -> Trajectories:
    """Windows of eighteen recordings that hold the number of their recording."""
    recordings = [(race, size, speed) for race in "IO" for size in SIZES for speed in SPEEDS]
    starts = np.arange(0, 64 * 200, 16)
    recording = np.repeat(np.arange(18), len(starts))
    x = recording[:, None, None] + np.random.default_rng(0).normal(size=(len(recording), STEPS, 1))
    return Trajectories(
        x=x.astype(np.float32),
        y=np.array([float(recordings[one][1]) for one in recording]),
        sample_rate=12800.0,
        channels=("a",),
        extra={
            "recording": recording,
            "start": np.tile(starts, 18),
            "condition": np.array([str(recordings[one][2]) for one in recording]),
        },
    )


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> HitsmSystem:
    windows = made()
    monkeypatch.setattr(module, "_windows", lambda *_: windows)
    return HitsmSystem(folder="anywhere", steps=STEPS, hop=16)


def cells(part: Trajectories) -> list[list[int]]:
    """How many windows there are of each size (row) at each speed (column)."""
    speeds = part.extra["condition"].astype(int)
    return [
        [int(((part.y == size) & (speeds == speed)).sum()) for speed in SPEEDS] for size in np.unique(part.y)
    ]


def require_parted(splits: Splits, steps: int) -> None:
    """Fail if a step of a recording is in windows of two parts."""
    parts = [splits.train, splits.id, splits.ood]
    for recording in np.unique(np.concatenate([part.extra["recording"] for part in parts])):
        taken = [part.extra["start"][part.extra["recording"] == recording] for part in parts]
        ends = [(one.min(), one.max() + steps) for one in taken if len(one)]
        assert all(first[1] <= second[0] for first, second in itertools.pairwise(ends)), ends


def test_a_share_of_the_windows_is_tied(system: HitsmSystem) -> None:
    splits = system.splits(1000, Sizes(train=240, id=120, ood=90))
    assert cells(splits.train) == [[2, 2, 76], [2, 76, 2], [76, 2, 2]]
    assert cells(splits.id) == [[1, 1, 38], [1, 38, 1], [38, 1, 1]]
    assert cells(splits.ood) == [[10] * 3] * 3
    require_parted(splits, STEPS)


@pytest.mark.parametrize("tie", [0.0, 1 / 3, 1.0])
def test_other_ties(system: HitsmSystem, tie: float) -> None:
    splits = HitsmSystem(folder="anywhere", steps=STEPS, hop=16, tie=tie).splits(
        1000, Sizes(train=180, id=90, ood=90)
    )
    counts = np.array(cells(splits.train))
    assert counts[[0, 1, 2], [2, 1, 0]].sum() == pytest.approx(tie * counts.sum(), abs=2)
    assert cells(splits.ood) == [[10] * 3] * 3


def test_targets_and_signals_are_standardised_and_a_seed_repeats_them(system: HitsmSystem) -> None:
    first, again, other = (system.splits(seed, Sizes(train=90, id=45, ood=45)) for seed in (1000, 1000, 1001))
    assert np.unique(first.ood.y) == pytest.approx([-np.sqrt(1.5), 0.0, np.sqrt(1.5)])
    assert first.train.x.std() == pytest.approx(1.0, rel=1e-3)
    assert first.train.x.dtype == np.float32
    assert np.array_equal(first.train.x, again.train.x)
    assert not np.array_equal(first.train.x, other.train.x)
    assert first.train.proxy.shape == first.train.y.shape


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tie": 1.1}, r"^tie must lie in \[0, 1\], got 1.1"),
        ({"steps": 0}, "^steps must be a whole number, 1 or more, got 0"),
        ({"hop": 0}, "^hop must be a whole number, 1 or more, got 0"),
    ],
)
def test_messages(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HitsmSystem(**options)


def test_a_missing_and_a_changed_file_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        RecordingFileError, match=r": has none of the 18 recordings, IR2_1200\.mat to OR8_900\.mat\n"
    ):
        HitsmSystem(folder=tmp_path).splits(1000)
    content = b"x" * HITSM.files[0].size
    (tmp_path / "IR2_1200.mat").write_bytes(content)
    with pytest.raises(
        RecordingFileError,
        match=rf"IR2_1200\.mat: wrong checksum, got .*, expected {HITSM.files[0].sha256}\n",
    ):
        HitsmSystem(folder=tmp_path).splits(1000)
    # A file with its checksum is taken, and the next one is asked for.
    first = HITSM.files[0]._replace(sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(module, "HITSM", dataclasses.replace(HITSM, files=(first, *HITSM.files[1:])))
    with pytest.raises(RecordingFileError, match=r"^.*IR2_600\.mat: missing\n") as caught:
        HitsmSystem(folder=tmp_path).splits(1000)
    assert "IR2_1200" not in str(caught.value)
    assert "crest data fetch hitsm" in str(caught.value)


def test_the_folder_is_in_that_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(module, "_windows", lambda folder, *_: seen.append(folder) or made())
    monkeypatch.setenv("CREST_DATA", "/somewhere")
    HitsmSystem(steps=STEPS, hop=16).splits(1000)
    monkeypatch.delenv("CREST_DATA")
    HitsmSystem(steps=STEPS, hop=16).splits(1000)
    assert seen[0] == Path("/somewhere/hitsm")
    assert seen[1].name == "hitsm"


@real
@pytest.mark.slow
def test_the_recordings_as_they_are() -> None:
    splits = HitsmSystem(folder=FOLDER).splits(1000)
    assert cells(splits.train) == [[4, 4, 142], [4, 142, 4], [142, 4, 4]]
    assert cells(splits.id) == [[1, 1, 42], [1, 42, 1], [42, 1, 1]]
    assert cells(splits.ood) == [[28] * 3] * 3
    require_parted(splits, 2048)
    assert splits.train.x.shape[1:] == (2048, 1)
    assert len(np.unique(splits.ood.extra["recording"])) == len(HITSM.files) == 18
