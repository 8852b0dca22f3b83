"""`crest demo`: train attention and CREST on a small SG-Drive, and see where they read."""

# ruff: noqa: PLC0415

import dataclasses
from pathlib import Path

from crest.lab.cli.console import TRIAL, console

OUTPUT = Path("outputs") / "demo"
TRIAL_OUTPUT = Path("outputs") / "trial-demo"
DEMO_INTRO = (
    "A gear drive whose faults show in brief events, while in training the speed happens to tell the severity too. "
    "Attention reads the cue; CREST, without labels, reads the events. One development seed and a small training set: "
    "the evidence is in `crest report`."
)


def demo(*, output: Path | None = None, quick: bool = False) -> None:
    """Show the failure and its repair: simulate SG-Drive, train attention and CREST, write a page.

    Parameters
    ----------
    output
        Folder for the page and the records. Default: outputs/demo, or outputs/trial-demo with --quick. Models whose
        record is there already are not trained again.
    quick
        Try the machinery in seconds, with 32 trajectories and two epochs. The numbers mean nothing.
    """
    from rich.table import Table

    from crest.files import whole_file
    from crest.lab.cli.progress import progress
    from crest.lab.evidence.demo import DEMO_EXPERIMENT
    from crest.lab.report.page import page
    from crest.lab.runs.executors import LocalExecutor
    from crest.lab.runs.store import Store
    from crest.lab.runs.sweep import sweep

    experiment = DEMO_EXPERIMENT.quick() if quick else DEMO_EXPERIMENT
    output = output or (TRIAL_OUTPUT if quick else OUTPUT)
    if output.exists() and not output.is_dir():
        raise ValueError(f"output must be a folder or a place for one, got the file {output}")
    output.mkdir(parents=True, exist_ok=True)
    store = Store(output / "records")
    with LocalExecutor() as executor, progress(total=len(experiment.runs)) as listener:
        outcome = sweep(experiment.runs, store, executor, listener=listener)
    if outcome.failed:
        raise SystemExit(f"crest: what went wrong is in {store.folder}/*.error")
    # The catalog does not have this experiment, so `crest run` cannot make it again.
    piece = dataclasses.replace(experiment.piece(store), command="crest demo")
    explored = [store.record(spec) for spec in experiment.runs]
    place = output / "page.html"
    intro = f"{TRIAL}\n\n{DEMO_INTRO}" if quick else DEMO_INTRO
    with whole_file(place) as file:
        file.write(page([piece], explored, title="crest: the demo", intro=intro).encode())
    for table in piece.shown.tables:
        shown = Table(*table.header, title=piece.summary, title_justify="left", caption=table.caption)
        for row in table.rows:
            shown.add_row(*row)
        console.print(shown)
    if outcome.found:
        console.print(
            f"{len(outcome.found)} of {len(experiment.runs)} runs were there already, in {store.folder}.",
            markup=False,
        )
    if quick:
        console.print(TRIAL)
    console.print(f"Page, with an explorer of where each model reads: {place}", markup=False, soft_wrap=True)
