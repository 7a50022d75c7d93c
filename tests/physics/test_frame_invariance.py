"""The laws of motion know no preferred place or direction."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant as pl
from cases.free_tree import free_tree

TURN = Rotation.from_rotvec([0.7, -1.1, 1.9])
SHIFT = np.array([3.0, -2.0, 1.5])
GRAVITY = np.array([0.4, -1.0, -2.0])
FORCE = np.array([1.5, 0.5, -2.0])
TORQUE = np.array([-0.4, 0.3, 0.2])
NODES = ("hub.head", "boom.tip", "mast.tip", "blade.tip", "pod.head")


def quaternion(rotation: Rotation) -> list[float]:
    x, y, z, w = rotation.as_quat()
    return [w, x, y, z]


def run(system: pl.System, load_axes: Rotation, integrator: str) -> pl.Simulation:
    """The tree under gravity and a load at the blade's tip, which is given in world axes."""
    system.gravity = load_axes.apply(GRAVITY)
    system.loads["push"] = pl.Load(
        node="blade.tip", force=load_axes.apply(FORCE), torque=load_axes.apply(TORQUE)
    )
    sim = pl.Simulation(system, 2e-3, integrator=integrator)
    sim.advance(1.5)
    return sim


def turned_by_the_joint_frame() -> pl.System:
    system = free_tree()
    system.joints["orbit"].at = SHIFT
    system.joints["orbit"].rotation = quaternion(TURN)
    return system


def turned_by_the_start() -> pl.System:
    system = free_tree()
    orbit = system.joints["orbit"]
    start, speed = np.array(orbit.start), np.array(orbit.speed)
    place = Rotation.from_quat(start[[4, 5, 6, 3]])
    orbit.start = [*(SHIFT + TURN.apply(start[:3])), *quaternion(TURN * place)]
    # position rate in the joint frame, which stays; angular velocity in the child's
    orbit.speed = [*TURN.apply(speed[:3]), *speed[3:]]
    return system


@pytest.mark.parametrize("integrator", ["euler_cromer", "leapfrog", "rk4"])
@pytest.mark.parametrize("turned", [turned_by_the_joint_frame, turned_by_the_start])
def test_a_turned_and_shifted_start_gives_the_turned_and_shifted_motion(turned, integrator):
    plain = run(free_tree(), Rotation.identity(), integrator)
    other = run(turned(), TURN, integrator)
    # rounding of 750 steps; each integrator commutes with rotations, so the step does not matter
    close = {"rel": 0.0, "abs": 5e-13}
    for name in NODES:
        a, b = plain.node(name), other.node(name)
        assert b.position == pytest.approx(SHIFT + TURN.apply(a.position), **close)
        assert b.rotation == pytest.approx(TURN.as_matrix() @ a.rotation, **close)
        assert b.velocity == pytest.approx(TURN.apply(a.velocity), **close)
        assert b.angular_velocity == pytest.approx(TURN.apply(a.angular_velocity), **close)
        # the fastest mode, 28 rad/s, answers a difference in its bend with 28^2 times that
        close_a = {"rel": 0.0, "abs": 5e-12}
        assert b.acceleration == pytest.approx(TURN.apply(a.acceleration), **close_a)
    force, torque = plain.joint("ball").reaction
    assert other.joint("ball").reaction.force == pytest.approx(TURN.apply(force), abs=5e-12)
    assert other.joint("ball").reaction.torque == pytest.approx(TURN.apply(torque), abs=5e-12)
    for body in ("boom", "mast", "blade"):
        assert other.body(body).eta == pytest.approx(plain.body(body).eta, **close)


def test_a_moving_frame_without_acceleration_changes_nothing_inside():
    plain, moving = free_tree(), free_tree()
    wind = np.array([5.0, -3.0, 2.0])
    speed = np.array(moving.joints["orbit"].speed)
    moving.joints["orbit"].speed = [*(speed[:3] + wind), *speed[3:]]
    a, b = (run(s, Rotation.identity(), "rk4") for s in (plain, moving))
    for name in NODES:
        expected = a.node(name).position + 1.5 * wind
        # rk4 differs by rounding: its stages add the same velocity to everything
        assert b.node(name).position == pytest.approx(expected, rel=0, abs=1e-12)
    assert b.body("blade").eta == pytest.approx(a.body("blade").eta, rel=0, abs=1e-12)
