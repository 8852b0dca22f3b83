"""SisFall: the tie by hand on made trials, the reading of text files, and the counts of the real trials where they are."""

import os
from pathlib import Path

import numpy as np
import pytest

from crest.lab.systems import Sizes, make_system
from crest.lab.systems import sisfall as module
from crest.lab.systems.sisfall import (
    FIELD_PEOPLE,
    LYING,
    TRAINING_PEOPLE,
    SisfallSystem,
    build_trials,
    read_trial,
)
from crest.recordings.trajectories import Splits, Trajectories
from places import ROOT

PLACES = [os.environ.get("CREST_DATA"), ROOT.parent / "shared" / "data"]
FOLDERS = [Path(place) / "sisfall" for place in PLACES if place]
FOLDER = next((folder for folder in FOLDERS if (folder / "trials.npz").exists()), None)
real = pytest.mark.skipif(FOLDER is None, reason="no trials.npz in CREST_DATA or ../shared/data/sisfall")

# Each person: twelve falls, eight activities that stay upright and eight that end in lying.
DONE = [*["F01"] * 12, *["D07"] * 8, *LYING, *LYING, *LYING[:2]]


def made() -> Trajectories:
    """Trials of 40 steps; the mean of the second axis is 1 upright and 0 lying, and a fall has a peak."""
    people = [*TRAINING_PEOPLE, *FIELD_PEOPLE]
    who, what = np.repeat(people, len(DONE)), np.tile(DONE, len(people))
    x = np.random.default_rng(0).normal(0, 0.01, (len(who), 40, 3))
    fell = np.char.startswith(what, "F")
    x[~fell & ~np.isin(what, LYING), :, 1] += 1.0
    x[fell, 20, 0] += 5.0
    return Trajectories(
        x=x.astype(np.float32),
        y=fell.astype(np.float64),
        sample_rate=50.0,
        channels=("x", "y", "z"),
        extra={"group": who, "activity": what},
    )


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> Trajectories:
    found = made()
    monkeypatch.setattr(module, "_trials", lambda _: found)
    monkeypatch.setattr(module, "require_files", lambda *_: Path("anywhere"))
    return found


def kinds(part: Trajectories) -> tuple[int, int, int]:
    """Falls, activities that stay upright, activities that end in lying."""
    lying = np.isin(part.extra["activity"], LYING)
    return int((part.y == 1).sum()), int(((part.y == 0) & ~lying).sum()), int(lying.sum())


@pytest.mark.parametrize(
    ("regime", "expected"),
    [
        ("default", ((40, 40, 0), (30, 30, 0), (20, 0, 20))),
        ("tie_90", ((40, 36, 4), (30, 27, 3), (20, 0, 20))),
        ("untied", ((40, 20, 20), (30, 15, 15), (20, 10, 10))),
    ],
)
@pytest.mark.usefixtures("trials")
def test_a_share_of_the_activities_stays_upright_and_the_field_lies_down(
    regime: str, expected: tuple[tuple[int, int, int], ...]
) -> None:
    splits = make_system("sisfall", regime).splits(1000, Sizes(train=80, id=60, ood=40))
    assert tuple(kinds(part) for part in (splits.train, splits.id, splits.ood)) == expected


@pytest.mark.usefixtures("trials")
def test_people_are_on_one_side() -> None:
    def people(splits: Splits) -> list[set[str]]:
        return [set(part.extra["group"].tolist()) for part in (splits.train, splits.id, splits.ood)]

    held = []
    for seed in (1000, 1001):
        train, inside, ood = people(SisfallSystem().splits(seed))
        assert not train & inside
        assert train | inside == set(TRAINING_PEOPLE)
        assert len(inside) == len(TRAINING_PEOPLE) // 3
        assert ood == set(FIELD_PEOPLE)
        held.append(inside)
    assert held[0] != held[1]


@pytest.mark.usefixtures("trials")
def test_condition_and_proxy_are_the_posture() -> None:
    ood = SisfallSystem(field_tie=0.5).splits(1000, Sizes(train=80, id=60, ood=40)).ood
    down = ood.extra["condition"] == "lies down"
    assert ood.classes == ("activity", "fall")
    assert ood.proxy is not None
    assert ((ood.proxy < 0.5) == down).all()
    assert down[ood.y == 1].all()
    assert set(down[ood.y == 0].tolist()) == {True, False}


