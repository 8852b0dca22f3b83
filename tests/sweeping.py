"""What the tests of sweeps share: tiny runs, a listener that remembers, processes to wait for.

As a program it is a coordinator of its own: `python sweeping.py JOBS FOLDER LOG SPECS`.
"""

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from crest.lab.evaluation import Score
from crest.lab.runs.executors import LocalExecutor
from crest.lab.runs.record import Record
from crest.lab.runs.spec import RunSpec
from crest.lab.runs.store import Store
from crest.lab.runs.sweep import Listener, sweep
from crest.lab.systems import Sizes
from crest.lab.training import Schedule
from crest.probes import CreditMeans

FOREVER = 10**7
"""Epochs of a run that is still going when the test ends it."""


def tiny(readout: str = "mean", seed: int = 1000, epochs: int = 1, **fields: Any) -> RunSpec:
    usual = {"sizes": Sizes(train=16, id=8, ood=8), "schedule": Schedule(epochs=epochs, batch=8)}
    return RunSpec(system="gear", readout=readout, seed=seed, **{**usual, **fields})


def failing(seed: int = 1000) -> RunSpec:
    """A valid spec that cannot be trained: its steps are so long that the loss overflows."""
    return tiny(seed=seed, schedule=Schedule(epochs=2, batch=8, learning_rate=1e30))


def made_up(spec: RunSpec, **changes: Any) -> Record:
    """A record of this run that nobody trained."""
    means = CreditMeans(cie=0.5, ecm=0.25, precision=0.75, chance=0.125, counted=8, without_events=0)
    plain = Record(
        id=spec.id,
        spec=spec,
        resolved=spec.resolved(),
        score=Score(id=0.1, ood=0.2),
        credit={"id": means, "ood": means},
        budget={},
        losses=[1.0],
        looks=[],
        deletion={},
        saliency=None,
        traces=None,
        seconds={"training": 1.0},
        peak_memory=1.0,
        versions={},
        commit=None,
    )
    return dataclasses.replace(plain, **changes)


def numbers(record: Record) -> tuple[Any, ...]:
    """What must not depend on where a run was done."""
    return record.spec, record.score, record.credit, record.budget, record.losses


class Heard(Listener):
    """Remembers what it heard, as (what, id)."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def found(self, run_id: str) -> None:
        self.events.append(("found", run_id))

    def waiting(self, run_id: str) -> None:
        self.events.append(("waiting", run_id))

    def started(self, run_id: str) -> None:
        self.events.append(("started", run_id))

    def died(self, run_id: str) -> None:
        self.events.append(("died", run_id))

    def done(self, record: Record) -> None:
        self.events.append(("done", record.id))

    def failed(self, run_id: str, text: str) -> None:
        self.events.append(("failed", run_id))

    def ids(self, what: str) -> list[str]:
        return [run_id for kind, run_id in self.events if kind == what]


def until(condition: Callable[[], Any], seconds: float = 120) -> None:
    """Wait; the deadline is for what never comes."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def group(leader: int) -> list[int]:
    """Living processes of a process group."""
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,pgid=,stat="], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in listing.stdout.splitlines()]
    return [int(pid) for pid, pgid, state in rows if int(pgid) == leader and not state.startswith("Z")]


@contextlib.contextmanager
def under_nohup() -> Iterator[None]:
    """Processes started in the block inherit an ignored SIGINT, as from nohup and in a script's background.

    Whoever sends one to them must have set it back there, or the tests would depend on how they are started.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def coordinator(
    jobs: int, store: Path, log: Path, specs: list[RunSpec], data: Path
) -> "Iterator[subprocess.Popen[bytes]]":
    """A sweep in a process group of its own, which writes what it starts and finishes to a log."""
    text = json.dumps([spec.to_dict() for spec in specs])
    command = [sys.executable, __file__, str(jobs), str(store), str(log), text]
    with under_nohup():
        process = subprocess.Popen(command, start_new_session=True, env={**os.environ, "TMPDIR": str(data)})
    try:
        yield process
    finally:
        # A test that fails leaves nothing behind either.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Log(Listener):
    def __init__(self, path: Path) -> None:
        self.path = path

    def started(self, run_id: str) -> None:
        self._write("started", run_id)

    def done(self, record: Record) -> None:
        self._write("done", record.id)

    def _write(self, *words: str) -> None:
        with self.path.open("a") as file:
            file.write(" ".join(words) + "\n")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    jobs, store, log, text = sys.argv[1:]
    specs = [RunSpec.from_dict(fields) for fields in json.loads(text)]
    with LocalExecutor(int(jobs)) as executor:
        sweep(specs, Store(Path(store)), executor, listener=Log(Path(log)))
