"""The slow background: the paper's Gaussian low-pass."""

import math
from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from crest._base.arguments import require
from crest._base.arrays import Features, StepFlags, StepMask, at_least_float32
from crest._base.doors import door
from crest._base.tensors import as_signals

SIGMA = 6.0
"""How slow the background is by default: the standard deviation of the Gaussian, in steps.

Our choice: docs/evidence/choices.md#sigma
"""

# our choice: docs/evidence/choices.md#ends-of-a-trajectory
_REACH = 6.0
# Steps to which a traced graph keeps its kernel, however short a trajectory is: to ask for its length would fix an axis.
_TRACED_REACH = 2**16
# Taps up to which, and channels from which on, a matrix product is faster than Fourier transforms; and steps of a block.
# our choice: docs/evidence/choices.md#low-pass-as-a-product
_LONGEST_PRODUCT, _LEAST_CHANNELS, _BLOCK = 150, 16, 16
# A Gaussian that is narrower than this is 0 one step away, in float64 too.
_NARROWEST = 0.02


Background: TypeAlias = Callable[..., Tensor]
"""A kind of background: `(signals, mask, *, sigma)`, with signals (B, T, C) that are 0 on padding, to a tensor of their shape, too."""


def slow_background(signals: Features, mask: StepMask | None, *, sigma: float) -> Features:
    """`low_pass` in the form of every kind of background: of checked signals, in float32 at least, without a door.

    Example:
        >>> slow_background(torch.ones(1, 3, 1), None, sigma=6.0).flatten()
        tensor([1., 1., 1.])
    """
    kernel = _kernel(sigma, signals)
    if mask is None:
        smooth, radius = _convolve(signals, kernel), kernel.shape[0] // 2
        if torch.compiler.is_compiling() or signals.requires_grad or signals.shape[1] <= 2 * radius:
            # Without a mask one trajectory's weights serve them all.
            return smooth / _convolve(torch.ones_like(signals[:1, :, :1]), kernel)
        # Away from the ends they are one, so the rest need not be touched.
        weight = kernel.cumsum(0)[radius:-1].unsqueeze(-1)
        smooth[:, :radius] /= weight
        smooth[:, signals.shape[1] - radius :] /= weight.flip(0)
        return smooth
    # One factor for the weights and the padding: one pass over the signals, not two.
    present = mask.unsqueeze(-1).to(signals.dtype)
    weight = _convolve(present, kernel).clamp(min=torch.finfo(signals.dtype).eps)
    return _convolve(signals, kernel) * (present / weight)


@door
def low_pass(features: Features, mask: StepFlags | None = None, *, sigma: float) -> Features:
    """LP_sigma: the slow background of each channel, a Gaussian low-pass along time.

    At each step the average of the valid steps around it with Gaussian weights of standard deviation `sigma`
    steps; if that is much longer than the trajectory, its mean. Nothing wraps around and padding has no weight, so a constant comes back as itself up to the ends.
    In float32 at least; 0 on padding.

    Example:
        >>> ramp = torch.arange(5.0).reshape(1, 5, 1)
        >>> low_pass(ramp, sigma=1.0).flatten()
        tensor([0.5201, 1.1288, 2.0000, 2.8712, 3.4799])
    """
    features, valid = as_signals("features", features, mask, "(B, T, D)")
    if not torch.compiler.is_compiling():
        require("sigma", sigma, "be positive")
    features = features.to(at_least_float32(features))
    if valid is not None:
        features = features.masked_fill(~valid.unsqueeze(-1), 0.0)
    return slow_background(features, valid, sigma=sigma)


def local_line(signals: Features, mask: StepMask | None, *, sigma: float) -> Features:
    """The low-pass that is fair at the ends: at each step the value of a line fitted with the same Gaussian weights.

    An average is off at the ends of a slope, where all steps lie on one side; a line is not. It costs twice as much.
    For signals in float32 at least; 0 on padding. Not for exported graphs.

    Example:
        >>> ramp = torch.arange(5.0).reshape(1, 5, 1)
        >>> bool(torch.allclose(local_line(ramp, None, sigma=1.0), ramp, atol=1e-5))
        True
    """
    kernel = _kernel(sigma, signals)
    radius = len(kernel) // 2
    # In units of the shorter of both, or a long sigma would leave nothing of the slope.
    unit = max(min(sigma, radius), _NARROWEST)
    offset = torch.arange(-radius, radius + 1, device=signals.device, dtype=signals.dtype) / unit
    present = torch.ones_like(signals[:1, :, :1])
    if mask is not None:
        signals = signals.masked_fill(~mask.unsqueeze(-1), 0.0)
        present = mask.unsqueeze(-1).to(signals.dtype)
    # The first moment's kernel is odd. A convolution meets it from behind.
    weight, spread = (_convolve(present, kernel * offset**power) for power in (0, 2))
    tilt, slope = (_convolve(series, -kernel * offset, odd=True) for series in (present, signals))
    tiny = torch.finfo(signals.dtype).eps
    determinant = weight * spread - tilt.square()
    # One step alone has no line, but a mean.
    lined = determinant > tiny * weight.square()
    determinant = torch.where(lined, determinant, 1.0)
    by_value = torch.where(lined, spread / determinant, 1 / weight.clamp(min=tiny))
    by_slope = torch.where(lined, tilt / determinant, 0.0)
    return (by_value * present) * _convolve(signals, kernel) - (by_slope * present) * slope


