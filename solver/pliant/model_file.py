"""Model files: a ``System`` as YAML, with file and line in every message.

The file begins with ``pliant: 1``, the version of the format; the other keys are the fields of
``System``. What is written is read back as an equal system, number for number.
"""

from __future__ import annotations

import difflib
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pliant.aside import replacing, write_all
from pliant.errors import ModelError, Problem
from pliant.part import path as element_path
from pliant.part import show
from pliant.source import Source
from pliant.system import System, survey_data
from pliant.yaml_text import UnreadableError, read, write

FORMAT = 1
LARGEST_FILE = 16_000_000  # bytes; tables of numbers take ten times theirs while they are read
_MOST_PROBLEMS = 100  # told of one file

_FOREIGN = "not a pliant model file; such a file begins with the line 'pliant: 1'"
_BINARY = {
    b"PK\x03\x04": "a zip archive (an FMU?)",
    b"\x89HDF": "an HDF5 file (a result?)",
    b"\x7fELF": "a program",
    b"\x89PNG": "a picture",
    b"%PDF": "a PDF document",
    b"\x93NUM": "a numpy array",
}


def load(path: str | Path) -> System:
    """Reads a model file.

    Raises a ModelError that lists every problem as ``arm.yaml:7: joints.elbow.axis: ...``.

    >>> arm = load("arm.yaml")                                           # doctest: +SKIP
    """
    return from_yaml(_read_text(Path(path), str(path)), file=str(path))


def save(system: System, path: str | Path) -> None:
    """Writes a model file that ``load`` reads back as an equal system; one that was there is
    replaced once the new one is whole.

    >>> save(arm, "arm.yaml")                                            # doctest: +SKIP
    """
    text = to_yaml(system).encode()
    with replacing(Path(path)) as file:
        write_all(file, text)


def from_yaml(text: str, file: str = "model.yaml") -> System:
    """The system that the text of a model file describes; ``file`` is named in messages.

    >>> system = from_yaml('''
    ... pliant: 1
    ... name: pendulum
    ... gravity: [0, 0, -9.81]
    ... bodies:
    ...   rod: {mass: 1.0, com: [0.5, 0, 0], inertia: [0.001, 0.08, 0.08]}
    ... joints:
    ...   hinge: {type: revolute, axis: y, child: rod, start: 0.3}
    ... ''')
    >>> system.joints["hinge"].axis
    'y'
    """
    try:
        document = read(text)
    except UnreadableError as error:
        message = error.message if "pliant" in text[:2000] else f"{error.message} ({_FOREIGN})"
        raise ModelError.at(f"{file}:{error.line}", message) from None
    data = document.value
    if data is None:
        raise ModelError.at(f"{file}:1", f"the file is empty; {_FOREIGN}")
    if not isinstance(data, Mapping):
        raise ModelError.at(f"{file}:1", f"{show(data)}: {_FOREIGN}")
    if "pliant" not in data and not {"bodies", "joints"} & set(data):
        keys = ", ".join(str(key) for key in list(data)[:5])
        raise ModelError.at(f"{file}:1", f"{_FOREIGN}; here are {keys}")

    source = Source(file, document.lines)
    found = []
    for line, place, message in document.faults:
        where = f"{file}:{line}: {element_path(place)}" if place else f"{file}:{line}"
        found.append((line, Problem(where, message)))
    version_fault = _version_fault(data)
    if version_fault:
        line = source.line(("pliant",))
        found.append((line, Problem(source.where(("pliant",)), version_fault)))
        if _is_newer(data.get("pliant")):  # its keys may mean something else
            raise ModelError(problem for _, problem in found)
    survey = survey_data({key: value for key, value in data.items() if key != "pliant"})
    findings = survey.findings
    if found or findings:
        from pliant.mechanism import reduce_bodies  # what would come up next, in the same go

        findings = findings + reduce_bodies(survey.parts.bodies, {})[1]
    found += [
        (source.line(place), Problem(source.where(place), message))
        for place, message in findings
        if place not in document.unreadable
    ]
    if found or survey.system is None:
        problems = [problem for _, problem in sorted(found, key=lambda item: item[0])]
        if len(problems) > _MOST_PROBLEMS:
            left = len(problems) - _MOST_PROBLEMS
            problems[_MOST_PROBLEMS:] = [Problem(file, f"... and {left} more problems")]
        raise ModelError(problems)
    survey.system._source = source
    return survey.system


