"""Closed loops, locks and motions from outside, as other tools see them: both flavours by FMPy."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import fmpy
import numpy as np
import pytest
from fmpy.fmi2 import FMU2Slave

import pliant as pl
from pliant.demos.platform import platform

STEP = 1e-3


class Bench:
    """A running FMU, its variables by name."""

    def __init__(self, system: pl.System, flavour: str, folder, **settings: object) -> None:
        path = pl.export_fmu(system, folder / f"{flavour}.fmu", flavour=flavour, **settings)
        description = fmpy.read_model_description(str(path), validate=True)
        self._references = {v.name: v.valueReference for v in description.modelVariables}
        self._unzipped = fmpy.extract(str(path))
        self.slave = FMU2Slave(
            guid=description.guid,
            unzipDirectory=self._unzipped,
            modelIdentifier=description.coSimulation.modelIdentifier,
            instanceName="bench",
        )
        self.slave.instantiate()
        self.slave.setupExperiment(startTime=0.0)
        self.slave.enterInitializationMode()
        self.slave.exitInitializationMode()
        self._time = 0.0

    def __getitem__(self, name: str) -> float:
        return float(self.slave.getReal([self._references[name]])[0])

    def __setitem__(self, name: str, value: float | bool) -> None:
        if isinstance(value, bool):
            self.slave.setBoolean([self._references[name]], [value])
        else:
            self.slave.setReal([self._references[name]], [value])

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            self.slave.doStep(self._time, STEP)
            self._time += STEP

    def close(self) -> None:
        self.slave.terminate()
        self.slave.freeInstance()
        shutil.rmtree(self._unzipped)


@pytest.fixture(params=["native", "python"])
def bench(request, tmp_path) -> Iterator[object]:
    opened: list[Bench] = []

    def make(system: pl.System, **settings: object) -> Bench:
        opened.append(Bench(system, request.param, tmp_path, **settings))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def test_a_closed_platform_moves_as_in_the_simulation_and_tells_its_gaps(bench):
    system = platform(9)
    fmu = bench(system, integrator="euler_cromer", include=["loop", "joint.leg2_pitch1.reaction"])
    sim = pl.Simulation(system, STEP, integrator="euler_cromer")
    fmu.step(200)
    sim.step(200)
    loop = sim.loop("leg2-top")
    for i in range(6):
        assert fmu[f"loop.'leg2-top'.gap[{i + 1}]"] == loop.gap[i]
        assert fmu[f"loop.'leg2-top'.gap_rate[{i + 1}]"] == loop.gap_rate[i]
    for i in range(3):
        assert fmu[f"loop.'leg2-top'.reaction.f[{i + 1}]"] == loop.reaction.force[i]
        reaction = sim.joint("leg2_pitch1").reaction
        assert fmu[f"joint.leg2_pitch1.reaction.t[{i + 1}]"] == reaction.torque[i]
    assert np.abs(loop.gap).max() < 1e-9
    assert fmu["joint.leg2_pitch1.q"] == sim.joint("leg2_pitch1").position


def test_a_lock_stops_a_joint_and_its_effort_is_an_output(bench):
    system = platform(9)
    fmu = bench(system, include=["joint.leg1_pitch1.lock", "joint.leg1_pitch1.effort"])
    sim = pl.Simulation(system, STEP)
    joint = sim.joint("leg1_pitch1")
    for on in (True, False):
        fmu.step(50)
        sim.step(50)
        fmu["joint.leg1_pitch1.lock"] = on
        (joint.lock if on else joint.release)()
        assert fmu["joint.leg1_pitch1.qd"] == joint.rate
        assert joint.rate == 0.0  # stopped, or let go from rest
        assert fmu["joint.leg1_pitch1.effort"] == joint.effort
    fmu.step(50)
    sim.step(50)
    assert joint.rate != 0.0
    assert fmu["joint.leg1_pitch1.q"] == joint.position


def test_a_joint_follows_what_it_is_given(bench):
    rod = pl.Body(
        mass=2, com=[0.5, 0, 0], inertia=[0.1, 0.2, 0.2], nodes={"tip": {"at": [1, 0, 0]}}
    )
    system = pl.System(
        name="driven",
        gravity=[0, 0, -9.81],
        bodies={"arm": rod, "bob": pl.Body(mass=1, com=[0.3, 0, 0], inertia=[0.1, 0.1, 0.1])},
        joints={
            "drive": pl.Joint(type="revolute", axis="y", child="arm", start=0.2, motion="input"),
            "hinge": pl.Joint(type="revolute", axis="y", parent="arm.tip", child="bob"),
        },
    )
    fmu = bench(system)
    sim = pl.Simulation(system, STEP)
    for i in range(300):
        t = i * STEP
        motion = 0.2 + 0.3 * np.sin(t), 0.3 * np.cos(t), -0.3 * np.sin(t)
        for part, value in zip(("q", "qd", "qdd"), motion, strict=True):
            fmu[f"joint.drive.motion.{part}"] = float(value)
        sim.joint("drive").move(*motion)
        fmu.step()
        sim.step()
    # the two reckon the time since the motion was given by a rounding apart
    assert fmu["joint.hinge.q"] == pytest.approx(sim.joint("hinge").position, abs=1e-13)
    assert fmu["joint.drive.q"] == pytest.approx(0.2 + 0.3 * np.sin(0.3), abs=1e-9)
    assert fmu["joint.drive.tau"] == pytest.approx(sim.joint("drive").effort, rel=1e-10)
