"""Exact derivatives and inverse inertias of the kernel against differences and the reference."""

from __future__ import annotations

import numpy as np
import pytest

from oracle.random_mechanisms import RandomCase, cases
from oracle.test_kernel import Evaluated, evaluate
from oracle.test_reference_formulation import acceleration_tolerance, difference
from pliant._kernel import QUANTITIES, Signals
from pliant.reference import Reference, displacement, slots


def is_smooth(case: RandomCase) -> bool:
    """Whether no joint is turned by half a turn, where its rotation vector changes its sign."""
    return all(
        not body.joint.quaternion
        or abs(np.linalg.norm(displacement(body.joint, case.q[at.joint_q])[-3:]) - np.pi) > 1e-2
        for body, at in zip(case.mechanism.bodies, slots(case.mechanism), strict=True)
    )


# Small trees: the derivative along a random direction mixes all of a tree anyway.
CASES = [case for case in cases(24, seed=9, largest=8) if is_smooth(case)]


def everything(done: Evaluated) -> tuple[list[tuple[int, int, int]], Signals]:
    """Rows and handle of all that can be read of a model and depends smoothly on its state."""
    model = done.model
    sizes = [("q", 1, model.q_size), ("u", 1, model.u_size), ("energy", 1, 5), ("momentum", 1, 6)]
    sizes += [("udot", 1, model.u_size), ("reaction", len(model.bodies), 6)]
    sizes += [("node", len(model.nodes), 19)]
    rows = [
        (QUANTITIES.index(name), element, index)
        for name, elements, indices in sizes
        for element in range(elements)
        for index in range(indices)
    ]
    return rows, done.kernel.signals(np.array(rows, np.int32))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.mechanism.name)
def test_derivatives_along_a_direction_are_the_limits_of_differences(case: RandomCase) -> None:
    done = evaluate(*case)
    kernel = done.kernel
    rows, signals = everything(done)
    rng = np.random.default_rng(5)
    start = [kernel.q.copy(), kernel.u.copy(), kernel.input.copy()]
    along = [rng.normal(size=x.shape) for x in start]
    exact = kernel.derivative(signals, q=along[0], u=along[1], input=along[2])

    def at(h: float) -> np.ndarray:
        views = (kernel.q, kernel.u, kernel.input)
        for view, x, dx in zip(views, start, along, strict=True):
            view[:] = x + h * dx
        kernel.state_written()
        out = np.zeros(len(rows))
        assert kernel.read(signals, out).code == 0
        return out

    h = 1e-5
    differences = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    # truncation h^4 and rounding 1e-16 / h of accelerations of some 1e2, and of their derivatives
    np.testing.assert_allclose(exact, differences, rtol=1e-6, atol=1e-6 * (1 + np.abs(exact).max()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.mechanism.name)
def test_accelerations_by_efforts_are_the_inverse_mass_matrix(case: RandomCase) -> None:
    done = evaluate(*case)
    model, kernel = done.model, done.kernel
    M, _ = Reference(case.mechanism, case.q, case.u).mass_matrix_and_bias()
    inverse = np.linalg.inv(M)
    rows = [(QUANTITIES.index("udot"), 0, i) for i in range(model.u_size)]
    signals = kernel.signals(np.array(rows, np.int32))
    for joint in model.joints:
        for u, slot in zip(
            range(joint.u.start, joint.u.stop),
            range(joint.input.start, joint.input.stop),
            strict=True,
        ):
            seed = np.zeros(model.input_size)
            seed[slot] = 1.0
            column = kernel.derivative(signals, input=seed)
            assert difference(column, inverse[:, u]) < 10 * acceleration_tolerance(M)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.mechanism.name)
def test_the_inverse_inertia_of_a_node_is_that_of_the_reference(case: RandomCase) -> None:
    done = evaluate(*case)
    reference = Reference(case.mechanism, case.q, case.u)
    M, _ = reference.mass_matrix_and_bias()
    lower = np.tril_indices(6)
    for i, node in enumerate(done.model.nodes):
        body, _, name = node.name.partition(".")
        b = [each.name for each in case.mechanism.bodies].index(body)
        frame = reference._node(b, name)
        J = np.vstack([frame.Jv, frame.Jw])
        expected = J @ np.linalg.solve(M, J.T)
        found = done.kernel.inverse_inertia(i)
        scale = max(np.abs(expected).max(), 1e-12)
        assert np.abs(found - expected[lower]).max() / scale < 10 * acceleration_tolerance(M)
