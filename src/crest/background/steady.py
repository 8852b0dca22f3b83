"""Steady tones: sines of one frequency and size over the window, fitted so that a transient has no say."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from crest._base.arguments import require
from crest._base.arrays import Features, StepFlags, StepMask, at_least_float32
from crest._base.doors import door
from crest._base.tensors import as_signals
from crest.background.slow import SIGMA
from crest.background.spectrum import loudest_tone

# our choice: docs/evidence/choices.md#steady-tones
_LEAST_STEPS = 64
_ROUNDS = 4
_UNSTEADY = 0.25
# As in the flexible fit. our choice: docs/evidence/choices.md#robust-fit
_TUKEY = 4.685
_NORMAL = 1.4826
_RIDGE = 1e-9
_TINY = torch.finfo(torch.float64).tiny


@door
def steady_tones(signals: Features, mask: StepFlags | None = None, *, tones: int = 6) -> Features:
    """The steady tones in each channel: sines with one frequency and one size over the window; 0 on padding.

    The loudest tone that stands out of the spectrum joins the model, until none is left. Frequencies and sizes are
    fitted together by least squares with Tukey's weights, so that a burst keeps its energy. `periodic` lets tones drift
    and costs some hundred times as much; this one takes nothing of an event that it should not. Zeros come back where no
    tone is. In float64 inside, without gradients; trajectories of different lengths one after the other.

    Args:
        signals: (B, T, C).
        mask: valid steps (B, T).
        tones: the most tones that are found in a channel.

    Example:
        >>> steps = torch.arange(256.0)
        >>> tone = 3 * torch.cos(0.5 * steps)
        >>> burst = torch.where((steps > 100) & (steps < 108), 2.0, 0.0)
        >>> found = steady_tones((tone + burst).reshape(1, 256, 1)).flatten()
        >>> float((found - tone).abs().max()) < 1e-3
        True
    """
    signals, given = as_signals("signals", signals, mask)
    require("tones", tones, "be a whole number, 1 or more")
    return tones_background(signals, given, tones=tones)


def tones_background(
    signals: Features,
    mask: StepMask | None,
    *,
    sigma: float = SIGMA,  # noqa: ARG001
    tones: int = 6,
) -> Features:
    """`steady_tones` in the form of every kind of background: of checked signals, without a door.

    Example:
        >>> tones_background(torch.ones(1, 3, 1), None).flatten()
        tensor([0., 0., 0.])
    """
    signals = signals.detach()
    found = torch.zeros_like(signals, dtype=at_least_float32(signals))
    if mask is None:
        found.copy_(_in_channels(signals, tones))
        return found
    for row, valid in enumerate(mask):
        found[row, valid] = _in_channels(signals[row : row + 1, valid], tones)[0].to(found.dtype)
    return found


def _in_channels(signals: Tensor, tones: int) -> Tensor:
    """Tones (B, T, C) of signals without padding."""
    B, T, C = signals.shape
    if T < _LEAST_STEPS:
        return torch.zeros_like(signals)
    series = signals.transpose(1, 2).reshape(B * C, T).to(torch.float64)
    return _tones_of(series, tones).reshape(B, C, T).transpose(1, 2)


class _Fit(NamedTuple):
    """Tones of N series."""

    frequency: Tensor  # (N, P) in radians per step
    size: Tensor  # (N, 2P) of cosines and sines
    tones: Tensor  # (N, T) their sum
    weights: Tensor  # (N, T) none for what no tone explains

    def at(self, rows: Tensor) -> "_Fit":
        return _Fit(*(part[rows] for part in self))

    def each(self, time: Tensor) -> Tensor:
        """Every tone by itself (N, P, T)."""
        P, angle = self.frequency.shape[1], self.frequency.unsqueeze(-1) * time
        return self.size[:, :P, None] * angle.cos() + self.size[:, P:, None] * angle.sin()


def _tones_of(series: Tensor, most: int) -> Tensor:
    """The tones (N, T) of each series."""
    T = series.shape[1]
    found = torch.zeros_like(series)
    time = torch.arange(T, dtype=torch.float64, device=series.device) - (T - 1) / 2
    centred = series - series.mean(1, keepdim=True)
    centred = centred - (centred @ time / time.square().sum()).unsqueeze(1) * time
    reach = centred.abs().amax(1, keepdim=True)
    # A level that does not vary leaves rounding alone.
    left = (reach.squeeze(1) > 1e-9 * series.abs().amax(1)).nonzero().flatten()
    values = centred[left] / reach[left]
    none = values.new_zeros(len(left), 0)
    fit = _Fit(none, none, torch.zeros_like(values), _weights(values))
    for _ in range(most):
        if not len(left):
            break
        residual = values - fit.tones
        tone = loudest_tone(residual, fit.weights, values.square().mean(1), steady=True)
        heard = tone.heard
        found[left[~heard]] = _steady(fit.at(~heard), values[~heard], time) * reach[left[~heard]]
        left, values = left[heard], values[heard]
        frequency = torch.cat([fit.frequency[heard], tone.frequency[heard].unsqueeze(1)], 1)
        fit = _fitted(values, time, frequency, fit.weights[heard])
    found[left] = _steady(fit, values, time) * reach[left]
    return found


def _steady(fit: _Fit, values: Tensor, time: Tensor) -> Tensor:
    """The sum (N, T) of those tones that are as large, and at the same phase, in every quarter of the window.

    What rings at a resonance after each of many impacts is no tone, however sharp its peak in the spectrum.
    """
    P, T = fit.frequency.shape[1], values.shape[1]
    if not P or not len(values):
        return torch.zeros_like(values)
    quarter = T // 4
    window = torch.hann_window(quarter, periodic=False, dtype=torch.float64, device=values.device)
    parts = values[:, : 4 * quarter].reshape(-1, 1, 4, quarter)
    times = time[: 4 * quarter].reshape(4, quarter)
    turned = torch.exp(-1j * fit.frequency[:, :, None, None] * times)
    size = (parts * window * turned).sum(-1) * (2 / window.sum())
    mean = size.mean(-1, keepdim=True)
    spread = (size - mean).abs().square().mean(-1).sqrt()
    steady = spread <= _UNSTEADY * mean.abs().squeeze(-1)
    return torch.einsum("npt,np->nt", fit.each(time), steady.to(values.dtype))


def _weights(residual: Tensor) -> Tensor:
    """Tukey's weights of a residual: none for what is far outside."""
    scale = (_NORMAL * residual.abs().median(1, keepdim=True).values).clamp(min=1e-6)
    return (1 - (residual / (_TUKEY * scale)).square()).clamp(min=0).square()


