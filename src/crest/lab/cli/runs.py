"""`crest run` and `crest status`: do the runs of an experiment, and see what is there."""

# ruff: noqa: PLC0415

import contextlib
import logging
import shlex
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from crest.lab.cli.console import INTERRUPTED, console, errors, print_json, words_aside
from crest.lab.cli.wording import Behind

if TYPE_CHECKING:
    from crest.lab.evidence.experiment import Experiment

RESULTS = Path("results")
ExperimentName = Literal[
    "field",
    "teaser", "main", "cross", "dynamics", "isolation", "budget", "direction", "adaptive", "readouts", "baselines",
    "deletion", "theory", "splitting", "cwru", "regimes", "severe", "nearest", "remedies", "audit", "vibration", "calibration",
    "convergence", "constants", "steady", "longer", "paper", "all",
]  # fmt: skip
"""What the Tab key offers: the names of the catalog, which would take seconds to load."""
ELSEWHERE = (
    "name another folder with --folder, or work in a clone of the repository, whose folder results has the published "
    "records"
)
"""What to do if there are no records."""


def require_experiments(names: Sequence[str]) -> None:
    """Raise a ValueError for a name that the catalog does not have, or for a study whose file is wrong.

    It takes a fraction of a second: neither torch nor the catalog is loaded for it.
    """
    from crest._base.arguments import require_choice
    from crest.lab.study_keys import ENDING, read_study

    for name in names:
        if name.endswith(ENDING):
            read_study(Path(name))
        else:
            require_choice("name", name, get_args(ExperimentName))


def experiments(names: list[str], quick: bool) -> "list[Experiment]":
    """The experiments of these names and the studies of these files, or the whole catalog; in their quick form if `quick`."""
    from crest.lab.evidence import experiments_of
    from crest.lab.evidence.study_file import study_of
    from crest.lab.study_keys import ENDING

    files = [name for name in names if name.endswith(ENDING)]
    known = [name for name in names if name not in files]
    chosen = experiments_of(known or ["all"]) if known or not files else []
    chosen += [study_of(Path(name)) for name in dict.fromkeys(files)]
    return [experiment.quick() for experiment in chosen] if quick else chosen


def holds_trial(chosen: "list[Experiment]", there: set[str]) -> bool:
    """Whether these runs are of the experiments in their quick form, and none is of the experiments themselves."""
    if not there or any(spec.id in there for one in chosen for spec in one.runs):
        return False
    return any(spec.id in there for one in chosen for spec in one.quick().runs)


def run_experiments(
    *names: Annotated[ExperimentName | str, Behind("name")],
    jobs: int | None = None,
    cluster: Annotated[str | None, Behind("address")] = None,
    folder: Path = RESULTS,
    quick: bool = False,
) -> None:
    """Do the runs of an experiment that have no record yet. You can stop and start it at any time.

    Parameters
    ----------
    names
        Experiments of the catalog (`crest status` lists them), paper for those of the paper, or all; or files of your own studies,
        such as my_study.toml.
    jobs
        Processes at a time, one thread each. Default: one for each core.
    cluster
        Address of a Dask scheduler, such as tcp://host:8786, to run there instead of here.
    folder
        Where the records go, one JSON per run.
    quick
        Make a trial: one seed, 32 trajectories, two epochs. It tests the code in seconds, and its numbers mean nothing.
    """
    if not names:
        raise ValueError(
            "names must hold an experiment, paper, all, or the .toml file of a study: `crest status` lists experiments"
        )
    if cluster is not None and jobs is not None:
        raise ValueError("jobs must be left out with --cluster, which decides how many run at a time")
    require_experiments(names)

    from crest.lab.cli.progress import progress
    from crest.lab.evidence import headline_first
    from crest.lab.evidence.experiment import distinct
    from crest.lab.runs.durations import TimeLeft, kept_seconds
    from crest.lab.runs.executors import ClusterExecutor, LocalExecutor
    from crest.lab.runs.store import Store
    from crest.lab.runs.sweep import sweep

    chosen = experiments(list(names), quick)
    specs = distinct(headline_first(chosen))
    _look_before(chosen)
    executor = LocalExecutor(jobs) if cluster is None else ClusterExecutor(cluster)
    store = Store(folder)
    # Batch systems and containers end a program by this signal: as by Ctrl-C, nothing is left lying around.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _silence_dask()
    if isinstance(executor, ClusterExecutor) and not executor.threads:
        errors.print(f"crest: waiting for a worker at {cluster}", markup=False)
    left = TimeLeft(specs, kept_seconds(store), lambda: executor.slots)
    try:
        with executor, progress(total=len(specs), left=left) as listener:
            outcome = sweep(specs, store, executor, listener=listener)
    except KeyboardInterrupt:
        there = sum(spec.id in store for spec in specs)
        options = {"--folder": str(folder), "--jobs": jobs, "--cluster": cluster}
        given = [word for key, value in options.items() if value is not None for word in (key, str(value))]
        again = ["crest", "run", *names, *given, *(["--quick"] if quick else [])]
        errors.print(
            f"crest: stopped; {there} of {len(specs)} runs are kept. Continue with: {shlex.join(again)}",
            markup=False,
        )
        raise SystemExit(INTERRUPTED) from None
    failures: list[str] = []
    for study in {study.id: study for one in chosen for study in one.studies}.values():
        try:
            computed = study.ensure(store.folder)
        except (OSError, ValueError) as error:
            # Recordings may be missing: the records of the others are there all the same, and the counts follow.
            failures.append(f"{study.name}: {error}")
        else:
            if computed:
                console.print(f"computed {study.name}", markup=False)
    console.print(
        f"{len(outcome.done)} done, {len(outcome.found)} already there, {len(outcome.failed)} failed; "
        f"records in {folder}",
        markup=False,
    )
    for failure in failures:
        errors.print(f"crest: {failure}", markup=False)
    if outcome.failed:
        raise SystemExit(f"crest: {folder}/*.error says what went wrong; the next run tries again")
    if failures:
        raise SystemExit(1)


