"""Running an FMU through FMPy: ``pliant run model.fmu``.

>>> result = run_fmu("arm.fmu", 5.0, inputs="torques.csv", start_values={"solver.h": "5e-4"})
...                                                                       # doctest: +SKIP
>>> result.plot(["joint.*.q"], path="arm.png")                            # doctest: +SKIP

What is recorded, written and drawn is a ``Result`` as of any other run.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pliant.channels import Channel, choose
from pliant.errors import ModelError, PliantError, PliantWarning, warn
from pliant.fmu.archive import unpack
from pliant.fmu.given import InputTable, Starts
from pliant.fmu.inspect import FmuFile
from pliant.inert import inert, inert_lines
from pliant.recording import Recording, keep, output_paths
from pliant.results import Result
from pliant.simulation import whole_steps

_ROWS = 2000  # recorded by default, at most
_WARNING = 1  # fmi2Warning


class FmuRunError(PliantError):
    """An FMU that refused a call or could not do a step; ``result`` is what was recorded."""

    def __init__(self, message: str, result: Result | None = None) -> None:
        super().__init__(message)
        self.result = result


def run_fmu(
    path: str | Path,
    duration: float = 10.0,
    step: float | None = None,
    *,
    inputs: str | Path | None = None,
    start_values: Mapping[str, str] | None = None,
    record: Iterable[str] | None = None,
    every: int | None = None,
    progress: bool = False,
    output: str | Path | Iterable[str | Path] | None = None,
    overwrite: bool = False,
) -> Result:
    """Runs an FMI 2.0 co-simulation FMU from its start and gives what was recorded.

    ``step`` is the communication step (None: the one that the FMU suggests) and ``inputs`` a CSV
    file with a column ``time`` and one for each input that is not to stay at its start. Between
    rows inputs go in a straight line, two rows of the same time make a jump, and outside the rows
    they stay. ``start_values`` holds parameters and inputs by name, as text. A row is recorded at
    the start, every ``every`` steps and at the end. ``output`` and ``overwrite`` are those of
    ``simulate``: rows go to these files as they come and survive whatever ends the run.
    """
    outputs = output_paths(output, overwrite)
    fmu = FmuFile(path)
    if fmu.description.fmiVersion != "2.0" or fmu.description.coSimulation is None:
        raise ModelError.at(str(path), "only FMI 2.0 co-simulation can be run here")
    step = _suggested_step(fmu) if step is None else step
    if not (math.isfinite(step) and step > 0.0):
        raise ModelError.at("step", f"{step} is not a step; give a finite time above 0 s")
    count = whole_steps(duration, step, "duration")
    every = max(1, -(-count // _ROWS)) if every is None else every
    table = None if inputs is None else InputTable.read(inputs, fmu)
    starts = Starts(fmu, start_values or {})
    channels = _channels(fmu, table.names if table else (), record)
    with (
        tempfile.TemporaryDirectory(prefix="pliant_fmu_") as folder,
        _Instance(fmu, _unpacked(fmu, Path(folder))) as instance,
    ):
        instance.initialize(starts)
        rows = 2 + count // every
        recorder = _Recorder(instance, channels, step, rows, outputs, overwrite)
        try:
            for i in _counted(count, progress):
                now = i * step
                if table is not None:
                    instance.set_inputs(table, now, step)
                if i % every == 0:
                    recorder.record(now)
                instance.step(now, step)
            recorder.record(count * step)
            return recorder.finish()
        except BaseException as error:
            so_far = recorder.finish_after(error)
            if isinstance(error, FmuRunError):
                raise FmuRunError(str(error), so_far) from None
            keep(error, so_far)
            raise


def _suggested_step(fmu: FmuFile) -> float:
    experiment = fmu.description.defaultExperiment
    text = str(experiment.stepSize) if experiment and experiment.stepSize else "1e-3"
    try:
        return float(text)
    except ValueError:
        raise ModelError.at(
            str(fmu.path), f"suggests the step {inert(text, 40)!r}, which is no number; give --step"
        ) from None


def _unpacked(fmu: FmuFile, folder: Path) -> Path:
    # pythonfmu crashes on resources whose URI has any escape but that of the blank
    if fmu.flavour == "python" and "%" in folder.as_uri().replace("%20", ""):
        raise ModelError.at(
            str(folder),
            "pythonfmu cannot load an FMU from such a path; set TMPDIR to one of plain letters",
        )
    unpack(fmu.path, folder)
    return folder


def _counted(count: int, progress: bool) -> Iterable[int]:
    if not progress:
        return range(count)
    from rich.progress import track

    return track(range(count), description="")


def _channels(fmu: FmuFile, driven: Sequence[str], record: Iterable[str] | None) -> list[Channel]:
    every = [
        Channel(v.name, (v.unit or "").replace(".", " "), ("fmu", 0), int(v.valueReference))
        for v in fmu.description.modelVariables
        if v.type == "Real" and v.causality in ("input", "output", "local")
    ]
    if record is not None:
        return choose(every, record)
    moving = (v for v in fmu.variables("output") if v.variability != "constant")
    shown = {*driven, *(v.name for v in moving)}
    return [channel for channel in every if channel.name in shown]


# ------------------------------------------------------------------------------------- instance


class _Instance:
    """An instance of an FMU by FMPy's low-level interface, with its messages."""

    def __init__(self, fmu: FmuFile, folder: Path) -> None:
        from fmpy import platform
        from fmpy.simulation import instantiate_fmu

        fmu.require_whole(platform)
        self.fmu = fmu
        self._messages: list[str] = []
        self._warnings: list[str] = []
        self.told: list[str] = []  # warnings that were passed on
        self._takes_rates = bool(fmu.description.coSimulation.canInterpolateInputs)
        try:
            # logging on: pythonfmu tells of no error without it
            self.slave = instantiate_fmu(
                folder, fmu.description, "CoSimulation", debug_logging=True, logger=self._log
            )
        except Exception as error:  # FMPy's, and those of loading a library
            raise FmuRunError(f"{fmu.path}: {self._said(error)}") from None

    def _log(self, _: Any, __: bytes, status: int, ___: bytes, message: bytes) -> None:
        text = inert_lines(message[:10_000].decode(errors="replace").strip())
        if status == _WARNING:
            self._warnings.append(text)
        elif status > _WARNING:
            self._messages.append(text)

    def pass_on_warnings(self) -> None:
        texts, self._warnings = self._warnings, []
        self.told += texts
        for text in texts:
            warn(f"{self.fmu.path.name}: {text}", PliantWarning)

    def _said(self, error: Exception) -> str:
        return "; ".join(self._messages) or str(error)

    def __enter__(self) -> _Instance:
        return self

    def __exit__(self, *_: object) -> None:
        self.slave.freeInstance()

    def initialize(self, starts: Starts) -> None:
        with self.calls():
            starts.apply(self.slave)
            self.slave.setupExperiment(startTime=0.0)
            self.slave.enterInitializationMode()
            self.slave.exitInitializationMode()

    def set_inputs(self, table: InputTable, time: float, size: float) -> None:
        """For the step that begins now."""
        with self.calls():
            table.apply(self.slave, time, size, rates=self._takes_rates)

    def step(self, time: float, size: float) -> None:
        with self.calls():
            self.slave.doStep(time, size)

    def calls(self) -> _Calls:
        return _Calls(self)


