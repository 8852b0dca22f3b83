"""Compile CREST's operators before the first call needs them."""

import torch

from crest.readouts.fast.backends import backend


def warm_up(dtype: torch.dtype = torch.float32) -> None:
    """Compile CREST's operators, or load what is on disk: at the installation of an image, or before a clock runs.

    Args:
        dtype: of features. float16 and bfloat16 are computed in float32.

    Raises:
        ImportError: numba is missing.

    Example:
        >>> warm_up(torch.float32)
    """
    # CREST asks this package which code runs.
    from crest.readouts.crest import CrestReadout  # noqa: PLC0415

    if dtype is not torch.float32 and dtype is not torch.float64:
        raise ValueError(f"dtype must be torch.float32 or torch.float64, got {dtype!r:.80}")
    # Whatever torch is set to: the operators are for a CPU, and compiled with their gradients.
    with backend("numba"), torch.inference_mode(False), torch.enable_grad():
        features = torch.linspace(0, 1, 240, dtype=dtype, device="cpu").reshape(2, 40, 3).requires_grad_()
        # In training it also looks for a run-up.
        CrestReadout().train()(features).sum().backward()
