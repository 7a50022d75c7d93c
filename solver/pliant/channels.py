"""Names of everything that goes into a model and can be read from it; patterns that choose.

The recorder of a run and the variables of an FMU both come from here.

======================================  =====================================================
``joint.elbow.q``, ``.qd``, ``.qdd``    position, rate, acceleration; ``[i]`` for several
                                        freedoms, ``.quat[1..4]`` and its rate ``.quatd`` for
                                        spherical and free ones
``joint.elbow.tau`` (``.f``: sliding)   effort of the actuator or of the prescribed motion
``joint.elbow.reaction.f[1..3]``        force of the joint on the child, at its head, world axes;
                                        ``.t`` torque
``loop.rim.gap[i]``, ``.gap_rate[i]``   how far a held direction of a loop is off, and its rate
``loop.rim.q``, ``.qd``                 position and rate along its free directions; ``.tau`` or
                                        ``.f`` the effort applied there, or of prescribed motion
``loop.rim.reaction.f[1..3]``           force of the loop on its child's node, world axes; ``.t``
``node.hand.pad.r[1..3]``               position, world axes; ``.quat``, ``.v`` velocity, ``.w``
                                        angular velocity, ``.a`` and ``.alpha`` accelerations
``node.hand.pad.inverse_inertia[i]``    what a load at the node is answered with: the lower
                                        triangle, row by row, of the 6 x 6 matrix
``node.hand.pad.f[1..3]``               force applied at the node, world axes; ``.t`` torque
``body.boom.eta[i]``, ``.etad[i]``      modal coordinates, their rates; ``.etadd`` accelerations
``wheel.base.rw1.speed``                speed relative to the body; ``.acceleration``; ``.tau``
                                        torque applied to the wheel
``energy.kinetic``                      ``.strain``, ``.spring``, ``.gravity``, ``.total``,
                                        ``.work``, ``.dissipated``, ``.error``
``momentum.p[1..3]``, ``.L[1..3]``      linear, and angular about the world origin, world axes
======================================  =====================================================

Indices count from 1. A pattern is a name with ``*`` and ``?`` in it, or the beginning of one up
to a dot or bracket: ``joint.elbow``, ``node.*.r``, ``energy``. Inverse inertia is many numbers
and takes six solutions a node: only a pattern that says ``inverse_inertia`` chooses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from pliant.errors import ModelError, Problem
from pliant.loop import TRANSLATION
from pliant.mechanism import TreeJoint, TreeLoop
from pliant.model import JointSlots, LoopSlots, Model
from pliant.part import suggest
from pliant.reduced import Array

# Where the kernel has a channel's number: one of its quantities and, for nodes, efforts and
# reactions, of which element.
Source = tuple[str, int]


_INDEX = re.compile(r"\[([0-9]{1,9})\]\Z", re.ASCII)  # FMUs of others have indices elsewhere too


class Named(Protocol):
    """Anything that patterns choose among."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True)
class Channel:
    """One number that can be read.

    >>> Channel("node.hand.pad.r[2]", "m", ("node", 4), 1).base
    'node.hand.pad.r'
    """

    name: str
    unit: str
    source: Source
    index: int
    description: str = field(default="", compare=False)

    @property
    def base(self) -> str:
        """The name without its index."""
        return base_of(self.name)

    @property
    def component(self) -> int:
        """The index in the name, 0 if it has none."""
        found = _INDEX.search(self.name)
        return int(found[1]) if found else 0


@dataclass(frozen=True)
class Input:
    """One number that acts on a model; ``index`` is its place in the kernel's inputs."""

    name: str
    unit: str
    index: int
    description: str


# The source of what acts from outside and by load tables: no quantity of the kernel; ``index`` is
# the place in its inputs.
APPLIED = "applied"

# Left out of a record unless asked for: they are many, and rarely looked at.
_OPTIONAL = re.compile(
    r"joint\..*\.(reaction\..*|quatd\[.*)"
    r"|loop\..*\.(reaction\..*|gap_rate\[.*)"
    r"|node\..*\.(a|alpha|inverse_inertia|f|t)\[.*"
    r"|body\..*\.etadd\[.*"
    r"|wheel\..*\.acceleration"
)

