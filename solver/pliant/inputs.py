"""What acts on a running model from outside: numbers, or functions of time.

The kernel holds inputs as ``input + input_rate (t - input_time)``. A number sets the rate to zero.
A function is asked at the start and at the end of every step and the kernel goes in a straight
line between the two, so that an integrator with stages inside the step sees them at the right
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pliant.errors import ModelError, PliantWarning, SolverError, warn
from pliant.motion import InputMotion, MotionCurve
from pliant.part import show
from pliant.reduced import Array

if TYPE_CHECKING:
    from pliant._kernel import Kernel
    from pliant.model import Model

Signal: TypeAlias = ArrayLike | Callable[[float], ArrayLike]


@dataclass
class _Varying:
    """An input given as a function, with the value found at the end of the last step."""

    function: Callable[[float], ArrayLike]
    where: slice
    element: str
    time: float
    value: Array


@dataclass(frozen=True)
class InputState:
    """The inputs of one moment, to be put back later."""

    input: Array
    rate: Array
    time: float
    functions: tuple[tuple[Callable[[float], ArrayLike], slice, str], ...]


class Inputs:
    """The input vector of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._varying: dict[int, _Varying] = {}  # by the first index of where it acts

    @property
    def is_varying(self) -> bool:
        return bool(self._varying)

    def set(self, where: slice, signal: Signal, element: str) -> None:
        """Sets a number, an array or a function from now on; ``element`` is for messages."""
        self.set_all([(where, signal, element)])

    def set_all(self, signals: Iterable[tuple[slice, Signal, str]]) -> None:
        """The same for several: all of them, or none if one is refused."""
        kernel = self._kernel
        asked = [(where, self._asked(where, signal, name)) for where, signal, name in signals]
        for where, (value, varying) in asked:
            self._varying.pop(where.start, None)
            if varying is not None:
                self._varying[where.start] = varying
            kernel.input[where] = value
            kernel.input_rate[where] = 0.0

    def _asked(self, where: slice, signal: Signal, element: str) -> tuple[Array, _Varying | None]:
        """The value now of what is to be set, and the function if it is one."""
        size, time = where.stop - where.start, self._kernel.time
        if not callable(signal):
            return _array(signal, size, element), None
        value = _from_function(signal, time, size, element)
        return value, _Varying(signal, where, element, time, value)

    def get(self, where: slice) -> Array:
        """The value now."""
        kernel = self._kernel
        since = kernel.time - kernel.input_time
        return np.asarray(kernel.input[where] + kernel.input_rate[where] * since)

    def prepare(self, start: float, end: float) -> None:
        """Asks every function for the step from ``start`` to ``end``."""
        kernel = self._kernel
        asked = []
        for varying in list(self._varying.values()):
            size = len(varying.value)
            # The same value again if time went on without a jump: one call a step, and the
            # numbers after restoring a state are the same to the last bit.
            first = varying.value
            if varying.time != start:
                first = _from_function(varying.function, start, size, varying.element)
            last = _from_function(varying.function, end, size, varying.element)
            asked.append((varying, first, last))
        for varying, first, last in asked:  # all of them, or none if one fails
            kernel.input[varying.where] = first
            kernel.input_rate[varying.where] = (last - first) / (end - start)
            varying.time, varying.value = end, last
        kernel.input_time = start

    def save(self) -> InputState:
        kernel = self._kernel
        functions = tuple((v.function, v.where, v.element) for v in self._varying.values())
        return InputState(
            kernel.input.copy(), kernel.input_rate.copy(), kernel.input_time, functions
        )

    def restore(self, saved: InputState, time: float) -> None:
        """Puts back what ``save`` gave at this time; nothing changes if a function fails."""
        kernel = self._kernel
        varying = {}
        for function, where, element in saved.functions:
            value = _from_function(function, time, where.stop - where.start, element)
            varying[where.start] = _Varying(function, where, element, time, value)
        self._varying = varying
        kernel.input[:] = saved.input
        kernel.input_rate[:] = saved.rate
        kernel.input_time = saved.time


_JUMPS_IN_A_ROW = 3  # of a motion from outside: it is told of wrongly, and has not only jumped
# Of all that a function's rate made of its position, or its acceleration of its rate, over the
# steps in which these moved: the mean of both ends of one is off by (step times frequency)^2 / 12.
_FAULT = 0.1
_STEPS_BEFORE_FAULT = 20  # in which it moved; a few may start or stop at once
_JUMP = 1.5  # times as far as the larger rate of both ends leads
_SLACK = 1e-12  # of positions and rates: rounding
_NOTHING = 1e-15  # m, rad and their rates


