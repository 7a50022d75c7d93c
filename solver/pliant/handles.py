"""Handles on the elements of a running simulation: ``sim.joint("elbow").torque = 12.0``.

A handle holds no numbers; it reads and writes the simulation it came from. All vectors are in
world axes. Accelerations, reactions and efforts are worked out for the present state and inputs
when they are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pliant._kernel import QUANTITIES
from pliant.attributes import Guarded
from pliant.errors import ModelError, UnknownAttributeError
from pliant.inputs import Signal
from pliant.reduced import Array

if TYPE_CHECKING:
    from pliant.model import BodySlots, JointSlots, LoopSlots, NodeSlots, WheelSlots
    from pliant.simulation import Simulation


class Wrench(NamedTuple):
    """Force and torque, world axes."""

    force: Array
    """Force, N."""
    torque: Array
    """Torque, N m."""


class JointHandle(Guarded):
    """A joint: position, rate and acceleration to read, effort to set.

    >>> elbow = sim.joint("elbow")                        # doctest: +SKIP
    >>> elbow.torque = -200.0 * elbow.rate                # doctest: +SKIP
    >>> elbow.torque = lambda t: 5.0 * math.sin(t)        # doctest: +SKIP
    """

    _instead: ClassVar[Mapping[str, str]] = {
        "": "set torque, force or effort, or put the model elsewhere by sim.set_state(q=..., "
        "u=...)",
        "locked": "call .lock() or .release()",
        "reaction": "it is computed; what can be set is the joint's effort",
        "name": "names are given in the model",
        "type": "types are given in the model",
        **dict.fromkeys(("q", "displacement", "coordinate"), "use .position"),
        **dict.fromkeys(("qd", "velocity", "speed", "vel", "omega"), "use .rate"),
        "angular_velocity": "use .rate",
        "qdd": "use .acceleration",
        "tau": "use .effort",
    }

    def __init__(self, simulation: Simulation, slots: JointSlots) -> None:
        self._simulation = simulation
        self._slots = slots
        self._tree_joint = simulation.model.mechanism.bodies[slots.body].joint

    def __repr__(self) -> str:
        return f"joint {self.name} ({self.type}) at {self.position}"

    def _called(self) -> str:
        return f"joint {self.name}"

    def __dir__(self) -> list[str]:
        # what tab offers: not angle and torque of what slides
        hidden = {
            name
            for name, turning in (("angle", True), ("torque", True), ("force", False))
            if self._excluded(turning)
        }
        return [name for name in super().__dir__() if name not in hidden]

    @property
    def name(self) -> str:
        """The joint's name in the model."""
        return self._slots.name

    @property
    def type(self) -> str:
        """The kind of joint: revolute, prismatic, ..."""
        return self._slots.type

    @property
    def position(self) -> float | Array:
        """Coordinate in m or rad, or several: translations, then angles or the quaternion
        (w, x, y, z)."""
        return _one_or_many(self._simulation.q[self._slots.q])

    @property
    def angle(self) -> float | Array:
        """Position of a joint that only turns, rad (a quaternion if it is spherical)."""
        self._only("angle", turning=True)
        return self.position

    @property
    def rate(self) -> float | Array:
        """Rate of every freedom, m/s or rad/s; of the rotations of spherical and free joints the
        angular velocity in child axes."""
        return _one_or_many(self._simulation.u[self._slots.u])

    @property
    def acceleration(self) -> float | Array:
        """Acceleration of every freedom, m/s2 or rad/s2, with the inputs as they are now."""
        return _one_or_many(self._simulation.evaluate()[self._slots.u])

    @property
    def effort(self) -> float | Array:
        """Effort of every freedom: force along its axis, N, torque about it, N m.

        Settable to numbers or a function of time, kept until changed. On a joint with prescribed
        motion it is a result: the effort that the motion takes.
        """
        self._simulation.evaluate()
        return _to_be_set_whole(self._simulation.kernel.effort(self._slots.body))

    @effort.setter
    def effort(self, signal: Signal) -> None:
        self._set("effort", signal)

    @property
    def torque(self) -> float | Array:
        """Effort of a joint that only turns, N m; set it to numbers or a function of time."""
        self._only("torque", turning=True)
        return self.effort

    @torque.setter
    def torque(self, signal: Signal) -> None:
        self._only("torque", turning=True)
        self._set("torque", signal)

    @property
    def force(self) -> float | Array:
        """Effort of a joint that only slides, N; set it to numbers or a function of time."""
        self._only("force", turning=False)
        return self.effort

    @force.setter
    def force(self, signal: Signal) -> None:
        self._only("force", turning=False)
        self._set("force", signal)

    def move(
        self, position: ArrayLike, rate: ArrayLike = 0.0, acceleration: ArrayLike = 0.0
    ) -> None:
        """Gives the motion of a joint with ``motion: input`` from now on; it goes on at that
        acceleration until it is given anew. The joint gets there within one step.

        A position alone is one to stand at: for a motion give the rate too, and the acceleration
        if it is known. Positions told one after the other without their rates are a motion of
        jumps, which throws about what hangs on the joint; that is a warning.
        """
        size = self._slots.u.stop - self._slots.u.start
        parts = (
            np.broadcast_to(np.asarray(x, float), size) if np.ndim(x) == 0 else x
            for x in (position, rate, acceleration)
        )
        self._simulation.motions.steer(self.name, *parts)

    @property
    def locked(self) -> bool:
        """Whether the joint is held by ``lock``."""
        return self._simulation.kernel.is_locked(self._slots.body)

    def lock(self) -> None:
        """Holds the joint where it is until ``release``; what that takes is its ``effort``.

        A joint in motion is stopped at once by an impulse between its two bodies: momentum is
        kept, the kinetic energy that is lost counts as dissipated.
        """
        self._set_lock(True)

    def release(self) -> None:
        """Lets a locked joint go; nothing jumps."""
        self._set_lock(False)

    def _set_lock(self, on: bool) -> None:
        where = f"joint {self.name} lock"
        if self._tree_joint.prescribed:
            raise ModelError.at(where, "the joint's motion is prescribed; take the motion away")
        if self._slots.u.start == self._slots.u.stop:
            raise ModelError.at(where, "a fixed joint has no freedom to lock")
        self._simulation.checked(self._simulation.kernel.lock(self._slots.body, on))

    @property
    def reaction(self) -> Wrench:
        """Force and torque of the joint on the child body, at its head."""
        self._simulation.evaluate()
        values = self._simulation.kernel.reaction(self._slots.body)
        return Wrench(values[:3].copy(), values[3:].copy())

    def _set(self, what: str, signal: Signal) -> None:
        where = f"joint {self.name} {what}"
        if self._tree_joint.prescribed:
            raise ModelError.at(
                where, "the joint's motion is prescribed and its effort a result; take one away"
            )
        if self._slots.u.start == self._slots.u.stop:
            raise ModelError.at(where, "a fixed joint has no freedom")
        self._simulation.inputs.set(self._slots.input, signal, where)

    def _excluded(self, turning: bool) -> bool:
        """Whether the joint has freedoms of another kind, or none."""
        freedoms = self._slots.u.stop - self._slots.u.start
        slides = len(self._tree_joint.translations)
        return freedoms == 0 or slides != (0 if turning else freedoms)

    def _only(self, what: str, *, turning: bool) -> None:
        if not self._excluded(turning):
            return
        where = f"joint {self.name} {what}"
        if self._slots.u.start == self._slots.u.stop:
            raise UnknownAttributeError.at(where, "a fixed joint has no freedom")
        general = "position" if what == "angle" else "effort"
        kind = "turn" if turning else "slide"
        raise UnknownAttributeError.at(
            where, f"a {self.type} joint does not only {kind}; use .{general}"
        )


