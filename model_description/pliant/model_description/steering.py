"""Inputs beside loads: motions given from outside, and locks of joints."""

from __future__ import annotations

from collections.abc import Iterator

from pliant.model import JointSlots, Model
from pliant.model_description.units import display_unit, unit_name
from pliant.model_description.variable import LockSlot, MotionSlot, Variable
from pliant.motion import InputMotion

_PARTS = (("q", "position", ""), ("qd", "rate", "/s"), ("qdd", "acceleration", "/s2"))


def _moved_from_outside(model: Model) -> Iterator[tuple[JointSlots, InputMotion]]:
    for slots in model.joints:
        motion = model.mechanism.bodies[slots.body].joint.motion
        if isinstance(motion, InputMotion):
            yield slots, motion


def motion_starts(model: Model) -> list[float]:
    """Rows (position, rate, acceleration) of all freedoms moved from outside, at the start."""
    return [
        float(part[i])
        for _, motion in _moved_from_outside(model)
        for i in range(len(motion.position))
        for part in motion(0.0)
    ]


def motion_inputs(model: Model) -> list[Variable]:
    """``joint.elbow.motion.q``, ``.qd``, ``.qdd`` of every freedom moved from outside."""
    starts = iter(motion_starts(model))
    variables: list[Variable] = []
    for slots, motion in _moved_from_outside(model):
        slides = len(model.mechanism.bodies[slots.body].joint.translations)
        count = len(motion.position)
        for i in range(count):
            suffix = "" if count == 1 else f"[{i + 1}]"
            for name, what, per in _PARTS:
                path = f"joint.{slots.name}.motion.{name}{suffix}"
                unit = unit_name(("m" if i < slides else "rad") + per)
                variables.append(
                    Variable(
                        path=path,
                        name=path,
                        type="Real",
                        causality="input",
                        variability="continuous",
                        initial="exact",
                        description=f"joint {slots.name}: {what} to be followed; it goes on at the "
                        "acceleration given until it is set anew",
                        source=MotionSlot(len(variables)),
                        start=next(starts),
                        unit=unit,
                        display_unit=display_unit(unit),
                    )
                )
    return variables


def lock_inputs(model: Model) -> list[Variable]:
    """``joint.elbow.lock`` of every joint that moves by forces."""
    variables = []
    for slots in model.joints:
        joint = model.mechanism.bodies[slots.body].joint
        if slots.u.start == slots.u.stop or joint.prescribed:
            continue
        path = f"joint.{slots.name}.lock"
        variables.append(
            Variable(
                path=path,
                name=path,
                type="Boolean",
                causality="input",
                variability="discrete",
                initial="exact",
                description=f"joint {slots.name}: held where it is; one in motion is stopped by an "
                "impulse between its bodies",
                source=LockSlot(slots.body),
                start=0.0,
            )
        )
    return variables
