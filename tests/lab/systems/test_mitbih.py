"""MIT-BIH: the tie by hand on made windows, the wander in closed form, and the counts of the real records where they are."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crest.lab.systems import Sizes, make_system
from crest.lab.systems import mitbih as module
from crest.lab.systems.mitbih import FIELD_RECORDS, TRAINING_RECORDS, MitbihSystem, wander_of
from crest.recordings.trajectories import Splits, Trajectories
from places import ROOT

PLACES = [os.environ.get("CREST_DATA"), ROOT.parent / "shared" / "data"]
FOLDERS = [Path(place) / "mitbih" for place in PLACES if place]
FOLDER = next((folder for folder in FOLDERS if (folder / "100.dat").exists()), None)
real = pytest.mark.skipif(FOLDER is None, reason="no MIT-BIH records in CREST_DATA or ../shared/data/mitbih")

STEPS, RATE = 180, 18.0


def made() -> Trajectories:
    """Forty windows of each record; half of them have a beat, and half of either much wander."""
    records = np.repeat([*TRAINING_RECORDS, *FIELD_RECORDS], 40)
    beat, large = np.tile([0, 0, 1, 1], 440).astype(bool), np.tile([0, 1, 0, 1], 440).astype(bool)
    height = np.where(large, 2.0, 0.5) + np.random.default_rng(0).uniform(0, 0.1, len(records))
    x = height[:, None] * np.sin(2 * np.pi * 0.2 * np.arange(STEPS) / RATE)
    events = np.zeros(x.shape, dtype=bool)
    events[beat, 90:93] = True
    return Trajectories(
        x=(x + events)[:, :, None].astype(np.float32),
        y=np.zeros(len(records)),
        events=events,
        sample_rate=RATE,
        channels=("MLII",),
        extra={"condition": records},
    )


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Trajectories:
    found = made()
    monkeypatch.setattr(module, "_windows", lambda _: found)
    monkeypatch.setattr(module, "require_files", lambda *_: Path("anywhere"))
    return found


def cells(part: Trajectories) -> list[list[int]]:
    """Windows without and with a beat (row), of small and large wander (column)."""
    large = part.extra["condition"] == "large wander"
    return [[int(((part.y == y) & (large == one)).sum()) for one in (False, True)] for y in (0, 1)]


def patients(splits: Splits) -> list[set[str]]:
    return [set(part.extra["group"].tolist()) for part in (splits.train, splits.id, splits.ood)]


@pytest.mark.parametrize(
    ("options", "train", "inside", "ood"),
    [
        ({}, [[95, 5], [5, 95]], [[38, 2], [2, 38]], [[0, 30], [30, 0]]),
        ({"tie": 1.0}, [[100, 0], [0, 100]], [[40, 0], [0, 40]], [[0, 30], [30, 0]]),
        ({"tie": 0.5, "field_tie": 0.5}, [[50, 50]] * 2, [[20, 20]] * 2, [[15, 15]] * 2),
    ],
)
@pytest.mark.usefixtures("windows")
def test_shares_of_the_tie(
    options: dict[str, float], train: list[list[int]], inside: list[list[int]], ood: list[list[int]]
) -> None:
    splits = MitbihSystem(**options).splits(1000, Sizes(train=200, id=80, ood=60))
    assert [cells(part) for part in (splits.train, splits.id, splits.ood)] == [train, inside, ood]


@pytest.mark.usefixtures("windows")
def test_patients_are_on_one_side() -> None:
    held = []
    for seed in (1000, 1001):
        train, inside, ood = patients(MitbihSystem().splits(seed))
        assert not train & inside
        assert train | inside == set(TRAINING_RECORDS)
        assert len(inside) == len(TRAINING_RECORDS) // 3
        assert ood == set(FIELD_RECORDS)
        held.append(inside)
    assert held[0] != held[1]


@pytest.mark.usefixtures("windows")
def test_labels_events_and_proxy_are_those_of_the_windows() -> None:
    first, again, other = (
        MitbihSystem().splits(seed, Sizes(train=100, id=50, ood=50)) for seed in (1000, 1000, 1001)
    )
    for part in (first.train, first.id, first.ood):
        assert part.classes == ("regular", "premature beat")
        assert part.events is not None
        assert part.y.tolist() == part.events.any(1).tolist()
        assert part.proxy is not None
        wander = wander_of(part.x, RATE)
        np.testing.assert_allclose(part.proxy, np.log(wander + 1e-6), rtol=1e-6)
        assert ((wander > 1.0) == (part.extra["condition"] == "large wander")).all()
    assert np.array_equal(first.train.x, again.train.x)
    assert not np.array_equal(first.train.x, other.train.x)


def test_large_is_above_the_median_of_the_training_patients_alone(windows: Trajectories) -> None:
    """Patients of the field may wander more; what is large is known before they come."""
    windows.x[np.isin(windows.extra["condition"], FIELD_RECORDS)] *= 10
    # No window of the field is small any more.
    with pytest.raises(ValueError, match="tie must be one that the recordings allow, got no row of"):
        MitbihSystem(field_tie=1.0).splits(1000, Sizes(train=200, id=80, ood=60))


@pytest.mark.unchecked
@pytest.mark.parametrize("name", ["tie", "field_tie"])
@pytest.mark.parametrize("bad", [-0.1, 1.1])
def test_a_bad_tie_is_refused_by_name(name: str, bad: float) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must lie in \[0, 1\], got {bad}"):
        MitbihSystem(**{name: bad})


def test_the_settings_by_name() -> None:
    settings: dict[str, Any] = {
        name: make_system("mitbih", name) for name in ("default", "tie_90", "tie_99", "untied")
    }
    assert {name: (one.tie, one.field_tie) for name, one in settings.items()} == {
        "default": (0.95, 0.0),
        "tie_90": (0.9, 0.0),
        "tie_99": (0.99, 0.0),
        "untied": (0.5, 0.5),
    }


@pytest.mark.parametrize(
    ("frequency", "expected"), [(0.1, 3 / np.sqrt(2)), (0.2, 3 / np.sqrt(2)), (0.5, 0.0), (2.0, 0.0)]
)
def test_the_wander_of_a_sine(frequency: float, expected: float) -> None:
    time = np.arange(900) / 90
    x = 7.0 + 3 * np.sin(2 * np.pi * frequency * time + 0.4)
    both = np.stack([x, x + 5 * np.sin(2 * np.pi * 2 * time)])[:, :, None]
    np.testing.assert_allclose(wander_of(both, 90.0), expected, atol=1e-9)


@real
@pytest.mark.slow
def test_the_records_as_they_are() -> None:
    """The counts of the data's README, whose filter differs a little; a tie of 1 takes as many as the scarcer cell has."""
    found = module._windows(FOLDER)
    record = found.extra["condition"]
    training = np.isin(record, TRAINING_RECORDS)
    assert set(record.tolist()) == {*TRAINING_RECORDS, *FIELD_RECORDS}
    assert found.events is not None
    beat, wander = found.events.any(1), wander_of(found.x, found.sample_rate)
    large = wander > np.median(wander[training])
    assert int((training & beat & large).sum()) == pytest.approx(698, abs=30)
    assert int((training & ~beat & ~large).sum()) == pytest.approx(1551, abs=60)
    # A beat, or several, of ten seconds.
    assert 0.01 < found.events[beat].mean() < 0.1
    assert (found.sample_rate, found.x.shape[1:]) == (90.0, (900, 1))
    splits = MitbihSystem(folder=FOLDER).splits(1000, Sizes(train=800, id=300, ood=400))
    assert cells(splits.train) == [[380, 20], [20, 380]]
    assert cells(splits.ood) == [[0, 200], [200, 0]]
