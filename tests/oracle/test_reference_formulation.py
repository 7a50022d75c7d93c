"""The numpy reference against files of other programs and against a Lagrangian."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oracle.lagrangian import Lagrangian
from oracle.random_mechanisms import cases
from oracle.reference_files import FLEXIBLE, RIGID, load, plain_joint
from pliant.mechanism import Mechanism
from pliant.reference import Reference, passive_effort

BLOCK = 10  # random cases in one test


def difference(found: object, expected: object) -> float:
    """Largest difference, relative to the largest number expected."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    assert found.shape == expected.shape
    if not expected.size:
        return 0.0
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300))


def acceleration_tolerance(mass_matrix: np.ndarray) -> float:
    """Two solutions from mass matrices that agree to rounding differ by some 1e-17 cond(M),
    measured; ten times that, or the smallest difference worth asking for."""
    return max(1e-12, 1e-16 * float(np.linalg.cond(mass_matrix)))


# --------------------------------------------------------------------- files of other programs


@pytest.mark.parametrize("name", RIGID)
def test_rigid_trees_have_the_accelerations_of_pinocchio(name: str) -> None:
    case = load(name)
    reference = Reference(case.mechanism, case.q, case.u)
    udot = reference.accelerations(case.tau, case.wrenches)
    assert difference(udot, case.udot) < 1e-12
    M, _ = reference.mass_matrix_and_bias()
    assert difference(M, case.expected["mass_matrix"]) < 1e-13
    kinetic, _, _, weight = reference.energies()
    assert difference(kinetic, case.expected["kinetic"]) < 1e-13
    assert difference(weight, case.expected["potential"]) < 1e-13
    assert difference(reference.momentum(), case.expected["momentum"]) < 1e-13


@pytest.mark.parametrize("name", RIGID)
def test_rigid_trees_have_the_poses_and_joint_wrenches_of_pinocchio(name: str) -> None:
    case = load(name)
    reference = Reference(case.mechanism, case.q, case.u)
    reactions = reference.reactions(case.udot, case.wrenches)
    largest = np.abs(reactions).max()
    for body, expected, reaction in zip(
        case.mechanism.bodies, case.expected["bodies"], reactions, strict=True
    ):
        state = reference.node(body.name, case.udot)
        for quantity, value in state._asdict().items():
            # 1e-12: rounding of accelerations of up to 1e2 reached over ten joints
            np.testing.assert_allclose(value, expected[quantity], rtol=0, atol=1e-12)
        assert np.abs(reaction - expected["reaction"]).max() < 1e-12 * largest


@pytest.mark.parametrize("name", FLEXIBLE)
def test_flexible_trees_have_the_accelerations_of_the_files(name: str) -> None:
    case = load(name)
    reference = Reference(case.mechanism, case.q, case.u)
    M, _ = reference.mass_matrix_and_bias()
    udot = reference.accelerations(case.tau, case.wrenches)
    # The platform has cond(M) = 9e6; the accelerations in its file are themselves 1.4e-11 away
    # from a solution in extended precision.
    tolerance = acceleration_tolerance(M) if name.startswith("platform") else 1e-11
    assert difference(udot, case.udot) < tolerance
    if case.expected:
        kinetic, strain, _, weight = reference.energies()
        assert difference(kinetic, case.expected["kinetic"]) < 1e-13
        assert difference(strain + weight, case.expected["potential"]) < 1e-13
        assert difference(reference.momentum(), case.expected["momentum"]) < 1e-13


# ------------------------------------------------------------------------------ the Lagrangian


@pytest.mark.parametrize("name", [*RIGID, *FLEXIBLE])
def test_lagrangian_has_the_accelerations_of_the_files(name: str) -> None:
    case = load(name)
    lagrangian = Lagrangian(case.mechanism, case.q, case.u)
    udot = lagrangian.accelerations(case.tau, case.wrenches)
    assert difference(udot, case.udot) < acceleration_tolerance(lagrangian.mass_matrix)


