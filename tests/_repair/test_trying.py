"""Candidates one after the other and side by side: the same ones, in the same order, and told."""

import contextlib
import dataclasses
import importlib.util
import io
import math
import multiprocessing
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import crest
from crest import ExchangeSettings
from crest._repair import AS_IT_IS
from crest._repair.trying import _takes_long, _write, tried
from crest._repair.workshop import TriedModel
from crest.remedies import CONTROL, REMEDIES, Remedy, fitting_remedies
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


def repaired(jobs: int = 1, train: Any = TRAIN, **options: Any) -> crest.Repaired:
    epochs = 3

    def trained(model: nn.Module, batches: Iterable[Any]) -> None:
        """A closure, which pickle cannot send."""
        fit(model, batches, epochs)

    chosen: dict[str, Any] = {
        "level jitter": "level jitter", "fails": Fails(), "AC coupling": "AC coupling", "re-anchored": "re-anchored",
    }  # fmt: skip
    return crest.repair(
        network(),
        train,
        validation=HELD_OUT,
        **{"fit": trained, "remedies": chosen, "jobs": jobs, **QUICK, **options},
    )


ORDER = [AS_IT_IS, CONTROL, "level jitter", "AC coupling", "re-anchored"]


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, TriedModel]]:
    """The candidates of every repair with their models and builds, of which a result has the chosen one's alone."""
    door = sys.modules["crest._repair.repair"]
    found: list[dict[str, TriedModel]] = []

    def spied(*arguments: Any) -> Any:
        made, skipped = tried(*arguments)
        found.append(made)
        return made, skipped

    monkeypatch.setattr(door, "tried", spied)
    return found


def processes() -> set[int]:
    """The processes that joblib started and that are alive."""
    return {one.pid for one in multiprocessing.active_children() if "Loky" in one.name and one.pid}


def test_crest_and_tones_take_longest() -> None:
    long = {name for name, one in REMEDIES.items() if _takes_long(one)}
    assert long == {"CREST", "CREST + exchange", "exchange of tones"}


@JOBLIB
@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_side_by_side_gives_the_same_candidates_bits_and_pick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crest._repair.trying._takes_long", lambda remedy: remedy is REMEDIES["AC coupling"])
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
    # What takes longest begins first, and the candidates keep their order.
    assert told[1:3] == ["AC coupling: training", f"{CONTROL}: training"]
    assert len(told) == 1 + 2 * 5


@JOBLIB
@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_known_front_under_another_name_is_saved_and_loads(
    kept: list[dict[str, TriedModel]], jobs: int, tmp_path: Path
) -> None:
    joined = fitting_remedies("gain+colour")["standardise + colour"]
    names = {
        "mine": "AC coupling",
        "same": Remedy(front=REMEDIES["high-pass"].front, change=REMEDIES["level jitter"].change),
        "standardise + colour": joined,
        "sent": pickle.loads(pickle.dumps(joined)),
        "envelope": "envelope",
    }
    found = repaired(jobs, remedies=names, fit=one_step)
    (made,) = kept
    assert {name: one.structure.front for name, one in made.items()} == {
        CONTROL: None, "mine": "AC coupling", "same": "high-pass", "standardise + colour": "standardise",
        "sent": "standardise", "envelope": "envelope",
    }  # fmt: skip
    x = HELD_OUT[0][0]
    for name, one in made.items():
        chosen = dataclasses.replace(found, model=one.model, name=name, structure=one.structure)
        chosen.save(tmp_path / name)
        again = crest.Repaired.load(tmp_path / name, network())
        assert torch.equal(again.model(x), one.model(x)), name


@JOBLIB
@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_a_loader_with_a_generator_of_its_own_gives_every_candidate_the_same_order() -> None:
    def found(jobs: int) -> tuple[list[float], list[list[float]]]:
        generator = torch.Generator().manual_seed(5)
        x, y = (torch.cat(parts) for parts in zip(*TRAIN, strict=True))
        loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True, generator=generator)
        names = ["level jitter", "AC coupling", "re-anchored"]
        rows = repaired(jobs, train=loader, remedies=names).candidates
        return [one.id_error for one in rows.values()], [one.exchange.transient for one in rows.values()]

    assert found(1) == found(2)


