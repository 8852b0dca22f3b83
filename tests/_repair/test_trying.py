"""Candidates one after the other and side by side: the same ones, in the same order, and told."""

import contextlib
import importlib.util
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
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


ENDED = """
import signal, time, torch, crest, crest.remedies
from torch import nn

# What is started in the background of a shell ignores Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

def fit(model, batches):
    # The control is done at once; a model with a front takes longer than anybody waits.
    time.sleep(600 * isinstance(model, crest.remedies.WithFront))

x = torch.randn(40, 1, 80)
net = nn.Sequential(nn.Conv1d(1, 4, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 1))
small = crest.ExchangeSettings(trajectories=8, block=4, bootstrap=5)
remedies = ["AC coupling", "high-pass"]
crest.repair(net, (x, x.mean((1, 2))), fit=fit, remedies=remedies, exchange=small, jobs=2, tell=lambda word: print(word, flush=True))
"""


def processes_of(session: int) -> list[int]:
    """Living processes of a session, which those of joblib stay in."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, own = path.read_text().rpartition(") ")[2].split()[:4]
            if int(own) == session and state != "Z":
                found.append(int(path.parent.name))
    return found


@JOBLIB
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are listed as Linux lists them")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_no_process_stays_behind_when_the_parent_is_ended(number: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "ended.py"
    script.write_text(ENDED)
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as parent:  # fmt: skip
        assert parent.stdout is not None
        assert parent.stderr is not None
        try:
            assert any("1 of 3" in line for line in parent.stdout)
            parent.send_signal(number)
            told = "" if number == signal.SIGKILL else parent.stderr.read()
            assert parent.wait(60) != 0
            for _ in range(100):
                if not processes_of(parent.pid):
                    break
                time.sleep(0.1)
            assert processes_of(parent.pid) == []
        finally:
            for one in processes_of(parent.pid):
                os.kill(one, signal.SIGKILL)
    if number != signal.SIGKILL:
        assert "repair was ended early. Measured so far: trained longer: ID error" in told


def test_a_handler_of_the_users_own_stays() -> None:
    def own(*_: object) -> None:
        """Nothing."""

    before = signal.signal(signal.SIGTERM, own)
    try:
        repaired(remedies=["re-anchored"])
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)
    repaired(remedies=["re-anchored"])
    assert signal.getsignal(signal.SIGTERM) is before