class LoopHandle(Guarded):
    """A loop: its gap, and position, rate and reaction to read, effort to set.

    >>> rim = sim.loop("rim")                             # doctest: +SKIP
    >>> rim.gap, rim.reaction.force                       # doctest: +SKIP
    """

    _instead: ClassVar[Mapping[str, str]] = {
        "": "what can be set is the loop's effort",
        "torque": "use .effort",
        "force": "use .effort",
        "angle": "use .position",
    }

    def __init__(self, simulation: Simulation, slots: LoopSlots, index: int) -> None:
        self._simulation = simulation
        self._slots = slots
        self._index = index
        self._joint = simulation.model.mechanism.loops[index].joint

    def __repr__(self) -> str:
        return f"loop {self.name} ({self.type}), gap {np.abs(self.gap).max(initial=0.0):.2g}"

    def _called(self) -> str:
        return f"loop {self.name}"

    @property
    def name(self) -> str:
        """The loop's name in the model."""
        return self._slots.name

    @property
    def type(self) -> str:
        """The kind of joint that closes the loop."""
        return self._slots.type

    @property
    def gap(self) -> Array:
        """How far every held direction is off: translations in m, then rotations in rad."""
        return self._read("loop_gap", self._slots.rows)

    @property
    def gap_rate(self) -> Array:
        """Rate of the gap, m/s, then rad/s."""
        return self._read("loop_rate", self._slots.rows)

    @property
    def position(self) -> float | Array:
        """Along the free directions, m or rad; angles within a turn, of a spherical loop the
        rotation vector. A prescribed loop has none."""
        return _one_or_many(self._read("loop_position", self._slots.freedoms))

    @property
    def rate(self) -> float | Array:
        """Along the free directions, m/s or rad/s."""
        return _one_or_many(self._read("loop_speed", self._slots.freedoms))

    @property
    def effort(self) -> float | Array:
        """Force along, N, torque about every free direction, N m, on the child and back on the
        parent.

        Settable to numbers or a function of time, kept until changed. On a loop with prescribed
        motion it is a result: the effort that the motion takes.
        """
        if self._joint.prescribed:
            rows = self._slots.rows
            driven = self._simulation.model.sections["row.motion"][rows] >= 0
            return _one_or_many(self._read("loop_force", rows)[driven])
        return _to_be_set_whole(self._simulation.inputs.get(self._slots.input))

    @effort.setter
    def effort(self, signal: Signal) -> None:
        where = f"loop {self.name} effort"
        if self._joint.prescribed:
            raise ModelError.at(
                where, "the loop's motion is prescribed and its effort a result; take one away"
            )
        if self._slots.input.start == self._slots.input.stop:
            raise ModelError.at(where, f"a {self.type} loop has no freedom")
        self._simulation.inputs.set(self._slots.input, signal, where)

    @property
    def reaction(self) -> Wrench:
        """What the loop does to its child's node; the parent's end feels the opposite.

        Of redundant loops only the sum is certain, not the share of each.
        """
        values = self._read("loop_reaction", slice(0, 6), self._index)
        return Wrench(values[:3].copy(), values[3:].copy())

    def _read(self, quantity: str, where: slice, element: int = 0) -> Array:
        kernel, number = self._simulation.kernel, QUANTITIES.index(quantity)
        rows = [(number, element, i) for i in range(where.start, where.stop)]
        values = np.zeros(len(rows))
        signals = kernel.signals(np.array(rows, np.int32).reshape(-1, 3))
        self._simulation.read(signals, values)
        return values


