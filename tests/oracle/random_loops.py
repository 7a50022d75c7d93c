"""Seeded random mechanisms with loops, closed at their state, for comparing formulations.

>>> from oracle.random_loops import closed_cases
>>> for mechanism, q, u, tau, wrenches, loop_efforts in closed_cases(3, seed=1):
...     assert mechanism.loops

Trees and forests of ``random_mechanisms`` get one to three loops: of every joint type, between
any two nodes or against the ground, on rigid and flexible bodies, some with springs, friction and
stops, some prescribed. The loops' joint frames are put where the loops close, and the speeds
changed by what would open them.

Some loops are redundant: doubled ones, those that leave no freedom, and those of planar
mechanisms, where a revolute loop takes two freedoms though it holds five directions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from oracle.random_mechanisms import TYPES, random_case, random_joint, rigid_part, with_efforts
from oracle.reference_files import breadth_first, plain_joint
from pliant.mechanism import Mechanism, TreeBody, TreeJoint, TreeLoop
from pliant.motion import Motion
from pliant.reference import Reference, exponential, quaternion_matrix
from pliant.reference_loops import ClosedReference


class ClosedCase(NamedTuple):
    """As ``RandomCase``, with efforts along the free directions of loops by name."""

    mechanism: Mechanism
    q: np.ndarray
    u: np.ndarray
    tau: np.ndarray
    wrenches: dict[str, tuple[np.ndarray, np.ndarray]]
    loop_efforts: dict[str, np.ndarray]


def closed_cases(count: int, seed: int = 0, first: int = 0) -> Iterator[ClosedCase]:
    """Cases number ``first`` and following; a case depends on its number and the seed alone."""
    for number in range(first, first + count):
        rng = np.random.default_rng((seed, number, 1))
        make = planar_case if number % 7 == 6 else spatial_case
        yield make(rng, f"closed{seed}_{number}", number)


def spatial_case(rng: np.random.Generator, name: str, number: int) -> ClosedCase:
    tree = random_case(rng, name, number, int(rng.integers(2, 9)), True, False)
    while len(tree.mechanism.bodies) == 1:  # a loop needs two ends, not always the ground
        tree = random_case(rng, name, number, 8, True, False)
    bodies = tree.mechanism.bodies
    loops: list[TreeLoop] = []
    for i in range(int(rng.choice([1, 1, 2, 3]))):
        kind = TYPES[(number + 4 * i) % len(TYPES)]
        child, parent = (int(b) for b in rng.choice(len(bodies), 2, replace=False))
        parent = -1 if rng.random() < 0.25 else parent
        ends = [str(rng.choice(list(bodies[b].reduced.nodes))) for b in (parent, child)]
        joint, coordinates = random_joint(rng, f"loop{i}", kind)
        joint = loop_joint(rng, joint, coordinates)
        if number % 4 == 1 and i == 0:
            joint = prescribed(rng, joint, coordinates)
        loop = TreeLoop(parent, ends[0], child, ends[1], joint)
        loops.append(closed(tree.mechanism, tree.q, loop, coordinates))
    if number % 5 == 4:
        loops.append(replace(loops[0], joint=replace(loops[0].joint, name="twin")))
    mechanism = replace(tree.mechanism, loops=tuple(loops))
    u = closing_speeds(mechanism, tree.q, tree.u)
    ties = ClosedReference(mechanism, tree.q, u).ties()
    if max(float(np.abs(tie.rate).max(initial=0.0)) for tie in ties) > 1e-9:
        # the other loops do not let the prescribed one move
        mechanism = replace(mechanism, loops=tuple(_released(loop) for loop in loops))
        u = closing_speeds(mechanism, tree.q, tree.u)
    return ClosedCase(mechanism, tree.q, u, tree.tau, tree.wrenches, efforts(rng, mechanism))


def _released(loop: TreeLoop) -> TreeLoop:
    return replace(loop, joint=replace(loop.joint, prescribed=False, motion=None))


def planar_case(rng: np.random.Generator, name: str, _: int) -> ClosedCase:
    """Rigid bodies of any shape on parallel axes, and revolute loops about such axes."""
    axis, count = rng.normal(size=3), int(rng.integers(3, 9))
    axis /= np.linalg.norm(axis)
    parents = [int(rng.integers(-1, i)) if i else -1 for i in range(count)]
    order = breadth_first(parents)
    bodies: list[TreeBody] = []
    for new, old in enumerate(order):
        joint = plain_joint(
            f"j{new}", "revolute", rotations=[axis], position=0.4 * rng.normal(size=3)
        )
        part = rigid_part(rng)
        nodes = {k: replace(node, rotation=np.eye(3)) for k, node in part.nodes.items()}
        parent = order.index(parents[old]) if parents[old] >= 0 else -1
        bodies.append(TreeBody(f"b{new}", parent, "n1", joint, replace(part, nodes=nodes)))
    mechanism, q = Mechanism(name, 9.81 * rng.normal(size=3), tuple(bodies)), rng.normal(size=count)
    loops = []
    for i in range((count - 1) // 2):
        child, parent = (int(b) for b in rng.choice(count, 2, replace=False))
        joint = plain_joint(f"loop{i}", "revolute", rotations=[axis])
        loop = TreeLoop(-1 if rng.random() < 0.3 else parent, "n2", child, "n2", joint)
        loops.append(closed(mechanism, q, loop, rng.normal(size=1)))
    mechanism = replace(mechanism, loops=tuple(loops))
    u = closing_speeds(mechanism, q, rng.normal(size=count))
    return ClosedCase(mechanism, q, u, 3 * rng.normal(size=count), {}, efforts(rng, mechanism))


def loop_joint(rng: np.random.Generator, joint: TreeJoint, coordinates: np.ndarray) -> TreeJoint:
    """Translations at right angles, as a loop must have them; springs, friction and stops on
    half of the joints that may have them."""
    if len(joint.translations):
        _, _, vectors = np.linalg.svd(joint.translations)
        joint = replace(joint, translations=vectors[: len(joint.translations)])
        if joint.type == "cylindrical":
            joint = replace(joint, rotations=joint.translations)
    if len(joint.rotations) == 3 or not len(joint.speed) or rng.random() < 0.5:
        return joint
    if len(joint.rotations) == 2:
        e1, e2 = joint.rotations
        e2 = e2 - e1 * (e1 @ e2)
        joint = replace(joint, rotations=np.array([e1, e2 / np.linalg.norm(e2)]))
    return with_efforts(rng, joint, coordinates)


def closed(
    mechanism: Mechanism, q: np.ndarray, loop: TreeLoop, coordinates: np.ndarray
) -> TreeLoop:
    """The loop with its joint frame where it closes, at the given coordinates of its joint."""
    joint, nt = loop.joint, len(loop.joint.translations)
    r_a, R_a = pose(mechanism, q, loop.parent, loop.parent_node)
    r_b, R_b = pose(mechanism, q, loop.child, loop.child_node)
    Q = np.eye(3)
    for axis, angle in zip(joint.rotations, coordinates[nt:], strict=False):
        Q = Q @ exponential(axis * angle, np.zeros(3))[0]
    if joint.quaternion:
        Q = quaternion_matrix(coordinates[nt:])
    R_aA = R_a.T @ R_b @ Q.T
    position = R_a.T @ (r_b - r_a) - R_aA @ joint.translations.T @ coordinates[:nt]
    return replace(loop, joint=replace(joint, position=position, rotation=R_aA))


def pose(
    mechanism: Mechanism, q: np.ndarray, body: int, node: str
) -> tuple[np.ndarray, np.ndarray]:
    """Position and axes of a node; of the world for body -1."""
    if body < 0:
        return np.zeros(3), np.eye(3)
    rest = no_speeds(mechanism)
    state = Reference(mechanism, q, rest).node(f"{mechanism.bodies[body].name}.{node}", rest)
    return state.r, state.R


def no_speeds(mechanism: Mechanism) -> np.ndarray:
    sizes = [len(b.joint.speed) + b.reduced.mode_count + len(b.wheels) for b in mechanism.bodies]
    return np.zeros(sum(sizes))


def prescribed(rng: np.random.Generator, joint: TreeJoint, coordinates: np.ndarray) -> TreeJoint:
    """The joint with all its directions prescribed, from the coordinates on; as it is if it
    cannot be."""
    nd = len(joint.speed)
    if nd == 0 or joint.quaternion or len(joint.rotations) > 1:
        return joint
    ends = [coordinates, coordinates + rng.normal(size=nd)]
    rate, acceleration = rng.normal(size=(2, 2, nd))
    motion = Motion(times=[0, 1], position=ends, rate=rate, acceleration=acceleration)
    plain = plain_joint(joint.name, joint.type, joint.translations, joint.rotations)
    return replace(plain, prescribed=True, motion=motion.curve(nd))


def closing_speeds(mechanism: Mechanism, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The speeds nearest to u at which no loop opens."""
    reference = ClosedReference(mechanism, q, u)
    rate = np.concatenate([tie.rate for tie in reference.ties()])
    return u - np.linalg.lstsq(reference.loop_jacobian(), rate, rcond=1e-10)[0]


def efforts(rng: np.random.Generator, mechanism: Mechanism) -> dict[str, np.ndarray]:
    return {
        loop.joint.name: 3 * rng.normal(size=len(loop.joint.speed))
        for loop in mechanism.loops
        if len(loop.joint.speed) and not loop.joint.prescribed
    }
