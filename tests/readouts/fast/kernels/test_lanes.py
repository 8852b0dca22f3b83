import numba
import numpy as np
import pytest

from crest.readouts.fast.kernels import lanes


@numba.njit
def _sums(a, b, out):
    one, two = lanes.take(a, 1), lanes.take(b, 0)
    lanes.put(out, 0, one * two + lanes.splat(a[0]) - two)
    lanes.put(out, 8, lanes.magnitude(one))
    lanes.put(out, 16, lanes.larger(one, two))
    lanes.put(out, 24, lanes.smaller(one, two))
    lanes.put(out, 32, lanes.where_above(one, two))
    lanes.put(out, 40, lanes.where_from(one, two, lanes.splat(a[0])))
    lanes.put(out, 48, lanes.ones_from(one, two))
    return lanes.total(one), lanes.any_between(one, two, lanes.splat(a[0]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_eight_at_once_are_eight_one_by_one(dtype: type) -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 9)).astype(dtype)
    b[3] = a[4]
    one, two, out = a[1:], b[:8], np.empty(56, dtype)
    added, between = _sums(a, b, out)
    expected = [
        one * two + a[0] - two,
        abs(one),
        np.maximum(one, two),
        np.minimum(one, two),
        np.where(one > two, one, 0),
        np.where(one >= two, one, a[0]),
        one >= two,
    ]
    np.testing.assert_allclose(out, np.concatenate(expected), rtol=1e-6)
    np.testing.assert_allclose(added, one.sum(), rtol=1e-6)
    assert between == ((one >= two) & (one < a[0])).any()


@numba.njit
def _bytes(values, limits, chosen, out):
    limit = lanes.take(limits, 0)
    lanes.store_flags(chosen, 2, lanes.take(values, 0), limit)
    lanes.put(out, 0, lanes.flags(chosen, 2, limit))


def test_bytes_are_written_and_read() -> None:
    values, limits = np.arange(8.0), np.full(8, 3.0)
    chosen, out = np.full(12, 7, np.uint8), np.empty(8)
    _bytes(values, limits, chosen, out)
    assert chosen.tolist() == [7, 7, 0, 0, 0, 1, 1, 1, 1, 1, 7, 7]
    assert out.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]


@numba.njit
def _not_a_number(values, out):
    value = lanes.take(values, 0)
    lanes.put(out, 0, lanes.where_above(value, value - value))
    lanes.put(out, 8, value + value)


def test_not_a_number_stays_one_and_is_above_nothing() -> None:
    values, out = np.full(8, np.nan), np.zeros(16)
    _not_a_number(values, out)
    assert (out[:8] == 0).all()
    assert np.isnan(out[8:]).all()