_NODE_PARTS = (
    ("r", 3, "m", "position, world axes"),
    ("quat", 4, "1", "orientation in the world, quaternion"),
    ("v", 3, "m/s", "velocity, world axes"),
    ("w", 3, "rad/s", "angular velocity, world axes"),
    ("a", 3, "m/s2", "acceleration, world axes"),
    ("alpha", 3, "rad/s2", "angular acceleration, world axes"),
)
_INVERSE_UNITS = ("1/kg", "1/(kg m)", "1/(kg m2)")
_ENERGY = {
    "kinetic": "kinetic energy",
    "strain": "elastic energy of the modes",
    "spring": "elastic energy of joint springs and stops",
    "gravity": "potential energy of gravity, zero at the world origin",
    "total": "kinetic and potential energy together",
    "work": "work of inputs, loads and prescribed motion since the start",
    "dissipated": "energy lost to friction and damping since the start",
    "error": "energy that appeared since the start without work: the integrator's error",
}


# ------------------------------------------------------------------------------------ what there is


def all_channels(model: Model) -> list[Channel]:
    """Everything that can be read from a model, in the order of the table above."""
    channels: list[Channel] = []
    quaternions = 0
    for slots in model.joints:
        body = model.mechanism.bodies[slots.body]
        channels += _joint_channels(slots, body.joint, body.name, quaternions)
        quaternions += body.joint.quaternion
    for number, loop in enumerate(model.loops):
        channels += _loop_channels(model, number, loop)
    for body_slots in model.bodies:
        for part, where, source, what in (
            ("eta", body_slots.eta, "q", "modal coordinate"),
            ("etad", body_slots.etad, "u", "rate of the modal coordinate"),
            ("etadd", body_slots.etad, "udot", "acceleration of the modal coordinate"),
        ):
            # the unit of a modal coordinate depends on how its shape was scaled
            name, text = f"body.{body_slots.name}.{part}", f"body {body_slots.name}: {what}"
            channels += _vector(name, where, (source, 0), "", text, _count(where))
    for wheel in model.wheels:
        name, what = f"wheel.{wheel.name}", f"wheel {wheel.name}"
        speed = f"{what}: speed relative to its body"
        channels.append(Channel(f"{name}.speed", "rad/s", ("u", 0), wheel.u, speed))
        rate = f"{what}: rate of its speed relative to its body"
        channels.append(Channel(f"{name}.acceleration", "rad/s2", ("udot", 0), wheel.u, rate))
    for number, node in enumerate(model.nodes):
        channels += _node_channels(number, node.name)
    channels += [
        Channel(f"energy.{part}", "J", ("energy", 0), i, what)
        for i, (part, what) in enumerate(_ENERGY.items())
    ]
    p, L = "momentum, world axes", "angular momentum about the world origin, world axes"
    channels += _vector("momentum.p", slice(0, 3), ("momentum", 0), "N s", p, "xyz")
    channels += _vector("momentum.L", slice(3, 6), ("momentum", 0), "N m s", L, "xyz")
    return channels


