"""Tell the user that kernels are being compiled.

numba keeps compiled code on disk. It counts what it did not find there just before it compiles, so only a call that compiles is told.
A call that is slow for another reason, such as a busy machine, is not.
"""

import contextlib
import threading
import warnings
from collections.abc import Iterator

import torch

# Compiling takes longer, and what is compiled sooner needs no word. our choice: docs/evidence/choices.md#compiled-low-pass
_PATIENCE = 1.0
_CALLED: set[tuple[object, torch.dtype]] = set()
_TOLD: set[torch.dtype] = set()


@contextlib.contextmanager
def told_first_call(kernel: object, dtype: torch.dtype) -> Iterator[None]:
    """Around a call of a kernel: a warning if it is the first one and compiles for long; one for each dtype.

    Example:
        >>> with told_first_call("any kernel", torch.float32):
        ...     pass
    """
    if (kernel, dtype) in _CALLED:
        yield
        return
    before, done = _compiled_anew(kernel), threading.Event()

    def watch() -> None:
        # Again and again: on a busy machine compiling may begin late.
        while not done.wait(_PATIENCE):
            if _compiled_anew(kernel) > before:
                _tell(kernel, dtype)
                return

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()
    _CALLED.add((kernel, dtype))


def _compiled_anew(kernel: object) -> int:
    """For how many types of arguments numba did not find the kernel on disk; 0 if numba does not compile it."""
    stats = getattr(kernel, "stats", None)
    return 0 if stats is None else len(stats.cache_misses)


def _how_often(kernel: object) -> str:
    # numba's name for the folder where it keeps a kernel; None if it found none that can be written.
    if getattr(getattr(kernel, "stats", None), "cache_path", None) is None:
        return "in each process, since no folder can be written to keep the result (NUMBA_CACHE_DIR can name one)"
    return "once, as the result is kept on disk; crest.readouts.fast.warm_up() does it ahead"


def _tell(kernel: object, dtype: torch.dtype) -> None:
    if dtype not in _TOLD:
        _TOLD.add(dtype)
        warnings.warn(
            f"crest compiles its operators for {dtype}, which takes some 10 s, {_how_often(kernel)}. "
            "crest.readouts.fast.backend('torch') does without",
            stacklevel=1,
        )
