"""Trajectories per second of the simulators against SciPy's LSODA on the same equations, both on one core.

LSODA's tolerance is tightened until its error against a fine reference is below ours, or as far as it goes, so
that it is timed at equal accuracy. Its steps are held to one sample, without which it steps over contacts. Both
times, both errors and the ratio come from one run. LSODA calls a Python function, as its users have it.
`python benchmarks/simulators.py [--trajectories N] [--lsoda N] [--quick]`.
"""

import argparse
import time
from collections.abc import Callable

import numba
import numpy as np
import numpy.typing as npt
from scipy.integrate import solve_ivp

from crest.lab.systems import GearSystem, ImpactSystem
from crest.lab.systems.kernels import gear as gear_kernel

Floats = npt.NDArray[np.float64]
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)


def timed(work: Callable[[], Floats]) -> tuple[float, Floats]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def lsoda(motion: Callable[..., object], start: list[float], times: Floats, tolerance: float) -> Floats:
    solution = solve_ivp(
        motion,
        (0, times[-1]),
        start,
        "LSODA",
        times,
        rtol=tolerance,
        atol=tolerance / 10,
        max_step=np.diff(times)[0],
    )
    return np.asarray(solution.y.T)


def compare(
    name: str,
    *,
    ours: Callable[[int], Floats],
    motions: list[tuple[Callable[..., object], list[float]]],
    times: Floats,
    fine: list[Floats],
    n: int,
) -> None:
    ours(2)  # compiles
    seconds, states = timed(lambda: ours(n))
    own_error = max(float(np.abs(states[row] - fine[row]).max()) for row in range(len(fine)))
    for tolerance in TOLERANCES:
        spent, error = 0.0, 0.0
        for row, (motion, start) in enumerate(motions):
            each, path = timed(
                lambda motion=motion, start=start, tolerance=tolerance: lsoda(motion, start, times, tolerance)
            )
            spent += each
            error = max(error, float(np.abs(path - fine[row]).max()))
        if error <= own_error:
            break
    reached = "" if error <= own_error else " (ours not reached)"
    rate, other = n / seconds, len(motions) / spent
    print(f"{name}: {rate:9.0f} trajectories/s, error {own_error:.1e}")
    print(
        f"  LSODA at tolerance {tolerance:.0e}: {other:.1f} trajectories/s, error {error:.1e}{reached}: {rate / other:.0f} x"
    )


def gear(n: int, rows: int) -> None:
    system = GearSystem(burn_in=0)
    generator = np.random.default_rng(1000)
    turn, level, phase = (
        generator.random(n),
        60 * np.exp(0.15 * generator.standard_normal(n)),
        generator.random(n),
    )
    severity, load = generator.random(n), 1 + 0.02 * generator.standard_normal(n)
    waves = np.stack(
        [
            system.load_wave * generator.random(n),
            generator.uniform(*system.load_wave_rates, n),
            2 * np.pi * generator.random(n),
        ],
        axis=1,
    )
    times = np.arange(system.steps) / system.sample_rate
    step = gear_kernel.derivative.py_func

    # The right-hand side in plain Python; that the equations are right is for tests/lab/systems/kernels to show.
    def motion(r: int) -> Callable[..., object]:
        unit = (system.nominal_speed, level[r], phase[r], severity[r], load[r], *waves[r])
        return lambda t, s: step(t, *s, unit, system.machine)

    motions = [(motion(r), [turn[r], level[r], load[r], 0.0]) for r in range(rows)]

    def ours(count: int, substeps: int = system.substeps) -> Floats:
        same = GearSystem(burn_in=0, substeps=substeps)
        rows = slice(count)
        return same.simulate(turn[rows], level[rows], phase[rows], severity[rows], load[rows], waves[rows])

    compare("SG-Drive", ours=ours, motions=motions, times=times, fine=list(ours(rows, 256)), n=n)


def impact(n: int, rows: int) -> None:
    system = ImpactSystem(burn_in=0)
    generator = np.random.default_rng(1000)
    amplitude = 0.8 * np.exp(0.12 * generator.standard_normal(n))
    wall, phase = 10 ** generator.uniform(1.4, 2.6, n), 2 * np.pi * generator.random(n)
    times = np.arange(system.steps) / system.sample_rate

    def motion(r: int) -> Callable[..., object]:
        def rates(t: float, s: Floats) -> list[float]:
            x, v = s
            push = wall[r] * (x - system.gap) + system.wall_damping * np.sqrt(wall[r]) * v
            force = max(0.0, push) if x > system.gap else 0.0
            return [
                v,
                amplitude[r] * np.sin(system.drive_frequency * t + phase[r]) - system.damping * v - x - force,
            ]

        return rates

    motions = [(motion(r), [0.0, 0.0]) for r in range(rows)]
    fine = [
        solve_ivp(m, (0, times[-1]), s, "DOP853", times, rtol=1e-12, atol=1e-12, max_step=times[1] / 20).y.T
        for m, s in motions
    ]
    compare(
        "impact",
        ours=lambda count: system.simulate(amplitude[:count], wall[:count], phase[:count])[..., :2],
        motions=motions,
        times=times,
        fine=fine,
        n=n,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trajectories", type=int, default=512)
    parser.add_argument("--lsoda", type=int, default=6, help="trajectories that LSODA is timed on")
    parser.add_argument("--quick", action="store_true", help="does it work? Its numbers mean nothing")
    options = parser.parse_args()
    if options.quick:
        options.trajectories, options.lsoda = 4, 1
    numba.set_num_threads(1)
    gear(options.trajectories, options.lsoda)
    impact(options.trajectories, options.lsoda)


if __name__ == "__main__":
    main()
