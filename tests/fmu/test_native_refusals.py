"""Wrong values: refused with a message that names the variable, the state bitwise as it was."""

from __future__ import annotations

from ctypes import addressof, byref, c_char_p, c_double, c_int, c_size_t, c_void_p

import numpy as np
import pytest

from fmu.raw_slave import (
    ERROR,
    OK,
    RawSlave,
    integers,
    reals,
    references,
)

INPUT, OUTPUT, LOCAL = "joint.elbow_pitch.tau", "joint.elbow_pitch.q", "body.upper_boom.eta[1]"
PARAMETER, ENUMERATION, STEP = "body.payload.m", "solver.integrator", "solver.h"
CONSTANT = "solver.h_suggested"
UNKNOWN = 10**6


@pytest.fixture
def slave(arm) -> RawSlave:
    """In motion, with inputs and a slope on one of them."""
    made = RawSlave(arm)
    made.initialize()
    assert made.set_real([INPUT, "joint.wrist_yaw.tau"], [50.0, -3.0]) == OK
    assert made.do_step(0.0, 0.02) == OK
    assert made.set_real([INPUT], [40.0]) == OK
    assert made.set_input_rates([INPUT], [7.0]) == OK
    return made


@pytest.fixture
def fresh(arm) -> RawSlave:
    """Just instantiated."""
    return RawSlave(arm)


def assert_refused(slave: RawSlave, status_of, expected: str) -> None:
    before = slave.state()
    slave.messages.clear()
    assert status_of() == ERROR
    (message,) = slave.messages
    assert expected in message
    assert slave.state() == before


# ------------------------------------------------------------------------------------- references


GETTERS = {"fmi2GetReal": reals([0.0] * 3), "fmi2GetInteger": integers([0] * 3)}
GETTERS |= {"fmi2GetBoolean": integers([0] * 3), "fmi2GetString": (c_char_p * 3)()}
SETTERS = {"fmi2SetReal": reals([1.0] * 3), "fmi2SetInteger": integers([1] * 3)}
SETTERS |= {"fmi2SetBoolean": integers([1] * 3), "fmi2SetString": (c_char_p * 3)()}


@pytest.mark.parametrize("function", [*GETTERS, *SETTERS])
def test_an_unknown_reference_is_refused(slave, function):
    values = (GETTERS | SETTERS)[function]
    for number in (UNKNOWN, 2**32 - 1, len(slave.library.variables)):
        refs = references([number])
        expected = f"value reference {number} is unknown"
        assert_refused(slave, lambda refs=refs: slave.call(function, refs, 1, values), expected)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("fmi2GetReal", ENUMERATION),
        ("fmi2GetInteger", OUTPUT),
        ("fmi2GetBoolean", OUTPUT),
        ("fmi2GetBoolean", ENUMERATION),
        ("fmi2GetString", OUTPUT),
        ("fmi2SetReal", ENUMERATION),
        ("fmi2SetInteger", INPUT),
        ("fmi2SetBoolean", INPUT),
        ("fmi2SetString", INPUT),
    ],
)
def test_a_variable_of_another_type_is_refused_by_name(slave, function, name):
    refs = references(slave.refs([name]))
    values = (GETTERS | SETTERS)[function]
    assert_refused(slave, lambda: slave.call(function, refs, 1, values), f"{name} is ")


@pytest.mark.parametrize("name", [OUTPUT, LOCAL, CONSTANT, "energy.total"])
def test_what_is_computed_cannot_be_written(slave, fresh, name):
    for instance in (slave, fresh):
        expected = f"{name} is computed and cannot be set"
        assert_refused(instance, lambda i=instance: i.set_real([name], [1.0]), expected)


def test_a_reference_twice_in_one_call_is_refused(slave, fresh):
    twice = "is given twice in one call"
    assert_refused(slave, lambda: slave.set_real([INPUT, 0, INPUT], [1.0, 2.0, 3.0]), twice)
    assert_refused(slave, lambda: slave.set_input_rates([INPUT, INPUT], [1.0, 2.0]), twice)
    assert_refused(fresh, lambda: fresh.set_integer([ENUMERATION, ENUMERATION], [1, 2]), twice)
    # in calls of their own they are in order
    assert slave.set_real([INPUT], [1.0]) == slave.set_real([INPUT], [2.0]) == OK


