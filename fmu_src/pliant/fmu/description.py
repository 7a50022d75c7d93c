"""modelDescription.xml of an FMU that anybody may have made: judged before it is believed.

FMPy reads it with lxml into objects, at a hundred times the bytes of a small element. So it is
first walked through by expat, which keeps nothing: no document type (entities are of no use in an
FMU, and of much use against its readers), bounded counts and depth. Texts come out inert.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from xml.parsers import expat

from pliant.inert import inert

DESCRIPTION = "modelDescription.xml"
LARGEST = 32_000_000  # bytes
MOST_VARIABLES = 50_000
MOST_PARTS = 1_000_000  # elements and attributes, some 200 bytes each once read
DEEPEST = 50  # elements within one another; the standard has 5, tools' own annotations some more
_LONGEST_TEXT = 1_000  # characters of a description or name that are kept
_ENCODINGS = ("utf-8", "us-ascii", "iso-8859-1", "utf-16")

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}")
_TEXTS = ("name", "description", "unit", "displayUnit", "start", "variability", "quantity")
_HEAD = ("modelName", "description", "generationTool", "guid", "author", "version")
# FMI 2.0, 2.2.9: structured names; the flat ones may be any text on a line
_PLAIN_NAME = r"[A-Za-z_]\w*|'(?:[A-Za-z0-9_!#$%&()*+,\-./:;<>=?@\[\]^{}|~ ]|\\['\"?\\abfnrtv])+'"
_INDICES = r"(?:\[\d+(?:,\d+)*\])?"
_PATH = rf"(?:{_PLAIN_NAME}){_INDICES}(?:\.(?:{_PLAIN_NAME}){_INDICES})*"
_STRUCTURED = re.compile(rf"{_PATH}|der\({_PATH}(?:,\d+)?\)", re.ASCII)


class HarmfulError(Exception):
    """A description that is not read; says why."""


def judge(text: bytes) -> None:
    """Raises a HarmfulError if to read a description would take too much, or it is no XML."""
    counts = {"parts": 0, "variables": 0, "depth": 0}

    def declared(version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            raise HarmfulError(f"is written in {inert(encoding, 40)}; FMI asks for UTF-8")

    def document_type(*_: object) -> None:
        raise HarmfulError("declares a document type (<!DOCTYPE), which no FMU needs; leave it out")

    def begin(name: str, attributes: list[str]) -> None:
        counts["parts"] += 1 + len(attributes) // 2
        counts["depth"] += 1
        counts["variables"] += name == "ScalarVariable"
        if counts["parts"] > MOST_PARTS:
            raise HarmfulError(f"has more than {MOST_PARTS:,} elements and attributes")
        if counts["variables"] > MOST_VARIABLES:
            raise HarmfulError(f"has more than {MOST_VARIABLES:,} variables")
        if counts["depth"] > DEEPEST:
            raise HarmfulError(f"has elements nested more than {DEEPEST} deep")

    def end(_: str) -> None:
        counts["depth"] -= 1

    parser = expat.ParserCreate()
    parser.ordered_attributes = True
    parser.XmlDeclHandler = declared
    parser.StartDoctypeDeclHandler = document_type
    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise HarmfulError(f"cannot be read: line {error.lineno}: {reason}") from None
    except (ValueError, LookupError) as error:  # an encoding that is none
        raise HarmfulError(f"cannot be read: {inert(str(error))}") from None


def read(text: bytes) -> tuple[Any, list[str]]:
    """FMPy's ModelDescription of a judged text, its texts inert, and faulty names and numbers."""
    from fmpy import read_model_description

    try:
        told = read_model_description(archive_of(text), validate=False)
    except Exception as error:  # FMPy raises whatever lxml or a missing attribute gave it
        problems = validation_problems(text)
        reason = problems[0] if problems else inert(str(error))
        raise HarmfulError(f"cannot be read: {reason}") from None
    wrong = [*_name_problems(told), *_value_problems(told)]
    _make_inert(told, _HEAD)
    for variable in told.modelVariables:
        _make_inert(variable, _TEXTS)
        if variable.declaredType is not None:
            _make_inert(variable.declaredType, _TEXTS)
            for item in variable.declaredType.items or ():
                _make_inert(item, ("name", "description", "value"))
    for part in (told.coSimulation, told.modelExchange, getattr(told, "scheduledExecution", None)):
        identifier = "" if part is None else str(part.modelIdentifier)
        if part is not None and not _IDENTIFIER.fullmatch(identifier):
            raise HarmfulError(
                f"modelIdentifier {inert(identifier, 60)!r} is no identifier of C; it names the "
                "library and must lead to it alone"
            )
    return told, wrong


def _make_inert(part: Any, keys: tuple[str, ...]) -> None:
    for key in keys:
        value = getattr(part, key, None)
        if isinstance(value, str) and (len(value) > _LONGEST_TEXT or not value.isprintable()):
            setattr(part, key, inert(value, _LONGEST_TEXT))


def validation_problems(text: bytes) -> list[str]:
    """What FMPy's validation finds wrong in a judged text, apart from names."""
    from fmpy import read_model_description
    from fmpy.model_description import ValidationError

    try:
        # its own check of names takes 2 ms for each
        read_model_description(
            archive_of(text),
            validate=True,
            validate_variable_names=False,
            validate_model_structure=True,
        )
    except ValidationError as error:
        return [inert(" ".join(str(problem).split()), 400) for problem in error.problems]
    except Exception as error:  # what the schema lets through and FMPy stumbles over
        return [inert(" ".join(str(error).split()), 400)]
    return []


def _name_problems(told: Any) -> list[str]:
    is_flat = told.variableNamingConvention != "structured"
    problems = []
    for variable in told.modelVariables:
        name = str(variable.name)
        wrong = bool(set(name) & set("\r\n\t")) if is_flat else not _STRUCTURED.fullmatch(name)
        if wrong:
            convention = "flat" if is_flat else "structured"
            problems.append(
                f'"{inert(name, 80)}" (line {variable.sourceline}) is not a legal variable name '
                f'for naming convention "{convention}"'
            )
    return problems


def _value_problems(told: Any) -> Iterator[str]:
    """Numbers that XML calls numbers and no computer does: NaN, 1e400."""
    experiment = told.defaultExperiment
    step = None if experiment is None else experiment.stepSize
    if step is not None and not (_is_finite(step) and float(step) > 0.0):
        yield f"stepSize {inert(str(step), 40)} is not a finite time above zero"
    for variable in told.modelVariables:
        start = variable.start
        if variable.type in ("Real", "Float64", "Float32") and start is not None:
            numbers = str(start).split() if told.fmiVersion.startswith("3") else [start]
            wrong = [number for number in numbers if not _is_finite(number)]
            if wrong:
                name = inert(str(variable.name), 80)
                yield f"{name}: the start {inert(str(wrong[0]), 40)} is not a finite number"


def _is_finite(text: object) -> bool:
    try:
        return math.isfinite(float(str(text)))
    except ValueError:
        return False


def archive_of(description: bytes) -> BytesIO:
    """An FMU with nothing but its description: FMPy reads descriptions from archives only."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(DESCRIPTION, description)
    return buffer
