"""The gear drive against its own fine steps, an independent integrator, and limits known by hand."""

import numba
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from crest.lab.systems import GearSystem
from crest.lab.systems.kernels import gear


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
        errors[substeps] = np.abs(run(GearSystem(substeps=substeps)) - fine).max(axis=(0, 1))
    np.testing.assert_allclose(np.log2(errors[8] / errors[16]), 4, atol=0.4)


def test_halving_the_step_changes_less_than_the_sensors_noise() -> None:
    system = GearSystem()
    change = np.abs(run(GearSystem(substeps=16)) - run(system))
    assert change[..., 2:].max() < 0.05 * system.response_noise
    assert np.abs(change[..., 1] / 60).max() / system.speed_spread < 0.05 * system.cue_noise


def test_it_agrees_with_the_two_masses_written_out() -> None:
    """Newton's law for each mass along the line of action, in SI units, by another integrator."""
    system = GearSystem(steps=60, burn_in=0, substeps=32, drive_share=0.3)
    turn, level, phase, severity, load = 0.9, 57.0, 0.4, 0.8, 1.01
    states = system.simulate(*(np.array([value]) for value in (turn, level, phase, severity, load)))[0]

    radius, force = 0.03, 300.0
    m1 = force * system.run_up_time / (2 * np.pi * radius * 60.0)
    # drive_share = m / m1 with 1/m = 1/m1 + 1/m2
    m = system.drive_share * m1
    m2 = 1 / (1 / m - 1 / m1)
    k = m * (2 * np.pi * 1500) ** 2
    c = 2 * system.damping * np.sqrt(k * m)

    def newton(time: float, state: np.ndarray) -> list[float]:
        x1, v1, x2, v2 = state
        place = x1 / (2 * np.pi * radius) * 12
        share = 0.0
        if place % 12 < 1:
            into = min(place % 1, 1 - place % 1) / 0.2
            share = 0.5 - 0.5 * np.cos(np.pi * min(into, 1.0))
        stiffness = k * (1 + 0.03 * np.cos(2 * np.pi * place)) * (1 - 0.35 * severity * share)
        mesh = stiffness * (x1 - x2) + c * (v1 - v2)
        wanted = 57.0 * (1 + 0.01 * np.sin(2 * np.pi * 0.25 * 57.0 * time + phase))
        drive = force * (1 + 8.0 * (wanted - v1 / (2 * np.pi * radius)) / 60.0)
        return [v1, (drive - mesh) / m1, v2, (mesh - force * load) / m2]

    times = np.arange(60) / system.sample_rate
    x1, speed = turn * 2 * np.pi * radius, level * 2 * np.pi * radius
    start = [x1, speed, x1 - load * force / k, speed]
    path = solve_ivp(newton, (0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-14, max_step=1e-5).y
    np.testing.assert_allclose(states[:, 0], path[0] / (2 * np.pi * radius), rtol=0, atol=1e-7)
    np.testing.assert_allclose(states[:, 1], path[1] / (2 * np.pi * radius), rtol=0, atol=1e-4)
    np.testing.assert_allclose(states[:, 2], (path[0] - path[2]) * k / force, rtol=0, atol=1e-4)


def test_energy_is_kept_without_losses() -> None:
    """No damping, no controller, constant stiffness and equal torques: the oscillation's energy stays."""
    system = GearSystem(
        ripple=0.0,
        speed_swing=0.0,
        drive_gain=0.0,
        damping=0.0,
        burn_in=0,
        steps=400,
        substeps=64,
        drive_share=0.3,
    )
    one = np.ones(1)
    _, _, error, rate = system.simulate(0.5 * one, 60 * one, 0 * one, 0 * one, 1.3 * one)[0].T
    rest = 0.3 + 0.7 * 1.3
    energy = (error - rest) ** 2 + rate**2
    np.testing.assert_allclose(energy, energy[0], rtol=1e-6)


def test_without_fault_and_ripple_it_rests_at_its_static_deflection() -> None:
    """The deflection is the load's, and the controller's torque meets it at the speed that gives it."""
    quiet = GearSystem(ripple=0.0, speed_swing=0.0, burn_in=5000, steps=50)
    load = np.array([0.9, 1.0, 1.1])
    states = quiet.simulate(np.zeros(3), np.full(3, 60.0), np.zeros(3), np.zeros(3), load)
    np.testing.assert_allclose(states[..., 2], load[:, None] + np.zeros(50), rtol=0, atol=1e-9)
    np.testing.assert_allclose(states[:, -1, 1], 60.0 - (load - 1) * 60.0 / 8.0, rtol=0, atol=1e-6)


def test_a_slow_turn_follows_the_lost_stiffness() -> None:
    """At a crawl each position is an equilibrium: deflection times stiffness is the force."""
    crawl = GearSystem(nominal_speed=0.5, speed_swing=0.0, steps=4000, sample_rate=5120.0, drive_gain=8.0)
    one = np.ones(1)
    turn, _, error, _ = crawl.simulate(0.9 * one, 0.5 * one, 0 * one, one, one)[0].T
    stiffness = np.array([gear.mesh_stiffness(place, 1.0, 0.03, 12.0, 0.35, 0.2, 1.0) for place in turn])
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
    healthy = np.array([gear.mesh_stiffness(turn, 0.0, 0.03, 12.0, 0.35, 0.2, 1.0) for turn in turns])
    faulty = np.array([gear.mesh_stiffness(turn, 0.8, 0.03, 12.0, 0.35, 0.2, 1.0) for turn in turns])
    ratio = faulty / healthy
    engaged = (turns % 1) < 1 / 12
    assert (ratio[~engaged] == 1).all()
    assert ratio[engaged].min() == pytest.approx(1 - 0.35 * 0.8)
    np.testing.assert_allclose(np.ptp(healthy), 0.06, atol=1e-3)


def test_neighbouring_worn_teeth_are_one_engagement_with_two_edges() -> None:
    turns = np.linspace(0, 1, 1201)[:-1]
    healthy = np.array([gear.mesh_stiffness(turn, 0.0, 0.03, 12.0, 0.35, 0.2, 3.0) for turn in turns])
    worn = np.array([gear.mesh_stiffness(turn, 0.8, 0.03, 12.0, 0.35, 0.2, 3.0) for turn in turns])
    ratio, place = worn / healthy, turns * 12
    assert (ratio[place > 3] == 1).all()
    inside = (place > 0.21) & (place < 2.79)
    np.testing.assert_allclose(ratio[inside], 1 - 0.35 * 0.8, rtol=1e-12)
    np.testing.assert_allclose(ratio[10], 1 - 0.35 * 0.8 / 2, rtol=1e-9)  # halfway up the edge of 0.2 teeth


def test_where_every_tooth_is_worn_the_loss_is_everywhere_and_has_no_edge() -> None:
    turns = np.linspace(0, 3, 3601)
    healthy = np.array([gear.mesh_stiffness(turn, 0.0, 0.03, 12.0, 0.35, 0.2, 12.0) for turn in turns])
    worn = np.array([gear.mesh_stiffness(turn, 0.8, 0.03, 12.0, 0.35, 0.2, 12.0) for turn in turns])
    np.testing.assert_allclose(worn / healthy, 1 - 0.35 * 0.8, rtol=1e-12)


def test_a_wholly_worn_gear_rests_at_the_deflection_of_its_lost_stiffness() -> None:
    quiet = GearSystem(ripple=0.0, speed_swing=0.0, burn_in=5000, steps=50, worn_teeth=12)
    load, severity = np.array([0.9, 1.0, 1.1]), np.array([0.0, 0.5, 1.0])
    states = quiet.simulate(np.zeros(3), np.full(3, 60.0), np.zeros(3), severity, load)
    expected = load / (1 - 0.35 * severity)
    np.testing.assert_allclose(states[..., 2], expected[:, None] + np.zeros(50), rtol=0, atol=1e-9)


def test_the_number_of_threads_changes_no_bit() -> None:
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        one = run(GearSystem(), n=9)
        numba.set_num_threads(threads)
        np.testing.assert_array_equal(run(GearSystem(), n=9), one)
    finally:
        numba.set_num_threads(threads)
