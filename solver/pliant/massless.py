"""Freedoms that move no mass: found and named here, before they are a singular matrix.

The articulated inertia of every body is formed at the start position, from the leaves inwards, as
the recursion of the solver does, but with every pivot looked at. Per body, with its modes (6 + n)::

    M   = sum_points m Jv^T Jv + Jw^T J Jw  -  wheels  +  sum_children Y^T Ma Y             (1)
    Ma  = M eliminated by the modes, then by the free directions of the joint               (2)

A pivot below ``MASSLESS`` of the inertia that would be there if nothing yielded is no inertia at
all: the freedom would answer any force with an infinite acceleration. Y, 6 x (6 + n), takes the
acceleration of the parent's head and modes to the child's head.

Cost: O(bodies) with (6 + n)^2 numbers each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.fields import axis_rotation, quaternion_matrix
from pliant.part import Finding
from pliant.reduced import Array, ReducedBody

if TYPE_CHECKING:
    from pliant.mechanism import Mechanism, TreeBody, TreeJoint

# Rounding leaves some 1e-15 of the composite inertia where there is none; a thread of 1e-6 of its
# length still has 1e-12 of it about its own axis.
MASSLESS = 1e-13


@dataclass
class _Inertia:
    """Inertia of a body, its head and modes; and the same with all outboard freedoms locked."""

    free: Array  # (6 + n, 6 + n)
    locked: Array


def massless_freedoms(mechanism: Mechanism) -> Iterator[Finding]:
    """The freedoms of joints, and the modes, that move no mass at the start position."""
    inertias = [_own_inertia(body) for body in mechanism.bodies]
    for i in reversed(range(len(mechanism.bodies))):
        body, own = mechanism.bodies[i], inertias[i]
        yield from _eliminate_modes(body, own)
        joint = body.joint
        R = _turn(joint)
        if not joint.prescribed:
            yield from _eliminate_joint(body, own, R)
        if body.parent >= 0:
            parent = mechanism.bodies[body.parent]
            Y = _from_parent(parent, body, R)
            inertias[body.parent].free += Y.T @ own.free[:6, :6] @ Y
            inertias[body.parent].locked += Y.T @ own.locked[:6, :6] @ Y


def _own_inertia(body: TreeBody) -> _Inertia:
    reduced = body.reduced
    Jv, Jw = _jacobians(reduced)
    M = np.einsum("k,kia,kib->ab", reduced.point_mass, Jv, Jv, optimize=True)
    M += np.einsum("kia,kij,kjb->ab", Jw, reduced.point_inertia, Jw, optimize=True)
    free = M.copy()
    for wheel in body.wheels:  # a free rotor leaves its spin inertia behind
        node = reduced.nodes[wheel.node]
        axis = node.rotation @ wheel.axis
        row = np.concatenate([np.zeros(3), axis, axis @ node.psi])
        free -= wheel.inertia * np.outer(row, row)
    return _Inertia(free, M)


def _jacobians(reduced: ReducedBody) -> tuple[Array, Array]:
    """(k, 3, 6 + n) Jacobians of the undeformed mass points."""
    k = len(reduced.point_mass)
    eye, zero = np.broadcast_to(np.eye(3), (k, 3, 3)), np.zeros((k, 3, 3))
    lever = np.array([_skew(x) for x in reduced.point_position]).reshape(k, 3, 3)
    return (
        np.concatenate([eye, -lever, reduced.point_phi], axis=2),
        np.concatenate([zero, eye, reduced.point_psi], axis=2),
    )


def _eliminate_modes(body: TreeBody, own: _Inertia) -> Iterator[Finding]:
    for mode in range(body.reduced.mode_count):
        direction = np.zeros(len(own.free))
        direction[6 + mode] = 1.0
        if not _eliminate(own, direction, own.locked[6 + mode, 6 + mode]):
            yield (
                ("bodies", body.name),
                f"mode {mode + 1} moves no mass of its own; leave it out, or give the points that "
                "it moves a mass",
            )


def _eliminate_joint(body: TreeBody, own: _Inertia, R: Array) -> Iterator[Finding]:
    joint, size = body.joint, len(own.free)
    mass, turning = own.locked[0, 0], float(np.trace(own.locked[3:6, 3:6]))
    for kind, start, axes, scale in (
        ("along", 0, joint.translations @ R, mass),
        ("about", 3, _spins(joint), turning),
    ):
        for axis in axes:
            direction = np.zeros(size)
            direction[start : start + 3] = axis
            if not _eliminate(own, direction, scale):
                shown = [round(float(x), 6) + 0.0 for x in axis]
                yield (
                    ("joints", joint.name),
                    f"nothing resists motion {kind} {shown} (in {body.name}'s frame): "
                    f"{body.name} and what hangs on it have no inertia there that is not used up "
                    "by other freedoms; give inertia (radius or inertia_per_length on a beam, "
                    "inertia at points of modal data), or take this freedom away",
                )
                return


def _eliminate(own: _Inertia, direction: Array, scale: float) -> bool:
    """Lets a direction yield: rank-1 elimination. False if there is nothing to yield."""
    column = own.free @ direction
    pivot = float(direction @ column)
    if pivot <= MASSLESS * scale or scale <= 0.0:
        return False
    own.free -= np.outer(column, column) / pivot
    return True


def _turn(joint: TreeJoint) -> Array:
    """R_j: child axes in the joint frame, at the start position."""
    if joint.quaternion:
        return quaternion_matrix(joint.start[-4:])
    R = np.eye(3)
    angles = joint.start[len(joint.translations) :]
    for axis, angle in zip(joint.rotations, angles, strict=True):
        R = R @ axis_rotation(axis, float(angle))
    return R


def _spins(joint: TreeJoint) -> Array:
    """(nr, 3) angular velocity in child axes for each unit rotational speed."""
    if joint.quaternion:
        return np.eye(3)
    spins: list[Array] = []
    angles = joint.start[len(joint.translations) :]
    for axis, angle in zip(joint.rotations, angles, strict=True):
        back = axis_rotation(axis, float(angle)).T
        spins = [*(back @ spin for spin in spins), axis]
    return np.array(spins).reshape(-1, 3)


def _from_parent(parent: TreeBody, body: TreeBody, R: Array) -> Array:
    """Y of equation (1), in child axes."""
    joint, node = body.joint, parent.reduced.nodes[body.parent_node]
    slide = joint.start[: len(joint.translations)] @ joint.translations
    R_PJ = node.rotation @ joint.rotation
    lever = node.rotation @ joint.position + R_PJ @ slide  # from the node, parent axes
    r = node.position + lever
    linear = np.concatenate([np.eye(3), -_skew(r), node.phi - _skew(lever) @ node.psi], axis=1)
    angular = np.concatenate([np.zeros((3, 3)), np.eye(3), node.psi], axis=1)
    C = (R_PJ @ R).T
    return np.concatenate([C @ linear, C @ angular])


def _skew(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