@pytest.mark.parametrize("first", range(0, 200, BLOCK))
def test_reference_is_the_lagrangian_on_random_trees(first: int) -> None:
    for mechanism, q, u, tau, wrenches in cases(BLOCK, seed=1, first=first):
        reference, lagrangian = Reference(mechanism, q, u), Lagrangian(mechanism, q, u)
        M, h = reference.mass_matrix_and_bias()
        # Sums of at most 1e3 terms of both signs, over chains of up to 30 bodies.
        assert difference(M, lagrangian.mass_matrix) < 1e-13, mechanism.name
        assert difference(h, lagrangian.bias) < 1e-13, mechanism.name
        assert difference(reference.energies(), lagrangian.energies()) < 1e-13, mechanism.name
        assert difference(reference.momentum(), lagrangian.momentum()) < 1e-13, mechanism.name
        udot = reference.accelerations(tau, wrenches)
        expected = lagrangian.accelerations(tau, wrenches)
        assert difference(udot, expected) < acceleration_tolerance(M), mechanism.name


def test_nodes_move_as_the_lagrangian_says() -> None:
    for mechanism, q, u, _, _ in cases(15, seed=2, largest=6):
        udot = np.cos(np.arange(len(u)))
        reference, lagrangian = Reference(mechanism, q, u), Lagrangian(mechanism, q, u)
        body = mechanism.bodies[-1]
        for node in body.reduced.nodes:
            found = reference.node(f"{body.name}.{node}", udot)
            expected = lagrangian.node(f"{body.name}.{node}", udot)
            for quantity, value, other in zip(found._fields, found, expected, strict=True):
                assert difference(value, other) < 1e-12, (mechanism.name, node, quantity)


def test_prescribed_joints_move_as_told_and_need_the_effort_that_moves_them() -> None:
    driven_cases = 0
    for mechanism, q, u, tau, wrenches in cases(15, seed=3, largest=8, prescribed=True):
        reference = Reference(mechanism, q, u, time=0.3)
        udot, effort = reference.solve(tau, wrenches)
        prescribed = {}
        for body, at in zip(mechanism.bodies, reference.slots, strict=True):
            if body.joint.prescribed:
                indices = range(at.joint_u.start, at.joint_u.stop)
                prescribed.update(zip(indices, body.joint.motion(0.3)[2], strict=True))
        driven_cases += bool(prescribed)
        lagrangian = Lagrangian(mechanism, q, u)
        tolerance = acceleration_tolerance(lagrangian.mass_matrix)
        expected = lagrangian.accelerations(tau, wrenches, prescribed)
        assert difference(udot, expected) < tolerance
        # The same joints, free again, accelerate alike under that effort.
        assert difference(
            Reference(released(mechanism), q, u).accelerations(effort, wrenches), udot
        ) < (10 * tolerance)
    assert driven_cases > 5


def released(mechanism: Mechanism) -> Mechanism:
    """The mechanism without prescribed motion."""
    bodies = tuple(
        replace(body, joint=replace(body.joint, prescribed=False, motion=None))
        for body in mechanism.bodies
    )
    return replace(mechanism, bodies=bodies)


def test_reactions_along_the_freedoms_of_a_joint_are_its_efforts() -> None:
    for mechanism, q, u, tau, wrenches in cases(15, seed=4, largest=10):
        reference = Reference(mechanism, q, u)
        reactions = reference.reactions(reference.accelerations(tau, wrenches), wrenches)
        for body, at, head, row in zip(
            mechanism.bodies, reference.slots, reference.heads, reactions, strict=True
        ):
            # Columns of the joint's own speeds: how the head moves against the parent's node.
            along = head.Jv[:, at.joint_u].T @ row[:3] + head.Jw[:, at.joint_u].T @ row[3:]
            effort = tau[at.joint_u] + passive_effort(body.joint, q[at.joint_q], u[at.joint_u])
            assert np.abs(along - effort).max(initial=0.0) < 1e-11 * np.abs(reactions).max()


def test_a_stop_pushes_only_inward() -> None:
    joint = replace(
        plain_joint("slide", "prismatic", translations=[[1, 0, 0]]),
        stop_lower=np.array([-1.0]),
        stop_upper=np.array([2.0]),
        stop_stiffness=np.array([100.0]),
        stop_damping=np.array([10.0]),
    )

    def effort(x: float, speed: float) -> float:
        return float(passive_effort(joint, np.array([x]), np.array([speed]))[0])

    assert effort(0.5, 3.0) == effort(-1.0, -3.0) == 0.0
    assert effort(2.1, 1.0) == pytest.approx(-100.0 * 0.1 - 10.0)
    assert effort(-1.1, -1.0) == pytest.approx(100.0 * 0.1 + 10.0)
    assert effort(2.1, -5.0) == effort(-1.1, 5.0) == 0.0  # leaving faster than the stop follows
