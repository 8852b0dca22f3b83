import dataclasses
from pathlib import Path
from typing import Any

import pytest

from crest.lab.evidence.experiment import Experiment, Found, distinct
from crest.lab.evidence.shown import Shown
from crest.lab.runs.grid import grid
from crest.lab.runs.packed import line_of
from crest.lab.runs.spec import RunSpec
from crest.lab.runs.store import Store
from crest.lab.runs.study import Study
from sweeping import made_up, tiny


def count(found: Found) -> Shown:
    """As many notes as records, the ids as text."""
    return Shown(notes=tuple(found.records))


def experiment(runs: tuple[RunSpec, ...] = (), **fields: Any) -> Experiment:
    usual = {"name": "small", "evidence": "Table 0", "summary": "Is it so?", "show": count}
    return Experiment(**{**usual, "runs": runs, **fields})


def found(*specs: RunSpec, among: tuple[RunSpec, ...] | None = None) -> Found:
    return Found(among or specs, {spec.id: made_up(spec) for spec in specs}, {})


# -- what was found


def test_records_are_found_by_their_fields_in_the_order_of_seeds() -> None:
    runs = tuple(tiny(name, seed=seed) for seed in (1002, 1000, 1001) for name in ("mean", "max"))
    there = found(*runs)
    assert len(there) == 6
    assert [one.spec.seed for one in there.of(readout="max")] == [1000, 1001, 1002]
    assert [one.spec.readout for one in there.of(readout="max", seed=1001)] == ["max"]
    assert there.of(readout="last") == []


def test_declared_is_what_should_be_there_and_complete_whether_it_is() -> None:
    runs = tuple(tiny(name, seed=seed) for name in ("mean", "max") for seed in (1000, 1001))
    there = found(*runs[1:], among=runs)
    assert there.declared() == list(runs)
    assert there.declared(readout="mean") == list(runs[:2])
    assert [one.spec.seed for one in there.of(readout="mean")] == [1001]
    assert not there.complete()
    assert not there.complete(readout="mean")
    assert there.complete(readout="max")
    assert there.complete(readout="mean", seed=1001)


def test_records_of_other_experiments_are_left_out() -> None:
    mine, other = tiny(), tiny("max")
    there = found(mine, other, among=(mine,))
    assert list(there.records) == [mine.id]
    assert there.of() == [made_up(mine)]


def test_no_mean_mixes_two_settings() -> None:
    narrow = tiny("crest", readout_options={"budget": 0.1})
    there = found(tiny("crest"), narrow)
    with pytest.raises(ValueError, match=r"fields must name one setting, got 2 for \{'readout': 'crest'\}"):
        there.of(readout="crest")
    assert [one.id for one in there.of(readout="crest", readout_options={"budget": 0.1})] == [narrow.id]


def test_looks_and_measures_are_no_other_setting() -> None:
    there = found(tiny(), tiny(seed=1001, measures=("traces",), observe_every=1))
    assert len(there.of(readout="mean")) == 2


def test_a_field_that_does_not_exist_is_an_error_and_not_an_empty_list() -> None:
    with pytest.raises(AttributeError, match="reedout"):
        found(tiny()).of(reedout="mean")


# -- an experiment


def test_a_piece_is_made_of_the_records_that_are_there(tmp_path: Path) -> None:
    runs = tuple(tiny(seed=seed) for seed in (1000, 1001))
    study = Study(name="double", compute=lambda n: 2 * n, parameters={"n": 4})
    store = Store(tmp_path)
    store.write(made_up(runs[1]))
    store.write(made_up(tiny("max")))
    one = experiment(runs, studies=(study,))
    piece = one.piece(store)
    assert (piece.name, piece.evidence, piece.summary) == ("small", "Table 0", "Is it so?")
    assert piece.command == "crest run small"
    assert (piece.found, piece.declared) == (1, 3)
    assert piece.shown.notes == (runs[1].id,)
    study.ensure(tmp_path)
    assert one.piece(store).found == 2


def test_a_piece_shows_the_results_of_its_studies(tmp_path: Path) -> None:
    study = Study(name="double", compute=lambda n: 2 * n, parameters={"n": 4})
    one = experiment(studies=(study,), show=lambda there: Shown(notes=(str(dict(there.studies)),)))
    assert one.piece(Store(tmp_path)).shown.notes == ("{}",)
    study.ensure(tmp_path)
    assert one.piece(Store(tmp_path)).shown.notes == ("{'double': 8}",)


def test_a_piece_of_a_damaged_record_names_its_file(tmp_path: Path) -> None:
    spec = tiny()
    (tmp_path / f"{spec.id}.json").write_text("{}")
    with pytest.raises(ValueError, match=f"{spec.id}.json is not a record"):
        experiment((spec,)).piece(Store(tmp_path))


@pytest.mark.parametrize("form", ["file", "line"])
def test_a_record_with_the_spec_of_another_run_is_refused(form: str, tmp_path: Path) -> None:
    spec, other = tiny(seed=1000), tiny(seed=1001)
    store, edited = Store(tmp_path), dataclasses.replace(made_up(spec), spec=other)
    if form == "file":
        store.path(spec.id).write_text(edited.to_json())
    else:
        store.packed.path.write_bytes(line_of(edited)[0] + b"\n")
    message = f"the record of {spec.id} in .* must hold the spec of its run, got that of {other.id}: restore"
    with pytest.raises(ValueError, match=message):
        experiment((spec,)).piece(store)


def test_a_quick_experiment_keeps_the_settings_and_leaves_the_reported_seeds_alone() -> None:
    runs = grid(
        [{"measures": ("traces",)}], readout=["mean", "crest"], system="gear", seed=range(3), observe_every=5
    )
    quick = experiment(runs).quick()
    assert [spec.readout for spec in quick.runs] == ["mean", "crest"]
    for spec in quick.runs:
        assert spec.seed >= 1000
        assert (spec.training.epochs, spec.sizes.train, spec.observe_every) == (2, 32, 1)
        assert spec.measures == ("traces",)
    assert {spec.id for spec in quick.runs}.isdisjoint(spec.id for spec in runs)
    assert quick.show is count


def test_a_quick_experiment_without_runs_is_itself() -> None:
    assert experiment().quick() == experiment()


def test_a_run_that_is_not_looked_at_is_not_looked_at_in_quick_form() -> None:
    (spec,) = experiment((tiny(),)).quick().runs
    assert spec.observe_every == 0


def test_shared_runs_are_counted_once() -> None:
    shared, other = (grid(readout=name, system="gear", seed=1000) for name in ("mean", "max"))
    assert distinct([experiment(shared), experiment((*other, *shared))]) == (*shared, *other)
