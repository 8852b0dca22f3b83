"""How a repair tells what it does: sentences, a progress bar, or nothing."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def telling(
    tell: Callable[[str], object] | bool | None, candidates: int
) -> Iterator[Callable[[str], object]]:
    """A function that is called with sentences.

    Args:
        tell: the user's own, True for a progress bar on standard error, or None.
        candidates: how many will be made.
    """
    if tell is not True:
        yield tell if callable(tell) else _silent
        return
    progress = _progress()
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=_console()) as bar:
        task = bar.add_task("as it is", total=candidates)

        def said(words: str) -> None:
            name, _, what = words.partition(": ")
            # A candidate that begins is being trained or fitted; all other words are of one that is done. A name may be any.
            together = name.startswith("training ") and name.endswith("at a time")
            bar.update(task, description="side by side" if together else name)
            if not together and not what.startswith(("training", "fitting")) and name != "as it is":
                bar.advance(task)

        yield said


def _silent(_: str) -> None:
    """Print nothing."""


def _progress() -> Any:
    try:
        from rich import progress  # noqa: PLC0415
    except ImportError as missing:
        raise ImportError("tell=True needs rich: pip install 'crest-readout[lab]'") from missing
    return progress


def _console() -> Any:
    from rich.console import Console  # noqa: PLC0415

    return Console(stderr=True)
