"""The coordinator, against an executor that answers as told; and for real, with processes that are killed."""

import dataclasses
import errno
import multiprocessing
import os
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from crest.lab.runs import sweep as module
from crest.lab.runs.executors import LocalExecutor, RunExecutor
from crest.lab.runs.record import Record
from crest.lab.runs.runner import run
from crest.lab.runs.spec import RunSpec
from crest.lab.runs.store import Store
from crest.lab.runs.sweep import sweep
from crest.lab.runs.worker import MORE_MEMORY, NO_MEMORY
from sweeping import FOREVER, Heard, coordinator, failing, group, numbers, tiny, until


class DiedError(Exception):
    pass


class Fake(RunExecutor):
    """Answers at once, or as an id's script says."""

    name = "the fake"
    shares_files = False
    died = (DiedError,)
    tries = 3

    def __init__(self, record: Record, slots: int = 2) -> None:
        self.record = record
        self.size = slots
        self.scripts: dict[str, list[Callable[[Future[Any]], object]]] = {}
        self.given: list[str] = []
        self.ends: int | None = None
        self.abandoned = False

    @property
    def slots(self) -> int:
        return self.size

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        fields, run_id, _, _ = args
        self.given.append(run_id)
        future: Future[Any] = Future()
        if self.scripts.get(run_id):
            self.scripts[run_id].pop(0)(future)
        else:
            future.set_result(self.done(fields))
        return future

    def done(self, fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        spec = RunSpec.from_dict(fields)
        return "done", dataclasses.replace(self.record, id=spec.id, spec=spec).to_dict()

    def end_of(self, future: Future[Any]) -> int | None:
        return self.ends

    def abandon(self) -> None:
        self.abandoned = True


class Here(RunExecutor):
    """Does each run in this process."""

    name = "here"
    shares_files = True
    died = ()
    tries = 1
    slots = 1

    def abandon(self) -> None:
        pass

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@pytest.fixture(scope="module")
def record() -> Record:
    return run(tiny())


@pytest.fixture
def fake(record: Record) -> Fake:
    return Fake(record)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL", 0.02)


def claims_are_free(store: Store, specs: list[RunSpec]) -> bool:
    claims = [store.claim(spec.id) for spec in specs]
    for claim in claims:
        if claim is not None:
            claim.release()
    return None not in claims


def test_does_what_is_missing_once_with_shared_data_side_by_side(fake: Fake, store: Store) -> None:
    a, b, c, d = tiny(seed=1001), tiny(seed=1002), tiny("crest", seed=1001), tiny("crest", seed=1002)
    store.write(dataclasses.replace(fake.record, id=d.id, spec=d))
    heard = Heard()
    outcome = sweep([a, b, a, c, d], store, fake, listener=heard)
    assert fake.given == [a.id, c.id, b.id]
    assert (sorted(outcome.done), outcome.found, outcome.failed) == (sorted([a.id, b.id, c.id]), [d.id], [])
    assert store.ids() == {a.id, b.id, c.id, d.id}
    assert sorted(heard.ids("done")) == sorted(outcome.done)
    assert heard.ids("found") == [d.id]
    assert claims_are_free(store, [a, b, c, d])
    assert not fake.abandoned
    # And again: nothing to do.
    again = sweep([a, b, c, d], store, fake)
    assert (again.done, sorted(again.found), again.failed) == ([], sorted(store.ids()), [])
    assert len(fake.given) == 3


def test_keeps_no_more_in_flight_than_there_are_slots(record: Record, store: Store) -> None:
    specs = [tiny(seed=1000 + number) for number in range(8)]
    flying: set[str] = set()
    most: list[int] = []
    fake = Fake(record, slots=3)

    def slowly(spec: RunSpec, future: Future[Any]) -> None:
        flying.add(spec.id)
        most.append(len(flying))

        def answer() -> None:
            flying.discard(spec.id)
            future.set_result(fake.done(spec.to_dict()))

        threading.Timer(0.03, answer).start()

    fake.scripts = {spec.id: [lambda future, spec=spec: slowly(spec, future)] for spec in specs}
    assert len(sweep(specs, store, fake).done) == 8
    assert max(most) == 3


def test_a_failure_is_noted_and_tried_again_next_time(fake: Fake, store: Store) -> None:
    specs = [tiny(seed=1001), tiny(seed=1002), tiny(seed=1003)]
    bad = specs[0].id
    fake.scripts[bad] = [lambda future: future.set_result(("failed", "Traceback: no"))]
    heard = Heard()
    outcome = sweep(specs, store, fake, listener=heard)
    assert outcome.failed == heard.ids("failed") == [bad]
    assert sorted(outcome.done) == sorted(spec.id for spec in specs[1:])
    assert store.failure(bad) == "Traceback: no"
    assert sweep(specs, store, fake).done == [bad]
    assert store.failures() == set()


def elsewhere(store: Store, spec: RunSpec, then: Callable[[], object]) -> Heard:
    """Somebody else's claim; when the sweep has met it and is waiting, do something and let it go."""
    claim = Store(store.folder).claim(spec.id)
    assert claim is not None

    def end() -> None:
        then()
        claim.release()

    class Meets(Heard):
        def waiting(self, run_id: str) -> None:
            super().waiting(run_id)
            threading.Timer(0.1, end).start()

    return Meets()


def test_what_another_process_finishes_counts_as_found(fake: Fake, store: Store) -> None:
    a, b = tiny(seed=1001), tiny(seed=1002)
    heard = elsewhere(store, a, lambda: store.write(dataclasses.replace(fake.record, id=a.id, spec=a)))
    outcome = sweep([a, b], store, fake, listener=heard)
    assert (outcome.done, outcome.found, outcome.failed) == ([b.id], [a.id], [])
    assert fake.given == [b.id]
    assert heard.ids("waiting") == [a.id]


def test_what_another_process_leaves_is_done_here(fake: Fake, store: Store) -> None:
    a, b = tiny(seed=1001), tiny(seed=1002)
    heard = elsewhere(store, a, lambda: None)
    assert sweep([a, b], store, fake, listener=heard).done == [b.id, a.id]
    assert heard.ids("waiting") == [a.id]


def test_what_fails_in_another_process_is_not_done_again(fake: Fake, store: Store) -> None:
    a, b = tiny(seed=1001), tiny(seed=1002)
    heard = elsewhere(store, a, lambda: store.fail(a.id, "no"))
    outcome = sweep([a, b], store, fake, listener=heard)
    assert (outcome.done, outcome.found, outcome.failed) == ([b.id], [], [a.id])
    assert fake.given == [b.id]


def test_what_failed_before_and_fails_again_in_another_process_is_not_done_again(
    fake: Fake, store: Store
) -> None:
    a, b = tiny(seed=1001), tiny(seed=1002)
    store.fail(a.id, "yesterday")
    heard = elsewhere(store, a, lambda: store.fail(a.id, "today"))
    outcome = sweep([a, b], store, fake, listener=heard)
    assert (outcome.done, outcome.failed) == ([b.id], [a.id])
    assert fake.given == [b.id]


def test_a_note_of_failure_that_is_removed_meanwhile_hurts_nothing(fake: Fake, store: Store) -> None:
    a, b = tiny(seed=1001), tiny(seed=1002)
    note = store.fail(a.id, "yesterday")
    heard = elsewhere(store, a, note.unlink)
    assert sweep([a, b], store, fake, listener=heard).done == [b.id, a.id]


def test_a_record_that_appears_before_the_claim_is_found(fake: Fake, store: Store) -> None:
    a = tiny(seed=1001)

    class Late(Store):
        def claim(self, id: str) -> Any:  # noqa: A002
            self.write(dataclasses.replace(fake.record, id=a.id, spec=a))
            return super().claim(id)

    assert sweep([a], Late(store.folder), fake).found == [a.id]
    assert fake.given == []


def dies(future: Future[Any]) -> None:
    future.set_exception(DiedError())


def test_a_run_whose_process_dies_is_tried_three_times(fake: Fake, store: Store) -> None:
    a, b, c = tiny(seed=1001), tiny(seed=1002), tiny(seed=1003)
    fake.scripts = {a.id: [dies] * 3, b.id: [dies] * 2}
    heard = Heard()
    outcome = sweep([a, b, c], store, fake, listener=heard)
    assert sorted(outcome.done) == sorted([b.id, c.id])
    assert outcome.failed == [a.id]
    assert Counter(fake.given) == {a.id: 3, b.id: 3, c.id: 1}
    assert Counter(heard.ids("died")) == {a.id: 2, b.id: 2}
    assert "killed, or out of memory?" in store.failure(a.id)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (None, ": killed, or out of memory?"),
        (
            -signal.SIGKILL,
            f", the last time by SIGKILL, as when the kernel runs out of memory: {MORE_MEMORY}",
        ),
        (-signal.SIGSEGV, ", the last time by SIGSEGV: killed, or out of memory?"),
        (-40, ", the last time by signal 40: killed, or out of memory?"),
        (3, ", the last time by exit status 3: killed, or out of memory?"),
    ],
)
def test_a_death_is_told_by_how_it_came(fake: Fake, store: Store, status: int | None, said: str) -> None:
    fake.scripts = {tiny().id: [dies] * 3}
    fake.ends = status
    assert sweep([tiny()], store, fake).failed == [tiny().id]
    assert store.failure(tiny().id).splitlines()[-1] == f"The process of this run died each time{said}"


