"""Candidates one after the other, or side by side in processes: the same candidates either way."""

import contextlib
import functools
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

import torch

from crest._base.rng import set_torch_settings, torch_settings
from crest._repair.measuring import Yardstick
from crest._repair.workshop import FitResultError, TriedModel, Workshop
from crest.remedies.remedy import Remedy

_LOOKS = 0.5
"""Seconds between two looks of a process at its parent."""
_IN_FRONT = (
    ". The front is a wrapper around the model, crest.remedies.WithFront: fit must take any module, and for a "
    "LightningModule the network inside is what to repair (docs/repair.md)"
)


def tried(
    workshop: Workshop,
    remedies: Mapping[str, Remedy],
    yardstick: Yardstick,
    say: Callable[[str], object],
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
        contextlib.closing(makers(workshop, wanted, yardstick, say, jobs)) as making,
    ):
        for number, (name, found) in enumerate(making, 1):
            left = _time_left(time.perf_counter() - started, number, len(wanted))
            if isinstance(found, TriedModel):
                made[name] = found
                told_numbers(say, name, found, f" ({number} of {len(wanted)}{left})")
            else:
                skipped[name] = found
                say(f"{name}: {found}")
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
        told: list[str] = []
        for name, one in made.items():
            told_numbers(told.append, name, one)
        warnings.warn(
            f"repair was ended early. Measured so far: {'; '.join(told) or 'nothing'}", stacklevel=2
        )
        raise
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def told_numbers(say: Callable[[str], object], name: str, one: TriedModel, more: str = "") -> None:
    """Tell what was measured of a candidate."""
    row = one.row
    judged = (
        ""
        if row.judged_by is None
        else f", {'expected' if row.even_error is None else 'even'} error {row.judged_by:.3g}"
    )
    say(f"{name}: ID error {row.id_error:.3g}{judged}, {row.seconds:.1f} s{more}")


def _time_left(seconds: float, done: int, wanted: int) -> str:
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
        why = f"It failed: {' '.join(f'{type(failed).__name__}: {failed}'.split())}"
        if remedy.front is not None and isinstance(failed, TypeError | AttributeError):
            why += _IN_FRONT
        return why
    return one


def _in_turn(
    workshop: Workshop,
    remedies: Mapping[str, Remedy],
    yardstick: Yardstick,
    say: Callable[[str], object],
    jobs: int,  # noqa: ARG001
) -> Generator[tuple[str, TriedModel | str], None, None]:
    for name, remedy in remedies.items():
        say(f"{name}: {'training' if remedy.needs_fit else 'fitting the head again'}")
        yield name, made_or_why(workshop, name, remedy, yardstick)


def _in_process(
    workshop: Workshop,
    name: str,
    remedy: Remedy,
    yardstick: Yardstick,
    *,
    ways: tuple[Any, ...],
    threads: int,
    parent: int,
) -> tuple[str, TriedModel | str]:
    _end_with(parent)
    set_torch_settings(ways)
    torch.set_num_threads(threads)
    return name, made_or_why(workshop, name, remedy, yardstick)


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
    say: Callable[[str], object],
    jobs: int,
) -> Generator[tuple[str, TriedModel | str], None, None]:
    """In processes that joblib starts and ends: it can send functions and models that were written in a script."""
    joblib = _joblib()
    say(f"training {len(remedies)} candidates, {jobs} at a time: {', '.join(remedies)}")
    threads = max(1, torch.get_num_threads() // jobs)
    calls = (
        joblib.delayed(_in_process)(
            workshop, name, remedy, yardstick, ways=torch_settings(), threads=threads, parent=os.getpid()
        )
        for name, remedy in remedies.items()
    )
    # One call at a time, so that no process holds more than one candidate and its data.
    pool = joblib.Parallel(n_jobs=jobs, batch_size=1, pre_dispatch=jobs, return_as="generator_unordered")
    try:
        yield from pool(calls)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        # joblib would wait for the candidates that are being trained.
        joblib.externals.loky.get_reusable_executor().shutdown(wait=True, kill_workers=True)
        raise


def _joblib() -> Any:
    try:
        import joblib  # noqa: PLC0415
    except ImportError as missing:
        raise ImportError("jobs above 1 needs joblib: pip install 'crest-readout[sklearn]'") from missing
    return joblib
