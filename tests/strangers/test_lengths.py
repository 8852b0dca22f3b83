"""Lengths and masks say the same."""

import pytest
import torch

from crest.strangers.lengths import lengths_of, mask_from, padding_note, valid_at

X = torch.zeros(3, 8, 2)
LENGTHS = torch.tensor([8, 3, 1])


def test_there_and_back() -> None:
    mask = mask_from(LENGTHS, X)
    assert mask.shape == (3, 8)
    assert torch.equal(lengths_of(mask), LENGTHS)
    assert torch.equal(lengths_of(mask.long()), LENGTHS)
    assert torch.equal(mask_from(LENGTHS.int(), X.mT), mask)


@pytest.mark.parametrize(
    ("shape", "longest", "channels_first", "steps"),
    [
        ((3, 50, 4), 30, None, 50),
        ((3, 4, 50), 30, None, 50),
        # More channels than steps, padded to the longest.
        ((3, 30, 50), 30, None, 30),
        ((3, 40, 50), 30, None, 50),
        ((3, 40, 50), 30, False, 40),
        ((3, 50, 40), 30, True, 40),
    ],
)
def test_which_axis_is_time(
    shape: tuple[int, ...], longest: int, channels_first: bool | None, steps: int
) -> None:
    lengths = torch.tensor([longest, 2, 2])
    assert mask_from(lengths, torch.zeros(shape), channels_first=channels_first).shape == (3, steps)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        (
            torch.tensor([8, 3, 0]),
            r"^lengths of field must lie from 1 to 8, .* \(3, 8, 2\), got 0 to 8; the order is",
        ),
        (torch.tensor([9, 3, 1]), "^lengths of field must lie from 1 to 8, .* got 1 to 9"),
        (
            torch.tensor([8.0, 3.0, 1.0]),
            r"^mask of field must .* got shape \(3,\) of torch.float32; the order is",
        ),
        (torch.tensor([True, True, False]), r"^mask of field must .* got shape \(3,\) of torch.bool"),
    ],
)
def test_what_are_no_lengths_is_refused(lengths: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mask_from(lengths, X, "field")


@pytest.mark.parametrize("row", [[0, 1, 1], [1, 0, 1]])
def test_padding_in_front_or_between_has_no_length(row: list[int]) -> None:
    mask = torch.tensor([[1, 1, 0], row])
    with pytest.raises(ValueError, match=r"^mask must be True on the first steps .* not in trajectory 1$"):
        lengths_of(mask)


@pytest.mark.parametrize(
    ("steps", "rate", "wanted"),
    [
        (6, 1.0, [6, 3, 1]),
        # Whole stretches alone, or the first if there is none.
        (3, 2.0, [3, 1, 1]),
        # Behind the longest trajectory the model has cut off two steps.
        (4, 1.0, [4, 3, 1]),
        (2, 2.0, [2, 1, 1]),
    ],
)
def test_valid_steps_of_features(steps: int, rate: float, wanted: list[int]) -> None:
    longest = 6 if steps * rate == 6 else 4
    valid = torch.arange(6) < torch.tensor([[longest], [3], [1]])
    found = valid_at(valid, steps, rate)
    assert found.shape == (3, steps)
    assert found.sum(1).tolist() == wanted
    assert not (found[:, 1:] & ~found[:, :-1]).any()


def test_zeros_at_the_ends_are_asked_about_where_they_look_like_padding() -> None:
    signals = torch.ones(4, 8, 2)
    assert padding_note(signals, None) == []
    signals[1, 7] = 0  # one step may be a signal's
    signals[2, :, 0] = 0  # a dead channel
    signals[3] = 0  # a dead trajectory
    assert padding_note(signals, None) == []
    signals[0, 5:] = 0
    assert "1 of 4 trajectories end in zeros, up to 3 steps" in padding_note(signals, None)[0]
    assert padding_note(signals, torch.ones(4, 8, dtype=torch.bool)) == []
    # All alike are rather a signal that rests at its end.
    assert padding_note(signals[:1].repeat(4, 1, 1), None) == []
