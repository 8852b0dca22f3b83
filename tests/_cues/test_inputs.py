from typing import Any

import numpy as np
import pytest
import torch

from crest._cues import cues
from crest._cues.inputs import signals_of, targets_of, tie_with


def series(rows: int = 8, steps: int = 40, channels: int = 2) -> torch.Tensor:
    return torch.randn(rows, steps, channels, generator=torch.Generator().manual_seed(1000))


def with_constant_channel() -> torch.Tensor:
    x = series()
    x[..., 1] = 3.0
    return x


def with_nan() -> torch.Tensor:
    x = series()
    x[2, 5, 0] = torch.nan
    return x


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": with_constant_channel()}, r"^x must vary in every channel, got channel 1 constant"),
        ({"x": with_nan()}, r"^x must be finite, got 1 NaN or infinite values, the first at row 2, step 5, channel 0"),
        ({"x": series(1), "y": [1.0]}, r"^x must hold 4 trajectories or more, got 1"),
        ({"x": series(8, 10)}, r"^x must have 16 valid steps or more in each trajectory for a spectrum, got 10"),
        ({"x": series(8, 3, 40)}, r"got 3 in trajectory 0: \(N, C, T\) needs channels_first=True"),
        ({"x": series()[..., 0]}, r"^x must have shape \(N, T, C\), got \(8, 40\): x\[:, :, None\] is one channel"),
        ({"x": series() > 0}, r"^x must be real numbers, got torch.bool"),
        ({"y": [2.0] * 8}, r"^y must vary, got 2.0 for every trajectory"),
        ({"y": ["a"] * 8}, r"^y must vary, got 'a' for every trajectory"),
        ({"y": [1.0, float("nan")] * 4}, r"^y must be finite, got 4 NaN"),
        ({"y": [1.0] * 7}, r"^y must have shape \(N,\) = \(8,\), got \(7,\)"),
        ({"y": list("abcdefgh")}, r"^y must have several trajectories of a class, got 8 classes of 8"),
        ({"y": ["a", "b"] * 4, "classes": False}, r"^y must be numbers with classes=False, got text such as 'a'"),
        ({"conditions": ["slow"] * 8}, r"^conditions must vary, got 'slow' for every trajectory"),
        ({"conditions": {"speed": [1, 2] * 4, "load": [3] * 8}}, r"^conditions\['load'\] must vary, got 3"),
        ({"conditions": list("abcdefgh")}, r"^conditions must repeat, got 8 of them for 8 trajectories"),
        ({"conditions": ["slow"] * 7}, r"^conditions must have shape \(N,\) = \(8,\), got \(7,\)"),
        ({"groups": [1] * 8}, r"^groups must name two groups or more, got 1 for every trajectory"),
        ({"groups": [1] * 7}, r"^groups must have shape \(N,\) = \(8,\), got \(7,\)"),
        ({"y": list("aaaabbbb"), "groups": [1, 2, 1, 2, 3, 3, 3, 3]}, r"^groups must be 2 or more of each class, got 1 of class 'b'"),
        ({"groups": [1, 2, 3, 3] * 2}, r"^groups must be 4 or more for a target in numbers, got 3"),
        ({"groups": [None] * 8}, r"^groups must name a group for each trajectory, got None"),
        ({"mask": [10] * 8}, r"^x must have 16 valid steps or more .*, got 10"),
        ({"mask": [41] * 8}, r"^mask must have lengths in \[1, 40\], got 41"),
        ({"mask": torch.ones(8, 39, dtype=torch.bool)}, r"^mask must have shape \(B, T\) = \(8, 40\)"),
        ({"bootstrap": 0}, r"^bootstrap must be a whole number, 1 or more, got 0"),
        ({"seed": -1}, r"^seed must be a whole number, 0 or more, got -1"),
    ],
)  # fmt: skip
def test_wrong_input_is_named(changes: dict[str, Any], message: str) -> None:
    given = {"x": series(), "y": torch.linspace(0, 1, 8), **changes}
    with pytest.raises(ValueError, match=message):
        cues(**given)


def test_no_channel_has_a_unit() -> None:
    x = series().double()
    found = signals_of(1e30 * x + 5e30, None, False).signals
    assert found.abs().amax((0, 1)).tolist() == [1.0, 1.0]
    units = torch.tensor([1e-200, 1e200], dtype=torch.float64)
    torch.testing.assert_close(signals_of(units * x, None, False).signals, found, atol=1e-9, rtol=0)


def test_constant_channels_are_left_out_if_that_is_asked_for() -> None:
    x = with_constant_channel()
    left = signals_of(x, None, False, constant_too=True).signals
    assert torch.equal(left, signals_of(x[..., :1], None, False).signals)
    with pytest.raises(ValueError, match=r"^x must vary, got every channel constant"):
        signals_of(x[..., 1:], None, False, constant_too=True)


def test_arrays_whole_numbers_and_channels_first_are_the_same_signals() -> None:
    counts = (100 * series()).round()
    expected = signals_of(counts, None, False).signals
    torch.testing.assert_close(signals_of(counts.to(torch.int16).numpy(), None, False).signals, expected)
    torch.testing.assert_close(signals_of(counts.transpose(1, 2), None, True).signals, expected)


def test_lengths_are_a_mask_and_padding_does_not_matter() -> None:
    x, lengths = series(), torch.tensor([40, 30, 20, 40, 25, 40, 40, 40])
    mask = torch.arange(40) < lengths.unsqueeze(1)
    padded = x.masked_fill(~mask.unsqueeze(-1), torch.nan)
    by_lengths, by_mask = signals_of(padded, lengths, False), signals_of(1 * x, mask, False)
    assert torch.equal(by_lengths.mask, mask)
    torch.testing.assert_close(by_lengths.signals, by_mask.signals)
    assert signals_of(x, [40] * 8, False).mask is None


@pytest.mark.parametrize(
    ("y", "classes", "names"),
    [
        (torch.tensor([0, 5] * 4), None, ("0", "5")),
        (torch.tensor([True, False] * 4), None, ("False", "True")),
        (np.array(["ok", "bad"] * 4), None, ("bad", "ok")),
        (torch.tensor([2.0, 5.0] * 4), None, ()),
        (torch.tensor([2.0, 5.0] * 4), True, ("2", "5")),
        (torch.tensor([0, 5] * 4), False, ()),
        (torch.arange(8), None, ()),
    ],
)
def test_classes_are_whole_numbers_with_few_values_unless_it_is_said(
    y: Any, classes: bool | None, names: tuple[str, ...]
) -> None:
    found = targets_of(y, 8, classes)
    assert found.names == names
    assert found.wanted.columns.shape == (8, max(1, len(names)))
    assert (found.note is not None) == (classes is None and names == ("0", "5"))


def test_many_classes_keep_their_names_in_the_tie() -> None:
    names = [f"class {number:02d}" for number in range(12)] * 3
    tie = tie_with(targets_of(names, 36, None), ["a", "b", "c"] * 12)
    assert tie.targets == tuple(sorted(set(names)))
    assert tie.counts.shape == (12, 3)


def test_one_hot_rows_are_classes() -> None:
    classes = torch.arange(12) % 3
    found = targets_of(torch.nn.functional.one_hot(classes, 3).double(), 12, None)
    assert (found.values.tolist(), found.names) == (classes.tolist(), ("0", "1", "2"))
    assert found.note == "y of 3 columns is one-hot: read as class numbers 0 to 2."
    with pytest.raises(ValueError, match=r"^y must be \(N,\), or one-hot classes .*such as y\[:, 0\]"):
        targets_of(torch.rand(12, 2), 12, None)