def all_inputs(model: Model) -> list[Input]:
    """Everything that can act on a model from outside, in the order of the kernel's inputs.

    Joints with prescribed motion take no effort and have none here.
    """
    inputs: list[Input] = []
    for slots in model.joints:
        body = model.mechanism.bodies[slots.body]
        if body.joint.prescribed:
            continue
        names = _Freedoms("joint", body.joint, body.name)
        for i, freedom in enumerate(names.freedoms):
            what = f"{names.what(i)}: effort on {body.name}, and back on what carries it"
            inputs.append(Input(names.effort(i), freedom.units.effort, slots.input.start + i, what))
    for node in model.nodes:
        for part, unit, first, what in (("f", "N", 0, "force"), ("t", "N m", 3, "torque")):
            inputs += [
                Input(
                    f"node.{node.name}.{part}[{i + 1}]",
                    unit,
                    node.input.start + first + i,
                    f"node {node.name}: {what} on it, applied at the node, world axes, {axis}",
                )
                for i, axis in enumerate("xyz")
            ]
    for wheel in model.wheels:
        what = f"wheel {wheel.name}: torque on it about its axis, and back on its body"
        inputs.append(Input(f"wheel.{wheel.name}.tau", "N m", wheel.input, what))
    for loop_slots, loop in zip(model.loops, model.mechanism.loops, strict=True):
        if loop.joint.prescribed:
            continue
        names = _loop_freedoms(model, loop)
        for i, freedom in enumerate(names.freedoms):
            what = f"{names.what(i)}: effort on {names.child}, and back on the other end"
            at = loop_slots.input.start + i
            inputs.append(Input(names.effort(i), freedom.units.effort, at, what))
    return inputs


def applied_channels(model: Model) -> list[Channel]:
    """What acts on nodes, wheels and along free directions of loops, set from outside and by load
    tables together, under the names of the inputs. Of joints ``all_channels`` has it."""
    return [
        Channel(i.name, i.unit, (APPLIED, 0), i.index, i.description)
        for i in all_inputs(model)
        if not i.name.startswith("joint.")
    ]


def recordable_channels(model: Model) -> list[Channel]:
    """Everything that a run can record, element by element."""
    channels = all_channels(model) + applied_channels(model)
    kinds = list(dict.fromkeys(_kind(c) for c in channels))
    return sorted(channels, key=lambda c: kinds.index(_kind(c)))


def _kind(channel: Channel) -> str:
    return channel.name.partition(".")[0]


def default_channels(model: Model) -> list[Channel]:
    """What a run records unless told otherwise: no reactions, no loads on nodes, and no
    accelerations but those of joints."""
    return [c for c in recordable_channels(model) if is_default(c.name)]


def is_default(name: str) -> bool:
    """Whether a run records a channel unless told otherwise."""
    return not _OPTIONAL.fullmatch(name)


# ---------------------------------------------------------------------------------------- patterns

_N = TypeVar("_N", bound=Named)


def base_of(name: str) -> str:
    """A name without its index."""
    return _INDEX.sub("", name)


def choose(named: Sequence[_N], patterns: Iterable[str], what: str = "record") -> list[_N]:
    """Those that any pattern matches, in their own order; ``what`` names the list in messages.

    >>> table = [Channel(f"node.hand.pad.r[{i}]", "m", ("node", 0), i - 1) for i in (1, 2, 3)]
    >>> [c.name for c in choose(table, ["node.*.r[2]"])]
    ['node.hand.pad.r[2]']
    >>> len(choose(table, ["node.hand"]))
    3
    """
    chosen: set[int] = set()
    problems = []
    for pattern in patterns:
        expression = _expression(pattern)
        hits = {i for i, item in enumerate(named) if expression.match(item.name)}
        if not hits:
            known = _as_far_as(pattern, [base_of(item.name) for item in named])
            problems.append(
                Problem(f"{what} '{pattern}'", f"matches nothing; {suggest(pattern, known)}")
            )
        chosen |= hits
    if problems:
        raise ModelError(problems)
    return [named[i] for i in sorted(chosen)]


def _as_far_as(pattern: str, names: list[str]) -> dict[str, None]:
    """Beginnings of the names with as many words as the pattern has, then the names."""
    count = pattern.count(".") + 1
    beginnings = [".".join(name.split(".")[:count]) for name in names]
    return dict.fromkeys([*beginnings, *names])


def _expression(pattern: str) -> re.Pattern[str]:
    """``*`` and ``?`` are the only signs with a meaning: brackets belong to the names."""
    words = re.split(r"([*?])", pattern)
    body = "".join({"*": ".*", "?": "."}.get(word, re.escape(word)) for word in words)
    spared = "" if "inverse_inertia" in pattern else r"(?!.*\.inverse_inertia\[)"
    return re.compile(rf"{spared}{body}(?=$|\.|\[)")


