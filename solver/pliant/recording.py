"""Rows that go to disk while a run goes on.

A run writes beside each of its files, under its name with ``.partial`` added: whole rows one after
the other (``rows.py``), as text for CSV. Every second or so they are handed to the system, which
keeps them when the process is killed. Whatever ends the run then has the file made of them under
its own name, marked by how the run ended; only where the disk refuses, or nobody was left to do it,
the partial file stays, for ``Result.load`` and ``pliant recover``.

Rows are also kept in memory where nothing is written, or if they are few. Otherwise a run takes the
same memory however long it is.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic

import numpy as np

from pliant.aside import cannot_write, put_in_place, write_all
from pliant.channels import Channel
from pliant.errors import ModelError, PliantError, PliantWarning, Problem, warn
from pliant.part import show
from pliant.reduced import Array
from pliant.result_files import (
    check_outputs,
    csv_lines,
    csv_names,
    open_aside,
    partial_of,
    write_hdf5,
)
from pliant.results import Result
from pliant.rows import CsvRows, JournalRows, MemoryRows, Rows, journal_head, journal_status

COMPLETE = "complete"

_SECONDS_BETWEEN_WRITES = 1.0
_BLOCK = 1 << 15  # numbers that are written at once
_IN_MEMORY = 1 << 20  # numbers kept in memory although they are written


def output_paths(output: str | Path | Iterable[str | Path] | None, overwrite: bool) -> list[Path]:
    """The files asked for, if they can be written."""
    if output is None:
        return []
    if not isinstance(output, (str, Path, Iterable)):
        raise ModelError.at("output", f"{show(output)} is no file; give names such as 'x.h5'")
    paths = [Path(output)] if isinstance(output, (str, Path)) else [Path(path) for path in output]
    check_outputs(paths, overwrite)
    return paths


class OutputError(PliantError):
    """A file could not be written to in the middle of a run; ``Recording.finish`` says which."""


class Recording:
    """Collects rows, in memory and in files.

    ``rows`` is how many there will be at most. ``next`` gives where the next one is to be put, time
    first, and ``commit`` adds it.
    """

    def __init__(
        self,
        name: str,
        channels: Sequence[Channel],
        info: Mapping[str, str | float],
        rows: int,
        outputs: Sequence[Path] = (),
        overwrite: bool = False,
    ) -> None:
        self._name = name
        self._channels = tuple(channels)
        self._info = dict(info)
        width = 1 + len(channels)
        self._block = np.zeros((max(1, min(rows, _BLOCK // width)), width))
        self._count = 0  # rows in all
        self._before = 0  # of them in earlier blocks
        self._result: Result | None = None
        self._files: list[_File] = []
        try:
            for path in outputs:
                if path.suffix.lower() == ".csv":
                    self._files.append(_Csv(path, overwrite, self._channels))
                else:
                    self._files.append(_Journal(path, overwrite, name, self._info, self._channels))
        except BaseException:
            for file in self._files:
                file.discard()
            raise
        self._due = self._next_due()
        in_memory = not outputs or rows * width <= _IN_MEMORY
        self._memory = _Memory(rows, width) if in_memory else None

    def __len__(self) -> int:
        return self._count

    def next(self) -> Array:
        """(1 + channels,) to be filled for the next row; what was put there before is dropped."""
        row: Array = self._block[self._count - self._before]
        return row

    def commit(self) -> None:
        """Adds the row that ``next`` gave."""
        self._count += 1
        if self._count - self._before == len(self._block) or monotonic() >= self._due:
            self._hand_over()
            if any(file.trouble for file in self._files):
                raise OutputError("results cannot be written")

    def _next_due(self) -> float:
        return monotonic() + _SECONDS_BETWEEN_WRITES if self._files else float("inf")

    def _hand_over(self) -> None:
        """Rows of this block to those who do not have them.

        Each counts its own, in one assignment after it has them: Ctrl-C may come between any two
        statements, and the next call then goes on where this one was.
        """
        keepers: list[_Keeper] = [*self._files]
        if self._memory is not None:
            keepers.append(self._memory)
        for keeper in keepers:
            keeper.take(self._block[keeper.rows - self._before : self._count - self._before])
        self._before = self._count
        self._due = self._next_due()

    def tell(self, **info: float) -> None:
        """More of how the run went, known at its end."""
        self._info |= info

    def finish(self, ended: str = COMPLETE, warnings: Sequence[str] = ()) -> Result:
        """What was recorded, in the files that were asked for.

        Files that cannot be written are a ModelError with ``result``; their rows stay aside.
        """
        if self._result is not None:
            return self._result
        self._hand_over()
        # of files the one that has the most
        keeper: _Keeper = self._memory or max(self._files, key=lambda file: file.rows)
        info = {**self._info, "ended": ended}

        def result() -> Result:  # anew, since a file is elsewhere when it is finished
            return Result.of(self._name, keeper.source(), self._channels, info, warnings)

        for file in self._files:
            file.finish(result())
        self._result = result()
        if troubled := [file for file in self._files if file.trouble is not None]:
            error = ModelError([file.problem() for file in troubled])
            keep(error, self._result)
            raise error from None
        return self._result

    @property
    def written(self) -> list[Path]:
        """Where the rows are, once the run has ended."""
        files = [file for file in self._files if file.rows]
        return [file.path if file.trouble is None else file.where for file in files]

    def finish_after(self, error: BaseException, warnings: Sequence[str] = ()) -> Result | None:
        """What was recorded by a run that an error ended; what cannot be written is a warning."""
        try:
            return self.finish(reason(error), warnings)
        except ModelError as trouble:
            if not isinstance(error, OutputError):
                warn(str(trouble), PliantWarning)
                return self._result
            raise trouble from None


def keep(error: BaseException, result: Result | None, written: Sequence[Path] = ()) -> None:
    """Puts what was recorded on an exception, as ``result``, for those who catch it; those who read
    it are told which files it was written to (from Python 3.11 on)."""
    if result is None or hasattr(error, "result"):
        return
    with suppress(Exception):  # an exception may forbid it
        error.result = result  # type: ignore[attr-defined]
        if written and len(result):
            extent = f"{len(result)} rows up to t = {result.ends[1]:g} s"
            places = ", ".join(map(str, written))
            error.add_note(f"{extent} are kept in {places}")  # type: ignore[attr-defined]


def reason(error: BaseException) -> str:
    """How a run ended, in a line that any file can hold."""
    text = str(error) if isinstance(error, PliantError) else f"{type(error).__name__}: {error}"
    if isinstance(error, KeyboardInterrupt):
        text = "interrupted" + (f" by {error}" if str(error) else "")
    line = " ".join(text.split())[:500]
    return "".join(c if c.isprintable() else "?" for c in line)


# -------------------------------------------------------------------------------------- keepers


class _Keeper(ABC):
    """One who keeps rows, ``rows`` of them so far."""

    @property
    @abstractmethod
    def rows(self) -> int: ...

    @abstractmethod
    def take(self, block: Array) -> None:
        """More rows, time first."""

    @abstractmethod
    def source(self) -> Rows:
        """What was kept, to be read."""


class _Memory(_Keeper):
    """Rows in memory; the system gives it when it is first written to."""

    def __init__(self, rows: int, width: int) -> None:
        self._rows = 0
        try:
            self._time = np.zeros(rows)
            self._data = np.zeros((rows, width - 1))
        except (MemoryError, ValueError):
            raise ModelError.at(
                "every",
                f"{rows} rows of {width} numbers are too many for memory; "
                "record fewer, or give a file to write to",
            ) from None

    @property
    def rows(self) -> int:
        return self._rows

    def take(self, block: Array) -> None:
        rows = slice(self._rows, self._rows + len(block))
        self._time[rows] = block[:, 0]
        self._data[rows] = block[:, 1:]
        self._rows = rows.stop

    def source(self) -> Rows:
        return MemoryRows(self._time[: self._rows], self._data[: self._rows])


class _File(_Keeper):
    """Rows in a file aside of the one that was asked for.

    After an error of the disk nothing more is written to it; ``trouble`` says which.
    """

    def __init__(self, path: Path, overwrite: bool, head: bytes) -> None:
        self.path, self._overwrite = path, overwrite
        self.where = partial_of(path)
        self.trouble: str | None = None
        self._last: float | None = None  # time of the last row
        self._file = open_aside(self.where, overwrite)
        try:
            write_all(self._file, head)
        except OSError as error:
            self.discard()
            raise cannot_write(path, error) from None
        self._done = (0, len(head))  # rows and bytes

    @property
    def rows(self) -> int:
        return self._done[0]

    @abstractmethod
    def _bytes(self, block: Array) -> bytes | memoryview:
        """As they stand in the file."""

    @abstractmethod
    def _whole(self, data: bytes | memoryview) -> tuple[int, int]:
        """How many rows are whole in what could be written of some, and their bytes."""

    @abstractmethod
    def _complete(self, result: Result) -> None:
        """Makes the file that was asked for."""

    def take(self, block: Array) -> None:
        if self.trouble is not None or not len(block):
            return
        rows, end = self._done
        data = self._bytes(block)
        added, size = len(block), len(data)
        try:
            self._file.seek(end)
            write_all(self._file, data)
        except OSError as error:
            self.trouble = error.strerror or str(error)
            added, size = self._whole(data[: os.fstat(self._file.fileno()).st_size - end])
        if added:
            self._last = float(block[added - 1, 0])
        self._done = (rows + added, end + size)

    def finish(self, result: Result) -> None:
        """Gives the file its name, or leaves it aside; without rows there is none."""
        if not self.rows:
            self.discard()
            return
        try:
            self._file.truncate(self._done[1])  # what was begun
            if self.trouble is None:
                self._complete(result)
        except OSError as error:
            self.trouble = self.trouble or error.strerror or str(error)
        except ModelError as error:
            self.trouble = error.problems[0].message.removeprefix("cannot be written: ")
        self._file.close()

    def problem(self) -> Problem:
        left = "nothing is left of it"
        if self.rows:
            left = (
                f"{self.rows} rows up to t = {self._last:g} s are in {self.where} "
                f"('pliant recover {self.where}' makes a file of them)"
            )
        return Problem(str(self.path), f"cannot be written: {self.trouble}; {left}")

    def discard(self) -> None:
        self._file.close()
        self.where.unlink(missing_ok=True)


class _Journal(_File):
    """Of a file that is laid out otherwise than by rows, and made when they are all there."""

    def __init__(
        self,
        path: Path,
        overwrite: bool,
        name: str,
        info: Mapping[str, str | float],
        channels: Sequence[Channel],
    ) -> None:
        head = journal_head(name, info, channels)
        super().__init__(path, overwrite, head)
        self._first = len(head)
        self._width = 1 + len(channels)

    def _bytes(self, block: Array) -> memoryview:
        return block.data.cast("B")

    def _whole(self, data: bytes | memoryview) -> tuple[int, int]:
        rows = len(data) // (8 * self._width)
        return rows, rows * 8 * self._width

    def source(self) -> Rows:
        if not self.rows:
            return MemoryRows(np.zeros(0), np.zeros((0, self._width - 1)))
        if not self.where.exists():
            return Result.load(self.path).rows
        return JournalRows(self.where, self._first, self._width, self.rows)

    def finish(self, result: Result) -> None:
        with suppress(OSError):  # for whoever reads the journal if no file can be made of it
            self._file.seek(0)
            write_all(self._file, journal_status(str(result.info["ended"]), result.warnings))
        super().finish(result)

    def _complete(self, result: Result) -> None:
        write_hdf5(result, self.path, self._overwrite)
        self.where.unlink()


class _Csv(_File):
    def __init__(self, path: Path, overwrite: bool, channels: Sequence[Channel]) -> None:
        super().__init__(path, overwrite, csv_names([channel.name for channel in channels]))
        self._width = 1 + len(channels)

    def _bytes(self, block: Array) -> bytes:
        return csv_lines(block)

    def _whole(self, data: bytes | memoryview) -> tuple[int, int]:
        text = bytes(data)
        return text.count(b"\n"), text.rfind(b"\n") + 1

    def source(self) -> Rows:
        if not self.rows:
            return MemoryRows(np.zeros(0), np.zeros((0, self._width - 1)))
        return CsvRows(self.where if self.where.exists() else self.path)

    def _complete(self, result: Result) -> None:
        os.fsync(self._file.fileno())
        put_in_place(self.where, self.path, self._overwrite)
