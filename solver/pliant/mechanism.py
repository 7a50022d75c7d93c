"""A system resolved: bodies reduced, parents before children, every number in its place.

``resolve`` is the only way from the author's ``System`` to what is compiled and solved. Nothing
is left to look up or to default: names have become indices, axes unit vectors, single numbers
arrays of one for each dof.

The state of a mechanism is, for each body in order,
q = [translations, angles or quaternion, modes eta] and
u = [translation rates, angle rates or angular velocity in the child frame, modal rates, wheel
speeds].
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pliant.body import Body
from pliant.carried import Carried
from pliant.errors import ModelError
from pliant.fields import axis_vector, rotation_matrix
from pliant.joint import Joint
from pliant.loads import Load
from pliant.loop import Loop
from pliant.massless import massless_freedoms
from pliant.motion import MotionCurve
from pliant.outboard import carried_by_nodes
from pliant.part import Finding
from pliant.reduce import reduce_body, undeformed_body
from pliant.reduced import Array, ReducedBody, ReducedNode
from pliant.source import location_of, problems_of
from pliant.structure import Reference
from pliant.system import System, inboard_first


@dataclass(frozen=True)
class TreeJoint:
    """A joint between the parent's node and the child's head; nd dof, nq coordinates."""

    name: str
    type: str
    position: Array  # (3,) origin of the joint frame J in the parent node's frame
    rotation: Array  # (3, 3) axes of J in the parent node's frame, as columns
    translations: Array  # (nt, 3) unit axes in J
    rotations: Array  # (nr, 3) unit axes, each in the frame left by the one before
    quaternion: bool  # 3 rotational dof by a quaternion; ``rotations`` is then empty
    start: Array  # (nq,)
    speed: Array  # (nd,)
    stiffness: Array  # (nd,) like all below
    rest: Array
    viscous: Array
    coulomb: Array
    transition_speed: Array
    stop_lower: Array  # -inf: none
    stop_upper: Array  # +inf: none
    stop_stiffness: Array
    stop_damping: Array
    prescribed: bool
    motion: MotionCurve | Callable[[float], tuple[Array, Array, Array]] | None

    @property
    def dof_count(self) -> int:
        return len(self.speed)

    @property
    def coordinate_count(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class TreeWheel:
    """A rotor; its locked mass and inertia are in the body's."""

    name: str
    node: str
    axis: Array  # (3,) unit, in the node's frame
    inertia: float
    speed: float


@dataclass(frozen=True)
class TreeBody:
    """A body and the joint it hangs on; ``parent`` is an index, -1 for the ground."""

    name: str
    parent: int
    parent_node: str
    joint: TreeJoint
    reduced: ReducedBody
    wheels: tuple[TreeWheel, ...] = ()
    eta: Array | None = None  # (n,) start of the modes; None: undeformed


@dataclass(frozen=True)
class TreeLoad:
    """A load by a table over ``times``; linear between them, or held; outer values stay.

    ``element`` is the name of the node or wheel on ``body``, or of the joint or loop. Values are
    force and torque in world axes (6), efforts (nd) or the torque (1).
    """

    name: str
    kind: Literal["node", "joint", "wheel"]
    body: int
    element: str
    times: Array  # (m,); a constant load has one time, 0
    values: Array  # (m, width)
    hold: bool

    def at(self, time: float) -> Array:
        """The value at a time."""
        if self.hold:
            row = int(np.searchsorted(self.times, time, side="right")) - 1
            return np.array(self.values[max(row, 0)])
        return np.array([np.interp(time, self.times, column) for column in self.values.T])


@dataclass(frozen=True)
class TreeLoop:
    """A loop: ``joint`` between node ``parent_node`` of body ``parent`` (-1: the ground) and node
    ``child_node`` of body ``child``; ``closed_by`` are indices of the bodies whose joints may be
    moved at the start."""

    parent: int
    parent_node: str
    child: int
    child_node: str
    joint: TreeJoint
    closed_by: tuple[int, ...] = ()


@dataclass(frozen=True)
class Mechanism:
    """A forest of bodies, parents before children (breadth first), and loops between them."""

    name: str
    gravity: Array  # (3,) world axes
    bodies: tuple[TreeBody, ...]
    loads: tuple[TreeLoad, ...] = ()
    loops: tuple[TreeLoop, ...] = ()
    start: Literal["equilibrium"] | None = None  # still to be found; None: as the bodies have it


