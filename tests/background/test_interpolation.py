"""Interpolation against NumPy."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from crest.background.interpolation import interpolate_out, nearest_valid, values_at

NAN = float("nan")
law = settings(max_examples=60, deadline=None)  # a loaded machine is not a failure


def by_numpy(inputs: np.ndarray, remove: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """One trajectory and channel at a time, with np.interp."""
    result = inputs.copy()
    for b, c in np.ndindex(inputs.shape[0], inputs.shape[2]):
        kept, gone = np.flatnonzero(mask[b] & ~remove[b]), np.flatnonzero(mask[b] & remove[b])
        if kept.size:
            result[b, gone, c] = np.interp(gone, kept, inputs[b, kept, c])
        elif gone.size:
            result[b, gone, c] = inputs[b, gone, c].mean()
    return result


@law
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.floats(0, 1), st.floats(0.2, 1))
def test_interpolation_agrees_with_numpy(seed: int, steps: int, removed: float, valid: float) -> None:
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(4, steps, 2))
    remove, mask = rng.random((4, steps)) < removed, rng.random((4, steps)) < valid
    actual = interpolate_out(*map(torch.from_numpy, (inputs, remove, mask)))
    torch.testing.assert_close(actual, torch.from_numpy(by_numpy(inputs, remove, mask)))


def test_ends_hold_and_a_fully_removed_trajectory_is_its_mean() -> None:
    inputs = torch.tensor([[[5.0], [1.0], [4.0], [9.0]], [[1.0], [2.0], [3.0], [6.0]]])
    remove = torch.tensor([[True, False, False, True], [True, True, True, True]])
    assert interpolate_out(inputs, remove).squeeze(-1).tolist() == [[1.0, 1.0, 4.0, 4.0], [3.0] * 4]


def test_removing_nothing_changes_nothing_and_the_input_survives() -> None:
    inputs = torch.randn(2, 5, 3)
    copy = inputs.clone()
    assert torch.equal(interpolate_out(inputs, torch.zeros(2, 5, dtype=torch.bool)), inputs)
    interpolate_out(inputs, torch.ones(2, 5, dtype=torch.bool))
    assert torch.equal(inputs, copy)


def test_nan_in_padded_and_removed_steps_does_not_spread() -> None:
    inputs = torch.tensor([[[1.0], [NAN], [3.0], [NAN]]])
    result = interpolate_out(inputs, torch.tensor([[0, 1, 0, 0]]), torch.tensor([[1, 1, 1, 0]]))
    assert result[0, :3, 0].tolist() == [1.0, 2.0, 3.0]
    assert result[0, 3].isnan()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_interpolation_keeps_the_dtype(dtype: torch.dtype) -> None:
    inputs = torch.tensor([[[0.0], [9.0], [4.0]]], dtype=dtype)
    result = interpolate_out(inputs, torch.tensor([[False, True, False]]))
    assert result.dtype == dtype
    assert result[0, 1].item() == 2.0


@law
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_the_nearest_valid_step_is_the_nearest(seed: int, steps: int) -> None:
    mask = np.random.default_rng(seed).random((3, steps)) < 0.4
    found = nearest_valid(torch.from_numpy(mask)).numpy()
    for row in range(3):
        there = np.flatnonzero(mask[row])
        if there.size:
            expected = [there[np.argmin(np.abs(there - step))] for step in range(steps)]
            np.testing.assert_array_equal(found[row], expected)


def test_values_at_steps() -> None:
    values = torch.arange(12.0).reshape(2, 3, 2)
    assert values_at(values, torch.tensor([[2, 2, 0], [1, 1, 1]]))[0, 0].tolist() == [4.0, 5.0]
