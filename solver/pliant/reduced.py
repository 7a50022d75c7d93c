"""What every body becomes before it is compiled: mass points, mode shapes, stiffness, nodes.

Rigid bodies, beams and raw modal data all end here, so that the modal integrals, the plain
numpy reference and the tests see one form. Everything is in the head frame of the body, whose
origin is the head node; the modes are zero there.

Displacement field of a point X::

    r(X, eta) = X + sum_i phi_i eta_i + sum_p c_p phi2_p eta_i(p) eta_j(p)

with ``c_p = 1/2`` for a pair ``i == j`` and ``1`` for ``i < j``: the second sum is the
second-order (foreshortening) field, kept for the listed pairs only.

The inertia J of a mass point turns with it, by the rotation vector theta = psi eta. How far that
is followed is its ``inertia_model``:

``second_order``  the kinetic energy to second order in eta and its rates, whatever the body's
                  spin: every gyroscopic and centrifugal term of small deflections
``exact``         exp(theta), point by point: for heavy points, such as lumps on a light beam
``linear``        J fixed in the head frame, the energy ``s^T J s / 2`` of the spin ``s = w + psi
                  eta'``: the literature's model, wrong once a body spins
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
InertiaModel = Literal["second_order", "exact", "linear"]


@dataclass(frozen=True)
class ReducedNode:
    """A named point and frame on a body, with its shapes.

    ``rotation`` holds the undeformed node axes in head-frame components (columns).
    """

    position: Array  # (3,)
    rotation: Array  # (3, 3)
    phi: Array  # (3, n) translation shapes
    psi: Array  # (3, n) rotation shapes
    phi2: Array  # (3, p) second-order translation shapes, one column a pair
    contact: bool = False


@dataclass(frozen=True)
class ReducedBody:
    """A body as mass points with mode shapes.

    >>> from pliant.reduced import rigid_body
    >>> body = rigid_body(2.0, [0.1, 0, 0], np.diag([1.0, 2.0, 2.0]))
    >>> body.mode_count, body.mass
    (0, 2.0)
    """

    point_position: Array  # (k, 3)
    point_mass: Array  # (k,)
    point_inertia: Array  # (k, 3, 3) about the point
    point_phi: Array  # (k, 3, n)
    point_psi: Array  # (k, 3, n)
    point_phi2: Array  # (k, 3, p)
    stiffness: Array  # (n, n)
    damping: Array  # (n, n)
    pairs: NDArray[np.int64]  # (p, 2), i <= j
    nodes: dict[str, ReducedNode]  # the first is "head"
    inertia_model: InertiaModel | tuple[InertiaModel, ...] = "second_order"  # of all, of each
    unit_damping: Array | None = None  # damping for a ratio of 1, if all modes have the same ratio

    @property
    def mode_count(self) -> int:
        return int(self.stiffness.shape[0])

    @property
    def pair_count(self) -> int:
        return int(self.pairs.shape[0])

    @property
    def mass_pair_count(self) -> int:
        """Pairs up to the last one whose field moves mass: the others move nodes only."""
        moving = np.flatnonzero(self.point_phi2.any(axis=(0, 1)))
        return int(moving[-1]) + 1 if len(moving) else 0

    @property
    def mass(self) -> float:
        return float(self.point_mass.sum())

    def without_modes(self) -> ReducedBody:
        """The body held in its undeformed shape."""
        none = np.zeros((3, 0))
        return replace(
            self,
            point_phi=self.point_phi[:, :, :0],
            point_psi=self.point_psi[:, :, :0],
            point_phi2=self.point_phi2[:, :, :0],
            stiffness=np.zeros((0, 0)),
            damping=np.zeros((0, 0)),
            unit_damping=None,
            pairs=np.zeros((0, 2), np.int64),
            nodes={
                name: replace(node, phi=none, psi=none, phi2=none)
                for name, node in self.nodes.items()
            },
        )

    @property
    def modal_mass(self) -> Array:
        """(n, n) mass matrix of the modes, undeformed, every point with its inertia."""
        phi, psi = self.point_phi, self.point_psi
        translation = np.einsum("k,kai,kaj->ij", self.point_mass, phi, phi, optimize=True)
        rotation = np.einsum("kai,kab,kbj->ij", psi, self.point_inertia, psi, optimize=True)
        return np.asarray(translation + rotation)

    @property
    def exact_points(self) -> NDArray[np.int64]:
        """Points whose inertia is turned one by one: the ``exact`` ones that some mode turns.

        An inertia that no mode turns, as on any body without modes, is a constant of the body.
        """
        turns = self.point_inertia.any(axis=(1, 2)) & self.point_psi.any(axis=(1, 2))
        return np.flatnonzero(turns & self.has_model("exact")).astype(np.int64)

    def has_model(self, model: InertiaModel) -> NDArray[np.bool_]:
        """(k,) whether the inertia of a point follows that model."""
        models = self.inertia_model
        models = (models,) * len(self.point_mass) if isinstance(models, str) else models
        return np.array([each == model for each in models], bool)


def head_node(mode_count: int, pair_count: int) -> ReducedNode:
    """The inboard node: the origin of the head frame, where every shape is zero."""
    return ReducedNode(
        np.zeros(3),
        np.eye(3),
        np.zeros((3, mode_count)),
        np.zeros((3, mode_count)),
        np.zeros((3, pair_count)),
    )


def rigid_node(position: object, rotation: object = None, contact: bool = False) -> ReducedNode:
    """A node of a rigid body."""
    axes = np.eye(3) if rotation is None else np.asarray(rotation, float)
    empty = np.zeros((3, 0))
    return ReducedNode(np.asarray(position, float), axes, empty, empty, empty, contact)


def rigid_body(
    mass: float,
    com: object,
    inertia: object,
    nodes: dict[str, ReducedNode] | None = None,
) -> ReducedBody:
    """A rigid body: one mass point at the centre of mass carrying the whole inertia."""
    none = np.zeros((1, 3, 0))
    return ReducedBody(
        point_position=np.asarray(com, float).reshape(1, 3),
        point_mass=np.array([float(mass)]),
        point_inertia=np.asarray(inertia, float).reshape(1, 3, 3),
        point_phi=none,
        point_psi=none,
        point_phi2=none,
        stiffness=np.zeros((0, 0)),
        damping=np.zeros((0, 0)),
        pairs=np.zeros((0, 2), np.int64),
        nodes={"head": head_node(0, 0), **(nodes or {})},
    )
