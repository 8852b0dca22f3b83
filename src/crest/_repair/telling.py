"""How a repair tells what it does: sentences, a progress bar, or nothing."""

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

from crest._base.extras import missing_extra

Event: TypeAlias = Literal["given", "begun", "done"]
"""The model as it was given is measured, a candidate begins, or it has ended, well or not."""
Say: TypeAlias = Callable[[Event, str, str], object]
"""Is told what happened, to which candidate, and what there is to say of it."""


@contextlib.contextmanager
def telling(tell: Callable[[str], object] | bool | None, candidates: int) -> Iterator[Say]:
    """A function that is called with an event, a candidate and words.

    Args:
        tell: the user's own, which is called with sentences; True for a progress bar on standard error, or sentences there if
            it is no terminal; or None.
        candidates: how many will be made.
    """
    if tell is not True:
        yield _sentences(tell) if callable(tell) else _silent
        return
    progress, console = _progress(), _console()
    if not console.is_jupyter and (not console.is_terminal or console.is_dumb_terminal):
        # A bar in a file is one line when all is done.
        yield _sentences(lambda words: print(words, file=console.file, flush=True))
        return
    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
    )
    # By default speeds are those of the last 30 seconds, in which no candidate may have ended.
    with progress.Progress(*columns, console=console, speed_estimate_period=math.inf) as bar:
        task = bar.add_task("", total=candidates)
        # The time that is left counts from here, else from the end of the first candidate.
        bar.advance(task, 0)
        running = dict[str, None]()

        def said(event: Event, name: str, words: str) -> None:  # noqa: ARG001
            if event == "begun":
                running[name] = None
            else:
                running.pop(name, None)
            bar.update(task, description=", ".join(running) or name)
            if event == "done":
                bar.advance(task)

        yield said


def _sentences(tell: Callable[[str], object]) -> Say:
    return lambda _, name, words: tell(f"{name}: {words}")


def _silent(_: Event, __: str, ___: str) -> None:
    """Print nothing."""


def _progress() -> Any:
    try:
        from rich import progress  # noqa: PLC0415
    except ImportError as missing:
        raise ImportError(missing_extra("tell=True", "rich", "lab")) from missing
    return progress


def _console() -> Any:
    from rich.console import Console  # noqa: PLC0415

    return Console(stderr=True)
