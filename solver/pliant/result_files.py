"""Files of results: how they are laid out, and how they are written so that none is ever lost.

They come into being aside (``aside.py``): a file that was there before stays as it was until the
new one is whole.

HDF5 lays out the file and never sees an error of the disk: the library, once a write has failed,
may fail again at every further call and when the process ends. It writes through ``_Target``, which
keeps the first error to be raised by us, and from then on swallows what comes. The numbers are then
written where it has put them, without it: datasets are contiguous, since their length is known.

What the file says of itself stands in it twice: as attributes, for whoever opens it with another
program, and as one text with a checksum, which is what is read back here. Text in attributes lies
in a heap of HDF5's, which, where it is damaged, keeps the library busy for ever.
"""

from __future__ import annotations

import csv
import io
import json
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.aside import cannot_write, no_folder, replacing, write_all
from pliant.channels import Channel
from pliant.errors import ModelError, Problem
from pliant.rows import PARTIAL, Hdf5Rows, check_own, head, of_head, unreadable

if TYPE_CHECKING:
    from pliant.reduced import Array
    from pliant.results import Result

HDF5_ENDINGS = (".h5", ".hdf5")
CSV_ENDINGS = (".csv",)
ENDINGS = (*HDF5_ENDINGS, *CSV_ENDINGS)

_FORMAT = 2  # of the HDF5 file
_TOLD = "pliant"  # the dataset with the text


# --------------------------------------------------------------------------------------- before


def partial_of(path: Path) -> Path:
    """Where a run keeps its rows until it ends."""
    path = path.resolve() if path.is_symlink() else path
    return path.with_name(path.name + PARTIAL)


def check_outputs(paths: Iterable[Path], overwrite: bool, but: Path | None = None) -> None:
    """That these files can be written, before a long run rather than after it.

    ``but`` is a partial file that may be there.
    """
    problems: list[Problem] = []
    seen: set[Path] = set()
    for path in paths:
        try:
            trouble, real = _trouble(path, overwrite, but), path.resolve()
        except (OSError, RuntimeError) as error:  # a name too long, a link that leads to itself
            problems.append(cannot_write(path, error).problems[0])
            continue
        if trouble is None and real in seen:
            trouble = "it is there twice; give every file once"
        if trouble is not None:
            problems.append(Problem(str(path), trouble))
        seen.add(real)
    if problems:
        raise ModelError(problems)


def _trouble(path: Path, overwrite: bool, but: Path | None) -> str | None:
    if path.is_dir() and path.suffix.lower() not in ENDINGS:
        return "it is a folder; give the name of a file"
    if (unknown := _wrong_ending(path, ENDINGS)) is not None:
        return unknown
    folder, partial = path.absolute().parent, partial_of(path)
    if (missing := no_folder(path)) is not None:
        return missing
    if path.is_dir():
        return "it is a folder; give the name of a file"
    if path.exists() and not path.is_file():
        return "it is not an ordinary file; give another name"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"the folder {path.parent} cannot be written to; give another, or a right to it"
    if path.exists() and not overwrite:
        return "it is there already; give another name, or --force (overwrite=True) to replace it"
    if partial.exists() and not overwrite and partial != but:
        return leftover(partial)
    return None


def _wrong_ending(path: Path, endings: Sequence[str]) -> str | None:
    if path.suffix.lower() in endings:
        return None
    return f"unknown kind of file; end its name in {' or '.join(endings)}"


def check_ending(path: Path, endings: Sequence[str] = ENDINGS) -> None:
    """That a file will be what its name says: nothing else is replaced by a slip."""
    if (wrong := _wrong_ending(path, endings)) is not None:
        raise ModelError.at(str(path), wrong)


def leftover(partial: Path) -> str:
    return (
        f"a run to this name was killed, or still goes on, and its rows are in {partial.name}; "
        f"'pliant recover {partial}' makes a file of them, --force (overwrite=True) drops them"
    )


