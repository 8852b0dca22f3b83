"""`crest demo`: a network on recordings of a gear drive, audited, repaired, and audited again."""

# ruff: noqa: PLC0415

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from crest.lab.cli.console import TRIAL, console

OUTPUT = Path("outputs") / "demo"
TRIAL_OUTPUT = Path("outputs") / "trial-demo"
_STEPS = 5


def demo(*, output: Path | None = None, quick: bool = False, anew: bool = False) -> None:
    """Audit a network on recordings of a gear drive, repair it, audit it again, and write a page with both.

    Parameters
    ----------
    output
        Folder for the page, the recordings and the weights. Default: outputs/demo, or outputs/trial-demo with --quick.
        What is there already is not made again.
    quick
        Try the machinery in seconds, with 32 recordings and two epochs. The numbers mean nothing.
    anew
        Take away what an earlier demo left in the folder, and start anew.
    """
    from rich.table import Table

    from crest.lab.demo import DEMO, QUICK_DEMO, DemoFolder
    from crest.lab.demo.steps import moved_by_low_pass
    from crest.lab.runs.runner import one_thread

    settings = QUICK_DEMO if quick else DEMO
    made = DemoFolder(output or (TRIAL_OUTPUT if quick else OUTPUT), settings, anew=anew)
    # Layers this small gain little from more threads, and on a busy machine more of them wait for each other.
    with one_thread(), _told(settings.trainings * settings.epochs) as (step, tell, after_epoch):
        step("Recordings")
        data = made.data(tell)
        step("A network as people write it")
        model = made.trained(data, tell, after_epoch)
        step("What does its answer follow?")
        before = made.audited(model, data)
        _print(before)
        step("Repair")
        mended = made.mended(model, data, tell, after_epoch)
        _print(made.words())
        step("And now?")
        after = made.audited(mended, data)
        _print(after)
        slow = [moved_by_low_pass(one, data) for one in (model, mended)]
    rows = made.errors()
    caption = (
        "A strided CNN with average pooling on SG-Drive, one development seed; errors in deviations of the label. *: chosen by the "
        "repair, which sees no field label. Field: the speed no longer tells the severity. Moved: how far another's background "
        "moves the answers, in their deviations. Core exchange trains on the separation that this uses; with another one, a "
        f"low-pass, it is {slow[0]:.2f} before and {slow[1]:.2f} after. This is one case: crest report has the evidence."
    )
    shown = Table(
        "",
        "ID error",
        "field error",
        "moved",
        title="Before and after",
        title_justify="left",
        caption=caption,
    )
    for row in rows:
        shown.add_row(row.name, f"{row.id_error:.3f}", f"{row.field_error:.3f}", f"{row.moved:.2f}")
    console.print(shown)
    lines = [
        f"{row.name}: ID error {row.id_error:.3f}, field error {row.field_error:.3f}, moved {row.moved:.2f}"
        for row in rows
    ]
    intro = "\n\n".join([*([TRIAL] if quick else []), caption, *lines])
    before.to_html(made.page, after=after, title="crest: the demo", intro=intro)
    if quick:
        console.print(TRIAL)
    console.print(f"Page, before and after, with an explorer: {made.page}", markup=False, soft_wrap=True)


def _print(said: object) -> None:
    console.print(str(said), markup=False, soft_wrap=True)


@contextlib.contextmanager
def _told(epochs: int) -> Iterator[tuple[Callable[[str], None], Callable[[str], None], Callable[[], None]]]:
    """How to say that a step begins, to say a sentence, and to count an epoch: on a bar where there is a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("epochs"), BarColumn(), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip
    task = bar.add_task("epochs", total=epochs)
    begun = 0

    def step(name: str) -> None:
        nonlocal begun
        begun += 1
        console.print(f"\n[{begun}/{_STEPS}] {name}", markup=False, style="bold")

    with bar:
        yield step, _print, lambda: bar.advance(task)
