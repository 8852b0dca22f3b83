from types import SimpleNamespace

import pytest

from commands import Command
from crest.readouts.fast.kernels import residuals as kernels


@pytest.mark.unchecked
def test_it_says_where_the_compiled_operators_are(crest: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, status = crest("warm-up", "float32")
    folder = str(kernels.residuals.stats.cache_path)
    assert shown.replace("\n", "").startswith(f"CREST's operators for float32 are ready in {folder}The user")
    assert status == 0
    # A kernel for which no folder could be written.
    unkept = SimpleNamespace(stats=SimpleNamespace(cache_path=None))
    monkeypatch.setattr(kernels, "residuals", unkept)
    monkeypatch.setattr("crest.readouts.fast.warm_up", lambda *_: None)
    shown, status = crest("warm-up")
    assert shown.startswith(
        "crest: no folder can be written to keep compiled operators; NUMBA_CACHE_DIR can name one"
    )
    assert status == 1
