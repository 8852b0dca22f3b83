"""The impact oscillator, exactly: closed form between contact changes, which are located by bisection.

In free flight and in contact the equation is linear with a sinusoidal drive,

    x'' + c x' + k x = offset k + A sin(angle),  angle' = w,

so its motion is a decaying rotation about a steady response, both in closed form. Nothing is integrated: the
error is that of rounding and of the located instants.
"""

import numba
import numpy as np

from crest._base.kept_on_disk import kept_on_disk

# Halvings of an interval when a contact change is located: to 2**-40 of it.
_HALVINGS = 40

# Radians of the regime's own oscillation that are advanced at once.
_TURN = 0.5


@kept_on_disk()
def _regime(damping, stiffness, offset, amplitude, frequency):
    """One linear regime: decay, rotation, offset and the steady response's sine and cosine."""
    decay = 0.5 * damping
    rotation = np.sqrt(stiffness - decay * decay)
    detuning = stiffness - frequency * frequency
    lag = damping * frequency
    norm = detuning * detuning + lag * lag
    return decay, rotation, offset, amplitude * detuning / norm, -amplitude * lag / norm, frequency


@kept_on_disk()
def _advance(regime, x, v, angle, dt):
    """Position and velocity after dt, from (x, v) with the drive at `angle`."""
    decay, rotation, offset, sine, cosine, frequency = regime
    s0, c0 = np.sin(angle), np.cos(angle)
    s1, c1 = np.sin(angle + frequency * dt), np.cos(angle + frequency * dt)
    away = x - offset - sine * s0 - cosine * c0
    away_v = v - frequency * (sine * c0 - cosine * s0)
    lean = (away_v + decay * away) / rotation
    fade = np.exp(-decay * dt)
    turn_c, turn_s = np.cos(rotation * dt), np.sin(rotation * dt)
    free = fade * (away * turn_c + lean * turn_s)
    free_v = fade * ((lean * rotation - decay * away) * turn_c - (away * rotation + decay * lean) * turn_s)
    return free + offset + sine * s1 + cosine * c1, free_v + frequency * (sine * c1 - cosine * s1)


@kept_on_disk()
def _touching(x, v, gap, wall_stiffness, wall_damping):
    """Positive exactly while the wall pushes: behind the gap, and with a force that is not a pull."""
    return min(x - gap, wall_stiffness * (x - gap) + wall_damping * v)


@kept_on_disk()
def _peak(regime, x, v, angle, dt):
    """Time of the turning point inside dt, given that v falls through zero."""
    low, high = 0.0, dt
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if _advance(regime, x, v, angle, middle)[1] > 0:
            low = middle
        else:
            high = middle
    return low


@kept_on_disk()
def _change(regime, x, v, angle, dt, contact, gap, wall_stiffness, wall_damping):
    """Time just after contact begins or ends, given that it does inside dt."""
    low, high = 0.0, dt
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        xm, vm = _advance(regime, x, v, angle, middle)
        if (_touching(xm, vm, gap, wall_stiffness, wall_damping) > 0) == contact:
            low = middle
        else:
            high = middle
    return high


@kept_on_disk()
def _simulate_one(out, x, v, angle, dt, burn, amplitude, frequency, k, c, gap, wall_k, wall_c):
    free = _regime(c, k, 0.0, amplitude, frequency)
    pressed = _regime(c + wall_c, k + wall_k, wall_k * gap / (k + wall_k), amplitude, frequency)
    contact = _touching(x, v, gap, wall_k, wall_c) > 0
    touched = contact
    for sample in range(-burn, len(out)):
        if sample >= 0:
            force = wall_k * (x - gap) + wall_c * v if contact else 0.0
            out[sample, 0] = x
            out[sample, 1] = v
            out[sample, 2] = amplitude * np.sin(angle) - c * v - k * x - force
            out[sample, 3] = amplitude * np.sin(angle)
            out[sample, 4] = force
            out[sample, 5] = 1.0 if touched else 0.0
        touched = contact
        left = dt
        while left > 0:
            regime = pressed if contact else free
            # A small turn at a time, of the oscillation and of the drive: contact can change at most once in it.
            span = min(left, _TURN / max(regime[1], frequency))
            x1, v1 = _advance(regime, x, v, angle, span)
            changed = (_touching(x1, v1, gap, wall_k, wall_c) > 0) != contact
            if not changed and not contact and v >= 0 > v1:
                # Free at both ends, but it turned back in between: the peak may have touched the wall.
                peak = _peak(regime, x, v, angle, span)
                xp, vp = _advance(regime, x, v, angle, peak)
                if _touching(xp, vp, gap, wall_k, wall_c) > 0:
                    changed, span = True, peak
            if changed:
                span = _change(regime, x, v, angle, span, contact, gap, wall_k, wall_c)
                x1, v1 = _advance(regime, x, v, angle, span)
                contact = not contact
                touched = True
            x, v = x1, v1
            angle += frequency * span
            left -= span


@kept_on_disk(parallel=True)
def simulate_impact(
    steps, burn, dt, x, v, angle, amplitude, frequency, stiffness, damping, gap, wall_stiffness, wall_damping
):
    """States (N, steps, 6) after `burn` samples: position, velocity, acceleration, drive, wall force, touched.

    `touched` is 1 where the wall was met since the sample before, even if it was left again, else 0.
    """
    # NaN, not whatever the memory holds: an error in a parallel loop would otherwise pass for data.
    out = np.full((len(x), steps, 6), np.nan)
    for row in numba.prange(len(x)):
        _simulate_one(
            out[row],
            x[row],
            v[row],
            angle[row],
            dt,
            burn,
            amplitude[row],
            frequency,
            stiffness,
            damping,
            gap,
            wall_stiffness[row],
            wall_damping[row],
        )
    return out
