"""What a user gives an FMU to run with: parameters as text, inputs over time as CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import ModelError, Problem
from pliant.fmu.inspect import FmuFile, choices_of
from pliant.part import suggest
from pliant.reduced import Array

_SAME_TIME = 1e-9  # relative: times that rounding alone keeps apart
_TRUTHS = {"true": 1, "1": 1, "false": 0, "0": 0}


class Starts:
    """Parameters and inputs set before the start, from texts such as 'rk4' or '1e-4'."""

    def __init__(self, fmu: FmuFile, values: Mapping[str, str]) -> None:
        known = {v.name: v for c in ("parameter", "input") for v in fmu.variables(c)}
        self._values: list[tuple[Any, float]] = []
        problems = []
        for name, text in values.items():
            if name not in known:
                problems.append(Problem(name, _unknown(fmu, name, known, "set before the start")))
                continue
            try:
                self._values.append((known[name], _value(known[name], text)))
            except ValueError as error:
                problems.append(Problem(name, str(error)))
        if problems:
            raise ModelError(problems)

    def apply(self, slave: Any) -> None:
        """Sets FMPy's slave before it is initialized."""
        for kind, setter in (
            ("Real", slave.setReal),
            ("Integer", slave.setInteger),
            ("Enumeration", slave.setInteger),
            ("Boolean", slave.setBoolean),
        ):
            found = [(v.valueReference, x) for v, x in self._values if v.type == kind]
            if found:
                setter(*map(list, zip(*found, strict=True)))


class InputTable:
    """Inputs over time: straight lines between rows, a jump where two rows have the same time."""

    def __init__(self, variables: Sequence[Any], times: Array, values: Array) -> None:
        is_real = np.array([v.type == "Real" for v in variables], dtype=bool)
        self.names = [v.name for v in variables if v.type == "Real"]
        self._times = times
        self._real = [v.valueReference for v in variables if v.type == "Real"]
        self._flags = [v.valueReference for v in variables if v.type != "Real"]
        self._lines, self._held = values[:, is_real], values[:, ~is_real]

    @classmethod
    def read(cls, path: str | Path, fmu: FmuFile) -> InputTable:
        """From a file with a column ``time`` and columns named as inputs are.

        Raises a ModelError with everything that is wrong with the file.
        """
        known = {v.name: v for v in fmu.variables("input")}
        try:
            with Path(path).open(newline="", encoding="utf-8-sig") as file:
                rows = [(number, row) for number, row in enumerate(csv.reader(file), 1) if row]
        except OSError as error:
            raise ModelError.at(str(path), f"cannot be read: {error.strerror}") from None
        except (csv.Error, UnicodeDecodeError) as error:
            raise ModelError.at(str(path), f"is not CSV: {error}") from None
        if len(rows) < 2:
            raise ModelError.at(
                str(path), "has no rows; give a line of names, time,joint.elbow.tau, then numbers"
            )
        head = [name.strip() for name in rows[0][1]]
        problems = _head_problems(f"{path}:1", head, known, fmu)
        data = np.zeros((len(rows) - 1, len(head)))
        for i, (number, row) in enumerate(rows[1:]):
            where = f"{path}:{number}"
            if len(row) != len(head):
                problems.append(Problem(where, f"has {len(row)} cells, the first line {len(head)}"))
                continue
            for j, (name, text) in enumerate(zip(head, row, strict=True)):
                if name != "time" and name not in known:
                    continue
                try:
                    data[i, j] = _number(text) if name == "time" else _value(known[name], text)
                except ValueError as error:
                    problems.append(Problem(f"{where}: {name}", str(error)))
        if not problems:
            problems += _time_problems(path, [n for n, _ in rows[1:]], data[:, head.index("time")])
        if problems:
            raise ModelError(problems)
        columns = [j for j, name in enumerate(head) if name != "time"]
        variables = [known[head[j]] for j in columns]
        return cls(variables, data[:, head.index("time")], data[:, columns])

    def apply(self, slave: Any, time: float, size: float, *, rates: bool) -> None:
        """Sets FMPy's slave for the step that begins now, with derivatives if it takes them."""
        if self._flags:
            slave.setBoolean(self._flags, [int(x) for x in self._held[self._row(time)]])
        if not self._real:
            return
        now = self.after(time)
        slave.setReal(self._real, now)
        if rates:
            slopes = (self.before(time + size) - now) / size
            slave.setRealInputDerivatives(self._real, [1] * len(self._real), slopes)

    def after(self, time: float) -> Array:
        """The values just after a time."""
        return self._between(self._row(time), time)

    def before(self, time: float) -> Array:
        """The values just before a time: a jump at it is yet to come."""
        first = int(np.searchsorted(self._times, time - _slack(time), side="left"))
        return self._between(max(0, first - 1), time)

    def _row(self, time: float) -> int:
        """The last row that has begun."""
        return max(0, int(np.searchsorted(self._times, time + _slack(time), side="right")) - 1)

    def _between(self, row: int, time: float) -> Array:
        """On the line from a row to the next; outside the table as at its ends."""
        times, lines = self._times, self._lines
        if row + 1 == len(times) or time <= times[row]:
            return np.asarray(lines[row])
        part = min(1.0, (time - times[row]) / (times[row + 1] - times[row]))
        return np.asarray(lines[row] + part * (lines[row + 1] - lines[row]))


def _slack(time: float) -> float:
    return _SAME_TIME * max(1.0, abs(time))


def _value(variable: Any, text: str) -> float:
    """A number for a variable from text; a ValueError says what would be right."""
    text, choices = text.strip(), choices_of(variable)
    if choices:
        if text not in choices:
            raise ValueError(f"'{text}' is no choice; {suggest(text, choices)}")
        return choices[text]
    if variable.type == "Boolean":
        if text.lower() not in _TRUTHS:
            raise ValueError(f"'{text}' is neither true nor false")
        return _TRUTHS[text.lower()]
    number = _number(text)
    if variable.type == "Integer" and number != round(number):
        raise ValueError(f"'{text}' is not a whole number")
    return number if variable.type == "Real" else round(number)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"'{text}' is not a finite number")
    return number


def _unknown(fmu: FmuFile, name: str, known: Iterable[str], what: str) -> str:
    for variable in fmu.description.modelVariables:
        if variable.name == name:
            return f"cannot be {what}: its causality is {variable.causality}"
    return f"there is no such variable; {suggest(name, known)}"


def _head_problems(
    where: str, head: Sequence[str], known: Mapping[str, Any], fmu: FmuFile
) -> list[Problem]:
    problems = []
    if "time" not in head:
        problems.append(Problem(where, "there is no column 'time'; name the first one so"))
    for name in dict.fromkeys(head):
        if head.count(name) > 1:
            problems.append(Problem(where, f"the column '{name}' is there twice"))
        if name != "time" and name not in known:
            problems.append(Problem(f"{where}: {name}", _unknown(fmu, name, known, "an input")))
    return problems


def _time_problems(path: str | Path, numbers: Sequence[int], times: Array) -> list[Problem]:
    return [
        Problem(f"{path}:{numbers[i]}: time", f"{times[i]:g} is before {times[i - 1]:g}; sort them")
        for i in range(1, len(times))
        if times[i] < times[i - 1]
    ]
