"""Candidates one after the other, or side by side in processes: the same candidates either way."""

import contextlib
import functools
import os
import pickle
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from crest._base.extras import missing_extra
from crest._base.rng import set_torch_settings, torch_settings
from crest._repair.measuring import Yardstick
from crest._repair.telling import Say
from crest._repair.workshop import FitResultError, TriedModel, Workshop
from crest.remedies.remedy import Remedy

_LOOKS = 0.5
"""Seconds between two looks of a process at its parent."""
_IN_FRONT = (
    ". The front is a wrapper around the model, crest.remedies.WithFront: fit must take any module, and for a "
    "LightningModule the network inside is what to repair (docs/user/repair.md)"
)

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def tried(
    workshop: Workshop,
    remedies: Mapping[str, Remedy],
    yardstick: Yardstick,
    say: Say,
    jobs: int = 1,
) -> tuple[dict[str, TriedModel], dict[str, str]]:
    """The candidates by name, in the order of the remedies, and why others are none.

    Args:
        workshop: makes candidates.
        remedies: what is tried.
        yardstick: how candidates are measured.
        say: is told of each.
        jobs: how many are made at a time, each in a process of its own; 1 makes them in this one.
    """
    lacking = {name: workshop.lacks(remedy) for name, remedy in remedies.items()}
    skipped = {name: why for name, why in lacking.items() if why is not None}
    wanted = {name: remedy for name, remedy in remedies.items() if name not in skipped}
    started, made = time.perf_counter(), dict[str, TriedModel]()
    makers = _side_by_side if jobs > 1 and len(wanted) > 1 else _in_turn
    with (
        _ended_with_words(made),
        contextlib.closing(makers(workshop, wanted, yardstick, say, jobs)) as each,
    ):
        for number, (name, found) in enumerate(each, 1):
            left = _time_left(time.perf_counter() - started, number, len(wanted))
            if isinstance(found, TriedModel):
                made[name] = found
                say("done", name, f"{in_numbers(found)} ({number} of {len(wanted)}{left})")
            else:
                skipped[name] = found
                say("done", name, found)
    return {name: made[name] for name in wanted if name in made}, skipped


