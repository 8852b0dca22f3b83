"""Say that kernels are being compiled, while somebody waits for it.

numba keeps compiled code on disk. It has no question for whether a kernel is there, so a first call that takes long is what tells it.
"""

import contextlib
import threading
import warnings
from collections.abc import Iterator

import torch

# Code that is on disk is loaded in a fraction of this. our choice: docs/choices.md#compiled-low-pass
_PATIENCE = 1.0
_CALLED: set[tuple[object, torch.dtype]] = set()
_TOLD: set[torch.dtype] = set()


@contextlib.contextmanager
def told_first_call(kernel: object, dtype: torch.dtype) -> Iterator[None]:
    """Around a call of a kernel: a warning if it is the first one and takes as long as compiling does; one for each dtype.

    Example:
        >>> with told_first_call("any kernel", torch.float32):
        ...     pass
    """
    if (kernel, dtype) in _CALLED:
        yield
        return
    timer = threading.Timer(_PATIENCE, _tell, [dtype])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
    _CALLED.add((kernel, dtype))


def _tell(dtype: torch.dtype) -> None:
    if dtype not in _TOLD:
        _TOLD.add(dtype)
        warnings.warn(
            f"crest compiles its operators for {dtype}, which takes some 10 s once; the result is kept on disk. "
            "crest.readouts.fast.backend('torch') does without",
            stacklevel=1,
        )