def resolve(system: System, *, richer: bool = False) -> Mechanism:
    """The mechanism that a system describes.

    ``richer`` gives its beams the shapes that would come next, beside those that they keep.
    Raises a ModelError with every problem of the description and of the reduction of its bodies.

    >>> from pliant.system import Body, Joint
    >>> hinge = Joint(type="revolute", axis="y", child="rod")
    >>> rod = Body(mass=1, com=[0.5, 0, 0], inertia=[0.001, 0.08, 0.08])
    >>> pendulum = System(name="pendulum", bodies={"rod": rod}, joints={"hinge": hinge})
    >>> resolve(pendulum).bodies[0].joint.rotations.tolist()
    [[0.0, 1.0, 0.0]]
    """
    survey = system.survey()
    carried = {} if survey.system is None else carried_by_beams(survey.system)
    reduced, found = reduce_bodies(survey.parts.bodies, carried, richer=richer)
    problems = problems_of([*survey.findings, *found], system._source)
    if problems or survey.system is None:
        raise ModelError(problems)
    mechanism = _assemble(survey.system, reduced)
    massless = problems_of(massless_freedoms(mechanism), system._source)
    if massless:
        raise ModelError(massless)
    return mechanism


def reduce_bodies(
    bodies: Mapping[str, Body | None],
    carried: Mapping[str, Sequence[Carried]],
    *,
    richer: bool = False,
) -> tuple[dict[str, ReducedBody], list[Finding]]:
    """The bodies that can be reduced, and what is wrong with the others; None is passed over."""
    reduced: dict[str, ReducedBody] = {}
    found: list[Finding] = []
    for name, body in bodies.items():
        if body is None:
            continue
        try:
            plain = reduce_body(name, body.with_positions(), carried.get(name, ()), richer=richer)
            reduced[name] = _with_marked_head(plain, body)
        except ModelError as error:
            found += [(location_of(problem.where), problem.message) for problem in error.problems]
    return reduced, found


def _with_marked_head(reduced: ReducedBody, body: Body) -> ReducedBody:
    head = body.nodes.get("head")
    if head is None or reduced.nodes["head"].contact == head.contact:
        return reduced
    marked = dataclasses.replace(reduced.nodes["head"], contact=head.contact)
    return dataclasses.replace(reduced, nodes={**reduced.nodes, "head": marked})


def carried_by_beams(system: System) -> dict[str, tuple[Carried, ...]]:
    """What the beams of a system carry at its start, all bodies taken rigid."""
    beams = [name for name, body in system.bodies.items() if body.beam is not None]
    if not beams:
        return {}
    try:
        rigid = {
            name: _with_marked_head(undeformed_body(name, body.with_positions()), body)
            for name, body in system.bodies.items()
        }
    except ModelError:
        return {}  # the reduction will say why
    interfaces = {
        name: [key for key, node in body.nodes.items() if node.interface]
        for name, body in system.bodies.items()
    }
    carried = carried_by_nodes(_assemble(system, rigid), interfaces)
    return {name: carried[name] for name in beams}


def _assemble(system: System, reduced: dict[str, ReducedBody]) -> Mechanism:
    ordered = inboard_first(system.attachments)
    index = {attachment.child_body: i for i, attachment in enumerate(ordered)}
    bodies = []
    for attachment in ordered:
        name, held_by = attachment.child_body, attachment.child_node
        body, own = system.bodies[name], reduced[name]
        bodies.append(
            TreeBody(
                name=name,
                parent=-1 if attachment.parent_body is None else index[attachment.parent_body],
                parent_node=attachment.parent_node,
                joint=_tree_joint(attachment.joint, system.joints[attachment.joint]),
                reduced=own if held_by == "head" else held_by_node(own, held_by),
                wheels=_tree_wheels(body, is_moved=held_by != "head"),
            )
        )
    body_of_joint = {attachment.joint: i for i, attachment in enumerate(ordered)}
    loops = tuple(
        _tree_loop(name, loop, index, body_of_joint) for name, loop in system.loops.items()
    )
    driven = {body.joint.name: (i, body.joint) for i, body in enumerate(bodies)}
    driven |= {loop.joint.name: (loop.child, loop.joint) for loop in loops}
    loads = tuple(_tree_load(name, load, index, driven) for name, load in system.loads.items())
    gravity = np.array(system.gravity, float)
    return Mechanism(system.name, gravity, tuple(bodies), loads, loops, system.start)


