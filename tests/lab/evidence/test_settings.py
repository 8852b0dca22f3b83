from crest.lab.evidence.main import MAIN_EXPERIMENT
from crest.lab.evidence.settings import (
    FIVE,
    FORMS,
    HEADLINE_SYSTEMS,
    ONE,
    OTHER_READOUTS,
    TEN,
    THREE,
    headline_runs,
)
from crest.lab.systems import SYSTEMS
from crest.readouts import READOUTS, REFERENCES


def test_reported_seeds_are_nested_and_below_those_of_development() -> None:
    assert set(ONE) < set(THREE) < set(FIVE) < set(TEN) == set(range(10))


def test_every_readout_but_the_last_state_is_compared_on_the_simulators() -> None:
    assert {*FORMS, *OTHER_READOUTS} | {"last"} == {*READOUTS, *REFERENCES}
    assert not set(FORMS) & set(OTHER_READOUTS)
    assert set(HEADLINE_SYSTEMS) < set(SYSTEMS)


def test_headline_runs_are_those_of_table_1() -> None:
    assert set(headline_runs()) == set(MAIN_EXPERIMENT.runs)
    chosen = headline_runs(seed=THREE, readout="crest")
    assert set(chosen) < set(MAIN_EXPERIMENT.runs)
    assert {(spec.seed, spec.readout) for spec in chosen} == {(seed, "crest") for seed in THREE}
