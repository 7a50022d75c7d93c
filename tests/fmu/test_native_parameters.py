"""Parameters of the native FMU act: its motion is that of a model edited and compiled anew."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import pliant as pl
from fmu.raw_slave import DISCARD, ERROR, OK, Library, RawSlave
from fmu.twin import Twin
from pliant.demos.station_arm import MODEL_FILE

TURN = np.array([0.8, 0.0, 0.6, 0.0])


def arm_alike() -> pl.System:
    """The arm with booms whose shapes do not depend on what they carry. Those of an FMU stay as
    they were exported; so a model edited as the FMU's parameters are has the same."""
    system = pl.load(MODEL_FILE)
    for boom in ("upper_boom", "lower_boom"):
        system.bodies[boom].beam.modes = {"bending": 2, "torsion": 1}
        system.bodies[boom].beam.shapes = "cantilever"
    return system


@pytest.fixture(scope="module")
def arm_system() -> pl.System:
    return arm_alike()


@pytest.fixture(scope="module")
def arm(arm_system, tmp_path_factory) -> Library:
    folder = tmp_path_factory.mktemp("alike")
    return Library.unzipped(pl.export_fmu(arm_system, folder / "arm.fmu"), folder / "unzipped")


def edit_payload(arm: pl.System) -> None:
    arm.bodies["payload"].mass = 4500.0


def edit_inertia(arm: pl.System) -> None:
    arm.bodies["payload"].inertia = [3500.0, 4000.0, 3600.0, 120.0, -80.0, 40.0]


def edit_gravity(arm: pl.System) -> None:
    arm.gravity = [0.2, -0.1, -1.62]


def edit_start(arm: pl.System) -> None:
    arm.joints["elbow_pitch"].start = 1.1
    arm.joints["wrist_yaw"].speed = 0.05
    arm.joints["orbit"].start = [1.0, -2.0, 0.5, *TURN]
    arm.joints["orbit"].speed = [0.1, 0.0, 0.0, 0.001, -0.002, 0.003]


def edit_friction(arm: pl.System) -> None:
    arm.joints["elbow_pitch"].friction = {"viscous": 350.0}


def edit_damping(arm: pl.System) -> None:
    arm.bodies["upper_boom"].beam.damping = 0.04


INERTIA = [3500.0, 4000.0, 3600.0, 120.0, -80.0, 40.0]
EDITS: dict[Callable[[pl.System], None], dict[str, float]] = {
    edit_payload: {"body.payload.m": 4500.0},
    edit_inertia: {f"body.payload.J[{i + 1}]": x for i, x in enumerate(INERTIA)},
    edit_gravity: {"world.g[1]": 0.2, "world.g[2]": -0.1, "world.g[3]": -1.62},
    edit_start: {
        "joint.elbow_pitch.q_start": 1.1,
        "joint.wrist_yaw.qd_start": 0.05,
        **{f"joint.orbit.q_start[{i + 1}]": x for i, x in enumerate((1.0, -2.0, 0.5))},
        **{f"joint.orbit.quat_start[{i + 1}]": float(x) for i, x in enumerate(TURN)},
        "joint.orbit.qd_start[1]": 0.1,
        **{f"joint.orbit.qd_start[{i + 4}]": x for i, x in enumerate((0.001, -0.002, 0.003))},
    },
    edit_friction: {"joint.elbow_pitch.viscous": 350.0},
    edit_damping: {"body.upper_boom.zeta": 0.04},
}
SETTINGS = [
    ({"step": 5e-4}, {"solver.h": 5e-4}, {}),
    ({"integrator": "rk4"}, {}, {"solver.integrator": 3}),
    ({"integrator": "euler_cromer"}, {}, {"solver.integrator": 1}),
    ({"algorithm": "dense"}, {}, {"solver.algorithm": 2}),
]

INPUTS = ["joint.elbow_pitch.tau", "joint.shoulder_yaw.tau", "node.payload.corner.f[2]"]
DURATION = 1.0


def load(i: int) -> list[float]:
    return [200.0 * np.sin(0.1 * i), -150.0, 80.0 * np.cos(0.07 * i)]


def by_fmu(slave: RawSlave, outputs: list[str]) -> np.ndarray:
    slave.initialize()
    for i in range(100):
        assert slave.set_real(INPUTS, load(i)) == OK
        assert slave.do_step(0.01 * i, 0.01) == OK, slave.messages
    return np.array(slave.get_real(outputs))


def by_simulation(
    system: pl.System, outputs: list[str], step: float = 1e-3, **options
) -> np.ndarray:
    twin = Twin(system, outputs, step=step, **options)
    for i in range(100):
        twin.set(INPUTS, load(i))
        twin.step(round(0.01 / step))
    return twin.read()


@pytest.fixture(scope="module")
def outputs(arm) -> list[str]:
    kept = (".q", ".qd", ".r[", ".quat[", ".v[", ".w[", ".p[", ".L[", "energy.")
    return [
        v.name
        for v in arm.variables.values()
        if v.causality == "output" and any(part in v.name for part in kept) and "dd" not in v.name
    ]


