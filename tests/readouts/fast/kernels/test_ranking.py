import numpy as np
import pytest

from crest.readouts.fast.kernels.ranking import selections

FLOOR = 1e-5


def selected(values: np.ndarray, count: int, dilation: int = 0, tie: float = 0.0) -> np.ndarray:
    """The flags (T, 8) of one tile."""
    T = len(values)
    residual, peak = values.reshape(1, -1), values.max(0, keepdims=True)
    above, counts = (values > 0).sum(0, keepdims=True), np.full((1, 8), count)
    chosen, size = np.empty((1, 8 * T), np.uint8), np.empty((1, 8), np.int64)
    valid = np.ones((1, 1), np.bool_)
    number = values.dtype.type
    selections(
        0,
        1,
        residual,
        peak,
        above,
        counts,
        valid,
        False,
        number(FLOOR),
        number(tie),
        number(0),
        dilation,
        chosen,
        size,
    )
    flags = chosen.reshape(T, 8).astype(bool)
    assert (flags.sum(0) == size[0]).all()
    return flags


def with_floor(values: np.ndarray) -> np.ndarray:
    return np.where(values > FLOOR, values, 0)


@pytest.mark.parametrize("steps", [1, 3, 64, 700, 5000, 9001])
@pytest.mark.parametrize("share", [0.001, 0.06, 0.5, 1.0])
@pytest.mark.parametrize("kind", ["normal", "spread", "coarse", "sorted"])
def test_the_threshold_is_that_of_a_sort(steps: int, share: float, kind: str) -> None:
    rng = np.random.default_rng(steps)
    values = {
        "normal": lambda: abs(rng.normal(size=(steps, 8))) / 4,
        "spread": lambda: np.exp(rng.uniform(-11, 0, size=(steps, 8))),
        "coarse": lambda: rng.integers(0, 5, size=(steps, 8)) / 4,
        "sorted": lambda: np.sort(rng.random((steps, 8)), axis=0),
    }[kind]()
    values = with_floor(values)
    count = max(int(share * steps), 1)
    flags = selected(values, count)
    for c in range(8):
        kept = max(min(count, (values[:, c] > 0).sum()), 1)
        last = np.sort(values[:, c])[-kept]
        np.testing.assert_array_equal(flags[:, c], values[:, c] >= last)


def test_ties_are_in_and_steps_are_widened() -> None:
    values = np.zeros((20, 8))
    values[5], values[12], values[19] = 1.0, 1.0 - 1e-6, 0.5
    assert np.flatnonzero(selected(values, 1)[:, 0]).tolist() == [5]
    assert np.flatnonzero(selected(values, 1, tie=1e-5)[:, 0]).tolist() == [5, 12]
    assert np.flatnonzero(selected(values, 3, dilation=2)[:, 3]).tolist() == [
        *range(3, 8),
        *range(10, 15),
        *range(17, 20),
    ]


def test_where_nothing_stands_out_every_step_is_in() -> None:
    assert selected(np.zeros((9, 8)), 1).all()
