import dataclasses
from pathlib import Path

import pytest

from crest.evaluation import Score
from crest.experiments.experiment import Experiment
from crest.experiments.record import CreditMeans, Record
from crest.experiments.store import Store
from crest.report.summary import cells, markdown, rows
from crest.systems import Sizes
from sweeping import tiny


def record(readout: str, seed: int, ood: float) -> Record:
    means = CreditMeans(cie=0.5, ecm=0.25, precision=0.75, chance=0.125, counted=8, without_events=0)
    spec = tiny(readout, seed=seed)
    return Record(
        id=spec.id,
        spec=spec,
        resolved=spec.resolved(),
        score=Score(id=0.1, ood=ood),
        credit={"id": means, "ood": means},
        budget={},
        losses=[1.0],
        id_errors=[],
        kept_epoch=1,
        looks=[],
        seconds={"training": 1.0},
        peak_memory=1.0,
        versions={},
        commit=None,
    )


NAME = "gear pointwise mean train=16 id=8 ood=8 epochs=1 batch=8 learning_rate=0.005"
EXPERIMENT = Experiment(
    name="small",
    evidence="Table 0",
    summary="Is it so?",
    runs=tuple(tiny(name, seed=seed) for seed in (1000, 1001) for name in ("mean", "max")),
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path)
    for seed, ood in ((1000, 0.2), (1001, 0.4)):
        store.write(record("mean", seed, ood))
        store.write(record("max", seed, 2 * ood))
    return store


def test_a_row_is_a_setting_over_its_seeds(store: Store) -> None:
    mean, largest = rows(EXPERIMENT, store)
    assert (mean.name, mean.found, mean.declared) == (NAME, 2, 2)
    assert mean.ood is not None
    assert largest.ood is not None
    assert mean.ood.mean == pytest.approx(0.3)
    assert mean.ood.deviation == pytest.approx(0.2 / 2**0.5)
    assert largest.ood.mean == pytest.approx(0.6)
    assert cells(mean) == (
        NAME, "2/2", "0.100 ± 0.000", "0.300 ± 0.141", "0.50", "0.25", "0.75", "0.12",
    )  # fmt: skip


def test_a_hole_is_an_error_unless_it_is_asked_for(store: Store) -> None:
    store.path(EXPERIMENT.runs[0].id).unlink()
    with pytest.raises(ValueError, match=r"small has 3 of 4 records in .*crest run small.*--partial"):
        rows(EXPERIMENT, store)
    mean, largest = rows(EXPERIMENT, store, partial=True)
    assert (mean.found, mean.declared, largest.found) == (1, 2, 2)
    assert mean.ood is not None
    assert (mean.ood.mean, mean.ood.deviation) == (0.4, None)


def test_what_is_not_there_is_a_dash(tmp_path: Path) -> None:
    (mean, _) = rows(EXPERIMENT, Store(tmp_path), partial=True)
    assert cells(mean) == (NAME, "0/2", "-", "-", "-", "-", "-", "-")
    without_events = dataclasses.replace(record("mean", 1000, 0.2), credit={})
    store = Store(tmp_path)
    store.write(without_events)
    assert cells(rows(EXPERIMENT, store, partial=True)[0])[3:5] == ("0.200", "-")


def test_markdown_escapes_its_bars(store: Store) -> None:
    text = markdown(EXPERIMENT, rows(EXPERIMENT, store))
    assert text.startswith("## small: Table 0\n\nIs it so?\n")
    header, rule, *body = text.splitlines()[4:]
    assert r"Prec@\|E\|" in header
    assert rule.count("---") == 8
    assert len(body) == 2


def test_settings_that_differ_in_size_or_schedule_are_rows_of_their_own(tmp_path: Path) -> None:
    sizes = [tiny(sizes=Sizes(train=train, id=8, ood=8)) for train in (8, 32)]
    longer = tiny(epochs=3)
    experiment = dataclasses.replace(EXPERIMENT, runs=(*sizes, longer, tiny(seed=1001, epochs=3)))
    found = rows(experiment, Store(tmp_path), partial=True)
    assert [row.declared for row in found] == [1, 1, 2]
    assert len({row.name for row in found}) == 3


def test_credit_that_only_some_records_have_is_an_error(store: Store) -> None:
    store.write(dataclasses.replace(record("mean", 1000, 0.2), credit={}))
    with pytest.raises(ValueError, match="only 1 of 2 records have credit"):
        rows(EXPERIMENT, store)