@JOBLIB
@pytest.mark.slow
def test_no_process_stays_behind_and_a_users_own_go_on() -> None:
    repaired(2, fit=one_step, remedies=["level jitter"])
    assert processes() == set()
    joblib = pytest.importorskip("joblib")
    pids = set(joblib.Parallel(n_jobs=2)(joblib.delayed(os.getpid)() for _ in range(8)))
    users = processes()
    assert pids <= users
    try:
        repaired(2, fit=one_step, remedies=["level jitter"])
        assert processes() == users
    finally:
        joblib.externals.loky.get_reusable_executor().shutdown()


@JOBLIB
@pytest.mark.slow
def test_whoever_stops_early_does_not_wait_for_the_others() -> None:
    def slow(model: nn.Module, _: Iterable[Any]) -> None:
        if not hasattr(model, "front"):
            time.sleep(600)

    def stop(words: str) -> None:
        if words.startswith("AC coupling: ID error"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        repaired(2, fit=slow, remedies=["AC coupling"], tell=stop)
    assert processes() == set()


@JOBLIB
@pytest.mark.slow
def test_a_process_that_is_killed_is_told() -> None:
    def killed(model: nn.Module, _: Iterable[Any]) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    found = repaired(2, fit=killed, remedies=["AC coupling"])
    assert list(found.candidates) == [AS_IT_IS]
    assert found.skipped["AC coupling"].startswith("It failed: TerminatedWorkerError: ")


class Counted(list[Any]):
    """Batches that count how often they are sent."""

    sent = 0

    def __reduce__(self) -> Any:
        type(self).sent += 1
        return list, (list(self),)


@JOBLIB
@pytest.mark.slow
def test_what_all_candidates_share_is_sent_once() -> None:
    Counted.sent = 0
    repaired(2, train=Counted(TRAIN), fit=one_step, remedies=["level jitter", "AC coupling", "high-pass"])
    assert Counted.sent == 1


@JOBLIB
def test_a_part_of_an_array_is_written_without_the_rest(tmp_path: Path) -> None:
    x, y = torch.randn(64, 1, 1000), torch.randn(64)
    tied = torch.nn.Parameter(torch.ones(2))
    value = (split(x, y, 4), x.mT, torch.ones(1).expand(9), torch.eye(3).to_sparse(), [tied, tied])
    _write(tmp_path / "shared", value, 2, pytest.importorskip("joblib"))
    # Once in batches, and once as a whole.
    assert (tmp_path / "shared").stat().st_size < 2.2 * x.nbytes
    batches, turned, wide, sparse, weights = pickle.loads((tmp_path / "shared").read_bytes())
    assert all(
        torch.equal(a, b)
        for mine, given in zip(batches, value[0], strict=True)
        for a, b in zip(mine, given, strict=True)
    )
    assert torch.equal(turned, x.mT)
    assert wide.stride() == (0,)
    assert torch.equal(sparse.to_dense(), torch.eye(3))
    assert weights[0] is weights[1]


@JOBLIB
def test_what_cannot_be_sent_is_told_before_anything_is_trained() -> None:
    lock = threading.Lock()
    with pytest.raises(
        ValueError, match=r"^jobs must be 1 if the model, fit, .* got 2: TypeError: cannot pickle"
    ):
        repaired(2, fit=lambda *_: lock.acquire(), remedies=["level jitter"])


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


def test_a_bar_does_not_wait_for_what_cannot_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    console, out = pytest.importorskip("rich.console"), io.StringIO()
    terminal = console.Console(file=out, force_terminal=True, width=100, _environ={"TERM": "xterm"})
    monkeypatch.setattr("crest._repair.telling._console", lambda: terminal)
    repaired(tell=True, fit=None, remedies=["level jitter", "re-anchored"])
    assert "1/1" in out.getvalue()


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
    with pytest.raises(ImportError, match=r"^jobs= above 1 needs joblib\. Install the extra sklearn: "):
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
