"""The elastic bar of Mukherjee & Anderson (cases.bar): what the model is, and how far it goes."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from cases.bar import RODS, bar, exact_tip, run_bar, start
from cases.reference import reference


def test_the_bar_of_sixteen_modes_moves_as_its_exact_modal_solution():
    modal = reference("bar_modal")
    t, u = run_bar()
    # rk4 at 2.5 ms on vibrations up to 13 rad/s: 5e-11, falling with h^4
    assert np.interp(modal["t"], t, u) == pytest.approx(modal["u_tip"], abs=1e-10)


def test_the_bar_of_sixteen_modes_has_its_exact_frequencies():
    omega = 2 * np.pi * pl.assembled_modes(bar()).frequencies
    # 40 cubic elements a rod: 4e-9, falling with the sixth power of their length
    assert omega == pytest.approx(reference("bar_modal")["omega"], rel=1e-8)


def test_the_bar_of_sixteen_modes_stays_near_the_triangular_wave():
    # each shape is free of stress where the next rod pulls: convergence only with 1 / modes
    t, u = run_bar()
    error = np.abs(u - exact_tip(t))
    assert error.max() < 3.3e-3
    assert np.sqrt(np.mean(error**2)) == pytest.approx(1.6e-3, rel=0.02)


def test_one_static_mode_a_rod_brings_the_bar_to_the_triangular_wave():
    t, u = run_bar(static=True)
    error = np.abs(u - exact_tip(t))
    assert error[0] < 1e-10  # uniform strain is within the basis now, to the error of the mesh
    assert error.max() < 1.0e-3
    assert np.sqrt(np.mean(error**2)) < 3.3e-4
    omega = 2 * np.pi * pl.assembled_modes(bar(static=True)).frequencies
    assert omega[0] == pytest.approx(np.pi / 8, rel=1e-5)  # was 2 % too high


@pytest.mark.parametrize("static", [False, True])
def test_the_bar_keeps_its_energy(static):
    sim = pl.Simulation(bar(static), 2.5e-3, integrator="rk4")
    sim.set_state(q=np.tile(start(static), RODS))
    if static:  # E A strain^2 L / 2; without it the modes hold less than the strained rod
        assert sim.energy.strain == pytest.approx(0.5 * 0.01**2 * 4, rel=2e-9)
    initial = sim.energy.total
    sim.advance(10.0)
    # rk4 takes 2e-8 from vibrations up to 23 rad/s, falling with h^5
    assert sim.energy.total == pytest.approx(initial, rel=5e-8)
