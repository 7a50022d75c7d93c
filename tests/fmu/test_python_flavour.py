"""The pythonfmu flavour: the same numbers as the native one, states whole, errors with a cause."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import zipfile
from ctypes import byref
from pathlib import Path

import numpy as np
import pytest
from fmpy.validation import validate_fmu

import pliant as pl
from cases.fmu_models import craft, driven, pendulum
from fmu.raw_slave import DISCARD, FATAL, OK, Library, RawSlave, integers, references
from pliant.demos import actuator_law
from pliant.demos.station_arm import MODEL_FILE
from pliant.fmu.python_slave import PliantSlave

STEP = 1e-3
TORQUE, ANGLE, RATE = "joint.hinge.tau", "joint.hinge.q", "joint.hinge.qd"

# A law that remembers: it adds up the torque that is asked for and answers late.
INTEGRATING = """
from pliant.fmu.python_slave import PliantSlave

class Integrating(PliantSlave):
    def actuate(self, time):
        total = self.memory.get("total", 0.0) + self.step_size * self.commanded("joint.hinge.tau")
        self.memory["total"] = total
        self["joint.hinge.tau"] = total - 0.3 * self["joint.hinge.qd"]
"""
IDLE = """
from pliant.fmu.python_slave import PliantSlave

class Idle(PliantSlave):
    def actuate(self, time):
        pass
"""
LATE_ERROR = """
from pliant.fmu.python_slave import PliantSlave

class Late(PliantSlave):
    def actuate(self, time):
        self.memory["calls"] = self.memory.get("calls", 0) + 1
        self["joint.hinge.tau"] = 5.0
        if time > 0.0125:
            raise RuntimeError("100 % broken")
