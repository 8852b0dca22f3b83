"""The periodic background: tones and their harmonics, by robust harmonic regression."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from crest.arrays import Features, StepFlags, at_least_float32, valid_steps
from crest.checks.arguments import require
from crest.checks.tensors import as_mask, require_series

# our choice: docs/choices.md#periodic
_ORDERS = 6
_SLOW = 8
_LOUDER = 30.0
_SHARE = 1e-5
_BLOCK = 32
_TUKEY = 4.685
_FLOOR = 1e-3
_ROUNDS = 5
_SIGNIFICANT = 9.0
_LEAST_STEPS = 64
_CHIRPS = (0.0, -4.0, 4.0, -8.0, 8.0, -12.0, 12.0, -16.0, 16.0)

_RIDGE = 1e-9
_PRIOR = 1.0
_FIRST = 8
_REACH = 16
_GAIN = 1.2
_SHRINK = 5
_SETTLE = 3
_TILT = 2.0
_CHUNK = 1 << 22


def periodic(signals: Features, mask: StepFlags | None = None, *, tones: int = 6) -> Features:
    """The tones in each channel: a running machine, a gear mesh, a shaker; 0 on padding. In float32 at least.

    Robust harmonic regression, each channel of each trajectory alone. The loudest tone that stands out of the
    spectrum is added to a model of cosines and sines whose amplitude and frequency may drift slowly; the model is
    fitted by least squares with Tukey's weights, so that what is transient has no say; then the next tone is sought in
    what is left. Harmonics are tones of their own. What has no tone gives zeros: noise, a lone transient, a constant
    and windows of fewer than 64 valid steps. Waves with fewer than four periods in the window belong to `low_pass`.

    Computed in float64 and without gradients. Series without a tone cost a few Fourier transforms; a series with p
    tones costs a multiple of T p^3 operations. Series are taken in chunks, so that memory stays bounded; trajectories
    of different lengths are taken one length after the other.

    Args:
        signals: (B, T, C).
        mask: valid steps (B, T); gaps are allowed.
        tones: the most tones that are taken off a channel.

    Example:
        >>> steps = torch.arange(256.0)
        >>> tone = torch.cos(0.5 * steps)
        >>> burst = torch.where(steps == 100, 2.0, 0.0)
        >>> found = periodic((tone + burst).reshape(1, -1, 1)).flatten()
        >>> float((found - tone).abs().max()) < 1e-3
        True
    """
    require_series("signals", signals, "(B, T, C)")
    require("tones", tones, "be a whole number, 1 or more")
    valid = valid_steps(as_mask(mask, signals), signals[..., 0])
    dtype = at_least_float32(signals)
    signals = signals.detach()
    background = torch.zeros_like(signals, dtype=dtype, memory_format=torch.contiguous_format)
    steps = torch.arange(signals.shape[1], device=signals.device)
    first = torch.where(valid, steps, len(steps)).amin(1)
    last = torch.where(valid, steps, -1).amax(1)
    # One pass for each place in which valid steps lie, without the padding at the ends: a trajectory alone and the
    # same trajectory in a padded batch then see the same frequencies.
    for start, end in torch.stack([first, last + 1], 1).unique(dim=0).tolist():
        if end - start < _LEAST_STEPS:
            continue
        rows = ((first == start) & (last + 1 == end)).nonzero().squeeze(1)
        inside = valid[rows, start:end]
        part = signals[rows, start:end].to(torch.float64).masked_fill(~inside.unsqueeze(-1), 0.0)
        series = part.transpose(1, 2).flatten(0, 1)
        found = _tones_of(series, inside.repeat_interleave(part.shape[2], 0), tones)
        found = found.unflatten(0, (len(rows), -1)).transpose(1, 2)
        background[rows, start:end] = found.to(dtype).masked_fill(~inside.unsqueeze(-1), 0.0)
    return background


class _Model(NamedTuple):
    """Series (N, T) and what is known of them."""

    rows: Tensor  # (N,) where they came from
    values: Tensor  # (N, T)
    valid: Tensor  # (N, T)
    floor: Tensor  # (N, 1) deviation below which nothing is resolved
    phase: Tensor  # (N, P, K) of each tone, as a sum of polynomials
    residual: Tensor  # (N, T) what neither tones nor slow waves explain
    deviation: Tensor  # (N, 1) of the residual, without its outliers

    def at(self, chosen: Tensor) -> "_Model":
        return _Model(*(part[chosen] for part in self))


class _Shapes(NamedTuple):
    """What phases, amplitudes and slow waves are made of: Legendre polynomials over the window."""

    drift: Tensor  # (K, T)
    slow: Tensor  # (S, T)


def _tones_of(series: Tensor, valid: Tensor, tones: int) -> Tensor:
    """The tones of series (N, T), 0 at steps that are not valid, chunk by chunk."""
    steps = series.shape[1]
    shapes = _shapes(steps, series)
    most = _SLOW + 2 * _ORDERS * tones
    chunk = max(_CHUNK // (steps * most), 1)
    parts = zip(series.split(chunk), valid.split(chunk), strict=True)
    return torch.cat([_tones_of_chunk(part, inside, shapes, tones) for part, inside in parts])


def _tones_of_chunk(series: Tensor, valid: Tensor, shapes: _Shapes, tones: int) -> Tensor:
    found = torch.zeros_like(series)
    # From the first valid step and in units of the largest value: a constant is exactly zero, and no scale is special.
    series = (series - series[:, :1]).masked_fill(~valid, 0.0)
    reach = series.abs().amax(1, keepdim=True)
    live = (reach.squeeze(1) > 0) & reach.squeeze(1).isfinite() & (valid.sum(1) >= _LEAST_STEPS)
    rows = live.nonzero().squeeze(1)
    if not len(rows):
        return found
    model = _start(series[rows] / reach[rows], valid[rows], rows, shapes)
    for count in range(tones + 1):
        phase, heard = _loudest(model)
        columns = _SLOW + 2 * _ORDERS * (count + 1)
        heard &= (2 * columns <= model.valid.sum(1)) & (count < tones)
        more = _add(model.at(heard), phase[heard], shapes)
        # A tone that leaves as much as there was is none.
        helps = (more.deviation < model.deviation[heard]).squeeze(1)
        helps &= more.residual.square().sum(1) < model.residual[heard].square().sum(1)
        heard[heard.clone()] = helps
        done = model.at(~heard)
        if count and len(done.rows):
            found[done.rows] = reach[done.rows] * _settle(done, shapes)
        model = more.at(helps)
        if not len(model.rows):
            break
    return found.masked_fill(~valid, 0.0)


def _shapes(steps: int, like: Tensor) -> _Shapes:
    time = torch.linspace(-1, 1, steps, dtype=torch.float64, device=like.device)
    made = [torch.ones_like(time), time]
    for order in range(2, max(_ORDERS, _SLOW)):
        made.append(((2 * order - 1) * time * made[-1] - (order - 1) * made[-2]) / order)
    return _Shapes(torch.stack(made[:_ORDERS]), torch.stack(made[:_SLOW]))


def _start(values: Tensor, valid: Tensor, rows: Tensor, shapes: _Shapes) -> _Model:
    """The model without a tone: slow waves alone."""
    floor = _FLOOR * (values.square().sum(1, keepdim=True) / valid.sum(1, keepdim=True)).sqrt()
    none = values.new_zeros(len(values), 0, _ORDERS)
    model = _Model(rows, values, valid, floor, none, values, _deviation(values, valid, floor))
    for _ in range(2):
        model = _fitted(model, shapes)[0]
    return model


def _add(model: _Model, phase: Tensor, shapes: _Shapes) -> _Model:
    """The model with one tone more, phases refined as long as that lowers the deviation of what is left."""
    model = model._replace(phase=torch.cat([model.phase, phase.unsqueeze(1)], 1))
    model, coefficients = _fitted(model, shapes)
    model, coefficients = _fitted(model, shapes)
    for _ in range(_ROUNDS):
        trial = model._replace(phase=model.phase + _phase_error(coefficients, shapes))
        trial, changed = _fitted(trial, shapes)
        better = trial.deviation <= model.deviation
        if not better.any():
            break
        model = model._replace(
            phase=torch.where(better.unsqueeze(2), trial.phase, model.phase),
            residual=torch.where(better, trial.residual, model.residual),
            deviation=torch.where(better, trial.deviation, model.deviation),
        )
        coefficients = torch.where(better, changed, coefficients)
    return model


def _settle(model: _Model, shapes: _Shapes) -> Tensor:
    """The tones (N, T) of a finished model."""
    design = _design(model.phase, shapes)
    for _ in range(_SETTLE):
        coefficients = _solve(design, model, 2 * _SHRINK)
        model = _left(model, design, coefficients)
    tones = _product(design[..., _SLOW:], coefficients[:, _SLOW:]).masked_fill(~model.valid, 0.0)
    level = model.values.sum(1, keepdim=True) / model.valid.sum(1, keepdim=True)
    signal = (model.values - level).masked_fill(~model.valid, 0.0)
    # What takes more than there is, is made up: an extrapolation into steps without a say.
    real = (signal - tones).square().sum(1, keepdim=True) < signal.square().sum(1, keepdim=True)
    return torch.where(real, tones, 0.0)


# -- least squares


def _design(phase: Tensor, shapes: _Shapes) -> Tensor:
    """Columns (N, T, S + 2 K P): the slow waves, then cosine and sine of each tone times each polynomial."""
    angle = phase @ shapes.drift
    waves = torch.stack([angle.cos(), angle.sin()], 2).unsqueeze(3) * shapes.drift
    slow = shapes.slow.expand(len(phase), -1, -1)
    return torch.cat([slow, waves.flatten(1, 3)], 1).transpose(1, 2)


def _product(design: Tensor, coefficients: Tensor) -> Tensor:
    return (design @ coefficients.unsqueeze(-1)).squeeze(-1)


def _solve(design: Tensor, model: _Model, rounds: int) -> Tensor:
    """Weighted least squares with relevance determination: terms that do not stand out of the noise shrink to nothing."""
    weighted = (design * _weights(model).unsqueeze(-1)).transpose(1, 2)
    noise = model.deviation.square()
    normal = weighted @ design / noise.unsqueeze(2)
    right = weighted @ model.values.unsqueeze(-1) / noise.unsqueeze(2)
    # Coefficients are of the size of the series (1) at first: where no step has a say, nothing is made up.
    tight = torch.ones_like(right).squeeze(-1)
    for _ in range(rounds):
        inverse = torch.linalg.inv(normal + torch.diag_embed(tight))
        coefficients = (inverse @ right).squeeze(-1)
        known = (1 - tight * inverse.diagonal(dim1=1, dim2=2)).clamp(min=1e-3)
        tight = torch.cat([tight[:, :_SLOW], (known / coefficients.square().clamp(min=1e-12))[:, _SLOW:]], 1)
    return coefficients


def _left(model: _Model, design: Tensor, coefficients: Tensor) -> _Model:
    residual = (model.values - _product(design, coefficients)).masked_fill(~model.valid, 0.0)
    return model._replace(residual=residual, deviation=_deviation(residual, model.valid, model.floor))


def _fitted(model: _Model, shapes: _Shapes) -> tuple[_Model, Tensor]:
    design = _design(model.phase, shapes)
    coefficients = _solve(design, model, _SHRINK if model.phase.shape[1] else 1)
    return _left(model, design, coefficients), coefficients[:, _SLOW:]


def _deviation(residual: Tensor, valid: Tensor, floor: Tensor) -> Tensor:
    """The residual's deviation (N, 1) from the median of its size, as for normal noise."""
    size = torch.where(valid, residual.abs(), torch.nan)
    return (1.4826 * size.nanmedian(1, keepdim=True).values).maximum(floor)


