"""Bodies as their author gives them: rigid, a beam, or modal data; with nodes and wheels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import Field

from pliant.fields import (
    Axis,
    Flag,
    Inertia,
    Mass,
    Name,
    Position,
    Rotation,
    Speed,
    array,
    axis_vector,
    inertia_fault,
    inertia_matrix,
    positives,
    rotation_matrix,
)
from pliant.flexible import Beam, Modal
from pliant.limits import INERTIA
from pliant.part import Finding, Part, show, suggest
from pliant.reduced import Array


class Node(Part):
    """A named point and frame on a body.

    On a beam the node has the shapes of the section at x = at[0] and is carried rigidly by it.
    On modal data a node only adds to the one of the same name in ``modal.nodes``.

    >>> Node(at=[0, 0, 1.2], rotation={"axis": "x", "degrees": 90}, contact=True).contact
    True
    """

    at: Position | None = None
    """Undeformed position in the head frame, m. Left out for ``head``, the ``tip`` of a beam and
    the nodes of modal data, whose places are known."""
    rotation: Rotation = None
    """Axes of the node in the head frame: quaternion w, x, y, z, a matrix whose columns are the
    axes, or {axis: z, angle: rad} or {axis: z, degrees: 90}."""
    contact: Flag = False
    """Whether the node takes part in contact and so reports its pose, velocity, acceleration."""
    interface: Flag = False
    """Whether something that the model does not contain will hold or load the node: another FMU, a
    heavy tool, a dock. Beams inboard of it then keep the shapes that forces and torques there
    give them. Joints, loops, loads and contact need no such mark."""


class Wheel(Part):
    """A rotor on a body, whose mass and inertia, locked, are part of the body's own.

    >>> Wheel(axis="z", inertia=0.8, speed=600.0).node
    'head'
    """

    axis: Axis
    """The spin axis in the node's frame."""
    inertia: Annotated[float, positives(INERTIA)]
    """The inertia about the spin axis, kg m2."""
    node: Name = "head"
    """The node of the body that carries it."""
    speed: Speed = 0.0
    """Start speed relative to the body, rad/s."""


