"""Candidates one after the other and side by side: the same ones, in the same order, and told."""

import importlib.util
import math
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import crest
from crest import ExchangeSettings
from crest._repair import AS_IT_IS
from crest.remedies import CONTROL
from knocks_made import fit, knocks, network, one_step, split

QUICK: dict[str, Any] = {"exchange": ExchangeSettings(trajectories=16, block=4, bootstrap=50)}
TRAIN = split(*knocks(64, tie=0.99, seed=1000))
HELD_OUT = split(*knocks(32, tie=0.99, seed=1001))
JOBLIB = pytest.mark.skipif(importlib.util.find_spec("joblib") is None, reason="joblib is not installed")


@pytest.fixture
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Fails(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        raise RuntimeError("a front that  fails")


def repaired(jobs: int = 1, **options: Any) -> crest.Repaired:
    epochs = 3

    def trained(model: nn.Module, batches: Iterable[Any]) -> None:
        """A closure, which pickle cannot send."""
        fit(model, batches, epochs)

    chosen: dict[str, Any] = {
        "level jitter": "level jitter", "fails": Fails(), "AC coupling": "AC coupling", "re-anchored": "re-anchored",
    }  # fmt: skip
    return crest.repair(
        network(),
        TRAIN,
        validation=HELD_OUT,
        **{"fit": trained, "remedies": chosen, "jobs": jobs, **QUICK, **options},
    )


ORDER = [AS_IT_IS, CONTROL, "level jitter", "AC coupling", "re-anchored"]


@JOBLIB
@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_side_by_side_gives_the_same_candidates_bits_and_pick() -> None:
    told: list[str] = []
    alone, beside = repaired(), repaired(2, tell=told.append)
    assert list(alone.candidates) == list(beside.candidates) == ORDER
    for name, one in alone.candidates.items():
        other = beside.candidates[name]
        assert (one.id_error, one.exchange) == (other.id_error, other.exchange), name
    assert (alone.name, alone.choice) == (beside.name, beside.choice)
    weights = beside.model.state_dict()
    for name, value in alone.model.state_dict().items():
        assert torch.equal(value, weights[name]), name
    assert alone.skipped == beside.skipped
    assert (
        told[1]
        == f"training 5 candidates, 2 at a time: {CONTROL}, level jitter, fails, AC coupling, re-anchored"
    )
    assert len(told) == 2 + 5


def test_a_remedy_that_fails_is_told_and_the_others_go_on() -> None:
    told: list[str] = []
    found = repaired(tell=told.append, fit=one_step)
    assert list(found.candidates) == ORDER
    assert found.skipped == {"fails": "It failed: RuntimeError: a front that fails"}
    assert "fails: It failed: RuntimeError: a front that fails" in told


def test_what_is_told_as_each_begins_and_ends() -> None:
    told: list[str] = []
    repaired(tell=told.append, fit=one_step, remedies=["re-anchored", "level jitter"])
    assert [words.partition(":")[0] for words in told] == [
        AS_IT_IS, CONTROL, CONTROL, "re-anchored", "re-anchored", "level jitter", "level jitter",
    ]  # fmt: skip
    assert told[1] == f"{CONTROL}: training"
    assert told[3] == "re-anchored: fitting the head again"
    assert re.fullmatch(
        r"trained longer: ID error [\d.]+, expected error [\d.]+, [\d.]+ s \(1 of 3, about \d+ s left\)",
        told[2],
    )
    assert told[-1].endswith("(3 of 3)")


def test_what_cannot_be_tried_is_not_begun() -> None:
    told: list[str] = []
    found = repaired(tell=told.append, fit=None, remedies=["level jitter", "re-anchored", "balanced"])
    assert list(found.candidates) == [AS_IT_IS, "re-anchored"]
    assert set(found.skipped) == {"level jitter", "balanced"}
    assert not any(words.startswith(("level jitter", "balanced")) for words in told)


def test_a_model_that_diverges_is_no_candidate() -> None:
    found = repaired(
        fit=lambda model, _: [weight.data.fill_(math.nan) for weight in model.parameters()] and None,
        remedies=["level jitter"],
    )
    assert list(found.candidates) == [AS_IT_IS]
    assert "finite" in found.skipped["level jitter"]


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=[JOBLIB, pytest.mark.slow])])
def test_a_fit_that_returns_no_model_is_an_error_of_the_users(jobs: int) -> None:
    with pytest.raises(ValueError, match=r"^fit must train the model in place and return None, .* got int"):
        repaired(jobs, fit=lambda *_: 3)


def test_without_joblib_it_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(ImportError, match=r"^jobs above 1 needs joblib: pip install"):
        repaired(2)


@pytest.mark.unchecked
@pytest.mark.parametrize("jobs", [0, -1, 1.5])
def test_messages(jobs: Any) -> None:
    with pytest.raises(ValueError, match=r"^jobs must be a whole number, 1 or more"):
        repaired(jobs)
