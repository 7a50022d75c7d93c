"""Every function in every phase: what the standard allows works, all else is refused.

The table is that of FMI 2.0.4, section 4.2.4 (states of a co-simulation slave); steps are never
pending here, so that the phases "step in progress" and "canceled" do not occur.
"""

from __future__ import annotations

from ctypes import byref, c_char_p, c_double, c_int, c_size_t, c_void_p

import pytest

from fmu.raw_slave import (
    DISCARD,
    DO_STEP_STATUS,
    ERROR,
    FUNCTIONS,
    LAST_SUCCESSFUL_TIME,
    OK,
    PENDING_STATUS,
    TERMINATED,
    RawSlave,
    integers,
    reals,
    references,
)

INPUT, OUTPUT = "joint.elbow_pitch.tau", "joint.elbow_pitch.q"
PHASES = ("instantiated", "initialization", "stepping", "discarded", "terminated")
EVERY = set(PHASES)
AFTER = {"stepping", "discarded", "terminated"}  # the model was initialized
BEFORE = {"instantiated", "initialization", "stepping"}

ALLOWED = {
    "fmi2SetDebugLogging": EVERY,
    "fmi2SetupExperiment": {"instantiated"},
    "fmi2EnterInitializationMode": {"instantiated"},
    "fmi2ExitInitializationMode": {"initialization"},
    "fmi2Terminate": {"stepping", "discarded"},
    "fmi2Reset": EVERY,
    **dict.fromkeys(
        ("fmi2GetReal", "fmi2GetInteger", "fmi2GetBoolean", "fmi2GetString"),
        AFTER | {"initialization"},
    ),
    **dict.fromkeys(("fmi2SetReal", "fmi2SetBoolean", "fmi2SetString", "fmi2SetInteger"), BEFORE),
    "fmi2GetFMUstate": EVERY,
    "fmi2SetFMUstate": EVERY,
    "fmi2FreeFMUstate": EVERY,
    "fmi2SerializedFMUstateSize": EVERY,
    "fmi2SerializeFMUstate": EVERY,
    "fmi2DeSerializeFMUstate": EVERY,
    "fmi2GetDirectionalDerivative": AFTER | {"initialization"},
    "fmi2SetRealInputDerivatives": BEFORE,
    "fmi2GetRealOutputDerivatives": AFTER,
    "fmi2DoStep": {"stepping"},
    "fmi2CancelStep": set(),
    "fmi2GetStatus": AFTER,
    "fmi2GetRealStatus": AFTER,
    "fmi2GetBooleanStatus": AFTER,
    "fmi2GetStringStatus": AFTER,
    # no status is an Integer: refused with a word on that where the standard allows to ask
    "fmi2GetIntegerStatus": set(),
}


def in_phase(library, phase: str) -> RawSlave:
    slave = RawSlave(library)
    if phase == "instantiated":
        return slave
    assert slave.setup() == OK
    assert slave.call("fmi2EnterInitializationMode") == OK
    if phase == "initialization":
        return slave
    assert slave.call("fmi2ExitInitializationMode") == OK
    assert slave.do_step(0.0, 1e-3) == OK
    if phase == "discarded":
        assert slave.set_real(["joint.wrist_roll.tau"], [1e9]) == OK
        assert slave.do_step(1e-3, 1.0) == DISCARD
    if phase == "terminated":
        assert slave.call("fmi2Terminate") == OK
    slave.messages.clear()
    return slave


def good_arguments(slave: RawSlave, function: str) -> list:
    """Arguments that are right wherever the call is allowed."""
    into, out = references(slave.refs([INPUT])), references(slave.refs([OUTPUT]))
    number = references(slave.refs(["solver.integrator"]))
    saved = slave.save()
    size = len(slave.bytes_of(saved))
    now = 1e-3
    return {
        "fmi2SetDebugLogging": [1, 0, None],
        "fmi2SetupExperiment": [0, 0.0, 0.0, 0, 0.0],
        "fmi2GetReal": [out, 1, reals([0.0])],
        "fmi2GetInteger": [number, 1, integers([0])],
        "fmi2GetBoolean": [None, 0, None],
        "fmi2GetString": [None, 0, None],
        "fmi2SetReal": [into, 1, reals([1.0])],
        # a fixed parameter once stepping
        "fmi2SetInteger": [number, 0 if is_initialized(slave) else 1, integers([3])],
        "fmi2SetBoolean": [None, 0, None],
        "fmi2SetString": [None, 0, None],
        "fmi2GetFMUstate": [byref(c_void_p())],
        "fmi2SetFMUstate": [saved],
        "fmi2FreeFMUstate": [byref(saved)],
        "fmi2SerializedFMUstateSize": [saved, byref(c_size_t())],
        "fmi2SerializeFMUstate": [saved, bytes(size), size],
        "fmi2DeSerializeFMUstate": [slave.bytes_of(saved), size, byref(c_void_p())],
        "fmi2GetDirectionalDerivative": [out, 1, into, 1, reals([1.0]), reals([0.0])],
        "fmi2SetRealInputDerivatives": [into, 1, integers([1]), reals([1.0])],
        "fmi2GetRealOutputDerivatives": [out, 1, integers([1]), reals([0.0])],
        "fmi2DoStep": [now, 1e-3, 1],
        "fmi2GetStatus": [DO_STEP_STATUS, byref(c_int())],
        "fmi2GetRealStatus": [LAST_SUCCESSFUL_TIME, byref(c_double())],
        "fmi2GetIntegerStatus": [DO_STEP_STATUS, byref(c_int())],
        "fmi2GetBooleanStatus": [TERMINATED, byref(c_int())],
        "fmi2GetStringStatus": [PENDING_STATUS, byref(c_char_p())],
    }.get(function, [])


