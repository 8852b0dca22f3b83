"""The exact propagation against independent integrators, a closed form, and the laws of mechanics."""

import numba
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq

from crest.lab.systems.kernels import impact


def run(n: int = 1, steps: int = 400, dt: float = 0.07, **changes: object) -> np.ndarray:
    arguments = {
        "burn": 0,
        "x": 0.0,
        "v": 0.0,
        "angle": 0.3,
        "amplitude": 0.8,
        "frequency": 0.8,
        "stiffness": 1.0,
        "damping": 0.16,
        "gap": 0.5,
        "wall_stiffness": 150.0,
        "wall_damping": 2.4,
    } | changes
    per_row = ("x", "v", "angle", "amplitude", "wall_stiffness", "wall_damping")
    arguments |= {name: np.broadcast_to(np.asarray(arguments[name], float), (n,)).copy() for name in per_row}
    return impact.simulate_impact(
        steps,
        arguments["burn"],
        dt,
        arguments["x"],
        arguments["v"],
        arguments["angle"],
        arguments["amplitude"],
        arguments["frequency"],
        arguments["stiffness"],
        arguments["damping"],
        arguments["gap"],
        arguments["wall_stiffness"],
        arguments["wall_damping"],
    )


@pytest.mark.parametrize("wall", [25.0, 100.0, 400.0])
def test_it_agrees_with_a_fine_integration(wall: float) -> None:
    dt, steps, damping = 0.07, 300, 0.2 * np.sqrt(wall)

    def motion(time: float, state: np.ndarray) -> list[float]:
        x, v = state
        force = max(0.0, wall * (x - 0.5) + damping * v) if x > 0.5 else 0.0
        return [v, 0.8 * np.sin(0.8 * time + 0.3) - 0.16 * v - x - force]

    times = np.arange(steps) * dt
    fine = solve_ivp(
        motion, (0, times[-1]), [0.0, 0.0], "DOP853", times, rtol=1e-11, atol=1e-11, max_step=dt / 10
    ).y.T
    states = run(steps=steps, dt=dt, wall_stiffness=wall, wall_damping=damping)[0]
    assert (states[:, 4] > 0).sum() > 5
    np.testing.assert_allclose(states[:, :2], fine, rtol=0, atol=2e-7)


def test_sampling_more_finely_changes_nothing() -> None:
    coarse, fine = run(steps=200, dt=0.1), run(steps=2000, dt=0.01)
    np.testing.assert_allclose(coarse[0, :, :5], fine[0, ::10, :5], rtol=0, atol=1e-8)


def test_a_touch_between_two_samples_is_not_missed() -> None:
    """Grazing: free at both samples, beyond the gap in between; with more samples it is in plain view."""
    for velocity in np.linspace(0.5, 0.72, 23):
        coarse = run(steps=4, dt=1.2, v=velocity, amplitude=0.0, damping=0.0, wall_stiffness=400.0, gap=0.5)
        fine = run(steps=400, dt=0.012, v=velocity, amplitude=0.0, damping=0.0, wall_stiffness=400.0, gap=0.5)
        np.testing.assert_allclose(coarse[0, :, :5], fine[0, ::100, :5], rtol=0, atol=1e-8)


def test_energy_is_kept_without_losses() -> None:
    states = run(steps=800, amplitude=0.0, damping=0.0, wall_damping=0.0, v=1.3)[0]
    x, v, force = states[:, 0], states[:, 1], states[:, 4]
    energy = 0.5 * v**2 + 0.5 * x**2 + 0.5 * np.maximum(x - 0.5, 0) ** 2 * 150.0
    assert (force > 0).any()
    np.testing.assert_allclose(energy, energy[0], rtol=1e-10)


def test_it_comes_to_rest_at_the_static_limit() -> None:
    """A drive of frequency zero at its crest is a constant push: x = (A + k gap) / (1 + k)."""
    states = run(steps=4000, frequency=1e-9, angle=np.pi / 2, amplitude=2.0)[0]
    assert states[-1, 0] == pytest.approx((2.0 + 150.0 * 0.5) / 151.0, abs=1e-6)
    assert states[-1, 1] == pytest.approx(0.0, abs=1e-6)


