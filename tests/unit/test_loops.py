"""Describing loops: what closes them at the start, what they report, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from rich.console import Console

import pliant as pl
from pliant._kernel import QUANTITIES
from pliant.channels import all_channels, all_inputs, default_channels
from pliant.closing import LoopStart
from pliant.compile import compile_model
from pliant.mechanism import resolve
from pliant.report import ModelReport

CRANK, COUPLER, ROCKER, BASE = 0.5, 1.4, 1.0, 1.5


def rod(length: float) -> pl.Body:
    return pl.Body(
        mass=1.0,
        com=[length / 2, 0, 0],
        inertia=[1e-4, length**2 / 12, length**2 / 12],
        nodes={"tip": {"at": [length, 0, 0]}},
    )


def four_bar(
    *,
    start: tuple[float, float, float] = (1.2, -0.8, 1.6),
    speed: tuple[float, float, float] = (0.0, 0.0, 0.0),
    rocker: dict[str, object] | None = None,
    **loop: object,
) -> pl.System:
    """Crank and coupler from the origin, rocker from (BASE, 0), in the plane across z."""
    return pl.System(
        name="four_bar",
        gravity=[0, -9.81, 0],
        bodies={"crank": rod(CRANK), "coupler": rod(COUPLER), "rocker": rod(ROCKER)},
        joints={
            "a": pl.Joint(type="revolute", axis="z", child="crank", start=start[0], speed=speed[0]),
            "b": pl.Joint(
                type="revolute",
                axis="z",
                parent="crank.tip",
                child="coupler",
                start=start[1],
                speed=speed[1],
            ),
            "d": pl.Joint(
                type="revolute",
                axis="z",
                child="rocker",
                at=[BASE, 0, 0],
                **(rocker or {"start": start[2], "speed": speed[2]}),
            ),
        },
        loops={
            "c": {
                "type": "revolute",
                "axis": "z",
                "parent": "coupler.tip",
                "child": "rocker.tip",
                **loop,
            }
        },
    )


def rocker_angle(crank: float) -> float:
    """By the law of cosines, for the way of assembly with the coupler above."""
    p = CRANK * np.array([np.cos(crank), np.sin(crank)]) - [BASE, 0.0]
    distance = np.hypot(*p)
    inner = (distance**2 + ROCKER**2 - COUPLER**2) / (2 * distance * ROCKER)
    return float(np.arctan2(p[1], p[0]) - np.arccos(inner))


def errors(system: pl.System) -> str:
    with pytest.raises(pl.ModelError) as caught:
        compile_model(system)
    return str(caught.value)


# --------------------------------------------------------------------------- consistent start


def test_named_joints_are_moved_until_the_loop_closes():
    sim = pl.Simulation(four_bar(closed_by=["b", "d"]))
    assert sim.joint("a").angle == 1.2
    assert sim.joint("d").angle == pytest.approx(rocker_angle(1.2), abs=1e-13)
    assert np.abs(sim.loop("c").gap).max() < 1e-12


def test_their_speeds_follow_from_those_of_the_other_joints():
    sim = pl.Simulation(four_bar(speed=(2.0, 0.0, 0.0), closed_by=["b", "d"]))
    h = 1e-5
    expected = 2.0 * (rocker_angle(1.2 + h) - rocker_angle(1.2 - h)) / (2 * h)
    assert sim.joint("a").rate == 2.0
    assert sim.joint("d").rate == pytest.approx(expected, rel=1e-8)  # h^2, and eps / h
    assert np.abs(sim.loop("c").gap_rate).max() < 1e-12


def test_a_start_far_away_is_closed_too():
    sim = pl.Simulation(four_bar(start=(1.2, 0.0, 0.0), closed_by=["b", "d"]))
    assert np.abs(sim.loop("c").gap).max() < 1e-12


def test_the_shortest_way_is_taken_when_several_joints_may_move():
    sim = pl.Simulation(four_bar(closed_by=["a", "b", "d"]))
    moved = np.array([sim.joint(name).angle for name in "abd"]) - [1.2, -0.8, 1.6]
    assert np.abs(sim.loop("c").gap).max() < 1e-12
    assert np.linalg.norm(moved) < 0.01


def test_closed_loops_are_left_as_they_are():
    angle = rocker_angle(1.2)
    first = pl.Simulation(four_bar(closed_by=["b", "d"]))
    start = (1.2, first.joint("b").angle, first.joint("d").angle)
    again = pl.Simulation(four_bar(start=start))
    assert again.joint("d").angle == first.joint("d").angle == pytest.approx(angle, abs=1e-13)


def test_stops_bound_where_joints_are_moved():
    stops = {"stiffness": 100.0, "lower": 1.0, "upper": 1.7}
    sim = pl.Simulation(four_bar(rocker={"start": 1.1, "stops": stops}, closed_by=["b", "d"]))
    assert sim.joint("d").angle == pytest.approx(rocker_angle(1.2), abs=1e-13)
    stops["upper"] = 1.4
    message = errors(four_bar(rocker={"start": 1.1, "stops": stops}, closed_by=["b", "d"]))
    assert "within their stops" in message


def test_prescribed_joints_stay_put_while_others_close_the_loop():
    motion = {"times": [0, 1], "position": [1.7, 1.8], "rate": [0.5, 0.0]}
    sim = pl.Simulation(four_bar(rocker={"motion": motion}, closed_by=["a", "b"]))
    assert sim.joint("d").angle == 1.7
    assert sim.joint("d").rate == 0.5
    assert np.abs(sim.loop("c").gap).max() < 1e-12
    assert np.abs(sim.loop("c").gap_rate).max() < 1e-12
    assert sim.joint("a").rate != 0.0


def test_ball_joints_close_loops_in_space():
    strut = pl.Body(mass=1.0, inertia=[0.1, 0.1, 0.1], nodes={"end": {"at": [0, 0, 1.0]}})
    system = pl.System(
        name="strut",
        bodies={"lever": rod(1.0), "strut": strut},
        joints={
            "hinge": pl.Joint(type="revolute", axis="y", child="lever", start=-0.4, speed=1.0),
            "ball": pl.Joint(type="spherical", child="strut", at=[0.3, -0.2, -0.3]),
        },
        loops={
            "top": pl.Loop(
                type="spherical", parent="lever.tip", child="strut.end", closed_by=["hinge", "ball"]
            )
        },
    )
    sim = pl.Simulation(system)
    assert np.linalg.norm(sim.joint("ball").position) == pytest.approx(1.0, abs=1e-15)
    apart = sim.node("strut.end").position - sim.node("lever.tip").position
    assert np.abs(apart).max() < 1e-12
    drift = sim.node("strut.end").velocity - sim.node("lever.tip").velocity
    assert np.abs(drift).max() < 1e-12


def test_an_open_loop_is_refused_with_its_gap_and_the_joints_on_its_path():
    message = errors(four_bar(start=(1.2, -0.8, 1.5)))
    assert message.startswith("loops.c: does not close at the start: a gap of ")
    assert "mm; change the start of the joints on its path (a, d, b)" in message
    assert "closed_by" in message


def test_the_gap_in_the_message_is_the_distance_in_mm():
    closed = pl.Simulation(four_bar(closed_by=["b", "d"]))
    b, d = closed.joint("b").angle, closed.joint("d").angle
    message = errors(four_bar(start=(1.2, b, d), at=[0.003, 0, 0.004]))
    assert "a gap of 5 mm;" in message
    message = errors(four_bar(start=(1.2, b, d), rotation={"axis": "x", "degrees": 2.0}))
    assert "2 deg" in message


def test_an_opening_loop_is_refused_with_its_rate():
    closed = pl.Simulation(four_bar(closed_by=["b", "d"]))
    start = (1.2, closed.joint("b").angle, closed.joint("d").angle)
    message = errors(four_bar(start=start, speed=(0.0, 0.0, 0.5)))
    assert "loops.c: opens at the start, by 500 mm per second" in message


def test_what_cannot_be_closed_is_refused_with_what_was_tried():
    message = errors(four_bar(closed_by=["b"]))
    assert "moving b does not bring its nodes together" in message


def test_a_loop_that_closes_with_its_axis_turned_over_is_refused():
    closed = pl.Simulation(four_bar(closed_by=["b", "d"]))
    start = (1.2, closed.joint("b").angle, closed.joint("d").angle)
    message = errors(four_bar(start=start, rotation={"axis": "x", "degrees": 180}))
    assert "pointing one way" in message


def test_the_file_and_line_of_an_open_loop_are_named(tmp_path):
    path = tmp_path / "four_bar.yaml"
    path.write_text(four_bar(start=(1.2, 0.0, 0.0)).to_yaml())
    with pytest.raises(pl.ModelError, match=r"four_bar\.yaml:\d+: loops\.c: does not close"):
        pl.Simulation(path)


# ------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("loop", "place", "words"),
    [
        ({"closed_by": ["elbow"]}, "loops.c.closed_by[0]", "no joint 'elbow'"),
        ({"parent": "rocker"}, "loops.c.parent", "itself"),
        ({"parent": "coupler.end"}, "loops.c.parent", "no node 'end'"),
        ({"motion": lambda t: (t, 1.0, 0.0)}, "loops.c.motion", "table"),
        (
            {
                "type": "universal",
                "axis": None,
                "axes": ["x", [1, 1, 0]],
                "spring": {"stiffness": 1},
            },
            "loops.c.spring",
            "right angles",
        ),
        (
            {"type": "general", "axis": None, "translations": ["x", [1, 1, 0]]},
            "loops.c.translations",
            "right angles",
        ),
    ],
)
def test_a_faulty_loop_is_named(loop, place, words):
    with pytest.raises(pl.ModelError) as caught:
        four_bar(**loop).validate_model()
    (problem,) = caught.value.problems
    assert problem.where == place
    assert words in problem.message


def test_a_loop_has_no_start_of_its_own():
    with pytest.raises(pl.ModelError, match="the tree says where its nodes are"):
        pl.Loop(type="revolute", axis="z", parent="coupler.tip", child="rocker.tip", start=0.1)


def test_joints_that_cannot_move_do_not_close_loops():
    motion = {"times": [0, 1], "position": [1.7, 1.8]}
    message = errors(four_bar(rocker={"motion": motion}, closed_by=["d"]))
    assert "loops.c.closed_by[0]: 'd' has a prescribed motion" in message


def test_a_system_with_loops_comes_back_from_its_file(tmp_path):
    system = four_bar(closed_by=["b", "d"], spring={"stiffness": 2.0, "rest": 0.5})
    path = tmp_path / "four_bar.yaml"
    path.write_text(system.to_yaml())
    assert compile_model(pl.load(path)).blob == compile_model(system).blob


# ------------------------------------------------------------------------- reading and driving


def test_the_position_of_a_loop_is_the_angle_between_its_links():
    sim = pl.Simulation(four_bar(speed=(2.0, 0, 0), closed_by=["b", "d"]))
    loop, coupler = sim.loop("c"), sim.joint("a").angle + sim.joint("b").angle
    assert loop.position == pytest.approx(sim.joint("d").angle - coupler, abs=1e-13)
    rate = sim.joint("d").rate - sim.joint("a").rate - sim.joint("b").rate
    assert loop.rate == pytest.approx(rate, abs=1e-12)


def test_the_reaction_of_a_loop_is_what_moves_its_child():
    sim = pl.Simulation(four_bar(speed=(2.0, 0, 0), closed_by=["b", "d"]))
    force = sim.loop("c").reaction.force
    # the rocker about its own joint: I alpha = r x (loop) + r/2 x (weight)
    d = sim.joint("d")
    r = ROCKER * np.array([np.cos(d.angle), np.sin(d.angle), 0.0])
    torque = np.cross(r, force)[2] + np.cross(r / 2, [0, -9.81, 0])[2]
    assert ROCKER**2 / 3 * d.acceleration == pytest.approx(torque, rel=1e-12)


def test_an_effort_on_a_loop_acts_like_opposite_torques_on_its_links():
    sim = pl.Simulation(four_bar(closed_by=["b", "d"]))
    twin = pl.Simulation(four_bar(closed_by=["b", "d"]))
    sim.loop("c").effort = 3.0
    assert sim.loop("c").effort == 3.0
    twin.node("rocker.tip").apply(torque=[0, 0, 3.0])
    twin.node("coupler.tip").apply(torque=[0, 0, -3.0])
    sim.advance(0.1)
    twin.advance(0.1)
    np.testing.assert_allclose(sim.q, twin.q, rtol=0, atol=1e-13)


def test_a_load_of_the_model_acts_on_a_loop():
    system = four_bar(closed_by=["b", "d"])
    system.loads["motor"] = pl.Load(joint="c", times=[0, 1], effort=[1.0, 3.0])
    sim, twin = pl.Simulation(system), pl.Simulation(four_bar(closed_by=["b", "d"]))
    twin.loop("c").effort = lambda t: 1.0 + 2.0 * t
    sim.advance(0.1)
    twin.advance(0.1)
    np.testing.assert_allclose(sim.q, twin.q, rtol=0, atol=1e-13)


def test_a_spring_on_a_loop_is_that_effort():
    spring = {"stiffness": 5.0, "rest": 0.7}
    sim = pl.Simulation(four_bar(closed_by=["b", "d"], spring=spring))
    twin = pl.Simulation(four_bar(closed_by=["b", "d"]))
    twin.loop("c").effort = -5.0 * (twin.loop("c").position - 0.7)
    np.testing.assert_allclose(sim.evaluate(), twin.evaluate(), rtol=1e-13)


def test_a_prescribed_loop_moves_as_told_and_tells_its_effort():
    closed = pl.Simulation(four_bar(closed_by=["b", "d"]))
    here = closed.loop("c").position
    motion = {
        "times": [0, 1],
        "position": [here, here + 0.4],
        "rate": [0, 0],
        "acceleration": [0, 0],
    }
    sim = pl.Simulation(four_bar(closed_by=["b", "d"], motion=motion))
    free = pl.Simulation(four_bar(closed_by=["b", "d"]))
    for name in "abd":
        assert sim.joint(name).angle == pytest.approx(free.joint(name).angle, abs=1e-15)
    free.loop("c").effort = float(sim.loop("c").effort)
    # rounding of the gap, pulled to zero within 3 ms
    np.testing.assert_allclose(free.evaluate(), sim.evaluate(), rtol=0, atol=1e-10)
    sim.advance(1.0)
    relative = sim.joint("d").angle - sim.joint("a").angle - sim.joint("b").angle
    # the gap that stabilisation leaves at a step of 1 ms
    assert relative == pytest.approx(here + 0.4, abs=1e-5)
    with pytest.raises(pl.ModelError, match="prescribed"):
        sim.loop("c").effort = 1.0


def turning(start: float = 0.0, speed: float = 8.0, **acts: object) -> pl.System:
    """A rod of 0.7 kg m^2 that a loop holds to the ground by a hinge; the tree lets it slide."""
    return pl.System(
        name="turning",
        bodies={"rod": pl.Body(mass=2.0, com=[0.5, 0, 0], inertia=[0.1, 0.1, 0.2])},
        joints={
            "plane": pl.Joint(
                type="planar", axis="z", child="rod", start=[0, 0, start], speed=[0, 0, speed]
            )
        },
        loops={"hinge": pl.Loop(type="revolute", axis="z", child="rod", **acts)},
    )


@pytest.mark.parametrize("integrator", ["leapfrog", "rk4"])
@pytest.mark.parametrize(("stiffness", "rest"), [(1.0, 0.0), (1.0, 0.3), (0.02, 0.3)])
def test_springs_of_loops_count_turns(stiffness: float, rest: float, integrator: str):
    sim = pl.Simulation(
        turning(spring={"stiffness": stiffness, "rest": rest}), 1e-3, integrator=integrator
    )
    sim.advance(5.0)
    saved = sim.save_state()
    sim.advance(5.0)
    omega = np.sqrt(stiffness / 0.7)
    angle = rest - rest * np.cos(10 * omega) + 8 / omega * np.sin(10 * omega)
    assert sim.joint("plane").position[2] == pytest.approx(angle, abs=2e-5)
    assert sim.loop("hinge").position == pytest.approx(angle, abs=2e-5)
    end = sim.q.copy()
    sim.restore_state(saved)
    sim.advance(5.0)
    np.testing.assert_array_equal(sim.q, end)
    sim.reset()
    sim.advance(10.0)
    np.testing.assert_array_equal(sim.q, end)


def test_a_stop_of_a_loop_acts_after_three_turns():
    sim = pl.Simulation(turning(stops={"upper": 20.0, "stiffness": 1000.0}))
    sim.advance(10.0)
    # half a period of the spring that the stop is, and back as fast as it came
    back = 20.0 - 8.0 * (10.0 - 20.0 / 8.0 - np.pi / np.sqrt(1000.0 / 0.7))
    assert sim.loop("hinge").position == pytest.approx(back, abs=5e-3)


@pytest.mark.parametrize(
    ("start", "acts", "position"),
    [
        (4.0, {}, 4.0 - 2 * np.pi),
        (4.0, {"spring": {"stiffness": 3.0, "rest": 4.0}}, 4.0),
        (3.5, {"stops": {"lower": -2.0, "upper": 4.0, "stiffness": 1e3}}, 3.5),
        (-1.0, {"stops": {"lower": 5.0, "stiffness": 1e3}}, 2 * np.pi - 1.0),
        (1.0, {"stops": {"upper": -5.0, "stiffness": 1e3}}, 1.0 - 2 * np.pi),
        (1.0, {"stops": {"lower": 0.0, "upper": 20.0, "stiffness": 1e3}}, 1.0),
        (
            3.9,
            {
                "spring": {"stiffness": 1.0, "rest": -1.0},
                "stops": {"lower": 2.5, "upper": 4.0, "stiffness": 1e3},
            },
            3.9,
        ),
    ],
)
def test_a_loop_starts_in_the_turn_of_its_spring_or_stops(start, acts, position):
    sim = pl.Simulation(turning(start, 0.0, **acts))
    assert sim.loop("hinge").position == pytest.approx(position, abs=1e-14)
    if len(acts) == 1:
        sim.advance(2.0)  # at rest, and not doubted
        assert sim.joint("plane").position[2] == pytest.approx(start, abs=1e-12)


def test_a_loop_on_a_joint_that_is_moved_starts_in_the_turn_where_that_is():
    system = pl.System(
        name="moved",
        bodies={"rod": pl.Body(mass=2.0, com=[0.5, 0, 0], inertia=[0.1, 0.1, 0.2])},
        joints={
            "pin": pl.Joint(
                type="revolute", axis="z", child="rod", motion=lambda t: (4.0 + t, 1.0, 0.0)
            )
        },
        loops={
            "hinge": pl.Loop(
                type="revolute",
                axis="z",
                child="rod",
                stops={"lower": 3.0, "upper": 5.0, "stiffness": 1e3},
            )
        },
    )
    sim = pl.Simulation(system)
    assert sim.loop("hinge").position == pytest.approx(4.0, abs=1e-14)
    sim.advance(0.5)
    assert sim.loop("hinge").position == pytest.approx(4.5, abs=1e-9)
    assert sim.energy.spring == 0.0
    sim.reset()
    assert sim.loop("hinge").position == pytest.approx(4.0, abs=1e-14)


def test_turns_are_those_of_the_way_to_a_state_that_is_given():
    sim = pl.Simulation(turning(spring={"stiffness": 1.0}))
    start = sim.q.copy()
    sim.advance(0.8)
    there = sim.q.copy()
    assert there[2] > 5.0
    other = pl.Simulation(turning(spring={"stiffness": 1.0}))
    other.set_state(q=there)
    assert other.loop("hinge").position == pytest.approx(there[2], abs=1e-12)
    np.testing.assert_allclose(other.evaluate(), sim.evaluate(), rtol=0, atol=1e-9)
    sim.set_state(q=start)
    assert sim.loop("hinge").position == pytest.approx(0.0, abs=1e-12)
    sim.set_state(q=[0.0, 0.0, -200.0])
    assert sim.loop("hinge").position == pytest.approx(-200.0, abs=1e-11)


@pytest.mark.parametrize(
    ("integrator", "step"), [("euler_cromer", 1e-3), ("leapfrog", 1e-2), ("rk4", 0.05)]
)
def test_states_of_a_run_are_taken_elsewhere(integrator: str, step: float):
    """Their loops are as open as that integrator leaves them."""
    sim = pl.Simulation(
        four_bar(closed_by=["b", "d"], speed=(6.0, 0, 0)), step, integrator=integrator
    )
    for _ in range(40):
        sim.advance(0.05)
        other = pl.Simulation(sim.model, step, integrator=integrator)
        other.set_state(q=sim.q, u=sim.u)


def test_a_loop_rests_where_its_spring_does_beyond_half_a_turn():
    spring = {"stiffness": 3.0, "rest": 4.0}
    for start in (3.9, 4.0, 4.1):
        rest = pl.equilibrium(turning(start, 0.0, spring=spring))
        np.testing.assert_allclose(rest, [0.0, 0.0, 4.0], rtol=0, atol=1e-12)


def test_accelerations_and_derivatives_beyond_half_a_turn_are_those_of_the_angle():
    sim = pl.Simulation(turning(spring={"stiffness": 1.0}), integrator="rk4")
    sim.advance(0.5)
    angle = sim.loop("hinge").position
    assert angle > np.pi
    # 0.7 q'' = -q; energy q^2 / 2
    assert sim.evaluate()[2] == pytest.approx(-angle / 0.7, rel=1e-9)
    quantities = [("udot", 2), ("energy", 2), ("loop_position", 0)]
    rows = [(QUANTITIES.index(name), 0, index) for name, index in quantities]
    signals = sim.kernel.signals(np.array(rows, np.int32))
    along = sim.kernel.derivative(signals, q=np.array([0.0, 0.0, 1.0]))
    assert along == pytest.approx([-1 / 0.7, angle, 1.0], rel=1e-9)


def test_a_state_in_which_a_loop_is_open_is_refused_and_nothing_changes():
    sim = pl.Simulation(four_bar(closed_by=["b", "d"]))
    sim.advance(0.5)
    state = sim.save_state()
    with pytest.raises(pl.ModelError, match=r"loop c: is open there, by 1\.\d+ mm; give"):
        sim.set_state(q=sim.q + np.array([1e-3, 0, 0]))
    with pytest.raises(pl.ModelError, match=r"loop c: opens there, by 1\.79e\+03 mm per s"):
        sim.set_state(u=sim.u + np.array([1.0, 0, 0]))
    assert sim.save_state().kernel == state.kernel
    sim.set_state(q=sim.q + np.array([1e-6, 0, 0]))  # as differences are taken
    sim.set_state(q=sim.q, u=sim.u)
    loose = pl.Simulation(four_bar(closed_by=["b", "d"]), loop_steps=np.inf)
    loose.set_state(q=loose.q + np.array([1e-3, 0, 0]))


def test_gaps_stay_closed_at_the_order_of_the_integrator():
    gaps = []
    for step in (2e-3, 1e-3):
        sim = pl.Simulation(four_bar(speed=(3.0, 0, 0), closed_by=["b", "d"]), step)
        worst = 0.0
        for _ in range(100):
            sim.advance(0.02)
            worst = max(worst, float(np.abs(sim.loop("c").gap).max()))
        gaps.append(worst)
    assert gaps[1] < 1e-4
    assert gaps[0] / gaps[1] > 3.0  # order 2


def test_channels_of_loops_have_names_units_and_numbers():
    model = compile_model(four_bar(closed_by=["b", "d"]))
    channels = {c.name: c.unit for c in all_channels(model) if c.name.startswith("loop.")}
    assert channels["loop.c.gap[1]"] == "m"
    assert channels["loop.c.gap[5]"] == "rad"
    assert channels["loop.c.gap_rate[4]"] == "rad/s"
    assert channels["loop.c.q"] == "rad"
    assert channels["loop.c.reaction.f[3]"] == "N"
    assert "loop.c.reaction.f[1]" not in {c.name for c in default_channels(model)}
    (effort,) = [i for i in all_inputs(model) if i.name.startswith("loop.")]
    assert (effort.name, effort.unit) == ("loop.c.tau", "N m")
    assert effort.index == model.loops[0].input.start
    result = pl.simulate(four_bar(closed_by=["b", "d"]), 0.1, record=["loop", "joint.*.q"])
    angle = result["joint.d.q"] - result["joint.a.q"] - result["joint.b.q"]
    np.testing.assert_allclose(result["loop.c.q"], angle, atol=1e-12)
    assert np.abs(result["loop.c.gap"]).max() < 1e-6


# ---------------------------------------------------------------------------- check and modes


def test_check_tells_what_loops_hold_and_leave():
    report = ModelReport(four_bar(closed_by=["b", "d"]))
    summary = " ".join(report.summary())
    assert "1 loop with 5 held directions, 3 of them redundant: 1 freedom is left" in summary
    console = Console(width=100)
    with console.capture() as capture:
        console.print(report.tree())
    assert "loop: coupler.tip — c (revolute about z) — rocker.tip" in capture.get()


def test_modes_of_a_closed_mechanism_are_those_of_its_one_freedom():
    # A parallelogram hanging down: rods of 1 m turn together, the coupler only translates.
    system = parallelogram(gravity=9.81)
    modes = pl.assembled_modes(system)
    inertia, moment = 2 / 3 + 1.0, 9.81 * (2 * 0.5 + 1.0)
    assert modes.rigid == 0
    assert modes.frequencies == pytest.approx([np.sqrt(moment / inertia) / (2 * np.pi)], rel=1e-7)


def test_springs_and_dampers_of_loops_count_in_the_modes():
    spring, friction = {"stiffness": 30.0}, {"viscous": 0.5}
    system = parallelogram(gravity=0.0, spring=spring, friction=friction)
    (mode,) = pl.assembled_modes(system).modes
    inertia = 2 / 3 + 1.0
    omega = np.sqrt(30.0 / inertia)  # rods turn against the coupler by the angle itself
    assert mode.frequency == pytest.approx(omega / (2 * np.pi), rel=1e-7)
    assert mode.damping == pytest.approx(0.5 / (2 * inertia * omega), rel=1e-7)
    assert mode.shares == pytest.approx({"loop close": 1.0}, abs=1e-6)


def test_loops_without_springs_leave_rigid_freedoms():
    assert pl.assembled_modes(parallelogram(gravity=0.0)).rigid == 1
    assert pl.assembled_modes(parallelogram(gravity=0.0), locked=True).rigid == 0


def parallelogram(gravity: float, **loop: object) -> pl.System:
    """Two rods of 1 m hang from the ground, 1 m apart, and carry a third."""
    down = -np.pi / 2
    joints = {
        "left": pl.Joint(type="revolute", axis="z", child="left", start=down),
        "right": pl.Joint(type="revolute", axis="z", child="right", at=[1, 0, 0], start=down),
        "across": pl.Joint(
            type="revolute", axis="z", parent="left.tip", child="across", start=-down
        ),
    }
    close = pl.Loop(
        **loop,
        type="revolute",
        axis="z",
        parent="across.tip",
        child="right.tip",
        rotation={"axis": "z", "degrees": -90},
    )
    return pl.System(
        name="parallelogram",
        gravity=[0, -gravity, 0],
        bodies={name: rod(1.0) for name in ("left", "right", "across")},
        joints=joints,
        loops={"close": close},
    )


def test_a_model_can_be_compiled_with_its_loops_open():
    start = LoopStart(compile_model(resolve(four_bar(start=(1.2, 0.0, 0.0))), close=False))
    assert not start.is_closed(1e-6)
    assert start.rate == pytest.approx(np.zeros(5), abs=1e-15)


def closed_start() -> tuple[float, float, float]:
    sim = pl.Simulation(four_bar(closed_by=["b", "d"]))
    a, b, d = (float(sim.joint(name).angle) for name in "abd")
    return a, b, d


def energy_error(step: float, integrator: str, sim_options: dict[str, object], **loop: object):
    system = four_bar(speed=(6.0, 0.0, 0.0), closed_by=["b", "d"], **loop)
    sim = pl.Simulation(system, step, integrator=integrator, **sim_options)
    if not loop:
        sim.loop("c").effort = lambda t: 3.0 * np.cos(1.2 * t)
    sim.advance(1.0)
    assert abs(sim.energy.total - sim.energy.work) > 1.0  # there is something to account for
    return abs(sim.energy_error)


@pytest.mark.parametrize(
    "loop",
    [
        {},
        {"spring": {"stiffness": 20.0, "rest": 1.0}, "friction": {"viscous": 0.3}},
        {"stops": {"lower": -1.4, "stiffness": 500.0, "damping": 1.0}},
    ],
    ids=["effort", "spring and friction", "stop"],
)
def test_the_account_of_energy_knows_what_acts_along_loops(loop):
    """An effort that was not booked would leave an error that no step makes smaller."""
    coarse, fine = (energy_error(h, "leapfrog", {}, **loop) for h in (2e-3, 5e-4))
    assert fine < 1e-3
    assert fine < coarse / 4  # of order 2 or more


def test_the_work_of_a_prescribed_loop_is_booked():
    """Opens the coupler's angle against the rocker as told; the crank follows."""
    free = pl.Simulation(four_bar(start=closed_start(), speed=(0, 0, 0)), 1e-3)
    angle = float(free.loop("c").position)
    times = np.linspace(0, 1, 101)
    motion = {
        "times": times,
        "position": angle + 0.2 * (1 - np.cos(2 * times)),
        "rate": 0.4 * np.sin(2 * times),
        "acceleration": 0.8 * np.cos(2 * times),
    }
    errors = []
    for step in (2e-3, 5e-4):
        sim = pl.Simulation(four_bar(start=closed_start(), motion=motion), step)
        sim.advance(1.0)
        assert abs(sim.energy.work) > 0.02
        errors.append(abs(sim.energy_error))
    assert errors[1] < errors[0] / 4
    assert errors[1] < 1e-6


