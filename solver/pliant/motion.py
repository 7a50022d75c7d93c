"""Motion prescribed on a joint: a table of the author, and the curve through it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Optional, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from pydantic import GetPydanticSchema
from pydantic_core import CoreSchema, core_schema

from pliant.fields import shaped
from pliant.limits import CLOSEST_TIMES, COORDINATE, RATE_OF_SPEED, SPEED, TIME
from pliant.part import Finding, Part, fail, show
from pliant.reduced import Array

# t -> (position, rate, acceleration), each one number or one for each dof of the joint
MotionFunction: TypeAlias = Callable[[float], tuple[ArrayLike, ArrayLike, ArrayLike]]

INPUT = "input"  # motion: input, given from outside while the model runs

Times: TypeAlias = Annotated[ArrayLike, shaped((None,), what="a list of times", span=TIME)]
_ROWS = "a number for each time, or a row of numbers for each time"
Table: TypeAlias = Annotated[ArrayLike, shaped((None,), (None, None), what=_ROWS, span=COORDINATE)]
RateTable: TypeAlias = Annotated[ArrayLike, shaped((None,), (None, None), what=_ROWS, span=SPEED)]
AccelerationTable: TypeAlias = Annotated[
    ArrayLike, shaped((None,), (None, None), what=_ROWS, span=RATE_OF_SPEED)
]


def time_findings(times: ArrayLike, least: int) -> Iterator[Finding]:
    """Times of a table must be enough and increase."""
    t = np.asarray(times)
    if len(t) < least:
        yield ("times",), f"{show(t)} is too short; give at least {least} times"
    falling = np.flatnonzero(np.diff(t) <= 0)
    if len(falling):
        i = int(falling[0])
        yield (
            ("times", i + 1),
            f"{float(t[i + 1])!r} does not come after {float(t[i])!r}; give strictly increasing "
            "times",
        )
        return
    close = np.flatnonzero(np.diff(t) < CLOSEST_TIMES)
    if len(close):
        i = int(close[0])
        yield (
            ("times", i + 1),
            f"{float(t[i + 1])!r} comes less than {CLOSEST_TIMES:g} s after {float(t[i])!r}; give "
            "times further apart",
        )


class Motion(Part):
    """A motion prescribed on a joint by a table.

    Each of ``position``, ``rate`` and ``acceleration`` has an entry for each time: a number for
    a joint of one dof, a row of ndof numbers otherwise. With ``position`` alone the curve goes
    smoothly through it, from rest to rest, its acceleration without jumps. With ``rate`` it is
    piecewise cubic, with ``acceleration`` too piecewise quintic. Before the first and after the
    last time the joint goes on at the rate there, that is at rest unless ``rate`` says otherwise:
    a rate never jumps. Through rows at very uneven times a curve by positions alone may swing far
    beyond them, which is a warning: give the rate there.

    >>> curve = Motion(times=[0, 2], position=[0.0, 1.0]).curve(1)
    >>> [float(x[0]) for x in curve(1.0)], [float(x[0]) for x in curve(3.0)]
    ([0.5, 0.9375, 0.0], [1.0, 0.0, 0.0])
    """

    times: Times
    """The times of the table, s, strictly increasing."""
    position: Table
    """The position at each time, rad or m."""
    rate: RateTable | None = None
    """The rate at each time, rad/s or m/s."""
    acceleration: AccelerationTable | None = None
    """The acceleration at each time, rad/s2 or m/s2; needs ``rate`` as well."""

    def _findings(self) -> Iterator[Finding]:
        yield from time_findings(self.times, least=2)
        count = len(np.asarray(self.times))
        for key in ("position", "rate", "acceleration"):
            table = getattr(self, key)
            if table is not None and len(table) != count:
                yield (key,), f"has {len(table)} rows for {count} times; give a row for each time"
        if self.acceleration is not None and self.rate is None:
            yield ("acceleration",), "goes with rate; give rate as well, or leave it out"

    def width_findings(self, dof_count: int) -> Iterator[Finding]:
        """Rows that do not fit a joint of ``dof_count`` dof."""
        for key in ("position", "rate", "acceleration"):
            table = getattr(self, key)
            width = 1 if table is None or table.ndim == 1 else table.shape[1]
            if table is not None and width != dof_count:
                yield (key,), f"has {width} numbers a row; the joint has {dof_count} dof"

    def curve(self, dof_count: int) -> MotionCurve:
        """The curve through the table, for a joint of ``dof_count`` dof."""
        t = np.asarray(self.times)
        x, v, a = (
            None if table is None else np.asarray(table).reshape(len(t), dof_count)
            for table in (self.position, self.rate, self.acceleration)
        )
        assert x is not None
        h = np.diff(t)[:, None]
        if v is None:
            v, a = _from_rest_to_rest(t, x)
        dx, v0, v1 = np.diff(x, axis=0), v[:-1], v[1:]
        coefficients = np.zeros((len(t), dof_count, 6))
        coefficients[:, :, 0], coefficients[:, :, 1] = x, v
        c = coefficients[:-1]
        if a is None:
            c[:, :, 2] = (3 * dx / h - 2 * v0 - v1) / h
            c[:, :, 3] = (v0 + v1 - 2 * dx / h) / h**2
        else:
            a0, a1 = a[:-1], a[1:]
            c[:, :, 2] = a0 / 2
            c[:, :, 3] = (20 * dx / h - 8 * v1 - 12 * v0 - (3 * a0 - a1) * h) / (2 * h**2)
            c[:, :, 4] = (-30 * dx / h + 14 * v1 + 16 * v0 + (3 * a0 - 2 * a1) * h) / (2 * h**3)
            c[:, :, 5] = (12 * dx / h - 6 * (v1 + v0) + (a1 - a0) * h) / (2 * h**4)
        return MotionCurve(t, coefficients, is_spline=self.rate is None)


def _from_rest_to_rest(t: Array, x: Array) -> tuple[Array, Array]:
    """Rates and accelerations at the times: those of the cubic spline through x that begins and
    ends without rate, at its ends also without acceleration."""
    if len(t) == 2:
        return np.zeros_like(x), np.zeros_like(x)
    from scipy.interpolate import CubicSpline  # 0.2 s to import, and few models have tables

    spline = CubicSpline(t, x, bc_type="clamped")
    rate, acceleration = np.array(spline(t, 1)), np.array(spline(t, 2))
    rate[[0, -1]] = acceleration[[0, -1]] = 0.0
    return rate, acceleration


@dataclass(frozen=True)
class MotionCurve:
    """A motion as polynomials: from times[i] on position = sum_k coefficients[i, :, k]
    (t - times[i])^k; before times[0] it goes at the rate with which it begins.

    Called with a time it gives position, rate and acceleration, each of ndof numbers.
    """

    times: Array  # (m,)
    coefficients: Array  # (m, ndof, 6); the last row is how it goes on
    is_spline: bool = False  # through positions alone: nobody said what it does between them

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        i = int(np.searchsorted(self.times, t, side="right")) - 1
        c, k = self.coefficients[max(i, 0)], np.arange(6)
        if i < 0:
            c = np.where(k < 2, c, 0.0)
        s = t - float(self.times[max(i, 0)])
        rate = (c[:, 1:] * k[1:]) @ s ** k[:5]
        acceleration = (c[:, 2:] * (k[2:] * (k[2:] - 1))) @ s ** k[:4]
        return c @ s**k, rate, acceleration

    def at(self, times: Array) -> tuple[Array, Array]:
        """Positions and rates at increasing times, (number of times, ndof)."""
        i = np.searchsorted(self.times, times, side="right") - 1
        c = self.coefficients[np.maximum(i, 0)].copy()
        c[i < 0, :, 2:] = 0.0
        powers = (times - self.times[np.maximum(i, 0)])[:, None, None] ** np.arange(6)
        rate = (c[..., 1:] * np.arange(1, 6) * powers[..., :5]).sum(axis=2)
        return (c * powers).sum(axis=2), rate

    def swings(self) -> tuple[float, Array] | None:
        """When and where a curve by positions alone is furthest beyond the rows on both sides, if
        that is far: by more than a third or so of what the four rows around span, and by more than
        its ringing after a jump between even rows. None if it is not.

        >>> curve = Motion(times=[0, 1, 1.1, 3], position=[0, 0, 1, 1]).curve(1)
        >>> time, position = curve.swings()
        >>> round(time, 1), round(float(position[0]), 1)
        (1.6, 3.5)
        """
        if not self.is_spline:
            return None
        rows = self.coefficients[:, :, 0]
        looks = np.linspace(0.0, 1.0, _LOOKS)
        seconds = np.diff(self.times)[:, None] * looks
        powers = seconds[:, :, None] ** np.arange(6)
        curve = powers @ self.coefficients[:-1].transpose(0, 2, 1)  # (intervals, looks, ndof)
        last = len(rows) - 1
        around = np.stack([rows[np.clip(np.arange(k, last + k), 0, last)] for k in (-1, 0, 1, 2)])
        low, high = around[1:3].min(axis=0), around[1:3].max(axis=0)
        beyond = np.maximum(curve - high[:, None], low[:, None] - curve).max(axis=1)
        whole = np.ptp(rows, axis=0)
        far = np.maximum(_SWING * np.ptp(around, axis=0), _RINGING * whole)
        swing = (beyond / (far + _NO_SWING * (1.0 + np.abs(rows).max(axis=0)))).max(axis=1)
        i = int(swing.argmax())
        if swing[i] <= 1.0:
            return None
        off = np.maximum(curve[i] - high[i], low[i] - curve[i]).max(axis=1)
        k = int(off.argmax())
        return float(self.times[i] + seconds[i, k]), curve[i, k]


# Of what the rows around span: the curve through a sine that is sampled evenly, from 3 times a
# period on, goes 0.21 of it beyond its rows, where these are on both sides of a peak.
_SWING = 0.3
# Of what all rows span: after a jump between even rows a curve goes 0.1 of it beyond them, between
# the next 0.03, where the rows around do not differ.
_RINGING = 0.05
_NO_SWING = 1e-9  # of a position: rounding
_LOOKS = 33  # at a curve between two rows


def standing_curve(position: ArrayLike) -> MotionCurve:
    """The motion that stays at a position, one number for each dof."""
    coefficients = np.zeros((2, np.size(position), 6))
    coefficients[:, :, 0] = position
    return MotionCurve(np.array([0.0, 1.0]), coefficients)


@dataclass(frozen=True)
class InputMotion:
    """A motion that is given while the model runs; it starts where the joint starts.

    Called with a time it gives the motion as it would go on if nothing came in.
    """

    position: Array  # (ndof,)
    rate: Array

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        return self.position + t * self.rate, self.rate, np.zeros_like(self.rate)


def function_findings(function: MotionFunction, dof_count: int) -> Iterator[Finding]:
    """What is wrong with a motion given as a function, seen at t = 0."""
    wanted = f"return (position, rate, acceleration), each of {dof_count} numbers"
    try:
        values = function(0.0)
    except Exception as error:  # whatever the author's function does is the author's to mend
        yield (), f"fails at t = 0 with {type(error).__name__}: {error}; {wanted}"
        return
    try:
        ok = len(values) == 3 and all(
            np.size(x) == dof_count and np.isfinite(np.asarray(x, float)).all() for x in values
        )
    except (TypeError, ValueError):
        ok = False
    if not ok:
        yield (), f"gives {show(values)} at t = 0; {wanted}"


def _motion_schema(_: Any, handler: Callable[[Any], CoreSchema]) -> CoreSchema:
    def check(value: Any, inner: Callable[[Any], Any]) -> Any:
        is_function = callable(value) and not isinstance(value, (Motion, Mapping))
        if isinstance(value, str) and value != INPUT:
            raise fail(f"{show(value)} is no motion; write {INPUT}, or give a table")
        return value if is_function or isinstance(value, str) else inner(value)

    return core_schema.no_info_wrap_validator_function(check, handler(Optional[Motion]))  # noqa: UP045


MotionField: TypeAlias = Annotated[
    Motion | MotionFunction | str | None, GetPydanticSchema(get_pydantic_core_schema=_motion_schema)
]
