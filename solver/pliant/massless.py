"""Freedoms that move no mass: found and named here, before they are a singular matrix.

The articulated inertia of every body with its modes is formed at the start position, from the
leaves inwards (``pliant.articulated``), as the recursion of the solver does, but with every pivot
looked at: those of the modes, then of the free directions of the joint. A pivot below ``MASSLESS``
of the inertia that would be there if nothing yielded is no inertia at all: the freedom would
answer any force with an infinite acceleration.

Cost: O(bodies) with (6 + n)^2 numbers each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.articulated import from_parent, locked_inertia, spin_axes, start_turn, wheel_inertia
from pliant.part import Finding
from pliant.reduced import Array

if TYPE_CHECKING:
    from pliant.mechanism import Mechanism, TreeBody

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
        R = start_turn(joint)
        if not joint.prescribed:
            yield from _eliminate_joint(body, own, R)
        if body.parent >= 0:
            parent = mechanism.bodies[body.parent]
            Y = from_parent(parent.reduced, body, R)
            inertias[body.parent].free += Y.T @ own.free[:6, :6] @ Y
            inertias[body.parent].locked += Y.T @ own.locked[:6, :6] @ Y


def _own_inertia(body: TreeBody) -> _Inertia:
    locked = locked_inertia(body.reduced)
    return _Inertia(locked - wheel_inertia(body), locked)


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
        ("about", 3, spin_axes(joint), turning),
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
