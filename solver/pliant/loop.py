"""Attachments that close loops, and the directions they hold and leave free.

The bodies of a system hang in a tree; a loop ties two nodes of the tree together (or one to the
ground) by a joint of any type. What the joint leaves free is free, the rest is held by forces.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from pydantic import PlainValidator

from pliant.fields import Text, lists, name
from pliant.joint import Joint, Layout
from pliant.limits import COORDINATE, SPEED
from pliant.motion import INPUT, MotionField
from pliant.part import Finding, fail, show
from pliant.reduced import Array

# Of the kernel: LoopRow::Kind and LoopFreedom::Kind.
TRANSLATION, ROTATION, PERPENDICULAR, UNIVERSAL = range(4)
SLIDE, FIRST_ROTATION, SECOND_ROTATION, QUATERNION = range(4)


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, (list, tuple)):
        raise fail(f"{show(value)} is not a list; write [elbow, wrist]")
    return tuple(name(item) for item in value)


_NameList: TypeAlias = Annotated[list[str] | tuple[str, ...], PlainValidator(_names)]


class Loop(Joint):
    """A joint between two nodes that are in the tree already; it closes a loop.

    ``parent`` is a node or the ground and carries the joint frame, ``child`` any other node. The
    two must meet at the start, or ``closed_by`` names joints that may be moved from their given
    start until they do. ``motion`` prescribes the free directions (of at most one rotation).

    >>> rim = Loop(type="revolute", axis="z", parent="rod.tip", child="wheel.rim")
    >>> [direction.kind for direction in held_directions(rim.layout, prescribed=False)]
    [0, 0, 0, 2, 2]
    """

    child: Text
    """The other node that the loop ties: "wheel.rim", or "wheel" for its head."""
    parent: Text = "ground"
    """The node that carries the joint frame: "ground", "rod.tip", or "rod" for its head."""
    start: Annotated[ArrayLike, lists(COORDINATE)] | None = None
    """Only of joints in the tree, which says where a loop's nodes are; leave it out."""
    speed: Annotated[ArrayLike, lists(SPEED)] | None = None
    """Only of joints in the tree, which says how a loop's nodes move; leave it out."""
    motion: MotionField = None
    """Motion prescribed for all free directions, with at most one rotation: a table."""
    closed_by: _NameList = ()
    """Joints that may be moved from their start, until the loop closes."""

    def _findings(self) -> Iterator[Finding]:
        for key in ("start", "speed"):
            if getattr(self, key) is not None:
                yield (
                    (key,),
                    "a loop has none: the tree says where its nodes are; leave it out",
                )
        found = list(super()._findings())
        yield from found
        if found:
            return
        if callable(self.motion) or self.motion == INPUT:
            yield (
                ("motion",),
                "a loop is prescribed by a table; give times, position, rate and acceleration",
            )
        layout = self.layout
        several = len(layout.rotations) > 1
        acts = [key for key in ("spring", "friction", "stops") if getattr(self, key) is not None]
        if self.motion is not None and several:
            yield (
                ("motion",),
                f"{len(layout.rotations)} rotations of a loop cannot be prescribed together; "
                "close the loop on a body in between, with one rotation at each of its joints",
            )
        if len(layout.rotations) == 3:
            for key in acts:
                yield (
                    (key,),
                    "three rotations of a loop have no angles of their own; use type spherical, or "
                    "close the loop on a body in between",
                )
        if not _at_right_angles(layout.translations):
            yield (
                ("translations",),
                "must be at right angles to one another on a loop; give such axes of the same "
                "plane or space",
            )
        if len(layout.rotations) == 2 and not _at_right_angles(layout.rotations):
            for key in acts:
                yield (
                    (key,),
                    "the two axes of rotation are not at right angles, and a loop has no forces "
                    "about such; close the loop on a body in between",
                )


@dataclass(frozen=True)
class Held:
    """A held direction: along or about a unit vector of the joint frame.

    ``freedom`` is the number of the joint's freedom that it prescribes, -1 if it is just held.
    """

    kind: int
    direction: Array
    freedom: int = -1


@dataclass(frozen=True)
class Free:
    """A free direction; the angle of a rotation is zero along ``reference``."""

    kind: int
    axis: Array
    reference: Array


def held_directions(layout: Layout, prescribed: bool) -> list[Held]:
    """What a loop joint holds: the complement of its freedoms, and these too if prescribed."""
    slides, turns = layout.translations, layout.rotations
    rows = [Held(TRANSLATION, n) for n in _complement(slides)]
    if prescribed:
        rows += [Held(TRANSLATION, n, i) for i, n in enumerate(slides)]
    if layout.quaternion or len(turns) == 3:
        return rows
    if len(turns) == 0:
        return rows + [Held(ROTATION, n) for n in np.eye(3)]
    if len(turns) == 2:
        return [*rows, Held(UNIVERSAL, np.zeros(3))]
    kind = ROTATION if prescribed else PERPENDICULAR
    rows += [Held(kind, n) for n in _complement(turns)]
    if prescribed:
        rows.append(Held(ROTATION, turns[0], len(slides)))
    return rows


def free_directions(layout: Layout, prescribed: bool) -> list[Free]:
    """Where efforts can act on a loop joint."""
    if prescribed:
        return []
    free = [Free(SLIDE, axis, np.zeros(3)) for axis in layout.translations]
    turns = layout.rotations
    if layout.quaternion or len(turns) == 3:
        return free + [Free(QUATERNION, axis, np.zeros(3)) for axis in np.eye(3)]
    if len(turns) == 1:
        free.append(Free(FIRST_ROTATION, turns[0], _complement(turns)[0]))
    if len(turns) == 2:
        first, second = turns
        free.append(Free(FIRST_ROTATION, first, _across(second, first)))
        free.append(Free(SECOND_ROTATION, second, _across(first, second)))
    return free


def _at_right_angles(axes: Array) -> bool:
    return bool(np.allclose(axes @ axes.T, np.eye(len(axes)), rtol=0.0, atol=1e-9))


def _complement(axes: Array) -> Array:
    """Unit vectors at right angles to the axes and to one another."""
    if len(axes) == 0:
        return np.eye(3)
    if len(axes) == 3:
        return np.zeros((0, 3))
    _, _, vectors = np.linalg.svd(np.asarray(axes, float))
    return np.asarray(vectors[len(axes) :])


def _across(vector: Array, axis: Array) -> Array:
    """The unit vector of what of a vector is at right angles to an axis."""
    rest = vector - axis * (axis @ vector)
    return np.asarray(rest / np.linalg.norm(rest))