def to_yaml(system: System) -> str:
    """The text of the model file of a system, which must be without problems."""
    if not isinstance(system, System):
        raise ModelError.at("save", f"{show(system)} is no System; only these have a model file")
    system.validate_model()
    functions = [
        Problem(
            f"joints.{name}.motion",
            f"{show(joint.motion)} is a Python function, which a file cannot hold; give a table, "
            "pl.Motion(times=..., position=...)",
        )
        for name, joint in system.joints.items()
        if callable(joint.motion)
    ]
    if functions:
        raise ModelError(functions)
    return write({"pliant": FORMAT, **system.plain()})


def _version_fault(data: Mapping[str, Any]) -> str | None:
    if "pliant" not in data:
        return "missing; begin the file with the line 'pliant: 1', the version of its format"
    version = data["pliant"]
    if isinstance(version, int) and not isinstance(version, bool) and version == FORMAT:
        return None
    if _is_newer(version):
        return f"{version} is a newer format than this pliant reads, {FORMAT}; update pliant"
    return f"{show(version)} is not a version of the format; write pliant: {FORMAT}"


def _is_newer(version: object) -> bool:
    return isinstance(version, (int, float)) and version > FORMAT


def _read_text(path: Path, shown: str) -> str:
    if "\0" in shown:
        raise ModelError.at(repr(shown), "no file has a zero in its name")
    try:
        raw = _read_bytes(path, shown)
    except FileNotFoundError:
        raise ModelError.at(shown, f"there is no such file; {_neighbours(path)}") from None
    except IsADirectoryError:
        raise ModelError.at(shown, f"is a folder; {_neighbours(path / 'model.yaml')}") from None
    except OSError as error:
        raise ModelError.at(shown, f"cannot be read: {error.strerror}") from None
    for magic, what in _BINARY.items():
        if raw.startswith(magic):
            raise ModelError.at(f"{shown}:1", f"this is {what}, {_FOREIGN}")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"byte {raw[error.start]:#04x} is not UTF-8 text; save the file as UTF-8, "
        raise ModelError.at(f"{shown}:{line}", f"{message}or it is {_FOREIGN}") from None
    if "\0" in text:
        raise ModelError.at(f"{shown}:1", f"this is no text, {_FOREIGN}")
    if text.lstrip().startswith("<"):
        raise ModelError.at(f"{shown}:1", f"this is XML (URDF, SDF?), {_FOREIGN}")
    return text


def _read_bytes(path: Path, shown: str) -> bytes:
    state = path.stat()
    if not stat.S_ISREG(state.st_mode) and not stat.S_ISDIR(state.st_mode):
        raise ModelError.at(shown, "is no file; give the path of one")
    if state.st_size > LARGEST_FILE:
        size = f"{state.st_size / 1e6:,.0f} MB"
        raise ModelError.at(
            shown, f"has {size}; a model file has at most {LARGEST_FILE / 1e6:,.0f} MB"
        )
    return path.read_bytes()


def _neighbours(path: Path) -> str:
    """The model files beside a path, the most similar first."""
    try:
        names = sorted(p.name for p in path.parent.iterdir() if p.suffix in (".yaml", ".yml"))
    except OSError:
        return f"nor a folder {str(path.parent)!r}; check the path"
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.4) or names[:3]
    return (
        f"did you mean {' or '.join(near)}?" if near else "no .yaml file is there; check the path"
    )
