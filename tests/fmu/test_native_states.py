"""Saved states: what follows after restoring is what followed before, to the last bit."""

from __future__ import annotations

import re
from ctypes import byref

import numpy as np
import pytest
from fmpy import read_model_description
from fmpy.fmi2 import FMU2Slave

from fmu.raw_slave import DISCARD, ERROR, OK, Library, RawSlave

INPUTS = range(19)  # seven joints and two contact nodes of the arm


def advance(slave: RawSlave, time: float, rng: np.random.Generator) -> float:
    """Some steps of any length with any inputs, slopes and internal step; the time after them."""
    for _ in range(int(rng.integers(1, 4))):
        some = rng.choice(len(INPUTS), int(rng.integers(0, 5)), replace=False).tolist()
        assert slave.set_real(some, rng.normal(0, 50, len(some))) == OK
        if some and rng.random() < 0.3:
            assert slave.set_input_rates(some[:1], rng.normal(0, 100, 1)) == OK
        if rng.random() < 0.1:
            assert slave.set_real(["solver.h"], [float(rng.choice([1e-3, 5e-4, 7e-4]))]) == OK
        size = float(rng.choice([1e-3, 2e-3, 3.3e-3, 1e-4, rng.uniform(1e-4, 5e-3)]))
        assert slave.do_step(time, size) == OK, slave.messages
        time += size
    return time


@pytest.mark.parametrize("integrator", [2, 1, 3])
def test_from_1000_random_points_the_continuation_is_the_same_bitwise(arm, integrator):
    """Restored from memory or from bytes, into the same instance or another one."""
    points = {2: 1000, 1: 200, 3: 200}[integrator]
    first, second = RawSlave(arm), RawSlave(arm)
    for slave in (first, second):
        assert slave.set_integer(["solver.integrator"], [integrator]) == OK
        slave.initialize()
    advance(second, 0.0, np.random.default_rng(99))  # elsewhere, to be brought here
    rng = np.random.default_rng(integrator)
    time = 0.0
    for point in range(points):
        saved = first.save()
        blob = first.bytes_of(saved)
        seed = int(rng.integers(2**32))
        advance(first, time, np.random.default_rng(seed))
        expected = first.state()

        into = second if point % 3 == 0 else first
        copy = saved
        if point % 2 == 0:
            status, copy = into.deserialize(blob)
            assert status == OK
        assert into.restore(copy) == OK
        assert into.state() == blob
        time = advance(into, time, np.random.default_rng(seed))
        assert into.state() == expected
        assert into.get_real(range(19, 112)) == first.get_real(range(19, 112)) or into is first
        first.free_state(saved)
        if copy is not saved:
            into.free_state(copy)
    assert first.last_successful_time == pytest.approx(time, rel=1e-12)


def look_at_everything(slave: RawSlave) -> None:
    """Every call that should leave an instance as it is."""
    outputs = slave.library.named("output")
    slave.get_real(range(19, 112))
    slave.get_real(outputs)
    slave.output_rates(outputs)
    slave.directional(outputs, [0, 7], [1.0, 2.0])
    for kind in ("Real", "Integer", "Boolean", "String"):
        assert slave.call(f"fmi2Get{kind}", None, 0, None) == OK
        assert slave.call(f"fmi2Set{kind}", None, 0, None) == OK
    assert slave.set_input_rates([], []) == OK
    slave.free_state(slave.save())
    assert slave.call("fmi2SetDebugLogging", 0, 0, None) == OK
    assert slave.set_real([10**6], [1.0]) == ERROR
    assert slave.do_step(-1.0, 1e-3) == ERROR


def test_looking_at_an_instance_does_not_move_it(arm):
    looked_at, left_alone = RawSlave(arm), RawSlave(arm)
    for slave in (looked_at, left_alone):
        slave.initialize()
    for i in range(50):
        look_at_everything(looked_at)
        for slave in (looked_at, left_alone):
            assert slave.set_real([3], [10.0 * i]) == OK
        look_at_everything(looked_at)
        for slave in (looked_at, left_alone):
            assert slave.do_step(i * 0.01, 0.01) == OK
    assert looked_at.state() == left_alone.state()