@dataclass
class _Steered:
    """A motion given from outside; it goes on at the acceleration it was given."""

    position: Array
    rate: Array
    acceleration: Array
    time: float = 0.0
    jumps: int = 0  # tellings in a row that were off where the one before led

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        s = t - self.time
        x = self.position + s * (self.rate + 0.5 * s * self.acceleration)
        return x, self.rate + s * self.acceleration, self.acceleration


class _Watch:
    """Whether the rates of a function lead where its positions go."""

    def __init__(self, time: float, motion: Array) -> None:
        self.time = time
        self.motion = motion
        # per freedom, of position and rate: how far they went, by how much that was off, and the
        # steps in which they moved
        self.path, self.off, self.steps = (np.zeros((len(motion), 2)) for _ in range(3))

    def fault(self, time: float, motion: Array) -> str | None:
        """What is wrong from the last time to this one; None if nothing is."""
        before, last, elapsed = self.time, self.motion, time - self.time
        self.time, self.motion = time, motion
        went = motion[:, :2] - last[:, :2]
        led = 0.5 * elapsed * (motion[:, 1:] + last[:, 1:])
        off, far = np.abs(went - led), np.maximum(np.abs(went), np.abs(led))
        moves = far > _SLACK * np.abs(motion[:, :2]) + _NOTHING
        self.path += far
        self.off += off
        self.steps += moves
        wrong = (self.off > _FAULT * self.path) & (off > _FAULT * far) & moves
        wrong &= self.steps >= _STEPS_BEFORE_FAULT
        reach = _JUMP * elapsed * np.maximum(np.abs(motion[:, 1]), np.abs(last[:, 1]))
        wrong[:, 0] |= moves[:, 0] & (np.abs(went[:, 0]) > reach)
        if not wrong.any():
            return None
        dof, part = np.argwhere(wrong)[0]
        what, rate = ("position", "rate") if part == 0 else ("rate", "acceleration")
        return (
            f"the {what} that its function gives changes by {went[dof, part]:.6g} from "
            f"t = {before:g} s to {time:g} s, the {rate} that it gives makes it "
            f"{led[dof, part]:.6g}; return (position, rate, acceleration), each the derivative of "
            "the one before, or take a step that follows it"
        )


@dataclass(frozen=True)
class MotionState:
    """What motions from outside were told last, to be put back later."""

    told: tuple[_Steered, ...]


class Motions:
    """Prescribed motions that are functions of time or come from outside, fed to the kernel step
    by step.

    A function gives ``(position, rate, acceleration)``, each a number or one for every freedom.
    """

    def __init__(self, model: Model, kernel: Kernel) -> None:
        self._kernel = kernel
        self._driven: list[tuple[str, Callable[[float], object], slice]] = []
        self._steered: dict[str, _Steered] = {}
        self._warned: set[str] = set()
        self._watched: dict[str, _Watch] = {}  # functions
        first = 0
        for slots in model.joints:
            motion = model.mechanism.bodies[slots.body].joint.motion
            if isinstance(motion, MotionCurve) or motion is None:
                continue
            rows = slice(first, first + slots.u.stop - slots.u.start)
            element = f"joint {slots.name} motion"
            if isinstance(motion, InputMotion):
                motion = self._steered[element] = _Steered(*motion(0.0))
            self._driven.append((element, motion, rows))
            first = rows.stop
        self._start = self.save()

    def __bool__(self) -> bool:
        return bool(self._driven)

    def prepare(self, end: float) -> None:
        """Asks every function for the end of the next step."""
        for element, function, rows in self._driven:
            size = rows.stop - rows.start
            motion = _motion_rows(function, end, size, element)
            self._kernel.motion_next[rows] = motion
            if element not in self._steered and element not in self._warned:
                self._watch_rates(element, end, motion)

    def steer(
        self, joint: str, position: ArrayLike, rate: ArrayLike, acceleration: ArrayLike
    ) -> None:
        """Gives a joint whose motion comes from outside its motion from now on."""
        element = f"joint {joint} motion"
        motion = self._steered.get(element)
        if motion is None:
            raise ModelError.at(element, "does not come from outside; write motion: input")
        size = len(motion.position)
        parts = [_array(x, size, element) for x in (position, rate, acceleration)]
        self._watch_jumps(element, motion, parts)
        motion.position, motion.rate, motion.acceleration = parts
        motion.time = self._kernel.time

    def _watch_rates(self, element: str, time: float, motion: Array) -> None:
        """Warns of a function whose rate or acceleration leads elsewhere than it goes, once."""
        watch = self._watched.get(element)
        if watch is None or time <= watch.time:
            self._watched[element] = _Watch(time, motion)
        elif (fault := watch.fault(time, motion)) is not None:
            self._warned.add(element)
            warn(f"{element}: {fault}", PliantWarning)

    def _watch_jumps(self, element: str, motion: _Steered, parts: list[Array]) -> None:
        """Warns of positions without the rates that lead from one to the next, once."""
        now, size = self._kernel.time, len(parts[0])
        if now <= motion.time:
            return
        off = np.abs(parts[0] - _motion_rows(motion, now, size, element)[:, 0])
        led = np.maximum(np.abs(parts[1]), np.abs(motion.rate)) * (now - motion.time)
        rounding = _SLACK * (1.0 + np.abs(parts[0]))
        if (off > led + rounding).any():
            motion.jumps += 1
        elif (off > rounding).any():  # what is told again is no news
            motion.jumps = 0
        if motion.jumps == _JUMPS_IN_A_ROW and element not in self._warned:
            self._warned.add(element)
            warn(
                f"{element} jumps from one position to the next, off where its rate leads: what "
                "hangs on it is thrown about; give move() the rate too",
                PliantWarning,
            )

    def save(self) -> MotionState:
        return MotionState(tuple(replace(motion) for motion in self._steered.values()))

    def restore(self, saved: MotionState) -> None:
        """Puts back what ``save`` gave; what functions lead to is watched anew from there."""
        for motion, before in zip(self._steered.values(), saved.told, strict=True):
            vars(motion).update(vars(before))
        self._watched.clear()

    def reset(self) -> None:
        """Takes back what came from outside, and starts anew."""
        self.restore(self._start)
        self.start()

    def start(self) -> None:
        """Puts the driven joints where their functions say at the present time."""
        self.prepare(self._kernel.time)
        self._kernel.state_written()