class Body(Part):
    """A rigid body (``mass``, ``com``, ``inertia``), a ``beam``, or a body of ``modal`` data.

    Everything is in the head frame. The node ``head`` is always there, and ``tip`` on a beam.

    >>> hand = Body(mass=80, com=[0.3, 0, 0], inertia=[1, 2, 2],
    ...             nodes={"pad": {"at": [0.6, 0, 0], "contact": True}})
    >>> hand.node_names
    ('head', 'pad')
    """

    mass: Mass | None = None
    """The mass of a rigid body, kg."""
    com: Position = Field(default_factory=lambda: array([0, 0, 0], (3,), what=""))
    """Centre of mass in the head frame (or that of ``mass_at``), m."""
    inertia: Inertia | None = None
    """The inertia of a rigid body about its centre of mass, axes of the head frame (or that of
    ``mass_at``), kg m2: 3 numbers, 6 numbers [xx, yy, zz, xy, xz, yz] or 3 x 3."""
    mass_at: Name | None = None
    """The node in whose frame ``com`` and ``inertia`` are given."""
    beam: Beam | None = None
    """A straight flexible beam."""
    modal: Modal | None = None
    """A flexible body by raw modal data."""
    nodes: dict[Name, Node] = Field(default_factory=dict)
    """Named points and frames on the body."""
    wheels: dict[Name, Wheel] = Field(default_factory=dict)
    """Rotors on the body."""

    @property
    def is_rigid(self) -> bool:
        """Whether the body has neither beam nor modal data."""
        return self.beam is None and self.modal is None

    @property
    def node_names(self) -> tuple[str, ...]:
        """All nodes, also those that need not be listed."""
        implied = ("head",) if self.beam is None else ("head", "tip")
        given = self.nodes if self.modal is None else self.modal.nodes
        return tuple(dict.fromkeys((*implied, *given)))

    def node_position(self, name: str) -> Array:
        """Undeformed position of a node in the head frame."""
        node = self.nodes.get(name)
        if node is not None and node.at is not None:
            return np.asarray(node.at, float)
        known = self._known_position(name)
        return np.zeros(3) if known is None else known

    def _known_position(self, name: str) -> Array | None:
        """Position of a node that has one without being given it."""
        if name == "head":
            return np.zeros(3)
        if name == "tip" and self.beam is not None:
            return np.array([self.beam.length, 0.0, 0.0])
        if self.modal is not None and name in self.modal.nodes:
            return np.asarray(self.modal.nodes[name].at, float)
        return None

    def node_rotation(self, name: str) -> Array:
        """Undeformed axes of a node in the head frame, as columns."""
        node = self.nodes.get(name)
        return rotation_matrix(None if node is None else node.rotation)

    def with_positions(self) -> Body:
        """A copy in which every listed node has its position."""
        nodes = {
            name: node.model_copy(update={"at": self.node_position(name)})
            for name, node in self.nodes.items()
        }
        return self.model_copy(update={"nodes": nodes})

    # -- checks ----------------------------------------------------------------------------

    def _findings(self) -> Iterator[Finding]:
        yield from self._kind_findings()
        for name, node in self.nodes.items():
            yield from (
                (("nodes", name, *place), message) for place, message in self._node(name, node)
            )
        if self.mass_at is not None and self.mass_at not in self.node_names:
            yield ("mass_at",), f"no node {show(self.mass_at)}; {suggest(self.mass_at, self.nodes)}"
        for name, wheel in self.wheels.items():
            if wheel.node not in self.node_names:
                yield (
                    ("wheels", name, "node"),
                    f"no node {show(wheel.node)}; {suggest(wheel.node, self.node_names)}",
                )
        yield from self._wheel_findings()

    def _kind_findings(self) -> Iterator[Finding]:
        flexible = [key for key in ("beam", "modal") if getattr(self, key) is not None]
        rigid = [key for key in ("mass", "inertia", "mass_at") if getattr(self, key) is not None]
        rigid += ["com"] if np.any(np.asarray(self.com)) else []
        if len(flexible) == 2:
            yield ("modal",), "the body has a beam already; leave one of them out"
        elif flexible and rigid:
            for key in rigid:
                yield (
                    (key,),
                    f"belongs to a rigid body, but this one has {flexible[0]}, which brings its "
                    f"own mass; leave {key} out, or hang a second body on by a fixed joint",
                )
        elif not flexible and not rigid:
            yield (), "has no mass; give mass and inertia, or beam, or modal"
        elif not flexible:
            for key, what in (
                ("mass", "mass in kg"),
                ("inertia", "inertia about the centre of mass, 3 numbers in kg m2"),
            ):
                if getattr(self, key) is None:
                    yield (key,), f"missing; give the {what}"

    def _node(self, name: str, node: Node) -> Iterator[Finding]:
        if self.modal is not None and name != "head" and name not in self.modal.nodes:
            yield (
                (),
                f"has no shapes; give them in modal.nodes, which {suggest(name, self.modal.nodes)}",
            )
            return
        known = self._known_position(name)
        if known is None and node.at is None:
            yield ("at",), "missing; give the position in the head frame, [x, y, z]"
        if known is not None and node.at is not None and np.any(np.asarray(node.at) != known):
            yield ("at",), f"{show(node.at)}: {name} is at {show(known)}; leave at out"
        if name == "head" and node.rotation is not None:
            yield ("rotation",), "the head is the body's own frame; add a node with this rotation"
        if self.beam is not None and node.at is not None:
            x, length = float(np.asarray(node.at)[0]), self.beam.length
            if not -1e-12 * length <= x <= length * (1 + 1e-12):
                yield ("at",), f"{show(node.at)} is not on the beam; give x from 0 to {length!r}"

    def _wheel_findings(self) -> Iterator[Finding]:
        """A rigid body must keep a positive inertia when its wheels are let go."""
        if not self.wheels or not self.is_rigid or self.mass is None or self.inertia is None:
            return
        if not {self.mass_at or "head", *(w.node for w in self.wheels.values())} <= {
            *self.node_names
        }:
            return
        R = self.node_rotation(self.mass_at or "head")
        remaining = R @ inertia_matrix(self.inertia) @ R.T
        for wheel in self.wheels.values():
            a = self.node_rotation(wheel.node) @ axis_vector(wheel.axis)
            remaining = remaining - wheel.inertia * np.outer(a, a)
        lowest = float(np.linalg.eigvalsh(remaining)[0])
        if lowest <= 0 or inertia_fault(np.eye(3) * lowest, may_vanish=False):
            yield (
                ("wheels",),
                f"their inertia exceeds that of the body (what remains has a moment of {lowest:g} "
                "kg m2); the body's inertia must include its wheels, locked",
            )
