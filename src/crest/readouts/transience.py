"""How transient each step is: the low-pass residual r_tj of each channel and its average r_t."""

import math

import torch
from torch import Tensor

from crest.arrays import Features, Pooled, Profile, StepMask, at_least_float32
from crest.readouts.config import CrestConfig

_DEFAULT = CrestConfig()

# our choice: docs/choices.md#ends-of-a-trajectory
_REACH = 6.0

# our choice: docs/choices.md#ties-masks-and-the-empty-rest
_FLOOR = 1e-5


def _kernel(sigma: float, like: Tensor) -> Tensor:
    radius = math.ceil(_REACH * sigma)
    steps = torch.arange(-radius, radius + 1, device=like.device, dtype=like.dtype)
    kernel = torch.exp(-0.5 * (steps / sigma) ** 2)
    return kernel / kernel.sum()


def _fast_length(steps: int) -> int:
    """The next length j * 2**k with j < 64: FFTs of long sequences with a large prime factor are slow."""
    block = 1 << max(steps.bit_length() - 6, 0)
    return -(-steps // block) * block


def _convolve_fourier(series: Features, kernel: Tensor) -> Features:
    """Zero-padded convolution along time in the real Fourier domain."""
    steps, radius = series.shape[1], len(kernel) // 2
    # Zeros as long as the kernel's reach: what leaves at one end must not come back at the other.
    length = max(steps + radius, len(kernel))
    if not torch.compiler.is_compiling():
        length = _fast_length(length)
    centred = torch.nn.functional.pad(kernel, (0, length - len(kernel))).roll(-radius)
    response = torch.fft.rfft(centred).real
    # Time last: padding along an inner axis would copy the features into another layout.
    spectrum = torch.fft.rfft(series.transpose(1, 2), n=length) * response
    smooth: Tensor = torch.fft.irfft(spectrum, n=length)
    return smooth[..., :steps].transpose(1, 2)


def _convolve_direct(series: Features, kernel: Tensor) -> Features:
    """The same convolution step by step: slower, but every export target has it, for any T."""
    batch, steps, width = series.shape
    rows = series.transpose(1, 2).reshape(batch * width, 1, steps)
    smooth = torch.nn.functional.conv1d(rows, kernel.reshape(1, 1, -1), padding=len(kernel) // 2)
    return smooth.reshape(batch, width, steps).transpose(1, 2)


def low_pass(features: Features, mask: StepMask | None = None, sigma: float = _DEFAULT.sigma) -> Features:
    """LP_sigma: the slow background of each channel, a Gaussian low-pass along time.

    At each step the average of the valid steps around it with Gaussian weights of standard deviation `sigma`
    steps. Nothing wraps around and padding has no weight, so a constant comes back as itself up to the ends.
    The convolution runs in the real Fourier domain, and as a plain convolution in exported graphs. In float32
    at least; 0 on padding.

    Example:
        >>> ramp = torch.arange(5.0).reshape(1, 5, 1)
        >>> low_pass(ramp, sigma=1.0).flatten()
        tensor([0.5201, 1.1288, 2.0000, 2.8712, 3.4799])
    """
    if not (math.isfinite(sigma) and sigma > 0):
        raise ValueError(f"sigma must be positive, in steps, got {sigma}")
    features = features.to(at_least_float32(features))
    kernel = _kernel(sigma, features)
    convolve = _convolve_direct if torch.compiler.is_exporting() else _convolve_fourier
    if mask is None:
        weight = convolve(torch.ones_like(features[:1, :, :1]), kernel)
        return convolve(features, kernel) / weight
    valid = mask.unsqueeze(-1)
    weight = convolve(valid.to(features.dtype), kernel).clamp(min=torch.finfo(features.dtype).eps)
    return (convolve(features.masked_fill(~valid, 0.0), kernel) / weight).masked_fill(~valid, 0.0)


def from_first_step(features: Features, mask: StepMask | None = None) -> tuple[Features, Pooled]:
    """Features less each channel's first valid step, and that step (B, D); padding becomes 0.

    Residuals and contrasts do not change, but a constant becomes exactly zero instead of rounding noise. The
    first step is detached: where it is taken off and added again, its gradients cancel.

    Example:
        >>> from_first_step(torch.tensor([[[0.1], [0.1], [0.3]]]))[0].flatten()
        tensor([0.0000, 0.0000, 0.2000])
    """
    if mask is None:
        first = features[:, 0].detach()
        return features - first.unsqueeze(1), first
    start = mask.to(torch.int64).argmax(1)
    first = features.detach().gather(1, start[:, None, None].expand(-1, 1, features.shape[2])).squeeze(1)
    first = first.masked_fill(~mask.any(1, keepdim=True), 0.0)
    return (features - first.unsqueeze(1)).masked_fill(~mask.unsqueeze(-1), 0.0), first


def channel_transience(
    features: Features,
    mask: StepMask | None = None,
    sigma: float = _DEFAULT.sigma,
    delta: float = _DEFAULT.delta,
) -> Features:
    """r_tj: each channel's distance from its low-pass, normalised to sum to one over time.

    In float32 at least. Padded steps are 0, and so is a constant channel. Residuals below 1e-5 of the
    channel's range are 0: that is where rounding begins, and what it leaves must not be ranked.

    Example:
        >>> features = torch.zeros(1, 64, 1)
        >>> features[0, 20] = 1.0
        >>> int(channel_transience(features).argmax())
        20
    """
    shifted, _ = from_first_step(features.to(at_least_float32(features)), mask)
    # In units of the channel's range, so that neither delta nor the float's limits see the features' scale.
    reach = shifted.abs().amax(1, keepdim=True)
    shifted = shifted / torch.where(reach > 0, reach, 1.0)
    residual = (shifted - low_pass(shifted, mask, sigma)).abs()
    residual = torch.nn.functional.threshold(residual, _FLOOR, 0.0)
    # A clamp where the paper adds delta: ONNX's optimiser drops an addition this small, and 0/0 follows.
    return residual / residual.sum(1, keepdim=True).clamp(min=delta)


def transience_profile(transience: Features) -> Profile:
    """r_t: the average of r_tj over channels."""
    return transience.mean(-1)
