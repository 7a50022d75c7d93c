"""Published closed-loop mechanisms (cases.mechanisms), by their values and by their energy."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from cases.mechanisms import (
    ANDREWS,
    WINDOWS,
    bricard,
    squeezer,
    windows,
    windows_by_one_angle,
)
from pliant.closing import loop_jacobian

# ---------------------------------------------------------------------------- four-bar windows


@pytest.mark.parametrize(("count", "speed"), WINDOWS)
def test_one_equation_has_the_published_values_of_four_bar_windows(count, speed):
    # published to eight digits
    found = windows_by_one_angle(count, speed, 10.0)
    assert found == pytest.approx(WINDOWS[count, speed], abs=6e-9)


@pytest.mark.parametrize(("count", "speed", "step"), [(1, 1.0, 1e-3), (2, 30.0, 5e-4)])
def test_four_bar_windows_come_to_the_published_place(count, speed, step):
    sim = pl.Simulation(windows(count, speed), step, integrator="rk4")
    sim.advance(10.0)
    found = sim.node("rod0.tip").position[:2]
    # found: 1.2e-9; twice in each turn all rods are in line and the loops leave more freedoms
    assert found == pytest.approx(windows_by_one_angle(count, speed, 10.0), abs=1e-8)
    assert found == pytest.approx(WINDOWS[count, speed], abs=1e-8)


def test_forty_windows_come_to_the_published_place():
    sim = pl.Simulation(windows(40, 1.0), 4e-3, integrator="rk4")
    sim.advance(10.0)
    found = sim.node("rod0.tip").position[:2]
    assert found == pytest.approx(windows_by_one_angle(40, 1.0, 10.0), abs=1e-8)  # found: 5e-9
    assert found == pytest.approx(WINDOWS[40, 1.0], abs=1e-8)


def test_energy_of_four_bar_windows_is_kept_through_their_singular_positions():
    sim = pl.Simulation(windows(2, 1.0), 1e-3, integrator="rk4")
    start = sim.energy.total
    for _ in range(100):
        sim.advance(0.1)
        assert sim.energy.total == pytest.approx(start, abs=1e-9)


# --------------------------------------------------------------------------- Andrews' squeezer


def test_andrews_squeezer_starts_with_the_published_accelerations():
    sim = pl.Simulation(squeezer(), 1e-5)
    published = {"beta": 14222.4439199541138706, "Theta": -10666.8329399655854029}
    for name, value in published.items():
        # the guide of the spring has 1e-9 of the smallest inertia
        assert sim.joint(name).acceleration == pytest.approx(value, rel=1e-9)
    for name in ("gamma", "Phi", "delta", "Omega", "epsilon"):
        assert sim.joint(name).acceleration == pytest.approx(0.0, abs=1e-5)


def test_andrews_squeezer_comes_to_the_published_angles():
    sim = pl.Simulation(squeezer(), 2.5e-6, integrator="rk4")
    sim.advance(0.03)
    for name, value in ANDREWS.items():
        assert sim.joint(name).angle == pytest.approx(value, abs=1e-8)  # found: 1.8e-9


# ------------------------------------------------------------------------------------- Bricard


def test_bricards_linkage_has_a_redundant_direction_and_moves():
    sim = pl.Simulation(bricard())
    assert len(loop_jacobian(sim.kernel, live=True)) == 4
    assert np.linalg.matrix_rank(loop_jacobian(sim.kernel), tol=1e-9) == 4
    assert len(sim.u) - 4 == 1


def energy_error(step: float, integrator: str, algorithm: str = "order_n") -> float:
    """Largest over 12 s, of the largest kinetic energy."""
    sim = pl.Simulation(bricard(), step, integrator=integrator, algorithm=algorithm)
    start, worst, largest = sim.energy.total, 0.0, 0.0
    for _ in range(120):
        sim.advance(0.1)
        energy = sim.energy
        worst = max(worst, abs(energy.total - start))
        largest = max(largest, energy.kinetic)
    assert largest > 60.0  # it swings through
    assert np.abs(sim.loop("P6").gap).max() < 10 * step**2
    return worst / largest


@pytest.mark.parametrize("algorithm", ["order_n", "dense"])
def test_bricards_linkage_keeps_its_energy_for_12_s(algorithm):
    assert energy_error(1e-3, "rk4", algorithm) < 5e-7  # found: 2.2e-7


def test_energy_of_bricards_linkage_converges_with_the_step():
    errors = [energy_error(h, "leapfrog") for h in (2e-3, 1e-3, 5e-4)]
    # found: 1.8e-4, 4.2e-5, 1.0e-5
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.2)


def test_projected_loops_keep_the_order_of_rk4():
    errors = []
    for step in (4e-3, 2e-3):
        sim = pl.Simulation(
            windows(1, 4.0), step, integrator="rk4", project_loops=True, loop_steps=np.inf
        )
        start, worst = sim.energy.total, 0.0
        for _ in range(25):
            sim.advance(0.2)
            worst = max(worst, abs(sim.energy.total - start))
        errors.append(worst)
        assert np.abs(sim.loop("C0").gap).max() < 1e-12
    assert np.log2(errors[0] / errors[1]) > 3.5