def test_acceleration_and_force_satisfy_newton() -> None:
    x, v, acceleration, drive, force, _ = run(steps=500)[0].T
    np.testing.assert_allclose(acceleration, drive - 0.16 * v - x - force, rtol=0, atol=1e-9)
    expected = np.maximum(0, np.where(x > 0.5, 150.0 * (x - 0.5) + 2.4 * v, 0))
    np.testing.assert_allclose(force, expected, rtol=0, atol=1e-9)


def test_far_from_the_wall_it_is_the_driven_oscillator() -> None:
    states = run(steps=300, gap=100.0, burn=3000, angle=0.0)[0]
    times = (np.arange(300) + 3000) * 0.07
    response = 0.8 / (1 - 0.64 + 1j * 0.16 * 0.8)
    expected = abs(response) * np.sin(0.8 * times + np.angle(response))
    np.testing.assert_allclose(states[:, 0], expected, rtol=0, atol=1e-6)
    assert (states[:, 4] == 0).all()


def test_the_number_of_threads_changes_no_bit() -> None:
    amplitude = np.linspace(0.5, 1.2, 16)
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        one = run(n=16, amplitude=amplitude)
        numba.set_num_threads(threads)
        np.testing.assert_array_equal(run(n=16, amplitude=amplitude), one)
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(run(n=1, amplitude=amplitude[5]), one[5:6])


def exact(steps: int, dt: float, wall: float, wall_damping: float) -> np.ndarray:
    """Position and velocity by matrix exponentials of the linear regimes, contact changes found by Brent's method."""

    def rates(contact: bool) -> np.ndarray:
        # of (x, v, sine, cosine, 1)
        k, c = (1 + wall, 0.16 + wall_damping) if contact else (1.0, 0.16)
        push = wall * 0.5 if contact else 0.0
        return np.array(
            [[0, 1, 0, 0, 0], [-k, -c, 0.8, 0, push], [0, 0, 0, 0.8, 0], [0, 0, -0.8, 0, 0], [0, 0, 0, 0, 0]]
        )

    def pushing(state: np.ndarray) -> float:
        return min(state[0] - 0.5, wall * (state[0] - 0.5) + wall_damping * state[1])

    state = np.array([0.0, 0.0, np.sin(0.3), np.cos(0.3), 1.0])
    path, contact, part = [], False, dt / 20
    for _ in range(steps):
        path.append(state[:2].copy())
        for _ in range(20):
            left = part
            while left > 0:
                generator = rates(contact)
                after = expm(generator * left) @ state
                if (pushing(after) > 0) == contact:
                    state, left = after, 0.0
                    continue
                change = lambda time, g=generator, s=state: pushing(expm(g * time) @ s)  # noqa: E731
                moment = brentq(change, 1e-13, left, xtol=1e-15) + 1e-13
                state, left, contact = expm(generator * moment) @ state, left - moment, not contact
    return np.array(path)


@pytest.mark.parametrize("wall", [40.0, 250.0])
def test_it_agrees_with_exact_propagation(wall: float) -> None:
    damping = 0.2 * np.sqrt(wall)
    states = run(steps=160, wall_stiffness=wall, wall_damping=damping)[0]
    assert (np.diff((states[:, 4] > 0).astype(int)) == 1).sum() >= 1
    np.testing.assert_allclose(states[:, :2], exact(160, 0.07, wall, damping), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("drive", "dt"), [(5.0, np.pi / 5), (20.0, np.pi / 20), (0.8, np.pi / 1.6)])
def test_a_fast_drive_and_a_start_from_rest_miss_no_touch(drive: float, dt: float) -> None:
    angles = np.linspace(0, 2 * np.pi, 32)
    options = {"n": 32, "frequency": drive, "angle": angles, "gap": 5e-4}
    coarse, fine = run(steps=20, dt=dt, **options), run(steps=1000, dt=dt / 50, **options)
    np.testing.assert_allclose(coarse[..., :2], fine[:, ::50, :2], rtol=0, atol=1e-8)
