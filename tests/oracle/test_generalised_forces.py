"""Generalised forces of the kernel, and their exact derivatives, against the reference in numpy."""

from __future__ import annotations

import numpy as np
import pytest

from oracle.random_loops import closed_cases
from oracle.random_mechanisms import RandomCase
from oracle.test_derivatives import CASES
from oracle.test_kernel import evaluate
from oracle.test_loops import Closed
from oracle.test_reference_formulation import difference
from pliant.coordinates import coordinate_rates, displaced
from pliant.reference import Reference
from pliant.reference_loops import ClosedReference

NONE = np.zeros(0)


def reference_forces(case: RandomCase, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Right-hand side of M udot = Q, prescribed accelerations taken over; which speeds are free."""
    reference = Reference(case.mechanism, q, case.u)
    M, h = reference.mass_matrix_and_bias()
    for name, (force, torque) in case.wrenches.items():
        _, node = reference._named_node(name)
        h = h - node.Jv.T @ force - node.Jw.T @ torque
    udot, driven = reference._driven()
    return case.tau - h - M @ udot, ~driven


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.mechanism.name)
def test_generalised_forces_and_their_derivatives_are_those_of_the_reference(
    case: RandomCase,
) -> None:
    done = evaluate(*case)
    expected, free = reference_forces(case, case.q)
    assert difference(done.kernel.forces(NONE)[free], expected[free]) < 1e-12

    speeds = np.where(free, np.random.default_rng(3).normal(size=len(free)), 0.0)
    h = 1e-4
    one, two = (
        reference_forces(case, displaced(done.model, case.q, k * h * speeds))[0]
        - reference_forces(case, displaced(done.model, case.q, -k * h * speeds))[0]
        for k in (1, 2)
    )
    slope = ((8 * one - two) / (12 * h))[free]  # truncation h^4, rounding eps / h
    along = coordinate_rates(done.model, case.q, speeds)
    assert difference(done.kernel.force_derivative(NONE, along)[free], slope) < 1e-8


def test_with_the_forces_of_its_loops_a_closed_system_has_the_forces_that_accelerate_it() -> None:
    for case in closed_cases(30, seed=8):
        done = Closed.evaluated(*case)
        lam = done.read("loop_force", done.rows)
        reference = ClosedReference(*case[:3])
        M, _ = reference.mass_matrix_and_bias()
        udot, driven = reference._driven()
        free = ~driven
        moved = reference.solution(case.tau, case.wrenches, case.loop_efforts).udot - udot
        expected = (M @ moved)[free]
        assert difference(done.kernel.forces(lam)[free], expected) < 1e-9, case.mechanism.name