def _motion_rows(
    function: Callable[[float], object], time: float, size: int, element: str
) -> Array:
    """(size, 3): position, rate, acceleration of every freedom."""
    parts = function(time)
    if not isinstance(parts, (tuple, list, np.ndarray)) or len(parts) != 3:
        raise ModelError.at(
            element,
            f"its function gives {show(parts)} at t = {time:g} s; return (position, rate, "
            "acceleration)",
        )
    return np.stack([_given(part, size, element, time) for part in parts], axis=1)


def _from_function(
    function: Callable[[float], ArrayLike], time: float, size: int, element: str
) -> Array:
    try:
        value = function(time)
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            # the call itself failed, not something inside the function
            raise ModelError.at(
                element, f"its function cannot be called with the time ({error}); write f(t)"
            ) from None
        raise
    return _given(value, size, element, time)


def _given(value: ArrayLike, size: int, element: str, time: float) -> Array:
    """What a function of time gave."""
    array = as_numbers(value)
    if array is None or array.shape not in _shapes(size):
        raise ModelError.at(
            element, f"its function gives {show(value)} at t = {time:g} s; return {_wanted(size)}"
        )
    if not np.isfinite(array).all():
        raise SolverError(
            "its function of time does not give finite numbers; check it at this time",
            time=time,
            element=element,
            value=float(array[~np.isfinite(array)].flat[0]),
        )
    return array.reshape(size)


def _array(value: ArrayLike, size: int, element: str) -> Array:
    """What was given once."""
    array, wanted = as_numbers(value), _wanted(size)
    if array is None:
        raise ModelError.at(element, f"{show(value)} is no input; give {wanted}")
    if array.shape not in _shapes(size):
        raise ModelError.at(element, f"{show(value)} does not fit; give {wanted}")
    if not np.isfinite(array).all():
        raise ModelError.at(
            element, f"{show(value)} is not finite; give {_wanted(size, 'finite ')}"
        )
    return array.reshape(size)


def as_numbers(value: ArrayLike) -> Array | None:
    """None for what holds anything but numbers: numpy takes "3" for 3 and None for NaN."""
    try:
        array = np.asarray(value)
        return array.astype(float) if array.dtype.kind in "iuf" else None
    except (TypeError, ValueError, OverflowError):
        return None


def _shapes(size: int) -> tuple[tuple[int, ...], ...]:
    return ((), (1,)) if size == 1 else ((size,),)


def _wanted(size: int, kind: str = "") -> str:
    return f"a {kind}number" if size == 1 else f"{size} {kind}numbers"
