"""What is in an FMU file, and what is wrong with it: ``pliant check model.fmu``.

>>> fmu = FmuFile("arm.fmu")                                              # doctest: +SKIP
>>> fmu.problems                                                          # doctest: +SKIP
[]
>>> [v.name for v in fmu.variables("input")]                              # doctest: +SKIP
['joint.shoulder.tau', 'joint.elbow.tau']
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from pliant.errors import ModelError
from pliant.fmu import description as foreign
from pliant.fmu.archive import first_bytes, first_damaged, opened, read_entry
from pliant.fmu.description import DESCRIPTION, HarmfulError
from pliant.fmu.library import HEAD, is_cut_short
from pliant.inert import inert
from pliant.report import plain_table

_DATA = "resources/model.pliant"
_LIBRARY = re.compile(r"binaries/([^/]+)/[^/]+")
_LONGEST = 12  # components that are told of one by one
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")
_CAUSALITIES = ("input", "output", "parameter")
_CAPABILITIES = {
    "canHandleVariableCommunicationStepSize": "variable communication step",
    "canGetAndSetFMUstate": "state saved and restored",
    "canSerializeFMUstate": "state as bytes",
    "providesDirectionalDerivative": "directional derivatives",
    "canInterpolateInputs": "derivatives of inputs",
    "maxOutputDerivativeOrder": "derivatives of outputs",
}

_LARGEST_DATA = 100_000_000  # bytes of pliant's own data in an FMU


class FmuFile:
    """An FMU on disk. Raises a ModelError if the file is no FMU at all, or could do harm."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with opened(self.path) as archive:
            self.names = archive.namelist()
            if DESCRIPTION not in self.names:
                raise self._error(f"is no FMU: the archive has no {DESCRIPTION}")
            self._text = read_entry(archive, DESCRIPTION, foreign.LARGEST, self.path)
            self._damaged = first_damaged(archive)
            self._cut_short = [
                entry.filename
                for entry in archive.infolist()
                if _LIBRARY.fullmatch(entry.filename)
                and is_cut_short(first_bytes(archive, entry.filename, HEAD), entry.file_size)
            ]
            self._data = (
                read_entry(archive, _DATA, _LARGEST_DATA, self.path) if self._has_data else None
            )
        with self._reported():
            foreign.judge(self._text)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except HarmfulError as error:
            raise self._error(f"{DESCRIPTION} {error}") from None

    def _error(self, message: str) -> ModelError:
        return ModelError.at(str(self.path), message)

    @property
    def _has_data(self) -> bool:
        return _DATA in self.names and self._damaged != _DATA

    @property
    def description(self) -> Any:
        """FMPy's ModelDescription, read without judging it; its texts are inert."""
        return self._read[0]

    @cached_property
    def _read(self) -> tuple[Any, list[str]]:
        with self._reported():
            return foreign.read(self._text)

    @cached_property
    def problems(self) -> list[str]:
        """Everything that is wrong with the file."""
        found = [f"{self._damaged} cannot be unpacked"] if self._damaged else []
        found += [f"{name} is cut short: it ends before its code does" for name in self._cut_short]
        found += [*foreign.validation_problems(self._text), *self._read[1]]
        if not self.platforms:
            found.append("binaries: there is none, so that no importer can run it")
        if self._data is not None:
            found += self._data_problems(self._data)
        elif self.is_of_pliant and not self._damaged:
            found.append(f"{_DATA} is missing")
        return found

    def _data_problems(self, data: bytes) -> Iterator[str]:
        from pliant.fmu._slave import Slave

        try:
            guid = Slave(data).guid
        except ValueError as error:
            yield f"{_DATA}: {error}"
            return
        if guid != self.description.guid:
            yield f"{DESCRIPTION}: its GUID is not that of {_DATA}; they are of different exports"

    # ------------------------------------------------------------------------------ what it says

    def variables(self, causality: str) -> list[Any]:
        """FMPy's ScalarVariables of one causality."""
        return [v for v in self.description.modelVariables if v.causality == causality]

    @property
    def platforms(self) -> list[str]:
        found = map(_LIBRARY.fullmatch, self.names)
        return list(dict.fromkeys(match[1] for match in found if match))

    def require_whole(self, platform: str) -> None:
        """Raises a ModelError if a library for a platform would end the process that loads it."""
        for name in self._cut_short:
            if name.startswith(f"binaries/{platform}/"):
                raise self._error(f"{name} is cut short; export or copy the FMU again")

    @property
    def is_of_pliant(self) -> bool:
        return str(self.description.generationTool).startswith("pliant ")

    @property
    def flavour(self) -> str:
        """native or python for those of pliant, else what made it."""
        if self.is_of_pliant:
            return "python" if "resources/slavemodule.txt" in self.names else "native"
        return str(self.description.generationTool or "unknown tool")

    @property
    def size(self) -> str:
        """Of the file: ``812 kB``."""
        return f"{self.path.stat().st_size / 1000:.0f} kB"

    @property
    def internal_step(self) -> float | None:
        """Of an FMU of pliant: the step of the solver inside, s."""
        from pliant.fmu._slave import Slave

        return None if self._data is None else Slave(self._data).internal_step

    @property
    def counts(self) -> str:
        """``19 inputs, 1 output, 125 parameters``.

        By the text of the description: to import FMPy for it would take longer than an export.
        """
        found = {c: self._text.count(f'causality="{c}"'.encode()) for c in _CAUSALITIES}
        return ", ".join(f"{n} {c}{'' if n == 1 else 's'}" for c, n in found.items())

    def summary(self) -> Iterator[str]:
        """Lines above the tables."""
        told, slave = self.description, self.description.coSimulation
        kinds = [
            kind
            for kind, part in (("co-simulation", slave), ("model exchange", told.modelExchange))
            if part is not None
        ]
        yield f"{self.path.name}: {told.modelName}, {told.description or 'no description'}"
        yield f"FMI {told.fmiVersion} {' and '.join(kinds)}, {self.flavour}, {self.size}, for " + (
            ", ".join(self.platforms) or "no platform"
        )
        if slave is not None:
            can = [text for flag, text in _CAPABILITIES.items() if getattr(slave, flag, None)]
            yield f"can: {', '.join(can) or 'nothing beyond stepping'}"
        experiment = told.defaultExperiment
        if experiment is not None and experiment.stepSize:
            yield f"communication step {_short(experiment.stepSize)} s unless told otherwise"
        yield f"{self.counts}, {len(self.variables('local'))} locals"

    def tables(self) -> Iterator[Table]:
        """Inputs, outputs and parameters; the components of a vector share a row."""
        for causality in _CAUSALITIES:
            rows = collapsed(self.variables(causality))
            if not rows:
                continue
            table = plain_table(f"{causality}s")
            table.add_column("name", no_wrap=True)
            table.add_column("unit")
            if causality != "output":
                table.add_column("start", max_width=16)
            table.add_column("description")
            for row in rows:
                cells = [row.name, row.unit, row.start, row.description]
                if causality == "output":
                    del cells[2]
                table.add_row(*map(Text, cells))
            yield table


