"""Motion tables of a model: where their curves do what their rows do not say."""

from __future__ import annotations

from collections.abc import Iterator

from pliant.errors import PliantWarning, warn
from pliant.mechanism import Mechanism
from pliant.motion import MotionCurve


def motion_curves(mechanism: Mechanism) -> Iterator[tuple[str, MotionCurve]]:
    """Of all joints and loops that follow a table, with their places in the model file."""
    joints = [("joints", body.joint) for body in mechanism.bodies]
    joints += [("loops", loop.joint) for loop in mechanism.loops]
    for section, joint in joints:
        if isinstance(joint.motion, MotionCurve):
            yield f"{section}.{joint.name}.motion", joint.motion


def swings(where: str, curve: MotionCurve) -> Iterator[str]:
    """A curve that goes far beyond the rows of its table."""
    found = curve.swings()
    if found is not None:
        time, position = found
        shown = ", ".join(f"{x:.4g}" for x in position)
        yield (
            f"{where}: the curve through its rows swings to {shown} at t = {time:.5g} s, "
            "far beyond the rows around; give the rate too, 0 where it shall stand, or rows that "
            "lie more evenly"
        )


def warn_of_swings(mechanism: Mechanism) -> None:
    """Issues a PliantWarning for each of them."""
    for where, curve in motion_curves(mechanism):
        for text in swings(where, curve):
            warn(f"{mechanism.name}: {text}", PliantWarning)
