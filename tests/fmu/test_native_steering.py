"""Locks and motions from outside in the native FMU: as in the simulation, in every phase, saved."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl
from fmu.raw_slave import DISCARD, ERROR, OK, Library, RawSlave, integers, references
from fmu.twin import Twin

STEP = 1e-3


def pair(**hinge) -> pl.System:
    """Two bars in a row on a cart; the second hinge is moved from outside if asked for."""
    bar = pl.Body(
        mass=2.0, com=[0.3, 0, 0], inertia=[0.01, 0.06, 0.06], nodes={"end": {"at": [0.6, 0, 0]}}
    )
    return pl.System(
        name="pair",
        gravity=[0, 0, -9.81],
        bodies={"cart": pl.Body(mass=5.0, inertia=[1, 1, 1]), "upper": bar, "lower": bar},
        joints={
            "rail": pl.Joint(type="prismatic", axis="x", child="cart"),
            "shoulder": pl.Joint(
                type="revolute", axis="y", parent="cart", child="upper", speed=1.5
            ),
            "elbow": pl.Joint(
                type="revolute", axis="y", parent="upper.end", child="lower", start=0.4, **hinge
            ),
        },
    )


OUTPUTS = ["joint.rail.q", "joint.shoulder.q", "joint.shoulder.qd", "joint.elbow.q", "energy.total"]
LOCKS = ["joint.rail.lock", "joint.shoulder.lock", "joint.elbow.lock"]
MOTION = [f"joint.elbow.motion.{part}" for part in ("q", "qd", "qdd")]


@pytest.fixture(scope="module")
def locked(tmp_path_factory) -> Library:
    folder = tmp_path_factory.mktemp("locked")
    fmu = pl.export_fmu(pair(speed=-0.7), folder / "pair.fmu", include=["joint.*.lock"])
    return Library.unzipped(fmu, folder / "unzipped")


@pytest.fixture(scope="module")
def moved(tmp_path_factory) -> Library:
    folder = tmp_path_factory.mktemp("moved")
    fmu = pl.export_fmu(pair(motion="input"), folder / "pair.fmu")
    return Library.unzipped(fmu, folder / "unzipped")


def lock(slave: RawSlave, names: list[str], values: list[int]) -> int:
    refs = references(slave.refs(names))
    return slave.call("fmi2SetBoolean", refs, len(names), integers(values))


def locks_of(slave: RawSlave) -> list[int]:
    values = integers([9] * len(LOCKS))
    refs = references(slave.refs(LOCKS))
    assert slave.call("fmi2GetBoolean", refs, len(LOCKS), values) == OK
    return list(values)


def test_locking_and_releasing_is_that_of_the_simulation_bitwise(locked):
    slave, twin = RawSlave(locked), Twin(pair(speed=-0.7), OUTPUTS)
    slave.initialize()
    actions = {
        20: ("elbow", 1),
        50: ("rail", 1),
        80: ("elbow", 0),
        81: ("shoulder", 1),
        120: ("rail", 0),
    }
    for i in range(200):
        if i in actions:
            name, on = actions[i]
            assert lock(slave, [f"joint.{name}.lock"], [on]) == OK
            joint = twin.sim.joint(name)
            (joint.lock if on else joint.release)()
        assert slave.do_step(i * STEP, STEP) == OK
        twin.step()
        assert slave.get_real(OUTPUTS) == twin.read().tolist()
    assert locks_of(slave) == [0, 1, 0]
    assert slave.get_real(["joint.shoulder.qd"]) == [0.0]


def test_a_joint_locked_and_released_before_the_start_still_has_its_start_speed(locked):
    for reads_between in (False, True):
        slave = RawSlave(locked)
        assert slave.setup() == OK
        assert slave.call("fmi2EnterInitializationMode") == OK
        assert lock(slave, ["joint.elbow.lock"], [1]) == OK
        if reads_between:
            assert slave.get_real(["joint.elbow.qd"]) == [0.0]
        assert lock(slave, ["joint.elbow.lock"], [0]) == OK
        assert slave.get_real(["joint.elbow.qd"]) == [-0.7]
        assert slave.call("fmi2ExitInitializationMode") == OK
        assert slave.get_real(["joint.elbow.qd"]) == [-0.7]


def test_locks_come_back_with_a_state(locked):
    slave = RawSlave(locked)
    slave.initialize()
    assert slave.do_step(0.0, 0.1) == OK
    free = slave.state()
    assert lock(slave, LOCKS, [1, 0, 1]) == OK
    held = slave.state()
    assert slave.do_step(0.1, 0.1) == OK
    ends = {}
    for name, blob in {"held": held, "free": free, "held again": held}.items():
        status, state = slave.deserialize(blob)
        assert status == OK
        assert slave.restore(state) == OK
        assert slave.state() == blob
        assert locks_of(slave) == ([1, 0, 1] if "held" in name else [0, 0, 0])
        assert slave.do_step(0.1, 0.1) == OK
        ends[name] = slave.get_real(OUTPUTS)
        slave.free_state(state)
    assert ends["held"] == ends["held again"] != ends["free"]
    assert slave.call("fmi2Reset") == OK
    assert slave.state() == RawSlave(locked).state()


def test_wrong_locks_are_refused_and_change_nothing(locked):
    slave = RawSlave(locked)
    slave.initialize()
    before = slave.state()
    for names, expected in (
        ([*LOCKS, LOCKS[0]], "given twice"),
        ([LOCKS[0], "joint.rail.q"], "joint.rail.q is of type Real"),
        ([LOCKS[0], 10**6], "is unknown"),
    ):
        assert lock(slave, names, [1] * len(names)) == ERROR
        assert expected in slave.messages[-1]
        assert slave.state() == before
    assert slave.set_real([LOCKS[0]], [1.0]) == ERROR
    assert slave.state() == before


def told(t: float) -> tuple[float, float, float]:
    """A sine for the elbow: position, rate, acceleration."""
    return 0.4 + 0.2 * np.sin(3 * t), 0.6 * np.cos(3 * t), -1.8 * np.sin(3 * t)


def followed(library: Library, hold: float) -> list[float]:
    """Outputs after a second, the elbow told anew after every hold."""
    slave = RawSlave(library)
    assert slave.setup() == OK
    assert slave.call("fmi2EnterInitializationMode") == OK
    assert slave.set_real(MOTION, told(0.0)) == OK
    assert slave.call("fmi2ExitInitializationMode") == OK
    for i in range(round(1.0 / hold)):
        assert slave.set_real(MOTION, told(i * hold)) == OK
        assert slave.do_step(i * hold, hold) == OK
    # what was told stays readable, carried on to the end of the step
    assert slave.get_real(MOTION[:1]) == slave.get_real(["joint.elbow.q"])
    return slave.get_real(OUTPUTS)


def test_a_motion_from_outside_is_followed_as_a_function_of_time_is(moved):
    """Between two tellings it goes on at the acceleration given: the elbow misses jerk hold^3 / 6.
    The rate that is off by then comes back within a step, and the others get it as the impulse that
    it is: what they miss is of order hold^2, and at a hold of one step 2e-5 J."""
    twin = Twin(pair(motion=told), OUTPUTS)
    twin.step(1000)
    holds = (2e-2, 1e-2, 1e-3)
    coarse, middle, fine = (np.abs(twin.read() - followed(moved, hold)) for hold in holds)
    assert coarse[3] < 5.4 / 6.0 * 2e-2**3
    assert fine.max() < 2e-5
    assert coarse[:3] / middle[:3] == pytest.approx([4.0] * 3, rel=0.12)


def test_a_motion_from_outside_comes_back_with_a_state(moved):
    slave = RawSlave(moved)
    slave.initialize()
    assert slave.set_real(MOTION, [0.4, 0.3, -2.0]) == OK
    assert slave.do_step(0.0, 0.01) == OK
    blob = slave.state()
    assert slave.do_step(0.01, 0.02) == OK
    expected = slave.state()
    other = RawSlave(moved)
    status, state = other.deserialize(blob)
    assert status == OK
    assert other.restore(state) == OK
    assert other.do_step(0.01, 0.02) == OK
    assert other.state() == expected


READ = [*OUTPUTS[:4], "joint.elbow.qd", "joint.rail.qdd", "joint.shoulder.qdd", "joint.elbow.tau"]


def starting(library: Library, row: np.ndarray) -> RawSlave:
    """In initialization mode, the elbow moved from outside by a row."""
    slave = RawSlave(library)
    assert slave.setup() == OK
    assert slave.call("fmi2EnterInitializationMode") == OK
    assert slave.set_real(MOTION, row) == OK
    return slave


def test_derivatives_by_a_motion_at_the_start_are_the_limits_of_differences(moved):
    row, h = np.array(told(0.3)), 1e-5
    slave = starting(moved, row)
    for part, name in enumerate(MOTION):
        exact = slave.directional(READ, [name], [1.0])
        ends = [starting(moved, row + s * h * np.eye(3)[part]).get_real(READ) for s in (1, -1)]
        slope = (np.array(ends[0]) - ends[1]) / (2 * h)
        np.testing.assert_allclose(exact, slope, rtol=1e-8, atol=1e-7)
    assert slave.directional(["joint.elbow.q", "joint.elbow.qd"], MOTION[:1], [2.0]) == [2.0, 0.0]
    assert abs(slave.directional(["joint.shoulder.qdd"], MOTION[2:], [1.0])[0]) > 0.1


def test_derivatives_by_a_motion_are_zero_during_a_run_where_it_acts_from_the_next_step_on(moved):
    slave = starting(moved, told(0.0))
    assert slave.call("fmi2ExitInitializationMode") == OK
    assert slave.do_step(0.0, 0.02) == OK
    before = slave.get_real(READ)
    for name in MOTION:
        assert slave.directional(READ, [name], [1.0]) == [0.0] * len(READ)
    assert slave.set_real(MOTION, [1.0, -3.0, 20.0]) == OK
    assert slave.get_real(READ) == before


def steered(library: Library, hold: float, rates: bool) -> list[float]:
    """Where a second of the sine leads, told anew after every hold, also its jerk if asked for."""
    slave = starting(library, told(0.0))
    assert slave.call("fmi2ExitInitializationMode") == OK
    for i in range(round(1.0 / hold)):
        t = i * hold
        if rates:
            # the rows at the end of the hold lie on these lines
            ends = (np.array(told(t + hold)) - told(t)) / hold
            assert slave.set_real(MOTION, told(t)) == OK
            assert slave.set_input_rates(MOTION, ends) == OK
        else:
            assert slave.set_real(MOTION, told(t)) == OK
        assert slave.do_step(t, hold) == OK
        if rates:
            assert slave.get_real(MOTION) == pytest.approx(told(t + hold), abs=1e-12)
            assert slave.get_real(["joint.elbow.q", "joint.elbow.qd"]) == pytest.approx(
                told(t + hold)[:2], abs=1e-12
            )
    return slave.get_real(OUTPUTS[:3])


def test_input_derivatives_lead_a_motion_through_a_step_to_where_it_is_to_end(moved):
    """Without them the others feel an acceleration that is late, with them the motion itself."""
    twin = Twin(pair(motion=told), OUTPUTS[:3])
    twin.step(1000)
    held = [np.abs(twin.read() - steered(moved, hold, False)).max() for hold in (2e-2, 1e-2)]
    led = [np.abs(twin.read() - steered(moved, hold, True)).max() for hold in (2e-2, 1e-2)]
    assert held[0] > 1.7 * held[1]
    assert max(led) < 1e-3 * held[1]


@pytest.mark.parametrize("name", MOTION)
def test_what_a_motion_comes_to_within_a_step_has_limits(moved, name):
    slave = starting(moved, told(0.0))
    assert slave.call("fmi2ExitInitializationMode") == OK
    before = slave.state()
    assert slave.set_input_rates([name], [1e20]) == OK
    assert slave.do_step(0.0, 1e-2) == ERROR
    assert f"{name} comes to 1e+18 by the end of the step" in slave.messages[-1]
    assert slave.set_real([name], [1e15]) == ERROR
    assert f"{name}: 1e+15 is beyond mechanics" in slave.messages[-1]
    assert slave.set_real([name], [told(0.0)[MOTION.index(name)]]) == OK
    assert slave.state() == before


@pytest.mark.parametrize("hold", [1e-3, 5e-4])
def test_the_derivative_of_a_position_alone_is_its_rate(moved, hold):
    """At communication steps of one internal step nothing but the position was led to its end, and
    the others felt no motion at all."""
    twin = Twin(pair(motion=told), OUTPUTS[:3])
    twin.step(1000)
    still = Twin(pair(motion=lambda t: (told(0.0)[0], 0.0, 0.0)), OUTPUTS[:3])
    still.step(1000)
    slave = starting(moved, told(0.0))
    assert slave.call("fmi2ExitInitializationMode") == OK
    for i in range(round(1.0 / hold)):
        t = i * hold
        slope = (told(t + hold)[0] - told(t)[0]) / hold
        assert slave.set_real(MOTION[:1], told(t)[:1]) == OK
        assert slave.set_input_rates(MOTION[:1], [slope]) == OK
        assert slave.do_step(t, hold) == OK
    off = np.abs(twin.read() - slave.get_real(OUTPUTS[:3])).max()
    assert off < 0.02 * np.abs(twin.read() - still.read()).max()


def test_a_motion_that_is_told_rightly_or_goes_on_by_itself_is_not_told_of(moved) -> None:
    """At steps far below the internal one, where a jump is taken back over several of them."""
    slave = starting(moved, [told(0.0)[0], 0.6, 0.0])
    assert slave.call("fmi2ExitInitializationMode") == OK
    for i in range(20):
        assert slave.do_step(1e-4 * i, 1e-4) == OK
    assert slave.set_real(MOTION[:1], [told(0.0)[0] + 0.1]) == OK  # once
    for i in range(20, 40):
        assert slave.do_step(1e-4 * i, 1e-4) in (OK, DISCARD)
    assert not any("jumps from step to step" in text for _, _, text in slave.logged)


def test_positions_that_are_renewed_every_other_step_only_are_told_of(moved) -> None:
    slave = starting(moved, told(0.0))
    assert slave.call("fmi2ExitInitializationMode") == OK
    for i in range(1, 20):
        told_then = told(1e-3 * (i // 2 * 2))[0]
        assert slave.set_real(MOTION, [told_then, 0.0, 0.0]) == OK
        assert slave.do_step(1e-3 * (i - 1), 1e-3) in (OK, DISCARD)
    assert any("jumps from step to step" in text for _, _, text in slave.logged)


def test_positions_without_their_rates_are_told_of_once(moved) -> None:
    slave = starting(moved, told(0.0))
    assert slave.call("fmi2ExitInitializationMode") == OK
    for i in range(1, 8):
        assert slave.set_real(MOTION, [told(1e-3 * i)[0], 0.0, 0.0]) == OK
        assert slave.do_step(1e-3 * (i - 1), 1e-3) in (OK, DISCARD)
    logged = [text for _, category, text in slave.logged if category == "logStatusWarning"]
    assert len([text for text in logged if "jumps from step to step" in text]) == 1
    assert any("off where joint.elbow.motion.qd leads" in text for text in logged)