def test_a_list_with_one_wrong_entry_changes_nothing(slave, fresh):
    assert_refused(slave, lambda: slave.set_real([INPUT, 0, OUTPUT], [9.0, 9.0, 9.0]), OUTPUT)
    assert_refused(slave, lambda: slave.set_real([INPUT, 0, 1], [9.0, 9.0, np.nan]), "nan")
    names = [PARAMETER, "body.elbow.m"]
    assert_refused(fresh, lambda: fresh.set_real(names, [1.0, -1.0]), "body.elbow.m: -1")
    assert_refused(
        fresh,
        lambda: fresh.set_integer([ENUMERATION, "solver.algorithm"], [1, 9]),
        "9 is no choice",
    )
    assert_refused(slave, lambda: slave.set_input_rates([INPUT, 0], [1.0, np.inf]), "inf")


@pytest.mark.parametrize("function", [*GETTERS, *SETTERS])
def test_null_pointers_are_refused_and_empty_lists_are_not(slave, function):
    refs, values = references([0]), (GETTERS | SETTERS)[function]
    for arguments in ((None, 1, values), (refs, 1, None), (None, 1, None)):
        assert_refused(slave, lambda a=arguments: slave.call(function, *a), "null pointer")
    assert slave.call(function, None, 0, None) == OK


# ----------------------------------------------------------------------------------------- values


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", [INPUT, "node.payload.corner.f[2]", STEP])
def test_what_is_not_finite_is_refused(slave, name, value):
    assert_refused(slave, lambda: slave.set_real([name], [value]), name)


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, -1.0])
def test_a_mass_must_be_finite_and_positive(fresh, value):
    assert_refused(fresh, lambda: fresh.set_real([PARAMETER], [value]), PARAMETER)


@pytest.mark.parametrize("value", [0.0, -1e-3, 1e9])
def test_an_internal_step_must_be_positive_and_sane(slave, fresh, value):
    for instance in (slave, fresh):
        assert_refused(instance, lambda i=instance: i.set_real([STEP], [value]), STEP)


@pytest.mark.parametrize("value", [0, 4, -1, 2**31 - 1, -(2**31)])
def test_an_enumeration_takes_its_own_values_only(fresh, value):
    expected = f"{value} is no choice"
    assert_refused(fresh, lambda: fresh.set_integer([ENUMERATION], [value]), expected)


def test_fixed_parameters_cannot_be_set_once_initialized(slave):
    assert_refused(slave, lambda: slave.set_real([PARAMETER], [1.0]), "fixed parameter")
    assert_refused(slave, lambda: slave.set_integer([ENUMERATION], [1]), "fixed parameter")


# ------------------------------------------------------------------------------------------ steps


@pytest.mark.parametrize("size", [0.0, -0.0, -1e-3, np.nan, np.inf, -np.inf])
def test_a_step_that_is_no_time_is_refused(slave, size):
    assert_refused(slave, lambda: slave.do_step(0.02, size), "give a time above 0 s")


@pytest.mark.parametrize(
    ("size", "why"), [(1.1e6, "internal steps"), (1e30, "longest time"), (1.7e308, "longest time")]
)
def test_a_step_of_absurd_length_is_refused(slave, size, why):
    assert_refused(slave, lambda: slave.do_step(0.02, size), why)


def test_a_step_that_the_clock_cannot_show_is_refused(arm):
    slave = RawSlave(arm)
    slave.initialize(start=1e12)
    assert_refused(slave, lambda: slave.do_step(1e12, 1e-6), "too short to be noticed")
    slave = RawSlave(arm)
    assert slave.setup(1e15) == ERROR
    assert "within 1e+12 s of zero" in slave.messages[-1]
    slave = RawSlave(arm)
    slave.initialize()
    assert slave.do_step(0.0, 1.0) == OK
    assert_refused(slave, lambda: slave.do_step(1.0, 1e-17), "too short to be noticed")


@pytest.mark.parametrize("time", [0.0, 0.019, 0.0200001, 1e9, -0.02, np.nan, np.inf])
def test_a_communication_point_that_jumps_is_refused(slave, time):
    assert_refused(slave, lambda: slave.do_step(time, 1e-3), "communication point")


def test_a_clock_that_adds_up_its_steps_is_followed_for_as_long_as_it_likes(rod):
    # 0.001 summed up is off by 1e-9 s after 335 s: more than any one step may be.
    slave = RawSlave(rod)
    slave.initialize()
    time, steps, do_step = 0.0, 400_000, rod.dll.fmi2DoStep
    for _ in range(steps):
        assert do_step(slave.component, time, 1e-3, 1) == OK
        time += 1e-3
    assert abs(time - 1e-3 * steps) > 1e-9
    assert slave.last_successful_time == pytest.approx(1e-3 * steps, abs=1e-6)


