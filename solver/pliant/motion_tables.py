"""Motion tables of a model: where their curves do what their rows do not say, or what no step
follows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pliant.errors import PliantWarning, warn
from pliant.mechanism import Mechanism
from pliant.motion import MotionCurve
from pliant.reduced import Array

# as for functions (inputs.py)
_FAULT, _JUMP = 0.1, 1.5
_ROUNDING = 1e-12  # of positions
_MOST_LOOKS = 1_000_000


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
        yield (
            f"{where}: the curve through its rows swings to {_shown(position)} at "
            f"t = {time:.5g} s, far beyond the rows around; give the rate too, 0 where it shall "
            "stand, or rows that lie more evenly"
        )


def outruns(where: str, curve: MotionCurve, step: float) -> Iterator[str]:
    """A curve whose rates at both ends of steps do not lead where it goes: what hangs on the joint
    is moved by these rates, and would feel nothing of the rest."""
    first, last = float(curve.times[0]), float(curve.times[-1])
    count = min(int((last - first) / step) + 2, _MOST_LOOKS)
    times = np.asarray(first + step * np.arange(-1, count + 1), np.float64)
    position, rate = curve.at(times)
    went = np.diff(position, axis=0)
    led = 0.5 * step * (rate[1:] + rate[:-1])
    reach = _JUMP * step * np.maximum(np.abs(rate[1:]), np.abs(rate[:-1]))
    rounding = _ROUNDING * (np.abs(position[1:]) + np.ptp(position, axis=0))
    torn = np.abs(went) > reach + rounding
    off, path = np.abs(went - led), np.maximum(np.abs(went), np.abs(led))
    led_astray = off.sum(axis=0) > _FAULT * path.sum(axis=0) + len(times) * rounding.max(axis=0)
    if torn.any() or led_astray.any():
        worst = int((off - rounding).max(axis=1).argmax())
        yield (
            f"{where}: within the step of {step:g} s at t = {times[worst]:.5g} s it goes by "
            f"{_shown(went[worst])}, and by its rates at both ends by {_shown(led[worst])}: what "
            "hangs on it follows the rates; take a shorter step, rows further apart or other rates"
        )


def _shown(values: Array) -> str:
    return ", ".join(f"{x:.4g}" for x in values)


def warn_of_tables(mechanism: Mechanism, step: float) -> None:
    """Issues a PliantWarning for each of them."""
    for where, curve in motion_curves(mechanism):
        for text in (*swings(where, curve), *outruns(where, curve, step)):
            warn(f"{mechanism.name}: {text}", PliantWarning)