def test_a_state_can_be_saved_over_an_old_one(arm):
    slave = RawSlave(arm)
    slave.initialize()
    state = slave.save()
    assert slave.do_step(0.0, 0.01) == OK
    assert slave.call("fmi2GetFMUstate", byref(state)) == OK
    assert slave.bytes_of(state) == slave.state()


def test_parameters_and_settings_belong_to_the_state(arm):
    heavy, light = RawSlave(arm), RawSlave(arm)
    assert heavy.set_real(["body.payload.m", "joint.elbow_pitch.q_start"], [9000.0, 1.2]) == OK
    assert heavy.set_integer(["solver.integrator", "solver.algorithm"], [3, 2]) == OK
    for slave in (heavy, light):
        slave.initialize()
        assert slave.set_real([3], [100.0]) == OK
    blob = heavy.state()
    assert heavy.do_step(0.0, 0.5) == OK
    status, state = light.deserialize(blob)
    assert status == OK
    assert light.restore(state) == OK
    assert light.get_real(["body.payload.m"]) == [9000.0]
    assert light.do_step(0.0, 0.5) == OK
    assert light.state() == heavy.state()


def test_a_diverging_step_is_discarded_at_the_last_good_time_and_a_restored_state_goes_on(arm):
    slave, calm = RawSlave(arm), RawSlave(arm)
    for instance in (slave, calm):
        instance.initialize()
        assert instance.do_step(0.0, 0.1) == OK
    good = slave.save()
    assert slave.set_real(["joint.wrist_roll.tau"], [1e9]) == OK
    assert slave.do_step(0.1, 1.0) == DISCARD
    message = slave.messages[-1]
    assert "energy came out of nothing" in message
    assert slave.logged[-1][:2] == (DISCARD, "logStatusDiscard")
    # at the last internal step where something can be read, which is of mechanics
    assert 0.1 <= slave.last_successful_time < 1.1
    failed = float(re.search(r"t = (\S+) s", message)[1])
    assert slave.last_successful_time <= failed
    values = np.array(slave.get_real(range(19, 112)))
    assert np.isfinite(values).all()
    assert np.abs(slave.get_real(["joint.elbow_pitch.qd"])).max() < 1e8
    # back and on, as if nothing had been
    assert slave.restore(good) == OK
    for instance in (slave, calm):
        assert instance.do_step(0.1, 0.1) == OK
    assert slave.state() == calm.state()


# ---------------------------------------------------------------------------------------- in FMPy


@pytest.fixture
def fmpy_slave(arm: Library) -> FMU2Slave:
    description = read_model_description(arm.folder)
    slave = FMU2Slave(
        guid=description.guid,
        unzipDirectory=str(arm.folder),
        modelIdentifier=description.coSimulation.modelIdentifier,
    )
    slave.instantiate()
    slave.setupExperiment(startTime=0.0)
    slave.enterInitializationMode()
    slave.exitInitializationMode()
    yield slave
    slave.terminate()
    slave.fmi2FreeInstance(slave.component)


def test_a_master_of_fmpy_that_rolls_back_every_step_gets_the_same_motion(arm, fmpy_slave):
    """Each step is tried, taken back, and done again with the input found in the first try."""
    outputs = [arm.reference[n] for n in ("joint.elbow_pitch.q", "joint.elbow_pitch.qd")]
    straight = RawSlave(arm)
    straight.initialize()
    size, torques = 0.01, []
    for i in range(50):
        state = fmpy_slave.getFMUstate()
        fmpy_slave.setReal([3], [100.0])
        fmpy_slave.doStep(i * size, size)
        position, rate = fmpy_slave.getReal(outputs)
        torques.append(-1e3 * (position - 1.75) - 100.0 * rate + 50.0 * np.sin(i))
        if i % 2:
            blob = fmpy_slave.serializeFMUstate(state)
            fmpy_slave.freeFMUstate(state)
            state = fmpy_slave.deSerializeFMUstate(blob)
        fmpy_slave.setFMUstate(state)
        fmpy_slave.freeFMUstate(state)
        fmpy_slave.setReal([3], [torques[-1]])
        fmpy_slave.doStep(i * size, size)

        assert straight.set_real([3], [torques[-1]]) == OK
        assert straight.do_step(i * size, size) == OK
        assert fmpy_slave.getReal(outputs) == straight.get_real(outputs)
    assert np.ptp(torques) > 1.0