def _weights(model: _Model) -> Tensor:
    """Tukey's biweight: 1 where the residual is small, 0 where it is more than noise can be."""
    far = (model.residual / (_TUKEY * model.deviation)).square()
    return torch.where((far < 1) & model.valid, (1 - far).square(), 0.0)


# -- frequencies


def _loudest(model: _Model) -> tuple[Tensor, Tensor]:
    """The phase (N, K) of the loudest tone in the residual, and whether there is one (N,)."""
    steps = model.values.shape[1]
    window = torch.hann_window(steps, periodic=False, dtype=torch.float64, device=model.values.device)
    window = window * _weights(model)
    seen = window * model.residual
    power = torch.fft.rfft(seen, n=2 * steps).abs().square()
    inner = power[:, 1:-1]
    peak = (inner > power[:, :-2]) & (inner >= power[:, 2:]) & (inner > _LOUDER * _level(power)[:, 1:-1])
    # A cosine of amplitude a has the peak (a sum(window) / 2)^2 and the mean square a^2 / 2.
    total = model.values.square().sum(1) / model.valid.sum(1)
    peak &= inner > (_SHARE * total * window.sum(1).square() / 2).unsqueeze(1)
    peak[:, : _FIRST - 1] = False
    heard = peak.any(1)
    phase = seen.new_zeros(len(seen), _ORDERS)
    if heard.any():
        place = torch.where(peak, inner, 0.0).argmax(1) + 1
        phase[heard] = _nearest_chirp(seen[heard], place[heard])
    return phase, heard


