"""Derivatives that the FMU gives: against differences, the numpy reference and tiny steps."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from fmu.raw_slave import OK, Library, RawSlave
from pliant.compile import compile_model
from pliant.reference import Reference

NODES = ("effector.grip", "payload.corner")


def named(library: Library, causality: str) -> list[str]:
    return [v.name for v in library.variables.values() if v.causality == causality]


@pytest.fixture(scope="module")
def outputs(arm) -> list[str]:
    """All outputs that move, and the local states and accelerations of the modes."""
    return [n for n in named(arm, "output") if n != "solver.h_suggested"] + named(arm, "local")


@pytest.fixture(scope="module")
def start(arm) -> dict[str, float]:
    """A start in the middle of a motion: everything bent, turning and away from symmetry."""
    rng = np.random.default_rng(7)
    values = {}
    for name in named(arm, "parameter"):
        for part, size in {
            ".q_start": 0.6,
            ".qd_start": 0.2,
            ".eta_start": 0.01,
            ".etad_start": 0.1,
        }.items():
            if part in name:
                values[name] = rng.normal(0, size)
    turn = rng.normal(size=4)
    turn /= np.linalg.norm(turn)
    values |= {f"joint.orbit.quat_start[{i + 1}]": turn[i] for i in range(4)}
    return values


def at_start(library: Library, start: dict[str, float], loads: np.ndarray | None = None):
    """A slave in initialization mode with this start and these inputs."""
    slave = RawSlave(library)
    assert slave.set_real(list(start), list(start.values())) == OK, slave.messages
    assert slave.setup() == OK
    assert slave.call("fmi2EnterInitializationMode") == OK
    if loads is not None:
        assert slave.set_real(named(library, "input"), loads) == OK
    return slave


@pytest.fixture(scope="module")
def loads(arm) -> np.ndarray:
    return np.random.default_rng(8).normal(0, 100, len(named(arm, "input")))


def scale_of(exact: np.ndarray) -> np.ndarray:
    """What an error in each output is measured by: its largest derivative by any of the knowns."""
    return np.maximum(np.abs(exact).max(axis=0), 1e-9)


# ------------------------------------------------------------------------ directional derivatives


def test_derivatives_by_inputs_are_the_limits_of_differences(arm, start, loads, outputs):
    slave = at_start(arm, start, loads)
    inputs = named(arm, "input")
    exact = np.array([slave.directional(outputs, [name], [1.0]) for name in inputs])
    step = 1.0  # accelerations are linear in the inputs: any step will do
    differences = []
    for i in range(len(inputs)):
        values = []
        for sign in (1.0, -1.0):
            changed = loads.copy()
            changed[i] += sign * step
            assert slave.set_real(inputs, changed) == OK
            values.append(np.array(slave.get_real(outputs)))
        differences.append((values[0] - values[1]) / (2.0 * step))
    assert np.abs((exact - differences) / scale_of(exact)).max() < 1e-6
    # only accelerations answer an input at once
    still = [i for i, n in enumerate(outputs) if not any(p in n for p in ("dd", ".a[", ".alpha["))]
    assert not exact[:, still].any()


def state_directions(start: dict[str, float]) -> dict[str, dict[str, float]]:
    """Directions of change of the states, by names of variables: each coordinate and speed, and
    three turns of the base, along which its quaternion keeps its length."""
    directions: dict[str, dict[str, float]] = {}
    for name in start:
        if "quat" not in name:
            directions[name] = {name.replace("_start", ""): 1.0}
    w, x, y, z = (start[f"joint.orbit.quat_start[{i}]"] for i in range(1, 5))
    for axis, change in {
        "x": (-x, w, z, -y),
        "y": (-y, -z, w, x),
        "z": (-z, y, -x, w),
    }.items():
        parts = {f"joint.orbit.quat[{i + 1}]": 0.5 * part for i, part in enumerate(change)}
        directions[f"turn about {axis}"] = parts
    return directions


def test_derivatives_by_states_are_the_limits_of_differences(arm, start, loads, outputs):
    slave = at_start(arm, start, loads)
    directions = state_directions(start)
    exact, differences = [], []
    step = 1e-5
    for parts in directions.values():
        exact.append(slave.directional(outputs, list(parts), list(parts.values())))
        values = []
        for sign in (1.0, -1.0):
            changed = dict(start)
            for name, part in parts.items():
                base, _, index = name.partition("[")
                changed[f"{base}_start" + (f"[{index}" if index else "")] += sign * step * part
            moved = at_start(arm, changed, loads)
            values.append(np.array(moved.get_real(outputs)))
        differences.append((values[0] - values[1]) / (2.0 * step))
    exact, differences = np.array(exact), np.array(differences)
    assert len(exact) == 2 * 13 + 2 * 14  # freedoms and modes
    assert np.abs((exact - differences) / scale_of(exact)).max() < 1e-6


def test_a_direction_is_the_sum_of_its_parts(arm, start, loads, outputs):
    slave = at_start(arm, start, loads)
    known = [
        "joint.elbow_pitch.q",
        "joint.orbit.qd[5]",
        "node.effector.grip.t[2]",
        "joint.wrist_yaw.tau",
    ]
    seed = [0.3, -2.0, 5.0, 11.0]
    together = np.array(slave.directional(outputs, known, seed))
    parts = [
        np.array(slave.directional(outputs, [k], [s])) for k, s in zip(known, seed, strict=True)
    ]
    assert together == pytest.approx(sum(parts), rel=1e-12, abs=1e-12 * np.abs(together).max())
    # along the way nothing was moved
    assert slave.directional(outputs, [], []) == [0.0] * len(outputs)


def test_node_accelerations_by_node_forces_are_the_operational_inverse_inertia(
    arm, arm_system, start, loads
):
    """J M^-1 J^T of the slow reference, which knows nothing of the recursion."""
    slave = at_start(arm, start, loads)
    model = compile_model(arm_system)
    sim = pl.Simulation(model)
    q, u = sim.q.copy(), sim.u.copy()
    for joint in model.joints:
        for where, state, part in ((joint.q, q, "q"), (joint.u, u, "qd")):
            names = [n for n in start if n.startswith(f"joint.{joint.name}.{part}_start")]
            if part == "q":
                names += [n for n in start if n.startswith(f"joint.{joint.name}.quat_start")]
            state[where] = [start[name] for name in names]
    for body in model.bodies:
        for where, state, part in ((body.eta, q, "eta"), (body.etad, u, "etad")):
            state[where] = [
                start[name] for name in start if name.startswith(f"body.{body.name}.{part}_start")
            ]
    reference = Reference(model.mechanism, q, u)
    M, _ = reference.mass_matrix_and_bias()
    jacobians = []
    for name in NODES:
        still = reference.node(name, np.zeros(len(u)))
        rows = [reference.node(name, row) for row in np.eye(len(u))]
        jacobians.append(np.array([np.r_[n.a - still.a, n.alpha - still.alpha] for n in rows]).T)
    J = np.vstack(jacobians)
    expected = J @ np.linalg.solve(M, J.T)

    forces = [f"node.{n}.{part}[{i}]" for n in NODES for part in "ft" for i in (1, 2, 3)]
    answers = [f"node.{n}.{p}[{i}]" for n in NODES for p in ("a", "alpha") for i in (1, 2, 3)]
    exact = np.array([slave.directional(answers, [name], [1.0]) for name in forces]).T
    assert np.abs(exact - exact.T).max() < 1e-12 * np.abs(exact).max()
    error = np.abs(exact - expected) / np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert error.max() < 1e-10


# ------------------------------------------------------------------------------- output derivatives


def test_output_derivatives_are_the_slopes_of_the_trajectory(arm, start, loads, outputs):
    """Central differences over some microseconds, by rk4 to have no error of the integrator."""
    moving = [name for name in outputs if arm.variables[name].causality == "output"]
    inputs, slope, step = named(arm, "input"), 20.0, 1e-6
    slave = at_start(arm, start, loads)
    assert slave.set_integer(["solver.integrator"], [3]) == OK
    assert slave.call("fmi2ExitInitializationMode") == OK
    values = []
    for i in range(2):
        values.append(np.array(slave.get_real(moving)))
        assert slave.set_input_rates(inputs, [slope] * len(inputs)) == OK
        if i == 1:
            exact = np.array(slave.output_rates(moving))
        assert slave.do_step(i * step, step) == OK
    values.append(np.array(slave.get_real(moving)))
    differences = (values[2] - values[0]) / (2.0 * step)
    # the curvature left by the differences is that of the whole vector
    bases = [name.partition("[")[0] for name in moving]
    size = {
        base: max(abs(x) for x, b in zip(exact, bases, strict=True) if b == base) for base in bases
    }
    rounding = 20.0 * np.finfo(float).eps * np.abs(values[1]) / step
    allowed = [1e-5 * size[base] for base in bases] + rounding + 1e-8
    assert np.all(np.abs(exact - differences) < allowed)


def test_the_derivative_of_a_position_is_its_speed(arm, start):
    slave = at_start(arm, start)
    assert slave.call("fmi2ExitInitializationMode") == OK
    pairs = [(v.name, v.derivative.name) for v in arm.variables.values() if v.derivative]
    shown = [
        pair for pair in pairs if all(arm.variables[name].causality == "output" for name in pair)
    ]
    assert len(shown) > 20
    slopes = slave.output_rates([state for _, state in shown])
    values = slave.get_real([rate for rate, _ in shown])
    assert slopes == pytest.approx(values, rel=1e-10, abs=1e-10)
    assert slave.output_rates(["solver.h_suggested"]) == [0.0]


# ------------------------------------------------------------------------------- input derivatives

TORQUE, SLOPE = "joint.elbow_pitch.tau", 400.0


@pytest.mark.parametrize("integrator", ["leapfrog", "rk4", "euler_cromer"])
def test_a_ramp_by_its_slope_is_that_of_the_simulation(arm_system, arm, outputs, integrator):
    """pl.Simulation asks a function at both ends of every step and draws a line between."""
    number = ["euler_cromer", "leapfrog", "rk4"].index(integrator) + 1
    slave = RawSlave(arm)
    assert slave.set_integer(["solver.integrator"], [number]) == OK
    slave.initialize()
    sim = pl.Simulation(arm_system, step=1e-3, integrator=integrator)
    sim.joint("elbow_pitch").torque = lambda t: 5.0 + SLOPE * t
    for i in range(10):
        assert slave.set_real([TORQUE], [5.0 + SLOPE * 0.02 * i]) == OK
        assert slave.set_input_rates([TORQUE], [SLOPE]) == OK
        assert slave.do_step(0.02 * i, 0.02) == OK
        sim.advance(0.02)
    states = {"q": sim.joint("elbow_pitch").position, "qd": sim.joint("elbow_pitch").rate}
    for part, expected in states.items():
        (value,) = slave.get_real([f"joint.elbow_pitch.{part}"])
        assert value == pytest.approx(expected, rel=1e-11)
    # the input stays where the ramp ended
    assert slave.get_real([TORQUE]) == pytest.approx([5.0 + SLOPE * 0.2], rel=1e-12)


def test_a_ramp_by_its_slope_is_the_ramp_of_tiny_steps(arm):
    """Leapfrog asks for forces in the middle of a step: a hold at that value is the same."""
    ramp, tiny = RawSlave(arm), RawSlave(arm)
    for slave in (ramp, tiny):
        slave.initialize()
    assert ramp.set_input_rates([TORQUE], [SLOPE]) == OK
    assert ramp.do_step(0.0, 0.1) == OK
    # the acceleration that leapfrog starts from is that of no torque
    tiny.get_real(["joint.elbow_pitch.qdd"])
    for i in range(100):
        assert tiny.set_real([TORQUE], [SLOPE * (i + 0.5) * 1e-3]) == OK
        assert tiny.do_step(i * 1e-3, 1e-3) == OK
    names = ["joint.elbow_pitch.q", "joint.elbow_pitch.qd", "joint.wrist_pitch.qd"]
    ends = np.array([slave.get_real(names) for slave in (ramp, tiny)])
    # but for the very first acceleration, which leapfrog takes at the start of the ramp
    assert np.abs(ends[0] - ends[1]).max() < 1e-6 * np.abs(ends[0]).max()


def test_a_slope_holds_for_one_step_only(arm):
    slave, expected = RawSlave(arm), RawSlave(arm)
    for each in (slave, expected):
        each.initialize()
        assert each.set_real([TORQUE], [10.0]) == OK
        assert each.set_input_rates([TORQUE], [SLOPE]) == OK
        assert each.do_step(0.0, 0.01) == OK
    assert expected.set_real([TORQUE], slave.get_real([TORQUE])) == OK
    for each in (slave, expected):
        assert each.do_step(0.01, 0.01) == OK
    assert slave.state() == expected.state()
    # a new value takes the slope away
    assert slave.set_input_rates([TORQUE], [SLOPE]) == OK
    assert slave.set_real([TORQUE], [1.0]) == OK
    assert slave.do_step(0.02, 0.01) == OK
    assert slave.get_real([TORQUE]) == [1.0]
