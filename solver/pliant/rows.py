"""Rows of a result, wherever they are: in memory, or in a file that is read as far as asked for.

Column 0 is time, column ``i`` the i-th channel. Everything is read in pieces of about 2 MB, so that
a column of an hour's run costs the memory of that column.

The journal is what a run writes while it goes (``recording.py``): whole rows of doubles one after
the other, behind a head that says what they are. Nothing in it is ever rewritten but the status, so
that whatever ends the process, the rows before are good; a row that was cut off is left out.

    0       magic, then status as JSON, filled up with blanks to 4096 bytes
    4096    number of bytes of the head, little endian, 8 bytes
    4104    head as JSON: name, info, channels; blanks up to a multiple of 8
    then    rows: 1 + number of channels doubles each
"""

from __future__ import annotations

import csv
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from pliant.channels import Channel
from pliant.errors import ModelError
from pliant.reduced import Array

MAGIC = b"pliant rows 1\n"
PARTIAL = ".partial"  # added to the name of a file that a run has not finished
STATUS_SIZE = 4096  # bytes, with the magic

_PIECE = 1 << 18  # numbers
_CSV_ROWS = 4096


class Rows(Protocol):
    """Rows that can be read column by column."""

    def __len__(self) -> int: ...

    def pieces(self, columns: Sequence[int]) -> Iterator[Array]:
        """These columns of some rows after the other, (rows, columns) each."""
        ...


def read(rows: Rows, columns: Sequence[int]) -> Array:
    """(N, columns) of all rows."""
    out = np.zeros((len(rows), len(columns)))
    done = 0
    for piece in rows.pieces(columns):
        out[done : done + len(piece)] = piece
        done += len(piece)
    return out


class MemoryRows:
    """In memory: ``time`` (N,), ``data`` (N, channels)."""

    def __init__(self, time: Array, data: Array) -> None:
        self.time = time
        self.data = data

    def __len__(self) -> int:
        return len(self.time)

    def pieces(self, columns: Sequence[int]) -> Iterator[Array]:
        chosen = np.asarray(columns, np.intp)
        step = _rows_in_a_piece(len(columns))
        for first in range(0, len(self), step):
            rows = slice(first, first + step)
            out = np.empty((len(self.time[rows]), len(columns)))
            is_time = chosen == 0
            out[:, is_time] = self.time[rows, None]
            out[:, ~is_time] = self.data[rows, chosen[~is_time] - 1]
            yield out


class _FileRows:
    """In a file, which must be the one that was opened first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._identity = self._look()

    def _look(self) -> tuple[int, ...]:
        """Where a run still writes, size and time of change say nothing."""
        found = os.stat(self.path)
        if not stat.S_ISREG(found.st_mode):
            raise unreadable(self.path, OSError("not an ordinary file"))
        return found.st_dev, found.st_ino

    def open(self) -> IO[bytes]:
        try:
            if self._look() == self._identity:
                return self.path.open("rb")
        except OSError as error:
            raise unreadable(self.path, error) from None
        raise ModelError.at(str(self.path), "it was replaced since this result was loaded; load it")


class JournalRows(_FileRows):
    """In the journal of a run."""

    def __init__(self, path: Path, first: int, width: int, count: int) -> None:
        super().__init__(path)
        self._first = first
        self._width = width
        self._count = count

    def __len__(self) -> int:
        return self._count

    def pieces(self, columns: Sequence[int]) -> Iterator[Array]:
        step = _rows_in_a_piece(self._width)
        with self.open() as file:
            file.seek(self._first)
            for first in range(0, self._count, step):
                count = min(step, self._count - first)
                whole = np.fromfile(file, "<f8", count * self._width).reshape(-1, self._width)
                if len(whole) < count:
                    raise ModelError.at(str(self.path), "it has become shorter; load it again")
                everything = len(columns) == self._width and list(columns) == [*range(self._width)]
                yield whole if everything else whole[:, columns]


class Hdf5Rows(_FileRows):
    """In datasets of an HDF5 file; ``places`` holds dataset and component of each column."""

    def __init__(self, path: Path, places: Sequence[tuple[str, int]], count: int) -> None:
        super().__init__(path)
        self._places = places
        self._count = count

    def __len__(self) -> int:
        return self._count

    def pieces(self, columns: Sequence[int]) -> Iterator[Array]:
        import h5py

        wanted: dict[str, list[tuple[int, int]]] = {}
        for place, column in enumerate(columns):
            dataset, component = self._places[column]
            wanted.setdefault(dataset, []).append((place, component))
        step = _rows_in_a_piece(len(columns))
        try:
            with self.open() as file, h5py.File(file, "r") as hdf5:
                for first in range(0, self._count, step):
                    rows = slice(first, min(first + step, self._count))
                    out = np.empty((rows.stop - rows.start, len(columns)))
                    for dataset, places in wanted.items():
                        check_own(hdf5[dataset])
                        values = hdf5[dataset][rows].reshape(len(out), -1)
                        for place, component in places:
                            out[:, place] = values[:, component]
                    yield out
        except (OSError, LookupError, ValueError, TypeError, RuntimeError) as error:
            raise unreadable(self.path, error) from None


def check_own(dataset: Any) -> None:
    """Numbers are in the file itself, not in another one that it names."""
    if not hasattr(dataset, "is_virtual"):
        raise ValueError("it has no numbers where it says")
    if dataset.external or dataset.is_virtual:
        raise ValueError("it takes numbers from other files")


class CsvRows(_FileRows):
    """In a CSV file, which is read anew for everything asked for; a line cut off is left out."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._count, self._end, last = -1, 0, 0  # the first line are the names
        with self.open() as file:
            while block := file.read(1 << 20):
                self._count += block.count(b"\n")
                if (newline := block.rfind(b"\n")) >= 0:
                    self._end = last + newline + 1
                last += len(block)
        self._count = max(self._count, 0)
        with self._lines() as lines:
            try:
                self.names = next(csv.reader(lines), [])
            except csv.Error as error:
                raise unreadable(path, error) from None

    def __len__(self) -> int:
        return self._count

    def _lines(self) -> _Lines:
        return _Lines(self.open(), self._end)

    def pieces(self, columns: Sequence[int]) -> Iterator[Array]:
        done = 0
        with self._lines() as lines:
            reader = csv.reader(lines)
            next(reader)
            while True:
                try:
                    rows = list(islice(reader, _CSV_ROWS))
                    if not rows:
                        break
                    piece = np.array([[row[i] for i in columns] for row in rows], float)
                except (ValueError, IndexError, csv.Error) as error:
                    raise unreadable(self.path, error) from None
                done += len(piece)
                yield piece
        if done != self._count:
            raise unreadable(self.path, ValueError("its rows are not its lines"))


