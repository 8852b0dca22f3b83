import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crest.lab.runs.spec import RunSpec
from crest.lab.systems import Sizes, make_system
from crest.lab.systems.recordings import RecordingsSystem
from studies_made import made_recordings


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_recordings(tmp_path_factory.mktemp("recordings"))


def system(table: Path, /, **changes: Any) -> RecordingsSystem:
    usual = {"table": table, "window": 40, "sample_rate": 100.0, "condition": "speed", "ood": ["fast"]}
    return RecordingsSystem(**{**usual, **changes})


def test_conditions_are_held_out(table: Path) -> None:
    splits = system(table, events="knocks").splits(0)
    assert set(splits.ood.extra["condition"]) == {"fast"}
    assert len(splits.ood) == 12
    assert set(splits.train.extra["condition"]) == set(splits.id.extra["condition"]) == {"slow"}
    assert splits.train.y.std() == pytest.approx(1)
    assert splits.id.events is not None
    assert splits.id.events.sum() == len(splits.id)


def test_a_column_may_say_which_rows_are_id(table: Path) -> None:
    splits = system(table, condition="part", ood=["ood"], id=["id"]).splits(0)
    assert [set(part.extra["condition"]) for part in (splits.train, splits.id, splits.ood)] == [
        {"train"}, {"id"}, {"ood"}
    ]  # fmt: skip
    assert (len(splits.train), len(splits.id), len(splits.ood)) == (30, 6, 12)


def test_a_column_of_splits_goes_with_conditions(table: Path) -> None:
    splits = system(table, split="part", ood=["ood"], id=["id"]).splits(0)
    assert (len(splits.train), len(splits.id), len(splits.ood)) == (30, 6, 12)
    assert set(splits.train.extra["split"]) == {"train"}
    assert set(splits.train.extra["condition"]) <= {"fast", "slow"}


def test_sizes_are_the_most_that_a_split_has(table: Path) -> None:
    every, few = system(table).splits(0), system(table).splits(0, Sizes(train=5, id=100, ood=2))
    assert (len(few.train), len(few.id), len(few.ood)) == (5, len(every.id), 2)
    assert np.array_equal(few.train.x, every.train.x[:5])
    # In random order: the first windows are not all of the first recording.
    assert len(set(few.train.extra["recording"])) > 1
    other = system(table).splits(1)
    assert not np.array_equal(other.train.x, every.train.x)


def test_without_ood_the_id_windows_stand_in_its_place(table: Path) -> None:
    splits = system(table, condition=None, ood=()).splits(0, Sizes(train=9, id=4, ood=3))
    assert np.array_equal(splits.ood.x, splits.id.x)
    assert splits.ood.source.endswith("ID again, since nothing is OOD")
    assert not set(zip(*_places(splits.train), strict=True)) & set(zip(*_places(splits.id), strict=True))


def _places(part: Any) -> tuple[list[int], list[int]]:
    return part.extra["recording"].tolist(), part.extra["start"].tolist()


def test_other_recordings_than_those_it_was_named_by_are_refused(tmp_path: Path) -> None:
    made = system(made_recordings(tmp_path))
    named = dataclasses.replace(made, content=made.digest())
    assert len(named.splits(0).train)
    np.save(tmp_path / "0.npy", np.zeros(240))
    with pytest.raises(ValueError, match=r"table .* must be as they were when the run was named"):
        named.splits(0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"window": 0}, "^window must be a whole number, 1 or more"),
        ({"ood": "fast"}, "^ood must be a list of conditions, as text, got 'fast'"),
        ({"condition": None}, "^condition must name the column of fast"),
        ({"id": ["fast"]}, "^id must name other conditions than ood, got fast"),
        ({"ood": ["fats"]}, "^ood must name conditions among fast, slow, got fats: did you mean 'fast'"),
        ({"ood": ["fast", "slow"]}, "^ood must leave a condition to train on"),
        ({"split": "part"}, r"^ood must be \['ood'\] or empty with split, got \['fast'\]"),
        ({"split": "part", "ood": []}, r"^ood must be \['ood'\] if the column 'part' has such rows"),
        ({"id_by": "chance"}, "^id_by must be"),
    ],
)
def test_what_cannot_be_split_is_refused(table: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        system(table, **changes).splits(0)


def test_it_is_a_system_by_name(table: Path) -> None:
    assert make_system("recordings", table=str(table), window=8) == RecordingsSystem(
        table=str(table), window=8
    )
    with pytest.raises(ValueError, match=r"^recordings has no parameter wndow; it has window"):
        make_system("recordings", table=str(table), wndow=8)


def test_a_run_is_named_by_what_the_recordings_hold(table: Path) -> None:
    """The path of a table is no part of an id, so its content must be."""
    options = {"table": str(table), "window": 40, "sample_rate": 100.0}
    with pytest.raises(ValueError, match=r"^content must name what the recordings hold"):
        RunSpec(system="recordings", system_options=options, readout="mean", seed=0)
    named = {**options, "content": RecordingsSystem(**options).digest()}
    assert RunSpec(system="recordings", system_options=named, readout="mean", seed=0).id
