"""`crest pack`: the records of a folder in one file, the form in which they are published."""

# ruff: noqa: PLC0415

from pathlib import Path
from typing import TYPE_CHECKING

from crest.lab.cli.console import console, errors
from crest.lab.cli.runs import RESULTS

if TYPE_CHECKING:
    from crest.lab.runs.store import Store

DO_SOME = "name another folder with --folder, or make records first: crest run NAME"
"""What to do if there is nothing to pack."""


def pack(*, folder: Path = RESULTS, output: Path | None = None) -> None:
    """Fold the files of finished runs into one sorted file, records.jsonl, with a line per run.

    You can stop it and start it again at any time, even beside `crest run`: nothing is lost.

    Parameters
    ----------
    folder
        Where the records are.
    output
        Another folder to write the records to; the first one then keeps its files. Default: the same folder, where packed files
        are removed.
    """
    from crest.lab.runs.pack import fold
    from crest.lab.runs.store import Store
    from crest.lab.runs.study import FOLDER, copy_studies

    if not folder.is_dir():
        raise ValueError(f"folder must have the records of runs, but {folder} is not a folder: {DO_SOME}")
    source = Store(folder)
    # Before anything is claimed: what has nothing to do leaves nothing behind.
    if not source.ids() and not source.failures() and not any((folder / FOLDER).glob("*.json")):
        raise ValueError(f"folder must have the records of runs, got none in {folder}: {DO_SOME}")
    if output is not None:
        _refuse_trial(source)
    target = source if output is None else Store(output)
    folded = fold(source, target)
    copied = copy_studies(source.folder, target.folder)
    if not (folded.packed or folded.stale or copied):
        raise ValueError(f"folder must have the records of runs, got none in {folder}: {DO_SOME}")
    same = len(folded.packed) - len(folded.added) - len(folded.replaced)
    console.print(
        f"{target.packed.path} has {len(folded.packed)} runs: {len(folded.added)} new, {len(folded.replaced)} replaced, "
        f"{same} as before" + (f"; studies copied: {len(copied)}" if copied else ""),
        markup=False,
    )
    _say(folded.failed, "runs that failed and have no record", "`crest status` says why")
    _say(
        folded.stale,
        "records from before their defaults changed",
        "they are kept: do their runs again, then remove them",
    )
    _say(
        folded.busy,
        "runs that another process is working on",
        "their files are kept, so pack again later",
    )


def _refuse_trial(source: "Store") -> None:
    """Numbers that mean nothing must not get among the published ones."""
    from crest.lab.evidence import CATALOG

    trial = source.ids() & {spec.id for one in CATALOG.values() for spec in one.quick().runs}
    if trial:
        raise ValueError(
            f"folder must have no trial runs, since their numbers mean nothing, got {len(trial)} in {source.folder}, such "
            f"as {min(trial)}"
        )


def _say(runs: list[str], what: str, remedy: str) -> None:
    if runs:
        errors.print(f"crest: {what}: {len(runs)}, such as {runs[0]}; {remedy}", markup=False)