class NodeHandle(Guarded):
    """A node: its motion to read, a load to apply.

    >>> pad = sim.node("hand.pad")                        # doctest: +SKIP
    >>> pad.apply(force=[0, 0, -5])                       # doctest: +SKIP
    >>> pad.position, pad.velocity                        # doctest: +SKIP
    """

    _instead: ClassVar[Mapping[str, str]] = {
        "": "loads are applied by .apply(force=..., torque=...), the model is put elsewhere by "
        "sim.set_state(q=..., u=...)",
        "force": "loads are applied by .apply(force=[x, y, z]) and read from .applied",
        "torque": "loads are applied by .apply(torque=[x, y, z]) and read from .applied",
        **dict.fromkeys(("f", "t", "load", "wrench"), "use .apply(...), and .applied to read"),
        **dict.fromkeys(("r", "pos", "p"), "use .position"),
        **dict.fromkeys(("quat", "q"), "use .quaternion"),
        **dict.fromkeys(("v", "vel"), "use .velocity"),
        **dict.fromkeys(("w", "omega"), "use .angular_velocity"),
        **dict.fromkeys(("a", "acc"), "use .acceleration"),
        "alpha": "use .angular_acceleration",
    }

    def __init__(self, simulation: Simulation, slots: NodeSlots, index: int) -> None:
        self._simulation = simulation
        self._slots = slots
        self._index = index

    def __repr__(self) -> str:
        return f"node {self.name} at {self.position}"

    def _called(self) -> str:
        return f"node {self.name}"

    @property
    def name(self) -> str:
        """``body.node``."""
        return self._slots.name

    def apply(self, force: Signal | None = None, torque: Signal | None = None) -> None:
        """Applies a force, N, and a torque, N m, at the node, world axes, until changed.

        Numbers or functions of time; what is not given stays as it was.
        """
        first, name = self._slots.input.start, self.name
        parts = (("force", force, first), ("torque", torque, first + 3))
        self._simulation.inputs.set_all(
            (slice(start, start + 3), signal, f"node {name} {what}")
            for what, signal, start in parts
            if signal is not None
        )

    @property
    def applied(self) -> Wrench:
        """The load set by ``apply``, as it is now."""
        values = self._simulation.inputs.get(self._slots.input)
        values.flags.writeable = False
        return Wrench(values[:3], values[3:])

    @property
    def position(self) -> Array:
        """Position of the node's point, m, world axes."""
        return self._motion(slice(0, 3))

    @property
    def quaternion(self) -> Array:
        """Orientation of the node axes: (w, x, y, z), v_world = R v_node."""
        return self._motion(slice(3, 7))

    @property
    def rotation(self) -> Array:
        """Orientation of the node axes as a matrix (3, 3), v_world = R v_node."""
        w, x, y, z = self.quaternion
        return np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )

    @property
    def velocity(self) -> Array:
        """Velocity of the node's point, m/s, world axes."""
        return self._motion(slice(7, 10))

    @property
    def angular_velocity(self) -> Array:
        """Angular velocity of the node's axes, rad/s, world axes."""
        return self._motion(slice(10, 13))

    @property
    def acceleration(self) -> Array:
        """Acceleration of the node's point, m/s2, world axes."""
        return self._motion(slice(13, 16))

    @property
    def angular_acceleration(self) -> Array:
        """Angular acceleration of the node's axes, rad/s2, world axes."""
        return self._motion(slice(16, 19))

    def _motion(self, part: slice) -> Array:
        self._simulation.evaluate()
        return np.array(self._simulation.kernel.node(self._index)[part])


