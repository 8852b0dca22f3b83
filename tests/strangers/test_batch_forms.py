import itertools
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from crest.strangers.batch_forms import (
    BatchForm,
    ChangedBatches,
    DrawnBatches,
    FirstBatches,
    bounded,
    require_rereadable,
    split_batches,
)

Batch = namedtuple("Batch", ["signal", "target"])
FORM = BatchForm()


def rows(*labels: float, steps: int = 4) -> tuple[Tensor, Tensor]:
    y = torch.tensor(labels)
    return y[:, None, None].expand(-1, steps, 2).clone(), y


def test_batches_keep_their_form() -> None:
    x, y = rows(0.0, 1.0, 2.0)
    mask = torch.ones(3, 4, dtype=torch.bool)
    forms: list[Any] = [(x, y), [x, y], Batch(x, y), (x, y, mask), {"x": x, "y": y, "name": "abc"}]
    for batch in forms:
        changed = FORM.with_inputs(batch, x + 1)
        some = FORM.rows(batch, torch.tensor([0, 2]))
        assert type(changed) is type(some) is type(batch)
        assert torch.equal(FORM.parts(changed, "b").inputs, x + 1)
        assert FORM.parts(some, "b").targets.tolist() == [0.0, 2.0]
        assert torch.equal(FORM.parts(batch, "b").inputs, x)
    assert FORM.rows(forms[3], torch.tensor([1]))[2].shape == (1, 4)
    assert FORM.rows(forms[4], torch.tensor([1]))["name"] == "abc"
    assert FORM.rows((x, y.tolist()), torch.tensor([0, 2]))[1] == [0.0, 2.0]
    assert FORM.rows((x, tuple(y.tolist())), torch.tensor([1]))[1] == (1.0,)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (torch.zeros(3), r"^field must hold inputs of shape \(B, T, C\) or \(B, C, T\), got \(3,\)$"),
        ((torch.zeros(3, 4, 2),), "^field must hold .* or dicts, got no targets$"),
        (
            {"x": torch.zeros(3, 4, 2), "z": 2},
            "^field must hold .* or dicts, got no targets under x, z: pass keys= to name them$",
        ),
        ((torch.zeros(3, 4, 2), ["a", "b", "c"]), "^targets of field must be numbers, got text such as 'a'"),
        (("a", torch.zeros(3)), "^inputs of field must be a tensor or an array, got str"),
        (
            (torch.zeros(3, 4, 2), torch.zeros(2)),
            r"^targets of field must have a row for each of 3 trajectories, got \(2,\)",
        ),
    ],
)
def test_other_forms_are_refused_by_name(batch: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FORM.parts(batch, "field")


def test_joined_batches_are_channels_last_and_padded_where_they_have_masks() -> None:
    short, long = rows(1.0, 2.0, steps=3), rows(3.0, steps=5)
    masked = [(x, y, torch.ones(x.shape[:2], dtype=torch.int64)) for x, y in (short, long)]
    found = FORM.joined(masked, "validation", channels_first=False)
    assert found.inputs.shape == (3, 5, 2)
    assert found.mask is not None
    assert found.mask.sum(1).tolist() == [3, 3, 5]
    assert found.targets.tolist() == [1.0, 2.0, 3.0]
    first = FORM.joined(
        [(x.mT, y[:, None], mask) for x, y, mask in masked], "validation", channels_first=True
    )
    assert torch.equal(first.inputs, found.inputs)
    assert torch.equal(first.targets, found.targets)
    with pytest.raises(
        ValueError, match=r"^validation must hold inputs of one shape, or masks .* got \(3, 2\) and \(5, 2\)"
    ):
        FORM.joined([short, long], "validation", channels_first=False)
    with pytest.raises(ValueError, match=r"^validation must hold a mask in every batch or in none"):
        FORM.joined([short, masked[1]], "validation", channels_first=False)


def test_what_cannot_be_measured_is_refused() -> None:
    x, y = rows(0.0, 1.0)
    with pytest.raises(
        ValueError,
        match=r"^targets of field of several columns must be one-hot classes, or labels of 0 and 1",
    ):
        FORM.joined([(x, 0.5 + y.repeat(2, 2))], "field", channels_first=False)
    with pytest.raises(ValueError, match=r"^targets of field must be of shape \(N,\), \(N, 1\), or \(N, K\)"):
        FORM.joined([(x, y.repeat(2, 2)[..., None])], "field", channels_first=False)
    with pytest.raises(ValueError, match=r"^inputs of field must be finite, got 1 NaN"):
        FORM.joined(
            [(x.index_fill(0, torch.tensor([1]), torch.nan)[:, :1, :1], y)], "field", channels_first=False
        )
    with pytest.raises(ValueError, match=r"^inputs of field must be floating-point numbers, got torch.int64"):
        FORM.joined([(x.long(), y)], "field", channels_first=False)


@pytest.mark.parametrize("sizes", [[64, 64, 30], [3] * 20, [1] * 30, [100]])
def test_a_fifth_is_held_out_of_batches_of_any_size(sizes: list[int]) -> None:
    total = sum(sizes)
    labels = torch.arange(float(total)).split(sizes)
    kept, held = split_batches([rows(*part.tolist()) for part in labels], FORM, seed=1000)
    trained = [value for _, y in kept for value in y.tolist()]
    measured = [value for _, y in held for value in y.tolist()]
    assert len(measured) == total // 5
    assert sorted(trained + measured) == list(range(total))
    assert all(torch.equal(x[:, 0, 0], y) for x, y in kept + held)
    again, other = (
        split_batches([rows(*part.tolist()) for part in labels], FORM, seed) for seed in (1000, 1001)
    )
    assert [y.tolist() for _, y in again[1]] == [y.tolist() for _, y in held]
    # Batches of one give every fifth of them, whatever the seed.
    assert sizes[0] == 1 or [y.tolist() for _, y in other[1]] != [y.tolist() for _, y in held]


def test_too_few_to_hold_out() -> None:
    with pytest.raises(ValueError, match=r"^train_batches must hold 10 trajectories or more, .* got 9"):
        split_batches([rows(*map(float, range(9)))], FORM, seed=0)


def test_changed_batches_are_made_anew_in_each_pass() -> None:
    calls = []
    batches = ChangedBatches([1, 2], lambda batch: calls.append(batch) or len(calls))
    assert list(batches) == [1, 2]
    assert list(batches) == [3, 4]
    assert len(batches) == 2
    with pytest.raises(TypeError):
        len(ChangedBatches(iter([]), lambda batch: batch))


@pytest.mark.parametrize("bad", [iter([1]), "abc", {"x": 1}, torch.zeros(2), 3])
def test_what_cannot_be_read_twice_is_refused(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^train_batches must be a list or a DataLoader"):
        require_rereadable("train_batches", bad)
    require_rereadable("train_batches", [1])


def test_arrays_stay_arrays_for_the_fit() -> None:
    x, y = (part.numpy() for part in rows(0.0, 1.0, 2.0))
    for batch in ((x, y), {"signal": x, "label": y}):
        changed = FORM.with_inputs(batch, torch.zeros(3, 4, 2))
        some = FORM.rows(changed, torch.tensor([0, 2]))
        parts = [*some.values()] if isinstance(some, dict) else [*some]
        assert all(isinstance(part, np.ndarray) for part in parts)
        assert parts[1].tolist() == [0.0, 2.0]
        assert not parts[0].any()


@pytest.mark.parametrize("channels_first", [False, True])
def test_a_value_that_is_not_finite_is_found_in_the_users_own_batch(channels_first: bool) -> None:
    x, y = rows(*map(float, range(20)), steps=6)
    x[14, 5, 1] = torch.nan
    mask = torch.ones(20, 6, dtype=torch.bool)
    given = x.mT if channels_first else x
    place = r"\[4, 1, 5\] of \(B, C, T\)" if channels_first else r"\[4, 5, 1\] of \(B, T, C\)"
    message = rf"must be finite.*, the first at index {place} in batch 1$"
    pairs = [(given[:10], y[:10]), (given[10:], y[10:])]
    with pytest.raises(ValueError, match=f"^inputs of field {message}"):
        FORM.joined(pairs, "field", channels_first)
    # What is held out gets other places, and a name that nobody gave.
    with pytest.raises(ValueError, match=f"^inputs of train_batches {message}"):
        split_batches(pairs, BatchForm(channels_first=channels_first), seed=0)
    with pytest.raises(
        ValueError, match=r"^inputs of train_batches must be finite, .* index \[4, .\, .\] in batch 1$"
    ):
        split_batches(pairs, FORM, seed=0)
    masked = [(*pair, some) for pair, some in zip(pairs, mask.split(10), strict=True)]
    with pytest.raises(ValueError, match=f"^inputs of train_batches {message}"):
        split_batches(masked, FORM, seed=0)
    mask[14, 5] = False
    assert len(split_batches(masked, FORM, seed=0)[1]) == 2


def test_tuples_that_are_not_by_trajectory_stay_whole() -> None:
    x, y = rows(0.0, 1.0, 2.0)
    batch = {
        "x": x,
        "y": y.tolist(),
        "lengths": [4, 3, 2],
        "channels": ("a", "b", "c"),
        "id": ["p", "q", "r"],
    }
    some = FORM.rows(batch, torch.tensor([0, 2]))
    assert (some["y"], some["lengths"], some["channels"]) == ([0.0, 2.0], [4, 2], ("a", "b", "c"))
    assert some["id"] == ["p", "r"]
    named = BatchForm(keys=("signal", "wear", "ok"))
    batch = {"signal": x, "wear": y.tolist(), "ok": (4, 3, 2), "y": (7, 8, 9)}
    some = named.rows(batch, torch.tensor([1]))
    assert (some["wear"], some["ok"], some["y"]) == ([1.0], (3,), (7, 8, 9))


@pytest.mark.parametrize(
    ("third", "word"),
    [
        ([4, 3], "lengths"),
        ([torch.tensor(4), torch.tensor(3)], "lengths"),
        ([[True], [True, True]], "mask"),
        (torch.ones(2, 4), "mask"),
        ([torch.ones(4), torch.ones(3)], "mask"),
        (None, "mask"),
    ],
)
def test_words_for_any_third_part(third: Any, word: str) -> None:
    assert FORM.words((*rows(0.0, 1.0), third)) == f"(x, y, {word})"


def test_a_loader_is_not_begun_to_see_whether_it_can_be_read_again() -> None:
    loader = torch.utils.data.DataLoader(torch.zeros(4, 9, 1))
    before = torch.get_rng_state()
    require_rereadable("train_batches", loader)
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(
        ValueError, match=r"^train_batches must be a list or a DataLoader, .* got an iterator$"
    ):
        require_rereadable("train_batches", iter(loader))


def test_stacked_batches_keep_their_form() -> None:
    one, two = rows(0.0, 1.0), rows(2.0)
    forms: list[list[Any]] = [
        [one, two],
        [list(one), list(two)],
        [Batch(*one), Batch(*two)],
        [(one[0].numpy(), one[1].numpy()), (two[0].numpy(), two[1].numpy())],
        [
            {"x": x, "y": y, "channels": ("a", "b"), "names": [str(n) for n in y.tolist()]}
            for x, y in (one, two)
        ],
    ]
    for batches in forms:
        whole = FORM.stacked(batches, "b")
        assert type(whole) is type(batches[0])
        assert FORM.parts(whole, "b").targets.tolist() == [0.0, 1.0, 2.0]
        assert FORM.parts(whole, "b").inputs[:, 0, 0].tolist() == [0.0, 1.0, 2.0]
    assert isinstance(FORM.stacked(forms[3], "b")[0], np.ndarray)
    # What is no column stays, even if it is as long as a batch.
    assert whole["channels"] == ("a", "b")
    assert whole["names"] == ["0.0", "1.0", "2.0"]


def test_stacked_batches_of_several_lengths_are_padded_where_they_tell_what_is_valid() -> None:
    short, long = rows(1.0, 2.0, steps=3), rows(3.0, steps=5)
    masked = [(x, y, torch.ones(x.shape[:2], dtype=torch.bool)) for x, y in (short, long)]
    x, _, mask = FORM.stacked(masked, "b")
    assert x.shape == (3, 5, 2)
    assert mask.sum(1).tolist() == [3, 3, 5]
    counted = [(x.mT.numpy(), y.numpy(), np.full(len(y), x.shape[1])) for x, y in (short, long)]
    x, _, lengths = FORM.stacked(counted, "b")
    assert x.shape == (3, 2, 5)
    assert lengths.tolist() == [3, 3, 5]
    with pytest.raises(
        ValueError, match=r"^b must have signals of one length, or masks or lengths, to be joined"
    ):
        FORM.stacked([short, long], "b")
    with pytest.raises(ValueError, match=r"^b must all have the form of the first, \(x, y\)"):
        FORM.stacked([short, masked[0]], "b")
    with pytest.raises(ValueError, match=r"^b must hold one batch or more, got none"):
        FORM.stacked([], "b")


@pytest.mark.parametrize(
    ("channels_first", "first", "second", "valid", "got"),
    [
        (None, (2, 5, 1), (2, 5, 2), "mask", r"\(B, 5, 1\) and \(B, 5, 2\)"),
        (None, (2, 5, 1), (2, 5, 2), "lengths", r"\(B, 5, 1\) and \(B, 5, 2\)"),
        (None, (2, 2, 5), (2, 3, 5), "mask", r"\(B, 2, 5\) and \(B, 3, 5\)"),
        (None, (2, 5, 2), (2, 6, 3), "mask", r"\(B, 5, 2\) and \(B, 6, 3\)"),
        (False, (2, 5, 1), (2, 5, 2), None, r"\(B, 5, 1\) and \(B, 5, 2\)"),
        (True, (2, 5, 7), (2, 6, 7), "lengths", r"\(B, 5, 7\) and \(B, 6, 7\)"),
    ],
)
def test_channels_are_never_padded(
    channels_first: bool | None, first: tuple[int, ...], second: tuple[int, ...], valid: str | None, got: str
) -> None:
    batches = []
    for shape in (first, second):
        steps = max(shape[1:])
        about = {"mask": torch.ones(2, steps, dtype=torch.bool), "lengths": torch.full((2,), steps)}
        batches.append((torch.ones(shape), torch.ones(2), *([about[valid]] if valid else [])))
    with pytest.raises(
        ValueError, match=rf"^b must hold inputs that differ only in the number of steps, got {got}$"
    ):
        BatchForm(channels_first=channels_first).stacked(batches, "b")


def test_other_columns_are_padded_along_time_alone() -> None:
    def batch(steps: int, **more: Any) -> dict[str, Any]:
        return {"x": torch.ones(2, steps, 1), "y": torch.ones(2), "lengths": torch.full((2,), steps), **more}

    one, two = (batch(steps, load=torch.ones(2, 4, steps), kind=torch.ones(2, 3)) for steps in (5, 6))
    whole = FORM.stacked([one, two], "b")
    assert whole["load"].shape == (4, 4, 6)
    assert whole["load"][:2].sum() == 40
    for made in (torch.ones, np.ones):
        parted = [{**one, "kind": made((2, 3))}, {**two, "kind": made((2, 4))}]
        with pytest.raises(
            ValueError, match=r"^b\[...\]\['kind'\] must have rows of one shape .* got \(3,\) and \(4,\)$"
        ):
            FORM.stacked(parted, "b")


def test_rows_are_drawn_by_their_weights_across_batches() -> None:
    batches = [rows(0.0, 1.0), rows(2.0, 3.0, 4.0)]
    drawn = DrawnBatches(batches, FORM, [0, 1, 0, 0, 3], seed=0)
    seen = torch.cat([y for _ in range(400) for _, y in drawn])
    assert set(seen.tolist()) == {1.0, 4.0}
    assert abs(float((seen == 4).float().mean()) - 0.75) < 0.04
    assert [len(y) for _, y in drawn] == [2, 3]


def test_of_batches_that_may_never_end_the_first_are_read() -> None:
    class Endless:
        def __iter__(self) -> Any:
            return itertools.repeat((torch.zeros(4, 5, 1), torch.zeros(4)))

    found = bounded(Endless(), 10)
    assert isinstance(found, FirstBatches)
    assert [len(x) for x, _ in found] == [4, 4, 4]
    assert found.cut
    # Again, from the start.
    assert len(list(found)) == 3
    # As many as asked for are enough.
    assert [len(list(bounded(Endless(), most))) for most in (7, 8, 9)] == [2, 2, 3]
    dicts = bounded(({"x": torch.zeros(3, 5, 1), "names": ["a"]} for _ in range(2)), 10)
    assert len(list(dicts)) == 2
    assert not dicts.cut
    whole = [1, 2]
    assert bounded(whole, 1) is whole


def test_a_copied_batch_has_its_own_tensors_in_the_same_form() -> None:
    batch = {"x": torch.ones(2, 3, 1), "y": np.ones(2), "names": ["a", "b"]}
    found = BatchForm().copied(batch)
    found["x"].zero_()
    found["y"][:] = 0
    assert batch["x"].all()
    assert batch["y"].all()
    assert found["names"] is batch["names"]
    assert isinstance(BatchForm().copied([torch.ones(2), torch.ones(2)]), list)
