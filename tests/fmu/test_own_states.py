"""What a slave leaves with OK it takes back, also at the limits; what no run leaves it refuses."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.compile import compile_model
from pliant.data_file import Section, fnv1a, pack
from pliant.fmu._slave import Slave
from pliant.model_description import TableOptions, VariableTable, table_sections

sys.path.insert(0, str(Path(__file__).parents[2] / "build_scripts"))
gadget = pytest.importorskip("fuzz_fmu").gadget

HEAD = 8  # numbers before the parameters of a state


def sections(system: pl.System, *include: str) -> dict[str, Section]:
    model = compile_model(system)
    table = VariableTable.build(model, TableOptions(include=include))
    return {**model.sections, **table_sections(table)}


def slave_of(system: pl.System, *include: str) -> Slave:
    return Slave(pack(sections(system, *include)))


def numbers(state: bytes) -> list[float]:
    """Of a saved state, behind the phase."""
    return list(struct.unpack_from(f"<{(len(state) - 40) // 8}d", state, 40))


def forged(state: bytes, values: list[float]) -> bytes:
    body = state[32:40] + struct.pack(f"<{len(values)}d", *values)
    return state[:24] + struct.pack("<Q", fnv1a(state[:24] + body)) + body


def arm(second: float = 0.9e8, **first: object) -> pl.System:
    """Two bodies on one axis, the second at a speed of its own."""
    body = pl.Body(mass=1.0, inertia=[1, 1, 1], nodes={"tip": {"at": [0, 0, 0]}})
    hinge = {"type": "revolute", "axis": "y"}
    return pl.System(
        name="arm",
        bodies={"a": body, "b": body},
        joints={
            "ja": pl.Joint(**hinge, child="a", **first),
            "jb": pl.Joint(**hinge, parent="a.tip", child="b", speed=second),
        },
    )


def test_a_lock_that_makes_speeds_beyond_mechanics_is_refused_and_changes_nothing():
    slave = slave_of(arm(speed=0.9e8), "joint.*.lock")
    slave.initialize()
    before = slave.save()
    with pytest.raises(ValueError, match="joint jb: the motion grew without bound"):
        slave.set_boolean([slave.names.index("joint.ja.lock")], [True])
    assert slave.save() == before
    sim = pl.Simulation(arm(speed=0.9e8), 1e-9)
    speeds = sim.u.copy()
    with pytest.raises(pl.SolverError, match="joint jb"):
        sim.joint("ja").lock()
    assert np.array_equal(sim.u, speeds)
    assert not sim.joint("ja").locked


def test_the_longest_step_is_taken_back_with_its_rounding():
    slave = slave_of(arm(second=0.0))
    slave.set_real([slave.names.index("solver.h")], [1e6])
    slave.initialize()
    assert slave.step(0.0, 1e6 * (1.0 + 5e-10))
    slave.restore(slave.save())


@pytest.mark.parametrize("integrator", [1, 2, 3])
def test_a_motion_at_the_limit_of_speed_leaves_a_state_that_is_taken_back(integrator):
    data = pack(sections(arm(motion="input")))
    rng, done = np.random.default_rng(4), 0
    for _ in range(100):
        slave = Slave(data)
        motion = [i for i, name in enumerate(slave.names) if ".motion" in name]
        slave.set_integer([slave.names.index("solver.integrator")], [integrator])
        slave.set_real(motion, [rng.uniform(-1e3, 1e3), 1e8, 0.0])
        slave.initialize()
        done += slave.step(0.0, 1e-3 * rng.uniform(0.3, 3.0))
        slave.restore(slave.save())
    assert done > 50


@pytest.fixture(scope="module")
def moving() -> tuple[Slave, bytes, int, int]:
    """A slave, its state, and where the kernel's block and its motion from outside are in it."""
    system = gadget()
    slave = slave_of(system)
    slave.initialize()
    assert slave.step(0.0, 1e-3)
    model = compile_model(system)
    rows = sum(loop.rows.stop - loop.rows.start for loop in model.loops)
    dofs = sum(joint.u.stop - joint.u.start for joint in model.joints)
    state = slave.save()
    end = len(numbers(state)) - sum(
        loop.freedoms.stop - loop.freedoms.start for loop in model.loops
    )
    start = end - (13 + model.q_size + 3 * model.u_size + rows + 3 + dofs)
    return slave, state, start, end - dofs - 3


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *((place, value) for place in (3, 4, 5, 7, 8, 9, 10) for value in (1e101, -1.7e308)),
        (1, 1e17),  # steps
        (11, 1e17),
        (2, -0.5),  # ages
        (2, 1e9),
        (6, 1e9),
    ],
)
def test_an_account_or_ages_that_no_run_leaves_are_refused(moving, place, value):
    slave, state, start, _ = moving
    values = numbers(state)
    values[start + place] = value
    with pytest.raises(ValueError, match="this state is damaged"):
        slave.restore(forged(state, values))
    assert slave.save() == state


def test_a_locked_joint_that_moves_is_refused():
    system = arm(second=0.25, start=0.125)
    slave = slave_of(system, "joint.*.lock")
    slave.initialize()
    slave.set_boolean([slave.names.index("joint.ja.lock")], [True])
    state = slave.save()
    values = numbers(state)
    ja = max(i for i in range(len(values) - 1) if values[i : i + 2] == [0.125, 0.0]) + 2
    values[ja] = 5.0
    with pytest.raises(ValueError, match="this state is damaged"):
        slave.restore(forged(state, values))
    assert slave.save() == state


def test_a_motion_from_outside_beyond_its_limits_is_refused(moving):
    slave, state, _, place = moving
    for row, value in enumerate((1e13, -1e9, 1e200)):
        values = numbers(state)
        values[place + row] = value
        with pytest.raises(ValueError, match="this state is damaged"):
            slave.restore(forged(state, values))
    assert slave.save() == state


def test_limits_hold_for_parameters_that_no_variable_shows():
    shown = sections(gadget())
    roles, index = shown["variable.role"].copy(), shown["variable.index"].copy()
    first = next(i for i in np.flatnonzero(roles == 2) if shown["parameter.min"][index[i]] > 0.0)
    number = int(index[first])
    roles[first], index[first] = 4, len(shown["constant.value"])
    hidden = {
        **shown,
        "variable.role": roles,
        "variable.index": index,
        "constant.value": np.append(shown["constant.value"], 1.0),
    }
    slave = Slave(pack(hidden))
    slave.initialize()
    state = slave.save()
    values = numbers(state)
    values[HEAD + number] = -7.5
    with pytest.raises(ValueError, match=r"a parameter: -7\.5 is too small"):
        slave.restore(forged(state, values))
