"""What is compiled ahead is not compiled again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import crest

# Every way in which a readout is called: none may need another version of a kernel.
CALLS = """
import torch, crest
from crest.readouts.fast.kernels import pooling, ranking, residuals

mask = torch.arange(50) < torch.tensor([[50], [40], [30], [20]])
for width in (1, 8, 13):
    for training in (True, False):
        for steps in (None, mask):
            x = torch.randn(4, 50, width, requires_grad=True)
            crest.CrestReadout(0.1).train(training)(x, mask=steps).sum().backward()
            crest.CrestReadout(0.1).train(training)(x.detach().half(), mask=steps)
kernels = residuals.residuals, ranking.selections, pooling.weighted_sums, pooling.spread_weights
print(sum(len(one.stats.cache_misses) for one in kernels))
"""


@pytest.mark.slow
@pytest.mark.unchecked
def test_what_is_compiled_ahead_is_not_compiled_again(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def run(*words: str) -> tuple[str, str]:
        done = subprocess.run(
            [sys.executable, *words], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout, done.stderr

    # In a new folder the first call says that it compiles, unless it is asked to: then it says where the result is.
    shown, told = run("-m", "crest", "warm-up", "float32")
    assert shown.startswith("CREST's operators for float32 are ready in ")
    assert str(tmp_path) in shown.replace("\n", "")
    assert "compiles its operators" not in told
    shown, told = run("-c", CALLS)
    assert (shown, told) == ("0\n", "")
    _, told = run(
        "-c", "import torch, crest; crest.CrestReadout().eval()(torch.randn(2, 60, 3, dtype=torch.float64))"
    )
    assert told.count("crest compiles its operators for torch.float64, which takes some 10 s, once") == 1


def test_only_kinds_that_are_compiled_are_taken() -> None:
    with pytest.raises(ValueError, match=r"dtype must be torch.float32 or torch.float64, got torch.float16"):
        crest.readouts.fast.warm_up(torch.float16)