def test_projection_keeps_the_order_of_the_integrator_and_leaves_no_gap():
    options = {"project_loops": True}
    errors = [
        energy_error(h, "rk4", options, spring={"stiffness": 20.0}) for h in (4e-3, 2e-3, 1e-3)
    ]
    assert errors[2] < errors[0] / 8**2 or errors[2] < 1e-9  # order 3 and more, down to rounding
    system = four_bar(speed=(6.0, 0.0, 0.0), closed_by=["b", "d"])
    sim = pl.Simulation(system, 2e-3, project_loops=True)
    sim.advance(1.0)
    assert np.abs(sim.loop("c").gap).max() < 1e-9
    assert np.abs(sim.loop("c").gap_rate).max() < 1e-9


def test_locking_a_joint_that_loops_hold_already_changes_nothing():
    """The rocker is tied to the ground by a second loop: nothing can move."""
    system = four_bar(start=closed_start())
    system.loops["hold"] = pl.Loop(
        type="fixed",
        parent="ground",
        child="rocker.tip",
        at=pl.Simulation(system, 1e-3).node("rocker.tip").position,
        rotation={"axis": "z", "angle": closed_start()[2]},
    )
    sim = pl.Simulation(system, 1e-3)
    sim.joint("d").lock()
    assert np.abs(sim.u).max() < 1e-12
    sim.advance(0.1)
    assert np.abs(sim.u).max() < 1e-9
