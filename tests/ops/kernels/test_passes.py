import numpy as np
import pytest

from crest.ops.kernels.passes import end_factors, spread_weights, weighted_sums


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


@pytest.mark.parametrize("width", [1, 8, 13])
@pytest.mark.parametrize("masked", [False, True])
def test_spreading_is_the_transpose_of_summing(width: int, masked: bool) -> None:
    rng = np.random.default_rng(0)
    B, T, padded = 3, 20, -(-width // 8) * 8
    features, gradient = rng.normal(size=(B, T * width)), rng.normal(size=(B, width))
    chosen = (rng.random((B, padded * T)) < 0.3).astype(np.uint8)
    inner, outer = rng.normal(size=(2, B, width))
    valid = rng.random((B, T)) < 0.8 if masked else np.ones((1, 1), np.bool_)
    flags = chosen.reshape(B, -1, T, 8).transpose(0, 2, 1, 3).reshape(B, T, padded)[..., :width]
    weights = np.where(flags, inner[:, None], outer[:, None]) * (valid[..., None] if masked else 1)
    pooled, spread = np.empty((B, width)), np.empty((B, T * width))
    weighted_sums(0, B, features, chosen, inner, outer, weights.sum(1), valid, masked, pooled)
    spread_weights(0, B, gradient, chosen, inner, outer, valid, masked, spread)
    np.testing.assert_allclose(pooled, (weights * features.reshape(B, T, width)).sum(1), atol=1e-12)
    np.testing.assert_allclose(spread.reshape(B, T, width), weights * gradient[:, None], atol=1e-12)
