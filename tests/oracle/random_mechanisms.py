"""Seeded random mechanisms with states and loads, for comparing formulations.

>>> from oracle.random_mechanisms import cases
>>> for mechanism, q, u, tau, wrenches in cases(3, seed=1):
...     assert len(tau) == len(u)

Together the cases hold every joint type (general ones with axes at any angle), zero to eight
modes a body, second-order fields on some pairs, both models of point inertia, turned nodes,
wheels, springs, friction, stops (entered and not), several roots, and chains of up to 30 bodies.
Masses and lengths are alike throughout, so that the mass matrices are well conditioned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from oracle.reference_files import breadth_first, plain_joint
from pliant.body import Body
from pliant.joint import Joint
from pliant.mechanism import Mechanism, TreeBody, TreeJoint, TreeWheel
from pliant.reduced import ReducedBody, ReducedNode, head_node, rigid_body, rigid_node
from pliant.system import System

INERTIA_MODELS = (*["exact"] * 4, *["second_order"] * 3, "linear")
TYPES = (
    "fixed",
    "revolute",
    "prismatic",
    "cylindrical",
    "universal",
    "planar",
    "spherical",
    "free",
    "general",
)


class RandomCase(NamedTuple):
    """A mechanism, a state of it, efforts (nu,) and loads {"body.node": (force, torque)}."""

    mechanism: Mechanism
    q: np.ndarray
    u: np.ndarray
    tau: np.ndarray
    wrenches: dict[str, tuple[np.ndarray, np.ndarray]]


def cases(
    count: int,
    seed: int = 0,
    first: int = 0,
    largest: int = 30,
    passive: bool = True,
    prescribed: bool = False,
) -> Iterator[RandomCase]:
    """Cases number ``first`` and following, of at most ``largest`` bodies.

    A case depends on its number, the seed and the options alone, not on ``count``. Without
    ``passive`` joints have no springs, friction or stops; with ``prescribed`` some joints are
    moved by a callable.
    """
    for number in range(first, first + count):
        rng = np.random.default_rng((seed, number))
        yield random_case(rng, f"random{seed}_{number}", number, largest, passive, prescribed)


def random_case(
    rng: np.random.Generator,
    name: str,
    number: int,
    largest: int,
    passive: bool,
    prescribed: bool,
) -> RandomCase:
    # Of five cases one is a chain, one a bush of rigid bodies, one a forest, two are trees.
    shape = ("tree", "chain", "rigid", "forest", "tree")[number % 5]
    bodies = int(rng.integers(1, min(largest, 8) + 1))
    if shape == "chain" and largest > 8 and number % 2:
        bodies = int(rng.integers(min(largest, 20), largest + 1))
    parents = [_parent(rng, shape, i) for i in range(bodies)]
    order = breadth_first(parents)
    place = {old: new for new, old in enumerate(order)}
    # A run through all types from a random one on: no type is left to chance.
    first = int(rng.integers(1 if bodies == 1 else 0, len(TYPES)))  # never without any dof
    tree: list[TreeBody] = []
    q: list[np.ndarray] = []
    u: list[np.ndarray] = []
    for new, old in enumerate(order):
        joint, coordinates = random_joint(rng, f"j{new}", TYPES[(first + new) % len(TYPES)])
        nd = len(joint.speed)
        if passive and rng.random() < 0.5:
            joint = with_efforts(rng, joint, coordinates)
        if prescribed and nd and not joint.quaternion and rng.random() < 0.3:
            joint = replace(joint, prescribed=True, motion=_Motion(rng, nd))
        modes = 0 if shape == "rigid" or rng.random() < 0.25 else int(rng.integers(1, 9))
        part = flexible_part(rng, modes) if modes else rigid_part(rng)
        (aside,) = rng.spawn(1)
        if not modes and aside.random() < 0.3:
            part = flexible_part(aside, 0)  # several points without modes
        parent = place.get(parents[old], -1)
        nodes = list(tree[parent].reduced.nodes) if parent >= 0 else ["head"]
        node = str(rng.choice(nodes))
        wheels = tuple(_wheel(rng, f"w{i}", part) for i in range(_few(rng)))
        tree.append(TreeBody(f"b{new}", parent, node, joint, part, wheels))
        q += [coordinates, _modal_coordinates(rng, part)]
        u += [rng.normal(size=nd), rng.normal(size=modes), 10.0 * rng.normal(size=len(wheels))]
    mechanism = Mechanism(name, 9.81 * _unit(rng), tuple(tree), ())
    speeds = np.concatenate(u)
    wrenches = {}
    for _ in range(_few(rng) + 1):
        body = tree[int(rng.integers(len(tree)))]
        node = str(rng.choice(list(body.reduced.nodes)))
        wrenches[f"{body.name}.{node}"] = (5 * rng.normal(size=3), 2 * rng.normal(size=3))
    return RandomCase(mechanism, np.concatenate(q), speeds, _tau(rng, mechanism), wrenches)


def _parent(rng: np.random.Generator, shape: str, i: int) -> int:
    if i == 0 or (shape == "forest" and rng.random() < 0.4):
        return -1
    return i - 1 if shape == "chain" else int(rng.integers(i))


def _few(rng: np.random.Generator) -> int:
    return int(rng.choice([0, 0, 0, 1, 2]))


def _tau(rng: np.random.Generator, mechanism: Mechanism) -> np.ndarray:
    """Efforts of joints and wheels; modes have no actuators."""
    parts = []
    for body in mechanism.bodies:
        parts.append(3.0 * rng.normal(size=len(body.joint.speed)))
        parts.append(np.zeros(body.reduced.mode_count))
        parts.append(rng.normal(size=len(body.wheels)))
    return np.concatenate(parts)


# ------------------------------------------------------------------------------- geometry


def _unit(rng: np.random.Generator, size: int = 3) -> np.ndarray:
    vector = rng.normal(size=size)
    return vector / np.linalg.norm(vector)


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q * np.linalg.det(Q)


def _inertia(rng: np.random.Generator, scale: float) -> np.ndarray:
    """tr(P) 1 - P of a positive definite P: what some distribution of mass has."""
    A = rng.normal(size=(3, 3))
    P = scale * (A @ A.T / 3.0 + 0.2 * np.eye(3))
    return np.trace(P) * np.eye(3) - P


def _axes(rng: np.random.Generator, count: int) -> np.ndarray:
    """Unit rows well away from being dependent, at no particular angles."""
    while True:
        rows = np.array([_unit(rng) for _ in range(count)]).reshape(-1, 3)
        if count == 0 or np.linalg.svd(rows, compute_uv=False)[-1] > 0.4:
            return rows


# --------------------------------------------------------------------------------- joints


def random_joint(rng: np.random.Generator, name: str, kind: str) -> tuple[TreeJoint, np.ndarray]:
    """A joint without springs and friction, and coordinates of it."""
    translations, rotations = np.zeros((0, 3)), np.zeros((0, 3))
    quaternion = kind in ("spherical", "free")
    if kind == "revolute":
        rotations = _axes(rng, 1)
    elif kind == "prismatic":
        translations = _axes(rng, 1)
    elif kind == "cylindrical":
        translations = rotations = _axes(rng, 1)
    elif kind == "universal":
        rotations = _axes(rng, 2)
    elif kind == "planar":
        translations = np.roll(np.eye(3), int(rng.integers(3)), 0)[:2]
        rotations = np.cross(*translations)[None]
    elif kind == "free":
        translations = np.eye(3)
    elif kind == "general":
        translations = _axes(rng, int(rng.integers(4)))
        rotations = _axes(rng, int(rng.integers(0 if len(translations) else 1, 4)))
    joint = plain_joint(
        name,
        kind,
        translations,
        rotations,
        quaternion,
        position=0.4 * rng.normal(size=3),
        rotation=random_rotation(rng),
    )
    while True:
        slides, turns = 0.5 * rng.normal(size=len(translations)), rng.normal(size=len(rotations))
        if _far_from_gimbal_lock(rotations, turns):
            break
    ball = _unit(rng, 4) if quaternion else np.zeros(0)
    joint = replace(joint, start=np.concatenate([slides, turns, ball]))
    return joint, joint.start.copy()


def _far_from_gimbal_lock(axes: np.ndarray, angles: np.ndarray) -> bool:
    R, columns = np.eye(3), []
    for axis, angle in zip(axes, angles, strict=True):
        columns.append(R @ axis)
        X = np.cross(axis, np.eye(3)).T
        R = R @ (np.eye(3) + np.sin(angle) * X + (1 - np.cos(angle)) * X @ X)
    return not columns or bool(np.linalg.svd(np.array(columns), compute_uv=False)[-1] > 0.3)


def with_efforts(rng: np.random.Generator, joint: TreeJoint, x: np.ndarray) -> TreeJoint:
    """Spring and friction on every dof; on coordinates that have them, stops that are entered
    from below, from above or not at all."""
    nd = len(joint.speed)
    joint = replace(
        joint,
        stiffness=rng.uniform(5.0, 20.0, nd),
        rest=rng.normal(size=nd) * 0.3,
        viscous=rng.uniform(0.1, 1.0, nd),
        coulomb=rng.uniform(0.1, 1.0, nd),
        transition_speed=np.full(nd, rng.choice([1e-3, 0.1, 1.0])),
    )
    if joint.quaternion:  # its spring is the same about all axes, without rest or stops
        stiffness, rest = joint.stiffness.copy(), joint.rest.copy()
        stiffness[-3:], rest[-3:] = stiffness[-1], 0.0
        return replace(joint, stiffness=stiffness, rest=rest)
    lower, upper = x - rng.uniform(0.1, 1.0, nd), x + rng.uniform(0.1, 1.0, nd)
    entered = rng.integers(3, size=nd)
    lower[entered == 1], upper[entered == 1] = x[entered == 1] + 0.1, x[entered == 1] + 1.0
    upper[entered == 2], lower[entered == 2] = x[entered == 2] - 0.1, x[entered == 2] - 1.0
    return replace(
        joint,
        stop_lower=lower,
        stop_upper=upper,
        stop_stiffness=rng.uniform(20.0, 50.0, nd),
        stop_damping=rng.uniform(0.5, 5.0, nd),
    )


class _Motion:
    """Prescribed motion a + b t + c t^2 / 2 of each dof."""

    def __init__(self, rng: np.random.Generator, nd: int) -> None:
        self.a, self.b, self.c = rng.normal(size=(3, nd))

    def __call__(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.a + self.b * t + self.c * t * t / 2, self.b + self.c * t, self.c


# --------------------------------------------------------------------------------- bodies


def _wheel(rng: np.random.Generator, name: str, part: ReducedBody) -> TreeWheel:
    node = str(rng.choice(list(part.nodes)))
    # Locked, the wheel is part of the body: its spin inertia must be less than the body's.
    return TreeWheel(name, node, _unit(rng), float(rng.uniform(0.002, 0.01)), 0.0)


def rigid_part(rng: np.random.Generator) -> ReducedBody:
    nodes = {f"n{i}": rigid_node(0.5 * rng.normal(size=3), random_rotation(rng)) for i in (1, 2)}
    mass = float(rng.uniform(0.5, 3.0))
    return rigid_body(mass, 0.3 * rng.normal(size=3), _inertia(rng, 0.2 * mass), nodes)


def flexible_part(rng: np.random.Generator, n: int) -> ReducedBody:
    """Points and nodes with random shapes; every third body has second-order fields, and one in
    three of those has a last one that moves nodes only. Half have exact inertias, a few linear."""
    k = int(rng.integers(3, 6))
    pairs = np.zeros((0, 2), np.int64)
    if rng.random() < 0.35:
        every = [(i, j) for i in range(n) for j in range(i, n)]
        kept = rng.random(len(every)) < (1.0 if n < 3 else 0.3)
        pairs = np.array([p for p, keep in zip(every, kept, strict=True) if keep], np.int64)
        pairs = pairs.reshape(-1, 2)
    p = len(pairs)
    mass = rng.uniform(0.3, 1.0, k)
    inertia = np.array([_inertia(rng, 0.1 * m) for m in mass])
    if rng.random() < 0.3:
        inertia[0] = 0.0  # a bare mass point
    A = rng.normal(size=(n, n))
    stiffness = 50.0 * (A @ A.T / max(n, 1) + np.eye(n))
    nodes = {"head": head_node(n, p)}
    for i in (1, 2):
        nodes[f"n{i}"] = ReducedNode(
            0.5 * rng.normal(size=3),
            random_rotation(rng),
            0.4 * rng.normal(size=(3, n)),
            0.6 * rng.normal(size=(3, n)),
            0.3 * rng.normal(size=(3, p)),
        )
    part = ReducedBody(
        point_position=0.5 * rng.normal(size=(k, 3)),
        point_mass=mass,
        point_inertia=inertia,
        point_phi=0.6 * rng.normal(size=(k, 3, n)),
        point_psi=0.6 * rng.normal(size=(k, 3, n)),
        point_phi2=0.3 * rng.normal(size=(k, 3, p)),
        stiffness=stiffness,
        damping=0.02 * stiffness,
        pairs=pairs,
        nodes=nodes,
        inertia_model=INERTIA_MODELS[int(8 * rng.random())],
    )
    if rng.spawn(1)[0].random() < 0.3:
        part.point_phi2[:, :, -1:] = 0.0
    return part


def _modal_coordinates(rng: np.random.Generator, part: ReducedBody) -> np.ndarray:
    """Random, with the largest node rotation between 0.05 and 0.6 rad; sometimes zero."""
    n = part.mode_count
    if n == 0 or rng.random() < 0.05:
        return np.zeros(n)
    eta = rng.normal(size=n)
    turn = max(float(np.linalg.norm(node.psi @ eta)) for node in part.nodes.values())
    return eta * (rng.uniform(0.05, 0.6) / turn)


# --------------------------------------------------------------------- as an author's system


def system_of(mechanism: Mechanism) -> System:
    """The system an author would write for a random mechanism; `resolve` leads back to it."""
    bodies = {body.name: _author_body(body) for body in mechanism.bodies}
    joints = {body.joint.name: _author_joint(mechanism, body) for body in mechanism.bodies}
    return System(name=mechanism.name, gravity=mechanism.gravity, bodies=bodies, joints=joints)


def _author_body(body: TreeBody) -> Body:
    part, n = body.reduced, body.reduced.mode_count
    wheels = {
        w.name: {"axis": w.axis, "inertia": w.inertia, "node": w.node, "speed": w.speed}
        for w in body.wheels
    }
    named = {name: node for name, node in part.nodes.items() if name != "head"}
    nodes = {name: {"at": node.position, "rotation": node.rotation} for name, node in named.items()}
    if not n and len(part.point_mass) == 1:
        return Body(
            mass=part.mass,
            com=part.point_position[0],
            inertia=part.point_inertia[0],
            nodes=nodes,
            wheels=wheels,
        )

    def second_order(columns: np.ndarray) -> np.ndarray:
        phi2 = np.zeros((3, n, n))
        for (i, j), column in zip(part.pairs, columns.T, strict=True):
            phi2[:, i, j] = phi2[:, j, i] = column
        return phi2

    points = [
        {
            "at": part.point_position[k],
            "mass": mass,
            "inertia": part.point_inertia[k],
            "phi": part.point_phi[k],
            "psi": part.point_psi[k],
            "phi2": second_order(part.point_phi2[k]),
        }
        for k, mass in enumerate(part.point_mass)
    ]
    shapes = {
        name: {
            "at": node.position,
            "phi": node.phi,
            "psi": node.psi,
            "phi2": second_order(node.phi2),
        }
        for name, node in named.items()
    }
    modal = {
        "points": points,
        "K": part.stiffness,
        "D": part.damping,
        "nodes": shapes,
        "inertia": part.inertia_model,
    }
    return Body(modal=modal, nodes=nodes, wheels=wheels)


def _author_joint(mechanism: Mechanism, body: TreeBody) -> Joint:
    joint, given = body.joint, {}
    if joint.type == "universal":
        given["axes"] = list(joint.rotations)
    elif joint.type == "general":
        given["translations"] = list(joint.translations)
        given["rotations"] = list(joint.rotations)
    elif joint.type in ("revolute", "planar"):
        given["axis"] = joint.rotations[0]
    elif joint.type in ("prismatic", "cylindrical"):
        given["axis"] = joint.translations[0]
    if joint.stiffness.any():
        given["spring"] = {"stiffness": joint.stiffness, "rest": joint.rest}
        given["friction"] = {
            "viscous": joint.viscous,
            "coulomb": joint.coulomb,
            "transition_speed": joint.transition_speed[0],
        }
    if joint.stop_stiffness.any():
        given["stops"] = {
            "lower": joint.stop_lower,
            "upper": joint.stop_upper,
            "stiffness": joint.stop_stiffness,
            "damping": joint.stop_damping,
        }
    if joint.motion is not None:
        given["motion"] = joint.motion
    elif len(joint.start):
        given["start"], given["speed"] = joint.start, joint.speed
    parent = "ground"
    if body.parent >= 0:
        parent = f"{mechanism.bodies[body.parent].name}.{body.parent_node}"
    return Joint(
        type=joint.type,
        parent=parent,
        child=body.name,
        at=joint.position,
        rotation=joint.rotation,
        **given,
    )
