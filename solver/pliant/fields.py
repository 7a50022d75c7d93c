"""Kinds of values an author writes: numbers, vectors, axes, rotations, inertias.

Every array field takes lists or numpy arrays and keeps a read-only float64 copy in the shape it
was given (an inertia of three numbers stays three numbers), so that a model file is written back
as it was. ``axis_vector``, ``rotation_matrix`` and ``inertia_matrix`` turn that into the one form
that calculations use. Everything must be finite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Optional, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from pydantic import GetPydanticSchema, PlainValidator
from pydantic_core import CoreSchema, core_schema

from pliant.limits import (
    ANGLE,
    ANYTHING,
    DIRECTION,
    INERTIA,
    LENGTH,
    LONGEST_NAME,
    MASS,
    SPEED,
    Span,
)
from pliant.part import Finding, Part, fail, show, suggest
from pliant.reduced import Array

# A body's own inertia counts as singular below this part of its largest principal moment.
SINGULAR = 1e-14
# Slack of the triangle inequality of principal moments: thin plates and rods reach equality.
TRIANGLE = 1e-9
# How far a rotation may be from orthonormal, a quaternion from unit length; then it is mended.
ORTHONORMAL = 1e-6

# ------------------------------------------------------------------------------------ numbers


def number(value: Any, span: Span = ANYTHING) -> float:
    """A finite number within its span; text and truth values are refused."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise fail(f"{show(value)} is not a number; give one number")
    try:
        result = float(value)
    except OverflowError:
        raise fail(f"{show(value)} is too large; give a number below 1e308") from None
    if not np.isfinite(result):
        raise fail(f"{result} is not finite; give a number")
    fault = span.fault(result)
    if fault:
        raise fail(f"{show(result)} {fault}")
    return result


def positive(value: Any, span: Span = ANYTHING) -> float:
    """A number above zero."""
    result = number(value, span)
    if result <= 0:
        raise fail(f"{show(result)} is not above zero; give a positive number")
    fault = span.fault(result, above_zero=True)
    if fault:
        raise fail(f"{show(result)} {fault}")
    return result


def not_negative(value: Any, span: Span = ANYTHING) -> float:
    """Zero or a number above it."""
    result = number(value, span)
    if result < 0:
        raise fail(f"{show(result)} is negative; give zero or a positive number")
    return result