def _fitted(values: Tensor, time: Tensor, frequency: Tensor, weights: Tensor) -> _Fit:
    """Sizes, phases and frequencies, by Gauss-Newton steps with weights that follow the residual."""
    T, P = values.shape[1], frequency.shape[1]
    size = tones = torch.zeros_like(values)
    # Beside the tones a level and a slope, which a burst may have left.
    trend = torch.stack([torch.ones_like(time), time])
    for number in range(_ROUNDS + 1):
        angle = frequency.unsqueeze(-1) * time
        waves = torch.cat([angle.cos(), angle.sin(), trend.expand(len(values), -1, -1)], 1)
        size = _solved(waves, values, weights)
        tones = torch.einsum("npt,np->nt", waves[:, : 2 * P], size[:, : 2 * P])
        rest = values - torch.einsum("npt,np->nt", waves, size)
        weights = _weights(rest)
        if number < _ROUNDS:
            cosine, sine = size[:, :P, None], size[:, P : 2 * P, None]
            slope = time * (sine * angle.cos() - cosine * angle.sin())
            shift = _solved(torch.cat([waves, slope], 1), rest, weights)[:, -P:]
            # No farther than half a bin of the spectrum in which the tone was seen.
            frequency = (frequency + shift.clamp(-math.pi / T, math.pi / T)).clamp(0, math.pi)
    return _Fit(frequency, size[:, : 2 * P], tones, weights)


def _solved(columns: Tensor, values: Tensor, weights: Tensor) -> Tensor:
    """Weighted least squares of values (N, T) by columns (N, K, T)."""
    scale = columns.square().mean(2, keepdim=True).sqrt().clamp(min=_TINY)
    columns = columns / scale
    weighted = columns * weights.unsqueeze(1)
    gram = weighted @ columns.transpose(1, 2)
    gram = gram + (_RIDGE * columns.shape[2]) * torch.eye(gram.shape[1], dtype=gram.dtype, device=gram.device)
    wanted = (weighted @ values.unsqueeze(-1)).squeeze(-1)
    solved: Tensor = torch.linalg.solve(gram, wanted)
    return solved / scale.squeeze(-1)
