import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from crest.remedies.ridge import fit_ridge


def fitted_by_hand(
    vectors: Tensor, targets: Tensor, penalty: float, scale: Tensor, middle: Tensor
) -> tuple[np.ndarray, np.ndarray]:
    """Ridge with an intercept column, by least squares on rows that stand for the penalty."""
    standard = ((vectors - middle) / scale).numpy()
    rows, channels = standard.shape
    design = np.vstack(
        [
            np.hstack([standard, np.ones((rows, 1))]),
            np.hstack([np.sqrt(penalty) * np.eye(channels), np.zeros((channels, 1))]),
        ]
    )
    wanted = np.vstack([targets.numpy(), np.zeros((channels, targets.shape[1]))])
    solved = np.linalg.lstsq(design, wanted, rcond=None)[0]
    return solved[:-1], solved[-1]


def data(seed: int, rows: int, channels: int, outputs: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    vectors = 3 + torch.randn(rows, channels, generator=generator, dtype=torch.float64) * 2
    mixing = torch.randn(channels, outputs, generator=generator, dtype=torch.float64)
    noise = torch.randn(rows, outputs, generator=generator, dtype=torch.float64)
    return vectors, vectors @ mixing + noise


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(2, 12),
    st.integers(1, 14),
    st.integers(1, 3),
    st.sampled_from([1e-4, 1e-2, 1.0, 100.0]),
)
def test_leaving_one_out_is_refitting_n_times(
    seed: int, rows: int, channels: int, outputs: int, penalty: float
) -> None:
    vectors, targets = data(seed, rows, channels, outputs)
    fit = fit_ridge(vectors, targets, [penalty])
    scale, middle = vectors.std(0, correction=0), vectors.mean(0)
    for row in range(rows):
        others = torch.arange(rows) != row
        weight, bias = fitted_by_hand(vectors[others], targets[others], rows * penalty, scale, middle)
        answer = ((vectors[row] - middle) / scale).numpy() @ weight + bias
        np.testing.assert_allclose(fit.left_out[row].numpy(), answer, rtol=1e-6, atol=1e-6)
    error = float((fit.left_out - targets).square().mean().sqrt())
    assert fit.error == pytest.approx(error, rel=1e-12)
    weight, bias = fitted_by_hand(vectors, targets, rows * penalty, scale, middle)
    np.testing.assert_allclose(
        (vectors @ fit.weight.T + fit.bias).numpy(),
        ((vectors - middle) / scale).numpy() @ weight + bias,
        rtol=1e-6,
        atol=1e-6,
    )


def test_the_penalty_with_the_lowest_error_is_chosen() -> None:
    vectors, targets = data(1000, 20, 15, 1)
    penalties = [1e-6, 1e-3, 0.1, 1.0, 10.0]
    errors = [fit_ridge(vectors, targets, [penalty]).error for penalty in penalties]
    best = fit_ridge(vectors, targets, penalties)
    assert best.penalty == penalties[int(np.argmin(errors))]
    assert best.error == min(errors)
    assert 1e-6 < best.penalty < 10.0


def test_units_of_the_channels_change_nothing() -> None:
    vectors, targets = data(1000, 20, 3, 2)
    units = torch.tensor([1.0, 1e5, 1e-5], dtype=torch.float64)
    plain, scaled = (fit_ridge(one, targets, [0.1]) for one in (vectors, vectors * units + 7.0))
    torch.testing.assert_close(plain.left_out, scaled.left_out, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(plain.weight, scaled.weight * units, rtol=1e-6, atol=1e-6)


def test_constant_channels_get_no_weight() -> None:
    vectors, targets = data(1000, 10, 2, 1)
    constant = torch.full((10, 1), 0.1, dtype=torch.float64)
    # The second differs by what float32 rounds away.
    noisy = constant * (1 + 1e-8 * torch.arange(10.0, dtype=torch.float64).unsqueeze(1))
    with_them = fit_ridge(torch.cat([constant, vectors, noisy, 0 * constant], 1), targets, [0.1])
    without = fit_ridge(vectors, targets, [0.1])
    assert (with_them.weight[0, [0, 3, 4]] == 0).all()
    torch.testing.assert_close(with_them.left_out, without.left_out)
    torch.testing.assert_close(with_them.weight[:, 1:3], without.weight)


def test_constants_alone_give_the_mean_of_the_others() -> None:
    targets = torch.tensor([[1.0], [2.0], [6.0]], dtype=torch.float64)
    fit = fit_ridge(torch.ones(3, 4), targets, [0.1, 1.0])
    torch.testing.assert_close(fit.left_out.flatten(), torch.tensor([4.0, 3.5, 1.5], dtype=torch.float64))
    assert float(fit.bias) == pytest.approx(3.0)
    assert fit.penalty == 0.1


def test_a_tiny_penalty_with_more_channels_than_rows_is_stable() -> None:
    vectors, targets = data(1000, 8, 50, 1)
    tiny, small = (fit_ridge(vectors, targets, [penalty]) for penalty in (1e-14, 1e-11))
    torch.testing.assert_close(tiny.left_out, small.left_out, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(vectors @ tiny.weight.T + tiny.bias, targets, rtol=1e-4, atol=1e-4)


def test_no_penalty_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^penalties must hold at least one number, got none"):
        fit_ridge(torch.ones(3, 1), torch.ones(3, 1), [])