# ---------------------------------------------------------------------------------------- aside


def open_aside(partial: Path, overwrite: bool) -> io.FileIO:
    """The file that a run keeps its rows in, held against other runs."""
    try:
        # neither created nor emptied before it is known to be nobody else's
        flags = os.O_RDWR | os.O_CREAT | (0 if overwrite else os.O_EXCL)
        file = io.FileIO(os.open(partial, flags, 0o666), "r+")
    except FileExistsError:
        raise ModelError.at(str(partial.name.removesuffix(PARTIAL)), leftover(partial)) from None
    except OSError as error:
        raise cannot_write(partial, error) from None
    if not hold(file):
        file.close()
        raise ModelError.at(str(partial), "a run still writes it; wait, or give another name")
    file.truncate(0)
    return file


def hold(file: io.FileIO) -> bool:
    """Whether nobody else holds the file; true where that cannot be known."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # not every file system can
        return True
    return True


# ----------------------------------------------------------------------------------------- HDF5


class _Target:
    """A file as HDF5 wants it, which never fails; see above."""

    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self._error: BaseException | None = None

    def check(self) -> None:
        if self._error is not None:
            raise self._error

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size) or b""

    def readinto(self, buffer: Any) -> int:
        return self._file.readinto(buffer)

    def write(self, data: memoryview) -> int:
        if self._error is None:
            try:
                write_all(self._file, data)
            except BaseException as error:
                self._error = error
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        if self._error is None:
            try:
                return self._file.truncate(size)
            except BaseException as error:
                self._error = error
        return size or 0

    def flush(self) -> None:
        pass


def write_hdf5(result: Result, path: Path, overwrite: bool = True) -> None:
    """One dataset a quantity."""
    import h5py

    check_ending(path, HDF5_ENDINGS)
    with replacing(path, overwrite) as file:
        target = _Target(file)
        try:
            with h5py.File(target, "w") as hdf5:
                places = _lay_out(hdf5, result)
        except (OSError, RuntimeError, ValueError):
            target.check()
            raise
        target.check()
        done = 0
        for piece in result.rows.pieces(range(1 + len(result.channels))):
            for offset, columns in places:
                values = np.ascontiguousarray(piece[:, columns], "<f8")
                file.seek(offset + 8 * done * values.shape[1])
                write_all(file, values.data)
            done += len(piece)


def _lay_out(hdf5: Any, result: Result) -> list[tuple[int, slice | list[int]]]:
    """All but the numbers; for each dataset where they begin, and its columns, time first."""
    import h5py

    at_once = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    at_once.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    at_once.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    places: list[tuple[int, slice | list[int]]] = []

    def dataset(where: str, shape: tuple[int, ...], columns: Sequence[int]) -> Any:
        made = hdf5.create_dataset(where, shape, "<f8", dcpl=at_once)
        if shape[0]:
            first, last = columns[0], columns[-1]
            together = list(columns) == [*range(first, last + 1)]
            chosen = slice(first, last + 1) if together else list(columns)
            places.append((made.id.get_offset(), chosen))
        return made

    count, channels = len(result), result.channels
    hdf5.attrs["pliant_result"] = _FORMAT
    hdf5.attrs["name"] = result.name
    hdf5.attrs["warnings"] = "\n".join(result.warnings)
    info = hdf5.create_group("info")
    for key, value in result.info.items():
        info.attrs[key] = value
    dataset("time", (count,), [0]).attrs["unit"] = "s"
    where: list[tuple[str, int]] = [("", 0)] * len(channels)  # dataset and component
    bases: dict[str, list[int]] = {}
    for i, channel in enumerate(channels):
        bases.setdefault(channel.base, []).append(i)
    for order, (base, columns) in enumerate(bases.items()):
        members = [channels[i] for i in columns]
        several = len(columns) > 1 or members[0].component > 0
        shape = (count, len(columns)) if several else (count,)
        path = _free_path(hdf5, base, order)
        for component, i in enumerate(columns):
            where[i] = (path, component)
        attributes = dataset(path, shape, [1 + i for i in columns]).attrs
        attributes["order"] = order
        attributes["name"] = base
        attributes["unit"] = [channel.unit for channel in members]
        attributes["component"] = [channel.component for channel in members]
    told = {
        **head(result.name, result.info, channels),
        "warnings": list(result.warnings),
        "rows": count,
        "places": where,
    }
    text = json.dumps(told).encode()
    stored = hdf5.create_dataset(_TOLD, data=np.frombuffer(text, np.uint8))
    stored.attrs["crc32"] = zlib.crc32(text)
    return places


def read_hdf5(
    path: Path,
) -> tuple[str, Hdf5Rows, list[Channel], dict[str, str | float], list[str]]:
    """Name, rows, channels, info and warnings of what ``write_hdf5`` wrote."""
    import h5py

    try:
        # a Python file needs no lock, which not every file system has
        with path.open("rb") as file, h5py.File(file, "r") as hdf5:
            if hdf5.attrs.get("pliant_result") != _FORMAT:
                raise ModelError.at(
                    str(path), "this HDF5 file is not a result of pliant; give one of its own"
                )
            text = hdf5[_TOLD]
            if text.dtype != np.uint8 or text.ndim != 1 or text.size > path.stat().st_size:
                raise ValueError("it does not say what is in it")
            check_own(text)
            data = text[...].tobytes()
            if zlib.crc32(data) != text.attrs["crc32"]:
                raise ValueError("it is damaged: its checksum does not match")
        told = json.loads(data)
        name, info, channels = of_head(told)
        warnings = [str(warning) for warning in told["warnings"]]
        places = [("time", 0), *((str(where), int(part)) for where, part in told["places"])]
        if len(places) != 1 + len(channels):
            raise ValueError("it does not say where its channels are")
        count = int(told["rows"])
        if not 0 <= 8 * count * len(places) <= path.stat().st_size:
            raise ValueError("it is shorter than its rows")
        return name, Hdf5Rows(path, places, count), channels, info, warnings
    except (
        OSError,
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
        OverflowError,
        RuntimeError,
    ) as error:
        raise unreadable(path, error) from None


def _free_path(hdf5: Any, base: str, order: int) -> str:
    """The path of a dataset; a name that another one or a group stands in the way of gives way."""
    path = _hdf5_path(base)
    parts = path.split("/")
    above = ("/".join(parts[:i]) for i in range(1, len(parts)))
    is_free = all(parts) and path not in hdf5 and not any(_is_dataset(hdf5, p) for p in above)
    return path if is_free else f"other/{order}"


def _is_dataset(hdf5: Any, path: str) -> bool:
    return path in hdf5 and not hasattr(hdf5[path], "keys")


def _hdf5_path(base: str) -> str:
    """A slash in an element's name must not open a group of its own."""
    return base.replace("%", "%25").replace("/", "%2F").replace(".", "/")


# ------------------------------------------------------------------------------------------ CSV


def write_csv(result: Result, path: Path) -> None:
    """One row a time, first line the names; numbers with all their digits."""
    check_ending(path, CSV_ENDINGS)
    with replacing(path) as file:
        write_all(file, csv_names(result.names))
        for piece in result.rows.pieces(range(1 + len(result.channels))):
            for first in range(0, len(piece), 1000):
                write_all(file, csv_lines(piece[first : first + 1000]))


def csv_names(names: Sequence[str]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerow(["time", *names])
    return text.getvalue().encode()


def csv_lines(rows: Array) -> bytes:
    return "".join([",".join(map(repr, row)) + "\r\n" for row in rows.tolist()]).encode()


def ended_early(info: Mapping[str, str | float]) -> bool:
    return info.get("ended", "complete") != "complete"
