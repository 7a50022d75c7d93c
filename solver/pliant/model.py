"""A compiled mechanism: the kernel's data and where every named thing stands in its vectors."""

from __future__ import annotations

from dataclasses import dataclass

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
class Model:
    """A mechanism compiled for the kernel: constant, and shared by any number of runs.

    The vectors: ``q`` holds for each body its joint coordinates and modes, ``u`` its joint
    speeds, modal rates and wheel speeds; the inputs are all joint efforts, then six numbers for
    each node, then wheel torques. Bodies are in breadth-first order.
    """

    name: str
    digest: str
    blob: bytes
    mechanism: Mechanism
    q_size: int
    u_size: int
    input_size: int
    joints: tuple[JointSlots, ...]
    bodies: tuple[BodySlots, ...]
    nodes: tuple[NodeSlots, ...]
    wheels: tuple[WheelSlots, ...]
