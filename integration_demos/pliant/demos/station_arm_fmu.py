"""The station arm as other tools have it: an FMU, driven by a controller that knows nothing else.

FMPy stands for any importer. Every millisecond it reads the joints, asks the controller for
torques, sets them and has the FMU do a step; now and then it reads what the picture shows. Even
the gains of the servos come out of the FMU, by its directional derivatives.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     run = drive(export(Path(folder) / "arm.fmu"), duration=0.1)
>>> float(run.result["joint.elbow_pitch.q"][0])
1.75
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType

import numpy as np

from pliant.channels import Channel, choose
from pliant.demos.control import JointController, servo_gains
from pliant.demos.station_arm import (
    JOINTS,
    MODEL_FILE,
    RECORDED,
    ROW,
    SERVO_HZ,
    STEP,
    ArmRun,
    slew_from,
)
from pliant.fmu import export_fmu
from pliant.model_file import load
from pliant.reduced import Array
from pliant.results import Result


def export(path: Path) -> Path:
    """The arm as a native FMU, with the motion of the booms that an FMU does not show unasked."""
    return export_fmu(MODEL_FILE, path, include=RECORDED, step=STEP)


class ArmFmu:
    """An instance of the arm's FMU.

    >>> with ArmFmu(path) as arm:                                         # doctest: +SKIP
    ...     elbow, tau = arm.references(["joint.elbow_pitch.q", "joint.elbow_pitch.tau"])
    ...     arm.set([tau], [12.0]); arm.step(); arm.get([elbow])
    """

    def __init__(self, path: Path) -> None:
        from fmpy import extract, read_model_description
        from fmpy.fmi2 import FMU2Slave

        description = read_model_description(path)
        self.variables = {v.name: v for v in description.modelVariables}
        self._folder = extract(path)
        self._slave = FMU2Slave(
            guid=description.guid,
            unzipDirectory=self._folder,
            modelIdentifier=description.coSimulation.modelIdentifier,
            instanceName="arm",
        )
        self._steps = 0

    def __enter__(self) -> ArmFmu:
        self._slave.instantiate()
        self._slave.setupExperiment(startTime=0.0)
        self._slave.enterInitializationMode()
        self._slave.exitInitializationMode()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._slave.freeInstance()
        shutil.rmtree(self._folder, ignore_errors=True)

    def references(self, names: Iterable[str]) -> list[int]:
        return [self.variables[name].valueReference for name in names]

    def channels(self) -> list[Channel]:
        """What can be recorded; the index of a channel is its value reference."""
        return [
            Channel(v.name, (v.unit or "").replace(".", " "), ("fmu", 0), v.valueReference)
            for v in self.variables.values()
            if v.type == "Real" and v.causality in ("input", "output")
        ]

    def get(self, references: Sequence[int]) -> Array:
        return np.array(self._slave.getReal(references))

    def set(self, references: Sequence[int], values: Sequence[float] | Array) -> None:
        self._slave.setReal(references, values)

    def step(self) -> None:
        self._slave.doStep(self._steps * STEP, STEP)
        self._steps += 1

    def reflected_inertia(self) -> Array:
        """The inertia (kg m2) that each joint's motor feels at once: the FMU says how its
        acceleration answers to its torque."""
        inertia = []
        for joint in JOINTS:
            torque, acceleration = self.references([f"joint.{joint}.tau", f"joint.{joint}.qdd"])
            (answer,) = self._slave.getDirectionalDerivative([acceleration], [torque], [1.0])
            inertia.append(1.0 / answer)
        return np.array(inertia)


def drive(path: Path, duration: float, *, progress: bool = False) -> ArmRun:
    """Runs the FMU under joint control; shorter than 42 s the slew is cut off."""
    with ArmFmu(path) as arm:
        angles, rates, torques = (
            arm.references(f"joint.{joint}.{part}" for joint in JOINTS)
            for part in ("q", "qd", "tau")
        )
        slew = slew_from(arm.get(angles))
        controller = JointController(slew, *servo_gains(arm.reflected_inertia(), SERVO_HZ))
        channels = choose(arm.channels(), RECORDED)
        recorded = [channel.index for channel in channels]
        steps = round(duration / STEP)
        times, rows = [], []
        started = time.perf_counter()
        for i in _counted(steps + 1, progress):
            if i < steps:
                arm.set(torques, controller(i * STEP, arm.get(angles), arm.get(rates)))
            if i % ROW == 0 or i == steps:
                times.append(i * STEP)
                rows.append(arm.get(recorded))
            if i < steps:
                arm.step()
        seconds = time.perf_counter() - started
    result = Result("station_arm", np.array(times), np.array(rows), channels, {"step": STEP})
    return ArmRun(load(MODEL_FILE), result, slew, controller, seconds)


def _counted(count: int, progress: bool) -> Iterable[int]:
    from rich.progress import track

    return track(range(count), description="FMU", disable=not progress)