def reach_of(sigma: float) -> int:
    """Steps to either side that the low-pass looks at.

    Example:
        >>> reach_of(6.0)
        36
    """
    return math.ceil(_REACH * sigma)


def _kernel(sigma: float, like: Tensor) -> Tensor:
    """Gaussian weights as far as they reach, but no farther than two steps of a trajectory can be apart."""
    reach, farthest = _REACH * sigma, like.shape[1] - 1
    whole = torch.compiler.is_compiling() and reach <= _TRACED_REACH
    radius = math.ceil(reach) if whole or reach < farthest else farthest
    steps = torch.arange(-radius, radius + 1, device=like.device, dtype=like.dtype)
    kernel = torch.exp(-0.5 * (steps / max(sigma, _NARROWEST)) ** 2)
    return kernel / kernel.sum()


def _convolve(series: Features, kernel: Tensor, odd: bool = False) -> Features:
    """Zero-padded convolution along time in the way that is fastest here; see `_convolve_fourier` for the kernel."""
    if torch.compiler.is_exporting():
        # The plain convolution does not turn the kernel round.
        return _convolve_direct(series, kernel.flip(0) if odd else kernel)
    if _product_serves(series, kernel):
        return _convolve_by_product(series, kernel)
    return _convolve_fourier(series, kernel, odd)


def _product_serves(series: Features, kernel: Tensor) -> bool:
    """Whether a matrix product is faster than Fourier transforms, and as exact."""
    if len(kernel) > _LONGEST_PRODUCT or series.shape[2] < _LEAST_CHANNELS:
        return False
    # The gradient of overlapping windows is slow.
    return not series.requires_grad and exact_products(series)


def exact_products(series: Tensor) -> bool:
    """Whether matrix products keep all digits: where the user lets them be rounded, steps would be ranked by that rounding.

    Example:
        >>> exact_products(torch.zeros(1))
        True
    """
    # The device without memory has no autocast to ask about.
    if series.is_meta or torch.is_autocast_enabled(series.device.type):
        return False
    return series.dtype != torch.float32 or not _products_rounded()


def _products_rounded() -> bool:
    return torch.get_float32_matmul_precision() != "highest"


# What `torch.compiler.assume_constant_result` does, which would load all of torch._dynamo: a graph does not break here. It is made
# anew when the precision changes, as it is for every product.
_products_rounded._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _convolve_by_product(series: Features, kernel: Tensor) -> Features:
    """The same convolution as products with one banded matrix, which gives `_BLOCK` steps from all those that they reach.

    Channels stay last: nothing is brought into another layout, and windows are views of one padded copy.
    """
    batch, steps, width = series.shape
    taps = kernel.shape[0]
    window, blocks = _BLOCK + taps - 1, -(-steps // _BLOCK)
    # One row of the matrix after the other is the kernel, one step later each time: zeros between them make up the difference.
    flat = torch.nn.functional.pad(kernel.flip(0), (0, _BLOCK)).repeat(_BLOCK)[: _BLOCK * window]
    # Trajectories follow each other, in whole blocks with zeros between: so all windows are equally far apart.
    apart = (blocks + -(-(taps - 1) // _BLOCK)) * _BLOCK
    # Not by `pad`, which writes all of it twice.
    before = series.new_zeros(batch, taps // 2, width)
    after = series.new_zeros(batch, apart - steps - taps // 2, width)
    padded = torch.cat([before, series, after], 1).flatten(0, 1)
    windows = padded.unfold(0, window, _BLOCK).transpose(1, 2)
    smooth = torch.bmm(flat.reshape(_BLOCK, window).expand(windows.shape[0], -1, -1), windows)
    # Blocks between trajectories hold nothing of use.
    return smooth.as_strided((batch, steps, width), (apart * width, width, 1))


def _fast_length(steps: int) -> int:
    """The next length j * 2**k with j < 64: FFTs of long sequences with a large prime factor are slow."""
    block = 1 << max(steps.bit_length() - 6, 0)
    return -(-steps // block) * block


def _convolve_fourier(series: Features, kernel: Tensor, odd: bool = False) -> Features:
    """Zero-padded convolution along time in the real Fourier domain, with an even kernel unless it is said to be odd."""
    steps, radius = series.shape[1], len(kernel) // 2
    # Zeros as long as the kernel's reach: what leaves at one end must not come back at the other.
    length = max(steps + radius, len(kernel))
    if not torch.compiler.is_compiling():
        length = _fast_length(length)
    centred = torch.nn.functional.pad(kernel, (0, length - len(kernel))).roll(-radius)
    spectrum = torch.fft.rfft(centred)
    response = 1j * spectrum.imag if odd else spectrum.real
    # Time last: padding along an inner axis would copy the features into another layout.
    product = torch.fft.rfft(series.transpose(1, 2), n=length) * response
    smooth: Tensor = torch.fft.irfft(product, n=length)
    return smooth[..., :steps].transpose(1, 2)


def _convolve_direct(series: Features, kernel: Tensor) -> Features:
    """The same convolution step by step: slower, but every export target has it, for any T."""
    batch, steps, width = series.shape
    rows = series.transpose(1, 2).reshape(batch * width, 1, steps)
    smooth = torch.nn.functional.conv1d(rows, kernel.reshape(1, 1, -1), padding=kernel.shape[0] // 2)
    return smooth.reshape(batch, width, steps).transpose(1, 2)
