"""The gear drive against its own fine steps, an independent integrator, and limits known by hand."""

import numba
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from crest.kernels import gear
from crest.systems import GearSystem


def run(system: GearSystem, n: int = 4, severity: float | None = None) -> np.ndarray:
    generator = np.random.default_rng(1000)
    return system.simulate(
        generator.random(n),
        60 * np.exp(0.1 * generator.standard_normal(n)),
        generator.random(n),
        np.linspace(0.2, 1, n) if severity is None else np.full(n, severity),
        1 + 0.02 * generator.standard_normal(n),
    )


def test_the_order_of_convergence_is_four() -> None:
    errors = {}
    fine = run(GearSystem(substeps=128))
    for substeps in (8, 16):
        errors[substeps] = np.abs(run(GearSystem(substeps=substeps)) - fine)[..., 2].max()
    assert np.log2(errors[8] / errors[16]) == pytest.approx(4, abs=0.4)


def test_halving_the_step_changes_less_than_the_sensors_noise() -> None:
    system = GearSystem()
    change = np.abs(run(GearSystem(substeps=16)) - run(system))
    assert change[..., 2:].max() < 0.05 * system.response_noise
    assert np.abs(change[..., 1] / 60).max() / system.speed_spread < 0.05 * system.cue_noise


def test_it_agrees_with_an_independent_integrator() -> None:
    system = GearSystem(steps=60, burn_in=0, substeps=32)
    turn, level, phase, severity, load = 0.9, 57.0, 0.4, 0.8, 1.01
    states = system.simulate(*(np.array([value]) for value in (turn, level, phase, severity, load)))[0]
    unit = (60.0, level, phase, severity, load)
    times = np.arange(60) / system.sample_rate
    expected = solve_ivp(
        lambda time, state: gear.derivative.py_func(time, *state, unit, system.machine),
        (0, times[-1]),
        [turn, level, load, 0.0],
        "DOP853",
        times,
        rtol=1e-11,
        atol=1e-12,
        max_step=1e-5,
    ).y.T
    np.testing.assert_allclose(states, expected, rtol=0, atol=2e-6)


def test_without_fault_and_ripple_it_rests_at_its_static_deflection() -> None:
    quiet = GearSystem(ripple=0.0, speed_swing=0.0, burn_in=5000, steps=50)
    states = run(quiet, severity=0.0)
    spread = np.ptp(states[..., 2], axis=1)
    assert (spread < 1e-9).all()
    np.testing.assert_allclose(states[..., 3], 0, atol=1e-9)
    # Drive and load balance: the deflection is the load's.
    np.testing.assert_allclose(states[:, -1, 2], 1.0, atol=0.08)


def test_a_slow_turn_follows_the_lost_stiffness() -> None:
    """At a crawl each position is an equilibrium: deflection times stiffness is the force."""
    crawl = GearSystem(nominal_speed=0.5, speed_swing=0.0, steps=4000, sample_rate=5120.0, drive_gain=8.0)
    one = np.ones(1)
    turn, _, error, _ = crawl.simulate(0.9 * one, 0.5 * one, 0 * one, one, one)[0].T
    stiffness = np.array([gear.mesh_stiffness(place, 1.0, 0.03, 12.0, 0.35, 0.2) for place in turn])
    assert stiffness.min() == pytest.approx(0.65 * 0.97, abs=0.02)
    force = error * stiffness
    inside = np.abs(np.gradient(stiffness, turn)) < 5
    assert np.abs(force[inside] - np.median(force)).max() < 0.05


def test_free_vibration_has_the_natural_frequency_and_damping() -> None:
    """With no controller and equal torques the mesh is one damped oscillator."""
    system = GearSystem(
        ripple=0.0, speed_swing=0.0, drive_gain=0.0, run_up_time=1e9, burn_in=0, steps=60, sample_rate=51200.0
    )
    states = system.simulate(np.array([0.5]), np.array([60.0]), np.zeros(1), np.zeros(1), np.array([1.2]))[0]
    w = 2 * np.pi * 1500
    time = np.arange(60) / 51200
    damped = w * np.sqrt(1 - 0.01)
    # From 1.2 to the mean of drive and load, 1.1.
    swing = np.cos(damped * time) + 0.1 * w / damped * np.sin(damped * time)
    expected = 1.1 + 0.1 * np.exp(-0.1 * w * time) * swing
    np.testing.assert_allclose(states[:, 2], expected, rtol=0, atol=1e-6)


def test_stiffness_drops_on_tooth_zero_only() -> None:
    turns = np.linspace(0, 2, 2401)[:-1]
    healthy = np.array([gear.mesh_stiffness(turn, 0.0, 0.03, 12.0, 0.35, 0.2) for turn in turns])
    faulty = np.array([gear.mesh_stiffness(turn, 0.8, 0.03, 12.0, 0.35, 0.2) for turn in turns])
    ratio = faulty / healthy
    engaged = (turns % 1) < 1 / 12
    assert (ratio[~engaged] == 1).all()
    assert ratio[engaged].min() == pytest.approx(1 - 0.35 * 0.8)
    np.testing.assert_allclose(np.ptp(healthy), 0.06, atol=1e-3)


def test_the_number_of_threads_changes_no_bit() -> None:
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        one = run(GearSystem(), n=9)
        numba.set_num_threads(threads)
        np.testing.assert_array_equal(run(GearSystem(), n=9), one)
    finally:
        numba.set_num_threads(threads)
