"""The native FMU moves as pl.Simulation does, to the last bit: same kernel, same step sequence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fmpy import extract, read_model_description
from fmpy.fmi2 import FMU2Slave

import pliant as pl
from fmu.raw_slave import OK, Library, RawSlave
from fmu.twin import Twin

STEP, DURATION = 1e-3, 10.0


def names(library: Library, causality: str) -> list[str]:
    return [v.name for v in library.variables.values() if v.causality == causality]


def outputs_of(library: Library) -> list[str]:
    """All computed outputs: h_suggested is a constant of the export."""
    return [name for name in names(library, "output") if name != "solver.h_suggested"]


def held_inputs(count: int, steps: int) -> np.ndarray:
    """Efforts, forces and torques that all vary, each at its own pace: (steps, inputs)."""
    time = STEP * np.arange(steps)[:, None]
    number = np.arange(count)
    return 40.0 * np.sin((0.5 + 0.37 * number) * time + number) + 5.0 * np.cos(31.0 * time)


def simulated(system: pl.System, library: Library, inputs: np.ndarray, hold: int) -> np.ndarray:
    """Outputs of pl.Simulation after every hold of so many steps."""
    twin = Twin(system, outputs_of(library), step=STEP)
    rows = []
    for values in inputs[::hold]:
        twin.set(names(library, "input"), values)
        twin.step(hold)
        rows.append(twin.read())
    return np.array(rows)


def driven_by_fmpy(fmu: Path, library: Library, inputs: np.ndarray) -> np.ndarray:
    """The same through FMPy's calls of the FMI functions."""
    description = read_model_description(fmu)
    slave = FMU2Slave(
        guid=description.guid,
        unzipDirectory=extract(fmu),
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="arm",
    )
    slave.instantiate()
    slave.setupExperiment(startTime=0.0)
    slave.enterInitializationMode()
    slave.exitInitializationMode()
    into = [library.reference[name] for name in names(library, "input")]
    out = [library.reference[name] for name in outputs_of(library)]
    rows = []
    for i, values in enumerate(inputs):
        slave.setReal(into, values)
        slave.doStep(i * STEP, STEP)
        rows.append(slave.getReal(out))
    slave.terminate()
    slave.freeInstance()
    return np.array(rows)


@pytest.fixture(scope="module")
def inputs(arm) -> np.ndarray:
    return held_inputs(len(names(arm, "input")), round(DURATION / STEP))


@pytest.fixture(scope="module")
def trajectory(arm_system, arm, inputs) -> np.ndarray:
    return simulated(arm_system, arm, inputs, hold=1)


def test_the_arm_is_shaken_hard_enough_to_tell_trajectories_apart(arm, trajectory):
    speeds = [i for i, name in enumerate(outputs_of(arm)) if name.endswith("pitch.qd")]
    assert np.abs(trajectory[:, speeds]).max() > 1e-2
    assert np.ptp(trajectory, axis=0).min() > 0.0 or "energy.gravity" in outputs_of(arm)


def test_ten_seconds_through_fmpy_are_those_of_the_simulation_bitwise(
    arm_fmu, arm, inputs, trajectory
):
    assert np.array_equal(driven_by_fmpy(arm_fmu, arm, inputs), trajectory)


def test_the_python_flavour_gives_the_same_bits(arm_system, arm, inputs, trajectory, tmp_path):
    python = pl.export_fmu(arm_system, tmp_path / "python.fmu", flavour="python", step=STEP)
    assert np.array_equal(driven_by_fmpy(python, arm, inputs), trajectory)


def test_longer_communication_steps_are_the_same_internal_steps(arm_system, arm, inputs):
    hold = 10
    expected = simulated(arm_system, arm, inputs[:2000], hold)
    slave = RawSlave(arm)
    slave.initialize()
    for i, values in enumerate(inputs[:2000:hold]):
        assert slave.set_real(names(arm, "input"), values) == OK
        assert slave.do_step(i * hold * STEP, hold * STEP) == OK
        assert slave.get_real(outputs_of(arm)) == expected[i].tolist()


@pytest.mark.parametrize("integrator", ["euler_cromer", "rk4"])
def test_other_integrators_are_those_of_the_simulation(arm_system, tmp_path, arm, integrator):
    steps = 300
    fmu = pl.export_fmu(arm_system, tmp_path / "arm.fmu", integrator=integrator, step=STEP)
    inputs = held_inputs(len(names(arm, "input")), steps)
    twin = Twin(arm_system, outputs_of(arm), step=STEP, integrator=integrator)
    for values in inputs:
        twin.set(names(arm, "input"), values)
        twin.step()
    assert np.array_equal(driven_by_fmpy(fmu, arm, inputs)[-1], twin.read())
