"""`crest demo`: an ordinary network on simulated recordings, repaired, and audited before and after."""

# ruff: noqa: PLC0415

import contextlib
import os
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from crest.lab.cli.console import TRIAL, console
from crest.lab.cli.output import replacing

if TYPE_CHECKING:
    from crest._audit import Audit
    from crest._repair import Repaired

OUTPUT = Path("outputs") / "demo"
TRIAL_OUTPUT = Path("outputs") / "trial-demo"
_STORY = (
    "A CNN reads the stiffness of a wall that a driven mass hits. In training stiff walls are driven harder; in the field they "
    "are not."
)
_SCALE = "Errors are in standard deviations of the target; a constant prediction has {constant:.2f}."
_BESIDE = ("trained longer", "AC coupling", "high-pass")
"""The control and what people try first: their field errors stand beside whatever was chosen."""
_COMPILES = "crest compiles its operators"
_ONE_CASE = "This is one simulated case and proves nothing by itself. The evidence: crest report."


def demo(*, output: Path | None = None, quick: bool = False, anew: bool = False) -> None:
    """Train a network on simulated recordings, audit it, repair it, audit it again, and write what changed as a page.

    Parameters
    ----------
    output
        Folder for the pages, the recordings and the weights. Default: outputs/demo, or outputs/trial-demo with --quick.
        What is there already is reused.
    quick
        Test the code in seconds, with 32 recordings and two epochs. The numbers mean nothing.
    anew
        Delete what an earlier demo left in the folder, and start again.
    """
    from crest.lab.demo import DEMO, QUICK_DEMO, DemoFolder
    from crest.lab.runs.runner import one_thread

    made = DemoFolder(output or (TRIAL_OUTPUT if quick else OUTPUT), QUICK_DEMO if quick else DEMO, anew=anew)
    # Layers this small gain little from more threads, and on a busy machine more of them wait for each other.
    with one_thread(), _progress() as tell:
        tell("1/4 simulating recordings")
        data = made.data()
        tell("2/4 training a CNN")
        model = made.trained(data)
        tell("3/4 auditing it")
        before = made.audited(model, data)
        tell("4/4 repairing it")
        found = made.mended(model, data, lambda words: tell(f"4/4 repairing it: {words}"))
        after = made.audited(found.model, data)
    lines = [*([TRIAL] if quick else []), _STORY, *_sentences(found, before, after)]
    for style, line in _bars(found):
        console.print(line, markup=False, style=style)
    for line in lines:
        console.print(line, markup=False)
    if made.kept:
        console.print(f"Reused from an earlier run: {', '.join(made.kept)}. --anew starts again.")
    text = "\n\n".join(lines)
    with replacing(made.explorer) as replaced:
        before.to_html(made.explorer, after=after, title="crest: the demo, step by step", intro=text)
    console.print(f"Recordings step by step: {made.explorer}{replaced}", markup=False, soft_wrap=True)
    # What a repair that was read back has no longer is on the page that is there.
    again = "repair" in made.kept and made.page.exists()
    with replacing(made.page) as replaced:
        if not again:
            found.to_html(made.page, title="crest: the demo", intro=text)
    console.print(f"Page: {made.page}{'' if again else replaced}", markup=False, soft_wrap=True)


def _bars(found: "Repaired") -> list[tuple[str, str]]:
    """The result: errors before and after, in the field and on data as in training; a style and a line each."""
    from crest.lab.demo.bars import error_bars

    block = "█" if (console.encoding or "").lower().startswith("utf") else "#"
    one, two = found.before, found.after
    values = {
        "field, before": one.field_error or 0.0,
        "field, after": two.field_error or 0.0,
        "expected, before": one.expected_error or 0.0,
        "expected, after": two.expected_error or 0.0,
        "as in training, before": one.id_error,
        "as in training, after": two.id_error,
    }
    drawn = zip(values, error_bars(values, block=block), strict=True)
    head = f"Error before and after repair: {found.name}"
    return [
        ("bold", head),
        *(("green" if name.endswith("after") else "red", line) for name, line in drawn),
    ]


def _sentences(found: "Repaired", before: "Audit", after: "Audit") -> list[str]:
    """What the bars mean, what decided, and what the others gave, a line each."""
    others = ", ".join(
        f"{name} {one.field_error:.3f}"
        for name, one in found.candidates.items()
        if name in _BESIDE and name != found.name and one.field_error is not None
    )
    constant = found.before.exchange.constant_error or 0.0
    return [
        f"{_SCALE.format(constant=constant)} Expected: with the declared nuisances exchanged, which needs no field label.",
        f"The choice saw no field label: {found.name}.",
        # A sentence a line: each fits on two lines of a terminal.
        *re.split(r"(?<=[.?]) ", found.verdict),
        *(
            [f"Field error of other candidates, of {len(found.candidates)} in all: {others}."]
            if others
            else []
        ),
        f"Verdicts of the audit: {before.verdict} before, {after.verdict} after.",
        _ONE_CASE,
    ]


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Shows what is done now on a terminal, and nothing elsewhere: the result is the first thing that stays."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task("", total=None)
    # The warning tells why one waits, which the line of progress does here. Processes of the repair read the variable.
    kept = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join([*([kept] if kept else []), f"ignore:{_COMPILES}"])
    try:
        with warnings.catch_warnings(), bar:
            warnings.filterwarnings("ignore", message=_COMPILES)
            yield lambda words: bar.update(task, description=words)
    finally:
        if kept is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = kept
