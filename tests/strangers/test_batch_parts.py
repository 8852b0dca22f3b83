"""One reader of batches for audit, repair, re-anchoring and watch."""

import warnings
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from crest.strangers.batch_parts import (
    BatchParts,
    as_batches,
    input_key,
    padded_alike,
    parts_of,
    place_in_batches,
    split_batch,
)

X, Y = torch.randn(4, 3, 2), torch.arange(4.0)
MASK = torch.ones(4, 3, dtype=torch.bool)
KEYS = ("signal", "wear", "ok")


@pytest.mark.parametrize(
    ("batch", "keys"),
    [
        ((X, Y, MASK), None),
        ([X.numpy(), Y.numpy(), MASK.numpy()], None),
        ((X, Y.tolist(), MASK.tolist()), None),
        ({"x": X, "labels": Y, "valid": MASK, "name": "abc"}, None),
        ({"signal": X.numpy(), "wear": Y, "ok": MASK}, KEYS),
    ],
)
def test_all_forms_say_the_same(batch: Any, keys: Any) -> None:
    parts = parts_of(batch, keys=keys)
    assert all(torch.equal(found, part) for found, part in zip(parts, (X, Y, MASK), strict=True))
    assert len(split_batch(batch, keys=keys)) == 3


def test_what_is_one_batch() -> None:
    loader = DataLoader(TensorDataset(X, Y))
    for one in (X, X.numpy(), (X, Y), (X.numpy(), Y.numpy()), {"x": X}):
        assert as_batches(one)[0] is one  # type: ignore[index]
    for many in ([X, X], loader, ((X, Y), (X, Y)), ({"x": X}, {"x": X})):
        assert as_batches(many) is many


@pytest.mark.parametrize(
    ("brought", "message"),
    [
        (TensorDataset(X, Y), r"^field must hold batches, got TensorDataset, .*DataLoader\(dataset"),
        ("signals", "^field must be arrays, a tuple of them, or an iterable of batches, got str"),
        (3, "^field must be arrays, .* got int"),
    ],
)
def test_what_holds_no_batches_is_refused(brought: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_batches(brought, "field")


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ((X[0], Y[0]), r"^field must hold .* got \(3, 2\), which is a single trajectory: stack some"),
        ({"x": X, "signal": X}, "^field must name their inputs once, got the keys x, signal"),
        (
            {"vibration": X},
            "^field must name their inputs by one of .*, or keys= must name them, got vibration",
        ),
        ((X, Y[:2]), r"^targets of field must have a row for each of 4 trajectories, got \(2,\)"),
        ((X.long(), Y), "^inputs of field must be floating-point numbers"),
    ],
)
def test_messages(batch: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parts_of(batch, "field")


def test_keys_that_are_not_there_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^keys must name .* dicts of batches, which have x, y; got 'signal'"
    ):
        parts_of({"x": X, "y": Y}, keys=KEYS)
    assert input_key({"signal": X}, KEYS) == "signal"
    assert input_key({"x": X}, None) == "x"


def test_shorter_batches_are_padded_where_masks_say_so() -> None:
    for turned in (False, True):
        batches = [
            BatchParts(x.mT if turned else x, None, torch.ones(len(x), x.shape[1])) for x in (X, X[:, :2])
        ]
        long, short = padded_alike(batches)
        assert torch.equal(long.inputs, batches[0].inputs)
        assert short.inputs.shape == long.inputs.shape
        assert short.mask is not None
        assert short.mask.tolist() == [[1, 1, 0]] * 4
    with pytest.raises(ValueError, match=r"^batches must hold windows of one length, or masks, got 2 to 3"):
        padded_alike([one._replace(mask=None) for one in batches])
    with pytest.raises(ValueError, match=r"^batches must hold a mask in every batch or in none"):
        padded_alike([batches[0], batches[1]._replace(mask=None)])
    with pytest.raises(ValueError, match=r"^batches must hold inputs that differ in their steps alone"):
        padded_alike([batches[0], BatchParts(X[:, :1, :1], None, MASK[:, :1])])


def test_targets_under_a_name_of_their_own_do_not_get_lost_in_silence() -> None:
    batch = {"x": torch.zeros(2, 5, 1), "wear": torch.ones(2)}
    with pytest.warns(UserWarning, match=r"name no targets .* wear is not read.*keys="):
        assert parts_of(batch).targets is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # What is named, or not there at all, is no surprise.
        assert parts_of(batch, keys=("x", "wear", "mask")).targets is not None
        assert parts_of({"x": batch["x"], "y": batch["wear"], "machine": batch["wear"]}).targets is not None
        assert parts_of({"x": batch["x"]}).targets is None


LENGTHS = torch.tensor([3, 1, 2, 2])


@pytest.mark.parametrize(
    "batch",
    [
        (X, Y, LENGTHS),
        [X.numpy(), Y.numpy(), LENGTHS.numpy()],
        {"x": X, "y": Y, "lengths": LENGTHS},
        {"x": X, "y": Y, "mask": torch.arange(3) < LENGTHS[:, None], "lengths": "of something else"},
    ],
)
def test_lengths_become_a_mask(batch: Any) -> None:
    mask = parts_of(batch).mask
    assert mask is not None
    assert mask.sum(1).tolist() == LENGTHS.tolist()
    assert parts_of({"x": X, "y": Y, "n": LENGTHS}, keys=("x", "y", "n")).mask is not None


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (
            (X, LENGTHS, Y),
            "^mask of field must .* lengths .* got shape .* the order is .inputs, targets, lengths",
        ),
        ({"x": X, "y": Y, "lengths": LENGTHS - 1}, "^lengths of field must lie from 1 to 2, .* got 0 to 2"),
        (
            (X, LENGTHS, torch.tensor([1, 2, 1, 2])),
            "^field seem to hold .inputs, lengths, targets.; the order is",
        ),
        (
            ((X, LENGTHS), Y),
            r"^inputs of field must be one tensor or array, got a tuple: .* \(inputs, targets, lengths\)",
        ),
        (
            (torch.nn.utils.rnn.pack_sequence(list(X)), Y),
            "^inputs of field must be a tensor or an array, got PackedSequence: pad_packed_sequence",
        ),
        (
            torch.nn.utils.rnn.pack_sequence(list(X)),
            "^inputs of field must be a tensor or an array, got PackedSequence",
        ),
        ((X, Y, LENGTHS[:2]), "^mask of field must have a row for each of 4"),
        ((X, Y, LENGTHS, MASK), "^field must hold .* lengths.* got 4 parts"),
    ],
)
def test_lengths_in_another_place_are_refused(batch: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parts_of(batch, "field")


@pytest.mark.parametrize(
    ("index", "sizes", "channels_first", "words"),
    [
        ([3, 70, 1], [4], False, "index [3, 70, 1] of (B, T, C)"),
        ([3, 70, 1], [4, 4], False, "index [3, 70, 1] of (B, T, C) in batch 0"),
        ([4, 70, 1], [4, 4], True, "index [0, 1, 70] of (B, C, T) in batch 1"),
        ([9, 70, 1], [4, 0, 4, 4], True, "index [1, 1, 70] of (B, C, T) in batch 3"),
        ([5], [4, 4], True, "index [1] in batch 1"),
        ([5, 0, 1], [], None, "index [5, 0, 1]"),
    ],
)
def test_a_place_is_that_of_the_batch_in_its_own_layout(
    index: list[int], sizes: list[int], channels_first: bool | None, words: str
) -> None:
    assert place_in_batches(index, sizes, channels_first) == words
