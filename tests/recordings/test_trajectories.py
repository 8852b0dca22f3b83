import dataclasses

import numpy as np
import pytest
import torch

from crest.recordings import Splits
from trajectories_made import data


@pytest.mark.parametrize("rows", [slice(1, 4), [0, 3, 5], np.array([True, False] * 3)])
def test_slicing_takes_every_array_along(rows: object) -> None:
    whole, part = data(), data()[rows]
    for name in ("x", "y", "events", "proxy"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[rows])
    np.testing.assert_array_equal(part.extra["name"], whole.extra["name"][rows])
    assert len(part) == 3
    assert part.channels == whole.channels


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.zeros((6, 10))}, r"x must have shape \(N, T, C\).* got \(6, 10\)"),
        ({"x": np.full((6, 10, 2), np.nan)}, r"x must be finite, got nan at index \[0, 0, 0\]"),
        ({"y": np.zeros(5)}, r"y must have shape \(N,\) = \(6,\), got \(5,\)"),
        ({"y": np.array([0, 0, np.inf, 0, 0, 0])}, r"y must be finite, got inf at index \[2\]"),
        (
            {"events": np.zeros((6, 9), dtype=bool)},
            r"events must have shape \(N, T\) = \(6, 10\), got \(6, 9\)",
        ),
        ({"proxy": np.zeros((6, 1))}, r"proxy must have shape \(N,\) = \(6,\), got \(6, 1\)"),
        ({"channels": ("a",)}, r"channels must name the 2 channels of x, got \('a',\)"),
        ({"sample_rate": 0.0}, "sample_rate must be positive, got 0.0"),
        ({"extra": {"k": np.zeros(4)}}, r"extra\['k'\] must have 6 rows, as x has, got 4"),
    ],
)
def test_bad_arrays_are_refused_by_name(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(data(), **change)


@pytest.mark.unchecked
def test_events_must_be_boolean() -> None:
    with pytest.raises(ValueError, match="events must be boolean, got float64"):
        dataclasses.replace(data(), events=np.zeros((6, 10)))


def test_splits_must_fit_together() -> None:
    with pytest.raises(ValueError, match=r"ood must have the steps and channels of train, \(10, 2\)"):
        Splits(train=data(), id=data(), ood=data(steps=11))
    named = dataclasses.replace(data(), y=np.zeros(6), classes=("ok", "worn"))
    with pytest.raises(
        ValueError, match=r"id must have the classes of train, \('ok', 'worn'\), got \('worn', 'ok'\)"
    ):
        Splits(train=named, id=dataclasses.replace(named, classes=("worn", "ok")), ood=named)


def test_the_repr_says_what_it_is() -> None:
    assert repr(data()).startswith("Trajectories(6 x 10 steps x 2 channels (a, b); event fraction 0.")


def test_tensors_and_single_rows() -> None:
    x, y, events, proxy = data().tensors()
    assert (x.dtype, y.dtype, proxy.dtype) == (torch.float32, torch.float32, torch.float32)
    assert events.dtype == torch.bool
    assert dataclasses.replace(data(), events=None).tensors().events is None


@pytest.mark.unchecked
def test_one_row_is_asked_for_as_a_slice() -> None:
    with pytest.raises(ValueError, match=r"rows must be a slice, a list or a mask, got 3: use \[3:3 \+ 1\]"):
        data()[3]
