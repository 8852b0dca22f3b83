"""Damaged files of every kind: a reader answers or refuses, within its memory and time, and its process lives."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import parser_fuzzer
from parser_fuzzer import KINDS, ONCE, cases

CASES = os.environ.get("CREST_FUZZ_FILES", "25")
"""Damaged files of each kind; `make fuzz` raises it."""
SEED = os.environ.get("CREST_FUZZ_SEED", "0")


@pytest.mark.slow
def test_damaged_files_are_read_or_refused() -> None:
    program = [sys.executable, parser_fuzzer.__file__, "--cases", CASES, "--seed", SEED]
    # Found as this process finds them.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    run = subprocess.run(program, capture_output=True, text=True, env=environment, check=False)
    told = [json.loads(line) for line in run.stdout.splitlines()]
    assert [kind["kind"] for kind in told] == list(KINDS), run.stderr
    assert [trouble for kind in told for trouble in kind["troubles"]] == []
    assert run.returncode == 0
    for kind in told:
        assert kind["tried"] == int(CASES) + 1 + len(ONCE.get(kind["kind"], []))
        # The sound file is among them, and damage is not harmless.
        assert kind["read"] >= 1, kind
        assert kind["refused"] >= kind["tried"] // 3, kind


@pytest.mark.parametrize("kind", KINDS)
def test_cases_can_be_made_again(kind: str) -> None:
    one, other = ([make() for make in list(cases(kind, 3, 4))[-4:]] for _ in range(2))
    assert one == other
    assert len(set(one)) > 1


@pytest.mark.parametrize(
    ("error", "outcome"), [(ValueError, "refused"), (KeyError, "KeyError"), (None, "read")]
)
def test_only_a_value_error_is_a_refusal(
    error: type[Exception] | None, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reads(path: Path) -> None:
        assert path.read_bytes() == b"some"
        if error is not None:
            raise error("no")

    monkeypatch.setitem(KINDS, "npy", ("a.npy", parser_fuzzer.npy, reads))
    assert parser_fuzzer.attempt("npy", b"some", tmp_path).startswith(outcome)
