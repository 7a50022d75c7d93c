"""Wheels: what the wheel gains, its carrier loses; and what a spinning wheel does to it."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl


def momentum_drift(sim: pl.Simulation, duration: float, scale: float) -> float:
    """Largest change of either momentum over a run, as part of ``scale``."""
    start, worst = sim.momentum, 0.0
    for _ in range(20):
        sim.advance(duration / 20)
        changes = [
            float(np.abs(now - then).max()) for now, then in zip(sim.momentum, start, strict=True)
        ]
        worst = max(worst, *changes)
    return worst / scale


def satellite(**joint: object) -> pl.System:
    """Three wheels about skew axes on a rigid body."""
    return pl.System(
        name="satellite",
        bodies={
            "hub": pl.Body(
                mass=50.0,
                com=[0.02, -0.01, 0.03],
                inertia=[8, 9, 11, 0.3, -0.2, 0.1],
                nodes={"deck": {"at": [0.4, 0.1, 0], "rotation": {"axis": "y", "degrees": 35}}},
                wheels={
                    "x": pl.Wheel(axis="x", inertia=0.4, speed=30.0),
                    "yz": pl.Wheel(axis=[0, 1, 1], inertia=0.3),
                    "deck": pl.Wheel(axis="z", inertia=0.5, node="deck", speed=-20.0),
                },
            )
        },
        joints={"orbit": pl.Joint(type="free", child="hub", **joint)},
    )


def flexible_satellite() -> pl.System:
    """A rigid hub with a wheel, and a flexible boom with a wheel in a heavy lump at its tip."""
    lump = pl.Lump(at=2.0, mass=3.0, inertia=[0.6, 0.5, 0.5])
    boom = pl.Beam(
        length=2.0,
        mass_per_length=2.0,
        EI=[200, 300],
        GJ=150,
        radius=0.1,
        lumps=[lump],
        modes={"bending": 2, "torsion": 1},
    )
    return pl.System(
        name="flexible_satellite",
        bodies={
            "hub": pl.Body(
                mass=30.0, inertia=[4, 5, 6], wheels={"rw": pl.Wheel(axis="y", inertia=0.4)}
            ),
            "boom": pl.Body(
                beam=boom,
                wheels={"gyro": pl.Wheel(axis=[1, 2, 1], inertia=0.2, node="tip", speed=40.0)},
            ),
        },
        joints={
            "orbit": pl.Joint(type="free", child="hub", speed=[0.1, 0, -0.1, 0.2, -0.3, 0.4]),
            "root": pl.Joint(type="revolute", axis="z", parent="hub", child="boom", speed=0.3),
        },
    )


@pytest.mark.parametrize("integrator", ["euler_cromer", "leapfrog", "rk4"])
def test_spin_up_about_a_fixed_axis_exchanges_momentum_exactly(integrator):
    # one wheel about a principal axis: the motion is plane and every integrator sums the same
    # impulse for both sides, so only rounding remains
    system = pl.System(
        name="plane",
        bodies={
            "hub": pl.Body(
                mass=10.0, inertia=[3, 4, 5], wheels={"rw": pl.Wheel(axis="z", inertia=0.5)}
            )
        },
        joints={"orbit": pl.Joint(type="free", child="hub", speed=[0, 0, 0, 0, 0, 0.3])},
    )
    sim = pl.Simulation(system, 1e-2, integrator=integrator)
    sim.wheel("hub.rw").torque = 0.7
    sim.advance(10.0)
    # 0.7 N m for 10 s on the wheel; the hub without its wheel has 4.5 kg m2
    hub = 0.3 - 0.7 * 10.0 / 4.5
    assert sim.node("hub").angular_velocity == pytest.approx([0, 0, hub], rel=1e-12, abs=1e-15)
    assert sim.wheel("hub.rw").speed + hub == pytest.approx(0.3 + 0.7 * 10.0 / 0.5, rel=1e-12)
    # 1000 additions to a speed of 14 rad/s, each rounded by at most 1e-15, times 0.5 kg m2
    assert sim.momentum.angular == pytest.approx([0, 0, 1.5], rel=0, abs=5e-13)


@pytest.mark.parametrize(
    ("system", "wheels"),
    [
        (satellite(speed=[0.1, 0.2, 0, 0.3, -0.2, 0.4]), ("hub.x", "hub.yz", "hub.deck")),
        (flexible_satellite(), ("hub.rw", "boom.gyro")),
    ],
    ids=["rigid", "flexible"],
)
def test_driven_wheels_leave_the_total_momentum_alone(system, wheels):
    sim = pl.Simulation(system, 5e-4, integrator="rk4")
    before = [sim.wheel(name).speed for name in wheels]
    for i, name in enumerate(wheels):
        sim.wheel(name).torque = lambda t, i=i: 1.0 + np.cos((i + 1) * t)
    body = sim.node("hub").angular_velocity
    # rk4's own error at this step is 6e-13 (flexible, falling with h^4) and 2e-14 (rigid)
    scale = float(np.linalg.norm(sim.momentum.angular))
    assert scale > 5.0
    assert momentum_drift(sim, 3.0, scale) < 2e-12
    # and much was exchanged
    assert np.abs(sim.node("hub").angular_velocity - body).max() > 0.3
    assert all(abs(sim.wheel(n).speed - b) > 0.3 for n, b in zip(wheels, before, strict=True))


def test_a_wheel_is_a_rotor_on_a_revolute_joint():
    # The same machine in two descriptions: the rotor's mass and inertia as part of the hub, with
    # a wheel; or as a body of its own, balanced and symmetric about the axle.
    spin, transverse, mass = 0.8, 0.5, 4.0
    place = np.array([0.3, -0.1, 0.2])
    hub_mass, hub_inertia = 20.0, np.diag([3.0, 4.0, 5.0])
    whole = hub_mass + mass
    com = mass * place / whole

    def about(mass: float, inertia: np.ndarray, offset: np.ndarray) -> np.ndarray:
        return inertia + mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))

    locked = about(hub_mass, hub_inertia, -com)
    locked = locked + about(mass, np.diag([transverse, spin, transverse]), place - com)
    start = {"speed": [0.1, 0.2, -0.3, 0.5, 0.4, -0.6]}
    one = pl.System(
        name="wheel",
        gravity=[0, 0, -1.0],
        bodies={
            "hub": pl.Body(
                mass=whole,
                com=com,
                inertia=locked,
                nodes={"axle": {"at": place}},
                wheels={"rotor": pl.Wheel(axis="y", inertia=spin, node="axle", speed=15.0)},
            )
        },
        joints={"orbit": pl.Joint(type="free", child="hub", **start)},
    )
    two = pl.System(
        name="rotor",
        gravity=[0, 0, -1.0],
        bodies={
            "hub": pl.Body(mass=hub_mass, inertia=hub_inertia, nodes={"axle": {"at": place}}),
            "rotor": pl.Body(mass=mass, inertia=[transverse, spin, transverse]),
        },
        joints={
            "orbit": pl.Joint(type="free", child="hub", **start),
            "axle": pl.Joint(
                type="revolute", axis="y", parent="hub.axle", child="rotor", speed=15.0
            ),
        },
    )
    a, b = (pl.Simulation(system, 1e-3, integrator="rk4") for system in (one, two))
    a.wheel("hub.rotor").torque = 3.0
    b.joint("axle").torque = 3.0
    assert a.wheel("hub.rotor").acceleration == pytest.approx(b.joint("axle").acceleration)
    for sim in (a, b):
        sim.advance(2.0)
    # the angle of a balanced, symmetric rotor enters nowhere: rounding only
    close = {"rel": 0.0, "abs": 1e-13}
    assert a.wheel("hub.rotor").speed == pytest.approx(b.joint("axle").rate, **close)
    for part in ("position", "rotation", "velocity", "angular_velocity"):
        assert getattr(a.node("hub"), part) == pytest.approx(getattr(b.node("hub"), part), **close)
    assert a.energy.kinetic == pytest.approx(b.energy.kinetic, rel=1e-13)
    assert a.energy.work == pytest.approx(b.energy.work, rel=1e-13)


def test_a_free_wheel_on_a_symmetric_body_gives_the_classical_nutation():
    # Carrier with I1 = I2, wheel along the axis of symmetry, nothing acting (Hughes, "Spacecraft
    # Attitude Dynamics", 1986, section 6.1): w3 and the wheel's speed stay, (w1, w2) turns in the
    # body at ((I3 - I1) w3 + J s) / I1.
    I1, I3, J, speed, w1, w3 = 4.0, 6.0, 0.5, 25.0, 0.2, 0.7
    system = pl.System(
        name="gyrostat",
        bodies={
            "hub": pl.Body(
                mass=5.0,
                inertia=[I1, I1, I3],
                wheels={"rw": pl.Wheel(axis="z", inertia=J, speed=speed)},
            )
        },
        joints={"orbit": pl.Joint(type="free", child="hub", speed=[0, 0, 0, w1, 0, w3])},
    )
    sim = pl.Simulation(system, 2e-3, integrator="rk4")
    sim.advance(4.0)
    angle = ((I3 - I1) * w3 + J * speed) / I1 * 4.0
    expected = [w1 * np.cos(angle), w1 * np.sin(angle), w3]
    # rk4: (3.5 rad/s * 2 ms)^5 / 120 a step, 2000 steps
    assert sim.joint("orbit").rate[3:] == pytest.approx(expected, abs=1e-9)
    assert sim.wheel("hub.rw").speed == pytest.approx(speed, rel=1e-13)
