"""What a beam carries, as seen by its shapes.

A clamped-free mode has neither shear nor moment at the tip, and bends a beam that carries
something in a way that the load never would: such shapes make it too stiff, and more of them help
slowly. The modes of the clamped beam *with the inertia that it carries* have the right shear and
moment at every place where something hangs. At place k, with J_k taking mesh vectors to the motion
[linear; angular] of the section there::

    K v = omega^2 (M + sum_k J_k^T A_k J_k) v                                               (1)

A_k is the inertia felt there (outboard): zero gives the plain cantilever modes, a very large one
the static shapes of a unit force and moment and then the modes of the beam held at both ends. Of
A_k only the blocks of one family are kept, of bending along y (force y, moment z), along z (force
z, moment y), torsion and axial: the families stay apart, and what is left out only makes the
others seem held, which is the safe side.

What is much heavier than the beam itself is as good as infinite. To keep the digits of (1), A_k is
taken in series with a bound C, a multiple of the beam's own inertia::

    A_k  ->  A_k (A_k + C)^-1 C                                                              (2)

What a node carries can change while a model runs: a hinge is driven, locked or let go, a load comes
and goes. ``held`` is the inertia that the model says, ``locked`` and ``loose`` are the extremes.
Where these differ much a beam needs one shape more to do both, and then those of ``locked`` are the
ones to take: three of them are right to 1e-3 also if a hinge yields, three for a yielding hinge are
2 % off in the first frequency if it is locked. A loop that holds a node needs the third one too:
two are used up by its force and moment, and nothing is left to vibrate.

A damping ratio is meant for the vibrations that are seen, which are slower than those of the beam
alone by all that it carries: ``welded``, the bodies outboard without what holds them from outside,
is the inertia with which the modes of a beam have it (beam).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import eigh

from pliant.articulated import skew
from pliant.beam_mesh import BeamMesh
from pliant.reduced import Array

# Rows of [linear; angular] that a family moves.
FAMILY_ROWS = {"bending_y": [1, 5], "bending_z": [2, 4], "torsion": [3], "axial": [0]}

_INFINITE = 1e5  # times the beam's own inertia: shapes differ by 1e-5, frequencies by its square
_NOTHING = 1e-9  # of the beam's own inertia: rounding
# Locked and loose count as one thing up to this factor, beside this part of the own inertia.
_SAME, _BESIDE = 3.0, 0.1


@dataclass(frozen=True)
class Carried:
    """What a beam carries at a point: inertia about it, head axes, [linear; angular].

    >>> box = np.diag([5.0, 5, 5, 1, 1, 1])
    >>> load = Carried(np.array([2.0, 0.1, 0]), held=box, locked=box, loose=box, welded=box)
    >>> float(load.on_the_centreline(box)[0, 5].round(12))
    -0.5
    """

    position: Array  # (3,) head frame
    held: Array  # (6, 6)
    locked: Array  # (6, 6)
    loose: Array  # (6, 6)
    welded: Array  # (6, 6)

    def on_the_centreline(self, inertia: Array) -> Array:
        """An inertia at the point as the section at x = position[0] feels it."""
        to_point = np.eye(6)
        to_point[:3, 3:] = -skew(self.position * [0.0, 1.0, 1.0])
        return np.asarray(to_point.T @ inertia @ to_point)


def carried_mass(
    mesh: BeamMesh,
    carried: Sequence[Carried],
    state: Literal["held", "locked", "welded"] = "held",
) -> Array:
    """The sum of (1) over mesh vectors, (mesh.size, mesh.size)."""
    total = np.zeros((mesh.size, mesh.size))
    own = _own_inertia(mesh)
    for item in carried:
        phi, psi = mesh.shapes(*mesh.locate(item.position[:1]), np.eye(mesh.size))
        J = np.concatenate([phi[0], psi[0]])
        A = item.on_the_centreline(getattr(item, state))
        for rows in (FAMILY_ROWS[f.name] for f in mesh.families):
            block, bound = A[np.ix_(rows, rows)], _INFINITE * np.diag(own[rows])
            bounded = block @ np.linalg.solve(block + bound, bound)
            total += J[rows].T @ (0.5 * (bounded + bounded.T)) @ J[rows]
    return total


def families_that_carry(mesh: BeamMesh, carried: Sequence[Carried]) -> tuple[str, ...]:
    """The families whose motion moves something that is carried."""
    own = _own_inertia(mesh)

    def moves(family: str) -> bool:
        rows = FAMILY_ROWS[family]
        felt = [np.diag(item.on_the_centreline(item.locked))[rows] for item in carried]
        return any(np.any(inertia > _NOTHING * own[rows]) for inertia in felt)

    return tuple(f.name for f in mesh.families if moves(f.name))


def families_that_change(mesh: BeamMesh, carried: Sequence[Carried]) -> tuple[str, ...]:
    """The families in which ``locked`` and ``loose`` differ much."""
    own = _own_inertia(mesh)

    def changes(family: str) -> bool:
        rows = FAMILY_ROWS[family]
        for item in carried:
            beside = _BESIDE * np.diag(own[rows])
            locked, loose = (
                item.on_the_centreline(A)[np.ix_(rows, rows)] + beside
                for A in (item.locked, item.loose)
            )
            if eigh(locked, loose, eigvals_only=True)[-1] > _SAME:
                return True
        return False

    return tuple(f.name for f in mesh.families if changes(f.name))


def _own_inertia(mesh: BeamMesh) -> Array:
    """(6,) mass and moments of inertia about the head of the beam itself."""
    points = mesh.points
    squares = points.position**2
    about_head = squares.sum(axis=1, keepdims=True) - squares
    moments = points.mass @ about_head + np.einsum("kii->ki", points.inertia).sum(axis=0)
    return np.concatenate([np.full(3, points.mass.sum()), moments])
