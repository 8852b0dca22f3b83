"""Which code runs CREST's passes over the features: compiled by numba, or plain torch."""

import importlib.util
import os

import torch
from torch import Tensor
from torch.autograd import forward_ad

from crest._base.arguments import require_choice

BACKENDS = ("auto", "numba", "torch")
"""Names that `backend` takes."""

LARGEST_SIGMA = 100.0
"""Deviation of the low-pass, in steps, up to which a plain convolution is cheaper than one by Fourier transforms.

Our choice: docs/choices.md#compiled-low-pass
"""

# Asked once, and not imported: numba takes a second to load, and graphs are traced without a call to the importer.
_INSTALLED = importlib.util.find_spec("numba") is not None
_SERVED = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def _checked(name: str, argument: str) -> str:
    if not isinstance(name, str):
        raise ValueError(f"{argument} must be one of {', '.join(BACKENDS)}, got {type(name).__name__}")
    require_choice(argument, name, BACKENDS)
    if name == "numba" and not _INSTALLED:
        raise ImportError(f"{argument} 'numba' needs numba: pip install 'crest-readout[fast]'")
    return name


class _State:
    """One choice for the whole process, never a part of a model or of a run."""

    name = _checked(os.environ.get("CREST_BACKEND", "auto"), "CREST_BACKEND")


class backend:  # noqa: N801 - a verb, as torch.no_grad is
    """Choose the code that runs CREST's passes over the features, from now on or for the length of a `with` block.

    The environment variable `CREST_BACKEND` chooses at the start. Both agree up to rounding; the choice holds for the process
    and is no part of a model or of a run's id.

    Args:
        name: "auto" takes numba where it is installed, "numba" asks for it, "torch" does without. In all three, features on another
            device than the CPU, exported graphs, forward-mode derivatives and the transforms of `torch.func` run plain torch.

    Example:
        >>> with backend("torch"):
        ...     chosen_backend()
        'torch'
    """

    # Chosen here and not in `__enter__`: a call without `with` holds from now on, as `torch.set_grad_enabled` does.
    def __init__(self, name: str) -> None:
        self._before = _State.name
        _State.name = _checked(name, "name")

    def __enter__(self) -> None:
        """Nothing more: the choice was made."""

    def __exit__(self, *raised: object) -> None:
        """Put the choice back that was there before."""
        _State.name = self._before


def chosen_backend() -> str:
    """The name that was chosen last: "auto", "numba" or "torch"."""
    return _State.name


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
        or _State.name == "torch"
        or features.device.type != "cpu"
        or features.dtype not in _SERVED
    ):
        return False
    # A compiled graph holds the operators. An exported one runs where crest is not installed, so it must do without them.
    if torch.compiler.is_compiling():
        return not torch.compiler.is_exporting()
    # Forward-mode derivatives and batching have rules for plain torch alone. So have tensors that only look like one.
    plain = type(features) in (Tensor, torch.nn.Parameter)
    transformed = torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0
    return plain and not transformed and torch._C._get_tracing_state() is None
