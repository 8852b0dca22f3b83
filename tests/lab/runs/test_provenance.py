import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from crest.lab.runs import provenance
from crest.lab.runs.provenance import peak_memory, source_digest, start_measuring_memory


def test_the_source_is_named_by_its_content_and_not_by_what_comes_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lab" / "cli").mkdir(parents=True)
    for name, text in (("a.py", "a = 1"), ("lab/cli/b.py", "b = 1")):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(provenance, "_PACKAGE", tmp_path)

    def fresh() -> str:
        source_digest.cache_clear()
        return source_digest()

    first = fresh()
    (tmp_path / "lab" / "cli" / "b.py").write_text("b = 2")
    assert fresh() == first
    (tmp_path / "a.py").write_text("a = 2")
    assert fresh() != first
    monkeypatch.undo()
    source_digest.cache_clear()


def test_the_peak_is_this_runs() -> None:
    large = np.ones(40_000_000)
    before = peak_memory()
    assert before > large.nbytes / 2**20
    del large
    start_measuring_memory()
    if sys.platform == "linux":
        assert peak_memory() < before - 200


def test_a_child_does_not_inherit_the_peak() -> None:
    large = np.ones(80_000_000)
    code = "from crest.lab.runs.provenance import peak_memory; print(peak_memory())"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    if sys.platform == "linux":
        assert float(shown) < peak_memory() - large.nbytes / 2**20 / 2
