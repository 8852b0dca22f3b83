import numpy as np
import pytest

from crest import CrestRegressor
from knocks_made import knocks


def test_predictions_and_errors_are_in_the_units_of_y() -> None:
    x, y = (part.numpy() for part in knocks(100, 0.99, 1000))
    small = CrestRegressor((), epochs=3, random_state=0).fit(x, y)
    large = CrestRegressor((), epochs=3, random_state=0).fit(x, 500 + 1000 * y)
    np.testing.assert_allclose(large.predict(x), 500 + 1000 * small.predict(x), rtol=1e-3, atol=1.0)
    one, other = (found.candidates_["as it is"] for found in (small, large))
    assert other.id_error == pytest.approx(1000 * one.id_error, rel=1e-3)
    assert other.expected_error == pytest.approx(1000 * one.expected_error, rel=1e-3)


@pytest.mark.unchecked
def test_targets_that_are_no_numbers_are_refused() -> None:
    x = knocks(20, 0.0, 1000)[0].numpy()
    with pytest.raises(ValueError, match="y must hold numbers, got <U5 such as"):
        CrestRegressor().fit(x, ["large"] * 20)
    flat = CrestRegressor((), epochs=1, random_state=0).fit(x, np.full(20, 3.0))
    assert np.isfinite(flat.predict(x)).all()
