"""Shape checks for the whole run; tests marked `unchecked` run in a second one without them.

jaxtyping's import hook wraps every function of the package, so a wrong shape fails at the call that made it.
The wrappers disturb tracing (compile, export) and answer before a public door can, hence the second run:
`CREST_CHECK_SHAPES=0 pytest -m unchecked`.
"""

import os
from collections.abc import Iterator
from pathlib import Path

# Some virtual machines report bfloat16 matrix instructions that they cannot execute: the process would die.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")

import hypothesis
import pytest
import torch

from browsing import browser  # noqa: F401 - a fixture
from places import SOURCE

# A program with an environment of its own (`make mutants`): what it imports is not here.
collect_ignore = ["mutants.py"]

# A busy machine is slow, and no test asserts a time.
hypothesis.settings.register_profile("crest", deadline=None)
hypothesis.settings.load_profile("crest")

# Tensors here are small, and pytest's workers share the cores: a second thread makes training many times slower.
torch.set_num_threads(1)

CHECK_SHAPES = os.environ.get("CREST_CHECK_SHAPES", "1") == "1"
if CHECK_SHAPES:
    from jaxtyping import install_import_hook

    def checked(folder: Path) -> Iterator[str]:
        """Modules below a folder, without kernels: numba compiles them itself and must not meet a wrapper."""
        for path in sorted(folder.iterdir()):
            inside = path.is_dir() and any(path.rglob("*.py"))
            if path.name in ("kernels", "threads.py", "__init__.py") or not (inside or path.suffix == ".py"):
                continue
            # Naming a package covers what is in it, kernels too.
            if inside and any(path.rglob("kernels")):
                yield from checked(path)
            else:
                yield ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)

    modules = [*checked(SOURCE)]
    # The tower lets an int stand where a float is asked for, as every static checker does.
    install_import_hook(modules, "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Each run takes its own half, and says so by deselecting the other."""
    wanted = [item for item in items if (item.get_closest_marker("unchecked") is None) == CHECK_SHAPES]
    chosen = set(wanted)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = wanted


@pytest.fixture(autouse=True)
def _same_start() -> None:
    torch.manual_seed(0)
    # numba's first parallel loop in a process gives torch its own number of threads, and sums then round differently.
    torch.set_num_threads(1)
