"""What classifier and regressor share; each has a file for its own part."""

import random
from collections.abc import Callable
from io import BytesIO
from typing import Any

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from crest import CrestClassifier, CrestRegressor
from crest._repair import AS_IT_IS, Repaired
from knocks_made import knocks

# A table (N, columns) is read as signals of one channel, so all checks apply. The plain networks, since each remedy is a training more.
EXPECTED_FAILURES: dict[str, str] = {}


@pytest.mark.unchecked
@parametrize_with_checks(
    [CrestClassifier((), epochs=5, random_state=0), CrestRegressor((), epochs=5, random_state=0)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def tied(count: int = 64, tie: float = 0.99, seed: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Windows (N, T) with a knock on a level that follows its size, and the sizes."""
    x, y = knocks(count, tie, seed)
    return x[:, 0].numpy(), y.numpy()


def quick(**given: Any) -> CrestRegressor:
    return CrestRegressor(**{"remedies": (), "epochs": 2, "random_state": 0, **given})


@pytest.fixture(scope="module")
def fitted() -> CrestRegressor:
    return quick(remedies=["AC coupling"]).fit(*tied())


def test_what_there_is_after_fit(fitted: CrestRegressor) -> None:
    assert isinstance(fitted.repaired_, Repaired)
    assert fitted.pick_ == fitted.repaired_.name
    assert list(fitted.candidates_) == [AS_IT_IS, "trained longer", "AC coupling"]
    assert (fitted.n_features_in_, fitted.axes_in_) == (150, 2)
    with pytest.raises(NotFittedError):
        quick().predict(tied()[0])


@pytest.mark.slow
def test_the_repaired_one_holds_in_the_field_where_the_plain_one_does_not() -> None:
    """Levels that follow the size in training and not in the field; the docs show the same on other windows."""
    x, y = tied(200)
    field_x, field_y = tied(200, tie=0.0, seed=1001)
    plain = CrestRegressor((), random_state=0).fit(x, y)
    found = CrestRegressor(remedies=["AC coupling"], random_state=0).fit(x, y)
    assert (plain.pick_, found.pick_) == (AS_IT_IS, "AC coupling")
    assert list(plain.candidates_) == [AS_IT_IS]
    assert plain.score(x, y) > 0.8
    assert plain.score(field_x, field_y) < 0.3
    assert found.score(field_x, field_y) > 0.8


# beartype draws which items of a list it looks at.
@pytest.mark.unchecked
@pytest.mark.slow
def test_a_random_state_repeats_a_fit_and_global_states_stay() -> None:
    x, y = tied()
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
    tried = ["AC coupling", "level jitter"]
    one, other = (quick(random_state=7, remedies=tried).fit(x, y) for _ in range(2))
    quick(random_state=None).fit(x, y)
    np.testing.assert_array_equal(one.predict(x), other.predict(x))
    assert [row.id_error for row in one.candidates_.values()] == [
        row.id_error for row in other.candidates_.values()
    ]
    assert not np.array_equal(one.predict(x), quick(random_state=8).fit(x, y).predict(x))
    assert random.getstate() == states[0]
    assert np.random.get_state()[1].tolist() == states[1]
    assert torch.equal(torch.get_rng_state(), states[2])


def test_without_a_random_state_each_fit_is_another() -> None:
    x, y = tied()
    one, other = (quick(random_state=None).fit(x, y).predict(x) for _ in range(2))
    assert not np.array_equal(one, other)


def test_it_is_kept_by_joblib_and_cloned(fitted: CrestRegressor) -> None:
    x = tied()[0]
    file = BytesIO()
    joblib.dump(fitted, file)
    file.seek(0)
    again = joblib.load(file)
    np.testing.assert_array_equal(again.predict(x), fitted.predict(x))
    assert repr(again.repaired_) == repr(fitted.repaired_)
    assert clone(fitted).get_params() == fitted.get_params()
    assert not hasattr(clone(fitted), "repaired_")


@pytest.mark.slow
def test_a_front_is_kept_too() -> None:
    x, y = tied(200)
    found = quick(epochs=8, remedies=["AC coupling"]).fit(x, y)
    assert found.pick_ == "AC coupling"
    file = BytesIO()
    joblib.dump(found, file)
    file.seek(0)
    np.testing.assert_array_equal(joblib.load(file).predict(x), found.predict(x))


def test_one_channel_with_or_without_its_axis() -> None:
    x, y = tied()
    flat, deep = quick().fit(x, y), quick().fit(x[:, None], y)
    np.testing.assert_array_equal(flat.predict(x), deep.predict(x[:, None]))
    assert deep.n_features_in_ == 1
    assert deep.predict(x[:, None, :90]).shape == (64,)
    with pytest.raises(ValueError, match=r"X must have shape \(N, T\), as in fit, got \(64, 1, 150\)"):
        flat.predict(x[:, None])
    with pytest.raises(ValueError, match=r"X must have shape \(N, C, T\), as in fit, got \(64, 150\)"):
        deep.predict(x)
    with pytest.raises(ValueError, match="X has 2 features, but CrestRegressor is expecting 1"):
        deep.predict(np.stack([x, x], 1))


def test_units_of_the_signals_change_nothing() -> None:
    """Counts of a converter with an offset, as raw files have them: no more than rounding."""
    x, y = tied()
    counts = 1e6 + 4096 * x.astype(np.float64)
    np.testing.assert_allclose(
        quick().fit(counts, y).predict(counts), quick().fit(x, y).predict(x), atol=1e-2
    )


def test_a_channel_that_is_constant_does_no_harm() -> None:
    x, y = tied()
    both = np.stack([x, np.full_like(x, 3.0)], 1)
    assert np.isfinite(quick().fit(both, y).predict(both)).all()


def test_held_out_trajectories_have_their_share_of_all_targets_and_conditions() -> None:
    y = np.repeat([0, 1], [90, 10])
    conditions = np.tile(["a", "a", "a", "a", "b"], 20)
    estimator = CrestClassifier(validation_fraction=0.2)
    estimator._targets(y)
    train, held = estimator._split(torch.from_numpy(y), {"": conditions.tolist()}, 0)
    assert sorted([*train, *held]) == list(range(100))
    cells = [(y[number], conditions[number]) for number in held]
    assert len(held) == 20
    assert sorted(cells).count((1, "a")) + sorted(cells).count((1, "b")) == 2
    assert abs(cells.count((0, "b")) - 4) <= 1
    # The held-out trajectories of another seed are others.
    assert set(estimator._split(torch.from_numpy(y), None, 1)[1]) != set(held)


def test_what_is_held_out_trains_nothing() -> None:
    x, y = tied()
    plain = CrestClassifier((), epochs=1, random_state=0).fit(x, y > 0)
    _, held = plain._split(torch.from_numpy((y > 0).astype(np.int64)), None, plain._checked_seed())
    other = x.copy()
    other[held] = 100.0
    again = CrestClassifier((), epochs=1, random_state=0).fit(other, y > 0)
    np.testing.assert_array_equal(plain.predict_proba(x), again.predict_proba(x))


def test_conditions_reach_the_repair() -> None:
    x, y = tied(80)
    large = y > 0
    conditions = np.where(large, "fast", "slow")
    conditions[:12] = np.where(large[:12], "slow", "fast")
    # Conditions decide with nothing declared, and all may be tried.
    half = {"remedies": ["balanced"], "epochs": 1, "validation_fraction": 0.5, "random_state": 0}
    found = CrestClassifier((), **half).fit(x, large, conditions)
    assert found.candidates_["balanced"].even_error is not None
    assert found.repaired_.choice.by == "conditions"
    columns = CrestClassifier((), **half)
    columns.fit(x, large, conditions={"speed": conditions})
    np.testing.assert_array_equal(columns.predict_proba(x), found.predict_proba(x))
    with pytest.raises(ValueError, match=r"conditions must have shape \(N,\) = \(80,\), got \(79,\)"):
        columns.fit(x, large, conditions=conditions[1:])


def test_nothing_declared_is_the_plain_network_and_cross_validation_works() -> None:
    x, y = tied()
    plain = CrestRegressor((), epochs=1, random_state=0)
    assert list(plain.fit(x, y).candidates_) == [AS_IT_IS]
    assert np.isfinite(cross_val_score(plain, x[:, None], y, cv=2)).all()


def test_verbose_prints_a_line_for_each_candidate(capsys: pytest.CaptureFixture[str]) -> None:
    quick(verbose=1, remedies=["AC coupling"]).fit(*tied())
    told = capsys.readouterr().out
    assert "trained longer: " in told
    assert "AC coupling: " in told
    quick().fit(*tied())
    assert capsys.readouterr().out == ""


@pytest.mark.unchecked
def test_what_is_wrong_is_refused_by_name() -> None:
    x, y = tied()
    for given, told in [
        ({"epochs": 0}, r"epochs must be a whole number in \[1, 100000\], got 0"),
        ({"validation_fraction": 1.0}, r"validation_fraction must lie in \(0, 1\), got 1.0"),
        ({"validation_fraction": 0.99}, "validation_fraction must leave 2 trajectories or more to train on"),
        ({"invariant": ["ofset"]}, "invariant must"),
        ({"remedies": ["AC"]}, "remedies must be one of"),
        ({"random_state": "x"}, "random_state must be None"),
        ({"verbose": "x"}, "verbose must be"),
    ]:
        with pytest.raises(ValueError, match=told):
            quick(**given).fit(x, y)
    with pytest.raises(ValueError, match=r"X must have shape \(N, T\) or \(N, C, T\)"):
        quick().fit(x[:, None, None], y)
    with pytest.raises(
        ValueError, match=r"got \(64, 150, 1\): more channels than steps. If these are \(N, T, C\)"
    ):
        quick().fit(x[..., None], y)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        quick().fit(np.where(x == x[3, 4], np.nan, x), y)
