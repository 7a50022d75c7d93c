"""Joints locked and released during a run, and joints moved from outside."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from oracle.random_mechanisms import RandomCase, cases
from oracle.test_kernel import evaluate

CASES = list(cases(20, seed=21, largest=8, passive=False))


def moving_joints(case: RandomCase) -> list[int]:
    return [i for i, body in enumerate(case.mechanism.bodies) if body.joint.dof_count > 0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.mechanism.name)
def test_a_lock_is_the_impulse_that_the_mass_matrix_asks_for(case: RandomCase) -> None:
    """du = -M^-1 E (E^T M^-1 E)^-1 u_S, and the energy that leaves is u_S . p / 2."""
    body = moving_joints(case)[len(moving_joints(case)) // 2]
    done = evaluate(*case)
    kernel, joint = done.kernel, done.model.joints[body]
    kernel.open_account()
    M, u = np.array(kernel.mass_matrix()), kernel.u.copy()
    E = np.eye(len(u))[:, joint.u]
    impulse = np.linalg.solve(E.T @ np.linalg.solve(M, E), -u[joint.u])
    expected = u + np.linalg.solve(M, E @ impulse)
    momentum, before = kernel.momentum(), kernel.energy()

    assert kernel.lock(body, True).code == 0
    scale = 1e-16 * np.linalg.cond(M)
    np.testing.assert_allclose(kernel.u, expected, rtol=0, atol=10 * scale + 1e-12)
    assert (kernel.u[joint.u] == 0.0).all()
    roots = [each.joint.dof_count for each in case.mechanism.bodies if each.parent < 0]
    if roots == [6] * len(roots) and case.mechanism.bodies[body].parent >= 0:
        np.testing.assert_allclose(kernel.momentum(), momentum, rtol=0, atol=1e-10)
    after = kernel.energy()
    lost = -0.5 * u[joint.u] @ impulse
    assert after[0] - before[0] == pytest.approx(-lost, rel=1e-8, abs=1e-10)
    assert after[7] == pytest.approx(0.0, abs=1e-9 * (1 + before[0]))  # the account still closes


def arm(wrist: pl.Joint) -> pl.System:
    """A free base with a flexible boom and a hand, which hangs on the wrist. The boom has the same
    shapes whatever the wrist is."""
    section = {"length": 3.0, "mass_per_length": 4.0, "EI": 2e4, "GJ": 1e4, "radius": 0.08}
    boom = pl.Beam(**section, modes={"count": 4}, shapes="cantilever")
    return pl.System(
        name="arm",
        bodies={
            "base": pl.Body(mass=50, inertia=[20, 30, 25], nodes={"mount": {"at": [0, 0, 0.5]}}),
            "boom": pl.Body(beam=boom),
            "hand": pl.Body(mass=5, com=[0.2, 0.05, 0], inertia=[0.2, 0.3, 0.4]),
        },
        joints={
            "orbit": pl.Joint(type="free", child="base", speed=[0, 0, 0, 0.1, -0.2, 0.3]),
            "shoulder": pl.Joint(
                type="revolute", axis="y", parent="base.mount", child="boom", speed=0.4
            ),
            "wrist": wrist,
        },
    )


def test_a_locked_joint_is_a_fixed_one_and_release_goes_on_from_there():
    hinge = pl.Joint(type="revolute", axis="z", parent="boom.tip", child="hand", speed=0.8)
    sim = pl.Simulation(arm(hinge), 2e-4, integrator="rk4")
    sim.advance(0.3)
    sim.joint("wrist").lock()
    angle = sim.joint("wrist").position
    turned = {"axis": "z", "angle": angle}
    weld = pl.Joint(type="fixed", parent="boom.tip", child="hand", rotation=turned)
    welded = pl.Simulation(arm(weld), 2e-4, integrator="rk4")
    wrist = sim.model.joints[2]
    welded.set_state(np.delete(sim.q, wrist.q.start), np.delete(sim.u, wrist.u.start))

    momentum = sim.momentum
    sim.advance(0.5)
    welded.advance(0.5)
    # the same equations in the same order: rounding over 2500 steps
    np.testing.assert_allclose(np.delete(sim.q, wrist.q.start), welded.q, rtol=0, atol=1e-11)
    assert sim.joint("wrist").position == angle
    # the lock's effort is the weld's torque about the axis it replaces
    axis = sim.node("hand").rotation[:, 2]
    assert sim.joint("wrist").effort == pytest.approx(
        axis @ welded.joint("wrist").reaction.torque, rel=1e-7
    )
    np.testing.assert_allclose(sim.momentum.linear, momentum.linear, rtol=0, atol=1e-9)
    np.testing.assert_allclose(sim.momentum.angular, momentum.angular, rtol=0, atol=1e-9)

    u = sim.u.copy()
    sim.joint("wrist").release()
    np.testing.assert_array_equal(sim.u, u)
    sim.advance(0.2)
    assert sim.joint("wrist").rate != 0.0


def test_a_locked_joint_is_put_elsewhere_but_not_in_motion():
    hinge = pl.Joint(type="revolute", axis="z", parent="boom.tip", child="hand", speed=0.8)
    sim = pl.Simulation(arm(hinge), 1e-3)
    (wrist,) = (joint for joint in sim.model.joints if joint.name == "wrist")
    u = sim.u.copy()
    sim.joint("wrist").lock()
    state = sim.save_state()
    with pytest.raises(pl.ModelError, match="u: joint wrist is locked, and stands; give it 0, or"):
        sim.set_state(u=u)
    assert sim.save_state().kernel == state.kernel
    q = sim.q.copy()
    q[wrist.q] = 0.4
    sim.set_state(q=q)
    sim.advance(0.1)
    assert (sim.joint("wrist").angle, sim.joint("wrist").rate) == (0.4, 0.0)


def test_restoring_a_state_restores_its_locks():
    hinge = pl.Joint(type="revolute", axis="z", parent="boom.tip", child="hand", speed=0.8)
    sim = pl.Simulation(arm(hinge), 1e-3)
    sim.advance(0.1)
    sim.joint("wrist").lock()
    saved = sim.save_state()
    sim.advance(0.1)
    locked_future = sim.q.copy()
    sim.joint("wrist").release()
    sim.advance(0.1)
    sim.restore_state(saved)
    assert sim.joint("wrist").locked
    sim.advance(0.1)
    np.testing.assert_array_equal(sim.q, locked_future)


def test_a_joint_moved_from_outside_takes_what_a_function_of_time_takes():
    def swing(t: float) -> tuple[float, float, float]:
        return 0.3 * np.sin(2 * t), 0.6 * np.cos(2 * t), -1.2 * np.sin(2 * t)

    def wrist(motion: object, **start: float) -> pl.Joint:
        return pl.Joint(
            type="revolute", axis="z", parent="boom.tip", child="hand", motion=motion, **start
        )

    told = pl.Simulation(arm(wrist(swing)), 1e-3)
    moved = pl.Simulation(arm(wrist("input", speed=0.6)), 1e-3)
    assert moved.joint("wrist").rate == 0.6
    for _ in range(1000):
        moved.joint("wrist").move(*swing(moved.time))
        moved.step()
        told.step()
    # what is given at the start of a step goes on with its acceleration: the position misses
    # jerk h^3 / 6 = 4e-10, the acceleration jerk h = 2e-3 of some 1, which the others feel
    assert moved.joint("wrist").position == pytest.approx(told.joint("wrist").position, abs=1e-9)
    np.testing.assert_allclose(moved.q, told.q, rtol=0, atol=2e-5)


@pytest.mark.parametrize(
    ("joint", "act", "message"),
    [
        ("orbit", lambda joint: joint.move(0.0), "does not come from outside"),
        ("wrist", lambda joint: joint.move(np.nan), "not finite"),
        ("wrist", lambda joint: joint.lock(), "prescribed"),
    ],
)
def test_what_cannot_be_moved_or_locked_says_so(joint, act, message):
    wrist = pl.Joint(type="revolute", axis="z", parent="boom.tip", child="hand", motion="input")
    sim = pl.Simulation(arm(wrist), 1e-3)
    with pytest.raises(pl.ModelError, match=message):
        act(sim.joint(joint))
