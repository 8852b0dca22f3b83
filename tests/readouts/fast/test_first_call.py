"""What is said while kernels are compiled."""

import os
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import crest
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
def test_it_is_told_where_no_folder_can_be_written(tmp_path: Path) -> None:
    source = Path(crest.__file__).parent
    shutil.copytree(source, tmp_path / "crest", ignore=shutil.ignore_patterns("__pycache__", "lab"))
    # As on a read-only disk, which keeps nothing from an administrator: neither beside the code nor in the home directory.
    (tmp_path / "crest" / "readouts" / "fast" / "kernels" / "__pycache__").touch()
    nowhere = {"HOME": os.devnull, "XDG_CACHE_HOME": os.devnull, "PYTHONDONTWRITEBYTECODE": "1"}
    code = "import torch, crest; print(crest.CrestReadout().eval()(torch.randn(2, 60, 3)).shape)"
    environment = {**os.environ, **nowhere, "PYTHONPATH": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout == "torch.Size([2, 3])\n"
    assert "some 10 s, in each process, since no folder can be written" in run.stderr
