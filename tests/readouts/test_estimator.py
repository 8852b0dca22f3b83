import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from crest import CrestConfig, CrestPooler, CrestReadout

# A 2-D array is taken as series of one channel, so scikit-learn's checks run in full; none has to be excused.
EXPECTED_FAILURES: dict[str, str] = {}


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(CrestPooler(), legacy=True, expected_failed_checks=EXPECTED_FAILURES)),
    ids=lambda value: getattr(getattr(value, "func", None), "__name__", type(value).__name__),
)
def test_scikit_learn_checks(estimator: CrestPooler, check: object) -> None:
    check(estimator)


def series(n: int = 12, steps: int = 80, channels: int = 4) -> np.ndarray:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(n, steps, channels))
    x[:, 30:33] += generator.normal(size=(n, 1, channels)) * 5
    return x


def test_it_is_the_calibrated_readout() -> None:
    x = series()
    readout = CrestReadout().eval().calibrate([torch.from_numpy(x)])
    np.testing.assert_allclose(
        CrestPooler().fit(x).transform(x), readout(torch.from_numpy(x)).numpy(), atol=1e-6
    )


def test_batches_change_nothing() -> None:
    x = series()
    np.testing.assert_allclose(
        CrestPooler(batch_size=5).fit_transform(x), CrestPooler().fit_transform(x), rtol=0, atol=1e-6
    )


def test_the_budget_is_that_of_fit() -> None:
    pooler = CrestPooler().fit(series())
    before = float(pooler.readout_.running.width)
    pooler.transform(10 * np.random.default_rng(1).normal(size=(3, 50, 4)))
    assert float(pooler.readout_.running.width) == before


@pytest.mark.parametrize("budget", ["pooled", "trajectory", 0.1])
def test_an_event_at_the_start_of_every_series_is_no_run_up(budget: str | float) -> None:
    """There is no encoder whose state could run up: a hammer's blow is in the signal."""
    size = np.linspace(1, 5, 64)
    x = 0.01 * np.random.default_rng(0).normal(size=(64, 200, 1))
    x[:, :20, 0] += size[:, None] * np.exp(-np.arange(20) / 5)
    pooled = CrestPooler(budget).fit_transform(x)[:, 0]
    assert np.corrcoef(pooled, size)[0, 1] > 0.9


def test_options_reach_the_readout() -> None:
    x = series()
    pooler = CrestPooler(0.2, alpha=0.9, config=CrestConfig(sigma=3.0)).fit(x)
    expected = CrestReadout(0.2, alpha=0.9, run_up=0, config=CrestConfig(sigma=3.0))
    np.testing.assert_allclose(pooler.transform(x), expected(torch.from_numpy(x)).numpy())
    assert clone(pooler).get_params() == pooler.get_params()


def test_in_a_pipeline_with_a_grid_search() -> None:
    x = series(n=40)
    y = x[:, 30:33, 0].mean(1)
    search = GridSearchCV(
        make_pipeline(CrestPooler(), Ridge()), {"crestpooler__budget": ["pooled", 0.05, 0.5]}, cv=3
    ).fit(x, y)
    assert search.score(x, y) > 0.9


def test_steps_may_differ_and_channels_may_not() -> None:
    pooler = CrestPooler().fit(series())
    assert pooler.n_features_in_ == 4
    assert pooler.transform(series(steps=33)).shape == (12, 4)
    with pytest.raises(ValueError, match=r"X must have 4 channels, as in fit, got shape \(12, 80, 3\)"):
        pooler.transform(series()[:, :, :3])
    with pytest.raises(ValueError, match="X must have 4 channels, as in fit"):
        pooler.transform(series()[:, :4, 0])


def test_bad_input_is_refused_by_name() -> None:
    x = series()
    x[2, 3, 1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        CrestPooler().fit(x)
    with pytest.raises(ValueError, match="batch_size must be a whole number, 1 or more, got 0"):
        CrestPooler(batch_size=0).fit(series())
    with pytest.raises(ValueError, match=r"X must have shape \(N, T, D\) or \(N, T\), got \(1, 12, 80, 4\)"):
        CrestPooler().fit(series()[None])


def test_names_and_read_only_arrays() -> None:
    x = series()
    x.flags.writeable = False
    pooler = CrestPooler().fit(x)
    assert pooler.get_feature_names_out().tolist() == [f"crestpooler{channel}" for channel in range(4)]
    assert list(pooler.set_output(transform="pandas").transform(x).columns)[3] == "crestpooler3"
