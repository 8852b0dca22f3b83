import numpy as np
import pytest

from crest.readouts.fast.kernels.pooling import spread_weights, weighted_sums


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
