"""Importers that others wrote: FMPy, ecos and fmucontainer run the native FMU, alone and in a loop
with a controller FMU, and find the motion that this package finds."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import sys
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu
from pythonfmu import FmuBuilder

from fmu.raw_slave import OK, Library, RawSlave
from fmu.servo import torque
from fmu.twin import Twin

HOLD, STEPS = 0.01, 200
POSITION, RATE, TORQUE = (f"joint.elbow_pitch.{part}" for part in ("q", "qd", "tau"))


@pytest.fixture(scope="module")
def workshop(arm_fmu, tmp_path_factory) -> Path:
    """A folder with arm.fmu and Servo.fmu."""
    folder = tmp_path_factory.mktemp("importers")
    shutil.copy(arm_fmu, folder / "arm.fmu")
    FmuBuilder.build_FMU(Path(__file__).with_name("servo.py"), dest=folder)
    return folder


@pytest.fixture(scope="module")
def closed_loop(arm) -> np.ndarray:
    """Time, position, rate and torque at every communication point, by hand.

    Both parts step at the same time with what the other one had put out before.
    """
    slave = RawSlave(arm)
    slave.initialize()
    effort, rows = 0.0, []
    for i in range(STEPS):
        measured = slave.get_real([POSITION, RATE])
        assert slave.set_real([TORQUE], [effort]) == OK
        assert slave.do_step(i * HOLD, HOLD) == OK
        effort = torque(*measured)
        rows.append([*slave.get_real([POSITION, RATE]), effort])
    rows = np.array(rows)
    assert np.ptp(rows[:, 0]) > 0.02  # the elbow moves
    return rows


def test_fmpy_simulates_the_arm_as_the_simulation_does(arm_fmu, arm_system):
    outputs = [POSITION, RATE, "energy.total", "node.payload.corner.r[1]"]
    times = np.array([0.0, 10.0])
    load = np.array(
        [(t, 120.0, -60.0) for t in times],
        [("time", float), (TORQUE, float), ("node.payload.corner.f[3]", float)],
    )
    result = fmpy.simulate_fmu(
        str(arm_fmu),
        stop_time=2.0,
        step_size=HOLD,
        output_interval=HOLD,
        input=load,
        output=outputs,
    )
    twin = Twin(arm_system, outputs, step=1e-3)
    twin.set([TORQUE, "node.payload.corner.f[3]"], [120.0, -60.0])
    for row in result:
        assert [row[name] for name in outputs] == twin.read().tolist()
        twin.step(round(HOLD / 1e-3))
    assert len(result) == 201


def test_fmpy_sets_parameters_and_slopes_of_inputs(arm, arm_fmu, arm_system):
    """A ramp as input: FMPy gives its slope, since the FMU says that it can use one."""
    # FMPy 0.3.32 has room for nine slopes, neither more nor fewer
    names = [TORQUE, *(n for n in arm.reference if n.startswith("node.effector.grip.f["))]
    names += [n for n in arm.reference if n.startswith("node.payload.corner.f[")]
    names += ["joint.wrist_yaw.tau", "joint.wrist_roll.tau"]
    # and takes the ends of a table for flat
    rows = [(-1.0, -300.0, *[0.0] * 8), (2.0, 600.0, *[0.0] * 8)]
    result = fmpy.simulate_fmu(
        str(arm_fmu),
        stop_time=1.0,
        step_size=0.1,
        output_interval=0.1,
        input=np.array(rows, [(name, float) for name in ("time", *names)]),
        output=[POSITION],
        start_values={"body.station.m": 5000.0},
        set_input_derivatives=True,
    )
    arm_system = arm_system.model_copy(deep=True)
    # inboard of the booms, whose shapes and damping go by what they carried at the export
    arm_system.bodies["station"].mass = 5000.0
    twin = Twin(arm_system, [POSITION], step=1e-3)
    twin.sim.joint("elbow_pitch").torque = lambda t: 300.0 * t
    twin.step(1000)
    assert result[POSITION][-1] == pytest.approx(twin.read()[0], rel=1e-11)


def test_fmucontainer_closes_the_loop_of_arm_and_controller(workshop, closed_loop):
    tool = Path(sys.executable).with_name("fmucontainer")
    if not tool.exists():
        pytest.skip("fmu-manipulation-toolbox is not installed")
    assembly = {
        "name": "closed.fmu",
        "fmu": ["arm.fmu", "Servo.fmu"],
        "link": [
            ["arm.fmu", POSITION, "Servo.fmu", "q"],
            ["arm.fmu", RATE, "Servo.fmu", "qd"],
            ["Servo.fmu", "tau", "arm.fmu", TORQUE],
        ],
        "output": [
            ["arm.fmu", POSITION, "q"],
            ["arm.fmu", RATE, "qd"],
            ["Servo.fmu", "tau", "tau"],
        ],
        **dict.fromkeys(("auto_link", "auto_input", "auto_output"), False),
        "step_size": HOLD,
    }
    (workshop / "closed.json").write_text(json.dumps(assembly))
    command = [tool, "-fmu-directory", workshop, "-container", "closed.json"]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    container = workshop / "closed.fmu"
    assert validate_fmu(str(container)) == []
    # not by FMPy: once any FMU was given a logger of its own, FMPy's default one, to which the
    # container talks, points into freed memory (0.3.32)
    both = RawSlave(Library.unzipped(container, workshop / "closed"))
    both.initialize()
    for i, expected in enumerate(closed_loop.tolist()):
        assert both.do_step(i * HOLD, HOLD) == OK, both.messages
        assert both.get_real(["q", "qd", "tau"]) == expected
    assert both.call("fmi2Terminate") == OK


def test_ecos_closes_the_loop_of_arm_and_controller(workshop, closed_loop):
    ecospy = imported_ecospy()
    with ecospy.EcosSimulationStructure() as structure:
        structure.add_model("arm", workshop / "arm.fmu")
        structure.add_model("servo", workshop / "Servo.fmu")
        structure.make_real_connection(f"arm::{POSITION}", "servo::q")
        structure.make_real_connection(f"arm::{RATE}", "servo::qd")
        structure.make_real_connection("servo::tau", f"arm::{TORQUE}")
        with ecospy.EcosSimulation(structure=structure, step_size=HOLD) as simulation:
            simulation.init()
            for expected in closed_loop.tolist():
                simulation.step()
                names = (f"arm::{POSITION}", f"arm::{RATE}", "servo::tau")
                assert [simulation.get_real(name) for name in names] == expected
            simulation.terminate()


def test_ecos_runs_the_arm_with_other_parameters(workshop, arm_system):
    ecospy = imported_ecospy()
    with ecospy.EcosSimulationStructure() as structure:
        structure.add_model("arm", workshop / "arm.fmu")
        structure.add_parameter_set("light", {"arm::body.station.m": 5000.0})
        with ecospy.EcosSimulation(structure=structure, step_size=HOLD) as simulation:
            simulation.init(parameter_set="light")
            simulation.set_real(f"arm::{TORQUE}", 200.0)
            simulation.step(50)
            found = simulation.get_real(f"arm::{POSITION}")
            simulation.terminate()
    arm_system = arm_system.model_copy(deep=True)
    # inboard of the booms, whose shapes and damping go by what they carried at the export
    arm_system.bodies["station"].mass = 5000.0
    twin = Twin(arm_system, [POSITION], step=1e-3)
    twin.set([TORQUE], [200.0])
    twin.step(500)
    assert found == pytest.approx(twin.read()[0], rel=1e-12)


def imported_ecospy():
    """Its library asks for one that PyPI's tbb puts where no loader looks."""
    tbb = Path(sys.prefix) / "lib" / "libtbb.so.12"
    if tbb.exists():
        ctypes.CDLL(str(tbb), ctypes.RTLD_GLOBAL)
    return pytest.importorskip("ecospy", exc_type=(ImportError, OSError))
