"""Where runs are executed: processes of this machine, or the workers of a Dask cluster."""

import abc
import contextlib
import importlib
import multiprocessing
import os
import re
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from typing import Any, ParamSpec, TypeVar

from crest._base.arguments import require
from crest._base.extras import missing_extra

P = ParamSpec("P")
R = TypeVar("R")

# Each run has one thread; without these every process would start a pool as wide as the machine.
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

# Seconds in which the kernel has told how a dead process ended.
_ASKED = 5.0


class RunExecutor(Executor, abc.ABC):
    """The interface of `concurrent.futures.Executor`, and what a sweep must know about the place.

    Attributes:
        name: for messages.
        shares_files: whether the processes see the files of this one.
        died: what a future raises when the process of its run died.
        tries: how often a run is given to the executor before its process's death counts as its own fault.
    """

    name: str
    shares_files: bool
    died: tuple[type[BaseException], ...]
    tries: int

    @property
    @abc.abstractmethod
    def slots(self) -> int:
        """How many runs to keep in flight; it may change from one call to the next."""

    @abc.abstractmethod
    def abandon(self) -> None:
        """Give up, now, what is in flight. Nothing can be submitted afterwards."""

    def end_of(self, future: Future[Any]) -> int | None:  # noqa: ARG002
        """The exit status of the process that died with a future, minus its signal if one ended it; None if unknown."""
        return None


class LocalExecutor(RunExecutor):
    """Processes of this machine, one run and one thread each.

    Every process is a pool of its own, so the death of one takes no other run with it; the next run in its
    place gets a new one. The processes end with this one, however it ends. They are spawned: a script that
    uses them needs its `if __name__ == "__main__"`.

    Args:
        jobs: number of processes; by default as many as the cores that this process may use.
    """

    shares_files = True
    died = (BrokenProcessPool,)
    tries = 3  # one death may be the machine's fault, three are the run's

    def __init__(self, jobs: int | None = None) -> None:
        self._jobs = cores() if jobs is None else jobs
        require("jobs", self._jobs, "be a whole number, 1 or more")
        self.name = f"this machine ({self._jobs} processes)"
        self._seats: list[_Seat] = []
        self._processes: weakref.WeakKeyDictionary[Future[Any], BaseProcess] = weakref.WeakKeyDictionary()
        self._closed = False

    @property
    def slots(self) -> int:
        """The number of processes."""
        return self._jobs

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Call `fn` in an idle process; behind another call if there is none."""
        if self._closed:
            raise RuntimeError("cannot submit after shutdown")
        # A new process only where all others are busy: starting one takes seconds of imports.
        seat = min(self._seats, key=_Seat.load, default=None)
        if seat is None or (seat.load() and len(self._seats) < self._jobs):
            seat = _Seat()
            self._seats.append(seat)
        future = seat.submit(fn, *args, **kwargs)
        self._processes[future] = seat.process
        return future

    def end_of(self, future: Future[Any]) -> int | None:
        """How the process of a future ended, which was given to this executor and came back as dead."""
        process = self._processes[future]
        # The pool's own thread asks the kernel too, and only one of them is told.
        deadline = time.monotonic() + _ASKED
        while process.exitcode is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return process.exitcode

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes when their calls are done."""
        self._closed = True
        for seat in self._seats:
            seat.pool.shutdown(wait=wait, cancel_futures=cancel_futures)

    def abandon(self) -> None:
        """Kill the processes."""
        self._closed = True
        for seat in self._seats:
            # Not by shutdown, which waits for the call in progress: a run takes minutes.
            # Python 3.14 names this kill_workers; the pool forgets the mapping when it shuts down
            for process in list((seat.pool._processes or {}).values()):
                process.kill()
        self.shutdown(cancel_futures=True)


