"""The gear drive by the classical Runge-Kutta method with a fixed number of substeps per sample.

Coordinates along the line of action. `turn` is the pinion's angle in revolutions, `speed` its rate in
revolutions per second, `error` the transmission error over its static value and `rate` its derivative over
the natural angular frequency.
"""

import numba
import numpy as np

from crest._base.kept_on_disk import kept_on_disk


@kept_on_disk()
def mesh_stiffness(turn, severity, ripple, teeth, loss, edge, worn):
    """Mesh stiffness over its mean: a tooth-pass ripple, and the loss while one of the first teeth is engaged."""
    tooth = turn * teeth
    stiffness = 1.0 + ripple * np.cos(2 * np.pi * tooth)
    place = tooth - teeth * np.floor(tooth / teeth)
    if place < worn:
        into = min(place, worn - place) / edge
        # If every tooth is worn, there is no edge.
        share = 0.5 - 0.5 * np.cos(np.pi * into) if into < 1.0 and worn < teeth else 1.0
        stiffness *= 1.0 - loss * severity * share
    return stiffness


@kept_on_disk()
def derivative(time, turn, speed, error, rate, unit, machine):
    """Time derivatives of (turn, speed, error, rate)."""
    nominal, level, phase, severity, load, wave, wave_rate, wave_phase = unit
    frequency, damping, ripple, teeth, loss, edge, swing, swing_rate, gain, inertia, drive_share, worn = (
        machine
    )
    wanted = level * (1.0 + swing * np.sin(2 * np.pi * swing_rate * level * time + phase))
    drive = 1.0 + gain * (wanted - speed) / nominal
    mesh = mesh_stiffness(turn, severity, ripple, teeth, loss, edge, worn) * error + 2.0 * damping * rate
    load *= 1.0 + wave * np.sin(2 * np.pi * wave_rate * time + wave_phase)
    pull = drive_share * drive + (1.0 - drive_share) * load
    return speed, (drive - mesh) * nominal / inertia, frequency * rate, frequency * (pull - mesh)


@kept_on_disk()
def _simulate_one(out, turn, dt, substeps, burn, unit, machine):
    speed, error, rate = unit[1], unit[4], 0.0
    h = dt / substeps
    time = 0.0
    for sample in range(-burn, len(out)):
        if sample >= 0:
            out[sample, 0] = turn
            out[sample, 1] = speed
            out[sample, 2] = error
            out[sample, 3] = rate
        for _ in range(substeps):
            a1, b1, c1, d1 = derivative(time, turn, speed, error, rate, unit, machine)
            g = 0.5 * h
            a2, b2, c2, d2 = derivative(
                time + g, turn + g * a1, speed + g * b1, error + g * c1, rate + g * d1, unit, machine
            )
            a3, b3, c3, d3 = derivative(
                time + g, turn + g * a2, speed + g * b2, error + g * c2, rate + g * d2, unit, machine
            )
            a4, b4, c4, d4 = derivative(
                time + h, turn + h * a3, speed + h * b3, error + h * c3, rate + h * d3, unit, machine
            )
            turn += h * (a1 + 2 * a2 + 2 * a3 + a4) / 6
            speed += h * (b1 + 2 * b2 + 2 * b3 + b4) / 6
            error += h * (c1 + 2 * c2 + 2 * c3 + c4) / 6
            rate += h * (d1 + 2 * d2 + 2 * d3 + d4) / 6
            time += h


@kept_on_disk(parallel=True)
def simulate_gear(steps, burn, dt, substeps, turn, nominal, level, phase, severity, load, waves, machine):
    """States (N, steps, 4): turn, speed, transmission error and its rate, after `burn` samples.

    `waves` (N, 3) holds the load's slow wave: relative amplitude, rate in Hz, phase.
    """
    # NaN, not whatever the memory holds: an error in a parallel loop would otherwise pass for data.
    out = np.full((len(turn), steps, 4), np.nan)
    for row in numba.prange(len(turn)):
        wave, wave_rate, wave_phase = waves[row]
        unit = (nominal, level[row], phase[row], severity[row], load[row], wave, wave_rate, wave_phase)
        _simulate_one(out[row], turn[row], dt, substeps, burn, unit, machine)
    return out
