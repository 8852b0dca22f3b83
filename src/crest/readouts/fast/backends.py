"""Which code runs CREST's passes over the features: compiled by numba, or plain torch."""

import importlib.util
import os
import threading

import torch
from torch import Tensor
from torch.autograd import forward_ad

from crest._base.arguments import require_choice
from crest._base.extras import missing_extra

BACKENDS = ("auto", "numba", "torch")
"""Names that `backend` takes."""

LARGEST_SIGMA = 100.0
"""Standard deviation of the low-pass, in steps, up to which a plain convolution is cheaper than Fourier transforms.

Our choice: docs/evidence/choices.md#compiled-low-pass
"""

# Asked once, and not imported: numba takes a second to load, and graphs are traced without a call to the importer.
_INSTALLED = importlib.util.find_spec("numba") is not None
_SERVED = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def _checked(name: str, argument: str) -> str:
    if not isinstance(name, str):
        raise ValueError(f"{argument} must be one of {', '.join(BACKENDS)}, got {type(name).__name__}")
    require_choice(argument, name, BACKENDS)
    if name == "numba" and not _INSTALLED:
        raise ImportError(missing_extra(f"{argument} 'numba'", "numba", "fast"))
    return name


_FIRST = _checked(os.environ.get("CREST_BACKEND", "auto"), "CREST_BACKEND")


class _Blocks(threading.local):
    """The names of the `with` blocks that a thread is in, the innermost last."""

    names: tuple[str, ...] = ()


_BLOCKS = _Blocks()


class _Process:
    """Choices without a block, the newest last: one of each thread. Replaced and never changed, so that it is read unlocked."""

    held: tuple["backend", ...] = ()


_LOCK = threading.Lock()


class backend:  # noqa: N801 - a verb, as torch.no_grad is
    """Choose the code that runs CREST's passes over the features, from now on or for the length of a `with` block.

    The environment variable `CREST_BACKEND` chooses at the start. Both agree up to rounding; the choice is no part of a model
    or of a run's id. Without a block it holds for the process. A block holds for its own thread, whatever other threads choose.

    Args:
        name: "auto" takes numba if it is installed, "numba" asks for it, "torch" does without. In all three, features on another
            device than the CPU, exported graphs, forward-mode derivatives and the transforms of `torch.func` run plain torch.

    Example:
        >>> with backend("torch"):
        ...     chosen_backend()
        'torch'
    """

    # Chosen here and not in `__enter__`: a call without `with` holds from now on, as `torch.set_grad_enabled` does.
    def __init__(self, name: str) -> None:
        self.name = _checked(name, "name")
        self._thread = threading.get_ident()
        self._before: tuple[backend, ...] = ()
        with _LOCK:
            own = tuple(one for one in _Process.held if one._thread == self._thread)
            others = tuple(one for one in _Process.held if one not in own)
            # What its thread chose before comes back if this is the beginning of a block. That was none: it begins no more.
            for one in own:
                one._before = ()
            self._before = own
            _Process.held = (*others, self)

    def __enter__(self) -> None:
        """From now on the choice is that of this thread alone."""
        _BLOCKS.names = (*_BLOCKS.names, self.name)
        with _LOCK:
            _Process.held = (*self._before, *(one for one in _Process.held if one is not self))

    def __exit__(self, *raised: object) -> None:
        """Put the choice back that was there before."""
        _BLOCKS.names = _BLOCKS.names[:-1]


def chosen_backend() -> str:
    """The name that holds in this thread: "auto", "numba" or "torch"."""
    if _BLOCKS.names:
        return _BLOCKS.names[-1]
    held = _Process.held
    return held[-1].name if held else _FIRST


def serves(features: Tensor) -> bool:
    """Whether the compiled operators take these features as they are used now.

    Example:
        >>> with backend("torch"):
        ...     serves(torch.zeros(2, 30, 4))
        False
    """
    if not isinstance(features, Tensor):
        raise ValueError(f"features must be a tensor, got {features!r}")
    if (
        not _INSTALLED
        or chosen_backend() == "torch"
        or features.device.type != "cpu"
        or features.dtype not in _SERVED
        or features.layout is not torch.strided
        or features.is_nested
    ):
        return False
    # A compiled graph holds the operators. An exported one runs where crest is not installed, so it must do without them.
    if torch.compiler.is_compiling():
        return not torch.compiler.is_exporting()
    return eager(features)


def eager(features: Tensor) -> bool:
    """Whether operators without rules for transforms may run on these features now.

    Forward-mode derivatives and the transforms of `torch.func` have rules for plain torch alone. So have tensors that only look like
    one. A graph that is traced must not depend on sizes.

    Example:
        >>> eager(torch.zeros(2, 30, 4))
        True
    """
    if torch.compiler.is_compiling() or type(features) not in (Tensor, torch.nn.Parameter):
        return False
    transformed = torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0
    return not transformed and torch._C._get_tracing_state() is None
