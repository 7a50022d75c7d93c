"""A compiled mechanism: the kernel's data and where every named thing stands in its vectors."""

from __future__ import annotations

from dataclasses import dataclass, field

from pliant.data_file import Section
from pliant.loop import TRANSLATION
from pliant.mechanism import Mechanism


@dataclass(frozen=True)
class JointSlots:
    """A joint's places in q, u and the inputs; ``body`` is the index of the body it carries."""

    name: str
    body: int
    type: str
    q: slice
    u: slice
    input: slice


@dataclass(frozen=True)
class BodySlots:
    """A body's modal coordinates in q and their rates in u."""

    name: str
    eta: slice
    etad: slice


@dataclass(frozen=True)
class NodeSlots:
    """A node ``body.node`` and its load (force, torque; world axes) in the inputs."""

    name: str
    contact: bool
    input: slice


@dataclass(frozen=True)
class WheelSlots:
    """A wheel ``body.wheel``, its speed in u and its torque in the inputs."""

    name: str
    u: int
    input: int


@dataclass(frozen=True)
class LoopSlots:
    """A loop, its held directions among those of all loops, its free ones likewise, and their
    efforts in the inputs."""

    name: str
    type: str
    rows: slice
    freedoms: slice
    input: slice


@dataclass(frozen=True)
class Model:
    """A mechanism compiled for the kernel: constant, and shared by any number of runs.

    The vectors: ``q`` holds for each body its joint coordinates and modes, ``u`` its joint
    speeds, modal rates and wheel speeds; the inputs are all joint efforts, then six numbers for
    each node, then wheel torques, then efforts along the free directions of loops. Bodies are in
    breadth-first order. ``blob`` is the kernel's data file, made of ``sections``.
    """

    name: str
    digest: str
    blob: bytes = field(repr=False)
    sections: dict[str, Section] = field(repr=False, compare=False)
    mechanism: Mechanism
    q_size: int
    u_size: int
    input_size: int
    joints: tuple[JointSlots, ...]
    bodies: tuple[BodySlots, ...]
    nodes: tuple[NodeSlots, ...]
    wheels: tuple[WheelSlots, ...]
    loops: tuple[LoopSlots, ...]

    def __repr__(self) -> str:
        return f"Model({self.name!r}: {len(self.bodies)} bodies, {self.u_size} freedoms)"

    # What the kernel's numbers of freedoms, speeds and inputs are called in messages.

    @property
    def freedom_names(self) -> list[str]:
        """The freedoms of all joints in order: ``joint elbow``, ``joint base freedom 2``."""
        return [name for joint in self.joints for name in _numbered(joint)]

    @property
    def speed_names(self) -> list[str]:
        """The speeds u: freedoms of joints, ``body boom mode 2``, ``wheel base.rw1``."""
        names = [self.name] * self.u_size
        for joint in self.joints:
            names[joint.u] = _numbered(joint)
        for body in self.bodies:
            modes = body.etad.stop - body.etad.start
            names[body.etad] = [f"body {body.name} mode {i + 1}" for i in range(modes)]
        for wheel in self.wheels:
            names[wheel.u] = f"wheel {wheel.name}"
        return names

    @property
    def input_names(self) -> list[str]:
        """The inputs: ``joint elbow effort``, ``node hand.pad force``, ``wheel rw1 torque``."""
        efforts = [
            f"joint {joint.name} effort"
            for joint in self.joints
            for _ in range(joint.u.start, joint.u.stop)
        ]
        loads = [
            f"node {node.name} {part}"
            for node in self.nodes
            for part in ("force", "torque")
            for _ in range(3)
        ]
        torques = [f"wheel {wheel.name} torque" for wheel in self.wheels]
        across = [
            f"loop {loop.name} effort"
            for loop in self.loops
            for _ in range(loop.input.start, loop.input.stop)
        ]
        return [*efforts, *loads, *torques, *across]

    @property
    def row_names(self) -> list[str]:
        """The directions that loops hold: ``loop rim direction 3 (rotation)``."""
        kinds = self.sections["row.kind"]
        return [
            f"loop {loop.name} direction {i - loop.rows.start + 1} "
            f"({'translation' if kinds[i] == TRANSLATION else 'rotation'})"
            for loop in self.loops
            for i in range(loop.rows.start, loop.rows.stop)
        ]


def _numbered(joint: JointSlots) -> list[str]:
    count = joint.u.stop - joint.u.start
    if count == 1:
        return [f"joint {joint.name}"]
    return [f"joint {joint.name} freedom {i + 1}" for i in range(count)]