@dataclass(frozen=True)
class Row:
    """A line of a table: a variable, or the components of a vector."""

    name: str
    unit: str
    start: str
    description: str


def collapsed(variables: Sequence[Any]) -> list[Row]:
    """Rows for FMPy's variables; neighbours ``r[1]``, ``r[2]``, ... become one if one text and
    one unit can stand for all, or if they are many."""
    rows: list[Row] = []
    for vector in _runs(variables, lambda v: _split(v.name)[0]):
        parts = [vector] if len(vector) > _LONGEST else _runs(vector, lambda v: v.unit)
        for part in parts:
            text = merged([_told(variable) for variable in part])
            rows += [_row([v], _told(v)) for v in part] if text is None else [_row(part, text)]
    return rows


def _runs(variables: Sequence[Any], key: Callable[[Any], object]) -> list[list[Any]]:
    """Neighbours with the same key together."""
    return [list(run) for _, run in itertools.groupby(variables, key)]


def _split(name: str) -> tuple[str, int]:
    match = re.fullmatch(r"(.*)\[(\d+)\]", name)
    return (match[1], int(match[2])) if match else (name, 0)


def _row(group: Sequence[Any], text: str) -> Row:
    first, last = group[0], group[-1]
    name, starts = first.name, [_start(variable) for variable in group]
    if len(group) > 1:
        base, index = _split(first.name)
        name = f"{base}[{index}..{_split(last.name)[1]}]"
    start = starts[0] if len(set(starts)) == 1 else ", ".join(starts)
    units = dict.fromkeys(variable.unit or "" for variable in group)
    return Row(name, ", ".join(units), start, text)


def _told(variable: Any) -> str:
    """The description without the element that the name begins with, and with the choices."""
    words = variable.name.split(".")
    elements = (" ".join([words[0], ".".join(words[1:end])]) for end in range(2, len(words)))
    text = variable.description or ""
    for element in elements:
        if text.startswith((f"{element}: ", f"{element}, ")):
            text = text[len(element) + 2 :]
            break
    choices = choices_of(variable)
    return f"{text}: {' or '.join(choices)}" if choices else text


def choices_of(variable: Any) -> dict[str, int]:
    """Names and values that an enumeration may have."""
    declared = variable.declaredType if variable.type == "Enumeration" else None
    items = declared.items if declared is not None and declared.items else ()
    return {str(item.name): int(item.value) for item in items if _INTEGER.fullmatch(item.value)}


def _start(variable: Any) -> str:
    if variable.start is None:
        return ""
    for name, value in choices_of(variable).items():
        if str(value) == str(variable.start):
            return name
    return _short(variable.start)


def _short(number: object) -> str:
    """The text of a number in few digits, other text as it is."""
    text = str(number)
    try:
        return f"{float(text):g}"
    except ValueError:
        return inert(text, 40)


def merged(texts: Sequence[str]) -> str | None:
    """One text for several that differ in one word or many times over, None for others.

    >>> merged(["force, world axes, x", "force, world axes, y", "force, world axes, z"])
    'force, world axes, x, y, z'
    >>> merged(["along x of the joint frame", "along y of the joint frame"])
    'along x, y of the joint frame'
    >>> merged(["mode 1, at the start", "mode 2, at the start"])
    'mode 1, 2, at the start'
    >>> merged(["about x of the joint", "about y of the last frame"]) is None
    True
    """
    if len(set(texts)) == 1:
        return texts[0]
    lists = [text.split(" ") for text in texts]
    least = min(map(len, lists))
    head = next((i for i in range(least) if len({words[i] for words in lists}) > 1), least)
    tail = 0
    while tail < least - head and len({words[-1 - tail] for words in lists}) == 1:
        tail += 1
    middles = [" ".join(words[head : len(words) - tail]) for words in lists]
    comma = "," if all(middle.endswith(",") for middle in middles) else ""
    middles = [middle.removesuffix(",") for middle in middles]
    if len(texts) > _LONGEST:
        middle = f"{middles[0]} to {middles[-1]}"
    elif all(" " not in middle for middle in middles):
        middle = ", ".join(middles)
    else:
        return None
    return " ".join([*lists[0][:head], middle + comma, *lists[0][len(lists[0]) - tail :]])