@pytest.mark.parametrize("size", [1e-3, 1.004e-3, 7e-4, 2.5e-3])
def test_the_model_keeps_up_with_a_clock_that_counts_from_1970(rod, size):
    slave, start = RawSlave(rod), 1.7e9  # there numbers are 2.4e-7 apart
    slave.initialize(start=start)
    for i in range(1000):
        assert slave.do_step(start + i * size, size) == OK, slave.messages
    assert slave.last_successful_time - start == pytest.approx(1000 * size, abs=1e-6)


def test_a_step_may_end_at_the_stop_time_and_not_beyond(arm):
    slave = RawSlave(arm)
    slave.initialize(stop=0.01)
    time = 0.0
    for _ in range(10):
        assert slave.do_step(time, 1e-3) == OK
        time += 1e-3
    assert time != 0.01  # by rounding
    assert_refused(slave, lambda: slave.do_step(time, 1e-3), "past the stop time")


@pytest.mark.parametrize(
    ("start", "stop"),
    [(np.nan, None), (np.inf, None), (-np.inf, None), (0.0, -1.0), (0.0, np.nan), (np.nan, 1.0)],
)
def test_an_experiment_from_nowhere_is_refused(fresh, start, stop):
    assert_refused(fresh, lambda: fresh.setup(start, stop), "time")


# ------------------------------------------------------------------------------------ derivatives


@pytest.mark.parametrize("order", [0, 2, -1, 2**31 - 1])
def test_derivatives_of_other_orders_are_refused(slave, order):
    for function, name in (
        ("fmi2SetRealInputDerivatives", INPUT),
        ("fmi2GetRealOutputDerivatives", OUTPUT),
    ):
        arguments = references(slave.refs([name])), 1, integers([order]), reals([0.0])
        expected = f"{name}: derivative of order {order}"
        assert_refused(slave, lambda f=function, a=arguments: slave.call(f, *a), expected)


def test_derivatives_of_what_has_none_are_refused(slave):
    one, value = integers([1]), reals([0.0])

    def derivative(function, name):
        return lambda: slave.call(function, references(slave.refs([name])), 1, one, value)

    assert_refused(slave, derivative("fmi2SetRealInputDerivatives", OUTPUT), OUTPUT)
    assert_refused(slave, derivative("fmi2SetRealInputDerivatives", STEP), "not an input")
    assert_refused(slave, derivative("fmi2GetRealOutputDerivatives", INPUT), "not an output")
    assert_refused(slave, derivative("fmi2GetRealOutputDerivatives", LOCAL), "not an output")
    for function in ("fmi2SetRealInputDerivatives", "fmi2GetRealOutputDerivatives"):
        assert_refused(slave, derivative(function, UNKNOWN), "is unknown")
        refs = references([0])
        for arguments in ((None, 1, one, value), (refs, 1, None, value), (refs, 1, one, None)):
            assert_refused(slave, lambda f=function, a=arguments: slave.call(f, *a), "null")
    bad = lambda: slave.set_input_rates([INPUT], [np.nan])  # noqa: E731
    assert_refused(slave, bad, "give a number up to 1e+30")


def test_directional_derivatives_by_what_is_no_input_or_state_are_refused(slave):
    out, into = references(slave.refs([OUTPUT])), references(slave.refs([INPUT]))
    seed, value = reals([1.0]), reals([0.0])

    def refused(expected, *arguments):
        call = "fmi2GetDirectionalDerivative"
        assert_refused(slave, lambda: slave.call(call, *arguments), expected)

    refused(
        "neither an input nor a state", out, 1, references([slave.refs([STEP])[0]]), 1, seed, value
    )
    refused(
        "neither an input nor a state",
        out,
        1,
        references(slave.refs(["energy.total"])),
        1,
        seed,
        value,
    )
    refused("is not computed", into, 1, into, 1, seed, value)
    refused("is unknown", references([UNKNOWN]), 1, into, 1, seed, value)
    refused("is unknown", out, 1, references([UNKNOWN]), 1, seed, value)
    refused("is of type", out, 1, references(slave.refs([ENUMERATION])), 1, seed, value)
    refused("the seed nan makes no sense", out, 1, into, 1, reals([np.nan]), value)
    refused("null pointer", None, 1, into, 1, seed, value)
    refused("null pointer", out, 1, None, 1, seed, value)
    refused("null pointer", out, 1, into, 1, None, value)
    refused("null pointer", out, 1, into, 1, seed, None)


