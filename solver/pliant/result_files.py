"""Files of results: how they are laid out, and how they are written so that none is ever lost.

A file comes into being aside, under a name of its own in the same folder, and takes its name only
when it is whole and on the disk. So a file of that name that was there before stays as it was until
then, whatever happens.

HDF5 lays out the file and never sees an error of the disk: the library, once a write has failed,
may fail again at every further call and when the process ends. It writes through ``_Target``, which
keeps the first error to be raised by us, and from then on swallows what comes. The numbers are then
written where it has put them, without it: datasets are contiguous, since their length is known.
"""

from __future__ import annotations

import csv
import io
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.channels import Channel
from pliant.errors import ModelError, Problem
from pliant.rows import PARTIAL, Hdf5Rows, unreadable

if TYPE_CHECKING:
    from pliant.reduced import Array
    from pliant.results import Result

HDF5_ENDINGS = (".h5", ".hdf5")
CSV_ENDINGS = (".csv",)
ENDINGS = (*HDF5_ENDINGS, *CSV_ENDINGS)

_FORMAT = 1  # of the HDF5 file


# --------------------------------------------------------------------------------------- before


def partial_of(path: Path) -> Path:
    """Where a run keeps its rows until it ends."""
    path = path.resolve() if path.is_symlink() else path
    return path.with_name(path.name + PARTIAL)


def check_outputs(paths: Iterable[Path], overwrite: bool, but: Path | None = None) -> None:
    """That these files can be written, before a long run rather than after it.

    ``but`` is a partial file that may be there.
    """
    problems, seen = [], set()
    for path in paths:
        trouble = _trouble(path, overwrite, but)
        if trouble is None and path.absolute() in seen:
            trouble = "it is there twice; give every file once"
        if trouble is not None:
            problems.append(Problem(str(path), trouble))
        seen.add(path.absolute())
    if problems:
        raise ModelError(problems)


def _trouble(path: Path, overwrite: bool, but: Path | None) -> str | None:
    folder, partial = path.absolute().parent, partial_of(path)
    if (unknown := _wrong_ending(path, ENDINGS)) is not None:
        return unknown
    if (missing := _no_folder(path)) is not None:
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


def _no_folder(path: Path) -> str | None:
    if path.absolute().parent.is_dir():
        return None
    return f"there is no folder {path.parent}; make it first"


def leftover(partial: Path) -> str:
    return (
        f"a run to this name was killed, or still goes on, and its rows are in {partial.name}; "
        f"'pliant recover {partial}' makes a file of them, --force (overwrite=True) drops them"
    )


def cannot_write(path: Path, error: Exception, what_is_left: str = "") -> ModelError:
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return ModelError.at(str(path), f"cannot be written: {text}{what_is_left}")


# ---------------------------------------------------------------------------------------- aside


@contextmanager
def replacing(path: Path) -> Iterator[io.FileIO]:
    """A new file that takes the place of ``path`` if nothing goes wrong, and else is gone."""
    if (missing := _no_folder(path)) is not None:
        raise ModelError.at(str(path), missing)
    if path.is_dir():
        raise ModelError.at(str(path), "it is a folder; give the name of a file")
    real = path.resolve()
    aside = real.with_name(f".{real.name}.{secrets.token_hex(4)}")
    try:
        file = io.FileIO(aside, "x+")
        try:
            with file:
                yield file
                os.fsync(file.fileno())
            put_in_place(aside, path)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise cannot_write(path, error) from None


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


def put_in_place(aside: Path, path: Path) -> None:
    """Gives a file that is on the disk its name, and sees that the name is on the disk too."""
    if path.exists():
        shutil.copymode(path, aside)
    path = path.resolve()  # what a link points at is replaced, not the link
    aside.replace(path)
    with suppress(OSError):  # not every system can
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_all(file: io.FileIO, data: bytes | memoryview) -> None:
    """An unbuffered file may take less than it is given."""
    view = memoryview(data).cast("B")
    while view:
        view = view[file.write(view) :]


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


def write_hdf5(result: Result, path: Path) -> None:
    """One dataset a quantity."""
    import h5py

    check_ending(path, HDF5_ENDINGS)
    with replacing(path) as file:
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
    bases: dict[str, list[int]] = {}
    for i, channel in enumerate(channels):
        bases.setdefault(channel.base, []).append(i)
    for order, (base, columns) in enumerate(bases.items()):
        members = [channels[i] for i in columns]
        several = len(columns) > 1 or members[0].component > 0
        shape = (count, len(columns)) if several else (count,)
        attributes = dataset(_free_path(hdf5, base, order), shape, [1 + i for i in columns]).attrs
        attributes["order"] = order
        attributes["name"] = base
        attributes["unit"] = [channel.unit for channel in members]
        attributes["component"] = [channel.component for channel in members]
        attributes["source"] = members[0].source[0]
        attributes["source_number"] = members[0].source[1]
        attributes["index"] = [channel.index for channel in members]
    return places


def read_hdf5(
    path: Path,
) -> tuple[str, Hdf5Rows, list[Channel], dict[str, str | float], list[str]]:
    """Name, rows, channels, info and warnings of what ``write_hdf5`` wrote."""
    import h5py

    found: list[tuple[int, list[Channel], list[tuple[str, int]]]] = []

    def visit(where: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset) or "component" not in item.attrs:
            return
        a = item.attrs
        base, source = str(a["name"]), (str(a["source"]), int(a["source_number"]))
        members = [
            Channel(f"{base}[{part}]" if part else base, str(unit), source, int(index))
            for part, unit, index in zip(a["component"], a["unit"], a["index"], strict=True)
        ]
        places = [(where, component) for component in range(len(members))]
        if item.shape not in ((count,), (count, len(members))) or not len(members):
            raise KeyError(f"{where} has the shape {item.shape}, time ({count},)")
        found.append((int(a["order"]), members, places))

    try:
        # a Python file needs no lock, which not every file system has
        with path.open("rb") as file, h5py.File(file, "r") as hdf5:
            if hdf5.attrs.get("pliant_result") != _FORMAT:
                raise ModelError.at(
                    str(path), "this HDF5 file is not a result of pliant; give one of its own"
                )
            (count,) = hdf5["time"].shape
            hdf5.visititems(visit)
            name = str(hdf5.attrs["name"])
            warnings = str(hdf5.attrs.get("warnings", "")).splitlines()
            info: dict[str, str | float] = {
                key: str(value) if isinstance(value, str) else float(value)
                for key, value in hdf5["info"].attrs.items()
            }
    except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:
        raise unreadable(path, error) from None
    found.sort(key=lambda entry: entry[0])
    places = [("time", 0), *(place for _, _, places in found for place in places)]
    channels = [channel for _, members, _ in found for channel in members]
    return name, Hdf5Rows(path, places, count), channels, info, warnings


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
