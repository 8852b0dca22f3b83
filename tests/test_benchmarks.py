"""Every benchmark runs and prints its ratios; how large they are is nobody's assertion."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

SCRIPTS = sorted((ROOT / "benchmarks").glob("*.py"))
SAYS = {
    "audit": r"(audit +[\d.]+ s +[\d.]+ passes +[\d.]+ x passes(.|\n)*){2}",
    "backgrounds": r"periodic +two( +[\d.]+ %){4}(.|\n)*periodic +no tone +[\d.]+ ms +[\d.]+ x",
    "imports": r"crest --help +[\d.]+ s +[\d.]+ x",
    "probes": r"credit +[\d.]+ s(.|\n)*audit +[\d.]+ s +\d+ predictions +[\d.]+ x",
    "readouts": r"crest +[\d.]+ ms +[\d.]+ x",
    "repair": r"(jobs=\d: 8 candidates take +[\d.]+ trainings of [\d.]+ s\n){2}the same candidates with the same errors: yes",
    "runs": r"ratio +[\d.]+ \([\d.]+ to [\d.]+\)(.|\n)*attention +crest( +[\d.]+){4}",
    "streaming": r"\n +256 +100\.0 % +0\.0 %( +[\d.]+ %){7}",
    "simulators": r"SG-Drive:(.|\n)*LSODA at tolerance .* \d+ x\nimpact:(.|\n)* \d+ x",
}


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_benchmark_prints_its_ratios(script: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(script), "--quick"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert re.search(SAYS[script.stem], done.stdout), done.stdout