def _look_before(chosen: "list[Experiment]") -> None:
    """Let the experiments look at what they need, and print what they say: nobody waits for a run that must fail."""
    for one in chosen:
        if said := one.check():
            console.print(said, markup=False)


def _silence_dask() -> None:
    """Let Dask's loggers say nothing: what its client logs when a scheduler dies, we say in one sentence."""
    # Each part of it has a logger with a level and a handler of its own.
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def status(
    *names: Annotated[ExperimentName | str, Behind("name")],
    folder: Path = RESULTS,
    quick: bool = False,
    json: bool = False,
) -> None:
    """Show for each experiment how many runs are done, missing and failed, and how long the rest takes. Name what failed.

    Parameters
    ----------
    names
        Experiments of the catalog, or files of studies. Default: the whole catalog.
    folder
        Where the records are.
    quick
        Count the runs of the trial that `crest run --quick` makes.
        `crest` recognises a folder that holds only trial runs.
    json
        Print the counts as JSON, and the seconds left if kept records allow an estimate.
    """
    words_aside(json)
    require_experiments(names)

    from rich.table import Table

    from crest.lab.cli.progress import reason
    from crest.lab.evidence.experiment import distinct
    from crest.lab.runs.durations import TimeLeft, kept_seconds, time_in_words
    from crest.lab.runs.executors import cores
    from crest.lab.runs.store import Store

    chosen = experiments(list(names), quick)
    if not folder.exists():
        console.print(
            f"no records yet: {folder} does not exist; `crest run` makes it, and --folder names another one",
            markup=False,
        )
    store = Store(folder) if folder.exists() else None
    there, failures = (set(), set()) if store is None else (store.ids(), store.failures())
    if not quick and holds_trial(chosen, there | failures):
        quick, chosen = True, experiments(list(names), quick=True)
        console.print(f"{folder} has only trial runs (--quick): they are shown", markup=False)
    rows: list[dict[str, str | int]] = []
    reasons: dict[str, str] = {}
    for experiment in chosen:
        ids = list(dict.fromkeys(spec.id for spec in experiment.runs))
        kept = there | {study.id for study in experiment.studies if study.done(folder)}
        ids += [study.id for study in experiment.studies]
        done, broken = [i for i in ids if i in kept], [i for i in ids if i in failures]
        missing = len(ids) - len(done) - len(broken)
        counts = {"runs": len(ids), "done": len(done), "missing": missing, "failed": len(broken)}
        rows.append({"experiment": experiment.name, "shows": experiment.evidence, **counts})
        if store is not None:
            for name in broken:
                # A run that succeeds meanwhile takes its note away.
                with contextlib.suppress(FileNotFoundError):
                    reasons[name] = reason(store.failure(name))
    missing_runs = [spec for spec in distinct(chosen) if spec.id not in there]
    seconds = TimeLeft(missing_runs, {} if store is None else kept_seconds(store), cores).seconds()
    if json:
        print_json(
            {
                "folder": folder,
                "trial": quick,
                "experiments": rows,
                "failures": reasons,
                "seconds_left": None if seconds is None else round(seconds),
            }
        )
        return
    table = Table(*rows[0], box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(str, row.values()))
    console.print(table)
    if missing_runs and seconds is not None:
        told = f"about {time_in_words(seconds)}, estimated from kept records of similar runs, {cores()} at a time"
        console.print(f"time left for {len(missing_runs)} runs: {told}", markup=False)
    elif missing_runs:
        console.print(
            "time left: unknown, because some of these runs have no similar record yet", markup=False
        )
    for name, why in reasons.items():
        console.print(f"failed: {folder / name}.error: {why}", markup=False)
