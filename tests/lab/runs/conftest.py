"""Fixtures of the tests of the store and of packing."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from crest.lab.runs.store import Store
from lab.runs.machine import Workers, mount


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


@pytest.fixture(scope="module")
def program() -> Iterator[Workers]:
    workers = Workers()
    yield workers
    assert workers.process.stdin is not None
    workers.process.stdin.close()
    assert workers.process.wait() == 0


@pytest.fixture
def workers(program: Workers) -> Iterator[Workers]:
    program.said.clear()
    yield program
    # A test that failed may have left some.
    for child in list(program.living):
        program.kill(child)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Store]:
    """A store on a disk of its own with room for two of the records below."""
    disk = tmp_path / "disk"
    mount(disk, "size=256k")
    yield Store(disk / "runs")
    subprocess.run(["umount", disk], check=True)