"""


def stiff() -> pl.System:
    """A spring far too stiff for a step of 1 ms: step times omega is about 12."""
    rod = pl.Body(mass=2.0, com=[0.5, 0, 0], inertia=[0.1, 0.2, 0.2])
    spring = pl.Spring(stiffness=1e8)
    hinge = pl.Joint(type="revolute", axis="y", child="rod", start=0.01, spring=spring)
    return pl.System(name="stiff", bodies={"rod": rod}, joints={"hinge": hinge})


@pytest.fixture
def build(tmp_path):
    """Exports and unzips a system; the law is the text of a slave."""
    count = iter(range(100))

    def made(system: pl.System, law: str | None = None, flavour: str = "python", **settings):
        folder = tmp_path / f"fmu {next(count)}"  # a blank is harmless
        folder.mkdir()
        slave = None
        if law is not None:
            slave = folder / "law.py"
            slave.write_text(law)
        fmu = pl.export_fmu(system, folder / "m.fmu", flavour=flavour, slave=slave, **settings)
        with zipfile.ZipFile(fmu) as archive:
            archive.extractall(folder / "unzipped")
        return Library(folder / "unzipped")

    return made


class PythonSlave(RawSlave):
    def free_state(self, state) -> None:
        """pythonfmu frees a state but leaves the pointer as it was."""
        assert self.call("fmi2FreeFMUstate", byref(state)) == OK


def started(library: Library) -> PythonSlave:
    slave = PythonSlave(library, logging=True)
    assert slave.component is not None, slave.messages
    slave.initialize()
    return slave


def trajectory(slave: RawSlave, sizes, first: float = 0.0) -> list[list[float]]:
    """Positions and rates after steps of these sizes under a torque that varies."""
    rows, time = [], first
    for i, size in enumerate(sizes):
        assert slave.set_real([TORQUE], [3.0 * np.sin(0.7 * i)]) == OK
        assert slave.do_step(time, size) == OK, slave.messages
        time += size
        rows.append(slave.get_real([ANGLE, RATE, "joint.hinge.qdd"]))
    return rows


# -------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize("model", [pendulum, craft, driven, lambda: pl.load(MODEL_FILE)])
def test_its_description_is_valid(model, tmp_path):
    assert validate_fmu(str(pl.export_fmu(model(), tmp_path / "m.fmu", flavour="python"))) == []


@pytest.mark.parametrize("law", [None, IDLE], ids=["plain", "idle law"])
@pytest.mark.parametrize(
    "sizes",
    [[STEP] * 200, [10 * STEP] * 50, [2.5 * STEP, 0.3 * STEP, 7 * STEP] * 20],
    ids=["internal steps", "longer steps", "steps that do not fit"],
)
def test_it_gives_the_bits_of_the_native_flavour(build, law, sizes):
    """A law splits the step into internal ones in Python: they must be those of the kernel."""
    native = trajectory(started(build(pendulum(), flavour="native")), sizes)
    assert trajectory(started(build(pendulum(), law)), sizes) == native


def test_parameters_settings_and_locks_reach_the_model(build):
    values = []
    for flavour in ("native", "python"):
        slave = RawSlave(build(pendulum(), flavour=flavour, include=["joint.hinge.lock"]))
        assert slave.set_real(["body.rod.m", "solver.h"], [3.0, 5e-4]) == OK
        assert slave.set_integer(["solver.integrator"], [3]) == OK
        slave.initialize()
        rows = trajectory(slave, [STEP] * 20)
        locked = slave.refs(["joint.hinge.lock"])
        assert slave.call("fmi2SetBoolean", references(locked), 1, integers([1])) == OK
        values.append([rows, trajectory(slave, [STEP] * 20, first=20 * STEP)])
    assert values[0] == values[1]
    assert values[1][1][-1][1] == 0.0


# --------------------------------------------------------------------------------------- states


@pytest.mark.parametrize("law", [None, INTEGRATING], ids=["plain", "with memory"])
def test_a_restored_state_goes_on_bitwise_also_in_another_instance(build, law):
    library = build(pendulum(), law)
    slave = started(library)
    trajectory(slave, [STEP] * 50)
    saved = slave.save()
    onward = trajectory(slave, [STEP] * 50, first=0.05)
    assert slave.restore(saved) == OK
    assert trajectory(slave, [STEP] * 50, first=0.05) == onward

    other = started(library)
    status, state = other.deserialize(slave.bytes_of(saved))
    assert status == OK
    assert other.restore(state) == OK
    assert trajectory(other, [STEP] * 50, first=0.05) == onward
    slave.free_state(saved)
    other.free_state(state)


def test_memory_of_a_law_matters(build):
    """Otherwise the test above would prove nothing."""
    slave, plain = started(build(pendulum(), INTEGRATING)), started(build(pendulum()))
    assert trajectory(slave, [STEP] * 50) != trajectory(plain, [STEP] * 50)


def test_reset_is_as_good_as_new(build):
    slave = started(build(pendulum(), INTEGRATING))
    fresh = trajectory(slave, [STEP] * 30)
    for _ in range(3):
        assert slave.call("fmi2Reset") == OK
        slave.initialize()
        assert trajectory(slave, [STEP] * 30) == fresh


def test_damaged_and_foreign_states_are_refused_and_change_nothing(build):
    slave = started(build(pendulum(), INTEGRATING))
    trajectory(slave, [STEP] * 10)
    before = slave.state()
    random = np.random.default_rng(5)
    wrong = [b"", b"garbage", before[:-1], before[:40], before + b"x"]
    for _ in range(200):
        flipped = bytearray(before)
        flipped[random.integers(len(before))] ^= 1 << random.integers(8)
        wrong.append(bytes(flipped))
    wrong.append(started(build(driven())).state())
    for data in wrong:
        status, state = slave.deserialize(data)
        assert status == OK  # pythonfmu asks the class, which has no instance to answer for
        assert slave.restore(state) == FATAL
        assert "state" in slave.messages[-1]
    assert slave.state() == before


def test_a_memory_that_cannot_be_saved_is_named(build):
    law = IDLE.replace("pass", "self.memory['set'] = {1, 2}")
    slave = started(build(pendulum(), law))
    assert slave.do_step(0.0, STEP) == OK
    assert slave.do_step(STEP, STEP) == FATAL
    assert "self.memory cannot be saved" in slave.messages[-1]


# --------------------------------------------------------------------------------------- errors


def test_refused_calls_say_why_leave_the_state_and_the_instance_lives(build, capfd):
    slave = started(build(pendulum()))
    trajectory(slave, [STEP] * 5)
    before, nan = slave.state(), float("nan")
    for call, words in (
        (lambda: slave.set_real([TORQUE], [nan]), "nan is not a finite number"),
        (lambda: slave.set_real([TORQUE], [float("inf")]), "inf is not a finite number"),
        (lambda: slave.set_real([ANGLE], [1.0]), "is computed and cannot be set"),
        (lambda: slave.set_real(["body.rod.m"], [1.0]), "before initialization"),
        (lambda: slave.set_real([TORQUE, TORQUE], [1.0, 2.0]), "given twice"),
        (lambda: slave.set_real([10**6], [1.0]), "value reference 1000000 is unknown"),
        (lambda: slave.set_integer([TORQUE], [1]), "is of type Real"),
        (lambda: slave.do_step(5 * STEP, 0.0), "give a time above 0 s"),
        (lambda: slave.do_step(5 * STEP, -STEP), "give a time above 0 s"),
        (lambda: slave.do_step(5 * STEP, nan), "give a time above 0 s"),
        (lambda: slave.do_step(nan, STEP), "but the last step ended at 0.005 s"),
        (lambda: slave.do_step(9 * STEP, STEP), "but the last step ended at 0.005 s"),
        (lambda: slave.setup(), "setup_experiment is not allowed while stepping"),
        (lambda: slave.call("fmi2ExitInitializationMode"), "not allowed while stepping"),
    ):
        assert call() == FATAL, words
        assert words in slave.messages[-1]
        assert words in capfd.readouterr().err  # seen also where logging is off
        assert slave.state() == before
    assert slave.do_step(5 * STEP, STEP) == OK


def test_calls_out_of_order_are_refused(build):
    library = build(pendulum())
    slave = PythonSlave(library, logging=True)
    assert slave.do_step(0.0, STEP) == FATAL
    assert "do_step is not allowed before initialization" in slave.messages[-1]
    slave.initialize()
    assert slave.call("fmi2Terminate") == OK
    assert slave.do_step(0.0, STEP) == FATAL
    assert "after fmi2Terminate" in slave.messages[-1]
    assert slave.get_real([ANGLE]) == [0.3]
    assert slave.call("fmi2Reset") == OK
    slave.initialize()
    assert slave.do_step(0.0, STEP) == OK


def test_a_diverging_step_is_discarded_and_taken_back(build, capfd):
    with pytest.warns(pl.StepWarning):
        slave = started(build(stiff(), step=STEP))
    time, size = 0.0, 10 * STEP
    while (before := slave.state()) and (status := slave.do_step(time, size)) == OK:
        time += size
    assert status == DISCARD
    assert slave.last_successful_time == time
    assert "energy came out of nothing" in slave.messages[-1]
    assert "solver.h" in capfd.readouterr().err
    assert slave.state() == before
    assert np.isfinite(slave.get_real([ANGLE, RATE])).all()
    # with the shorter step that the message asks for it can be done
    assert slave.set_real(["solver.h"], [1e-5]) == OK
    assert slave.do_step(time, size) in (OK, DISCARD)


def test_an_error_in_a_law_is_told_with_its_line_and_taken_back(build, capfd):
    slave = started(build(pendulum(), LATE_ERROR))
    assert slave.do_step(0.0, 10 * STEP) == OK
    before = slave.state()
    assert slave.do_step(10 * STEP, 10 * STEP) == FATAL
    for text in (slave.messages[-1].replace("%%", "%"), capfd.readouterr().err):
        assert "actuate, t = 0.013 s" in text
        assert "line 9, in actuate" in text
        assert "RuntimeError: 100 % broken" in text
    assert slave.state() == before


def test_a_law_that_misspells_a_variable_gets_a_suggestion(build):
    law = INTEGRATING.replace('self["joint.hinge.qd"]', 'self["joint.hing.qd"]')
    slave = started(build(pendulum(), law))
    assert slave.do_step(0.0, STEP) == FATAL
    assert "did you mean 'joint.hinge.qd'?" in slave.messages[-1]


@pytest.mark.parametrize(("value", "shown"), [("'3'", "'3'"), ("[1.0]", "[1.0]"), ("None", "None")])
def test_a_law_that_sets_what_is_no_number_is_told_so(build, value, shown):
    slave = started(build(pendulum(), IDLE.replace("pass", f'self["joint.hinge.tau"] = {value}')))
    assert slave.do_step(0.0, STEP) == FATAL
    assert f"TypeError: joint.hinge.tau: {shown} is no number" in slave.messages[-1]


def test_an_instance_is_freed_after_errors_and_once_only(build):
    """pythonfmu lets go of an instance at an error and again at the end: it must be there twice."""
    library = build(pendulum())
    gc.collect()
    alive = sum(isinstance(item, PliantSlave) for item in gc.get_objects())
    for _ in range(20):
        slave = started(library)
        for _ in range(3):
            assert slave.set_real([TORQUE], [float("nan")]) == FATAL
        assert slave.do_step(0.0, STEP) == OK
        slave.free()
    gc.collect()
    assert sum(isinstance(item, PliantSlave) for item in gc.get_objects()) == alive


def test_resources_of_another_model_or_none_are_refused(build):
    library = build(pendulum())
    data = library.folder / "resources" / "model.pliant"
    whole = data.read_bytes()
    for wrong in (
        whole[:-1],
        whole[:100],
        (build(driven()).folder / "resources" / "model.pliant").read_bytes(),
    ):
        data.write_bytes(wrong)
        slave = PythonSlave(library, logging=True)
        assert slave.component is None
        assert slave.messages
    assert "of different exports" in slave.messages[-1]
    data.unlink()
    assert RawSlave(library, logging=True).component is None


# ------------------------------------------------------------------------------------- instances


def test_instances_and_laws_in_one_process_do_not_meet(build):
    libraries = [build(pendulum()), build(pendulum(), INTEGRATING), build(pendulum(), IDLE)]
    alone = [trajectory(started(library), [STEP] * 40) for library in libraries]
    assert alone[0] == alone[2] != alone[1]
    slaves = [started(library) for library in (*libraries, *libraries)]
    rows = [[] for _ in slaves]
    for i in range(40):
        for slave, collected in zip(slaves, rows, strict=True):
            assert slave.set_real([TORQUE], [3.0 * np.sin(0.7 * i)]) == OK
            assert slave.do_step(sum([STEP] * i), STEP) == OK
            collected.append(slave.get_real([ANGLE, RATE, "joint.hinge.qdd"]))
    assert rows == [*alone, *alone]


@pytest.mark.parametrize("law", [None, IDLE], ids=["plain", "law"])
def test_many_instances_one_after_the_other(build, law):
    """pythonfmu releases the namespace of a module that it only borrowed, at every instance."""
    library, path = build(pendulum(), law), list(sys.path)
    for _ in range(50):
        slave = started(library)
        assert slave.do_step(0.0, STEP) == OK
        slave.free()
    assert sys.path == path


# ----------------------------------------------------------------------------------- a user's law


def test_the_example_law_limits_delays_and_brakes(tmp_path):
    fmu = pl.export_fmu(
        *(MODEL_FILE, tmp_path / "arm.fmu"),
        flavour="python",
        slave=actuator_law.__file__,
        include=["joint.*.lock"],
    )
    assert validate_fmu(str(fmu)) == []
    with zipfile.ZipFile(fmu) as archive:
        archive.extractall(tmp_path / "arm")
    slave = started(Library(tmp_path / "arm"))
    torque, rate = "joint.elbow_pitch.tau", "joint.elbow_pitch.qd"

    assert slave.set_real([torque], [5.0 * actuator_law.LIMIT]) == OK
    assert slave.do_step(0.0, actuator_law.LAG) == OK
    # a first-order lag, after its time constant
    expected = actuator_law.LIMIT * (1.0 - np.exp(-1.0))
    assert slave.get_real([torque])[0] == pytest.approx(expected, rel=1e-12)
    assert slave.do_step(actuator_law.LAG, 0.09) == OK
    assert slave.get_real([torque])[0] == pytest.approx(actuator_law.LIMIT, rel=1e-4)
    moving = abs(slave.get_real([rate])[0])
    assert moving > actuator_law.BRAKE_BELOW

    # as much the other way slows it down, then the brake takes the rest
    assert slave.set_real([torque], [-5.0 * actuator_law.LIMIT]) == OK
    assert slave.do_step(actuator_law.LAG + 0.09, actuator_law.LAG + 0.09) == OK
    assert slave.set_real([torque], [0.0]) == OK
    start = 2.0 * (actuator_law.LAG + 0.09)
    for i in range(20):
        assert slave.do_step(start + 0.1 * i, 0.1) == OK
    assert slave.get_real([rate]) == [0.0]  # the brake has closed
    assert slave.set_real([torque], [100.0]) == OK
    assert slave.do_step(start + 2.0, 0.1) == OK
    assert abs(slave.get_real([rate])[0]) > 0.0


# ------------------------------------------------------------------------------------------ paths

RUN = """
import sys
from pathlib import Path
from fmu.raw_slave import Library, RawSlave
slave = RawSlave(Library(Path(sys.argv[1])))
slave.initialize()
slave.do_step(0.0, 1e-3)
slave.free()
print("freed", flush=True)
"""


@pytest.mark.parametrize(("name", "works"), [("a b", True), ("ä", False), ("a#b", False)])
def test_pythonfmu_runs_from_folders_with_blanks_and_crashes_on_other_escapes(
    build, tmp_path, name, works
):
    """What docs/fmu.md warns of; the day pythonfmu reads its URI properly the warning can go."""
    folder = tmp_path / name
    (build(pendulum()).folder).rename(folder)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", RUN, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    # by what it says: when Python itself ends, pythonfmu's leftovers now and then crash it
    assert (done.stdout == b"freed\n") == works, done.stderr
