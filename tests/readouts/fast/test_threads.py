"""Sharing a batch among threads: every trajectory once, on torch's own threads, with errors that are seen."""

import multiprocessing
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from crest.readouts import CrestReadout
from crest.readouts.fast import backend, threads
from crest.readouts.fast.threads import on_threads, torch_threads


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=["torch's threads", "a pool"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "a pool":
        monkeypatch.setattr(threads, "torch_threads", lambda: None)
    elif torch_threads() is None:
        pytest.skip("this build of torch has no GNU OpenMP")


@pytest.mark.parametrize("trajectories", [1, 2, 3, 7, 64, 101])
@pytest.mark.usefixtures("way")
def test_every_trajectory_is_done_once(trajectories: int) -> None:
    done = np.zeros(trajectories, dtype=np.int64)

    def kernel(begin: int, end: int) -> None:
        done[begin:end] += 1

    on_threads(kernel, trajectories)
    assert done.tolist() == [1] * trajectories


@pytest.mark.usefixtures("way")
def test_two_threads_take_part() -> None:
    seen = set()

    def kernel(begin: int, end: int) -> None:
        seen.add(threading.get_ident())
        time.sleep(0.02)

    on_threads(kernel, 8)
    assert len(seen) == 2


def test_no_second_pool_is_made_where_torch_has_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    if torch_threads() is None:
        pytest.skip("this build of torch has no GNU OpenMP")
    monkeypatch.setattr(
        threads, "_pool", lambda *_: pytest.fail("a second pool competes with torch's threads")
    )
    on_threads(lambda begin, end: None, 8)


@pytest.mark.usefixtures("way")
def test_what_a_kernel_raises_is_raised() -> None:
    def kernel(begin: int, end: int) -> None:
        time.sleep(0.01)
        if end == 8:
            raise RuntimeError("the last part")

    with pytest.raises(RuntimeError, match="the last part"):
        on_threads(kernel, 8)


@pytest.mark.usefixtures("way")
def test_pooling_does_not_depend_on_the_threads() -> None:
    features = torch.randn(9, 80, 5, generator=torch.Generator().manual_seed(0))
    with backend("numba"):
        shared = CrestReadout(0.1)(features)
        torch.set_num_threads(1)
        alone = CrestReadout(0.1)(features)
    assert torch.equal(shared, alone)


def _pool_in_a_fork(results: "multiprocessing.SimpleQueue[list[int]]") -> None:
    done = np.zeros(6, dtype=np.int64)

    def kernel(begin: int, end: int) -> None:
        done[begin:end] += 1

    on_threads(kernel, 6)
    results.put(done.tolist())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_threads_that_it_lacks() -> None:
    on_threads(lambda begin, end: None, 8)
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    child = context.Process(target=_pool_in_a_fork, args=(results,))
    child.start()
    child.join(60)
    if child.is_alive():
        child.kill()
        pytest.fail("the forked process hangs")
    assert results.get() == [1] * 6


def test_an_interrupt_at_the_door_is_not_lost(tmp_path: Path) -> None:
    """ctypes prints and drops what is raised before a callback's first line: the caller must hear of it."""
    if torch_threads() is None:
        pytest.skip("this build of torch has no GNU OpenMP")
    script = tmp_path / "loop.py"
    script.write_text(
        "import signal, sys, torch\n"
        "from crest.readouts.fast.threads import on_threads\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "torch.set_num_threads(2)\n"
        "on_threads(lambda begin, end: None, 4)\n"
        "print('ready', flush=True)\n"
        "try:\n"
        "    while True:\n"
        "        on_threads(lambda begin, end: None, 4)\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(7)\n"
    )
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(0.05)
            child.send_signal(signal.SIGINT)
            try:
                assert child.wait(20) == 7
            finally:
                child.kill()
