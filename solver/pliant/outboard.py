"""What every node carries: the inertia that bodies outboard make it feel, at the start position.

The bodies are taken rigid. From the leaves inward, per body, about its head and in head axes::

    M   = own inertia + sum_nodes N^T A N                                                    (1)
    Ma  = M eliminated by the free directions of the joint that yield                        (2)
    A   += Y^T Ma Y   at the parent's node                                                   (3)

A (6 x 6) is what a node feels, N takes the motion of the head to the node and Y that of the
parent's node to the child's head (articulated).

What a joint transmits depends on what is done to its freedoms, so there are four such inertias:

``held``    a freedom yields if nothing in the model acts on it: no spring, friction, stop or load,
            and no prescribed motion
``locked``  no freedom yields, as every joint may be locked in a run, or driven by a controller;
            only spherical and free joints, which have no motor, are as in ``held``
``loose``   all freedoms yield but those with a prescribed motion
``welded``  as ``locked``, of the bodies alone

Whatever ties a node to something outside the tree is felt in the first two like a body that does
not move, in the directions in which it acts: a loop in those that it holds, a force (also that of a
contact) along all axes, a torque about all of them, an ``interface`` in all six. It counts as
``_HEAVY`` times the mass of the model.

Cost: O(bodies), four times.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.articulated import (
    from_parent,
    locked_inertia,
    skew,
    spin_axes,
    start_turn,
    wheel_inertia,
)
from pliant.carried import Carried
from pliant.reduced import Array

if TYPE_CHECKING:
    from pliant.mechanism import Mechanism, TreeBody, TreeJoint, TreeLoop

_STATES = ("held", "locked", "loose", "welded")
_HEAVY = 1e6
_MASSLESS = 1e-13  # of the inertia there: a freedom that moves nothing has nothing to yield


def carried_by_nodes(
    rigid: Mechanism, interfaces: Mapping[str, Collection[str]]
) -> dict[str, tuple[Carried, ...]]:
    """What the nodes of every body carry; those that carry nothing are left out.

    ``rigid`` is a mechanism of bodies without modes, ``interfaces`` are nodes by body.
    """
    held, locked, loose, welded = (_felt_at_nodes(rigid, interfaces, state) for state in _STATES)
    nothing = np.zeros((6, 6))
    return {
        body.name: tuple(
            Carried(
                position=body.reduced.nodes[node].position,
                held=inertia,
                locked=locked[i][node],
                loose=loose[i].get(node, nothing),
                welded=welded[i].get(node, nothing),
            )
            for node, inertia in held[i].items()
        )
        for i, body in enumerate(rigid.bodies)
    }


def _felt_at_nodes(
    rigid: Mechanism, interfaces: Mapping[str, Collection[str]], state: str
) -> list[dict[str, Array]]:
    """(6, 6) inertia about each node that carries something, head axes, for every body."""
    bodies = rigid.bodies
    felt: list[dict[str, Array]] = [{} for _ in bodies]
    driven = driven_joints(rigid)
    if state in ("held", "locked"):
        for hold in _holds(rigid, interfaces, driven):
            _add(felt[hold.body], hold.node, hold.inertia)
    for i in reversed(range(len(bodies))):
        body = bodies[i]
        if body.parent < 0:
            continue
        M = locked_inertia(body.reduced) - wheel_inertia(body)
        for node, A in felt[i].items():
            N = _to_point(body.reduced.nodes[node].position)
            M += N.T @ A @ N  # (1)
        for direction in _yielding(body.joint, _yields(body.joint, driven, state)):
            _eliminate(M, direction)  # (2)
        parent = bodies[body.parent].reduced
        to_head = _to_point(-parent.nodes[body.parent_node].position)
        Y = from_parent(parent, body, start_turn(body.joint)) @ to_head
        _add(felt[body.parent], body.parent_node, Y.T @ M @ Y)  # (3)
    return felt


def _add(felt: dict[str, Array], node: str, inertia: Array) -> None:
    felt[node] = felt.get(node, np.zeros((6, 6))) + inertia


def _to_point(r: Array) -> Array:
    """N: motion at the origin to motion at r."""
    N = np.eye(6)
    N[:3, 3:] = -skew(r)
    return N


# ------------------------------------------------------------------------------------- joints


def driven_joints(mechanism: Mechanism) -> set[str]:
    """Joints and loops that a load drives."""
    return {load.element for load in mechanism.loads if load.kind == "joint"}


def passive_freedoms(joint: TreeJoint, driven: Collection[str]) -> Array:
    """(nd,) whether nothing acts on a freedom."""
    free = (joint.stiffness == 0) & (joint.viscous == 0) & (joint.coulomb == 0)
    free &= np.isinf(joint.stop_lower) & np.isinf(joint.stop_upper)
    return np.asarray(free & (not joint.prescribed) & (joint.name not in driven))


def _yields(joint: TreeJoint, driven: Collection[str], state: str) -> Array:
    """(nd,) whether a freedom yields."""
    if joint.prescribed:
        return np.zeros(joint.dof_count, bool)
    if state == "held" or (state != "loose" and joint.quaternion):
        return passive_freedoms(joint, driven)
    return np.full(joint.dof_count, state == "loose")


def _yielding(joint: TreeJoint, yields: Array) -> Iterator[Array]:
    """Directions of the child's head, child axes, in which the joint yields."""
    R, nothing = start_turn(joint), np.zeros(3)
    slides = [np.concatenate([axis, nothing]) for axis in joint.translations @ R]
    turns = [np.concatenate([nothing, axis]) for axis in spin_axes(joint)]
    for direction, does in zip([*slides, *turns], yields, strict=True):
        if does:
            yield direction