def held_by_node(body: ReducedBody, name: str) -> ReducedBody:
    """A rigid body described from one of its nodes, which becomes its head.

    All positions, axes and inertias are moved into that node's frame. The node keeps its name
    beside "head", and the old head becomes the node "origin".

    >>> from pliant.reduced import rigid_body, rigid_node
    >>> rod = rigid_body(2.0, [1, 0, 0], np.eye(3), {"end": rigid_node([3, 0, 0])})
    >>> held = held_by_node(rod, "end")
    >>> held.point_position.tolist(), held.nodes["origin"].position.tolist()
    ([[-2.0, 0.0, 0.0]], [-3.0, 0.0, 0.0])
    """
    p, R = body.nodes[name].position, body.nodes[name].rotation

    def moved(node: ReducedNode) -> ReducedNode:
        return dataclasses.replace(
            node, position=(node.position - p) @ R, rotation=R.T @ node.rotation
        )

    old_head = body.nodes["head"]
    others = {key: moved(node) for key, node in body.nodes.items() if key != "head"}
    # exact zeros and ones, not the rounding of R^T R
    others[name] = dataclasses.replace(others[name], position=np.zeros(3), rotation=np.eye(3))
    origin = dataclasses.replace(moved(old_head), contact=False)
    return dataclasses.replace(
        body,
        point_position=(body.point_position - p) @ R,
        point_inertia=R.T @ body.point_inertia @ R,
        nodes={"head": old_head, "origin": origin, **others},
    )


def _tree_wheels(body: Body, is_moved: bool) -> tuple[TreeWheel, ...]:
    # inside a body "head" is the frame it is described in, wherever the joint holds it
    return tuple(
        TreeWheel(
            name=name,
            node="origin" if is_moved and wheel.node == "head" else wheel.node,
            axis=axis_vector(wheel.axis),
            inertia=wheel.inertia,
            speed=wheel.speed,
        )
        for name, wheel in body.wheels.items()
    )


def _tree_joint(name: str, joint: Joint) -> TreeJoint:
    layout = joint.layout
    count = layout.dof_count

    def each(value: Any) -> Array:
        return np.array(np.broadcast_to(np.asarray(value, float), count))

    spring, friction, stops = joint.spring, joint.friction, joint.stops
    lower, upper = (-np.inf, np.inf) if stops is None else stops.limits()
    return TreeJoint(
        name=name,
        type=joint.type,
        position=np.array(joint.at, float),
        rotation=rotation_matrix(joint.rotation),
        translations=layout.translations,
        rotations=layout.rotations,
        quaternion=layout.quaternion,
        start=joint.start_position(),
        speed=joint.start_speed(),
        stiffness=each(0.0 if spring is None else spring.stiffness),
        rest=each(0.0 if spring is None else spring.rest),
        viscous=each(0.0 if friction is None else friction.viscous),
        coulomb=each(0.0 if friction is None else friction.coulomb),
        transition_speed=each(1e-3 if friction is None else friction.transition_speed),
        stop_lower=each(lower),
        stop_upper=each(upper),
        stop_stiffness=each(0.0 if stops is None else stops.stiffness),
        stop_damping=each(0.0 if stops is None else stops.damping),
        prescribed=joint.motion is not None,
        motion=None if joint.motion is None else joint.motion_function(),
    )


def _tree_loop(
    name: str, loop: Loop, index: dict[str, int], body_of_joint: dict[str, int]
) -> TreeLoop:
    parent, child = Reference.read(loop.parent), Reference.read(loop.child)
    assert child.body is not None
    return TreeLoop(
        parent=-1 if parent.body is None else index[parent.body],
        parent_node=parent.node,
        child=index[child.body],
        child_node=child.node,
        joint=_tree_joint(name, loop),
        closed_by=tuple(body_of_joint[joint] for joint in loop.closed_by),
    )


def _tree_load(
    name: str,
    load: Load,
    index: dict[str, int],
    driven: dict[str, tuple[int, TreeJoint]],
) -> TreeLoad:
    width = 1
    if load.kind == "joint":
        body, joint = driven[load.target]
        element, width = load.target, joint.dof_count
    else:
        reference = Reference.read(load.target)
        assert reference.body is not None
        body, element = index[reference.body], reference.node
    return TreeLoad(
        name=name,
        kind=load.kind,
        body=body,
        element=element,
        times=np.zeros(1) if load.times is None else np.array(load.times, float),
        values=load.table(width),
        hold=load.interpolation == "hold",
    )
