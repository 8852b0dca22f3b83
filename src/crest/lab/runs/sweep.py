"""Do the runs that are missing from a store, anywhere, in any order."""

import collections
import contextlib
import dataclasses
import shutil
import signal
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

from crest.lab.runs.datasets import shared_folder
from crest.lab.runs.executors import RunExecutor
from crest.lab.runs.provenance import source_digest
from crest.lab.runs.record import Record
from crest.lab.runs.spec import RunSpec
from crest.lab.runs.store import RunClaim, Store
from crest.lab.runs.worker import MORE_MEMORY, NO_MEMORY, Answer, execute

POLL = 1.0
"""Seconds between looks at the runs that another process holds."""


class Listener:
    """What a sweep tells while it runs; override what you want to hear."""

    def found(self, run_id: str) -> None:
        """The record is there, from before or from another process."""

    def waiting(self, run_id: str) -> None:
        """Another process is doing it."""

    def started(self, run_id: str) -> None:
        """It was given to the executor."""

    def died(self, run_id: str) -> None:
        """Its process died; it is tried again."""

    def done(self, record: Record) -> None:
        """Its record is stored."""

    def failed(self, run_id: str, text: str) -> None:
        """It failed with this text, which is stored."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Ids of the runs that a sweep did, found done, or saw fail. Together they are all that it was given."""

    done: list[str] = dataclasses.field(default_factory=list)
    found: list[str] = dataclasses.field(default_factory=list)
    failed: list[str] = dataclasses.field(default_factory=list)


def sweep(
    specs: Iterable[RunSpec], store: Store, executor: RunExecutor, *, listener: Listener | None = None
) -> Outcome:
    """Do every run that has no record yet; those that failed before are tried again.

    Several processes, on one machine or on several with the same folder, may sweep at once: each run is
    done by one of them. A run that fails leaves its traceback in the store and the others go on. If the
    sweep stops (Ctrl-C, a full disk, a lost scheduler), the finished records stay and the executor has no
    work left: a new sweep does the rest.

    Args:
        specs: what to run. Those that share their data are done one after the other, else in this order.
        store: where records are looked for and put.
        executor: where to run; nothing else differs between this machine and a cluster.
        listener: hears what happens, in this thread.
    """
    store.sweep_partials()
    with _data_folder(executor) as data:
        work = _Sweep(store, executor, listener or Listener(), data)
        try:
            return work.do(_missing(specs, work))
        except BaseException:
            # Ctrl-C and SystemExit too: a process that trains on would finish a run whose claim is given up below.
            executor.abandon()
            raise
        finally:
            work.release()


@contextlib.contextmanager
def _data_folder(executor: RunExecutor) -> Iterator[Path | None]:
    """A folder for the trajectories that runs share; None if they cannot share files."""
    if not executor.shares_files:
        yield None
        return
    with shared_folder() as folder:
        yield folder


def _missing(specs: Iterable[RunSpec], work: "_Sweep") -> list[RunSpec]:
    """Each spec without a record once, with the same data side by side."""
    # Side by side, because the trajectories of a group are removed from the shared folder after its last run.
    groups: dict[str, list[RunSpec]] = {}
    for run_id, spec in {spec.id: spec for spec in specs}.items():
        if run_id in work.store:
            work.found(run_id)
        else:
            groups.setdefault(spec.data_key, []).append(spec)
    return [spec for group in groups.values() for spec in group]


