import numba.core.caching
import pytest

from crest._base.kept_on_disk import kept_on_disk


def half(x: float) -> float:
    return x / 2


@pytest.mark.parametrize("folder", [True, False])
def test_a_kernel_is_compiled_with_and_without_a_folder(
    monkeypatch: pytest.MonkeyPatch, folder: bool
) -> None:
    if not folder:
        monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    kernel = kept_on_disk(error_model="numpy")(half)
    assert kernel(3.0) == 1.5
    assert (kernel.stats.cache_path is not None) == folder