def flag(value: Any) -> bool:
    """True or false, not 0, 1 or text."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise fail(f"{show(value)} is neither true nor false; write true or false")


def whole(low: int, high: int) -> Callable[[Any], int]:
    """A checker of whole numbers from ``low`` to ``high``."""

    def check(value: Any) -> int:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            raise fail(f"{show(value)} is not a whole number; give a whole number")
        if value < low:
            raise fail(f"{show(value)} is too small; give at least {low}")
        if value > high:
            raise fail(f"{show(value)} is too large; give at most {high}")
        return int(value)

    return check


def choice(*known: str) -> Callable[[Any], str]:
    """A checker of words out of a known set."""

    def check(value: Any) -> str:
        if isinstance(value, str) and value in known:
            return value
        raise fail(f"{show(value)} is not one of the choices; {suggest(value, known)}")

    return check


def words(*known: str) -> Callable[[Any], tuple[str, ...]]:
    """A checker of lists of different words out of a known set."""

    def check(value: Any) -> tuple[str, ...]:
        if isinstance(value, str) or not isinstance(value, (list, tuple)):
            raise fail(f"{show(value)} is not a list; write [{known[0]}, ...]")
        for item in value:
            if item not in known:
                raise fail(f"{show(item)} is not one of the choices; {suggest(item, known)}")
        if len(set(value)) < len(value):
            raise fail(f"{show(list(value))} names something twice; name each once")
        return tuple(value)

    return check


def name(value: Any) -> str:
    """The name of an element: text without a dot, which separates body and node."""
    if not isinstance(value, str):
        raise fail(f"{show(value)} is not text; write the name in quotes")
    if not value or value != value.strip() or not value.isprintable():
        raise fail(f"{show(value)} is not a name; use printable text without blanks around it")
    if set(value) & set(".[]"):
        raise fail(
            f"{show(value)} is not a name; leave out dots and brackets, which separate the parts "
            "of a path such as hand.pad"
        )
    if len(value) > LONGEST_NAME:
        raise fail(f"{show(value)} is too long; give a name of at most {LONGEST_NAME} characters")
    return value


def text(value: Any) -> str:
    """Text; numbers need quotes in a file."""
    if not isinstance(value, str):
        raise fail(f"{show(value)} is not text; write it in quotes")
    return value


def numbers(span: Span) -> PlainValidator:
    """A validator of numbers of a quantity."""
    return PlainValidator(lambda value: number(value, span))


def positives(span: Span) -> PlainValidator:
    """The same for numbers above zero."""
    return PlainValidator(lambda value: positive(value, span))


def not_negatives(span: Span) -> PlainValidator:
    """The same for zero and numbers above it."""
    return PlainValidator(lambda value: not_negative(value, span))


Angle: TypeAlias = Annotated[float, numbers(ANGLE)]
Speed: TypeAlias = Annotated[float, numbers(SPEED)]
Length: TypeAlias = Annotated[float, positives(LENGTH)]
Distance: TypeAlias = Annotated[float, not_negatives(LENGTH)]
Mass: TypeAlias = Annotated[float, positives(MASS)]
MassOrNone: TypeAlias = Annotated[float, not_negatives(MASS)]
Flag: TypeAlias = Annotated[bool, PlainValidator(flag)]
Text: TypeAlias = Annotated[str, PlainValidator(text)]
Name: TypeAlias = Annotated[str, PlainValidator(name)]

# ------------------------------------------------------------------------------------- arrays


def array(
    value: Any,
    *shapes: tuple[int | None, ...],
    what: str,
    unbounded: bool = False,
    span: Span = ANYTHING,
) -> Array:
    """A read-only float64 copy in one of the shapes (None: any length), all finite, in their span.

    With ``unbounded`` None and infinity are allowed and None becomes NaN: "no limit here".

    >>> array([0, 0, 1], (3,), what="3 numbers").tolist()
    [0.0, 0.0, 1.0]
    """
    if isinstance(value, (str, bytes, Mapping, set)) or value is None:
        raise fail(f"{show(value)} is not a list of numbers; give {what}")
    if _holds_flag(value):  # which numpy would take for 0 or 1
        raise fail(f"{show(value)} holds something that is not a number; give {what}")
    try:
        raw = np.asarray(value)
    except (ValueError, OverflowError):
        raise fail(f"{show(value)} has rows of different lengths; give {what}") from None
    if unbounded and raw.dtype.kind == "O" and all(_number_or_none(item) for item in raw.flat):
        try:
            raw = raw.astype(np.float64)
        except OverflowError:
            raise fail(f"{show(value)} holds a number that is too large; give {what}") from None
    if raw.dtype.kind not in "iuf" and raw.size:
        raise fail(f"{show(value)} holds something that is not a number; give {what}")
    result = raw.astype(np.float64)
    if not any(_fits(result.shape, shape) for shape in shapes):
        size = " x ".join(map(str, result.shape)) if result.ndim > 1 else f"{result.size} numbers"
        size = size if result.ndim else "a single number"
        raise fail(f"{show(value)} is {size}; give {what}")
    if not unbounded and not np.isfinite(result).all():
        place = np.argwhere(~np.isfinite(result))[0]
        at = "".join(f"[{i}]" for i in place)
        raise fail(f"entry {at} is {result[tuple(place)]}, not finite; give finite numbers")
    beyond = np.argwhere(np.isfinite(result) & (np.abs(result) > span.most))
    if len(beyond):
        entry = float(result[tuple(beyond[0])])
        at = "".join(f"[{i}]" for i in beyond[0])
        raise fail(f"entry {at}, {entry!r}, {span.fault(entry)}")
    result.setflags(write=False)
    return result


def _holds_flag(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_holds_flag, value))
    return isinstance(value, (bool, np.bool_))


def _number_or_none(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        w is None or s == w for s, w in zip(shape, wanted, strict=True)
    )


def shaped(*shapes: tuple[int | None, ...], what: str, span: Span = ANYTHING) -> PlainValidator:
    """A validator of arrays; see ``array``."""
    return PlainValidator(lambda value: array(value, *shapes, what=what, span=span))


def is_single(value: Any) -> bool:
    """Whether one number stands for all of a list."""
    return np.ndim(value) == 0 if isinstance(value, np.ndarray) else np.isscalar(value)


def number_or_list(value: Any, span: Span = ANYTHING) -> float | Array:
    """One number, or a list of numbers."""
    if is_single(value):
        return number(value, span)
    return array(value, (None,), what="a list of numbers", span=span)


def not_negative_or_list(value: Any, span: Span = ANYTHING) -> float | Array:
    """One number or a list, none below zero."""
    result = number_or_list(value, span)
    if np.any(np.asarray(result) < 0):
        raise fail(f"{show(result)} has a negative entry; give zero or positive numbers")
    return result


def positive_pair(value: Any, span: Span = ANYTHING) -> float | Array:
    """One number for both planes or [about y, about z]; null (infinity) is a rigid plane."""
    if is_single(value):
        return positive(value, span)
    given = array(value, (2,), what="a number or [y, z]", unbounded=True, span=span)
    result = np.where(np.isnan(given), np.inf, given)
    if not (result > 0).all():
        raise fail(f"{show(result)} has an entry not above zero; give positive numbers")
    for entry in map(float, result[np.isfinite(result)]):
        fault = span.fault(entry, above_zero=True)
        if fault:
            raise fail(f"{entry!r} {fault}")
    result.setflags(write=False)
    return result


def lists(span: Span) -> PlainValidator:
    """A validator of one number or a list of them."""
    return PlainValidator(lambda value: number_or_list(value, span))


def not_negative_lists(span: Span) -> PlainValidator:
    """The same, none below zero."""
    return PlainValidator(lambda value: not_negative_or_list(value, span))


def positive_pairs(span: Span) -> PlainValidator:
    """A validator of one number for both planes or a pair."""
    return PlainValidator(lambda value: positive_pair(value, span))


Position: TypeAlias = Annotated[ArrayLike, shaped((3,), what="3 numbers [x, y, z]", span=LENGTH)]

# --------------------------------------------------------------------------- axes, rotations

_AXES = {
    sign + letter: np.eye(3)[i] if sign != "-" else 0.0 - np.eye(3)[i]
    for sign in ("", "+", "-")
    for i, letter in enumerate("xyz")
}


def axis(value: Any) -> str | Array:
    """A direction: x, y, z, -x, -y, -z, or 3 numbers of any length but zero."""
    if isinstance(value, str):
        if value not in _AXES:
            near = value.strip().lower()
            hint = f"did you mean '{near}'? " if near in _AXES else ""
            raise fail(
                f"{show(value)} is not an axis; {hint}write x, y, z, -x, -y, -z or 3 numbers"
            )
        return value.removeprefix("+")
    result = array(value, (3,), what="x, y, z, -x, -y, -z or 3 numbers", span=DIRECTION)
    if np.linalg.norm(result) < 1e-12:
        raise fail(f"{show(result)} has no length; give a direction such as [0, 0, 1] or z")
    return result


def axis_vector(value: Any) -> Array:
    """The unit vector of an axis.

    >>> axis_vector("-z").tolist(), axis_vector([0, 3, 4]).tolist()
    ([0.0, 0.0, -1.0], [0.0, 0.6, 0.8])
    """
    given = _AXES[value] if isinstance(value, str) else np.asarray(value, float)
    return np.asarray(given / np.linalg.norm(given))


Axis: TypeAlias = Annotated[str | ArrayLike, PlainValidator(axis)]


class AxisAngle(Part):
    """A rotation about an axis, as ``{axis: z, degrees: 90}`` or ``{axis: [1, 1, 0], angle: 0.3}``.

    >>> rotation_matrix(AxisAngle(axis="z", degrees=90)).round(12).tolist()[0]
    [0.0, -1.0, 0.0]
    """

    axis: Axis
    """The axis to turn about: x, y, z, -x, -y, -z or 3 numbers."""
    angle: Angle | None = None
    """The angle in radians."""
    degrees: Angle | None = None
    """The angle in degrees, instead of ``angle``."""

    def _findings(self) -> Iterator[Finding]:
        if (self.angle is None) == (self.degrees is None):
            yield (), "needs an angle, once; give either angle (rad) or degrees"

    @property
    def radians(self) -> float:
        """The angle, rad."""
        return float(np.deg2rad(self.degrees) if self.angle is None else self.angle)  # type: ignore[arg-type]


def quaternion(value: Any) -> Array:
    """A unit quaternion w, x, y, z; anything further than 1e-6 from unit length is refused."""
    result = array(value, (4,), what="a quaternion [w, x, y, z]")
    length = float(np.linalg.norm(result))
    if abs(length - 1.0) > ORTHONORMAL:
        unit = (result / length).round(6).tolist() if length > 0 else [1.0, 0.0, 0.0, 0.0]
        raise fail(f"{show(result)} has length {length:g}, not 1; give {unit}")
    return result


def rotation(value: Any) -> Array:
    """A rotation as quaternion or matrix, kept as given."""
    what = "a quaternion [w, x, y, z], a 3 x 3 matrix or {axis: z, angle: rad}"
    result = array(value, (4,), (3, 3), what=what)
    if result.ndim == 1:
        return quaternion(result)
    if np.abs(result.T @ result - np.eye(3)).max() > ORTHONORMAL:
        raise fail(f"{show(result)} is not orthonormal; give node axes as unit columns, or {what}")
    if np.linalg.det(result) < 0:
        raise fail(f"{show(result)} mirrors; give a right-handed frame (determinant +1)")
    return result


def _rotation_schema(_: Any, handler: Callable[[Any], CoreSchema]) -> CoreSchema:
    def check(value: Any, inner: Callable[[Any], Any]) -> Any:
        is_axis_angle = value is None or isinstance(value, (AxisAngle, Mapping))
        return inner(value) if is_axis_angle else rotation(value)

    return core_schema.no_info_wrap_validator_function(check, handler(Optional[AxisAngle]))  # noqa: UP045


Rotation: TypeAlias = Annotated[
    AxisAngle | ArrayLike | None, GetPydanticSchema(get_pydantic_core_schema=_rotation_schema)
]


def quaternion_matrix(value: ArrayLike) -> Array:
    """Rotation matrix of a quaternion w, x, y, z of any length but zero."""
    q = np.asarray(value, float)
    w, x, y, z = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def axis_rotation(unit: Array, angle: float) -> Array:
    """Rotation matrix about a unit vector (Rodrigues)."""
    x, y, z = unit
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross)


def rotation_matrix(value: AxisAngle | ArrayLike | None) -> Array:
    """The matrix R of a rotation: v_parent = R v_node; its columns are the node's axes.

    >>> rotation_matrix(None).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if value is None:
        return np.eye(3)
    if isinstance(value, AxisAngle):
        return axis_rotation(axis_vector(value.axis), value.radians)
    given = np.asarray(value, float)
    if given.ndim == 1:
        return quaternion_matrix(given)
    if np.abs(given.T @ given - np.eye(3)).max() <= 4 * np.finfo(float).eps:
        return np.array(given)
    U, _, Vt = np.linalg.svd(given)  # the nearest rotation: digits lost in a file are restored
    return np.asarray(U @ Vt)


