"""Processes that run out of memory: the run is blamed in a sentence, the others finish, and a resume does the rest."""

import contextlib
import multiprocessing
import os
import resource
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crest._base.files import PARTIAL
from crest.lab.cli.progress import reason
from crest.lab.runs.executors import LocalExecutor
from crest.lab.runs.runner import run
from crest.lab.runs.spec import RunSpec
from crest.lab.runs.store import Store
from crest.lab.runs.sweep import sweep
from crest.lab.runs.worker import MORE_MEMORY, NO_MEMORY
from crest.lab.systems import Sizes
from sweeping import Heard, numbers, tiny

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="the limits of another process need Linux"),
]

MIB = 2**20
ROOM = 128 * MIB
"""What a process may take beyond what it had after a tiny run; the greedy one takes three times as much."""


def greedy(seed: int) -> RunSpec:
    """A run with a hidden layer so wide that the values of a batch take more than the room."""
    sizes = Sizes(train=8, id=8, ood=8)
    return tiny(seed=seed, encoder="pointwise", encoder_options={"hidden": 2**13}, sizes=sizes)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


def pages(pid: int) -> tuple[int, int]:
    """The bytes that a process has mapped, and those that are in memory; zeros once it is gone."""
    try:
        mapped, resident = Path(f"/proc/{pid}/statm").read_text().split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return 0, 0
    return int(mapped) * resource.getpagesize(), int(resident) * resource.getpagesize()


def assert_whole(store: Store, done: list[RunSpec], failed: RunSpec) -> None:
    """The records of some runs are there, the note of one, and nothing else."""
    names = {path.name for path in store.folder.iterdir() if path.is_file()}
    assert names == {*(f"{spec.id}.json" for spec in done), f"{failed.id}.error"}
    assert not list(store.folder.rglob(f".*{PARTIAL}"))
    assert (store.ids(), store.failures()) == ({spec.id for spec in done}, {failed.id})
    for spec in done:
        assert numbers(store.read(spec.id)) == numbers(run(spec))


def assert_resumed(store: Store, done: list[RunSpec], failed: RunSpec) -> None:
    """With enough memory the rest is done."""
    with LocalExecutor(1) as executor:
        outcome = sweep([*done, failed], store, executor)
    assert (outcome.done, outcome.failed) == ([failed.id], [])
    assert sorted(outcome.found) == sorted(spec.id for spec in done)
    assert store.failures() == set()
    assert store.record(failed).spec == failed


def test_a_run_without_enough_memory_fails_alone_and_its_process_goes_on(store: Store) -> None:
    first, before, after = tiny(seed=1000), tiny(seed=1001), tiny("last", seed=1003)
    with LocalExecutor(1) as executor:
        sweep([first], store, executor)
        pid = executor.submit(os.getpid).result()
        limit = pages(pid)[0] + ROOM
        resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))
        heard = Heard()
        outcome = sweep([before, greedy(1002), after], store, executor, listener=heard)
        assert executor.submit(os.getpid).result() == pid
    assert (outcome.done, outcome.failed) == ([before.id, after.id], [greedy(1002).id])
    assert heard.ids("died") == []
    text = store.failure(greedy(1002).id)
    assert text.startswith("Traceback")
    assert "allocate" in reason(text)
    assert reason(text).endswith(NO_MEMORY)
    done = [first, before, after]
    assert_whole(store, done, greedy(1002))
    assert_resumed(store, done, greedy(1002))


@contextlib.contextmanager
def out_of_memory_killer(limit: int) -> Iterator[list[int]]:
    """Does to the children of this process what the kernel does when one takes too much; those that it killed.

    The kernel's own would need a group of processes with a limit, and the right to make one.
    """
    killed: list[int] = []
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.005):
            for child in multiprocessing.active_children():
                if child.pid is not None and child.pid not in killed and pages(child.pid)[1] > limit:
                    os.kill(child.pid, signal.SIGKILL)
                    killed.append(child.pid)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield killed
    finally:
        ended.set()
        thread.join()


def test_a_run_whose_processes_are_killed_for_memory_fails_alone(store: Store) -> None:
    first, before, after = tiny(seed=1000), tiny(seed=1001), tiny("last", seed=1003)
    with LocalExecutor(2) as executor:
        sweep([first], store, executor)
        usual = int(store.read(first.id).peak_memory) * MIB
        heard = Heard()
        with out_of_memory_killer(usual + ROOM) as killed:
            outcome = sweep([before, greedy(1002), after], store, executor, listener=heard)
    assert len(killed) == LocalExecutor.tries
    assert heard.ids("died") == [greedy(1002).id] * (LocalExecutor.tries - 1)
    assert (sorted(outcome.done), outcome.failed) == (sorted([before.id, after.id]), [greedy(1002).id])
    text = reason(store.failure(greedy(1002).id))
    assert "died each time, the last time by SIGKILL, as when the kernel runs out of memory" in text
    assert text.endswith(MORE_MEMORY)
    done = [first, before, after]
    assert_whole(store, done, greedy(1002))
    assert_resumed(store, done, greedy(1002))


def test_the_killer_kills_what_takes_too_much_and_nothing_else() -> None:
    take = f"(bytearray({ROOM}), __import__('time').sleep(60))"
    with LocalExecutor(2) as executor:
        modest, much = executor.submit(time.sleep, 1), executor.submit(eval, take)
        with out_of_memory_killer(ROOM) as killed:
            assert isinstance(much.exception(), executor.died)
            assert modest.result() is None
        assert executor.end_of(much) == -signal.SIGKILL
    assert len(killed) == 1