def _nearest_chirp(seen: Tensor, place: Tensor) -> Tensor:
    """The phase (N, K) with a linear drift that gathers most of the tone in one bin."""
    steps = seen.shape[1]
    time = torch.linspace(-1, 1, steps, dtype=torch.float64, device=seen.device)
    chirps = torch.tensor(_CHIRPS, dtype=torch.float64, device=seen.device)
    still = torch.exp(-1j * chirps.unsqueeze(1) * time.square())
    power = torch.fft.fft(seen.unsqueeze(1) * still, n=2 * steps)[..., : steps + 1].abs().square()
    bins = torch.arange(steps + 1, device=seen.device)
    near = (bins - place.unsqueeze(1)).abs() <= 2 * _REACH
    near &= (bins >= _FIRST) & (bins < steps)
    power = power.masked_fill(~near.unsqueeze(1), 0.0)
    # A steady tone unless a drift gathers clearly more.
    power[:, 0] *= _GAIN
    best = power.flatten(1).argmax(1)
    chirp, place = chirps[best // (steps + 1)], best % (steps + 1)
    phase = seen.new_zeros(len(seen), _ORDERS)
    phase[:, 1] = math.pi * place / steps * (steps - 1) / 2
    phase[:, 2] = chirp * 2 / 3
    return phase


def _level(power: Tensor) -> Tensor:
    """The spectrum's level (N, F): medians of blocks of bins, joined by lines between their centres."""
    bins = power.shape[1]
    blocks = max(bins // (2 * _BLOCK), 1)
    size = bins // blocks
    middle = power[:, : blocks * size].unflatten(1, (blocks, size)).median(2).values
    middle = middle.clamp(min=torch.finfo(torch.float64).tiny).log()
    line = torch.nn.functional.interpolate(middle.unsqueeze(1), size=blocks * size, mode="linear")
    line = torch.nn.functional.pad(line, (0, bins - blocks * size), mode="replicate").squeeze(1)
    if blocks > 1 and _TILT:
        # Below the first centre noise may still rise: as the power of the frequency that the first two centres show.
        octaves = torch.arange(bins, device=power.device).clamp(min=1).div(size / 2).clamp(max=1).log()
        slope = (middle[:, 1:2] - middle[:, :1]).clamp(-_TILT, 0) / math.log(3)
        line = line + slope * octaves
    return line.exp()


def _phase_error(coefficients: Tensor, shapes: _Shapes) -> Tensor:
    """What the phases (N, P, K) lack, read off the fitted envelopes."""
    parts = coefficients.unflatten(1, (-1, 2, _ORDERS)) @ shapes.drift
    envelope = torch.complex(parts[:, :, 0], -parts[:, :, 1])
    weight = envelope.abs().square()
    weight = weight / weight.sum(-1, keepdim=True).clamp(min=torch.finfo(torch.float64).tiny)
    turn = (envelope[..., 1:] * envelope[..., :-1].conj()).angle()
    angle = torch.nn.functional.pad(turn.cumsum(-1), (1, 0))
    weighted = weight.unsqueeze(2) * shapes.drift
    normal = weighted @ shapes.drift.T
    normal.diagonal(dim1=2, dim2=3).add_(_RIDGE)
    return torch.linalg.solve(normal, weighted @ angle.unsqueeze(-1)).squeeze(-1)