def test_a_process_with_no_memory_left_to_answer_ends_no_sweep(fake: Fake, store: Store) -> None:
    a, b = tiny(seed=1001), tiny(seed=1002)
    fake.scripts[a.id] = [lambda future: future.set_exception(MemoryError())]
    outcome = sweep([a, b], store, fake)
    assert (outcome.done, outcome.failed) == ([b.id], [a.id])
    assert store.failure(a.id) == f"MemoryError()\n{NO_MEMORY}\n"
    assert sweep([a, b], store, fake).done == [a.id]


def test_a_lost_scheduler_ends_the_sweep_and_keeps_results(record: Record, store: Store) -> None:
    a, b = tiny(seed=1001), tiny(seed=1002)
    fake = Fake(record)

    def lose(future: Future[Any]) -> None:
        future.cancel()
        future.set_running_or_notify_cancel()

    fake.scripts[a.id] = [lose]
    with pytest.raises(ConnectionError, match="the fake went away; finished runs are kept"):
        sweep([a, b], store, fake)
    assert store.ids() == {b.id}
    assert store.failures() == set()
    assert fake.abandoned
    assert claims_are_free(store, [a, b])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            lambda future: future.set_result(("refused", "host7 takes a for b")),
            "host7 takes a for b: another",
        ),
        (lambda future: future.set_exception(ModuleNotFoundError("crest")), "the fake cannot execute gear"),
    ],
)
def test_processes_that_cannot_run_anything_end_the_sweep(
    fake: Fake, store: Store, answer: Callable[[Future[Any]], object], message: str
) -> None:
    a = tiny(seed=1001)
    fake.scripts[a.id] = [answer]
    with pytest.raises(RuntimeError, match=message):
        sweep([a], store, fake)
    assert store.failures() == set()
    assert claims_are_free(store, [a])