# ------------------------------------------------------------------------------------ inertia


def inertia_matrix(value: ArrayLike) -> Array:
    """The 3 x 3 tensor of an inertia given by 3, 6 [xx, yy, zz, xy, xz, yz] or 3 x 3 numbers.

    The mixed entries are those of the tensor, ``xy = -int x y dm``.

    >>> inertia_matrix([1, 2, 3, 0.1, 0, 0]).tolist()[0]
    [1.0, 0.1, 0.0]
    """
    given = np.asarray(value, float)
    if given.shape == (3,):
        return np.diag(given)
    if given.shape == (6,):
        xx, yy, zz, xy, xz, yz = given
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return np.asarray(0.5 * (given + given.T))


def inertia_fault(tensor: Array, *, may_vanish: bool) -> str | None:
    """What makes a symmetric tensor no inertia of a real body, with the remedy; None if nothing."""
    low, middle, high = (float(x) for x in np.linalg.eigvalsh(tensor))
    moments = f"principal moments {low:g}, {middle:g}, {high:g}"
    if may_vanish:
        if low < -TRIANGLE * abs(high):
            return f"is not positive semidefinite ({moments}); no moment may be negative"
    elif low <= SINGULAR * abs(high):
        return (
            f"is not positive definite ({moments}); give all three moments above zero, "
            "also for slender bodies, and check the signs of the mixed entries"
        )
    if high - low - middle > TRIANGLE * abs(high):
        return (
            f"breaks the triangle inequality ({moments}): no moment can exceed the sum of the "
            "other two; check that it is about the centre of mass and in kg m2"
        )
    return None


def inertia(may_vanish: bool) -> Callable[[Any], Array]:
    """A checker of inertias in any of the three notations."""

    def check(value: Any) -> Array:
        what = "3 numbers, 6 numbers [xx, yy, zz, xy, xz, yz] or a 3 x 3 matrix"
        result = array(value, (3,), (6,), (3, 3), what=what, span=INERTIA)
        if result.ndim == 2 and np.abs(result - result.T).max() > TRIANGLE * np.abs(result).max():
            raise fail(f"{show(result)} is not symmetric; give a symmetric inertia")
        fault = inertia_fault(inertia_matrix(result), may_vanish=may_vanish)
        largest = float(np.abs(result).max())
        if not fault:
            fault = INERTIA.fault(largest, above_zero=True)
        if fault:
            raise fail(f"{show(result)} {fault}")
        return result

    return check


Inertia: TypeAlias = Annotated[ArrayLike, PlainValidator(inertia(may_vanish=False))]
PointInertia: TypeAlias = Annotated[ArrayLike, PlainValidator(inertia(may_vanish=True))]
