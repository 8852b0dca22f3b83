"""Conditions of a repair: split with the trajectories, checked, and made into weights and a tie to judge by."""

import re
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

import crest
from crest import ExchangeSettings
from crest._repair.conditions import ConditionPair
from crest.strangers.batch import Batch
from crest.strangers.batch_forms import BatchForm, split_batches
from knocks_made import knocks, network, split

SMALL: dict[str, Any] = {"exchange": ExchangeSettings(trajectories=16, block=4, bootstrap=50), "remedies": []}


def data(count: int = 40, breaking: int = 0) -> tuple[Tensor, Tensor, list[str]]:
    """Trajectories that hold their number, two targets in turn, and conditions that part from them in the last few."""
    x = torch.arange(float(count))[:, None, None] + torch.zeros(count, 6, 1)
    y = (torch.arange(count) % 2).float()
    parted = [int(one) ^ (number >= count - breaking) for number, one in enumerate(y.tolist())]
    return x, y, ["fast" if one else "slow" for one in parted]


def pair(conditions: Any, count: int = 40, size: int = 16) -> tuple[ConditionPair, Batch]:
    x, y, _ = data(count)
    batches = split(x, y, size)
    found = ConditionPair.checked(conditions, batches, None, BatchForm(), 3)
    _, held = split_batches(batches, BatchForm(), 3)
    return found, BatchForm().joined(held, "validation", channels_first=False)


def test_conditions_are_split_as_the_trajectories_are() -> None:
    x, y, _ = data()
    batches = split(x, y, 16)
    found = ConditionPair.checked(list(range(40)), batches, None, BatchForm(), 3)
    kept, held = split_batches(batches, BatchForm(), 3)
    assert found.train == {"": torch.cat([x[:, 0, 0] for x, _ in kept]).int().tolist()}
    assert found.held_out == {"": torch.cat([x[:, 0, 0] for x, _ in held]).int().tolist()}
    assert torch.equal(found.targets, torch.cat([y for _, y in kept]))


@pytest.mark.parametrize(
    "kind", [list, np.array, iter, lambda names: {"speed": iter(names), "load": ["low"] * 40}]
)
def test_any_form_gives_the_same_weights(kind: Any) -> None:
    names = data(breaking=12)[2]
    plain, held = pair(names)
    found, _ = pair(kind(names))
    assert torch.equal(found.ties(held)[0], plain.ties(held)[0])


def test_enough_held_out_trajectories_judge_and_too_few_do_not() -> None:
    x, y, names = data(200, breaking=40)
    batches = split(x, y, 50)
    found = ConditionPair.checked(names, batches, None, BatchForm(), 3)
    _, held = split_batches(batches, BatchForm(), 3)
    weights, tie, (note,) = found.ties(BatchForm().joined(held, "validation", channels_first=False))
    assert tie is not None
    assert len(weights) == 160
    assert "8 held-out trajectories break the tie" in note
    straight, held_out = pair(data()[2])
    _, none, (why,) = straight.ties(held_out)
    assert none is None
    assert (
        "0 held-out trajectories break the tie, fewer than 4: candidates are judged by the exchange test."
        in why
    )
    loose, held_out = pair(["slow", "slow", "fast", "fast"] * 10)
    _, none, (why,) = loose.ties(held_out)
    assert none is None
    assert re.fullmatch(
        r"Target and condition are not tied, neither in training \(Cramér's V 0\.\d\d\) nor in the held-out data "
        r"\(Cramér's V 0\.\d\d\): candidates are judged by the exchange test\.",
        why,
    )


UNTIED = ["slow", "slow", "fast", "fast"] * 4


@pytest.mark.parametrize(
    ("held", "breaking"),
    [
        (UNTIED, 8),
        # All under one condition: half of them have a target that training has not there.
        (["slow"] * 16, 8),
        # Of conditions that training does not know nothing is known.
        (["new"] * 16, 0),
        (["new"] * 6 + ["slow"] * 4 + ["new"] * 6, 2),
    ],
)
@pytest.mark.parametrize(
    "kind", [list, np.array, lambda names: {"speed": iter(names), "load": [1] * len(names)}]
)
def test_held_out_data_that_are_not_tied_judge_a_model_whose_training_was(
    held: list[str], breaking: int, kind: Any
) -> None:
    x, y, names = data()
    batches = split(x, y, 16)
    found = ConditionPair.checked((kind(names), kind(held)), batches, batches[:1], BatchForm(), 3)
    weights, tie, (note,) = found.ties(BatchForm().joined(batches[:1], "validation", channels_first=False))
    assert len(weights) == 40
    known = "Target and condition are tied in training (Cramér's V 1.00) and not in the held-out data (Cramér's V 0.00)"
    if breaking >= 4:
        assert tie is not None
        assert (
            note
            == f"{known}: candidates are judged by the error averaged evenly over target x condition there."
        )
    else:
        assert tie is None
        assert (
            note
            == f"{known}, but {breaking} held-out trajectories break the tie, fewer than 4: candidates are judged by the exchange test."
        )


