"""What a user gives an FMU to run with: parameters as text, inputs over time as CSV."""

from __future__ import annotations

import csv
import math
import stat
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from pliant._kernel import LARGEST_INPUT, LARGEST_TIME
from pliant.errors import ModelError, Problem
from pliant.fmu.inspect import FmuFile, choices_of
from pliant.inert import inert
from pliant.part import suggest
from pliant.reduced import Array

_SAME_TIME = 1e-9  # relative: times that rounding alone keeps apart
_LARGEST_FILE = 200_000_000  # bytes
_LONGEST_LINE = 1_000_000  # characters
_MOST_CELLS = 5_000_000
_MOST_PROBLEMS = 20  # told of one file
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
        rows = _rows(Path(path))
        _, first = next(rows, (1, []))
        head = [name.strip() for name in first]
        problems = _head_problems(f"{path}:1", head, known, fmu) if head else []
        cells, numbers = array("d"), array("q")  # 8 bytes a number: the file may be long
        for number, row in rows:
            where = f"{path}:{number}"
            numbers.append(number)
            if len(row) != len(head):
                problems.append(Problem(where, f"has {len(row)} cells, the first line {len(head)}"))
                row = ["0"] * len(head)
            for name, text in zip(head, row, strict=True):
                try:
                    if name == "time":
                        cells.append(_time(text))
                    else:
                        cells.append(_value(known[name], text) if name in known else 0.0)
                except ValueError as error:
                    problems.append(Problem(f"{where}: {inert(name, 60)}", str(error)))
                    cells.append(0.0)
            if len(cells) > _MOST_CELLS:
                raise ModelError.at(where, f"is beyond {_MOST_CELLS:,} numbers; shorten the file")
            if len(problems) > _MOST_PROBLEMS:
                raise ModelError([*problems, Problem(where, "nothing was read from here on")])
        if not len(numbers):
            raise ModelError.at(
                str(path), "has no rows; give a line of names, time,joint.elbow.tau, then numbers"
            )
        data = np.frombuffer(cells).reshape(len(numbers), len(head))
        if not problems:
            problems += _time_problems(path, numbers, data[:, head.index("time")])
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


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Lines of a CSV file that hold anything, with their numbers."""
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            raise ModelError.at(str(path), "is no file; give a CSV file of inputs over time")
        if state.st_size > _LARGEST_FILE:
            size, most = (f"{bytes_ / 1e6:,.0f} MB" for bytes_ in (state.st_size, _LARGEST_FILE))
            raise ModelError.at(str(path), f"has {size}; at most {most} are read")
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(_lines(file))
            for row in reader:
                if row:
                    yield reader.line_num, row
    except OSError as error:
        raise ModelError.at(str(path), f"cannot be read: {error.strerror}") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise ModelError.at(str(path), f"is not CSV: {inert(str(error))}") from None


def _lines(file: TextIO) -> Iterator[str]:
    while line := file.readline(_LONGEST_LINE + 1):
        if len(line) > _LONGEST_LINE:
            raise csv.Error(f"a line is longer than {_LONGEST_LINE:,} characters")
        yield line


def _time(text: str) -> float:
    time = _number(text)
    if abs(time) > LARGEST_TIME:
        raise ValueError(f"{time:g} s is beyond {LARGEST_TIME:g} s, the longest time of a run")
    return time


def _slack(time: float) -> float:
    return _SAME_TIME * max(1.0, abs(time))


def _value(variable: Any, text: str) -> float:
    """A number for a variable from text; a ValueError says what would be right."""
    text, choices = text.strip(), choices_of(variable)
    shown = inert(text, 40)
    if choices:
        if text not in choices:
            raise ValueError(f"'{shown}' is no choice; {suggest(text, choices)}")
        return choices[text]
    if variable.type == "Boolean":
        if text.lower() not in _TRUTHS:
            raise ValueError(f"'{shown}' is neither true nor false")
        return _TRUTHS[text.lower()]
    number = _number(text)
    if variable.type == "Integer" and number != round(number):
        raise ValueError(f"'{shown}' is not a whole number")
    if variable.type == "Integer" and abs(number) > 2**31 - 1:
        raise ValueError(f"'{shown}' is beyond {2**31 - 1}, the largest that FMI can hand over")
    if abs(number) > LARGEST_INPUT:
        raise ValueError(f"'{shown}' is beyond {LARGEST_INPUT:g}, the largest that is handed over")
    return number if variable.type == "Real" else round(number)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"'{inert(text, 40)}' is not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"'{inert(text, 40)}' is not a finite number")
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
    if len(head) > 1 + len(known):  # one is unknown or twice; a line of a million is no head
        head = head[: _MOST_PROBLEMS + len(known)]
    for name in dict.fromkeys(head):
        if len(problems) > _MOST_PROBLEMS:
            break
        if head.count(name) > 1:
            problems.append(Problem(where, f"the column '{inert(name, 60)}' is there twice"))
        if name != "time" and name not in known:
            problems.append(
                Problem(f"{where}: {inert(name, 60)}", _unknown(fmu, name, known, "an input"))
            )
    return problems


def _time_problems(path: str | Path, numbers: Sequence[int], times: Array) -> list[Problem]:
    falling = np.flatnonzero(np.diff(times) < 0.0)[:_MOST_PROBLEMS] + 1
    return [
        Problem(f"{path}:{numbers[i]}: time", f"{times[i]:g} is before {times[i - 1]:g}; sort them")
        for i in map(int, falling)
    ]
