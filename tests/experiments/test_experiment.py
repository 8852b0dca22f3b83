import pytest

from crest.experiments.catalog import CATALOG, experiments_of
from crest.experiments.experiment import Experiment, distinct, grid


def test_a_grid_is_every_combination_with_the_last_axis_fastest() -> None:
    runs = grid(
        [{"readout": "mean"}, {"readout": "crest", "readout_options": {"budget": 0.1}}],
        system=["gear", "impact"],
        seed=range(1000, 1003),
        observe_every=2,
    )
    assert [(spec.readout, spec.system, spec.seed) for spec in runs] == [
        (readout, system, seed)
        for readout in ("mean", "crest")
        for system in ("gear", "impact")
        for seed in (1000, 1001, 1002)
    ]
    assert all(spec.observe_every == 2 for spec in runs)
    assert runs[-1].readout_options == {"budget": 0.1}
    assert runs[0].readout_options == {}


def test_a_grid_refuses_what_a_spec_refuses() -> None:
    with pytest.raises(ValueError, match=r"readout must be one of mean, .*, got 'men'"):
        grid(readout=["men"], system="gear", seed=1000)


def test_a_quick_experiment_keeps_the_settings_and_leaves_the_reported_seeds_alone() -> None:
    runs = grid(readout=["mean", "crest"], system="gear", seed=range(3), observe_every=5)
    quick = Experiment(name="a", evidence="b", summary="c", runs=runs).quick()
    assert [spec.readout for spec in quick.runs] == ["mean", "crest"]
    for spec in quick.runs:
        assert spec.seed >= 1000
        assert (spec.training.epochs, spec.sizes.train, spec.observe_every) == (2, 32, 1)
    assert {spec.id for spec in quick.runs}.isdisjoint(spec.id for spec in runs)


def test_shared_runs_are_counted_once() -> None:
    shared, other = (grid(readout=name, system="gear", seed=1000) for name in ("mean", "max"))
    first = Experiment(name="a", evidence="", summary="", runs=shared)
    second = Experiment(name="b", evidence="", summary="", runs=(*other, *shared))
    assert distinct([first, second]) == (*shared, *other)


def test_experiments_are_found_by_name() -> None:
    assert [experiment.name for experiment in experiments_of(["main", "main"])] == ["main"]
    assert experiments_of(["all"]) == list(CATALOG.values())
    assert all(name == experiment.name for name, experiment in CATALOG.items())
    with pytest.raises(ValueError, match=r"name must be one of main, .*all, got 'mian'"):
        experiments_of(["mian"])


@pytest.mark.parametrize("experiment", CATALOG.values(), ids=lambda experiment: experiment.name)
def test_the_catalog_lists_no_run_twice_and_reports_on_reported_seeds(experiment: Experiment) -> None:
    ids = [spec.id for spec in experiment.runs]
    assert len(set(ids)) == len(ids)
    seeds = {spec.seed for spec in experiment.runs}
    assert seeds <= set(range(10)) or min(seeds) >= 1000
    assert experiment.summary.endswith("?")
