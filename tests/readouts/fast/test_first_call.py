"""What is said while kernels are compiled."""

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
import torch

from crest.readouts.fast import first_call
from crest.readouts.fast.first_call import told_first_call


def test_a_first_call_that_takes_long_is_told_once_for_each_dtype(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_call, "_PATIENCE", 0.01)
    monkeypatch.setattr(first_call, "_CALLED", set())
    monkeypatch.setattr(first_call, "_TOLD", set())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for kernel in ("one", "two", "one"):
            with told_first_call(kernel, torch.float32):
                time.sleep(0.2)
        assert [str(one.message).split(",")[0] for one in told] == [
            "crest compiles its operators for torch.float32"
        ]
        with told_first_call("one", torch.float64):
            pass
        assert len(told) == 1


@pytest.mark.slow
@pytest.mark.unchecked
def test_it_is_told_where_nothing_is_kept_on_disk_and_only_there(tmp_path: Path) -> None:
    code = "import torch, crest; crest.CrestReadout().eval()(torch.randn(2, 60, 3))"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    assert [run.stderr.count("crest compiles its operators for torch.float32") for run in runs] == [1, 0]
