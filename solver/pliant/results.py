"""What a run leaves behind: recorded channels over time, in memory, HDF5, CSV or a plot.

>>> result = pl.simulate("arm.yaml", 5.0)                     # doctest: +SKIP
>>> result["joint.elbow.q"]                                   # (N,)        # doctest: +SKIP
>>> result["node.hand.pad.r"]                                 # (N, 3)      # doctest: +SKIP
>>> result.to_hdf5("arm.h5"); result.plot(["joint.*.q"], "arm.png")         # doctest: +SKIP
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pliant.attributes import Guarded
from pliant.channels import Channel, choose
from pliant.errors import ModelError, PliantError, UnknownNameError
from pliant.part import suggest
from pliant.reduced import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FORMAT = 1  # of the HDF5 file


class Result(Guarded):
    """Channels recorded over time.

    ``time`` is (N,), ``data`` (N, number of channels), ``channels`` says what each column is and
    ``info`` how the run was made (model, step, integrator, ...). ``warnings`` tell what makes
    it doubtful: bodies that were deflected further than modes can carry.
    """

    name: str
    time: Array
    data: Array
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
        self.name = name
        self.time = time
        self.data = data
        self.channels = tuple(channels)
        self.info = dict(info)
        self.warnings = tuple(warnings)
        self._column = {channel.name: i for i, channel in enumerate(self.channels)}
        self._columns: dict[str, list[int]] = {}
        for i, channel in enumerate(self.channels):
            self._columns.setdefault(channel.base, []).append(i)

    def _called(self) -> str:
        return f"result {self.name}" if "name" in vars(self) else "the result"

    def __repr__(self) -> str:
        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self.time) else "nothing"
        return (
            f"Result({self.name!r}: {span}, {len(self.time)} rows, {len(self.channels)} channels)"
        )

    def _repr_html_(self) -> str:
        from pliant.notebook import result_table

        return result_table(self)

    def __len__(self) -> int:
        return len(self.time)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all channels, in the order of the columns of ``data``."""
        return tuple(channel.name for channel in self.channels)

    def __contains__(self, name: object) -> bool:
        return name in self._column or name in self._columns

    def __getitem__(self, name: str) -> Array:
        """One channel as (N,), or all components of a vector as (N, k)."""
        if name == "time":
            return self.time
        if name in self._column:
            return self.data[:, self._column[name]]
        if name in self._columns:
            return self.data[:, self._columns[name]]
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
        return self.data[:, [columns[index] for index in sorted(columns)]]

    @property
    def energy_error(self) -> float:
        """Largest energy that appeared or vanished, relative to the largest that moved.

        Work of the inputs and dissipated energy are accounted for. What moved is measured by
        kinetic, strain and spring energy together.
        """
        moving = self["energy.kinetic"] + self["energy.strain"] + self["energy.spring"]
        scale = float(np.max(moving, initial=0.0))
        worst = float(np.max(np.abs(self["energy.error"]), initial=0.0))
        return worst / scale if scale > 0.0 else worst

    # ------------------------------------------------------------------------------------ files

    def save(self, path: str | Path) -> Path:
        """Writes HDF5 or CSV, by the ending of the file's name."""
        path = Path(path)
        writers = {".h5": self.to_hdf5, ".hdf5": self.to_hdf5, ".csv": self.to_csv}
        if path.suffix.lower() not in writers:
            raise ModelError.at(str(path), "unknown kind of file; end its name in .h5 or .csv")
        return writers[path.suffix.lower()](path)

    def to_hdf5(self, path: str | Path) -> Path:
        """One dataset a quantity, such as ``/node/hand/pad/r`` (N, 3), with its unit.

        >>> import tempfile
        >>> channel = Channel("joint.elbow.q", "rad", ("q", 0), 0)
        >>> result = Result("arm", np.arange(2.0), np.ones((2, 1)), [channel], {"step": 1e-3})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Result.from_hdf5(result.to_hdf5(Path(folder) / "arm.h5"))["joint.elbow.q"]
        array([1., 1.])
        """
        import h5py

        path = Path(path)
        with h5py.File(path, "w") as file:
            file.attrs["pliant_result"] = _FORMAT
            file.attrs["name"] = self.name
            file.attrs["warnings"] = "\n".join(self.warnings)
            file.create_dataset("time", data=self.time).attrs["unit"] = "s"
            info = file.create_group("info")
            for key, value in self.info.items():
                info.attrs[key] = value
            for order, (base, columns) in enumerate(self._columns.items()):
                several = len(columns) > 1 or self.channels[columns[0]].component > 0
                values = self.data[:, columns] if several else self.data[:, columns[0]]
                dataset = file.create_dataset(_free_path(file, base, order), data=values)
                members = [self.channels[i] for i in columns]
                dataset.attrs["order"] = order
                dataset.attrs["name"] = base
                dataset.attrs["unit"] = [channel.unit for channel in members]
                dataset.attrs["component"] = [channel.component for channel in members]
                dataset.attrs["source"] = members[0].source[0]
                dataset.attrs["source_number"] = members[0].source[1]
                dataset.attrs["index"] = [channel.index for channel in members]
        return path

    @classmethod
    def from_hdf5(cls, path: str | Path) -> Result:
        """Reads what ``to_hdf5`` wrote."""
        import h5py

        found: list[tuple[int, list[Channel], Array]] = []

        def visit(_: str, item: Any) -> None:
            if not isinstance(item, h5py.Dataset) or "component" not in item.attrs:
                return
            a = item.attrs
            base, source = str(a["name"]), (str(a["source"]), int(a["source_number"]))
            members = [
                Channel(f"{base}[{part}]" if part else base, str(unit), source, int(index))
                for part, unit, index in zip(a["component"], a["unit"], a["index"], strict=True)
            ]
            found.append((int(a["order"]), members, item[()].reshape(-1, len(members))))

        try:
            with h5py.File(path, "r") as file:
                if file.attrs.get("pliant_result") != _FORMAT:
                    raise ModelError.at(
                        str(path), "this HDF5 file is not a result of pliant; give one of its own"
                    )
                file.visititems(visit)
                name, time = str(file.attrs["name"]), file["time"][()]
                warnings = str(file.attrs.get("warnings", "")).splitlines()
                info = {
                    key: str(value) if isinstance(value, str) else float(value)
                    for key, value in file["info"].attrs.items()
                }
        except FileNotFoundError:
            raise ModelError.at(str(path), "no such file") from None
        except (OSError, KeyError) as error:
            raise ModelError.at(str(path), f"not a readable result file: {error}") from None
        found.sort(key=lambda entry: entry[0])
        data = np.hstack([values for _, _, values in found]) if found else np.zeros((len(time), 0))
        channels = [c for _, members, _ in found for c in members]
        return cls(name, time, data, channels, info, warnings)

    def to_csv(self, path: str | Path) -> Path:
        """One row a time, first line the names; numbers with all their digits."""
        path = Path(path)
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["time", *self.names])
            writer.writerows(
                [repr(t), *map(repr, row)]
                for t, row in zip(self.time.tolist(), self.data.tolist(), strict=True)
            )
        return path

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


def _free_path(file: Any, base: str, order: int) -> str:
    """The path of a dataset; a name that another one or a group stands in the way of gives way."""
    path = _hdf5_path(base)
    parts = path.split("/")
    above = ("/".join(parts[:i]) for i in range(1, len(parts)))
    is_free = all(parts) and path not in file and not any(_is_dataset(file, p) for p in above)
    return path if is_free else f"other/{order}"


def _is_dataset(file: Any, path: str) -> bool:
    return path in file and not hasattr(file[path], "keys")


def _hdf5_path(base: str) -> str:
    """A slash in an element's name must not open a group of its own."""
    return base.replace("%", "%25").replace("/", "%2F").replace(".", "/")
