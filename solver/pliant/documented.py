"""What ``help(pl.Joint)`` says of the fields: made from their own descriptions, once for all parts.

A field is described where it is declared, by the string below it. From there come the messages on
missing keys and the docstring of the class. What a field takes is said in words: annotations in
code are for the checker and say too much (validators) or too little (any array) to a reader.
"""

from __future__ import annotations

import inspect
import re
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import numpy as np

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from pliant.part import Part

# Kinds of values by the names that annotations have for them, or for what makes them (fields.py and
# others).
_KINDS = {
    "Number": "number",
    "numbers": "number",
    "Angle": "number",
    "Speed": "number",
    "positives": "number above 0",
    "Length": "number above 0",
    "Mass": "number above 0",
    "not_negatives": "number, 0 or above",
    "Distance": "number, 0 or above",
    "MassOrNone": "number, 0 or above",
    "whole": "whole number",
    "Flag": "True or False",
    "Text": "text",
    "Name": "name",
    "Position": "3 numbers",
    "lists": "number or list of numbers",
    "not_negative_lists": "number or list of numbers, 0 or above",
    "positive_pairs": "number or 2 numbers, above 0",
    "Axis": "'x', 'y', 'z', '-x', '-y', '-z' or 3 numbers",
    "Rotation": "quaternion, 3 x 3 matrix or {axis, angle}",
    "Inertia": "3, 6 or 3 x 3 numbers",
    "PointInertia": "3, 6 or 3 x 3 numbers",
    "Times": "list of numbers",
    "Table": "list of numbers or of rows",
    "RateTable": "list of numbers or of rows",
    "AccelerationTable": "list of numbers or of rows",
    "Values": "number, list of numbers or of rows",
    "MotionField": "Motion, function of time or 'input'",
    "Patterns": "list of patterns",
    "_AxisList": "list of axes",
    "_NameList": "list of names",
    "_Shape": "3 x n numbers",
    "_Shape2": "3 x n x n numbers",
}


class _Words(str):
    """Stands in a signature as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def document(cls: type[Part]) -> None:
    """Gives a class the docstring and the signature that its fields make."""
    fields = cls.model_fields
    if not fields:
        return
    own = inspect.cleandoc(vars(cls).get("__doc__") or "")
    cls.__doc__ = "\n\n".join([own, fields_text(cls)]) + "\n"
    cls.__signature__ = inspect.Signature(
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.is_required() else _default(field),
            )
            for name, field in sorted(fields.items(), key=lambda item: not item[1].is_required())
        ]
    )


def fields_text(cls: type[Part]) -> str:
    """The fields of a part with what they take, their defaults and their descriptions.

    >>> from pliant.joint import Friction
    >>> print(fields_text(Friction).splitlines()[2])
    viscous: number or list of numbers, 0 or above; 0.0 if left out
    """
    lines = ["Fields:", ""]
    for name, field in cls.model_fields.items():
        default = "" if field.is_required() else _default(field)
        left_out = f"; {default} if left out" if default else ""
        left_out = "; may be left out" if default == "None" else left_out
        lines.append(f"{name}: {kind_text(cls, name)}{left_out}")
        lines += [f"    {line}" for line in (field.description or "").splitlines()]
    return "\n".join(lines)


def kind_text(cls: type[Part], name: str) -> str:
    """What a field takes, in words."""
    for above in cls.__mro__:
        written = inspect.get_annotations(above).get(name)
        if isinstance(written, str):
            alternatives = [word for word in written.split(" | ") if word != "None"]
            kinds = [_KINDS.get(_maker(word)) for word in alternatives]
            if all(kinds):
                return " or ".join(kind for kind in kinds if kind)
            held = re.fullmatch(r"(dict\[Name, |list\[|)(\w+)\]?", " | ".join(alternatives))
            if held:
                return {"list[": "list of ", "": ""}.get(held[1], "dict by name of ") + held[2]
            break
    return _resolved(cls.model_fields[name].annotation)


def _maker(written: str) -> str:
    """Of ``Annotated[float, positives(MASS)]``, ``positives``; of a plain name, the name."""
    made = re.fullmatch(r"Annotated\[\w+, (?:PlainValidator\()?(\w+)\(.*\]", written)
    return made[1] if made else written


def _resolved(annotation: Any) -> str:
    """For annotations that are written out where they stand."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _resolved(inside[0])
    if origin is Literal:
        return " or ".join(map(repr, inside))
    kinds = [a for a in inside if a is not NoneType]
    if len(kinds) < len(inside) and len(kinds) == 1:
        return _resolved(kinds[0])
    if annotation is int:
        return "whole number"
    if origin is tuple:
        return "list of words"
    return "numbers"


def _default(field: FieldInfo) -> _Words:
    value = field.get_default(call_default_factory=True)
    if isinstance(value, np.ndarray):
        return _Words(f"[{', '.join(f'{x:g}' for x in value.ravel())}]")
    return _Words(list(value) if isinstance(value, tuple) else repr(value))