class _Seat:
    """One process, and the calls that it was given."""

    def __init__(self) -> None:
        with _for_children():
            self.pool, self.process = self._open()
        self.futures: list[Future[Any]] = []

    @staticmethod
    def _open() -> tuple[ProcessPoolExecutor, BaseProcess]:
        """A pool and its process, which has started. One that dies while it starts is replaced, as a run's process is."""
        # Not forked: a child with the locks of torch's and numba's threads, but without the threads, would hang.
        context = multiprocessing.get_context("spawn")
        for attempt in range(1, LocalExecutor.tries + 1):
            pool = ProcessPoolExecutor(1, mp_context=context, initializer=_end_with_parent)
            try:
                # A process that cannot start is no run's fault, and would be taken for one.
                pool.submit(os.getpid).result()
                (process,) = pool._processes.values()
            except BrokenProcessPool as error:
                if attempt == LocalExecutor.tries:
                    raise RuntimeError(
                        f"a process could not be started, {attempt} times: killed, or out of memory, or a script "
                        "that needs `if __name__ == '__main__':`"
                    ) from error
            else:
                break
        return pool, process

    def load(self) -> int:
        self.futures = [future for future in self.futures if not future.done()]
        return len(self.futures)

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        with _for_children():
            try:
                future = self.pool.submit(fn, *args, **kwargs)
            except BrokenProcessPool:
                # The process of the last call died. Its future has said so; this call gets a new one.
                self.pool, self.process = self._open()
                future = self.pool.submit(fn, *args, **kwargs)
        self.futures.append(future)
        return future


@contextlib.contextmanager
def _for_children() -> Iterator[None]:
    """What processes started inside the block inherit: one thread, and no Ctrl-C, which is for this process."""
    # Started with the first process otherwise, and its start lets signals through again.
    resource_tracker.ensure_running()
    before = {key: os.environ.get(key) for key in _ONE_THREAD}
    os.environ.update(_ONE_THREAD)
    # Blocked from birth, imports included.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _end_with_parent() -> None:
    """Let this process end when its parent does: after a SIGKILL there it would wait for calls for ever."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            # Not sys.exit, which would end this thread alone.
            os._exit(1)

    threading.Thread(target=watch, name="end-with-parent", daemon=True).start()


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ClusterExecutor(RunExecutor):
    """The workers of a Dask cluster that is already there, see docs/lab/cluster.md.

    Dask gives the run of a worker that died to another one. Workers may come and go.

    Args:
        address: of the scheduler, such as `tcp://host:8786`.
        timeout: seconds to wait for it.
    """

    shares_files = False
    tries = 1  # Dask itself has tried `distributed.scheduler.allowed-failures` more times by then

    def __init__(self, address: str, *, timeout: float = 5.0) -> None:
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError as error:
            raise ImportError(missing_extra("--cluster", "distributed", "cluster")) from error
        # Looked at here: Dask's own refusal leaves a half-made client, which complains when the program ends.
        if not re.fullmatch(r"((tcp|tls|wss?|ucx)://)?[^\s/]+:\d+", address):
            raise ValueError(f"address must be like tcp://host:8786, got {address!r}")
        self.name = f"the Dask scheduler at {address}"
        self.died = (distributed.KilledWorker,)
        try:
            self._client = distributed.Client(address, timeout=timeout, set_as_default=False)
        except Exception as error:  # not only timeouts: something else may answer there
            raise ConnectionError(f"no Dask scheduler answers at {address} within {timeout:g} s") from error
        # Not pure: Dask must not take an earlier result for a run that is asked for again.
        self._executor: Executor = self._client.get_executor(pure=False)
        self._threads = 0
        self._counted = float("-inf")

    @property
    def slots(self) -> int:
        """Threads of the workers that are there now, and some more so that none waits for its next run."""
        return self.threads + 2

    @property
    def threads(self) -> int:
        """Threads of the workers that are there now."""
        if time.monotonic() - self._counted > 1:
            try:
                self._threads = sum(self._client.nthreads().values())
            except Exception as error:
                raise ConnectionError(f"{self.name} went away: {error}") from error
            self._counted = time.monotonic()
        return self._threads

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Call `fn` on a worker. A future that was not cancelled here but says so lost its scheduler."""
        return self._executor.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster, which stays."""
        self._executor.shutdown(wait=wait and not cancel_futures)
        self._client.close()

    def abandon(self) -> None:
        """Cancel the runs that were handed out. A worker in the middle of one finishes it, and its result is dropped."""
        self.shutdown(wait=False)