# ------------------------------------------------------------------------------------------ joints


def axis_text(axis: Array) -> str:
    """``x``, ``-y``, or the components of an axis."""
    for letter, unit in zip("xyz", np.eye(3), strict=True):
        for sign, text in ((1.0, letter), (-1.0, f"-{letter}")):
            if np.allclose(axis, sign * unit, atol=1e-12):
                return text
    return ", ".join(f"{value:.4g}" for value in axis)


class _Units(NamedTuple):
    q: str
    qd: str
    qdd: str
    effort: str


_SLIDING = _Units("m", "m/s", "m/s2", "N")
_TURNING = _Units("rad", "rad/s", "rad/s2", "N m")


class _Freedom(NamedTuple):
    units: _Units
    what: str


class _Freedoms:
    """Names and descriptions of the freedoms of a joint or loop (``kind``)."""

    def __init__(self, kind: str, joint: TreeJoint, child: str) -> None:
        self.base = f"{kind}.{joint.name}"
        self.kind, self.joint, self.child = kind, joint, child
        self.freedoms = [
            _Freedom(_SLIDING, f"translation along {axis_text(axis)} of the joint frame")
            for axis in joint.translations
        ]
        if joint.quaternion or (kind == "loop" and len(joint.rotations) == 3):
            turns = [f"rotation about the {axis} axis of {child}" for axis in "xyz"]
        else:
            # a rotation's axis is in the frame that the rotations before it leave
            frames = ["the joint frame"] + ["the frame turned so far"] * 2
            turns = [
                f"rotation about {axis_text(axis)} of {frame}"
                for axis, frame in zip(joint.rotations, frames, strict=False)
            ]
        self.freedoms += [_Freedom(_TURNING, what) for what in turns]

    def effort(self, i: int) -> str:
        only_slides = len(self.freedoms) == len(self.joint.translations) == 1
        return self.name("f" if only_slides else "tau", i)

    def name(self, part: str, i: int) -> str:
        return f"{self.base}.{part}" + ("" if len(self.freedoms) == 1 else f"[{i + 1}]")

    def what(self, i: int) -> str:
        return f"{self.kind} {self.joint.name}, {self.freedoms[i].what}"


def _joint_channels(
    slots: JointSlots, joint: TreeJoint, child: str, quaternion: int
) -> Iterator[Channel]:
    names = _Freedoms("joint", joint, child)
    charted = len(joint.translations) if joint.quaternion else len(names.freedoms)
    turn = f"orientation of {child} in the joint frame, quaternion"
    quat = slice(slots.q.start + charted, slots.q.stop)
    for i, freedom in enumerate(names.freedoms[:charted]):
        at, what = slots.q.start + i, f"{names.what(i)}: position"
        yield Channel(names.name("q", i), freedom.units.q, ("q", 0), at, what)
    if joint.quaternion:
        what = f"joint {joint.name}: {turn}"
        yield from _vector(f"{names.base}.quat", quat, ("q", 0), "1", what, "wxyz")
    for i, freedom in enumerate(names.freedoms):
        at, what = slots.u.start + i, f"{names.what(i)}: speed"
        yield Channel(names.name("qd", i), freedom.units.qd, ("u", 0), at, what)
    if joint.quaternion:
        rate = ("quaternion_rate", quaternion)
        what = f"joint {joint.name}: rate of the {turn}"
        yield from _vector(f"{names.base}.quatd", slice(0, 4), rate, "1/s", what, "wxyz")
    for i, freedom in enumerate(names.freedoms):
        at, what = slots.u.start + i, f"{names.what(i)}: acceleration"
        yield Channel(names.name("qdd", i), freedom.units.qdd, ("udot", 0), at, what)
    means = "that the prescribed motion takes" if joint.prescribed else "of the actuator"
    for i, freedom in enumerate(names.freedoms):
        what = f"{names.what(i)}: effort {means}"
        source = ("effort", slots.body)
        yield Channel(names.effort(i), freedom.units.effort, source, i, what)
    on = f"of joint {joint.name} on {child}, at its head, world axes"
    source = ("reaction", slots.body)
    base = f"{names.base}.reaction"
    yield from _vector(f"{base}.f", slice(0, 3), source, "N", f"force {on}", "xyz")
    yield from _vector(f"{base}.t", slice(3, 6), source, "N m", f"torque {on}", "xyz")


