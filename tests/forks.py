"""Runs pytest many times, each in a fork of one process that has imported what is slow: what `tests/mutants.py` asks.

A program: it reads a question from each line of its input and writes an answer to each line of its output, both JSON.
"""

import json
import os
import select
import signal
import sys
import time

import hypothesis  # noqa: F401
import jaxtyping  # noqa: F401
import numba  # noqa: F401
import pytest
import scipy.signal  # noqa: F401
import torch  # noqa: F401


class Failures:
    """The tests that failed, and the files that could not be collected."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the test's name."""
        if report.failed:
            self.found.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep the file's name."""
        if report.failed:
            self.found.append(report.nodeid)


# It compares processes of its own with this one, bit for bit, which does not hold in a fork.
_LEFT_OUT = (
    "--deselect=tests/_repair/test_trying.py::test_side_by_side_gives_the_same_candidates_bits_and_pick",
)


def asked(arguments: list[str], checked: bool, out: int) -> None:
    """In a fork: run the tests, write the exit code and the failures, and end."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    os.environ["CREST_CHECK_SHAPES"] = str(int(checked))
    failures = Failures()
    code = pytest.main(["-q", "-p", "no:cacheprovider", *_LEFT_OUT, *arguments], plugins=[failures])
    os.write(out, json.dumps({"code": int(code), "failed": failures.found}).encode())
    os._exit(0)


def end(child: int) -> None:
    """Kill a fork and what it has started."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        # It has no group of its own yet.
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def answer(arguments: list[str], checked: bool, limit: float) -> dict[str, object]:
    """The exit code of pytest and what failed; no code if the time ran out or the process died."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        asked(arguments, checked, write)
    os.close(write)
    parts, ends = [], time.monotonic() + limit
    try:
        while select.select([read], [], [], max(0.0, ends - time.monotonic()))[0]:
            part = os.read(read, 65536)
            if not part:
                break
            parts.append(part)
    finally:
        os.close(read)
        end(child)
    try:
        found: dict[str, object] = json.loads(b"".join(parts))
    except ValueError:
        return {"code": None, "failed": []}
    return found


if __name__ == "__main__":
    # So that the fork at work is ended, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for line in sys.stdin:
        print(json.dumps(answer(**json.loads(line))), flush=True)