def _eliminate(M: Array, direction: Array) -> None:
    column = M @ direction
    pivot, scale = direction @ column, np.diag(M) @ direction**2
    if pivot > _MASSLESS * scale:
        M -= np.outer(column, column) / pivot


# -------------------------------------------------------------------- what acts from elsewhere


class _Hold(NamedTuple):
    body: int
    node: str
    inertia: Array  # (6, 6) about the node, head axes


def _holds(
    rigid: Mechanism, interfaces: Mapping[str, Collection[str]], driven: Collection[str]
) -> Iterator[_Hold]:
    mass = _HEAVY * sum(body.reduced.mass for body in rigid.bodies)
    moment = mass * _extent(rigid) ** 2
    along = np.diag([mass] * 3 + [0.0] * 3)
    about = np.diag([0.0] * 3 + [moment] * 3)
    orientation = _orientations(rigid.bodies)
    for loop in rigid.loops:
        yield from _loop_holds(loop, rigid, orientation, driven, (mass, moment))
    for load in rigid.loads:
        if load.kind == "node":
            force, torque = load.values[:, :3].any(), load.values[:, 3:].any()
            yield _Hold(load.body, load.element, force * along + torque * about)
    for i, body in enumerate(rigid.bodies):
        for name, node in body.reduced.nodes.items():
            if name in interfaces.get(body.name, ()):
                yield _Hold(i, name, along + about)
            elif node.contact:
                yield _Hold(i, name, along)


def _extent(mechanism: Mechanism) -> float:
    """The largest distance of a mass point or node from the head of its body, m."""
    reaches = [
        np.linalg.norm(place)
        for body in mechanism.bodies
        for place in (
            *body.reduced.point_position,
            *(node.position for node in body.reduced.nodes.values()),
        )
    ]
    return float(max(reaches))


def _orientations(bodies: tuple[TreeBody, ...]) -> list[Array]:
    """R_WB of every body at the start."""
    orientation: list[Array] = []
    for body in bodies:
        R_PN = np.eye(3)
        R_WP = np.eye(3)
        if body.parent >= 0:
            R_PN = bodies[body.parent].reduced.nodes[body.parent_node].rotation
            R_WP = orientation[body.parent]
        orientation.append(R_WP @ R_PN @ body.joint.rotation @ start_turn(body.joint))
    return orientation


def _loop_holds(
    loop: TreeLoop,
    rigid: Mechanism,
    orientation: list[Array],
    driven: Collection[str],
    size: tuple[float, float],
) -> Iterator[_Hold]:
    """Both ends of a loop, held in all directions but those in which its joint yields."""
    joint, bodies = loop.joint, rigid.bodies
    ends = [(loop.parent, loop.parent_node), (loop.child, loop.child_node)]
    R_WN = [
        np.eye(3) if body < 0 else orientation[body] @ bodies[body].reduced.nodes[node].rotation
        for body, node in ends
    ]
    R_WJ = R_WN[0] @ joint.rotation
    slides = joint.translations @ R_WJ.T
    # the first axis of rotation is fixed in the joint frame, the last one in the child's node
    if joint.quaternion or len(joint.rotations) == 3:
        turns = np.eye(3)
    else:
        frames = [R_WJ, R_WN[1]]
        turns = np.array([R @ axis for R, axis in zip(frames, joint.rotations, strict=False)])
    yields = passive_freedoms(joint, driven)
    count = len(slides)
    along = size[0] * _across(slides[yields[:count]])
    about = size[1] * _across(turns.reshape(-1, 3)[yields[count:]])
    for body, node in ends:
        if body >= 0:
            R = orientation[body]
            inertia = np.zeros((6, 6))
            inertia[:3, :3], inertia[3:, 3:] = R.T @ along @ R, R.T @ about @ R
            yield _Hold(body, node, inertia)


def _across(axes: Array) -> Array:
    """The projection on what is at right angles to all axes."""
    return np.asarray(np.eye(3) - np.linalg.pinv(axes) @ axes) if len(axes) else np.eye(3)
