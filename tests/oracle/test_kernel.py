"""The kernel against other programs' numbers, the numpy reference and the Lagrangian.

Both algorithms, every build of the kernel that this machine runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import pytest

import pliant as pl
from oracle.lagrangian import Lagrangian
from oracle.random_mechanisms import cases, flexible_part
from oracle.reference_files import FLEXIBLE, RIGID, load, plain_joint
from oracle.test_reference_formulation import BLOCK, acceleration_tolerance, difference
from pliant._kernel import Kernel
from pliant.compile import compile_model
from pliant.mechanism import Mechanism, TreeBody
from pliant.model import Model
from pliant.reduce import reduce_body
from pliant.reduced import InertiaModel
from pliant.reference import Reference, Wrenches

ALGORITHMS = ("order_n", "dense")
BUILDS = ("baseline", "v3", "v4")


@dataclass
class Evaluated:
    """A kernel after one evaluation."""

    model: Model
    kernel: Kernel

    @property
    def udot(self) -> np.ndarray:
        return np.array(self.kernel.udot)


def evaluate(
    mechanism: Mechanism,
    q: np.ndarray,
    u: np.ndarray,
    tau: np.ndarray,
    wrenches: Wrenches,
    algorithm: str = "order_n",
    build: str = "",
) -> Evaluated:
    model = compile_model(mechanism, close=False)  # the state comes with the case
    kernel = Kernel(model.blob, build)
    kernel.configure(
        step=1e-3,
        integrator="leapfrog",
        algorithm=algorithm,
        node_rotation="exact",
    )
    rows = [
        np.stack(body.joint.motion(0.0), axis=1)
        for body in mechanism.bodies
        if callable(body.joint.motion)
    ]
    if rows:
        kernel.motion_next[:] = np.concatenate(rows)
    kernel.q[:] = q
    kernel.u[:] = u
    kernel.start_turns()
    kernel.state_written()
    for joint in model.joints:
        kernel.input[joint.input] = tau[joint.u]
    for wheel in model.wheels:
        kernel.input[wheel.input] = tau[wheel.u]
    nodes = {node.name: node for node in model.nodes}
    for name, (force, torque) in wrenches.items():
        where = name if "." in name else f"{name}.head"
        kernel.input[nodes[where].input] = np.concatenate([force, torque])
    status = kernel.evaluate()
    assert status.code == 0
    return Evaluated(model, kernel)


def available(build: str) -> bool:
    case = load("rigid_tree_101")
    try:
        Kernel(compile_model(case.mechanism).blob, build)
    except ValueError:
        return False
    return True


# --------------------------------------------------------------------- files of other programs


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", RIGID)
def test_rigid_trees_have_the_results_of_pinocchio(name: str, algorithm: str, build: str) -> None:
    if not available(build):
        pytest.skip(f"this machine does not run {build}")
    case = load(name)
    done = evaluate(case.mechanism, case.q, case.u, case.tau, case.wrenches, algorithm, build)
    assert difference(done.udot, case.udot) < 1e-12
    assert difference(done.kernel.mass_matrix(), case.expected["mass_matrix"]) < 1e-13
    energy = done.kernel.energy()
    assert difference(energy[0], case.expected["kinetic"]) < 1e-13
    assert difference(energy[3], case.expected["potential"]) < 1e-13
    assert difference(done.kernel.momentum(), case.expected["momentum"]) < 1e-13


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", RIGID)
def test_rigid_trees_have_the_poses_and_joint_wrenches_of_pinocchio(
    name: str, algorithm: str
) -> None:
    case = load(name)
    done = evaluate(case.mechanism, case.q, case.u, case.tau, case.wrenches, algorithm)
    nodes = {node.name: i for i, node in enumerate(done.model.nodes)}
    largest = max(np.abs(expected["reaction"]).max() for expected in case.expected["bodies"])
    for i, (body, expected) in enumerate(
        zip(case.mechanism.bodies, case.expected["bodies"], strict=True)
    ):
        state = done.kernel.node(nodes[f"{body.name}.head"])
        # 1e-12: rounding of accelerations of up to 1e2 reached over ten joints
        for part, quantity in ((slice(0, 3), "r"), (slice(7, 10), "v"), (slice(10, 13), "w")):
            np.testing.assert_allclose(state[part], expected[quantity], rtol=0, atol=1e-12)
        for part, quantity in ((slice(13, 16), "a"), (slice(16, 19), "alpha")):
            np.testing.assert_allclose(state[part], expected[quantity], rtol=0, atol=1e-11)
        reaction = done.kernel.reaction(i)
        assert np.abs(reaction - expected["reaction"]).max() < 1e-12 * largest


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", FLEXIBLE)
def test_flexible_trees_have_the_accelerations_of_the_files(
    name: str, algorithm: str, build: str
) -> None:
    if not available(build):
        pytest.skip(f"this machine does not run {build}")
    case = load(name)
    done = evaluate(case.mechanism, case.q, case.u, case.tau, case.wrenches, algorithm, build)
    tolerance = 1e-11
    if name.startswith("platform"):
        # cond(M) = 9e6, and the file's own numbers are 1.4e-11 off (extended precision).
        tolerance = acceleration_tolerance(done.kernel.mass_matrix())
    assert difference(done.udot, case.udot) < tolerance
    if case.expected:
        kinetic, strain, _, weight, *_ = done.kernel.energy()
        assert difference(kinetic, case.expected["kinetic"]) < 1e-13
        assert difference(strain + weight, case.expected["potential"]) < 1e-13
        assert difference(done.kernel.momentum(), case.expected["momentum"]) < 1e-13


# ------------------------------------------------------------------------------- random trees


@pytest.mark.parametrize("first", range(0, 240, BLOCK))
def test_order_n_dense_reference_and_lagrangian_agree_on_random_trees(first: int) -> None:
    for mechanism, q, u, tau, wrenches in cases(BLOCK, seed=2, first=first):
        reference = Reference(mechanism, q, u)
        M, _ = reference.mass_matrix_and_bias()
        tolerance = acceleration_tolerance(M)
        expected = reference.accelerations(tau, wrenches)
        lagrangian = Lagrangian(mechanism, q, u).accelerations(tau, wrenches)
        for algorithm in ALGORITHMS:
            done = evaluate(mechanism, q, u, tau, wrenches, algorithm)
            where = f"{mechanism.name} {algorithm}"
            assert difference(done.udot, expected) < tolerance, where
            assert difference(done.udot, lagrangian) < tolerance, where
            assert difference(done.kernel.mass_matrix(), M) < 1e-13, where
            energies = done.kernel.energy()[:4]
            assert difference(energies, reference.energies()) < 1e-12, where
            assert difference(done.kernel.momentum(), reference.momentum()) < 1e-12, where


def test_prescribed_joints_and_reactions_are_those_of_the_reference() -> None:
    for mechanism, q, u, tau, wrenches in cases(40, seed=3, prescribed=True):
        reference = Reference(mechanism, q, u)
        q, u = q.copy(), u.copy()
        for body, at in zip(mechanism.bodies, reference.slots, strict=True):
            if body.joint.motion is not None:  # the kernel puts a prescribed joint where it is
                q[at.joint_q], u[at.joint_u], _ = body.joint.motion(0.0)
        reference = Reference(mechanism, q, u)
        M, _ = reference.mass_matrix_and_bias()
        udot, effort = reference.solve(tau, wrenches)
        reactions = reference.reactions(udot, wrenches)
        tolerance = acceleration_tolerance(M)
        for algorithm in ALGORITHMS:
            done = evaluate(mechanism, q, u, tau, wrenches, algorithm)
            where = f"{mechanism.name} {algorithm}"
            assert difference(done.udot, udot) < tolerance, where
            found = [done.kernel.reaction(i) for i in range(len(mechanism.bodies))]
            assert difference(found, reactions) < 10 * tolerance, where
            found = [done.kernel.effort(i) for i in range(len(mechanism.bodies))]
            joint_efforts = np.concatenate(found)
            expected = np.concatenate([effort[at.joint_u] for at in reference.slots])
            assert difference(joint_efforts, expected) < 10 * tolerance, where


def test_nodes_move_as_in_the_reference() -> None:
    for mechanism, q, u, tau, wrenches in cases(40, seed=4):
        reference = Reference(mechanism, q, u)
        done = evaluate(mechanism, q, u, tau, wrenches)
        udot = done.udot
        for i, node in enumerate(done.model.nodes):
            state = done.kernel.node(i)
            expected = reference.node(node.name, udot)
            w, x, y, z = state[3:7]
            R = np.array(
                [
                    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
                ]
            )
            # rounding along chains of up to 30 bodies, relative to what occurs in the tree
            np.testing.assert_allclose(R, expected.R, rtol=0, atol=1e-13)
            for part, quantity in (
                (slice(0, 3), expected.r),
                (slice(7, 10), expected.v),
                (slice(10, 13), expected.w),
                (slice(13, 16), expected.a),
                (slice(16, 19), expected.alpha),
            ):
                scale = 1.0 + np.abs(quantity).max()
                np.testing.assert_allclose(state[part], quantity, rtol=0, atol=1e-11 * scale)


# ------------------------------------------------------------------------ inertia of the points


@pytest.mark.parametrize("model", get_args(InertiaModel))
def test_points_of_a_body_without_modes_keep_their_inertia(model: str) -> None:
    points = [
        {"at": [1, 0, 0], "mass": 2.0, "inertia": [0.3, 0.4, 0.5], "phi": np.zeros((3, 0))},
        {"at": [0, 2, 0], "mass": 1.0, "inertia": [0.1, 0.2, 0.3], "phi": np.zeros((3, 0))},
    ]
    # about z through the head: sum of m (x^2 + y^2) + J_zz
    for count, expected in ((1, 2.0 + 0.5), (2, 2.5 + 4.0 + 0.3)):
        modal = pl.Modal(points=points[:count], K=[], inertia=model)
        system = pl.System(
            name="block",
            bodies={"block": pl.Body(modal=modal)},
            joints={"pin": pl.Joint(type="revolute", axis="z", child="block")},
        )
        sim = pl.Simulation(system)
        sim.set_state(u=[3.0])
        assert sim.kernel.mass_matrix() == pytest.approx(expected, rel=1e-15)
        assert sim.energy.kinetic == pytest.approx(0.5 * expected * 9.0, rel=1e-15)


def test_second_order_inertia_has_the_kinetic_energy_of_turning_points_to_second_order() -> None:
    """What it leaves out is of third order in the deflections and their rates, at any spin."""
    rng = np.random.default_rng(8)
    for _ in range(5):
        part = replace(flexible_part(rng, 4), inertia_model="second_order")
        joint = plain_joint("free", "free", translations=np.eye(3), quaternion=True)
        start, spin = np.array([0, 0, 0, 1.0, 0, 0, 0]), 3.0 * rng.normal(size=6)
        eta, etad = 0.2 * rng.normal(size=(2, 4))

        def energy(scale: float, model: InertiaModel) -> float:
            body = TreeBody("b", -1, "head", joint, replace(part, inertia_model=model), ())  # noqa: B023
            q, u = np.concatenate([start, scale * eta]), np.concatenate([spin, scale * etad])  # noqa: B023
            done = evaluate(Mechanism("m", np.zeros(3), (body,)), q, u, np.zeros(10), {})
            return float(done.kernel.energy()[0])

        gaps = [energy(s, "exact") - energy(s, "second_order") for s in (0.1, 0.05)]
        # the next term of the series is some scale of the first
        assert gaps[0] / gaps[1] == pytest.approx(8.0, rel=0.15)
        linear = [energy(s, "exact") - energy(s, "linear") for s in (0.1, 0.05)]
        assert abs(linear[1]) > 10 * abs(gaps[1])


def test_a_beam_with_lumps_moves_as_reference_and_lagrangian_say() -> None:
    """Its sections turn to second order, its lumps exactly."""
    beam = {"length": 1.0, "mass_per_length": 1.0, "EI": [3.0, 5.0], "GJ": 2.0, "elements": 2}
    beam |= {"inertia_per_length": [0.03, 0.01, 0.025], "modes": {"bending": 1, "torsion": 1}}
    lump = {"mass": 0.4, "inertia": [0.06, 0.02, 0.05, 0.01, 0, 0.01], "offset": [0, 0.1, 0.05]}
    part = reduce_body("b", pl.Body(beam={**beam, "lumps": [{"at": 1.0, **lump}]}))
    assert part.exact_points.tolist() == [len(part.point_mass) - 1]
    joint = plain_joint("free", "free", translations=np.eye(3), quaternion=True)
    mechanism = Mechanism("m", np.zeros(3), (TreeBody("b", -1, "head", joint, part, ()),))
    rng = np.random.default_rng(3)
    q = np.concatenate([[0, 0, 0, 1.0, 0, 0, 0], 0.2 * rng.normal(size=3)])
    u = np.concatenate([3.0 * rng.normal(size=6), rng.normal(size=3)])
    done = evaluate(mechanism, q, u, np.zeros(9), {})
    tolerance = acceleration_tolerance(done.kernel.mass_matrix())
    for other in (Reference(mechanism, q, u), Lagrangian(mechanism, q, u)):
        assert difference(done.udot, other.accelerations()) < tolerance
        assert difference(done.kernel.energy()[:4], other.energies()) < 1e-13
        assert difference(done.kernel.momentum(), other.momentum()) < 1e-13