@pytest.mark.unchecked
@pytest.mark.parametrize("name", ["tie", "field_tie"])
def test_a_bad_tie_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must lie in \[0, 1\], got 1.5"):
        SisfallSystem(**{name: 1.5})


# -- files


def written(folder: Path, name: str, samples: int) -> Path:
    """A text file as SisFall has them: nine columns, the first three of the accelerometer, counting samples."""
    path = folder / name
    lines = [f"{step:5d},{-step:5d},{256:5d},1,2,3,4,5,6;" for step in range(samples)]
    path.write_text("\n".join(lines) + "\n\n")
    return path


def test_the_middle_twelve_seconds_in_g(tmp_path: Path) -> None:
    trial = read_trial(written(tmp_path, "F01_SA01_R01.txt", 2600))
    assert trial.shape == (600, 3)
    # Samples 100 to 2499, four at a time; 256 counts of 8192 over 32 g are 1 g.
    np.testing.assert_allclose(trial[:, 0], (101.5 + 4 * np.arange(600)) * 32 / 8192, rtol=1e-6)
    np.testing.assert_allclose(trial[:, 1], -trial[:, 0])
    np.testing.assert_allclose(trial[:, 2], 1.0)


def test_a_short_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"F01_SA01_R01.txt must hold 2400 samples or more, got 2399"):
        read_trial(written(tmp_path, "F01_SA01_R01.txt", 2399))


def test_trials_are_built_from_text_files_and_read_again(tmp_path: Path) -> None:
    inner = tmp_path / "SA01"
    inner.mkdir()
    written(inner, "F01_SA01_R01.txt", 2400)
    written(inner, "D12_SA02_R03.txt", 2400)
    # Neither a walk, nor an elderly person, nor a short one is a trial.
    written(inner, "D01_SA01_R01.txt", 2400)
    written(inner, "D12_SE01_R01.txt", 2400)
    written(inner, "F02_SA01_R01.txt", 2000)
    assert build_trials(tmp_path) == tmp_path / "trials.npz"
    found = module._trials(tmp_path)
    assert found.extra["group"].tolist() == ["SA02", "SA01"]
    assert found.extra["activity"].tolist() == ["D12", "F01"]
    assert found.y.tolist() == [0.0, 1.0]
    np.testing.assert_allclose(found.x[1], read_trial(inner / "F01_SA01_R01.txt"), rtol=1e-3)


@pytest.mark.parametrize("line", ["1,2", "1,x,3;", "1,2,;"])
def test_a_damaged_file_is_told_by_name(tmp_path: Path, line: str) -> None:
    written(tmp_path, "F01_SA01_R01.txt", 2400)
    damaged = written(tmp_path, "F02_SA01_R01.txt", 2400)
    damaged.write_text(damaged.read_text() + line + "\n")
    with pytest.raises(ValueError, match=r"^F02_SA01_R01.txt must hold three numbers or more on each line"):
        build_trials(tmp_path)


def test_a_folder_without_trials_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"source must hold text files of SisFall such as F01_SA01_R01.txt"):
        build_trials(tmp_path)
    (tmp_path / "trials.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"trials.npz must hold the trials of SisFall"):
        module._trials(tmp_path)


@real
@pytest.mark.slow
def test_the_trials_as_they_are() -> None:
    assert FOLDER is not None
    found = module._trials(FOLDER)
    assert (found.x.shape[1:], found.sample_rate) == ((600, 3), 50.0)
    assert set(found.extra["group"].tolist()) == {*TRAINING_PEOPLE, *FIELD_PEOPLE}
    # Gravity and nothing else, for most of the time.
    assert np.median(np.linalg.norm(found.x, axis=2)) == pytest.approx(1.0, abs=0.05)
    splits = SisfallSystem(folder=FOLDER).splits(1000, Sizes(train=800, id=300, ood=270))
    assert kinds(splits.train) == (400, 400, 0)
    # The nine people of the field have so many activities that end in lying.
    assert kinds(splits.ood) == (132, 0, 132)
    originals = sorted(FOLDER.rglob("*_SA*_R*.txt"))
    assert len(originals) == 8
    for path in originals:
        who, what = path.name[4:8], path.name[:3]
        if path.name == "D14_SA02_R01.txt":  # one sample short of twelve seconds, and no trial
            continue
        same = found.x[(found.extra["group"] == who) & (found.extra["activity"] == what)]
        assert np.abs(same - read_trial(path)).max((1, 2)).min() < 0.02
