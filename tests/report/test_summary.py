import dataclasses

import pytest

from crest.evaluation import Score
from crest.experiments.record import Record
from crest.report.summary import HEADER, cells, rows
from crest.systems import Sizes
from sweeping import made_up, tiny


def record(readout: str, seed: int, ood: float) -> Record:
    return made_up(tiny(readout, seed=seed), score=Score(id=0.1, ood=ood))


NAME = "gear pointwise mean train=16 id=8 ood=8 epochs=1 batch=8 learning_rate=0.005"
RUNS = tuple(tiny(name, seed=seed) for seed in (1000, 1001) for name in ("mean", "max"))


@pytest.fixture
def records() -> dict[str, Record]:
    made = [
        record(name, seed, times * ood)
        for seed, ood in ((1000, 0.2), (1001, 0.4))
        for name, times in (("mean", 1), ("max", 2))
    ]
    return {one.id: one for one in made}


def test_a_row_is_a_setting_over_its_seeds(records: dict[str, Record]) -> None:
    mean, largest = rows(RUNS, records)
    assert (mean.name, mean.found, mean.declared) == (NAME, 2, 2)
    assert mean.ood is not None
    assert largest.ood is not None
    assert mean.ood.mean == pytest.approx(0.3)
    assert mean.ood.deviation == pytest.approx(0.2 / 2**0.5)
    assert largest.ood.mean == pytest.approx(0.6)
    assert cells(mean) == (
        NAME, "2/2", "0.100 ± 0.000", "0.300 ± 0.141", "0.50", "0.25", "0.75", "0.12",
    )  # fmt: skip
    assert len(cells(mean)) == len(HEADER)


def test_a_hole_is_counted_and_a_single_seed_has_no_deviation(records: dict[str, Record]) -> None:
    del records[RUNS[0].id]
    mean, largest = rows(RUNS, records)
    assert (mean.found, mean.declared, largest.found) == (1, 2, 2)
    assert mean.ood is not None
    assert (mean.ood.mean, mean.ood.deviation) == (0.4, None)
    assert cells(mean)[1:4] == ("1/2", "0.100", "0.400")


def test_records_that_were_not_declared_do_not_count(records: dict[str, Record]) -> None:
    stranger = record("mean", 1002, 100.0)
    mean, _ = rows(RUNS, {**records, stranger.id: stranger})
    assert mean.found == 2
    assert mean.ood is not None
    assert mean.ood.mean == pytest.approx(0.3)


def test_what_is_not_there_is_a_dash() -> None:
    (mean, _) = rows(RUNS, {})
    assert cells(mean) == (NAME, "0/2", "-", "-", "-", "-", "-", "-")
    without_events = dataclasses.replace(record("mean", 1000, 0.2), credit={})
    assert cells(rows(RUNS, {without_events.id: without_events})[0])[3:5] == ("0.200", "-")


def test_settings_that_differ_in_size_or_schedule_are_rows_of_their_own() -> None:
    sizes = [tiny(sizes=Sizes(train=train, id=8, ood=8)) for train in (8, 32)]
    found = rows((*sizes, tiny(epochs=3), tiny(seed=1001, epochs=3)), {})
    assert [row.declared for row in found] == [1, 1, 2]
    assert len({row.name for row in found}) == 3


def test_what_else_is_measured_makes_no_row_of_its_own() -> None:
    (row,) = rows((tiny(), tiny(seed=1001, measures=("traces",))), {})
    assert (row.name, row.declared) == (NAME, 2)


def test_credit_that_only_some_records_have_is_an_error(records: dict[str, Record]) -> None:
    records[RUNS[0].id] = dataclasses.replace(records[RUNS[0].id], credit={})
    with pytest.raises(ValueError, match="only 1 of 2 records have credit"):
        rows(RUNS, records)
