"""Where models rest."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl


def test_a_pendulum_hangs_down():
    rod = pl.Body(mass=2.0, com=[0.5, 0, 0], inertia=[0.01, 0.1, 0.1])
    hinge = pl.Joint(type="revolute", axis="y", child="rod", start=1.2)
    system = pl.System(
        name="pendulum", gravity=[0, 0, -9.81], bodies={"rod": rod}, joints={"hinge": hinge}
    )
    assert pl.equilibrium(system) == pytest.approx([np.pi / 2], abs=1e-12)


def test_a_cantilever_sags_by_its_tip_load():
    length, EI, force = 2.0, 5e3, 3.0
    beam = pl.Beam(
        length=length,
        mass_per_length=1.0,
        EI=EI,
        # the static mode makes the deflection under a force at the tip exact
        modes={"bending": 2, "static": ["force_z"]},
        stiffening=False,
    )
    system = pl.System(
        name="cantilever",
        bodies={"beam": pl.Body(beam=beam)},
        joints={"clamp": pl.Joint(type="fixed", child="beam")},
        loads={"push": pl.Load(node="beam.tip", force=[0, 0, -force])},
    )
    sim = pl.Simulation(system)
    sim.set_state(q=pl.equilibrium(system))
    sag = sim.node("beam.tip").position[2]
    assert sag == pytest.approx(-force * length**3 / (3 * EI), rel=1e-9)
    sim.advance(0.5)
    assert sim.node("beam.tip").position[2] == pytest.approx(sag, rel=1e-9)


def test_a_ball_on_a_spring_hangs_where_force_and_spring_balance():
    ball = pl.Body(mass=2.0, inertia=[0.1, 0.1, 0.1])
    spring = {"stiffness": [100, 200, 300, 5, 5, 5]}
    free = pl.Joint(type="free", child="ball", spring=spring, start=[0.1, 0, 0, 0.8, 0.6, 0, 0])
    system = pl.System(name="ball", gravity=[1, 2, 3], bodies={"ball": ball}, joints={"free": free})
    expected = [2 / 100, 4 / 200, 6 / 300, 1, 0, 0, 0]
    assert pl.equilibrium(system) == pytest.approx(expected, abs=1e-10)


def test_without_anything_that_holds_a_body_there_is_no_equilibrium():
    system = pl.System(
        name="falling",
        gravity=[0, 0, -9.81],
        bodies={"ball": pl.Body(mass=1.0, inertia=[1, 1, 1])},
        joints={"free": pl.Joint(type="free", child="ball")},
    )
    with pytest.raises(pl.SolverError, match="no equilibrium"):
        pl.equilibrium(system)


def test_freedoms_on_which_nothing_acts_stay_where_they_are():
    system = pl.System(
        name="floating",
        bodies={"ball": pl.Body(mass=1.0, inertia=[1, 2, 3])},
        joints={"free": pl.Joint(type="free", child="ball", start=[1, 2, 3, 0.6, 0, 0.8, 0])},
    )
    assert pl.equilibrium(system).tolist() == [1, 2, 3, 0.6, 0, 0.8, 0]


def test_a_closed_linkage_rests_where_its_weight_is_lowest():
    # A four-bar of the parallelogram kind, released at a slant: both cranks hang down.
    rod = pl.Body(
        mass=1.0, com=[0.5, 0, 0], inertia=[1e-3, 0.1, 0.1], nodes={"tip": {"at": [1, 0, 0]}}
    )
    system = pl.System(
        name="swing",
        gravity=[0, -9.81, 0],
        bodies={"left": rod, "right": rod, "seat": rod},
        joints={
            "left": pl.Joint(type="revolute", axis="z", child="left", start=-1.0),
            "right": pl.Joint(type="revolute", axis="z", child="right", at=[1, 0, 0], start=-1.0),
            "seat": pl.Joint(type="revolute", axis="z", parent="left.tip", child="seat", start=1.0),
        },
        loops={
            "close": pl.Loop(type="revolute", axis="z", parent="seat.tip", child="right.tip"),
        },
    )
    sim = pl.Simulation(system)
    sim.set_state(q=pl.equilibrium(system))
    for name, angle in (("left", -np.pi / 2), ("right", -np.pi / 2), ("seat", np.pi / 2)):
        assert sim.joint(name).angle == pytest.approx(angle, abs=1e-10)
    assert np.abs(sim.loop("close").gap).max() < 1e-12
