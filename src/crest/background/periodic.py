"""The periodic background: tones and their harmonics, by robust harmonic regression."""

from typing import NamedTuple

import torch
from torch import Tensor

from crest._base.arguments import require
from crest._base.arrays import Features, StepFlags, StepMask, at_least_float32, valid_steps
from crest._base.doors import door
from crest._base.tensors import as_signals
from crest.background.slow import SIGMA
from crest.background.spectrum import loudest_tone, window_time

# The model. Our choice: docs/evidence/choices.md#periodic
_ORDERS = 6
_SLOW = 8
_LEAST_STEPS = 64
# The fit. Our choice: docs/evidence/choices.md#robust-fit
_TUKEY = 4.685
_FLOOR = 1e-3
_ROUNDS = 8
_PROGRESS = 1e-3
_RELEVANCE = 4
# Numbers in a chunk's design matrix, 32 MB.
_CHUNK = 1 << 22

_TINY = torch.finfo(torch.float64).tiny
# Of normal numbers: their standard deviation over the median of their sizes.
_NORMAL = 1.4826


@door
def periodic(signals: Features, mask: StepFlags | None = None, *, tones: int = 6) -> Features:
    """The tones in each channel: a running machine, a gear mesh, a shaker; 0 on padding. In float32 at least.

    Robust harmonic regression, each channel of each trajectory alone. The loudest tone that stands out of the
    spectrum joins a model of sines whose amplitude and frequency may drift slowly. The model is fitted by least
    squares with Tukey's weights, so that a transient has no say. Then the next tone is sought in what is left.
    Harmonics are tones of their own. The level is no tone, and waves with fewer than four periods in the window belong
    to `low_pass`. Zeros come back where no tone is: for noise, a lone transient, a constant, and fewer than 64 valid
    steps.

    Computed in float64, without gradients. A series without a tone costs two small fits and a Fourier transform; p
    tones cost of the order of T p^3 operations. Series are taken in chunks of bounded memory, and leave the work when
    no further tone is found. Trajectories of different lengths are taken one length after the other.

    Args:
        signals: (B, T, C).
        mask: valid steps (B, T); they may have gaps.
        tones: the most tones that are taken off a channel.

    Example:
        >>> steps = torch.arange(256.0)
        >>> tone = torch.cos(0.5 * steps)
        >>> click = torch.where(steps == 100, 2.0, 0.0)
        >>> found = periodic((tone + click).reshape(1, 256, 1)).flatten()
        >>> float((found - tone).abs().max()) < 1e-3
        True
    """
    signals, given = as_signals("signals", signals, mask)
    require("tones", tones, "be a whole number, 1 or more")
    return periodic_background(signals, given, tones=tones)


def periodic_background(
    signals: Features,
    mask: StepMask | None,
    *,
    sigma: float = SIGMA,  # noqa: ARG001
    tones: int = 6,
) -> Features:
    """`periodic` in the form of every kind of background: of checked signals, without a door.

    Example:
        >>> periodic_background(torch.ones(1, 3, 1), None).flatten()
        tensor([0., 0., 0.])
    """
    valid = valid_steps(mask, signals[..., 0])
    signals = signals.detach()
    background = signals.new_zeros(signals.shape, dtype=at_least_float32(signals))
    steps = torch.arange(signals.shape[1], device=signals.device)
    first = torch.where(valid, steps, len(steps)).amin(1)
    end = torch.where(valid, steps + 1, 0).amax(1)
    # One pass for each place in which valid steps lie, without the padding at the ends: a trajectory alone and the
    # same trajectory in a padded batch then have the same frequencies.
    for start, stop in sorted(set(zip(first.tolist(), end.tolist(), strict=True))):
        if stop - start < _LEAST_STEPS:
            continue
        rows = ((first == start) & (end == stop)).nonzero().squeeze(1)
        inside = valid[rows, start:stop].unsqueeze(-1)
        part = signals[rows, start:stop].to(torch.float64).masked_fill(~inside, 0.0)
        known = inside.expand_as(part).transpose(1, 2).flatten(0, 1)
        found = _tones_of(part.transpose(1, 2).flatten(0, 1), known, tones)
        background[rows, start:stop] = (
            found.reshape(len(rows), -1, stop - start).transpose(1, 2).to(background.dtype)
        )
    return background


class _Shapes(NamedTuple):
    """Legendre polynomials over the window, of which phases and amplitudes (K, T) and slow waves (S, T) are made."""

    drift: Tensor
    slow: Tensor


class _Model(NamedTuple):
    """N series of T steps and the P tones found so far."""

    rows: Tensor  # (N,) where the series stand in their chunk
    values: Tensor  # (N, T)
    valid: Tensor  # (N, T)
    floor: Tensor  # (N, 1) the standard deviation below which nothing is resolved
    phase: Tensor  # (N, P, K) coefficients of the polynomials
    residual: Tensor  # (N, T) what neither tones nor slow waves explain
    deviation: Tensor  # (N, 1) of the residual, whatever its outliers

    def at(self, chosen: Tensor) -> "_Model":
        return _Model(*(part[chosen] for part in self))