class WheelHandle(Guarded):
    """A wheel on a body: its speed relative to the body to read, its torque to set.

    >>> sim.wheel("base.rw1").torque = 0.2                # doctest: +SKIP
    """

    _instead: ClassVar[Mapping[str, str]] = {
        "": "what can be set is the wheel's torque",
        "effort": "use .torque",
        "tau": "use .torque",
        **dict.fromkeys(("rate", "velocity", "omega", "qd"), "use .speed"),
    }

    def __init__(self, simulation: Simulation, slots: WheelSlots) -> None:
        self._simulation = simulation
        self._slots = slots

    def __repr__(self) -> str:
        return f"wheel {self.name} at {self.speed:g} rad/s"

    def _called(self) -> str:
        return f"wheel {self.name}"

    @property
    def name(self) -> str:
        """``body.wheel``."""
        return self._slots.name

    @property
    def speed(self) -> float:
        """Speed relative to the body, rad/s."""
        return float(self._simulation.u[self._slots.u])

    @property
    def acceleration(self) -> float:
        """Rate of the speed, rad/s2, with the inputs as they are now."""
        return float(self._simulation.evaluate()[self._slots.u])

    @property
    def torque(self) -> float:
        """Torque of the motor on the wheel, N m; the body feels the opposite.

        Settable to a number or a function of time, kept until changed.
        """
        return float(self._simulation.inputs.get(self._where)[0])

    @torque.setter
    def torque(self, signal: Signal) -> None:
        self._simulation.inputs.set(self._where, signal, f"wheel {self.name} torque")

    @property
    def _where(self) -> slice:
        return slice(self._slots.input, self._slots.input + 1)


class BodyHandle(Guarded):
    """A body: its modal coordinates, and its nodes.

    >>> sim.body("boom").eta                              # doctest: +SKIP
    >>> sim.body("boom").node("tip").position             # doctest: +SKIP
    """

    _instead: ClassVar[Mapping[str, str]] = {
        "": "a body moves by its joint and its modes: set the joint's effort, apply a load at a "
        "node, or put the model elsewhere by sim.set_state(q=..., u=...)",
        "position": "use .head.position, or .node(...).position",
        "velocity": "use .head.velocity, or .node(...).velocity",
        "quaternion": "use .head.quaternion, or .node(...).quaternion",
        "rotation": "use .head.rotation, or .node(...).rotation",
        "apply": "use .head.apply(...), or .node(...).apply(...)",
    }

    def __init__(self, simulation: Simulation, slots: BodySlots) -> None:
        self._simulation = simulation
        self._slots = slots

    def __repr__(self) -> str:
        return f"body {self.name} with {self._slots.eta.stop - self._slots.eta.start} modes"

    def _called(self) -> str:
        return f"body {self.name}"

    @property
    def name(self) -> str:
        """The body's name in the model."""
        return self._slots.name

    @property
    def eta(self) -> Array:
        """Modal coordinates; their unit depends on how the shapes are scaled."""
        return np.array(self._simulation.q[self._slots.eta])

    @property
    def etad(self) -> Array:
        """Rates of the modal coordinates."""
        return np.array(self._simulation.u[self._slots.etad])

    @property
    def head(self) -> NodeHandle:
        """The node at the body's origin, where its joint is."""
        return self.node("head")

    def node(self, name: str) -> NodeHandle:
        """A node of this body by its own name, such as ``tip``."""
        return self._simulation.node(f"{self.name}.{name}")


def _to_be_set_whole(values: Array) -> float | Array:
    """Numbers that are set by assigning them: writing into the array that was read would be lost,
    so that numpy is to refuse it."""
    out = _one_or_many(values)
    if isinstance(out, np.ndarray):
        out.flags.writeable = False
    return out


def _one_or_many(values: Array) -> float | Array:
    return float(values[0]) if len(values) == 1 else values.copy()
