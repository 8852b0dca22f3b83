"""Share the trajectories of a batch among threads: torch's own if they can be reached.

After a parallel loop of torch, the threads of OpenMP go on waiting busily for the next one, for milliseconds. A second pool
competes with them for the same cores: on two cores, two threads were slower than one. GNU OpenMP, which torch has on Linux, runs
any function on the threads that wait. Elsewhere there is a pool.
"""

import ctypes
import functools
import itertools
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

# Trajectories are handed out in this many parts for each thread, so that one which began late takes fewer.
# our choice: docs/evidence/choices.md#threads
_PARTS = 4

_PROCESS = os.getpid()


def on_threads(kernel: Callable[..., None], trajectories: int, *arguments: Any) -> None:
    """Run `kernel(begin, end, *arguments)` over all trajectories, on as many threads as torch uses."""
    # As many as torch itself asks for: OpenMP ends and makes threads anew when the number changes.
    threads = torch.get_num_threads()
    if min(threads, trajectories) <= 1:
        kernel(0, trajectories, *arguments)
        return
    parts = min(_PARTS * threads, trajectories)
    ends = [trajectories * part // parts for part in range(parts + 1)]
    # `next` on a counter is atomic: no part is taken twice.
    numbers = itertools.count()

    def work() -> None:
        while (part := next(numbers)) < parts:
            kernel(ends[part], ends[part + 1], *arguments)

    run = torch_threads()
    # OpenMP's threads do not survive a fork.
    if run is not None and os.getpid() == _PROCESS:
        run(work, threads)
        return
    executor = _pool(os.getpid(), threads)
    others = [executor.submit(work) for _ in range(threads - 1)]
    work()
    for other in others:
        other.result()


@functools.cache
def torch_threads() -> Callable[[Callable[[], None], int], None] | None:
    """A function that runs another on a number of torch's threads at once, the caller among them; None if out of reach."""
    if "ATen parallel backend: OpenMP" not in torch.__config__.parallel_info():
        return None
    # The one that torch brings and has loaded: another OpenMP would be a second pool.
    folder = Path(torch.__file__).parent
    brought = [*folder.glob("lib/libgomp*.so*"), *folder.parent.glob("torch.libs/libgomp*.so*")]
    if not brought:
        return None
    try:
        parallel = ctypes.CDLL(str(brought[0])).GOMP_parallel
    except (AttributeError, OSError):
        return None
    loop = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    parallel.argtypes = (loop, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)
    parallel.restype = None

    def run(work: Callable[[], None], threads: int) -> None:
        raised: list[BaseException] = []
        finished: set[int] = set()

        def guarded(_: int | None) -> None:
            # An exception cannot pass through OpenMP.
            try:
                work()
            except BaseException as error:
                raised.append(error)
            finished.add(threading.get_ident())

        parallel(loop(guarded), None, threads, 0)
        try:
            if raised:
                raise raised[0]
            if threading.get_ident() not in finished:
                # Ctrl-C at the door of the function is printed and dropped by ctypes: its work was not done.
                raise KeyboardInterrupt
        finally:
            # An error's traceback holds this frame, which would hold the error.
            raised.clear()

    return run


# By process: a fork inherits the cache, and a pool whose threads did not come along would wait for ever.
@functools.cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix=f"crest-{process}")