class _Sweep:
    """The state of a sweep."""

    def __init__(self, store: Store, executor: RunExecutor, listener: Listener, data: Path | None) -> None:
        self.store = store
        self.executor = executor
        self.listener = listener
        self.data = data
        self.outcome = Outcome()
        self.claims: dict[str, RunClaim] = {}
        self.deaths: collections.Counter[str] = collections.Counter()
        self.users: collections.Counter[str] = collections.Counter()
        self.flying: dict[Future[Answer], RunSpec] = {}
        # When each run failed before this sweep: a failure of the same time is old and tried again, a later one is
        # another process's of today, and not repeated.
        self.earlier = {name: store.failed_at(name) for name in store.failures()}

    def do(self, specs: list[RunSpec]) -> Outcome:
        """Do or await all of them."""
        # Aside are runs that another process holds. They are looked at again each second until they have a record, or
        # until their holder dies and the kernel frees the claim.
        queue = collections.deque(specs)
        aside: list[RunSpec] = []
        self.users.update(spec.data_key for spec in specs)
        looked = time.monotonic()
        while queue or aside or self.flying:
            # No more claims than slots: what is claimed and waits could be done by another machine.
            while queue and self._free():
                spec = queue.popleft()
                if not self._take(spec):
                    aside.append(spec)
                    self.listener.waiting(spec.id)
            if time.monotonic() - looked >= POLL:
                aside = [spec for spec in aside if not self._look_again(spec)]
                looked = time.monotonic()
            if self.flying:
                # With a timeout, so that runs aside are looked at although nothing here has finished.
                finished, _ = wait(self.flying, timeout=POLL, return_when=FIRST_COMPLETED)
                # Records first: what goes wrong with another run may end the sweep.
                for future in sorted(finished, key=_went_wrong):
                    self._settle(self.flying.pop(future), future)
            elif aside:
                time.sleep(POLL)
        return self.outcome

    def release(self) -> None:
        """Let others have what is not finished."""
        for claim in self.claims.values():
            claim.release()
        self.claims.clear()

    def found(self, run_id: str) -> None:
        self.outcome.found.append(run_id)
        self.listener.found(run_id)

    def _free(self) -> bool:
        return len(self.flying) < self.executor.slots

    def _take(self, spec: RunSpec) -> bool:
        """Start a run, or find it done; False where another process holds it."""
        claim = self.store.claim(spec.id)
        if claim is None:
            return False
        self.claims[spec.id] = claim
        # Looked at under the claim: the holder before may have finished it, or seen it fail.
        if spec.id in self.store:
            self.found(spec.id)
            self._leave(spec)
        elif self.store.failed_at(spec.id) not in (None, self.earlier.get(spec.id)):
            self._failed(spec, self.store.failure(spec.id))
            self._leave(spec)
        else:
            self._start(spec)
        return True

    def _look_again(self, spec: RunSpec) -> bool:
        """Whether a run that another process held needs no further looks."""
        # Without a free slot a claim would be taken only to wait; a finished run needs none.
        return (self._free() or spec.id in self.store) and self._take(spec)

    def _start(self, spec: RunSpec) -> None:
        data = None if self.data is None else str(self.data)
        # Plain values, because a worker on another machine may have other classes; the digest is how it notices.
        future = self.executor.submit(execute, spec.to_dict(), spec.id, source_digest(), data)
        self.flying[future] = spec
        self.listener.started(spec.id)

    def _settle(self, spec: RunSpec, future: Future[Answer]) -> None:
        """Store what came back, or try again."""
        # Nothing here cancels: a cluster's futures are cancelled when its scheduler is lost.
        if future.cancelled():
            raise ConnectionError(
                f"{self.executor.name} went away; finished runs are kept, start again for the rest"
            )
        error = future.exception()
        if isinstance(error, self.executor.died):
            self.deaths[spec.id] += 1
            # The claim is kept in between: it is the same run, and still ours.
            if self.deaths[spec.id] < self.executor.tries:
                self.listener.died(spec.id)
                self._start(spec)
                return
            self._note(spec, f"{error}\n{_death(self.executor.end_of(future))}\n")
        elif isinstance(error, MemoryError):
            # Too little was left to send a result with.
            self._note(spec, f"{error!r}\n{NO_MEMORY}\n")
        elif error is not None:
            raise RuntimeError(f"{self.executor.name} cannot execute {spec.id}: {error!r}") from error
        else:
            self._keep(spec, *future.result())
        self._leave(spec)

    def _keep(self, spec: RunSpec, kind: str, content: Any) -> None:
        """Store what came back. An error of the store is no failure of the run: it ends the sweep."""
        if kind == "refused":
            raise RuntimeError(f"{content}: another version of crest runs there; finished runs are kept")
        if kind == "failed":
            self._note(spec, content)
        else:
            record = Record.from_dict(content)
            self.store.write(record)
            self.outcome.done.append(spec.id)
            self.listener.done(record)

    def _note(self, spec: RunSpec, text: str) -> None:
        self.store.fail(spec.id, text)
        self._failed(spec, text)

    def _failed(self, spec: RunSpec, text: str) -> None:
        self.outcome.failed.append(spec.id)
        self.listener.failed(spec.id, text)

    def _leave(self, spec: RunSpec) -> None:
        """Give up the claim, and the data when no other run needs them."""
        # After the record or the note is on the disk: who gets the claim next must see it.
        claim = self.claims.pop(spec.id, None)
        if claim is not None:
            claim.release()
        self.users[spec.data_key] -= 1
        if self.data is not None and not self.users[spec.data_key]:
            shutil.rmtree(self.data / spec.data_key, ignore_errors=True)


def _death(status: int | None) -> str:
    """What the death of a run's process means, from its exit status."""
    if status == -signal.SIGKILL:
        last = f"the last time by SIGKILL, as when the kernel runs out of memory: {MORE_MEMORY}"
        return f"The process of this run died each time, {last}"
    how = "" if status is None else f", the last time by {_named(status)}"
    return f"The process of this run died each time{how}: killed, or out of memory?"


def _named(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:  # of the real-time signals only the first and the last have names
        return f"signal {-status}"


# False sorts before True, so that finished records are stored first.
def _went_wrong(future: Future[Answer]) -> bool:
    return future.cancelled() or future.exception() is not None or future.result()[0] != "done"