@contextlib.contextmanager
def _ended_with_words(made: Mapping[str, TriedModel]) -> Iterator[None]:
    """If the block is ended from outside, by Ctrl-C or SIGTERM, a warning tells what was measured by then."""

    def ended(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    # A handler of the user's own stays, and only the main thread can set one. Without any, Python would end at once, and no
    # `finally` would run.
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
    if ours:
        signal.signal(signal.SIGTERM, ended)
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        told = [f"{name}: {in_numbers(one)}" for name, one in made.items()]
        warnings.warn(
            f"repair was ended early. Measured so far: {'; '.join(told) or 'nothing'}", stacklevel=2
        )
        raise
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def in_numbers(one: TriedModel) -> str:
    """What was measured of a candidate, in words."""
    row = one.row
    judged = (
        ""
        if row.judged_by is None
        else f", {'expected' if row.even_error is None else 'even'} error {row.judged_by:.3g}"
    )
    return f"ID error {row.id_error:.3g}{judged}, {row.seconds:.1f} s"


def _time_left(seconds: float, done: int, wanted: int) -> str:
    """In words, from the mean so far: side by side it starts too high, as what takes longest begins."""
    if done == wanted:
        return ""
    left = seconds / done * (wanted - done)
    return f", about {left / 60:.0f} min left" if left >= 90 else f", about {left:.0f} s left"


def made_or_why(workshop: Workshop, name: str, remedy: Remedy, yardstick: Yardstick) -> TriedModel | str:
    """The candidate, or a sentence on why it failed. A `fit` that returns something else than a model is an error of the user's."""
    try:
        one = workshop.made(name, remedy, yardstick)
        one.row.candidate()
    except FitResultError:
        raise
    except Exception as failed:
        why = f"It failed: {in_words(failed)}"
        if remedy.front is not None and isinstance(failed, TypeError | AttributeError):
            why += _IN_FRONT
        return why
    return one


def in_words(failed: Exception) -> str:
    """An exception on one line."""
    return " ".join(f"{type(failed).__name__}: {failed}".split())


def _in_turn(
    workshop: Workshop,
    remedies: Mapping[str, Remedy],
    yardstick: Yardstick,
    say: Say,
    jobs: int,  # noqa: ARG001
) -> Generator[tuple[str, TriedModel | str], None, None]:
    for name, remedy in remedies.items():
        say("begun", name, _beginning(remedy))
        yield name, made_or_why(workshop, name, remedy, yardstick)


def _beginning(remedy: Remedy) -> str:
    return "training" if remedy.needs_fit else "fitting the head again"


def _takes_long(remedy: Remedy) -> bool:
    """Whether a training with it takes about twice as long as one without, in the small network of `crest bench repair`."""
    return remedy.pooling == "trained" or (remedy.change is not None and "tones" in remedy.against)


@functools.cache
def _end_with(parent: int) -> None:
    """End this process when its parent has: joblib's processes would train on, and then wait for another call that never comes."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOKS)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


def _side_by_side(
    workshop: Workshop,
    remedies: Mapping[str, Remedy],
    yardstick: Yardstick,
    say: Say,
    jobs: int,
) -> Generator[tuple[str, TriedModel | str], None, None]:
    """In a pool of joblib's processes: they can be sent functions and models that were written in a script.

    The pool is this call's own and ends with it, so that no process stays behind and none of the user's is ended. No process
    holds more than one candidate and its data, and what all candidates share is written once, to a file.
    """
    joblib = _joblib()
    threads = max(1, torch.get_num_threads() // jobs)
    limits = {name: str(threads) for name in _THREADS if name not in os.environ}
    # What takes longest first, so that no process is left alone with it at the end.
    waiting = sorted(remedies.items(), key=lambda one: not _takes_long(one[1]))
    running = dict[Future[TriedModel | str], str]()
    with tempfile.TemporaryDirectory(prefix="crest-") as folder:
        shared = Path(folder) / "shared.pickle"
        _write(shared, (workshop, yardstick, torch_settings()), jobs, joblib)
        pool = joblib.parallel.loky.ProcessPoolExecutor(min(jobs, len(remedies)), env=limits)
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    name, remedy = waiting.pop(0)
                    say("begun", name, _beginning(remedy))
                    running[pool.submit(_in_process, shared, name, remedy, threads, os.getpid())] = name
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(future), _sent_back(future)
        finally:
            # A caller that stops early does not wait for candidates that are still trained.
            pool.shutdown(kill_workers=bool(running))


def _in_process(shared: Path, name: str, remedy: Remedy, threads: int, parent: int) -> TriedModel | str:
    """The candidate or why there is none, made from the file: each starts from the same state, whatever its process did before."""
    _end_with(parent)
    with shared.open("rb") as file:
        workshop, yardstick, settings = pickle.load(file)
    set_torch_settings(settings)
    torch.set_num_threads(threads)
    # What a training does in parallel itself stays in this process, which may be killed.
    with _joblib().parallel_backend("threading"):
        return made_or_why(workshop, name, remedy, yardstick)


def _write(shared: Path, value: object, jobs: int, joblib: Any) -> None:
    """Pickle what the processes share. Who can write nothing in a folder, or has no room there, is told by the error itself."""
    try:
        with shared.open("wb") as file:
            joblib.parallel.loky.backend.reduction.dump(value, file, reducers={Tensor: _own_values})
    except OSError:
        raise
    except Exception as failed:
        raise ValueError(
            f"jobs must be 1 if the model, fit, error or batches cannot be pickled, got {jobs}: {in_words(failed)}"
        ) from failed


def _own_values(tensor: Tensor) -> Any:
    """How a tensor is pickled: without the rest of what it is a part of, since each batch of one array would write all of it."""
    whole = tensor.layout is not torch.strided or tensor.untyped_storage().nbytes() <= tensor.nbytes
    return (tensor if whole else tensor.clone()).__reduce_ex__(pickle.HIGHEST_PROTOCOL)  # type: ignore[no-untyped-call]


def _sent_back(future: Future[TriedModel | str]) -> TriedModel | str:
    """What a process returned, or why it could not: it was killed, or its candidate cannot be pickled."""
    try:
        return future.result()
    except FitResultError:
        raise
    except Exception as failed:
        return f"It failed: {in_words(failed)}"


def _joblib() -> Any:
    try:
        import joblib.parallel  # noqa: PLC0415
    except ImportError as missing:
        raise ImportError(missing_extra("jobs= above 1", "joblib", "sklearn")) from missing
    return joblib
