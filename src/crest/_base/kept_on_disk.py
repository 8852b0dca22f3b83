"""numba's compiler for kernels whose machine code is kept on disk, where there is a folder for it."""

from collections.abc import Callable
from typing import Any

import numba


def kept_on_disk(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator, as `numba.njit(cache=True, **options)` is one, that also works where no folder can be written.

    numba looks for `NUMBA_CACHE_DIR`, a folder beside the code and one in the home directory, and fails without any. Here the kernel is
    compiled in each process then.

    Example:
        >>> @kept_on_disk(error_model="numpy")
        ... def inverse(x):
        ...     return 1 / x
        >>> float(inverse(0.0))
        inf
    """

    def kept(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=True, **options)(function)
        # A function of an interactive session, such as that of the example, has no file that its code could be compared with.
        except RuntimeError:
            return numba.njit(**options)(function)

    return kept
