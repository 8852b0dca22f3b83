import numpy as np
import pytest

from crest.readouts.fast.kernels.residuals import end_factors


def taps(sigma: float) -> np.ndarray:
    weights = np.exp(-0.5 * (np.arange(int(6 * sigma) + 1) / sigma) ** 2)
    return weights / (2 * weights.sum() - 1)


@pytest.mark.parametrize("line", [False, True])
def test_the_factors_give_a_constant_back_and_a_line_too(line: bool) -> None:
    """The two sums over taps, by hand, at every step of a series with ends and gaps."""
    weights, valid = taps(2.0), np.random.default_rng(0).random(60) < 0.7
    series = 3.0 + (0.5 * np.arange(60) if line else 0)
    by_value, by_slope = np.empty(60), np.empty(60)
    end_factors(valid, weights, 2.0, line, by_value, by_slope)
    for t in range(60):
        around = [s for s in range(60) if abs(s - t) < len(weights) and valid[s]]
        value = sum(weights[abs(s - t)] * (series * np.ones(60))[s] for s in around)
        slope = sum(weights[abs(s - t)] * (s - t) * (series * np.ones(60))[s] for s in around)
        expected = (series * np.ones(60))[t]
        assert by_value[t] * value + by_slope[t] * slope == pytest.approx(expected, rel=1e-9)
    assert line or not by_slope.any()
