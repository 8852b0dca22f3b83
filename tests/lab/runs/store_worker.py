"""Processes to be killed by test_store.py and test_pack.py, and the records that they write.

Run as a program it loads crest once, which takes seconds, and then forks a child for each job it reads. Children
speak on the same pipe, so what one said stands before the line that tells of its death.
"""

import dataclasses
import gc
import itertools
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from crest.lab.evaluation import Budget, Score
from crest.lab.runs.pack import fold
from crest.lab.runs.record import Look, Record
from crest.lab.runs.spec import RunSpec
from crest.lab.runs.store import Store
from crest.probes import CreditMeans

_MEANS = CreditMeans(cie=0.5, ecm=0.25, precision=0.125, chance=0.1, counted=8, without_events=0)
_SPEC = RunSpec(system="gear", readout="crest", seed=1000)
_RECORD = Record(
    id=_SPEC.id,
    spec=_SPEC,
    resolved=_SPEC.resolved(),
    score=Score(id=0.1, ood=0.4),
    credit={"id": _MEANS, "ood": _MEANS},
    budget={"id": Budget(epsilon=0.1, alpha=0.9, width=7.5, tail=0.2, selected=0.11)},
    losses=[1.0, 0.5],
    looks=[Look(epoch=1, score=Score(id=0.2, ood=0.5), credit=None)],
    deletion={},
    saliency=None,
    traces=None,
    seconds={"data": 0.1, "training": 2.0, "measuring": 0.3},
    peak_memory=512.0,
    versions={"crest": "0"},
    commit=None,
)


# As long as a text of a record may be.
_TEXT = 10_000


def record(seed: int, *, loss: float = 0.5, padding: int = 0) -> Record:
    """A record of the run with this seed; the padding makes its file long."""
    spec = dataclasses.replace(_SPEC, seed=seed)
    return dataclasses.replace(
        _RECORD,
        id=spec.id,
        spec=spec,
        losses=[1.0, loss],
        versions={
            "crest": "0",
            **{f"padding {at}": "x" * min(_TEXT, padding - at) for at in range(0, padding, _TEXT)},
        },
    )


def traced(one: Record, prediction: float) -> Record:
    """The record with a trajectory step by step."""
    row = {
        "split": "id",
        "index": 0,
        "y": 0.5,
        "cue": None,
        "prediction": prediction,
        "signals": [[0.1, -0.0, 1e-300]],
        "events": [1],
        "credit": [0.25, 0.75, 0.0],
        "transience": [0.5, 0.25, 0.25],
        "votes": None,
    }
    traces = {"channels": ["a"], "sample_rate": 2.0, "rows": [row]}
    return Record.from_dict({**one.to_dict(), "traces": traces})


def say(line: str) -> None:
    # Past Python's buffers, which a kill would empty.
    os.write(1, f"{line}\n".encode())


def write(store: Store, first: str) -> None:
    """Records without end; each is reported once it is written."""
    for seed in itertools.count(int(first)):
        made = record(seed, padding=500_000)
        store.write(made)
        say(f"wrote {made.id}")


def die(store: Store, lines: str) -> None:
    """Claim and write a record, but be killed before the line of the store's code with this number."""
    left = int(lines)
    made = record(1001)

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        if Path(frame.f_code.co_filename).name not in ("store.py", "files.py"):
            return None
        if event == "line":
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
        return count

    sys.settrace(count)
    claim = store.claim(made.id)
    assert claim is not None
    with claim:
        store.write(made)


def die_packing(store: Store, output: str, changes: str) -> None:
    """Pack, but be killed before the change of the disk with this number: packing has too many lines of code."""
    target = Store(Path(output))
    left = int(changes)

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        opens = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if opens or event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"):
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    sys.addaudithook(count)
    fold(store, target)


def pack_until(store: Store, end: str) -> None:
    """Pack again and again, until there is such a file; say when another process was packing at that time."""
    while not Path(end).exists():
        try:
            fold(store, store)
        except ValueError as error:
            if "one process at a time" not in str(error):
                raise
            say("refused")


def hold(store: Store, id: str) -> None:  # noqa: A002
    held = store.claim(id)
    say("refused" if held is None else "held")
    signal.pause()


def fork(store: Store, id: str, releaser: str) -> None:  # noqa: A002
    """A holder with a forked child; one of the two releases, both live on."""
    claim = store.claim(id)
    assert claim is not None
    end, kept = os.pipe()
    if os.fork() == 0:
        os.close(kept)
        if releaser == "child":
            claim.release()
        say("forked")
        # Ends with the parent.
        os.read(end, 1)
        os._exit(0)
    if releaser == "parent":
        claim.release()
        say("released")
    signal.pause()


def contend(store: Store, log: str, wanted: str, *ids: str) -> None:
    """Take and release so many claims, with a line in the log when each begins and ends."""
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    had, turn = 0, itertools.cycle(ids)
    while had < int(wanted):
        name = next(turn)
        claim = store.claim(name)
        if claim is not None:
            with claim:
                os.write(handle, f"begin {name} {os.getpid()}\n".encode())
                os.sched_yield()
                os.write(handle, f"end {name} {os.getpid()}\n".encode())
            had += 1


def share(store: Store, log: str, *seeds: str) -> None:
    """Do runs together with others, as the store's docstring says, until all are there."""
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    todo = {made.id: made for made in map(record, map(int, seeds))}
    while todo:
        for name in list(todo):
            claim = store.claim(name)
            if claim is None:
                continue
            with claim:
                if name not in store:
                    os.write(handle, f"{name}\n".encode())
                    store.write(todo[name])
            del todo[name]


JOBS: dict[str, Callable[..., None]] = {
    job.__name__: job for job in (write, die, die_packing, pack_until, hold, fork, contend, share)
}


def main() -> None:
    # What the first records need, once for all children; and no collector that touches, so copies, their memory.
    record(1001).to_json()
    gc.disable()
    gc.freeze()
    for line in sys.stdin:
        command, *arguments = line.split()
        if command == "start":
            job, folder, *rest = arguments
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    JOBS[job](Store(Path(folder)), *rest)
                    code = 0
                finally:
                    os._exit(code)
            say(f"started {child}")
        else:
            child = int(arguments[0])
            if command == "kill":
                os.kill(child, signal.SIGKILL)
            say(f"ended {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}")


if __name__ == "__main__":
    main()
