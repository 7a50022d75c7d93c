"""Rigid bodies whose motion is known in closed form.

Sources:

* pendulum: problem A01 of the IFToMM library of computational benchmark problems (Gonzalez,
  Dopico, Lugris, Cuadrado, "A benchmarking system for MBS simulation software", Multibody Syst.
  Dyn. 16 (2006) 179-190), started at x = -1 m; exact by elliptic functions.
* heavy top and torque-free body: Landau, Lifshitz, "Mechanics", 3rd edition 1976, sections 35, 37.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import pliant as pl

G = 9.81


def pendulum(**joint: object) -> pl.System:
    """A rod with the reduced length of 1 m: (I + m l^2) / (m l) = 1 with l = 0.5 m.

    It starts at rest along -x and swings in the x-z plane.
    """
    return pl.System(
        name="pendulum",
        gravity=[0, 0, -G],
        bodies={
            "rod": pl.Body(
                mass=1.0,
                com=[0.5, 0, 0],
                inertia=[0.1, 0.25, 0.25],
                nodes={"end": {"at": [1, 0, 0]}},
            )
        },
        joints={"pivot": pl.Joint(child="rod", **joint)},
    )


PIVOTS = {
    "revolute": {"type": "revolute", "axis": "y", "start": np.pi},
    "universal": {"type": "universal", "axes": ["y", "z"], "start": [np.pi, 0]},
    "spherical": {"type": "spherical", "start": [0, 0, 1, 0]},
}


@pytest.mark.parametrize("pivot", PIVOTS)
def test_pendulum_from_horizontal_is_at_the_known_place_after_ten_seconds(pivot):
    sim = pl.Simulation(pendulum(**PIVOTS[pivot]), 1e-3, integrator="rk4")
    sim.advance(10.0)
    x, y, z = sim.node("rod.end").position
    # known to nine digits; rk4's error at this step is 2e-11
    assert (x, z) == pytest.approx((-0.275087463, -0.961419205), abs=1e-9)
    assert y == pytest.approx(0.0, abs=1e-12)


def test_pendulum_follows_the_elliptic_function_over_four_periods():
    # sin(phi / 2) = k sn(K - w t), phi from the vertical, k = sin(phi_0 / 2)
    sim = pl.Simulation(pendulum(**PIVOTS["revolute"]), 1e-3, integrator="rk4")
    m, w = 0.5, np.sqrt(G)
    for _ in range(20):
        sim.advance(0.5)
        phi = 2 * np.arcsin(np.sqrt(m) * ellipj(ellipk(m) - w * sim.time, m)[0])
        expected = [-np.sin(phi), 0.0, -np.cos(phi)]
        assert sim.node("rod.end").position == pytest.approx(expected, abs=1e-10)


def test_pendulum_returns_after_its_period():
    # 4 K(1/2) / sqrt(g) = 2.36784195 s. With a step of a thousandth of it the rod must stand still
    # at the start after 1000 steps; where it turns, position errs with the square of the time.
    period = 4 * ellipk(0.5) / np.sqrt(G)
    assert period == pytest.approx(2.36784195, abs=5e-9)
    sim = pl.Simulation(pendulum(**PIVOTS["revolute"]), period / 1000, integrator="rk4")
    sim.step(1000)
    assert sim.joint("pivot").rate == pytest.approx(0.0, abs=1e-9)
    assert sim.joint("pivot").angle == pytest.approx(np.pi, abs=1e-9)
    assert sim.node("rod.end").position == pytest.approx([-1, 0, 0], abs=1e-9)


@pytest.mark.parametrize("rotations", ["quaternion", "z-y-z angles"])
def test_heavy_top_precesses_steadily(rotations):
    # I1 W^2 cos(theta) - I3 w3 W + m g l = 0, slow root; I1 about the fixed point
    m, length, I1, I3, theta, w3 = 1.0, 0.3, 0.12, 0.02, np.pi / 6, 120.0
    rate = np.roots([I1 * np.cos(theta), -I3 * w3, m * G * length]).min()
    assert rate == pytest.approx(1.29935674, abs=5e-9)
    spin = w3 - rate * np.cos(theta)
    if rotations == "quaternion":
        joint = {
            "type": "spherical",
            "start": [np.cos(theta / 2), 0, np.sin(theta / 2), 0],
            # precession about the vertical, in body axes, and spin
            "speed": [-rate * np.sin(theta), 0, rate * np.cos(theta) + spin],
        }
    else:
        joint = {
            "type": "general",
            "rotations": ["z", "y", "z"],
            "start": [0, theta, 0],
            "speed": [rate, 0, spin],
        }
    system = pl.System(
        name="top",
        gravity=[0, 0, -G],
        bodies={
            "top": pl.Body(
                mass=m,
                com=[0, 0, length],
                inertia=[I1 - m * length**2, I1 - m * length**2, I3],
                nodes={"apex": {"at": [0, 0, 1]}},
            )
        },
        joints={"pivot": pl.Joint(child="top", **joint)},
    )
    # a step of 0.1 ms turns the body by 0.012 rad
    sim = pl.Simulation(system, 1e-4, integrator="rk4")
    for _ in range(5):
        sim.advance(0.5)
        angle = rate * sim.time
        expected = [
            np.sin(theta) * np.cos(angle),
            np.sin(theta) * np.sin(angle),
            np.cos(theta),
        ]
        # rk4 with a quaternion: (0.012)^5 / 120 a step over 25000 steps
        assert sim.node("top.apex").position == pytest.approx(expected, abs=1e-7)
    assert sim.node("top").angular_velocity @ sim.node("top.apex").position == pytest.approx(
        w3, rel=1e-10
    )


def test_a_torque_free_body_turns_by_jacobis_functions():
    # I1 < I2 < I3 and M^2 > 2 E I2 (Landau & Lifshitz 37.8-37.10), w2 = 0 at t = 0
    I1, I2, I3 = 1.0, 2.0, 2.6
    w1, w3 = 0.4, 2.0
    two_E = I1 * w1**2 + I3 * w3**2
    M2 = (I1 * w1) ** 2 + (I3 * w3) ** 2
    assert two_E * I2 < M2
    k2 = (I2 - I1) * (two_E * I3 - M2) / ((I3 - I2) * (M2 - two_E * I1))
    system = pl.System(
        name="free",
        bodies={"body": pl.Body(mass=1.0, inertia=[I1, I2, I3])},
        joints={"free": pl.Joint(type="free", child="body", speed=[0, 0, 0, w1, 0, w3])},
    )
    sim = pl.Simulation(system, 1e-3, integrator="rk4")
    for _ in range(10):
        sim.advance(1.0)
        tau = sim.time * np.sqrt((I3 - I2) * (M2 - two_E * I1) / (I1 * I2 * I3))
        sn, cn, dn, _ = ellipj(tau, k2)
        w2_max = np.sqrt((two_E * I3 - M2) / (I2 * (I3 - I2)))
        # rk4: (2 rad/s * 1 ms)^5 / 120 a step over 10000 steps
        assert sim.joint("free").rate[3:] == pytest.approx(
            [w1 * cn, w2_max * sn, w3 * dn], abs=1e-11
        )
