"""`crest verify`: train some kept runs again and compare."""

# ruff: noqa: PLC0415

import secrets
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from crest.lab.cli.console import console, errors, print_json, words_aside
from crest.lab.cli.runs import ELSEWHERE, RESULTS

if TYPE_CHECKING:
    from crest.lab.runs.record import Record
    from crest.lab.runs.verify import Check


def verify_records(
    *,
    sample: int,
    folder: Path = RESULTS,
    seed: int | None = None,
    cheapest: bool = False,
    jobs: int | None = None,
    json: bool = False,
) -> None:
    """Train some of the kept runs again and compare the results. The exit status is 1 if they differ.

    Parameters
    ----------
    sample
        How many runs to train. They are drawn at random.
    folder
        Where the records are. This command does not change them.
    seed
        Seed of the draw: the same seed draws the same runs. Default: a new seed, which is printed.
    cheapest
        Take the runs that took the least time instead of random ones.
    jobs
        How many processes to use, with one thread each. Default: one for each core.
    json
        Print the runs and what differs as JSON.
    """
    from crest._base.arguments import require
    from crest.lab.cli.progress import progress
    from crest.lab.runs import verify as verifying
    from crest.lab.runs.durations import TimeLeft, kept_seconds
    from crest.lab.runs.executors import LocalExecutor
    from crest.lab.runs.store import Store

    words_aside(json)
    # Before the records are read, which takes a while.
    require("sample", sample, "be a whole number, 1 or more")
    if cheapest and seed is not None:
        raise ValueError(f"seed is for a random sample: --cheapest draws none, got {seed}")
    if seed is not None:
        require("seed", seed, "be a whole number, 0 or more")
    if not folder.exists():
        raise ValueError(f"folder must have the records of runs, but {folder} does not exist: {ELSEWHERE}")
    executor = LocalExecutor(jobs)
    here, absent = verifying.with_data(verifying.readable(Store(folder)))
    _say_what_is_left_out(absent)
    if not here:
        raise ValueError(f"no record of {folder} can be verified here: their data are missing")
    drawn_by = None if cheapest else secrets.randbelow(2**32) if seed is None else seed
    if drawn_by is None:
        chosen = verifying.cheapest(here, sample)
        how = "those that took the least time"
    else:
        chosen = verifying.drawn(here, sample, drawn_by)
        how = f"drawn with --seed {drawn_by}"
    console.print(f"{len(chosen)} of {len(here)} runs are trained again: {how}", markup=False)
    # As in `crest run`: a command that is ended by a signal removes its temporary folder.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    left = TimeLeft([record.spec for record in chosen], kept_seconds(Store(folder)), lambda: executor.slots)
    with executor, progress(total=len(chosen), left=left) as listener:
        checks = verifying.verify(chosen, executor, listener=listener)
    if json:
        print_json({"folder": folder, "seed": drawn_by, "runs": [_compared(check) for check in checks]})
    else:
        _show(checks)
    wrong = [check for check in checks if not check.agrees]
    if wrong:
        verb = "does" if len(wrong) == 1 else "do"
        raise SystemExit(
            f"crest: {len(wrong)} of {len(checks)} runs {verb} not agree with the records in {folder}; what "
            "counts as equal is in docs/evidence/choices.md#tolerance"
        )
    console.print("All agree within the tolerance of docs/evidence/choices.md#tolerance.", markup=False)


def _say_what_is_left_out(absent: dict[str, str]) -> None:
    """Print a line for each reason instead of each run, because a missing folder concerns many runs."""
    for reason in dict.fromkeys(absent.values()):
        names = [name for name, why in absent.items() if why == reason]
        first, *_, remedy = reason.splitlines()
        errors.print(f"crest: left out {len(names)} runs such as {names[0]}: {first}. {remedy}", markup=False)


def _compared(check: "Check") -> dict[str, object]:
    """A run as a script reads it; `new` is null if the run failed."""
    kept, new = (
        None if record is None else {"id_error": record.score.id, "ood_error": record.score.ood}
        for record in (check.kept, check.new)
    )
    return {
        "run": check.kept.id,
        "agrees": check.agrees,
        "kept": kept,
        "new": new,
        "differences": check.differences,
    }


def _show(checks: "list[Check]") -> None:
    from rich.table import Table

    from crest.lab.runs.verify import surroundings

    table = Table(
        "run", "kept ID", "OOD", "CiE@1", "new ID", "OOD", "CiE@1", "agrees", box=None, pad_edge=False
    )
    for check in checks:
        new = ("-",) * 3 if check.new is None else _numbers(check.new)
        table.add_row(check.kept.id, *_numbers(check.kept), *new, "yes" if check.agrees else "NO")
    console.print(table)
    for check in checks:
        others = surroundings(check.kept, check.new) if check.differences and check.new is not None else []
        for text in (*check.differences, *others):
            console.print(f"{check.kept.id}: {text}", markup=False)


def _numbers(record: "Record") -> tuple[str, str, str]:
    """ID and OOD error and CiE@1 on the ID split; a dash where the events are not known."""
    credit = record.credit.get("id")
    return (
        f"{record.score.id:.3f}",
        f"{record.score.ood:.3f}",
        "-" if credit is None else f"{credit.cie:.2f}",
    )