class _Calls:
    """Puts the FMU's own words in place of FMPy's, which only know the status."""

    def __init__(self, instance: _Instance) -> None:
        self._instance = instance

    def __enter__(self) -> None:
        self._instance._messages.clear()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._instance.pass_on_warnings()
        if isinstance(error, Exception):
            raise FmuRunError(self._instance._said(error)) from None


class _Recorder:
    """Rows of chosen variables."""

    def __init__(
        self,
        instance: _Instance,
        channels: Sequence[Channel],
        step: float,
        rows: int,
        outputs: Sequence[Path],
        overwrite: bool,
    ) -> None:
        told = instance.fmu.description
        info: dict[str, str | float] = {
            "model": str(told.modelName),
            "fmu": instance.fmu.path.name,
            "guid": str(told.guid),
            "communication_step": step,
        }
        self._instance = instance
        self._references = [channel.index for channel in channels]
        self._rows = Recording(
            str(told.modelName), channels, info, rows, outputs=outputs, overwrite=overwrite
        )

    def record(self, time: float) -> None:
        row = self._rows.next()
        row[0] = time
        with self._instance.calls():
            row[1:] = self._instance.slave.getReal(self._references)
        self._rows.commit()

    def finish(self) -> Result:
        return self._rows.finish(warnings=self._instance.told)

    def finish_after(self, error: BaseException) -> Result | None:
        return self._rows.finish_after(error, self._instance.told)