def _tones_of(series: Tensor, valid: Tensor, tones: int) -> Tensor:
    """The tones of series (N, T) chunk by chunk; 0 at steps that are not valid."""
    steps = series.shape[1]
    shapes = _shapes(steps, series)
    chunk = max(_CHUNK // (steps * _columns(tones)), 1)
    parts = zip(torch.split(series, chunk), torch.split(valid, chunk), strict=True)
    return torch.cat([_tones_of_chunk(part, known, shapes, tones) for part, known in parts])


def _tones_of_chunk(series: Tensor, valid: Tensor, shapes: _Shapes, tones: int) -> Tensor:
    found = torch.zeros_like(series)
    # From the first step, which is valid, and in units of the largest value: a constant is exactly zero.
    series = (series - series[:, :1]).masked_fill(~valid, 0.0)
    reach = series.abs().amax(1, keepdim=True)
    enough = (valid.sum(1, keepdim=True) >= _LEAST_STEPS) & (reach > 0) & reach.isfinite()
    rows = enough.squeeze(1).nonzero().squeeze(1)
    model = _without_tones(series[rows] / reach[rows], valid[rows], rows, shapes)
    for count in range(tones + 1):
        if not len(model.rows):
            break
        energy = _energy(model.values) / model.valid.sum(1)
        tone = loudest_tone(model.residual, _weights(model), energy)
        heard = tone.heard & (2 * _columns(count + 1) <= model.valid.sum(1)) & (count < tones)
        old, done = model.at(heard), model.at(~heard)
        model = _with_tone(old, _phase(tone.frequency[heard], tone.drift[heard], series.shape[1]), shapes)
        # A tone without which as little would be left is none.
        helps = (_loss(model, old) < _loss(old, old)) & (_energy(model.residual) < _energy(old.residual))
        for finished in (done, old.at(~helps)):
            if count and len(finished.rows):
                found[finished.rows] = reach[finished.rows] * _settled(finished, shapes)
        model = model.at(helps)
    return found


def _columns(tones: int) -> int:
    """How many terms a model with this many tones has."""
    return _SLOW + 2 * _ORDERS * tones


def _shapes(steps: int, like: Tensor) -> _Shapes:
    time = window_time(steps, like)
    made = [torch.ones_like(time), time]
    for order in range(2, max(_ORDERS, _SLOW)):
        made.append(((2 * order - 1) * time * made[-1] - (order - 1) * made[-2]) / order)
    return _Shapes(torch.stack(made[:_ORDERS]), torch.stack(made[:_SLOW]))


def _energy(series: Tensor) -> Tensor:
    return series.square().sum(-1)


# -- the model


def _without_tones(values: Tensor, valid: Tensor, rows: Tensor, shapes: _Shapes) -> _Model:
    """The model of slow waves alone."""
    floor = _FLOOR * (_energy(values) / valid.sum(1)).sqrt().unsqueeze(1)
    none = values.new_zeros(len(values), 0, _ORDERS)
    model = _Model(rows, values, valid, floor, none, values, _deviation(values, valid, floor))
    for _ in range(2):
        model, _ = _fitted(model, shapes, 0)
    return model


def _with_tone(model: _Model, phase: Tensor, shapes: _Shapes) -> _Model:
    """The model with one tone more. Its phases are refined for as long as less and less is left."""
    model = model._replace(phase=torch.cat([model.phase, phase.unsqueeze(1)], 1))
    for _ in range(2):
        model, coefficients = _fitted(model, shapes, _RELEVANCE)
    going = torch.arange(len(model.rows), device=phase.device)
    for _ in range(_ROUNDS):
        if not len(going):
            break
        before = model.at(going)
        trial = before._replace(phase=before.phase + _phase_error(coefficients[going], shapes))
        trial, changed = _fitted(trial, shapes, _RELEVANCE)
        progress = 1 - _loss(trial, before) / _loss(before, before).clamp(min=_TINY)
        better = progress > 0
        taken = going[better]
        model.phase[taken], model.residual[taken] = trial.phase[better], trial.residual[better]
        model.deviation[taken], coefficients[taken] = trial.deviation[better], changed[better]
        going = going[progress > _PROGRESS]
    return model


def _settled(model: _Model, shapes: _Shapes) -> Tensor:
    """The tones (N, T) of a finished model."""
    for _ in range(3):
        model, coefficients = _fitted(model, shapes, 2 * _RELEVANCE)
    tones = coefficients.unsqueeze(1) @ _design(model.phase, shapes)[:, _SLOW:]
    tones = tones.squeeze(1).masked_fill(~model.valid, 0.0)
    level = model.values.sum(1, keepdim=True) / model.valid.sum(1, keepdim=True)
    signal = (model.values - level).masked_fill(~model.valid, 0.0)
    # Tones that leave more than there was were made up at steps that had no say.
    return tones * (_energy(signal - tones) < _energy(signal)).unsqueeze(1)


def _fitted(model: _Model, shapes: _Shapes, relevance: int) -> tuple[_Model, Tensor]:
    """The model with what is left by its phases, and the coefficients (N, 2 K P) of the tones."""
    design = _design(model.phase, shapes)
    coefficients = _coefficients(design, model, relevance)
    residual = model.values - (coefficients.unsqueeze(1) @ design).squeeze(1)
    residual = residual.masked_fill(~model.valid, 0.0)
    deviation = _deviation(residual, model.valid, model.floor)
    return model._replace(residual=residual, deviation=deviation), coefficients[:, _SLOW:]


def _design(phase: Tensor, shapes: _Shapes) -> Tensor:
    """The terms (N, S + 2 K P, T): slow waves, then cosine and sine of each tone times each polynomial."""
    angle = phase @ shapes.drift
    waves = torch.stack([angle.cos(), angle.sin()], 2).unsqueeze(3) * shapes.drift
    return torch.cat([shapes.slow.expand(len(phase), -1, -1), waves.flatten(1, 3)], 1)


def _coefficients(design: Tensor, model: _Model, relevance: int) -> Tensor:
    """Weighted least squares in which terms that do not stand out of the noise shrink away.

    Each term has a prior standard deviation of its own. It is the series' reach, 1, at first, and then what MacKay's rule of
    automatic relevance determination makes of it, `relevance` times. Slow waves keep theirs.
    """
    weighted = design * _weights(model).unsqueeze(1)
    noise = model.deviation.square().unsqueeze(2)
    normal = weighted @ design.mT / noise
    right = weighted @ model.values.unsqueeze(2) / noise
    tight = torch.ones_like(right)
    inverse = torch.linalg.inv(normal + torch.diag_embed(tight.squeeze(2)))
    coefficients: Tensor = inverse @ right
    for _ in range(relevance):
        determined = (1 - tight * inverse.diagonal(dim1=1, dim2=2).unsqueeze(2)).clamp(min=1e-3)
        tight[:, _SLOW:] = (determined / coefficients.square().clamp(min=1e-12))[:, _SLOW:]
        inverse = torch.linalg.inv(normal + torch.diag_embed(tight.squeeze(2)))
        coefficients = inverse @ right
    return coefficients.squeeze(2)


def _deviation(residual: Tensor, valid: Tensor, floor: Tensor) -> Tensor:
    """The standard deviation (N, 1) of normal noise whose sizes have the residual's median."""
    size = torch.where(valid, residual.abs(), torch.nan)
    return (_NORMAL * size.nanmedian(1, keepdim=True).values).maximum(floor)


def _weights(model: _Model) -> Tensor:
    """Tukey's biweight (N, T): near 1 where the residual is small, 0 where it is larger than noise can be."""
    far = (model.residual / (_TUKEY * model.deviation)).square()
    return torch.where((far < 1) & model.valid, (1 - far).square(), 0.0)


def _loss(model: _Model, scale: _Model) -> Tensor:
    """Tukey's loss (N,) of what a model leaves, in standard deviations of what another leaves."""
    far = (model.residual / (_TUKEY * scale.deviation)).square().clamp(max=1)
    return (1 - (1 - far) ** 3).sum(1)


def _phase(frequency: Tensor, drift: Tensor, steps: int) -> Tensor:
    """The polynomials' coefficients (N, K) for a frequency and a linear drift."""
    phase = frequency.new_zeros(len(frequency), _ORDERS)
    # The frequency is the slope over half a window; t^2 is two thirds of the second polynomial and a constant.
    phase[:, 1] = frequency * (steps - 1) / 2
    phase[:, 2] = drift * 2 / 3
    return phase


def _phase_error(coefficients: Tensor, shapes: _Shapes) -> Tensor:
    """What the phases (N, P, K) lack, read off the tones' fitted envelopes."""
    parts = coefficients.reshape(len(coefficients), -1, 2, _ORDERS) @ shapes.drift
    envelope = torch.complex(parts[:, :, 0], -parts[:, :, 1])
    turns = (envelope[..., 1:] * envelope[..., :-1].conj()).angle()
    angle = torch.cat([envelope[..., :1].angle(), turns], -1).cumsum(-1)
    weight = envelope.abs().square()
    weighted = (weight / weight.sum(-1, keepdim=True).clamp(min=_TINY)).unsqueeze(2) * shapes.drift
    normal = weighted @ shapes.drift.T
    # An envelope that is zero has no phase, and must have a solution.
    normal.diagonal(dim1=2, dim2=3).add_(1e-9)
    lacking: Tensor = torch.linalg.solve(normal, weighted @ angle.unsqueeze(3))
    return lacking.squeeze(3)
