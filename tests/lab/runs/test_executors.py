import functools
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from crest.lab.runs import executors
from crest.lab.runs.executors import ClusterExecutor, LocalExecutor, cores
from sweeping import until


def test_refuses_no_processes() -> None:
    with pytest.raises(ValueError, match="jobs must be a whole number, 1 or more, got 0"):
        LocalExecutor(0)


def test_uses_the_cores_that_it_may() -> None:
    assert LocalExecutor().slots == cores() >= 1


def test_calls_beyond_the_slots_queue() -> None:
    pids: set[int] = set()
    until = time.monotonic() + 60
    with LocalExecutor(2) as executor:
        # On a busy machine one process may do all six before the other has started.
        while len(pids) < 2 and time.monotonic() < until:
            pids |= {future.result() for future in [executor.submit(os.getpid) for _ in range(6)]}
    assert len(pids) == 2
    assert os.getpid() not in pids


def test_children_have_one_thread_and_no_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with LocalExecutor(1) as executor:
        assert executor.submit(os.getenv, "OMP_NUM_THREADS").result() == "1"
        assert executor.submit(os.getenv, "MKL_NUM_THREADS").result() == "1"
        blocked = executor.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ()).result()
    assert signal.SIGINT in blocked
    # This process is as before.
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_the_first_process_of_all_is_shielded_from_interrupts_too(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import signal\n"
        "from crest.lab.runs.executors import LocalExecutor\n"
        "if __name__ == '__main__':\n"
        "    with LocalExecutor(1) as executor:\n"
        "        print(executor.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ()).result())\n"
    )
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert "SIGINT" in result.stdout


# Long enough that two calls overlap; a builtin, so that the process need not find this file.
SLOW_PID = "(__import__('time').sleep(1), __import__('os').getpid())[1]"


def pids(executor: LocalExecutor) -> set[int]:
    return {future.result() for future in [executor.submit(eval, SLOW_PID), executor.submit(eval, SLOW_PID)]}


def test_death_takes_no_other_call_with_it() -> None:
    with LocalExecutor(2) as executor:
        pids(executor)  # the first call may be over before the second process has started
        before = pids(executor)
        dying, other = executor.submit(os._exit, 1), executor.submit(time.sleep, 0.5)
        assert isinstance(dying.exception(), BrokenProcessPool)
        assert isinstance(dying.exception(), executor.died)
        assert other.result() is None
        after = pids(executor)
    assert len(after) == 2
    assert len(after & before) == 1


def test_tells_how_the_process_of_a_call_ended() -> None:
    with LocalExecutor(1) as executor:
        dying = [executor.submit(os._exit, 3)]
        assert isinstance(dying[0].exception(), executor.died)
        # In the place of the dead one, so the two must not be mixed up.
        pid = executor.submit(os.getpid).result()
        dying.append(executor.submit(os.kill, pid, signal.SIGKILL))
        assert isinstance(dying[1].exception(), executor.died)
        assert [executor.end_of(future) for future in dying] == [3, -signal.SIGKILL]


def test_abandon_kills_at_once() -> None:
    executor = LocalExecutor(2)
    futures = [executor.submit(time.sleep, 10_000) for _ in range(3)]
    until(lambda: len(multiprocessing.active_children()) == 2)
    executor.abandon()
    assert all(future.cancelled() or isinstance(future.exception(), BrokenProcessPool) for future in futures)
    assert not multiprocessing.active_children()
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(os.getpid)


def test_cluster_without_distributed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"--cluster needs distributed\. Install the extra cluster: "):
        ClusterExecutor("tcp://127.0.0.1:8786")


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_so_and_no_run_is_blamed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from crest.lab.runs.executors import LocalExecutor\n"
        "with LocalExecutor(1) as executor:\n"
        "    executor.submit(print, 'hello').result()\n"
    )
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert "a script that needs `if __name__ == '__main__':`" in result.stderr
    assert "hello" not in result.stdout


def dying(starts: int, seen: list[int]) -> Any:
    """Pools whose process ends while it starts, so many times; then sound ones."""

    def make(*arguments: Any, **options: Any) -> ProcessPoolExecutor:
        seen.append(len(seen))
        if len(seen) <= starts:
            options["initializer"] = functools.partial(os._exit, 9)
        return ProcessPoolExecutor(*arguments, **options)

    return make


def test_a_process_that_dies_while_it_starts_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(executors, "ProcessPoolExecutor", dying(LocalExecutor.tries - 1, seen))
    with LocalExecutor(1) as executor:
        assert executor.submit(os.getpid).result() != os.getpid()
    assert len(seen) == LocalExecutor.tries


def test_a_process_that_never_starts_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "ProcessPoolExecutor", dying(99, []))
    with (
        LocalExecutor(1) as executor,
        pytest.raises(RuntimeError, match=f"could not be started, {LocalExecutor.tries} times"),
    ):
        executor.submit(os.getpid)
