"""Closed loops: the kernel against files of other programs, the numpy reference, and itself
differentiated.

Accelerations with redundant loops are unique, the forces of the loops are not: those are compared
where every held direction counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from oracle.random_loops import ClosedCase, closed_cases
from oracle.reference_files import CLOSED, load
from oracle.test_kernel import ALGORITHMS, BUILDS, available, evaluate
from oracle.test_reference_formulation import acceleration_tolerance, difference
from pliant._kernel import QUANTITIES, Kernel
from pliant.mechanism import Mechanism
from pliant.model import Model
from pliant.reference import Wrenches
from pliant.reference_loops import ClosedReference

BLOCK = 15  # random cases in one test
EPS = np.finfo(float).eps


@dataclass
class Closed:
    """A kernel after one evaluation, loops not stabilised unless told."""

    model: Model
    kernel: Kernel

    @staticmethod
    def evaluated(
        mechanism: Mechanism,
        q: np.ndarray,
        u: np.ndarray,
        tau: np.ndarray,
        wrenches: Wrenches,
        loop_efforts: dict[str, np.ndarray] | None = None,
        algorithm: str = "order_n",
        build: str = "",
        T: float = np.inf,
    ) -> Closed:
        done = evaluate(mechanism, q, u, tau, wrenches, algorithm, build)
        kernel, step = done.kernel, 1e-3
        kernel.configure(
            step=step,
            integrator="leapfrog",
            algorithm=algorithm,
            node_rotation="exact",
            loop_steps=T / step,
        )
        for slots in done.model.loops:
            kernel.input[slots.input] = (loop_efforts or {}).get(slots.name, 0.0)
        assert kernel.evaluate().code == 0
        return Closed(done.model, kernel)

    @property
    def udot(self) -> np.ndarray:
        return np.array(self.kernel.udot)

    def signals(self, quantity: str, count: int, element: int = 0):
        rows = [(QUANTITIES.index(quantity), element, i) for i in range(count)]
        return self.kernel.signals(np.array(rows, np.int32).reshape(-1, 3))

    def read(self, quantity: str, count: int, element: int = 0) -> np.ndarray:
        out = np.zeros(count)
        assert self.kernel.read(self.signals(quantity, count, element), out).code == 0
        return out

    @property
    def rows(self) -> int:
        return self.model.loops[-1].rows.stop

    @property
    def freedoms(self) -> int:
        return self.model.loops[-1].freedoms.stop

    @property
    def loop_reactions(self) -> np.ndarray:
        return np.array([self.read("loop_reaction", 6, i) for i in range(len(self.model.loops))])


def is_redundant(reference: ClosedReference) -> bool:
    held = sum(np.linalg.matrix_rank(tie.rows) for tie in reference.ties())
    return bool(np.linalg.matrix_rank(reference.loop_jacobian()) < held)


# --------------------------------------------------------------------- files of other programs


@pytest.mark.parametrize("name", CLOSED)
def test_the_reference_has_the_accelerations_of_the_files(name: str) -> None:
    case = load(name)
    reference = ClosedReference(case.mechanism, case.q, case.u)
    solution = reference.solution(case.tau, case.wrenches)
    # 1e-11, or the rounding of the platform's cond(M) = 8e6
    tolerance = acceleration_tolerance(reference.mass_matrix_and_bias()[0])
    assert difference(solution.udot, case.udot) < max(1e-11, tolerance)


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", CLOSED)
def test_closed_systems_have_the_accelerations_of_the_files(
    name: str, algorithm: str, build: str
) -> None:
    if not available(build):
        pytest.skip(f"this machine does not run {build}")
    case = load(name)
    done = Closed.evaluated(
        case.mechanism, case.q, case.u, case.tau, case.wrenches, None, algorithm, build
    )
    tolerance = acceleration_tolerance(done.kernel.mass_matrix())
    assert difference(done.udot, case.udot) < max(1e-13, tolerance)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_force_of_a_loop_on_its_child_is_the_multiplier_of_the_file(algorithm: str) -> None:
    # along the axes of node a, on node b
    case = load("closed_loop_flex")
    (loop,) = case.mechanism.loops
    done = Closed.evaluated(
        case.mechanism, case.q, case.u, case.tau, case.wrenches, None, algorithm
    )
    expected = case.expected["multipliers"]
    assert difference(done.read("loop_force", done.rows), expected) < 1e-12
    reference = ClosedReference(case.mechanism, case.q, case.u)
    node = f"{case.mechanism.bodies[loop.parent].name}.{loop.parent_node}"
    R_a = reference.node(node, case.udot).R
    assert difference(done.loop_reactions[0, :3], R_a @ expected) < 1e-12
    found = reference.solution(case.tau, case.wrenches).loops[0, :3]
    assert difference(found, R_a @ expected) < 1e-12


# ----------------------------------------------------------------------------- random systems


@pytest.mark.parametrize("first", range(0, 150, BLOCK))
def test_order_n_dense_and_reference_agree_on_random_closed_systems(first: int) -> None:
    for case in closed_cases(BLOCK, seed=1, first=first):
        mechanism, q, u, tau, wrenches, loop_efforts = case
        reference = ClosedReference(mechanism, q, u)
        ties, solution = reference.ties(), reference.solution(tau, wrenches, loop_efforts)
        # what loops stop must not count as large by itself: a mechanism they lock stands still
        scale = max(
            np.abs(solution.udot).max(), np.abs(reference.accelerations(tau, wrenches)).max()
        )
        for algorithm in ALGORITHMS:
            where = f"{mechanism.name} {algorithm}"
            done = Closed.evaluated(mechanism, q, u, tau, wrenches, loop_efforts, algorithm)
            # measured: 5e-13 over 400 systems, whose cond(M) goes up to 1e4
            assert np.abs(done.udot - solution.udot).max() < 2e-12 * scale, where
            assert np.abs(done.read("loop_gap", done.rows)).max(initial=0.0) < 1e-13, where
            assert np.abs(done.read("loop_rate", done.rows)).max(initial=0.0) < 1e-12, where
            position = np.concatenate([tie.position for tie in ties])
            speed = np.concatenate([tie.speed for tie in ties])
            assert (
                np.abs(done.read("loop_position", done.freedoms) - position).max(initial=0.0)
                < 1e-13
            )
            found = done.read("loop_speed", done.freedoms)
            assert np.abs(found - speed).max(initial=0.0) < 1e-12, where
            if is_redundant(reference):
                continue
            # measured: 3e-12; sums of inertia forces over the tree, less those of the loops
            assert difference(done.loop_reactions, solution.loops) < 1e-11, where
            reactions = [done.kernel.reaction(i) for i in range(len(mechanism.bodies))]
            expected = reference.closed_reactions(solution, wrenches)
            assert difference(reactions, expected) < 1e-11, where


def test_the_random_systems_hold_every_type_of_loop_and_enough_of_each_kind() -> None:
    types, redundant, prescribed = set(), 0, 0
    cases = list(closed_cases(150, seed=1))
    for mechanism, q, u, *_ in cases:
        types |= {loop.joint.type for loop in mechanism.loops}
        prescribed += any(loop.joint.prescribed for loop in mechanism.loops)
        redundant += is_redundant(ClosedReference(mechanism, q, u))
    assert types == {
        *("fixed", "revolute", "prismatic", "cylindrical", "universal"),
        *("planar", "spherical", "free", "general"),
    }
    assert 50 <= redundant <= len(cases) - 50
    assert prescribed >= 5
    loops = [loop for case in cases for loop in case.mechanism.loops]
    assert sum(loop.parent < 0 for loop in loops) >= 20
    flexible = [case.mechanism.bodies[0].reduced.mode_count > 0 for case in cases]
    assert 50 <= sum(flexible) <= 130


def test_open_loops_are_pulled_together_as_in_the_reference() -> None:
    rng = np.random.default_rng(5)
    for case in closed_cases(30, seed=2):
        mechanism = without_passive_efforts(case.mechanism)
        q = case.q + 0.05 * rng.normal(size=len(case.q))
        for body, at in zip(mechanism.bodies, ClosedReference(*case[:3]).slots, strict=True):
            if body.joint.quaternion:
                ball = slice(at.joint_q.stop - 4, at.joint_q.stop)
                q[ball] /= np.linalg.norm(q[ball])
        u = case.u + 0.1 * rng.normal(size=len(case.u))
        reference = ClosedReference(mechanism, q, u)
        if is_redundant(reference):
            continue  # open, redundant loops contradict one another
        solution = reference.solution(case.tau, case.wrenches, T=0.05)
        for algorithm in ALGORITHMS:
            done = Closed.evaluated(
                mechanism, q, u, case.tau, case.wrenches, None, algorithm, T=0.05
            )
            # stabilisation is large beside the loads: 1e-11 of it, as cond(M) is up to 1e4
            assert difference(done.udot, solution.udot) < 1e-11, f"{mechanism.name} {algorithm}"


def without_passive_efforts(mechanism: Mechanism) -> Mechanism:
    """Positions along a loop that is open are a matter of definition, and so are its springs."""
    loops = []
    for loop in mechanism.loops:
        zero = np.zeros_like(loop.joint.speed)
        joint = replace(
            loop.joint,
            stiffness=zero,
            viscous=zero,
            coulomb=zero,
            stop_stiffness=zero,
            stop_damping=zero,
        )
        loops.append(replace(loop, joint=joint))
    return replace(mechanism, loops=tuple(loops))


def test_nodes_show_the_inverse_inertia_of_the_reference_with_loops_holding() -> None:
    for mechanism, q, u, tau, wrenches, _ in closed_cases(40, seed=3):
        reference = ClosedReference(mechanism, q, u)
        done = Closed.evaluated(mechanism, q, u, tau, wrenches)
        inverse = np.linalg.inv(reference.mass_matrix_and_bias()[0])
        J = reference.loop_jacobian()
        Lambda = np.linalg.pinv(J @ inverse @ J.T, rcond=1e-11, hermitian=True)
        held = inverse - inverse @ J.T @ Lambda @ J @ inverse
        for i, node in enumerate(done.model.nodes):
            _, frame = reference._named_node(node.name)
            J_node = np.vstack([frame.Jv, frame.Jw])
            expected = (J_node @ held @ J_node.T)[np.tril_indices(6)]
            # of what it would be without loops, which they take away
            scale = np.abs(J_node @ inverse @ J_node.T).max()
            found = done.kernel.inverse_inertia(i)
            assert np.abs(found - expected).max() < 1e-12 * max(scale, EPS), (
                f"{mechanism.name} {node.name}"
            )


# -------------------------------------------------------------------------------- derivatives


def along_the_motion(case: ClosedCase) -> np.ndarray:
    """Rates of the coordinates."""
    rate = np.zeros(len(case.q))
    for body, at in zip(case.mechanism.bodies, ClosedReference(*case[:3]).slots, strict=True):
        joint_u, charted = case.u[at.joint_u], len(case.u[at.joint_u])
        if body.joint.quaternion:
            charted -= 3
            w, x, y, z = case.q[at.joint_q][charted:]
            E = np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])
            rate[at.joint_q.start + charted : at.joint_q.stop] = 0.5 * E @ joint_u[charted:]
        rate[at.joint_q.start : at.joint_q.start + charted] = joint_u[:charted]
        rate[at.eta] = case.u[at.etad]
    return rate


def test_gaps_have_their_rates_and_the_rates_do_not_change_along_the_motion() -> None:
    # Differentiating the geometry twice shares nothing with the velocity products of the rows.
    for case in closed_cases(60, seed=4):
        done = Closed.evaluated(*case)
        rate, kernel = along_the_motion(case), done.kernel
        udot = done.udot
        moving = {"q": rate, "u": udot, "time": 1.0}
        sizes = 1.0 + np.abs(case.u).max() ** 2 + np.abs(udot).max()
        found = kernel.derivative(done.signals("loop_gap", done.rows), **moving)
        # at a closed position the loops keep their gaps, at a closing speed their rates
        assert np.abs(found).max(initial=0.0) < 1e-13 * sizes, case.mechanism.name
        found = kernel.derivative(done.signals("loop_rate", done.rows), **moving)
        assert np.abs(found).max(initial=0.0) < 1e-12 * sizes, case.mechanism.name
        if not done.freedoms:
            continue
        found = kernel.derivative(done.signals("loop_position", done.freedoms), **moving)
        turning = [
            i
            for slots, loop in zip(done.model.loops, case.mechanism.loops, strict=True)
            for i in range(slots.freedoms.start, slots.freedoms.stop)
            if i - slots.freedoms.start < len(loop.joint.translations)
            or 0 < len(loop.joint.rotations) < 3
        ]
        speed = done.read("loop_speed", done.freedoms)
        # a rotation vector's rate is not the angular velocity: spherical ones are left out
        assert np.abs(found - speed)[turning].max(initial=0.0) < 1e-12 * sizes, case.mechanism.name


def test_derivatives_of_closed_systems_are_those_of_central_differences() -> None:
    rng = np.random.default_rng(6)
    compared = 0
    for case in closed_cases(40, seed=5):
        if is_redundant(ClosedReference(*case[:3])):
            continue
        compared += 1
        done = Closed.evaluated(*case, T=0.05)
        nu, start = len(case.u), np.array(done.kernel.input)
        along = {
            "q": along_the_motion(case._replace(u=rng.normal(size=nu))),
            "u": rng.normal(size=nu),
            "input": rng.normal(size=len(start)),
        }
        names = [("udot", nu, 0), ("loop_force", done.rows, 0), ("loop_reaction", 6, 0)]
        h = 1e-4
        # five points: truncation h^4, rounding eps / h
        one, two = (
            values_beside(done, case, start, along, names, k * h)
            - values_beside(done, case, start, along, names, -k * h)
            for k in (1, 2)
        )
        expected = (8 * one - two) / (12 * h)
        values_beside(done, case, start, along, names, 0.0)
        found = [done.kernel.derivative(done.signals(*name), **along) for name in names]
        assert difference(np.concatenate(found), expected) < 1e-7, case.mechanism.name
    assert compared >= 10


def values_beside(
    done: Closed,
    case: ClosedCase,
    start: np.ndarray,
    along: dict[str, np.ndarray],
    names: list[tuple[str, int, int]],
    h: float,
) -> np.ndarray:
    """Signals at a distance h from the case, by the given direction."""
    kernel = done.kernel
    kernel.q[:], kernel.u[:] = case.q + h * along["q"], case.u + h * along["u"]
    kernel.input[:] = start + h * along["input"]
    kernel.state_written()
    return np.concatenate([done.read(*name) for name in names])
