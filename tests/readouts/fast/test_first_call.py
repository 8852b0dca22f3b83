"""What is said while kernels are compiled."""

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from crest.readouts.fast import first_call
from crest.readouts.fast.first_call import told_first_call


class Kernel:
    """As numba's: it counts what it did not find on disk just before it compiles."""

    def __init__(self, *, on_disk: bool) -> None:
        self.on_disk = on_disk
        self.stats = SimpleNamespace(cache_misses={})

    def __call__(self, kind: str) -> None:
        time.sleep(0.05)  # the disk is slow too
        if not self.on_disk:
            self.stats.cache_misses[kind] = 1
        time.sleep(0.15)


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_first_call_that_compiles_is_told_once_for_each_dtype(
    monkeypatch: pytest.MonkeyPatch, on_disk: bool
) -> None:
    monkeypatch.setattr(first_call, "_PATIENCE", 0.01)
    monkeypatch.setattr(first_call, "_CALLED", set())
    monkeypatch.setattr(first_call, "_TOLD", set())
    one, two = Kernel(on_disk=on_disk), Kernel(on_disk=on_disk)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for kernel in (one, two, one):
            with told_first_call(kernel, torch.float32):
                kernel("float32")
        wanted = [] if on_disk else ["crest compiles its operators for torch.float32"]
        assert [str(each.message).split(",")[0] for each in told] == wanted
        with told_first_call(one, torch.float64):
            pass
        assert len(told) == len(wanted)


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