# ------------------------------------------------------------------------------------------- loops


def _loop_freedoms(model: Model, loop: TreeLoop) -> _Freedoms:
    child = f"{model.mechanism.bodies[loop.child].name}.{loop.child_node}"
    return _Freedoms("loop", loop.joint, child)


def _loop_channels(model: Model, number: int, slots: LoopSlots) -> Iterator[Channel]:
    loop = model.mechanism.loops[number]
    names = _loop_freedoms(model, loop)
    for part, source, rate in (("gap", "loop_gap", ""), ("gap_rate", "loop_rate", "/s")):
        for i, row in enumerate(range(slots.rows.start, slots.rows.stop), start=1):
            slides = model.sections["row.kind"][row] == TRANSLATION
            held = "translation" if slides else "rotation"
            what = f"loop {slots.name}, held {held}: {'rate of its gap' if rate else 'gap'}"
            unit = ("m" if slides else "rad") + rate
            yield Channel(f"{names.base}.{part}[{i}]", unit, (source, 0), row, what)
    prescribed = np.flatnonzero(model.sections["row.motion"][slots.rows] >= 0) + slots.rows.start
    for i, row in enumerate(prescribed):
        what = f"{names.what(i)}: effort that the prescribed motion takes"
        unit = names.freedoms[i].units.effort
        yield Channel(names.effort(i), unit, ("loop_force", 0), int(row), what)
    free = range(slots.freedoms.start, slots.freedoms.stop)
    for i, at in enumerate(free):
        unit, what = names.freedoms[i].units.q, f"{names.what(i)}: position"
        yield Channel(names.name("q", i), unit, ("loop_position", 0), at, what)
    for i, at in enumerate(free):
        unit, what = names.freedoms[i].units.qd, f"{names.what(i)}: speed"
        yield Channel(names.name("qd", i), unit, ("loop_speed", 0), at, what)
    on = f"of loop {slots.name} on {names.child}, at the node, world axes"
    base = f"{names.base}.reaction"
    from_loop = ("loop_reaction", number)
    yield from _vector(f"{base}.f", slice(0, 3), from_loop, "N", f"force {on}", "xyz")
    yield from _vector(f"{base}.t", slice(3, 6), from_loop, "N m", f"torque {on}", "xyz")


# ------------------------------------------------------------------------------------------- nodes


def _node_channels(number: int, name: str) -> Iterator[Channel]:
    first = 0
    for part, size, unit, what in _NODE_PARTS:
        where, letters = slice(first, first + size), "wxyz"[-size:]
        text = f"node {name}: {what}"
        yield from _vector(f"node.{name}.{part}", where, ("node", number), unit, text, letters)
        first += size
    loads = [f"{kind} {axis}" for kind in ("force", "torque") for axis in "xyz"]
    for index, (row, column) in enumerate((i, j) for i in range(6) for j in range(i + 1)):
        yield Channel(
            f"node.{name}.inverse_inertia[{index + 1}]",
            _INVERSE_UNITS[(row > 2) + (column > 2)],
            ("inverse_inertia", number),
            index,
            f"node {name}: inverse inertia at the node, world axes, "
            f"row {row + 1} ({loads[row]}), column {column + 1} ({loads[column]})",
        )


def _vector(
    base: str, where: slice, source: Source, unit: str, what: str, letters: Iterable[str]
) -> Iterator[Channel]:
    indices = range(where.start, where.stop)
    for i, (index, letter) in enumerate(zip(indices, letters, strict=True), start=1):
        yield Channel(f"{base}[{i}]", unit, source, index, f"{what}, {letter}")


def _count(where: slice) -> list[str]:
    return [f"mode {i + 1}" for i in range(where.stop - where.start)]
