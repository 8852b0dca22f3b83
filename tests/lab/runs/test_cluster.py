"""A real scheduler and real workers, as processes, some of which are killed."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crest.lab.runs import sweep as module
from crest.lab.runs.executors import ClusterExecutor
from crest.lab.runs.runner import run
from crest.lab.runs.spec import RunSpec
from crest.lab.runs.store import Store
from crest.lab.runs.sweep import sweep
from sweeping import Heard, failing, numbers, tiny, until

distributed = pytest.importorskip("distributed")


class Cluster:
    """A scheduler, and workers of one thread that nobody starts again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []

    def scheduler(self, **settings: str) -> str:
        file = self.folder / "scheduler.json"
        self._start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file), **settings)

        def listening() -> bool:
            try:
                return bool(json.loads(file.read_text())["address"])
            except (OSError, ValueError):
                return False

        until(listening)
        self.address: str = json.loads(file.read_text())["address"]
        return self.address

    def worker(self) -> "subprocess.Popen[bytes]":
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(self.folder)]
        return self._start("worker", self.address, *options)

    def _start(self, what: str, *options: str, **settings: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--host", "127.0.0.1", *options]
        with (self.folder / f"{what}-{len(self.processes)}.log").open("w") as log:
            process = subprocess.Popen(command, stderr=log, env={**os.environ, **settings})
        self.processes.append(process)
        return process


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    yield made
    for process in made.processes:
        process.kill()
        process.wait()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


def training(client: Any) -> list[str]:
    """Workers that are in the middle of `fit`."""
    return [worker for worker, stacks in client.call_stack().items() if "in fit" in str(stacks)]


@pytest.mark.slow
def test_a_killed_worker_costs_no_run(cluster: Cluster, store: Store) -> None:
    address = cluster.scheduler()
    workers = [cluster.worker(), cluster.worker()]
    specs = [tiny(readout, seed, epochs=20) for seed in (1000, 1001) for readout in ("crest", "mean")]
    killed: list[int] = []

    def kill() -> None:
        with distributed.Client(address, set_as_default=False) as client:
            pids = client.run(os.getpid)
            busy: list[str] = []
            until(lambda: busy.extend(training(client)) or busy)
            os.kill(pids[busy[0]], signal.SIGKILL)
            killed.append(pids[busy[0]])

    killer = threading.Thread(target=kill)
    heard = Heard()
    with ClusterExecutor(address) as executor:
        until(lambda: executor.slots == 2 + 2)
        killer.start()
        outcome = sweep([failing(), *specs], store, executor, listener=heard)
        killer.join()
        # The number in flight follows the workers.
        until(lambda: executor.slots == 1 + 2)
    assert killed
    assert killed[0] in [worker.pid for worker in workers]
    assert sorted(outcome.done) == sorted(store.ids()) == sorted(spec.id for spec in specs)
    assert sorted(heard.ids("done")) == sorted(outcome.done)
    assert outcome.failed == [failing().id]
    assert "training diverged" in store.failure(failing().id)
    for spec in specs:
        assert numbers(store.read(spec.id)) == numbers(run(spec))


@pytest.mark.slow
def test_a_run_that_kills_its_workers_is_noted(
    cluster: Cluster, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def suicide(fields: dict[str, Any], run_id: str, source: str, data: str | None) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(module, "execute", suicide)
    address = cluster.scheduler(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0")
    cluster.worker()
    with ClusterExecutor(address) as executor:
        outcome = sweep([tiny()], store, executor)
    assert outcome.failed == [tiny().id]
    assert "killed, or out of memory?" in store.failure(tiny().id)


class Kills(Heard):
    """Kills a process when all runs are in flight."""

    def __init__(self, victim: "subprocess.Popen[bytes]", runs: int) -> None:
        super().__init__()
        self.victim = victim
        self.runs = runs

    def started(self, run_id: str) -> None:
        super().started(run_id)
        if len(self.events) == self.runs:
            self.victim.kill()


@pytest.mark.slow
def test_a_lost_scheduler_is_said_in_one_sentence(cluster: Cluster, store: Store) -> None:
    address = cluster.scheduler()
    specs = [tiny(seed=1000), tiny(seed=1001)]
    # Without workers the runs wait at the scheduler.
    with (
        ClusterExecutor(address) as executor,
        pytest.raises(ConnectionError, match=f"the Dask scheduler at {address} went away"),
    ):
        sweep(specs, store, executor, listener=Kills(cluster.processes[0], 2))
    assert store.ids() == store.failures() == set()
    assert all(claim is not None for claim in [store.claim(spec.id) for spec in specs])


@pytest.mark.slow
def test_the_command_says_nothing_else_when_its_scheduler_dies(cluster: Cluster, tmp_path: Path) -> None:
    address = cluster.scheduler()
    command = [sys.executable, "-m", "crest", "run", "main", "--quick", "--cluster", address, "--folder", "r"]
    errors = tmp_path / "errors"
    with errors.open("w") as file:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=file, cwd=tmp_path)
    # It waits for a worker, so it has reached the scheduler, and no run is done before the end.
    until(lambda: "waiting for a worker" in errors.read_text())
    cluster.processes[0].kill()
    assert process.wait(120) == 1
    said = errors.read_text().splitlines()
    assert len(said) == 2, said
    assert said[1].startswith(f"crest: the Dask scheduler at {address} went away")


def test_nobody_at_the_address() -> None:
    with pytest.raises(ConnectionError, match=r"no Dask scheduler answers at tcp://127.0.0.1:1 within 0.3 s"):
        ClusterExecutor("tcp://127.0.0.1:1", timeout=0.3)


@pytest.mark.parametrize(
    "address", ["", "host", "http://host:8786", "tcp://host", "tcp://host:port", "tcp://host:8786/x"]
)
def test_refuses_what_is_no_address(address: str) -> None:
    with pytest.raises(ValueError, match="address must be like tcp://host:8786, got"):
        ClusterExecutor(address)


def test_specs_survive_the_way() -> None:
    spec = tiny("crest", readout_options={"config": {"sigma": 3.0}}, system_options={"steps": 128})
    from distributed.protocol import deserialize, serialize  # noqa: PLC0415

    assert RunSpec.from_dict(deserialize(*serialize(spec.to_dict()))).id == spec.id