# ----------------------------------------------------------------------------------- status, state


@pytest.mark.parametrize("kind", [-1, 0, 1, 2, 3, 4, 17, 2**31 - 1])
def test_a_status_of_another_kind_or_into_nowhere_is_refused(slave, kind):
    right = {"fmi2GetStatus": 0, "fmi2GetRealStatus": 2, "fmi2GetIntegerStatus": None}
    right |= {"fmi2GetBooleanStatus": 3, "fmi2GetStringStatus": 1}
    room = {"fmi2GetRealStatus": c_double(), "fmi2GetStringStatus": c_char_p()}
    for function, known in right.items():
        out = room.get(function, c_int())
        assert_refused(slave, lambda f=function: slave.call(f, kind, None), function)
        if kind == known:
            assert slave.call(function, kind, byref(out)) == OK
        else:
            call = lambda f=function, o=out: slave.call(f, kind, byref(o))  # noqa: E731
            assert_refused(slave, call, function)


def test_states_into_and_out_of_nowhere_are_refused(slave):
    state, size = slave.save(), c_size_t()
    blob = slave.bytes_of(state)
    room = bytes(len(blob))
    not_a_state = reals([0.0] * 64)
    for arguments in (
        ("fmi2GetFMUstate", None),
        ("fmi2GetFMUstate", byref(c_void_p(addressof(not_a_state)))),
        ("fmi2SetFMUstate", None),
        ("fmi2SetFMUstate", addressof(not_a_state)),
        ("fmi2FreeFMUstate", byref(c_void_p(addressof(not_a_state)))),
        ("fmi2SerializedFMUstateSize", None, byref(size)),
        ("fmi2SerializedFMUstateSize", addressof(not_a_state), byref(size)),
        ("fmi2SerializedFMUstateSize", state, None),
        ("fmi2SerializeFMUstate", None, room, len(room)),
        ("fmi2SerializeFMUstate", addressof(not_a_state), room, len(room)),
        ("fmi2SerializeFMUstate", state, None, len(room)),
        ("fmi2SerializeFMUstate", state, room, len(room) - 1),
        ("fmi2SerializeFMUstate", state, room, 0),
        ("fmi2DeSerializeFMUstate", None, len(blob), byref(c_void_p())),
        ("fmi2DeSerializeFMUstate", blob, len(blob), None),
    ):
        assert_refused(slave, lambda a=arguments: slave.call(*a), arguments[0])
    assert slave.call("fmi2FreeFMUstate", None) == OK
    assert slave.call("fmi2FreeFMUstate", byref(c_void_p())) == OK


# ---------------------------------------------------------------------------------------- logging


def test_logging_of_unknown_categories_is_refused(slave):
    unknown = (c_char_p * 2)(b"logEvents", b"logEverything")
    call = lambda: slave.call("fmi2SetDebugLogging", 1, 2, unknown)  # noqa: E731
    assert_refused(slave, call, "unknown category 'logEverything'")
    assert_refused(slave, lambda: slave.call("fmi2SetDebugLogging", 1, 2, None), "null pointer")
    nothing = (c_char_p * 1)(None)
    assert_refused(slave, lambda: slave.call("fmi2SetDebugLogging", 1, 1, nothing), "category ''")


def test_events_are_logged_when_asked_for_and_errors_always(arm):
    quiet, talking = RawSlave(arm), RawSlave(arm, logging=True)
    for slave in (quiet, talking):
        slave.initialize()
    assert quiet.messages == []
    assert [category for _, category, _ in talking.logged] == ["logEvents"] * 2
    assert talking.call("fmi2SetDebugLogging", 0, 0, None) == OK
    assert talking.call("fmi2Terminate") == OK
    assert len(talking.logged) == 2
    assert quiet.do_step(0.0, 1.0) == OK
    assert quiet.do_step(0.0, 1.0) == ERROR
    ((status, category, _),) = quiet.logged
    assert (status, category) == (ERROR, "logStatusError")


def test_messages_survive_a_printf(arm):
    slave = RawSlave(arm, uri="file:///tmp/100%25s/%n")
    assert slave.component is None
    (message,) = slave.messages
    # importers use the message as a format: two per cent signs are one
    assert "%" not in message.replace("%%", "")