@pytest.mark.parametrize("broken", ["write", "fail"])
def test_a_full_disk_ends_the_sweep_and_blames_no_run(
    fake: Fake, store: Store, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    specs = [tiny(seed=1001), tiny(seed=1002)]
    fake.scripts[specs[0].id] = [lambda future: future.set_result(("failed", "no"))]

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store, broken, full)
    with pytest.raises(OSError, match="No space left"):
        sweep(specs, store, fake)
    assert specs[1].id not in store.failures()
    assert fake.abandoned
    assert claims_are_free(store, specs)


def test_ctrl_c_abandons_the_runs_and_frees_their_claims(fake: Fake, store: Store) -> None:
    specs = [tiny(seed=1001), tiny(seed=1002)]
    fake.scripts = {spec.id: [lambda future: None] for spec in specs}

    class Impatient(Heard):
        def started(self, run_id: str) -> None:
            super().started(run_id)
            if len(self.events) == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(specs, store, fake, listener=Impatient())
    assert fake.abandoned
    assert claims_are_free(store, specs)


def test_shared_data_go_when_nobody_needs_them(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    a, b, c = tiny(seed=1001), tiny("last", seed=1001), tiny(seed=1002)
    there: list[set[str]] = []

    class Looks(Heard):
        def done(self, record: Record) -> None:
            there.append({path.parent.name for path in tmp_path.glob("crest-data-*/*/ood.npz")})

    sweep([a, b, c], store, Here(), listener=Looks())
    assert there == [{a.data_key}, {a.data_key}, {c.data_key}]
    assert not list(tmp_path.glob("crest-data-*"))


@pytest.mark.slow
def test_local_processes_give_the_numbers_of_this_one(store: Store) -> None:
    good = [tiny(readout, seed) for seed in (1000, 1001) for readout in ("mean", "crest", "attention")]
    heard = Heard()
    with LocalExecutor(2) as executor:
        outcome = sweep([failing(), *good], store, executor, listener=heard)
    assert outcome.failed == [failing().id]
    assert store.failure(failing().id).startswith("Traceback")
    assert sorted(outcome.done) == sorted(spec.id for spec in good) == sorted(store.ids())
    for spec in good:
        assert numbers(store.read(spec.id)) == numbers(run(spec))
    assert len(heard.ids("started")) == 7


@pytest.mark.slow
def test_a_killed_process_costs_no_run(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    specs = [tiny("mean", 1000, epochs=20), tiny("mean", 1001, epochs=20)]
    victims: list[int] = []

    def kill() -> None:
        # A run has its data: it is about to be trained.
        until(lambda: list(tmp_path.glob("crest-data-*/*/ood.npz")))
        victim = multiprocessing.active_children()[0]
        assert victim.pid is not None
        victims.append(victim.pid)
        victim.kill()

    killer = threading.Thread(target=kill)
    heard = Heard()
    with LocalExecutor(2) as executor:
        killer.start()
        outcome = sweep(specs, store, executor, listener=heard)
    killer.join()
    assert len(victims) == len(heard.ids("died")) == 1
    assert sorted(outcome.done) == sorted(store.ids()) == sorted(spec.id for spec in specs)
    for spec in specs:
        assert numbers(store.read(spec.id)) == numbers(run(spec))


@pytest.mark.slow
def test_the_processes_of_a_killed_coordinator_end_and_another_goes_on(
    store: Store, fake: Fake, tmp_path: Path
) -> None:
    first, endless = tiny(seed=1000), tiny(seed=1001, epochs=FOREVER)
    with coordinator(1, store.folder, tmp_path / "log", [first, endless], tmp_path) as killed:
        until(lambda: list(tmp_path.glob(f"crest-data-*/{endless.data_key}/ood.npz")))
        assert len(group(killed.pid)) >= 2
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        until(lambda: not group(killed.pid))
    assert store.ids() == {first.id}
    outcome = sweep([first, endless], store, fake)
    assert (outcome.done, outcome.found) == ([endless.id], [first.id])


@pytest.mark.slow
def test_ctrl_c_leaves_no_process_no_claim_and_no_data(store: Store, tmp_path: Path) -> None:
    endless = [tiny(seed=1000, epochs=FOREVER), tiny(seed=1001, epochs=FOREVER)]
    data = tmp_path / "data"
    data.mkdir()
    with coordinator(1, store.folder, tmp_path / "log", endless, data) as stopped:
        until(lambda: list(data.glob("crest-data-*/*/ood.npz")))
        assert not claims_are_free(store, endless)
        os.killpg(stopped.pid, signal.SIGINT)
        assert stopped.wait(120) not in (0, -signal.SIGKILL)
        until(lambda: not group(stopped.pid))
    assert claims_are_free(store, endless)
    assert list(data.iterdir()) == []
    assert store.ids() == store.failures() == set()


@pytest.mark.slow
def test_two_coordinators_share_the_runs(store: Store, tmp_path: Path) -> None:
    specs = [tiny(readout, seed) for seed in (1000, 1001) for readout in ("mean", "last", "max")]
    log = tmp_path / "log"
    arguments = (1, store.folder, log, specs, tmp_path)
    with coordinator(*arguments) as one, coordinator(*arguments) as other:
        assert one.wait(120) == other.wait(120) == 0
    lines = log.read_text().split("\n")[:-1]
    assert sorted(lines) == sorted(f"{what} {spec.id}" for spec in specs for what in ("started", "done"))
    assert store.ids() == {spec.id for spec in specs}
