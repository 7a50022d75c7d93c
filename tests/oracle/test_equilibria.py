"""Where random mechanisms rest, by the reference in numpy: no accelerations, least energy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import pliant as pl
from oracle.random_loops import closed_cases
from oracle.random_mechanisms import cases
from pliant.compile import compile_model
from pliant.coordinates import displaced
from pliant.mechanism import Mechanism, TreeJoint
from pliant.model import Model
from pliant.reference import Reference
from pliant.reference_loops import ClosedReference

STIFFNESS = 30.0  # of a spring on every freedom, so that nothing can fall


def sprung(joint: TreeJoint) -> TreeJoint:
    count = joint.dof_count
    return replace(
        joint,
        stiffness=np.full(count, STIFFNESS),
        rest=np.zeros(count),
        prescribed=False,
        motion=None,
    )


def started(mechanism: Mechanism, q: np.ndarray) -> Model:
    """With springs, starting at q."""
    model = compile_model(mechanism, close=False)
    bodies = [
        replace(
            body,
            joint=replace(sprung(body.joint), start=q[joint.q].copy()),
            eta=q[slots.eta].copy(),
        )
        for body, joint, slots in zip(mechanism.bodies, model.joints, model.bodies, strict=True)
    ]
    return compile_model(replace(mechanism, bodies=tuple(bodies)), close=False)


def potential(mechanism: Mechanism, q: np.ndarray, nu: int) -> float:
    _, *parts = Reference(mechanism, q, np.zeros(nu)).energies()
    return float(sum(parts))


def test_random_trees_rest_where_their_energy_is_least_nearby() -> None:
    rng, rested = np.random.default_rng(2), 0
    for case in cases(20, seed=21, largest=6):
        model = started(case.mechanism, case.q)
        try:
            q = pl.equilibrium(model)
        except pl.SolverError:
            continue  # random second-order shapes may shorten a body faster than it stiffens
        rested += 1
        nu, mechanism = model.u_size, model.mechanism
        lowest = potential(mechanism, q, nu)
        assert lowest < potential(mechanism, case.q, nu)
        for _ in range(5):
            beside = displaced(model, q, 1e-3 * rng.normal(size=nu))
            assert potential(mechanism, beside, nu) > lowest, mechanism.name
        at_start = Reference(mechanism, case.q, np.zeros(nu)).accelerations()
        at_rest = Reference(mechanism, q, np.zeros(nu)).accelerations()
        assert np.abs(at_rest).max() < 1e-9 * np.abs(at_start).max(), mechanism.name
    assert rested >= 18


def test_random_closed_systems_rest_without_accelerations() -> None:
    rested = 0
    for case in closed_cases(30, seed=4):
        if any(loop.joint.prescribed for loop in case.mechanism.loops):
            continue  # in motion at t = 0
        rested += 1
        model = started(case.mechanism, case.q)
        q, nothing = pl.equilibrium(model), np.zeros(model.u_size)
        at_start = ClosedReference(model.mechanism, case.q, nothing).solution().udot
        reference = ClosedReference(model.mechanism, q, nothing)
        limit = 1e-8 * max(float(np.abs(at_start).max()), 1.0)
        assert np.abs(reference.solution().udot).max() < limit, model.name
        assert all(np.abs(tie.gap).max(initial=0.0) < 1e-11 for tie in reference.ties())
    assert rested >= 15
