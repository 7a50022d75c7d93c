"""Inertia of bodies and the geometry that carries it inward, at the start position.

What hangs on a joint is felt through it: the inertia of a body, its own and that of all outboard,
less what the free directions of its joints let yield. From the leaves inward, per body::

    M   = own inertia  +  sum_children Y^T Ma Y                                             (1)
    Ma  = M - (M d)(M d)^T / (d^T M d)  for every direction d that yields                   (2)

``Y`` takes the acceleration of the parent's head (and of its modes) to the child's head. Spatial
vectors are [linear; angular], everything of a body is about its head and in head axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.fields import axis_rotation, quaternion_matrix
from pliant.reduced import Array, ReducedBody

if TYPE_CHECKING:
    from pliant.mechanism import TreeBody, TreeJoint


def locked_inertia(reduced: ReducedBody) -> Array:
    """(6 + n, 6 + n) inertia of a body, its head and modes, with its wheels locked."""
    Jv, Jw = _jacobians(reduced)
    M = np.einsum("k,kia,kib->ab", reduced.point_mass, Jv, Jv, optimize=True)
    M += np.einsum("kia,kij,kjb->ab", Jw, reduced.point_inertia, Jw, optimize=True)
    return np.asarray(M)


def wheel_inertia(body: TreeBody) -> Array:
    """The part of ``locked_inertia`` that free wheels leave behind: that of their spin."""
    M = np.zeros((6 + body.reduced.mode_count,) * 2)
    for wheel in body.wheels:
        node = body.reduced.nodes[wheel.node]
        axis = node.rotation @ wheel.axis
        row = np.concatenate([np.zeros(3), axis, axis @ node.psi])
        M += wheel.inertia * np.outer(row, row)
    return M


def _jacobians(reduced: ReducedBody) -> tuple[Array, Array]:
    """(k, 3, 6 + n) Jacobians of the undeformed mass points."""
    k = len(reduced.point_mass)
    eye, zero = np.broadcast_to(np.eye(3), (k, 3, 3)), np.zeros((k, 3, 3))
    lever = np.array([skew(x) for x in reduced.point_position]).reshape(k, 3, 3)
    return (
        np.concatenate([eye, -lever, reduced.point_phi], axis=2),
        np.concatenate([zero, eye, reduced.point_psi], axis=2),
    )


def start_turn(joint: TreeJoint) -> Array:
    """R_j: child axes in the joint frame, at the start position."""
    if joint.quaternion:
        return quaternion_matrix(joint.start[-4:])
    R = np.eye(3)
    angles = joint.start[len(joint.translations) :]
    for axis, angle in zip(joint.rotations, angles, strict=True):
        R = R @ axis_rotation(axis, float(angle))
    return R


def spin_axes(joint: TreeJoint) -> Array:
    """(nr, 3) angular velocity in child axes for each unit rotational speed."""
    if joint.quaternion:
        return np.eye(3)
    spins: list[Array] = []
    angles = joint.start[len(joint.translations) :]
    for axis, angle in zip(joint.rotations, angles, strict=True):
        back = axis_rotation(axis, float(angle)).T
        spins = [*(back @ spin for spin in spins), axis]
    return np.array(spins).reshape(-1, 3)


def from_parent(parent: ReducedBody, body: TreeBody, R: Array) -> Array:
    """Y of equation (1), 6 x (6 + n), in child axes; ``R`` is the joint's ``start_turn``."""
    joint, node = body.joint, parent.nodes[body.parent_node]
    slide = joint.start[: len(joint.translations)] @ joint.translations
    R_PJ = node.rotation @ joint.rotation
    lever = node.rotation @ joint.position + R_PJ @ slide  # from the node, parent axes
    r = node.position + lever
    linear = np.concatenate([np.eye(3), -skew(r), node.phi - skew(lever) @ node.psi], axis=1)
    angular = np.concatenate([np.zeros((3, 3)), np.eye(3), node.psi], axis=1)
    C = (R_PJ @ R).T
    return np.concatenate([C @ linear, C @ angular])


def skew(a: Array) -> Array:
    """The matrix of a x."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