@pytest.fixture(scope="module")
def unchanged(arm, outputs) -> np.ndarray:
    return by_fmu(RawSlave(arm), outputs)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float((np.abs(found - expected) / np.maximum(np.abs(expected), 1.0)).max())


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_a_changed_parameter_is_a_changed_model(arm, outputs, unchanged, edit):
    system = arm_alike()
    edit(system)
    expected = by_simulation(system, outputs)
    slave = RawSlave(arm)
    values = EDITS[edit]
    assert slave.set_real(list(values), list(values.values())) == OK, slave.messages
    found = by_fmu(slave, outputs)
    assert slave.get_real(list(values)) == list(values.values())
    assert relative(found, expected) < 1e-12
    assert relative(found, unchanged) > 1e-9
    # and it is gone again
    assert slave.call("fmi2Reset") == OK
    assert by_fmu(slave, outputs).tolist() == unchanged.tolist()


def test_parameters_of_all_kinds_act_together(arm, outputs):
    system, slave = arm_alike(), RawSlave(arm)
    for edit, values in EDITS.items():
        edit(system)
        assert slave.set_real(list(values), list(values.values())) == OK
    assert relative(by_fmu(slave, outputs), by_simulation(system, outputs)) < 1e-12


@pytest.mark.parametrize(("options", "numbers", "choices"), SETTINGS, ids=str)
def test_a_changed_setting_is_that_of_a_simulation(
    arm, arm_system, outputs, unchanged, options, numbers, choices
):
    slave = RawSlave(arm)
    assert slave.set_real(list(numbers), list(numbers.values())) == OK
    assert slave.set_integer(list(choices), list(choices.values())) == OK
    found = by_fmu(slave, outputs)
    assert found.tolist() == by_simulation(arm_system, outputs, **options).tolist()
    assert found.tolist() != unchanged.tolist()


def test_the_internal_step_can_be_changed_between_steps(arm, arm_system):
    names = ["joint.elbow_pitch.q", "joint.elbow_pitch.qd"]
    slave, other = RawSlave(arm), RawSlave(arm)
    for each in (slave, other):
        each.initialize()
        assert each.set_real(INPUTS, load(1)) == OK
        assert each.do_step(0.0, 0.1) == OK
    assert slave.set_real(["solver.h"], [1e-4]) == OK
    for each in (slave, other):
        assert each.do_step(0.1, 0.1) == OK
    fine, coarse = (np.array(each.get_real(names)) for each in (slave, other))
    assert 0.0 < np.abs(fine - coarse).max() < 1e-4


def test_initial_outputs_follow_parameters_set_in_initialization_mode(arm):
    slave = RawSlave(arm)
    assert slave.setup() == OK
    assert slave.call("fmi2EnterInitializationMode") == OK
    assert slave.get_real(["joint.elbow_pitch.q"]) == [1.75]
    assert slave.set_real(["joint.elbow_pitch.q_start"], [0.4]) == OK
    assert slave.get_real(["joint.elbow_pitch.q"]) == [0.4]
    before = slave.get_real(["node.payload.corner.r[1]"])
    assert slave.set_real(["joint.elbow_pitch.q_start"], [0.9]) == OK
    assert slave.get_real(["node.payload.corner.r[1]"]) != before


# ------------------------------------------------------------------------------------------ checks


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"joint.orbit.quat_start[1]": 0.9}, "the quaternion has length 0.9, not 1"),
        ({"joint.orbit.quat_start[1]": 0.0}, "the quaternion has length 0, not 1"),
        ({"joint.orbit.quat_start[2]": 0.01}, "the quaternion has length 1.0000"),
        ({"body.payload.J[1]": 9000.0}, "no inertia of a body"),  # above the sum of the others
        ({"body.payload.J[4]": 3600.0}, "no inertia of a body"),  # not positive definite
        ({"body.payload.J[6]": -3900.0}, "no inertia of a body"),
    ],
)
def test_what_makes_no_sense_together_is_refused_when_the_model_is_built(arm, values, expected):
    slave = RawSlave(arm)
    assert slave.set_real(list(values), list(values.values())) == OK
    assert slave.setup() == OK
    assert slave.call("fmi2EnterInitializationMode") == OK
    assert slave.call("fmi2ExitInitializationMode") == ERROR
    (message,) = slave.messages
    assert expected in message
    assert next(iter(values)).partition("[")[0] in message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("body.payload.m", 0.0),
        ("body.payload.m", -1.0),
        ("body.payload.J[1]", 0.0),
        ("body.payload.J[2]", -3.0),
        ("body.upper_boom.zeta", -0.01),
        ("joint.elbow_pitch.viscous", -1.0),
        ("body.payload.m", 1e301),
    ],
)
def test_what_makes_no_sense_alone_is_refused_at_once(arm, name, value):
    slave = RawSlave(arm)
    before = slave.state()
    assert slave.set_real([name], [value]) == ERROR
    assert f"{name}: {value:g}" in slave.messages[0]
    assert slave.state() == before


def test_a_number_that_no_motion_survives_ends_in_a_message_not_in_a_motion(rod):
    slave = RawSlave(rod)
    assert slave.set_real(["joint.hinge.qd_start", "joint.hinge.viscous"], [1e8, 1e20]) == OK
    assert slave.setup() == OK
    assert slave.call("fmi2EnterInitializationMode") == OK
    assert slave.call("fmi2ExitInitializationMode") == OK
    assert slave.get_real(["joint.hinge.qdd"])[0] < -1e20
    assert slave.do_step(0.0, 1e-3) == DISCARD
    assert "grew without bound" in slave.messages[-1]
    assert slave.last_successful_time == 0.0
