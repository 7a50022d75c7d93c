"""What a run leaves behind: recorded channels over time, in memory, HDF5, CSV or a plot.

>>> result = pl.simulate("arm.yaml", 5.0)                     # doctest: +SKIP
>>> result["joint.elbow.q"]                                   # (N,)        # doctest: +SKIP
>>> result["node.hand.pad.r"]                                 # (N, 3)      # doctest: +SKIP
>>> result.to_hdf5("arm.h5"); result.plot(["joint.*.q"], "arm.png")         # doctest: +SKIP
>>> pl.Result.load("arm.h5")["joint.elbow.q"]                               # doctest: +SKIP

Files are written aside and take their names when they are whole (``result_files.py``).
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pliant.attributes import Guarded
from pliant.channels import Channel, choose
from pliant.errors import ModelError, PliantError, PliantWarning, UnknownNameError, warn
from pliant.part import show, suggest
from pliant.reduced import Array
from pliant.result_files import (
    HDF5_ENDINGS,
    check_ending,
    ended_early,
    read_hdf5,
    write_csv,
    write_hdf5,
)
from pliant.rows import MAGIC, PARTIAL, CsvRows, MemoryRows, Rows, read, read_journal, unreadable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
NOT_SAID = "the run was killed, or still goes on"


class Result(Guarded):
    """Channels recorded over time.

    ``time`` is (N,), ``data`` (N, number of channels), ``channels`` says what each column is and
    ``info`` how the run was made (model, step, integrator, ...) and how it ``ended``: "complete" or
    the reason why not. ``warnings`` tell what makes it doubtful: bodies that were deflected further
    than modes can carry, energy out of nothing.

    A result that was loaded, or too large to be kept in memory, is read from its file as far as it
    is asked for: ``result["joint.elbow.q"]`` costs the memory of one channel, ``data`` that of all.
    """

    name: str
    rows: Rows
    channels: tuple[Channel, ...]
    info: dict[str, str | float]
    warnings: tuple[str, ...]

    _instead: ClassVar[Mapping[str, str]] = {
        "to_hdf": "use .to_hdf5(path)",
        "show": "use .plot()",
        "write": "use .save(path)",
        "columns": "use .names",
        "keys": "use .names",
        "t": "use .time",
    }

    def __init__(
        self,
        name: str,
        time: Array,
        data: Array,
        channels: Sequence[Channel],
        info: Mapping[str, str | float],
        warnings: Sequence[str] = (),
    ) -> None:
        self._set(name, MemoryRows(time, data), channels, info, warnings)

    def _set(
        self,
        name: str,
        rows: Rows,
        channels: Sequence[Channel],
        info: Mapping[str, str | float],
        warnings: Sequence[str],
    ) -> None:
        self.name = name
        self.rows = rows
        self.channels = tuple(channels)
        self.info = dict(info)
        self.warnings = tuple(warnings)
        self._time: Array | None = None
        self._ends: tuple[float, float] | None = None
        self._column = {channel.name: i for i, channel in enumerate(self.channels)}
        self._columns: dict[str, list[int]] = {}
        for i, channel in enumerate(self.channels):
            self._columns.setdefault(channel.base, []).append(i)

    def _called(self) -> str:
        return f"result {self.name}" if "name" in vars(self) else "the result"

    @classmethod
    def of(
        cls,
        name: str,
        rows: Rows,
        channels: Sequence[Channel],
        info: Mapping[str, str | float],
        warnings: Sequence[str] = (),
    ) -> Result:
        """Of rows that need not be in memory."""
        result = cls.__new__(cls)
        result._set(name, rows, channels, info, warnings)
        return result

    def __repr__(self) -> str:
        early = ", ended early" if ended_early(self.info) else ""
        return (
            f"Result({self.name!r}: {self._span()}, {len(self)} rows, "
            f"{len(self.channels)} channels{early})"
        )

    def _repr_html_(self) -> str:
        from pliant.notebook import result_table

        return result_table(self)

    def _span(self) -> str:
        return "{:g} to {:g} s".format(*self.ends) if len(self) else "nothing"

    @property
    def ends(self) -> tuple[float, float]:
        """First and last time, without all of them in memory; zeros if there is none."""
        if self._ends is None:
            first = last = 0.0
            for i, times in enumerate(self.rows.pieces([0])):
                first = float(times[0, 0]) if i == 0 else first
                last = float(times[-1, 0])
            self._ends = first, last
        return self._ends

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def time(self) -> Array:
        """(N,) in s."""
        if self._time is None:
            rows = self.rows
            self._time = rows.time if isinstance(rows, MemoryRows) else read(rows, [0])[:, 0]
        return self._time

    @property
    def data(self) -> Array:
        """(N, number of channels), read as a whole."""
        return self._read(range(len(self.channels)))

    def _read(self, columns: Sequence[int]) -> Array:
        if isinstance(self.rows, MemoryRows):
            everything = len(columns) == len(self.channels) and isinstance(columns, range)
            return self.rows.data if everything else self.rows.data[:, columns]
        return read(self.rows, [1 + i for i in columns])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all channels, in the order of the columns of ``data``."""
        return tuple(channel.name for channel in self.channels)

    def __contains__(self, name: object) -> bool:
        return name in self._column or name in self._columns

    def __getitem__(self, name: str) -> Array:
        """One channel as (N,), or all components of a vector as (N, k)."""
        if not isinstance(name, str):
            raise UnknownNameError.at(
                show(name), "a result is asked by names of channels: result['joint.elbow.q'][:10]"
            )
        if name == "time":
            return self.time
        if name in self._column:
            column = self._column[name]
            if isinstance(self.rows, MemoryRows):
                return self.rows.data[:, column]
            return self._read([column])[:, 0]
        if name in self._columns:
            return self._read(self._columns[name])
        hint = suggest(name, ("time", *self._columns))
        raise UnknownNameError.at(str(name), f"was not recorded; {hint}")

    # ---------------------------------------------------------------------- the state as a whole

    @property
    def q(self) -> Array:
        """(N, nq) coordinates in the order of the model's state."""
        return self._whole("q")

    @property
    def u(self) -> Array:
        """(N, nu) speeds in the order of the model's state."""
        return self._whole("u")

    @property
    def qdd(self) -> Array:
        """(N, joint freedoms) accelerations of the joints in the order of the model's state."""
        return self._whole("udot", "joint.")

    def _whole(self, source: str, of: str = "") -> Array:
        columns = {
            c.index: i
            for i, c in enumerate(self.channels)
            if c.source[0] == source and c.name.startswith(of)
        }
        expected = int(self.info.get(f"size_{source}", -1))
        if len(columns) != expected:
            raise PliantError(
                f"{source} is not complete: {len(columns)} of {expected} were recorded; "
                "record 'joint', 'body' and 'wheel'"
            )
        return self._read([columns[index] for index in sorted(columns)])

    @property
    def is_at_rest(self) -> bool:
        """Whether no kinetic energy was recorded at any time."""
        columns = [1 + self._column["energy.kinetic"]]
        return not any(piece.any() for piece in self.rows.pieces(columns))

    @property
    def energy_error(self) -> float:
        """Largest energy that appeared or vanished, relative to all that moved in the run.

        Work of the inputs and dissipated energy are accounted for. What moves is what goes in and
        out and the kinetic, strain and spring energy, without the flight of a model as a whole and
        the spin of its wheels. It is found as the run goes, also between the rows; of an FMU's run
        by the rows, relative to the largest of these energies.
        """
        if "energy_error" in self.info:
            return float(self.info["energy_error"])
        parts = ("kinetic", "strain", "spring", "error")
        if missing := [name for part in parts if (name := f"energy.{part}") not in self]:
            self[missing[0]]  # says what is wrong
        scale = worst = 0.0
        for rows in self.rows.pieces([1 + self._column[f"energy.{part}"] for part in parts]):
            scale = float(np.max(rows[:, 0] + rows[:, 1] + rows[:, 2], initial=scale))
            worst = float(np.max(np.abs(rows[:, 3]), initial=worst))
        return worst / scale if scale > 0.0 else worst

    # ------------------------------------------------------------------------------------ files

    def save(self, path: str | Path) -> Path:
        """Writes HDF5 or CSV, by the ending of the file's name.

        A file of that name is replaced, but only once the new one is whole.
        """
        path = Path(path)
        check_ending(path)
        is_hdf5 = path.suffix.lower() in HDF5_ENDINGS
        return self.to_hdf5(path) if is_hdf5 else self.to_csv(path)

    def to_hdf5(self, path: str | Path) -> Path:
        """One dataset a quantity, such as ``/node/hand/pad/r`` (N, 3), with its unit.

        >>> import tempfile
        >>> channel = Channel("joint.elbow.q", "rad", ("q", 0), 0)
        >>> result = Result("arm", np.arange(2.0), np.ones((2, 1)), [channel], {"step": 1e-3})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Result.from_hdf5(result.to_hdf5(Path(folder) / "arm.h5"))["joint.elbow.q"]
        array([1., 1.])
        """
        write_hdf5(self, Path(path))
        return Path(path)

    def to_csv(self, path: str | Path) -> Path:
        """One row a time, first line the names; numbers with all their digits."""
        write_csv(self, Path(path))
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Opens what a run left: HDF5, CSV, or the ``.partial`` file of a run that was killed.

        Numbers are read from the file when they are asked for. That a file is partial is a
        PliantWarning. CSV knows neither units nor how the run was made.
        """
        path = Path(path)
        if "\0" in str(path):
            raise ModelError.at(repr(str(path)), "no file has a zero in its name")
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise OSError("not an ordinary file")
            with path.open("rb") as file:
                head = file.read(max(len(MAGIC), len(_HDF5_MAGIC)))
            if head.startswith(MAGIC):
                result = cls._of_journal(path)
            elif head.startswith(_HDF5_MAGIC):
                name, stored, channels, info, warnings = read_hdf5(path)
                return cls.of(name, stored, channels, info, warnings)
            else:
                result = cls._of_csv(path)
        except OSError as error:
            raise unreadable(path, error) from None
        if path.name.endswith(PARTIAL) and ended_early(result.info):
            what = f"{len(result)} rows" + (f", {result._span()}" if len(result) else "")
            warn(f"{path}: partial, of a run that did not finish: {what}", PliantWarning)
        return result

    @classmethod
    def _of_journal(cls, path: Path) -> Result:
        name, info, channels, rows, ended, warnings = read_journal(path)
        return cls.of(name, rows, channels, {**info, "ended": ended or NOT_SAID}, warnings)

    @classmethod
    def _of_csv(cls, path: Path) -> Result:
        rows = CsvRows(path)
        if rows.names[:1] != ["time"]:
            raise ModelError.at(str(path), "not a readable result file: neither HDF5 nor CSV")
        channels = [Channel(name, "", ("csv", 0), i) for i, name in enumerate(rows.names[1:])]
        partial = path.name.endswith(PARTIAL)
        info = {"ended": NOT_SAID} if partial else {}
        return cls.of(path.name.removesuffix(PARTIAL), rows, channels, info)

    @classmethod
    def from_hdf5(cls, path: str | Path) -> Result:
        """Reads what ``to_hdf5`` wrote, all of it into memory."""
        name, rows, channels, info, warnings = read_hdf5(Path(path))
        columns = range(1, 1 + len(channels))
        return cls(name, read(rows, [0])[:, 0], read(rows, columns), channels, info, warnings)

    # -------------------------------------------------------------------------------------- plot

    def plot(
        self, patterns: Iterable[str] | str | None = None, path: str | Path | None = None
    ) -> Figure:
        """Draws channels over time, one panel a quantity, and saves the picture if asked.

        Without patterns: joint positions, modal coordinates, energies and the energy error, as
        far as they were recorded. ``path`` ends in .png, .pdf, .svg or another of matplotlib's. In
        a notebook the picture is shown where it is the value of a cell, or by its ``show()``.

        >>> result.plot("joint.*.q", path="arm.png")                   # doctest: +SKIP
        """
        from pliant.plots import check_patterns, plot_result

        check_patterns(patterns)
        if isinstance(patterns, str):
            patterns = [patterns]
        chosen = None if patterns is None else choose(self.channels, patterns, "plot")
        return plot_result(self, chosen, path)