def is_initialized(slave: RawSlave) -> bool:
    """Whether the status calls answer, which they do from the end of initialization on."""
    answers = slave.call("fmi2GetRealStatus", LAST_SUCCESSFUL_TIME, byref(c_double())) == OK
    slave.messages.clear()
    return answers


def test_the_table_names_every_function_of_an_instance():
    assert set(ALLOWED) == set(FUNCTIONS)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("phase", PHASES)
def test_a_call_works_where_the_standard_allows_it_and_nowhere_else(arm, phase, function):
    slave = in_phase(arm, phase)
    arguments = good_arguments(slave, function)
    before = slave.state()
    slave.messages.clear()
    status = slave.call(function, *arguments)
    if phase in ALLOWED[function]:
        assert status == OK, slave.messages
        return
    assert status == ERROR
    (message,) = slave.messages
    assert message.startswith(f"{function}: ")
    assert slave.state() == before


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_call_on_no_instance_is_an_error(arm, function):
    slave = in_phase(arm, "stepping")
    arguments = good_arguments(slave, function)
    assert getattr(arm.dll, function)(None, *arguments) == ERROR


def test_freeing_no_instance_does_nothing(arm):
    arm.dll.fmi2FreeInstance(None)


def test_a_reset_slave_is_like_a_new_one(arm):
    slave = in_phase(arm, "discarded")
    assert slave.call("fmi2Reset") == OK
    assert slave.state() == RawSlave(arm).state()
    slave.initialize()
    fresh = RawSlave(arm)
    fresh.initialize()
    for i in range(10):
        assert slave.do_step(i * 1e-3, 1e-3) == fresh.do_step(i * 1e-3, 1e-3) == OK
    assert slave.state() == fresh.state()


def test_a_failed_initialization_can_be_mended(arm):
    slave = RawSlave(arm)
    assert slave.set_real(["joint.orbit.quat_start[1]"], [0.5]) == OK
    assert slave.setup() == OK
    assert slave.call("fmi2EnterInitializationMode") == OK
    assert slave.call("fmi2ExitInitializationMode") == ERROR
    assert "length 0.5" in slave.messages[-1]
    assert slave.set_real(["joint.orbit.quat_start[1]"], [1.0]) == OK
    assert slave.call("fmi2ExitInitializationMode") == OK


@pytest.mark.parametrize("phase", PHASES)
def test_a_saved_state_brings_its_phase_back(arm, phase):
    saved = in_phase(arm, phase)
    state = saved.save()
    blob = saved.bytes_of(state)
    for other in PHASES:
        slave = in_phase(arm, other)
        status, copy = slave.deserialize(blob)
        assert status == OK
        assert slave.restore(copy) == OK
        assert slave.state() == blob
        can_step = slave.do_step(1e-3, 1e-3) == OK
        assert can_step == (phase == "stepping")
        slave.free_state(copy)
    saved.free_state(state)


def test_states_can_be_restored_over_parameters_that_make_no_sense(arm):
    slave = RawSlave(arm)
    good = slave.save()
    before = slave.state()
    assert slave.set_real(["joint.orbit.quat_start[1]"], [0.5]) == OK
    assert slave.restore(good) == OK
    assert slave.state() == before


def test_the_status_of_a_step_follows_the_state(arm):
    slave = in_phase(arm, "stepping")
    good, status = slave.save(), c_int()
    assert slave.set_real([INPUT], [1e17]) == OK
    assert slave.do_step(1e-3, 1e-3) == DISCARD
    assert slave.call("fmi2GetStatus", DO_STEP_STATUS, byref(status)) == OK
    assert status.value == DISCARD
    assert slave.restore(good) == OK
    assert slave.call("fmi2GetStatus", DO_STEP_STATUS, byref(status)) == OK
    assert status.value == OK
