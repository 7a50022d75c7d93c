"""Momentum and energy of a flexible tree in free motion, and the order of each integrator."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from cases.free_tree import BEAMS, drift, free_tree, node_turn

STEPS = [8e-3, 4e-3, 2e-3, 1e-3]
ORDERS = {"euler_cromer": 1, "leapfrog": 2, "rk4": 4}
# Measured slopes lie within 0.04 of the order: at h = 8 ms the fastest vibration (28 rad/s) turns
# by 0.2 rad a step, where the next term of the error is a few per cent of the first.
BAND = 0.08


def slope(errors: list[float]) -> float:
    return float(np.polyfit(np.log(STEPS), np.log(errors), 1)[0])


def test_the_tip_of_every_beam_turns_by_more_than_three_tenths_of_a_radian():
    turns = drift(2e-3, "rk4").turns
    assert set(turns) == set(BEAMS)
    assert min(turns.values()) > 0.3


def test_momentum_and_energy_stay_to_rounding_with_a_small_step():
    # rk4's own error at 1 ms is 7e-13 and falls with h^4; the target of the design is 1e-11
    found = drift(1e-3, "rk4")
    assert found.linear < 2e-12
    assert found.angular < 2e-12
    assert found.energy < 2e-12


@pytest.mark.parametrize("spin", [[6.0, 0.3, 0.2], [0.2, 5.0, 0.4], [0.3, 0.2, 5.0]])
def test_a_free_spinning_beam_with_heavy_eccentric_lumps_keeps_momentum_and_energy(spin):
    beam = pl.Beam(
        length=1.0,
        mass_per_length=1.0,
        EI=[3.0, 5.0],
        GJ=1.0,
        inertia_per_length=[0.03, 0.01, 0.025],
        modes={"bending": 2, "torsion": 1},
        lumps=[
            {"at": 1.0, "mass": 0.5, "inertia": [0.06, 0.02, 0.05], "offset": [0, 0.1, 0.05]},
            {"at": 0.6, "mass": 0.3, "inertia": [0.01, 0.02, 0.02], "offset": [0, -0.1, 0.1]},
        ],
    )
    orbit = pl.Joint(type="free", child="rotor", speed=[0.1, -0.2, 0.3, *spin])
    system = pl.System(name="rotor", bodies={"rotor": pl.Body(beam=beam)}, joints={"orbit": orbit})
    sim = pl.Simulation(system, 2e-4, integrator="rk4")
    before, energy = sim.momentum, sim.energy.total
    turns = []
    for _ in range(20):
        sim.advance(0.1)
        turns.append(node_turn(sim, "rotor"))
    assert max(turns) > 0.02  # it bends and twists
    # rk4's own error is 1e-12 here and falls with h^4
    assert sim.energy.total == pytest.approx(energy, rel=1e-11)
    for now, then in zip(sim.momentum, before, strict=True):
        assert np.linalg.norm(now - then) < 1e-11 * np.linalg.norm(then)


@pytest.mark.parametrize("integrator", ORDERS)
def test_energy_and_momentum_errors_fall_with_the_order_of_the_integrator(integrator):
    runs = [drift(h, integrator) for h in STEPS]
    for errors in ([r.energy for r in runs], [r.linear for r in runs], [r.angular for r in runs]):
        assert slope(errors) == pytest.approx(ORDERS[integrator], abs=BAND)


@pytest.mark.parametrize("integrator", ORDERS)
def test_every_integrator_converges_to_the_same_motion_with_its_order(integrator):
    def tips(step: float, integrator: str) -> np.ndarray:
        sim = pl.Simulation(free_tree(), step, integrator=integrator)
        sim.advance(3.0)
        return np.concatenate([sim.node(f"{beam}.tip").position for beam in BEAMS])

    reference = tips(2.5e-4, "rk4")  # its own error: 1e-12 m
    errors = [float(np.abs(tips(h, integrator) - reference).max()) for h in STEPS]
    assert slope(errors) == pytest.approx(ORDERS[integrator], abs=BAND)


def test_order_n_and_dense_give_the_same_motion():
    ends = []
    for algorithm in ("order_n", "dense"):
        sim = pl.Simulation(free_tree(), 4e-3, algorithm=algorithm)
        sim.advance(2.0)
        ends.append(np.concatenate([sim.q, sim.u]))
    # rounding of 500 steps
    assert ends[0] == pytest.approx(ends[1], abs=1e-11)


def test_the_papers_node_rotation_drifts_whatever_the_step():
    # With the tangent taken as I no orientation has the assumed rate: the literature's
    # kinematics disagree with themselves at second order in the rotation.
    coarse, fine = (drift(h, "rk4", "paper") for h in (STEPS[0], STEPS[-1]))
    for part in ("energy", "linear", "angular"):
        assert getattr(fine, part) > 1e-3
        assert getattr(fine, part) == pytest.approx(getattr(coarse, part), rel=1e-4)
    exact = drift(STEPS[-1], "rk4")
    assert exact.energy < 1e-8 * fine.energy


def test_the_papers_node_rotation_is_right_as_long_as_rotations_stay_parallel():
    # bending in one plane only: T psi = psi
    beam = pl.Beam(length=1.5, mass_per_length=2.0, EI=[None, 2.0], modes={"bending": 2})
    system = pl.System(
        name="plane",
        bodies={
            "hub": pl.Body(mass=3.0, inertia=[1, 1, 1], nodes={"end": {"at": [0.2, 0, 0]}}),
            "beam": pl.Body(beam=beam),
            "tip": pl.Body(mass=1.0, com=[0.5, 0, 0], inertia=[0.1, 0.1, 0.1]),
        },
        joints={
            "orbit": pl.Joint(type="free", child="hub", speed=[0.1, 0.2, 0, 0, 0, 1.0]),
            "root": pl.Joint(type="fixed", parent="hub.end", child="beam"),
            "tip": pl.Joint(type="revolute", axis="z", parent="beam.tip", child="tip", speed=-4.0),
        },
    )
    ends = []
    for node_rotation in ("exact", "paper"):
        sim = pl.Simulation(system, 1e-3, integrator="rk4", node_rotation=node_rotation)
        turns = []
        for _ in range(20):
            sim.advance(0.1)
            turns.append(node_turn(sim, "beam"))
        assert max(turns) > 0.3
        ends.append(np.concatenate([sim.q, sim.u]))
    assert ends[0] == pytest.approx(ends[1], abs=1e-12)