class _Lines:
    """The lines of a text file up to a byte."""

    def __init__(self, file: IO[bytes], end: int) -> None:
        self._file = file
        self._end = end

    def __enter__(self) -> Iterator[str]:
        return self._texts()

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _texts(self) -> Iterator[str]:
        left = self._end
        for line in self._file:
            left -= len(line)
            if left < 0:
                return
            yield line.decode("utf-8", errors="replace")


# -------------------------------------------------------------------------------------- journal


def journal_status(ended: str | None, warnings: Sequence[str] = ()) -> bytes:
    """The first 4096 bytes; without a reason the run goes on, or was killed."""
    status: dict[str, Any] = {"ended": None if ended is None else ended[:500], "warnings": []}
    for text in warnings:
        status["warnings"].append(text)
        if len(json.dumps(status)) > STATUS_SIZE - len(MAGIC):
            status["warnings"].pop()
            break
    return (MAGIC + json.dumps(status).encode()).ljust(STATUS_SIZE)


def head(name: str, info: Mapping[str, str | float], channels: Sequence[Channel]) -> dict[str, Any]:
    """What is told of a result, as JSON takes it."""
    return {
        "name": name,
        "info": dict(info),
        "channels": [[c.name, c.unit, *c.source, c.index] for c in channels],
    }


def of_head(told: Any) -> tuple[str, dict[str, str | float], list[Channel]]:
    """Name, info and channels of what ``head`` gave; raises anything if it is something else."""
    info = {_text(k): _text(x) if isinstance(x, str) else float(x) for k, x in told["info"].items()}
    channels = [
        Channel(_text(name), _text(unit), (_text(source), int(number)), int(index))
        for name, unit, source, number, index in told["channels"]
    ]
    return _text(told["name"]), info, channels


def _text(told: Any) -> str:
    """What any file can hold: JSON knows halves of characters, and zeros, which end texts of C."""
    text = str(told)
    text.encode()
    if "\0" in text:
        raise ValueError(f"{text!r:.80} has a zero in it")
    return text


def journal_head(name: str, info: Mapping[str, str | float], channels: Sequence[Channel]) -> bytes:
    """What stands before the rows."""
    text = json.dumps(head(name, info, channels)).encode()
    text += b" " * (-len(text) % 8)
    return journal_status(None) + len(text).to_bytes(8, "little") + text


def read_journal(
    path: Path,
) -> tuple[str, dict[str, str | float], list[Channel], JournalRows, str | None, list[str]]:
    """Name, info, channels, rows, how the run ended (None: it did not say) and warnings."""
    try:
        with path.open("rb") as file:
            status = json.loads(file.read(STATUS_SIZE)[len(MAGIC) :])
            size = int.from_bytes(file.read(8), "little")
            told = json.loads(file.read(size))
            first = file.tell()
            end = file.seek(0, os.SEEK_END)
        name, info, channels = of_head(told)
        width = 1 + len(channels)
        rows = JournalRows(path, first, width, (end - first) // (8 * width))
        ended = None if status["ended"] is None else _text(status["ended"])
        return name, info, channels, rows, ended, [_text(text) for text in status["warnings"]]
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        OverflowError,
        MemoryError,
        RecursionError,
    ) as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: Exception) -> ModelError:
    if isinstance(error, FileNotFoundError):
        left = path.with_name(path.name + PARTIAL)
        hint = ""
        with suppress(OSError):  # a name too long
            if left.exists():
                hint = f"; but there is {left.name}, of a run that did not finish"
        return ModelError.at(str(path), f"no such file{hint}")
    return ModelError.at(str(path), f"not a readable result file: {error}")


def _rows_in_a_piece(columns: int) -> int:
    return max(1, _PIECE // max(columns, 1))
