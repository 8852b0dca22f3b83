import dataclasses

import pytest

from crest.lab.report.explored import explorer_data
from crest.lab.runs.record import Record
from report_made import STEPS, record, records


def test_a_trajectory_is_there_once_for_all_readouts() -> None:
    gear, impact = explorer_data(records())
    assert (gear["name"], impact["name"]) == ("SG-Drive", "Impact")
    assert len(gear["trajectories"]) == 3
    assert [readout["name"] for readout in gear["readouts"]] == ["attention (dot)", "CREST", "mean"]
    assert all(len(readout["rows"]) == 3 for readout in gear["readouts"])
    trajectory = gear["trajectories"][1]
    assert (trajectory["split"], trajectory["index"]) == ("ood", 1)
    traces = records()[0].traces
    assert traces is not None
    assert trajectory["signals"][1] == pytest.approx(traces.rows[1].signals[1], rel=1e-4)
    assert trajectory["events"] == traces.rows[1].events
    crest = gear["readouts"][1]["rows"][0]
    assert len(crest["credit"]["parts"]) == len(crest["votes"]["parts"]) == STEPS
    assert gear["readouts"][0]["rows"][0]["votes"] is None


def test_names_say_what_tells_apart_and_no_more() -> None:
    seeds = explorer_data([record("gear", "mean", seed=seed) for seed in (0, 1)])
    assert [system["name"] for system in seeds] == ["SG-Drive, seed 0", "SG-Drive, seed 1"]
    encoders = [record("gear", "mean"), record("gear", "mean", encoder="gru")]
    (system,) = explorer_data(encoders)
    assert [readout["name"] for readout in system["readouts"]] == ["mean, pointwise", "mean, gru"]


def test_a_model_without_a_remedy_has_no_word_for_it() -> None:
    remedies = [record("gear", "crest"), record("gear", "crest", remedy="exchange")]
    (system,) = explorer_data(remedies)
    assert [readout["name"] for readout in system["readouts"]] == ["CREST", "CREST, exchange"]


def test_trajectories_have_the_names_of_their_traces() -> None:
    one = record("gear", "mean")
    assert one.traces is not None
    rows = [dataclasses.replace(row, name=f"a.npy, {place} s") for place, row in enumerate(one.traces.rows)]
    named = dataclasses.replace(one, traces=dataclasses.replace(one.traces, rows=rows))
    (system,) = explorer_data([named])
    assert [trajectory["name"] for trajectory in system["trajectories"]] == [row.name for row in rows]
    assert Record.from_dict(named.to_dict()) == named
    assert not any("name" in row for row in one.to_dict()["traces"]["rows"])


def test_classes_have_their_names_and_numbers_their_unit() -> None:
    options = {"system_options": {"threshold": 0.5}, "objective": "cross_entropy"}
    (classes,), (numbers,) = (
        explorer_data([record("gear", "mean", **options)]),
        explorer_data([record("gear", "mean")]),
    )
    assert classes["classes"] == ["no fault", "fault"]
    assert (numbers["classes"], numbers["unit"]) == ([], "standard deviations of the label")


def test_a_readout_may_lack_a_trajectory() -> None:
    (system,) = explorer_data([record("gear", "mean", 3), record("gear", "crest", 2)])
    assert [row is None for row in system["readouts"][1]["rows"]] == [False, False, True]


def test_other_trajectories_under_the_same_name_are_refused() -> None:
    one, other = record("gear", "mean"), record("gear", "crest")
    assert other.traces is not None
    rows = [dataclasses.replace(row, events=[0]) for row in other.traces.rows]
    other = dataclasses.replace(other, traces=dataclasses.replace(other.traces, rows=rows))
    with pytest.raises(
        ValueError, match=r"explored must hold the same trajectories .* SG-Drive, but id 0 of gear-"
    ):
        explorer_data([one, other])


def test_records_without_traces_are_refused() -> None:
    bare = dataclasses.replace(record("gear", "mean"), traces=None)
    with pytest.raises(ValueError, match="explored must hold records with traces, got gear-pointwise-mean"):
        explorer_data([bare])