def test_a_loader_is_read_for_its_targets_alone() -> None:
    # Arrays: a tensor without a graph would be another object with the same memory.
    alive: list[weakref.ref[Any]] = []
    most = 0

    class Loader:
        def __iter__(self) -> Iterator[tuple[Any, Tensor]]:
            nonlocal most
            for number in range(8):
                x = np.full((5, 6, 1), float(number))
                alive.append(weakref.ref(x))
                most = max(most, sum(one() is not None for one in alive))
                yield x, torch.arange(5) % 2
                del x

    found = ConditionPair.checked(["a", "b", "a", "b", "a"] * 8, Loader(), None, BatchForm(), 3)
    assert len(found.targets) == 32
    assert most <= 2


def test_a_pair_with_validation() -> None:
    x, y, names = data()
    batches = split(x, y, 16)
    found = ConditionPair.checked((names, iter(names[:16])), batches, batches[:1], BatchForm(), 3)
    assert (found.train, found.held_out) == ({"": names}, {"": names[:16]})
    held = BatchForm().joined(batches[:1], "validation", channels_first=False)
    assert found.ties(held)[1] is None
    assert ConditionPair.checked(None, batches, None, BatchForm(), 3) is None


@pytest.mark.parametrize(
    ("conditions", "validation", "message"),
    [
        (["a", "b"] * 19, False, r"^conditions must have shape \(N,\) = \(40,\)"),
        ({"speed": [1, 2] * 20, "load": [1]}, False, r"^conditions\['load'\] must have shape"),
        (["a"] * 40, False, "^conditions must vary, got 'a' for every trajectory"),
        ([f"machine {one}" for one in range(40)], False, "^conditions must repeat, got 32 of them for 32"),
        (["a", "b"] * 20, True, "^conditions must be a pair with validation: .* got list"),
        ((["a", "b"] * 20, ["a", "b"]), True, r"^conditions must have shape \(N,\) = \(16,\)"),
        ((["a", "b"], ["a", "b"] * 8), True, r"^conditions must have shape \(N,\) = \(40,\)"),
        (
            ({"speed": ["a", "b"] * 20}, ["a"] * 16),
            True,
            "^conditions must have the same columns .* got speed and one without",
        ),
    ],
)
def test_messages(conditions: Any, validation: bool, message: str) -> None:
    x, y, _ = data()
    batches = split(x, y, 16)
    given = batches[:1] if validation else None
    held = given if validation else split_batches(batches, BatchForm(), 3)[1]
    with pytest.raises(ValueError, match=message):
        ConditionPair.checked(conditions, batches, given, BatchForm(), 3).ties(
            BatchForm().joined(held, "validation", channels_first=False)
        )


def test_a_loader_that_shuffles_has_no_order_for_conditions() -> None:
    x, y = knocks(40, tie=0.9, seed=1000)
    loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
    with pytest.raises(ValueError, match=r"must come in the order .* shuffle=False"):
        crest.repair(network(), loader, conditions=["a", "b"] * 20, **SMALL)


def test_a_repair_keeps_the_condition_of_each_held_out_trajectory() -> None:
    x, y = knocks(100, tie=0.0, seed=1000)
    # The condition tells the target, so a row that got another's would be seen.
    conditions = ["high" if one > 0 else "low" for one in y.tolist()]
    found = crest.repair(network(), split(x, y), conditions=conditions, **SMALL)
    pairs = found.before.exchange.predictions
    assert pairs is not None
    assert len(found.conditions) == 20
    assert [found.conditions[row] for row in pairs.rows.tolist()] == [
        "high" if one > 0 else "low" for one in pairs.targets.tolist()
    ]
    rows = list(range(90, 100))
    given = crest.repair(
        network(),
        split(x[:90], y[:90]),
        validation=split(x[rows], y[rows]),
        conditions=(conditions[:90], [conditions[row] for row in rows]),
        **SMALL,
    )
    assert given.conditions == tuple(conditions[90:])
    assert crest.repair(network(), split(x, y), **SMALL).conditions == ()


def test_a_repair_says_by_what_it_judges() -> None:
    x, y = knocks(200, tie=0.0, seed=1000)
    target = y.sign()
    conditions = target.clone()
    conditions[::5] *= -1
    found = crest.repair(network(), split(x, target), conditions=conditions, **SMALL)
    assert found.choice.by == "conditions"
    assert found.before.even_error == found.before.judged_by > 0
    assert "even" in str(found)
    assert any("candidates are judged by the error averaged evenly" in note for note in found.notes)
    # Tied in training and not in the validation, which then judges.
    order = (target > 0).float().argsort()
    known = ["a" if one > 0 else "b" for one in target.tolist()], ["a", "b"] * 100
    judged = crest.repair(
        network(), split(x, target), validation=split(x[order], target[order]), conditions=known, **SMALL
    )
    assert judged.choice.by == "conditions"
    assert judged.before.even_error == judged.before.judged_by > 0
    loose = crest.repair(network(), split(x, target), conditions=["a", "b"] * 100, **SMALL)
    assert loose.choice.by == "exchange"
    assert loose.before.even_error is None
