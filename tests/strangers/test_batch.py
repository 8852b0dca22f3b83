"""One reader of batches for audit, repair, re-anchoring and watch."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

from crest.strangers.batch import (
    Batch,
    as_batches,
    gathered,
    input_key,
    join_batches,
    read_batch,
    require_in_order,
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
    found = read_batch(batch, keys=keys)
    assert torch.equal(found.inputs, X)
    assert torch.equal(found.targets, Y)
    assert torch.equal(found.mask, MASK)


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
        read_batch(batch, "field")


def test_keys_that_are_not_there_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^keys must name .* dicts of batches, which have x, y; got 'signal'"
    ):
        read_batch({"x": X, "y": Y}, keys=KEYS)
    assert input_key({"signal": X}, KEYS) == "signal"
    assert input_key({"x": X}, None) == "x"


def test_shorter_batches_are_padded_where_masks_say_so() -> None:
    for turned in (False, True):
        batches = [Batch(x.mT if turned else x, None, torch.ones(len(x), x.shape[1])) for x in (X, X[:, :2])]
        found = join_batches(batches)
        assert torch.equal(found.inputs[:4], batches[0].inputs)
        assert found.mask is not None
        assert found.mask[4:].tolist() == [[1, 1, 0]] * 4
        assert found.sizes == (4, 4)
    with pytest.raises(
        ValueError, match=r"^batches must hold inputs of one shape, or masks .* got \(2, 2\) and"
    ):
        join_batches([replace(one, mask=None) for one in batches])
    with pytest.raises(ValueError, match=r"^batches must hold a mask in every batch or in none"):
        join_batches([batches[0], replace(batches[1], mask=None)])
    with pytest.raises(
        ValueError, match=r"^batches must hold inputs that differ only in the number of steps"
    ):
        join_batches([batches[0], Batch(X[:, :1, :1], None, MASK[:, :1])])
    with pytest.raises(
        ValueError, match=r"^mask of batches must have shape \(B, T\) = \(4, 2\), got \(4, 3\)"
    ):
        join_batches([Batch(X, None, MASK), Batch(X[:, :2], None, MASK)])


def test_targets_under_a_name_of_their_own_do_not_get_lost_in_silence() -> None:
    batch = {"x": torch.zeros(2, 5, 1), "wear": torch.ones(2)}
    with pytest.warns(UserWarning, match=r"name no targets .* wear is not read.*keys=") as seen:
        assert gathered([batch], 2).targets is None
    # At whatever depth it is read, the warning points at the line of the user.
    assert {one.filename for one in seen} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # What is named, or not there at all, is no surprise.
        assert read_batch(batch, keys=("x", "wear", "mask")).targets is not None
        assert read_batch({"x": batch["x"], "y": batch["wear"], "machine": batch["wear"]}).targets is not None
        assert read_batch({"x": batch["x"]}).targets is None


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
    mask = read_batch(batch).mask
    assert mask is not None
    assert mask.sum(1).tolist() == LENGTHS.tolist()
    assert read_batch({"x": X, "y": Y, "n": LENGTHS}, keys=("x", "y", "n")).mask is not None


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
        read_batch(batch, "field")


@pytest.mark.parametrize(
    ("index", "sizes", "channels_first", "words"),
    [
        ([3, 70, 1], (4,), False, "index [3, 70, 1] of (B, T, C)"),
        ([3, 70, 1], (4, 4), False, "index [3, 70, 1] of (B, T, C) in batch 0"),
        ([4, 70, 1], (4, 4), True, "index [0, 1, 70] of (B, C, T) in batch 1"),
        ([9, 70, 1], (4, 0, 4, 4), True, "index [1, 1, 70] of (B, C, T) in batch 3"),
        ([5], (4, 4), True, "index [1] in batch 1"),
        ([5, 0, 1], (), None, "index [5, 0, 1]"),
    ],
)
def test_a_place_is_that_of_the_batch_in_its_own_layout(
    index: list[int], sizes: tuple[int, ...], channels_first: bool | None, words: str
) -> None:
    assert Batch(X, sizes=sizes, channels_first=channels_first).place(index) == words


def test_signals_are_channels_last_and_parts_go_together() -> None:
    turned = Batch(X.mT, Y[:, None], MASK.int(), channels_first=True)
    assert torch.equal(turned.signals, X)
    assert turned.first(2).inputs.shape == (2, 2, 3)
    assert len(turned.first(2).targets) == len(turned.first(2).mask) == 2
    assert turned.to(torch.device("meta"), torch.float64).inputs.dtype == torch.float64
    assert turned.to(torch.device("meta"), torch.float64).targets.is_meta
    found = turned.checked(" of field")
    assert found.mask.dtype == torch.bool
    assert found.targets.shape == (4,)
    assert Batch(X).valid.all()
    with pytest.raises(ValueError, match=r"^targets of field must be finite, .* at index \[2\]$"):
        Batch(X, Y.index_fill(0, torch.tensor(2), torch.nan)).checked(" of field")


@pytest.mark.parametrize(
    "batches",
    [
        (X, Y, MASK),
        [(X[:3], Y[:3], MASK[:3]), (X[3:], Y[3:], MASK[3:])],
        [[X, Y, MASK]],
        {"x": X, "y": Y, "mask": MASK},
        [{"signals": X, "label": Y, "valid": MASK}],
        (X.numpy(), Y.numpy(), MASK.numpy()),
    ],
)
def test_all_forms_are_gathered(batches: object) -> None:
    given = gathered(batches, 10)
    assert torch.equal(given.inputs, X)
    assert torch.equal(given.targets, Y)
    assert torch.equal(given.mask, MASK)


def test_batches_padded_one_by_one_are_padded_to_the_longest() -> None:
    last = [(X, Y, MASK), (X[:, :2], Y, MASK[:, :2])]
    first = [{"signal": x.mT, "wear": y, "valid": mask} for x, y, mask in last]
    for given in (gathered(last, 10), gathered(first, 10, keys=("signal", "wear", "valid"))):
        steps = 1 if given.inputs.shape[1:] == X.shape[1:] else 2
        inputs = given.inputs if steps == 1 else given.inputs.mT
        assert torch.equal(inputs[:4], X)
        assert torch.equal(inputs[4:, :2], X[:, :2])
        assert not inputs[4:, 2:].any()
        assert torch.equal(given.mask, torch.cat([MASK, MASK & torch.tensor([True, True, False])]))


def test_nothing_after_the_last_one_is_read() -> None:
    def some():
        yield X
        raise AssertionError("nobody asked for this")

    assert torch.equal(gathered(some(), 3).inputs, X[:3])


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([X, (X, Y)], "^batches must all hold the same parts"),
        ([X, X[:, :2]], r"^batches must hold inputs of one shape, or masks .* got \(2, 2\) and \(3, 2\)"),
        ([{"x": X, "inputs": X}], "^batches must name their inputs once, got the keys inputs, x"),
        ([(X, Y, MASK, Y)], "^batches must hold .* got 4 parts"),
        ("signals", "^batches must be arrays"),
        ([(X, "labels")], "^targets of batches must be a tensor or an array, got str"),
        (np.array([["a"]], dtype=object), "^inputs of batches must be numbers, got text such as 'a'"),
    ],
)
def test_what_cannot_be_gathered(batches: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gathered(batches, 10)


class Backwards(BatchSampler):
    """A batch sampler with an order of its own."""

    def __iter__(self):
        yield from reversed(list(super().__iter__()))


class Stream(IterableDataset):
    def __iter__(self):
        return iter(X)


SHUFFLED = {
    "RandomSampler": DataLoader(X, batch_size=2, shuffle=True),
    "DistributedSampler": DataLoader(X, sampler=DistributedSampler(X, 2, 0, shuffle=False)),
    "SubsetRandomSampler": DataLoader(X, batch_size=2, sampler=SubsetRandomSampler(range(4))),
    "WeightedRandomSampler": DataLoader(X, batch_size=2, sampler=WeightedRandomSampler([1.0] * 4, 4)),
    "list": DataLoader(X, batch_size=2, sampler=[3, 2, 1, 0]),
    "RandomSampler ": DataLoader(X, batch_sampler=BatchSampler(RandomSampler(X), 2, False)),
    "Backwards": DataLoader(X, batch_sampler=Backwards(SequentialSampler(X), 2, False)),
    "_InfiniteConstantSampler": DataLoader(Stream(), batch_size=2),
}
"""Loaders by the name of what orders them."""


@pytest.mark.parametrize("name", SHUFFLED)
def test_a_loader_with_an_order_of_its_own_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"^batches must come in the order .* got one with {name.strip()}$"):
        require_in_order(SHUFFLED[name])


@pytest.mark.parametrize(
    "batches",
    [
        X,
        [X],
        (X, Y),
        iter([X]),
        {"x": X},
        DataLoader(X, batch_size=2),
        DataLoader(X, batch_size=2, drop_last=True),
        DataLoader(X, batch_size=None),
        DataLoader(X, batch_sampler=BatchSampler(SequentialSampler(X), 2, False)),
    ],
)
def test_what_comes_as_it_lies_is_in_order(batches: object) -> None:
    require_in_order(batches)
    if isinstance(batches, DataLoader):
        assert torch.equal(torch.cat([batch.reshape(-1, 3, 2) for batch in batches]), X)


def test_lengths_of_several_batches_are_turned_together() -> None:
    x, y = torch.zeros(2, 64, 50), torch.zeros(2)
    # The first fills 50 steps; the second does not, and guesses 64.
    batches = [(x, y, torch.tensor([50, 20])), (x, y, torch.tensor([33, 40]))]
    joined = gathered(batches, 3)
    assert joined.mask.shape == (3, 50)
    assert joined.with_axes(True).mask.sum(1).tolist() == [50, 20, 33]
    assert gathered(batches[1:], 2).with_axes(True).mask.shape == (2, 50)
    with pytest.raises(ValueError, match=r"^lengths of field must lie from 1 to 50, .* got 33 to 60"):
        read_batch((x, y, torch.tensor([60, 33])), "field").with_axes(True, "field")
    # Where they differ in their steps, these are known.
    longer = (torch.zeros(2, 64, 60), y, torch.tensor([55, 20]))
    assert gathered([batches[1], longer], 4).mask.sum(1).tolist() == [33, 40, 55, 20]


def test_parts_of_unequal_shape_are_refused_by_name() -> None:
    x, y = torch.zeros(2, 5, 1), torch.zeros(2)
    with pytest.raises(ValueError, match=r"^mask of batches must have one shape .* \(B, 4\) and \(B, 5\)$"):
        gathered([(x, y, torch.ones(2, 5)), (x, y, torch.ones(2, 4))], 4)
    with pytest.raises(ValueError, match=r"^targets of batches must have one shape .* \(B\) and \(B, 1\)$"):
        gathered([(x, y), (x, y.unsqueeze(1))], 4)


@pytest.mark.parametrize(
    ("more", "channels_first"),
    [((), False), ((torch.ones(8, 60, dtype=torch.bool),), None), ((torch.full((8,), 60),), None)],
    ids=["said", "mask", "lengths"],
)
def test_another_number_of_channels_is_no_other_number_of_steps(
    more: tuple[Any, ...], channels_first: bool | None
) -> None:
    batches = [(torch.zeros(8, 60, size), torch.zeros(8), *more) for size in (3, 4)]
    with pytest.raises(ValueError, match=r"^batches must hold inputs of one number of channels, got 3 to 4"):
        gathered(batches, 16, channels_first=channels_first)


def test_the_generator_of_a_loader_is_as_before() -> None:
    own = torch.Generator().manual_seed(3)
    loader = torch.utils.data.DataLoader(torch.zeros(8, 9, 1), batch_size=2, shuffle=True, generator=own)
    before = (own.get_state().tolist(), torch.get_rng_state().tolist())
    gathered(loader, 4)
    assert (own.get_state().tolist(), torch.get_rng_state().tolist()) == before
