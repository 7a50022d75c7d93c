"""Joints: 0 to 6 dof between a node of the parent body and the head of the child body.

Translations come first, along axes fixed in the joint frame J; then rotations R_j(q), each axis in
the frame left by the one before, or a quaternion: R_WB = R_WJ R_j(q) for the child B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, PlainValidator

from pliant.fields import (
    Axis,
    Position,
    Rotation,
    Text,
    array,
    axis,
    axis_rotation,
    axis_vector,
    choice,
    is_single,
    lists,
    not_negative_lists,
    number,
    positive,
    positives,
)
from pliant.limits import COORDINATE, DAMPING, EFFORT, SPEED, STIFFNESS
from pliant.motion import INPUT, InputMotion, Motion, MotionField, function_findings
from pliant.part import Finding, Part, fail, show
from pliant.reduced import Array

JointType: TypeAlias = Literal[
    "fixed",
    "revolute",
    "prismatic",
    "cylindrical",
    "universal",
    "planar",
    "spherical",
    "free",
    "general",
]
JOINT_TYPES: tuple[str, ...] = get_args(JointType)

# Axes count as dependent below this sine of the angle (or this volume) between them.
DEPENDENT = 1e-6

_QUATERNION_REMEDY = "use a general joint with three rotations instead"


class Layout(NamedTuple):
    """The freedoms of a joint, in the order of its coordinates."""

    translations: Array  # (nt, 3) unit axes in the joint frame
    rotations: Array  # (nr, 3) unit axes, each in the frame left by the one before
    quaternion: bool  # three rotational dof by a quaternion; ``rotations`` is then empty

    @property
    def dof_count(self) -> int:
        """The number of freedoms."""
        return len(self.translations) + (3 if self.quaternion else len(self.rotations))

    @property
    def coordinate_count(self) -> int:
        """The number of coordinates: one more than freedoms with a quaternion."""
        return self.dof_count + int(self.quaternion)

    @property
    def is_mixed(self) -> bool:
        """Whether dofs of metres and of radians occur together."""
        turns = self.quaternion or len(self.rotations) > 0
        return turns and len(self.translations) > 0


def planar_axes(normal: Array) -> Array:
    """(2, 3) unit axes e1, e2 of the plane with e1 x e2 = normal.

    They are x, y for the normal z; y, z for x; z, x for y. Of a skew normal whose largest
    component is k, e1 is the projection of the axis that follows k.
    """
    follower = np.eye(3)[(int(np.argmax(np.abs(normal))) + 1) % 3]
    e1 = follower - (follower @ normal) * normal
    e1 /= np.linalg.norm(e1)
    return np.array([e1, np.cross(normal, e1)])


# ------------------------------------------------------------------------ forces of the joint


class Spring(Part):
    """A linear spring on each dof: effort = -stiffness (q - rest).

    On a quaternion (spherical, free) the rotational stiffness is the same for the three
    rotations: the potential is 1/2 stiffness |rotation vector|^2 and rest is zero.
    """

    stiffness: Annotated[ArrayLike, not_negative_lists(STIFFNESS)]
    """The stiffness, N/m or N m/rad: one number, or one for each dof."""
    rest: Annotated[ArrayLike, lists(COORDINATE)] = 0.0
    """Rest position, m or rad: one number, or one for each dof."""


class Friction(Part):
    """Friction on each dof: effort = -viscous u - coulomb tanh(u / transition_speed)."""

    viscous: Annotated[ArrayLike, not_negative_lists(DAMPING)] = 0.0
    """Viscous coefficient, N s/m or N m s/rad: one number, or one for each dof."""
    coulomb: Annotated[ArrayLike, not_negative_lists(EFFORT)] = 0.0
    """Coulomb friction, N or N m: one number, or one for each dof."""
    transition_speed: Annotated[float, positives(SPEED)] = 1e-3
    """Speed over which Coulomb friction changes sign smoothly, m/s or rad/s."""


def _limits(none: float) -> PlainValidator:
    """One limit, or a list in which null (kept as ``none``, an infinity) is no limit."""

    def check(value: Any) -> float | Array:
        if is_single(value):
            return number(value, COORDINATE)
        what = "a number, or a list of numbers and nulls"
        given = array(value, (None,), what=what, unbounded=True, span=COORDINATE)
        result = np.where(np.isnan(given), none, given)
        result.setflags(write=False)
        return result

    return PlainValidator(check)


def _positive_or_list(value: Any) -> float | Array:
    if is_single(value):
        return positive(value, STIFFNESS)
    result = array(value, (None,), what="a number or a list of numbers", span=STIFFNESS)
    if (result <= 0).any():
        raise fail(f"{show(result)} has an entry not above zero; give positive numbers")
    return result


class Stops(Part):
    """Soft stops: beyond a limit a spring and a damper push back, and never pull."""

    lower: Annotated[ArrayLike, _limits(-np.inf)] | None = None
    """Lower limit, m or rad: one number, or one for each dof with null for none."""
    upper: Annotated[ArrayLike, _limits(np.inf)] | None = None
    """Upper limit, m or rad: one number, or one for each dof with null for none."""
    stiffness: Annotated[ArrayLike, PlainValidator(_positive_or_list)]
    """The stiffness of the stops, N/m or N m/rad: one number, or one for each dof."""
    damping: Annotated[ArrayLike, not_negative_lists(DAMPING)] = 0.0
    """Damping while a stop is touched, N s/m or N m s/rad."""

    def _findings(self) -> Iterator[Finding]:
        if self.lower is None and self.upper is None:
            yield (), "has no limit; give lower, upper or both"
            return
        lower, upper = self.limits()
        try:
            lower, upper = np.broadcast_arrays(lower, upper)
        except ValueError:
            yield ("upper",), f"has {upper.size} numbers, lower has {lower.size}; give as many"
            return
        for low, high in zip(lower.flat, upper.flat, strict=True):
            if low >= high:
                yield ("lower",), f"{float(low)!r} is not below upper {float(high)!r}; swap them"

    def limits(self) -> tuple[Array, Array]:
        """Lower and upper limits with infinity for none."""
        return (
            np.asarray(-np.inf if self.lower is None else self.lower, float),
            np.asarray(np.inf if self.upper is None else self.upper, float),
        )


# -------------------------------------------------------------------------------------- joint

_AXES_OF_TYPE: dict[str, tuple[str, ...]] = {
    "revolute": ("axis",),
    "prismatic": ("axis",),
    "cylindrical": ("axis",),
    "planar": ("axis",),
    "universal": ("axes",),
    "general": ("translations", "rotations"),
}


def _axis_list(value: Any) -> tuple[str | Array, ...]:
    if isinstance(value, str) or not isinstance(value, (list, tuple, np.ndarray)):
        raise fail(f"{show(value)} is not a list of axes; write [x, y] or [[1, 0, 0], [0, 1, 0]]")
    if len(value) > 3:
        raise fail(f"{show(value)} has {len(value)} axes; give at most 3")
    return tuple(axis(item) for item in value)


_AxisList: TypeAlias = Annotated[
    list[str | ArrayLike] | tuple[str | ArrayLike, ...], PlainValidator(_axis_list)
]


class Joint(Part):
    """A joint between a node of the parent (or the ground) and the head of the child.

    =========== ==================================================== ============ =============
    type        freedoms                                             axes         q, u
    =========== ==================================================== ============ =============
    fixed       none                                                              0, 0
    revolute    rotation about ``axis``                              axis         1, 1
    prismatic   translation along ``axis``                           axis         1, 1
    cylindrical translation along and rotation about ``axis``        axis         2, 2
    universal   rotations about ``axes[0]``, then ``axes[1]``        axes         2, 2
    planar      translations e1, e2 and rotation about the normal    axis         3, 3
    spherical   quaternion                                                        4, 3
    free        translations x, y, z, then quaternion                             7, 6
    general     ``translations``, then ``rotations`` in sequence     both         0-6
    =========== ==================================================== ============ =============

    Axes are in the joint frame, which ``at`` and ``rotation`` place in the parent's node frame.
    The speeds of a quaternion are the angular velocity in the child's frame; translations are
    along the joint frame. An effort on every dof can always be applied during a run.

    >>> elbow = Joint(type="revolute", axis="y", parent="boom.tip", child="forearm", start=0.3)
    >>> elbow.layout.dof_count, elbow.layout.rotations.tolist()
    (1, [[0.0, 1.0, 0.0]])
    """

    type: Annotated[JointType, PlainValidator(choice(*JOINT_TYPES))]
    """The kind of joint: fixed, revolute, prismatic, cylindrical, universal, planar, spherical,
    free or general."""
    child: Text
    """The body that the joint carries, by its head: "forearm". "forearm.grip" holds a *rigid*
    body by another node: that node becomes its head, mass and nodes are moved into its frame,
    and the old origin stays available to joints and loads as "forearm.origin"."""
    parent: Text = "ground"
    """The node that the joint hangs on: "ground", "boom.tip", or "boom" for its head."""
    at: Position = Field(default_factory=lambda: array([0, 0, 0], (3,), what=""))
    """Origin of the joint frame in the parent's node frame, m."""
    rotation: Rotation = None
    """Axes of the joint frame in the parent's node frame: quaternion, matrix or axis and angle."""
    axis: Axis | None = None
    """The axis of a revolute, prismatic or cylindrical joint, the normal of a planar one."""
    axes: _AxisList | None = None
    """The two axes of a universal joint; the second is in the frame turned by the first."""
    translations: _AxisList = ()
    """Up to three axes of translation of a general joint."""
    rotations: _AxisList = ()
    """Up to three axes of rotation of a general joint, in sequence."""
    start: Annotated[ArrayLike, lists(COORDINATE)] | None = None
    """Start position: one number for one dof, otherwise a list; a quaternion is w, x, y, z, and
    a free joint has 7 numbers, x, y, z and the quaternion. Zero (no rotation) if left out."""
    speed: Annotated[ArrayLike, lists(SPEED)] | None = None
    """Start speed, one number for each dof; zero if left out."""
    spring: Spring | None = None
    """A spring along or about the axes."""
    friction: Friction | None = None
    """Viscous and Coulomb friction."""
    stops: Stops | None = None
    """Soft stops, beyond which a spring pushes back."""
    motion: MotionField = None
    """Motion prescribed for all dofs: a table, the word ``input`` for one that comes from outside
    while the model runs (beginning at ``start``), or in Python a function
    t -> (position, rate, acceleration). The effort it takes is a result."""

    @property
    def layout(self) -> Layout:
        """The freedoms as unit axes."""
        none = np.zeros((0, 3))
        if self.type == "fixed":
            return Layout(none, none, False)
        if self.type in ("spherical", "free"):
            return Layout(np.eye(3) if self.type == "free" else none, none, True)
        if self.type == "general":
            return Layout(_unit_axes(self.translations), _unit_axes(self.rotations), False)
        if self.type == "universal":
            return Layout(none, _unit_axes(self.axes or ()), False)
        unit = axis_vector(self.axis)[None, :]
        if self.type == "planar":
            return Layout(planar_axes(unit[0]), unit, False)
        return Layout(
            none if self.type == "revolute" else unit,
            none if self.type == "prismatic" else unit,
            False,
        )

    def start_position(self) -> Array:
        """The start coordinates: those given, or zero; at t = 0 of a prescribed motion."""
        layout = self.layout
        if self.motion is not None and self.motion != INPUT:
            return self.motion_function()(0.0)[0]
        if self.start is not None:
            start = np.array(np.atleast_1d(np.asarray(self.start, float)))
            if layout.quaternion:
                start[-4:] /= np.linalg.norm(start[-4:])
            return start
        start = np.zeros(layout.coordinate_count)
        if layout.quaternion:
            start[-4] = 1.0
        return start

    def start_speed(self) -> Array:
        """The start speeds: those given, or zero; at t = 0 of a prescribed motion."""
        if self.motion is not None and self.motion != INPUT:
            return self.motion_function()(0.0)[1]
        if self.speed is not None:
            return np.array(np.atleast_1d(np.asarray(self.speed, float)))
        return np.zeros(self.layout.dof_count)

    def motion_function(self) -> Callable[[float], tuple[Array, Array, Array]]:
        """The prescribed motion as a function that gives three arrays of ndof numbers."""
        count = self.layout.dof_count
        if isinstance(self.motion, Motion):
            return self.motion.curve(count)
        if self.motion == INPUT:
            return InputMotion(self.start_position(), self.start_speed())
        function = self.motion
        assert callable(function)

        def arrays(t: float) -> tuple[Array, Array, Array]:
            given = function(t)
            try:
                x, v, a = (np.asarray(value, float).reshape(count) for value in given)
            except (TypeError, ValueError):
                return given  # type: ignore[return-value]  # the run says what is wrong with it
            return x, v, a

        return arrays

    # -- checks ----------------------------------------------------------------------------

    def _findings(self) -> Iterator[Finding]:
        faults = list(self._axis_findings())
        yield from faults
        if faults:
            return  # the number of dof is not known
        layout = self.layout
        yield from self._start_findings(layout)
        for key, part, fields in (
            ("spring", self.spring, ("stiffness", "rest")),
            ("friction", self.friction, ("viscous", "coulomb")),
            ("stops", self.stops, ("lower", "upper", "stiffness", "damping")),
        ):
            if part is None:
                continue
            if layout.dof_count == 0:
                yield (key,), "does nothing on a joint without dof; leave it out"
                continue
            for field in fields:
                message = self._width_fault(layout, getattr(part, field))
                if message:
                    yield (key, field), message
        if layout.quaternion:
            yield from self._quaternion_findings(layout)
        elif self.motion is not None:
            yield from self._motion_findings(layout)

    def _axis_findings(self) -> Iterator[Finding]:
        wanted = _AXES_OF_TYPE.get(self.type, ())
        for key in ("axis", "axes", "translations", "rotations"):
            value = getattr(self, key)
            is_given = value is not None and (key in ("axis", "axes") or len(value) > 0)
            if is_given and key not in wanted:
                takes = f"give {' and '.join(wanted)}" if wanted else "it has no axes"
                yield (key,), f"does not belong to a {self.type} joint: {takes}; leave it out"
            if not is_given and key in wanted and self.type != "general":
                what = "two axes such as [x, y]" if key == "axes" else "a direction such as z"
                yield (key,), f"missing; a {self.type} joint needs {what}"
        if self.type == "universal" and self.axes is not None and len(self.axes) != 2:
            yield ("axes",), f"{show(list(self.axes))} has {len(self.axes)} axes; give two"
            return
        key = "axes" if self.type == "universal" else "rotations"
        rotations = _unit_axes(getattr(self, key) or ())
        for i in range(1, len(rotations)):
            if np.linalg.norm(np.cross(rotations[i - 1], rotations[i])) < DEPENDENT:
                yield (
                    (key, i),
                    f"{show(getattr(self, key)[i])} is parallel to the axis before it, so the two "
                    "are one freedom; give another direction, or leave it out",
                )
        translations = _unit_axes(self.translations)
        if len(translations) and np.linalg.svd(translations)[1][-1] < DEPENDENT:
            yield (
                ("translations",),
                f"{show(list(self.translations))}: the axes are dependent; give "
                "directions of which none lies in the plane or line of the others",
            )

    def _start_findings(self, layout: Layout) -> Iterator[Finding]:
        needs = {
            "start": (layout.coordinate_count, self.start),
            "speed": (layout.dof_count, self.speed),
        }
        for key, (count, value) in needs.items():
            if value is None:
                continue
            if np.size(value) != count:
                what = f"a {self.type} joint has {count}"
                if key == "start" and layout.quaternion:
                    what += " (" + ("x, y, z and " if count == 7 else "") + "quaternion w, x, y, z)"
                yield (key,), f"{show(value)} has {np.size(value)} numbers; {what}"
            elif key == "start" and layout.quaternion:
                length = float(np.linalg.norm(np.asarray(value)[-4:]))
                if abs(length - 1.0) > 1e-6:
                    yield (
                        (key,),
                        f"{show(value)}: the quaternion has length {length:g}, not 1; divide it "
                        "by its length, no rotation is [1, 0, 0, 0]",
                    )
        count, start = needs["start"]
        if len(layout.rotations) == 3 and (start is None or np.size(start) == count):
            q = np.zeros(count) if start is None else np.atleast_1d(np.asarray(start))
            first, second, third = layout.rotations
            turned = axis_rotation(second, float(q[-2])).T @ first
            if self.motion is None and abs(np.dot(turned, np.cross(second, third))) < DEPENDENT:
                yield (
                    ("start",),
                    f"{show(q)}: the three rotation axes are dependent at this position (gimbal "
                    "lock); start elsewhere, choose other axes, or use a spherical joint",
                )

    def _width_fault(self, layout: Layout, value: Any) -> str | None:
        """Whether a value is one number for all dofs or a list with one for each."""
        if value is None:
            return None
        if is_single(value):
            if layout.is_mixed and value != 0.0:
                return (
                    f"{show(value)} stands for metres and radians alike; give a list of "
                    f"{layout.dof_count} numbers, one for each dof"
                )
            return None
        if len(value) != layout.dof_count:
            return f"{show(value)} has {len(value)} numbers; the joint has {layout.dof_count} dof"
        return None

    def _quaternion_findings(self, layout: Layout) -> Iterator[Finding]:
        count = layout.dof_count

        def turning(value: Any) -> Array:
            """The part of a value that belongs to the three rotations; empty if it has no fit."""
            given = np.atleast_1d(np.asarray(value, float))
            fits = len(given) in (1, count)
            return np.asarray(np.broadcast_to(given, count)[-3:] if fits else np.zeros(0))

        if self.motion is not None:
            yield (
                ("motion",),
                f"cannot be prescribed on a {self.type} joint, which turns by a quaternion; "
                f"{_QUATERNION_REMEDY}",
            )
        if self.spring is not None:
            k = turning(self.spring.stiffness)
            if len(k) and np.ptp(k) > 0:
                yield (
                    ("spring", "stiffness"),
                    f"{show(self.spring.stiffness)} differs between the three rotations, which "
                    f"turn by a quaternion; give the same number for them, or {_QUATERNION_REMEDY}",
                )
            if turning(self.spring.rest).any():
                yield (
                    ("spring", "rest"),
                    f"{show(self.spring.rest)}: the rest of the three rotations must be zero; turn "
                    f"the joint frame by rotation, or {_QUATERNION_REMEDY}",
                )
        if self.stops is not None:
            for key, limits in zip(("lower", "upper"), self.stops.limits(), strict=True):
                if np.isfinite(turning(limits)).any():
                    yield (
                        ("stops", key),
                        f"{show(getattr(self.stops, key))} limits a rotation that turns by a "
                        f"quaternion; give null for the three rotations, or {_QUATERNION_REMEDY}",
                    )

    def _motion_findings(self, layout: Layout) -> Iterator[Finding]:
        if layout.dof_count == 0:
            yield ("motion",), "does nothing on a joint without dof; leave it out"
            return
        if self.motion == INPUT:
            return
        if isinstance(self.motion, Motion):
            faults = list(self.motion.width_findings(layout.dof_count))
        else:
            assert callable(self.motion)
            faults = list(function_findings(self.motion, layout.dof_count))
        yield from ((("motion", *place), message) for place, message in faults)
        if faults:
            return
        position, rate, _ = self.motion_function()(0.0)
        for key, value, at_zero in (("start", self.start, position), ("speed", self.speed, rate)):
            if value is None or np.size(value) != len(at_zero):
                continue
            if not np.allclose(np.atleast_1d(value), at_zero, rtol=1e-9, atol=1e-12):
                yield (
                    (key,),
                    f"{show(value)} differs from the prescribed motion at t = 0, {show(at_zero)}; "
                    "leave it out",
                )


def _unit_axes(axes: Any) -> Array:
    return np.array([axis_vector(item) for item in axes]).reshape(-1, 3)
