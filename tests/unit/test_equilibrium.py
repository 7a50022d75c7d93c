"""Where models rest, against statics by hand, the elastica and minima found by brute force."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_bvp
from scipy.optimize import minimize_scalar

import pliant as pl
from pliant.model_file import from_yaml

G = 9.81
DOWN = [0, 0, -G]
README = Path(__file__).parents[2] / "README.md"


def pendulum(start: float, effort: float = 0.0, **joint: object) -> pl.System:
    """2 kg at 0.5 m, 0.6 kg m2 about its hinge; a positive angle points the rod down."""
    rod = pl.Body(mass=2.0, com=[0.5, 0, 0], inertia=[0.01, 0.1, 0.1])
    hinge = pl.Joint(type="revolute", axis="y", child="rod", start=start, **joint)
    loads = {"motor": pl.Load(joint="hinge", effort=effort)} if effort else {}
    return pl.System(
        name="pendulum", gravity=DOWN, bodies={"rod": rod}, joints={"hinge": hinge}, loads=loads
    )


@pytest.mark.parametrize("start", [1.5, 3.0, 1.2, -1.5, 4.7, -1.6, 50.0, -1.5707963])
def test_a_pendulum_falls_the_short_way_from_anywhere(start: float):
    turns = np.round((start - np.pi / 2) / (2 * np.pi))
    nearest = np.pi / 2 + 2 * np.pi * turns
    assert pl.equilibrium(pendulum(start)) == pytest.approx([nearest], abs=1e-13)


def test_a_standing_pendulum_is_named_with_the_rate_at_which_it_would_fall():
    with pytest.raises(pl.SolverError, match="balances here but is not stable") as caught:
        pl.equilibrium(pendulum(-np.pi / 2))
    assert caught.value.element == "joint hinge"
    assert caught.value.value == pytest.approx(np.sqrt(2.0 * G * 0.5 / 0.6), rel=1e-12)


def test_friction_has_no_force_at_rest():
    rough = pendulum(0.3, friction={"viscous": 1.0, "coulomb": 50.0})
    assert pl.equilibrium(rough) == pytest.approx([np.pi / 2], abs=1e-13)


def test_a_motor_holds_a_pendulum_up_to_its_torque():
    # 2 kg g 0.5 m cos(q) + effort = 0, on the side where it is stable
    assert pl.equilibrium(pendulum(0.0, effort=5.0)) == pytest.approx(
        [np.arccos(-5.0 / G)], abs=1e-12
    )
    with pytest.raises(pl.SolverError, match="no equilibrium") as caught:
        pl.equilibrium(pendulum(0.0, effort=15.0))
    assert caught.value.element == "joint hinge"


def test_no_rod_of_a_double_pendulum_turns_further_than_it_has_to():
    rod = pl.Body(
        mass=1.0, com=[0.5, 0, 0], inertia=[1e-3, 0.1, 0.1], nodes={"tip": {"at": [1, 0, 0]}}
    )
    rng = np.random.default_rng(1)
    for first, second in rng.uniform(-np.pi, np.pi, (40, 2)):
        upper = pl.Joint(type="revolute", axis="y", child="upper", start=first)
        lower = pl.Joint(type="revolute", axis="y", parent="upper.tip", child="lower", start=second)
        system = pl.System(
            name="double",
            gravity=DOWN,
            bodies={"upper": rod, "lower": rod},
            joints={"shoulder": upper, "elbow": lower},
        )
        before = np.array([first, first + second])  # of each rod against the horizontal
        after = np.cumsum(pl.equilibrium(system))
        assert np.sin(after) == pytest.approx([1.0, 1.0], abs=1e-12)
        # half a turn, unless a rod that stands nearly upright is carried over the top by the other
        assert np.all(np.abs(after - before) <= np.pi + 0.3), (first, second)


def crane() -> str:
    """The model file of the README."""
    (text,) = re.findall(r"^```yaml\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    return text


def test_the_crane_of_the_readme_rests():
    system = from_yaml(crane().replace("speed: 1.0", "speed: 0.0"))
    sim = pl.Simulation(system, start="equilibrium")
    hook, load = sim.node("boom.tip"), sim.node("load")
    assert sim.joint("slew").angle == 0.0  # nothing acts on it
    # the load hangs straight below the hook: its axes are the world's
    assert load.rotation == pytest.approx(np.eye(3), abs=1e-12)
    # the spring carries the moment of load and boom, whose bend is too slight to matter
    sag = sim.joint("luff").angle
    boom = 12 * G * 2.0 * np.cos(sag)
    assert 2e4 * (sag + 0.05) == pytest.approx(20 * G * hook.position[0] + boom, rel=3e-3)
    assert sim.joint("luff").reaction[0] == pytest.approx([0, 0, 32 * G], abs=1e-9)
    before = sim.q.copy()
    sim.advance(5.0)
    assert sim.q == pytest.approx(before, abs=1e-11)
    assert sim.energy.kinetic < 1e-20


def test_a_cantilever_sags_by_its_tip_load():
    length, EI, force = 2.0, 5e3, 3.0
    beam = pl.Beam(
        length=length,
        mass_per_length=1.0,
        EI=EI,
        # the static mode makes the deflection under a force at the tip exact
        modes={"bending": 2, "static": ["force_z"]},
        stiffening=False,
    )
    system = pl.System(
        name="cantilever",
        bodies={"beam": pl.Body(beam=beam)},
        joints={"clamp": pl.Joint(type="fixed", child="beam")},
        loads={"push": pl.Load(node="beam.tip", force=[0, 0, -force])},
    )
    sim = pl.Simulation(system)
    sim.set_state(q=pl.equilibrium(system))
    sag = sim.node("beam.tip").position[2]
    assert sag == pytest.approx(-force * length**3 / (3 * EI), rel=1e-9)
    sim.advance(0.5)
    assert sim.node("beam.tip").position[2] == pytest.approx(sag, rel=1e-9)


def test_a_ball_on_a_spring_hangs_where_force_and_spring_balance():
    ball = pl.Body(mass=2.0, inertia=[0.1, 0.1, 0.1])
    spring = {"stiffness": [100, 200, 300, 5, 5, 5]}
    free = pl.Joint(type="free", child="ball", spring=spring, start=[0.1, 0, 0, 0.8, 0.6, 0, 0])
    system = pl.System(name="ball", gravity=[1, 2, 3], bodies={"ball": ball}, joints={"free": free})
    expected = [2 / 100, 4 / 200, 6 / 300, 1, 0, 0, 0]
    assert pl.equilibrium(system) == pytest.approx(expected, abs=1e-10)


def test_without_anything_that_holds_a_body_there_is_no_equilibrium():
    system = pl.System(
        name="falling",
        gravity=[0, 0, -9.81],
        bodies={"ball": pl.Body(mass=1.0, inertia=[1, 1, 1])},
        joints={"free": pl.Joint(type="free", child="ball")},
    )
    with pytest.raises(pl.SolverError, match="no equilibrium") as caught:
        pl.equilibrium(system)
    assert caught.value.element == "joint free freedom 3"
    assert caught.value.value == pytest.approx(-9.81)


def test_freedoms_on_which_nothing_acts_stay_where_they_are():
    system = pl.System(
        name="floating",
        bodies={"ball": pl.Body(mass=1.0, inertia=[1, 2, 3])},
        joints={"free": pl.Joint(type="free", child="ball", start=[1, 2, 3, 0.6, 0, 0.8, 0])},
    )
    assert pl.equilibrium(system).tolist() == [1, 2, 3, 0.6, 0, 0.8, 0]


def test_a_closed_linkage_rests_where_its_weight_is_lowest():
    # A four-bar of the parallelogram kind, released at a slant: both cranks hang down.
    rod = pl.Body(
        mass=1.0, com=[0.5, 0, 0], inertia=[1e-3, 0.1, 0.1], nodes={"tip": {"at": [1, 0, 0]}}
    )
    system = pl.System(
        name="swing",
        gravity=[0, -9.81, 0],
        bodies={"left": rod, "right": rod, "seat": rod},
        joints={
            "left": pl.Joint(type="revolute", axis="z", child="left", start=-1.0),
            "right": pl.Joint(type="revolute", axis="z", child="right", at=[1, 0, 0], start=-1.0),
            "seat": pl.Joint(type="revolute", axis="z", parent="left.tip", child="seat", start=1.0),
        },
        loops={
            "close": pl.Loop(type="revolute", axis="z", parent="seat.tip", child="right.tip"),
        },
    )
    sim = pl.Simulation(system)
    sim.set_state(q=pl.equilibrium(system))
    for name, angle in (("left", -np.pi / 2), ("right", -np.pi / 2), ("seat", np.pi / 2)):
        assert sim.joint(name).angle == pytest.approx(angle, abs=1e-10)
    assert np.abs(sim.loop("close").gap).max() < 1e-12


def test_a_linkage_rests_where_brute_force_finds_its_lowest_weight():
    # Four bars of different lengths on the ground at x = 0 and 1.2; the weights of the links are
    # found from the closed geometry, by two circles, over the angle of the crank.
    a, b, c, d = 0.5, 1.1, 0.9, 1.2
    masses = {"crank": 1.0, "coupler": 3.0, "rocker": 2.0}

    def pose(angle: float) -> tuple[np.ndarray, np.ndarray]:
        """Where the coupler hangs on the crank and on the rocker, elbow below."""
        A = a * np.array([np.cos(angle), np.sin(angle)])
        between = np.array([d, 0.0]) - A
        far = np.linalg.norm(between)
        along = (b**2 - c**2 + far**2) / (2 * far)
        across = np.array([between[1], -between[0]]) / far
        return A, A + between / far * along + across * np.sqrt(b**2 - along**2)

    def height(angle: float) -> float:
        A, B = pose(angle)
        ends = {"crank": A, "coupler": A + B, "rocker": B}
        return float(sum(masses[name] * end[1] / 2 for name, end in ends.items()))

    lengths = {"crank": a, "coupler": b, "rocker": c}
    bodies = {
        name: pl.Body(
            mass=masses[name],
            com=[length / 2, 0, 0],
            inertia=[1e-3, 0.1, 0.1],
            nodes={"end": {"at": [length, 0, 0]}},
        )
        for name, length in lengths.items()
    }
    for start in (-2.9, -0.4, 1.0, 2.6):
        A, B = pose(start)
        slope = np.arctan2(*(B - A)[::-1])
        rocker = np.arctan2(*(B - np.array([d, 0.0]))[::-1])
        system = pl.System(
            name="linkage",
            gravity=[0, -G, 0],
            bodies=bodies,
            joints={
                "crank": pl.Joint(type="revolute", axis="z", child="crank", start=start),
                "coupler": pl.Joint(
                    type="revolute",
                    axis="z",
                    parent="crank.end",
                    child="coupler",
                    start=slope - start,
                ),
                "rocker": pl.Joint(
                    type="revolute", axis="z", child="rocker", at=[d, 0, 0], start=rocker
                ),
            },
            loops={
                "pin": pl.Loop(type="revolute", axis="z", parent="coupler.end", child="rocker.end")
            },
        )
        sim = pl.Simulation(system, start="equilibrium")
        found = sim.joint("crank").angle
        lowest = minimize_scalar(height, bounds=(found - 0.5, found + 0.5), options={"xatol": 1e-9})
        assert found == pytest.approx(lowest.x, abs=1e-7)
        assert height(found) < height(start)
        assert abs(found - start) <= np.pi
        assert np.abs(sim.loop("pin").gap).max() < 1e-12


@pytest.mark.parametrize("lower", [-0.3, -200.0])
def test_a_weight_on_a_rail_rests_on_its_stop(lower: float):
    stops = {"lower": lower, "stiffness": 1e4}
    rail = pl.Joint(type="prismatic", axis="z", child="weight", stops=stops)
    weight = pl.Body(mass=3.0, inertia=[1, 1, 1])
    system = pl.System(name="lift", gravity=DOWN, bodies={"weight": weight}, joints={"rail": rail})
    assert pl.equilibrium(system) == pytest.approx([lower - 3 * G / 1e4], rel=1e-12)


def test_a_weight_on_a_spring_rests_where_they_balance_at_any_scale():
    for mass, stiffness in ((1e-9, 1e-6), (3.0, 40.0), (1e9, 1e12)):
        rail = pl.Joint(
            type="prismatic", axis="z", child="weight", spring={"stiffness": stiffness, "rest": 1}
        )
        weight = pl.Body(mass=mass, inertia=[mass] * 3)
        system = pl.System(
            name="scale", gravity=DOWN, bodies={"weight": weight}, joints={"rail": rail}
        )
        assert pl.equilibrium(system) == pytest.approx([1 - mass * G / stiffness], rel=1e-12)


def test_forces_that_cancel_move_nothing():
    ball = pl.Body(mass=1.0, inertia=[1, 1, 1], nodes={"pad": {"at": [0.1, 0.2, 0.3]}})
    force = np.array([0.1, 0.2, 0.3])
    system = pl.System(
        name="floating",
        bodies={"ball": ball},
        joints={"free": pl.Joint(type="free", child="ball", start=[1, 2, 3, 0.6, 0, 0.8, 0])},
        loads={
            "one": pl.Load(node="ball.pad", force=3 * force),
            "two": pl.Load(node="ball.pad", force=-2 * force),
            "three": pl.Load(node="ball.pad", force=-force),
        },
    )
    assert pl.equilibrium(system).tolist() == [1, 2, 3, 0.6, 0, 0.8, 0]


def test_a_ball_joint_rests_under_a_torque_in_world_axes_which_has_no_potential():
    torque, stiffness = np.array([2.0, 1.0, 1.0]), 3.0
    rod = pl.Body(mass=2.0, com=[0.5, 0, 0], inertia=[0.01, 0.1, 0.1])
    ball = pl.Joint(type="spherical", child="rod", start=[0.8, 0, 0.6, 0], spring={"stiffness": 3})
    system = pl.System(
        name="twisted",
        gravity=DOWN,
        bodies={"rod": rod},
        joints={"ball": ball},
        loads={"twist": pl.Load(node="rod", torque=torque)},
    )
    w, *vector = pl.equilibrium(system)
    axis = np.array(vector) / np.linalg.norm(vector)
    turn = 2 * np.arctan2(np.linalg.norm(vector), w) * axis
    # the rotation leaves its own axis alone, so that the spring's torque is the same in all axes
    x = np.array([1.0, 0, 0])
    com = 0.5 * (
        x * np.cos(np.linalg.norm(turn))
        + np.cross(axis, x) * np.sin(np.linalg.norm(turn))
        + axis * (axis @ x) * (1 - np.cos(np.linalg.norm(turn)))
    )
    weight = np.cross(com, 2.0 * np.array(DOWN))
    assert weight + torque - stiffness * turn == pytest.approx(np.zeros(3), abs=1e-11)


def test_a_wheel_that_is_driven_pushes_its_body_off():
    body = pl.Body(mass=1.0, inertia=[1, 1, 1], wheels={"rw": pl.Wheel(axis="z", inertia=0.1)})
    hinge = pl.Joint(type="revolute", axis="z", child="hub", spring={"stiffness": 8.0})
    system = pl.System(
        name="reaction",
        bodies={"hub": body},
        joints={"hinge": hinge},
        loads={"motor": pl.Load(wheel="hub.rw", torque=2.0)},
    )
    assert pl.equilibrium(system) == pytest.approx([-2.0 / 8.0], rel=1e-12)


def test_a_prescribed_joint_stands_where_its_motion_begins():
    rod = pl.Body(
        mass=1.0, com=[0.5, 0, 0], inertia=[1e-3, 0.1, 0.1], nodes={"tip": {"at": [1, 0, 0]}}
    )
    motor = pl.Joint(
        type="revolute", axis="y", child="arm", motion=lambda t: (0.4 + 5 * t + t**2, 5 + 2 * t, 2)
    )
    system = pl.System(
        name="driven",
        gravity=DOWN,
        bodies={"arm": rod, "bob": rod},
        joints={
            "motor": motor,
            "pin": pl.Joint(type="revolute", axis="y", parent="arm.tip", child="bob"),
        },
    )
    assert pl.equilibrium(system) == pytest.approx([0.4, np.pi / 2 - 0.4], abs=1e-12)


# ---------------------------------------------------------------------------- large deflections


def welded(count: int, force: list[float]) -> pl.System:
    """A cantilever of unit length and EI along x, of beams whose shapes are exact for tip loads."""
    shapes = {"bending": 2, "static": ["force_z", "moment_y"]}
    beam = pl.Beam(length=1 / count, mass_per_length=1.0, EI=1.0, modes=shapes)
    parents = ["ground", *(f"beam{i}.tip" for i in range(count - 1))]
    return pl.System(
        name="elastica",
        bodies={f"beam{i}": pl.Body(beam=beam) for i in range(count)},
        joints={
            f"weld{i}": pl.Joint(type="fixed", parent=parent, child=f"beam{i}")
            for i, parent in enumerate(parents)
        },
        loads={"pull": pl.Load(node=f"beam{count - 1}.tip", force=force)},
    )


def tip(system: pl.System) -> np.ndarray:
    sim = pl.Simulation(system, start="equilibrium")
    return np.asarray(sim.node(f"beam{len(system.bodies) - 1}.tip").position)


def elastica(force_x: float, force_z: float) -> np.ndarray:
    """Tip of the bent beam: theta'' = Fx sin(theta) - Fz cos(theta), x' = cos, z' = sin(theta),
    clamped at s = 0, without moment at s = 1; solved by collocation."""

    def slopes(_: np.ndarray, y: np.ndarray) -> np.ndarray:
        theta, bend, _, _ = y
        curve = force_x * np.sin(theta) - force_z * np.cos(theta)
        return np.stack([bend, curve, np.cos(theta), np.sin(theta)])

    def ends(root: np.ndarray, tip: np.ndarray) -> np.ndarray:
        return np.array([root[0], tip[1], root[2], root[3]])

    s = np.linspace(0, 1, 50)
    solved = solve_bvp(slopes, ends, s, np.stack([s, 1 - s, s, s / 2]), tol=1e-9, max_nodes=10000)
    assert solved.success
    return np.array([solved.y[2, -1], 0.0, solved.y[3, -1]])


@pytest.mark.parametrize("load", [1.0, 5.0])
def test_welded_beams_bend_to_the_elastica(load: float):
    exact = elastica(0.0, load)
    errors = [np.linalg.norm(tip(welded(n, [0, 0, load])) - exact) for n in (2, 4, 8)]
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(slopes > 2.8)
    assert errors[-1] < 2e-3


def test_a_column_beyond_eulers_load_is_not_left_standing():
    euler = np.pi**2 / 4
    assert not np.any(pl.equilibrium(welded(4, [-0.9 * euler, 0, 0])))
    with pytest.raises(pl.SolverError, match="not stable") as caught:
        pl.equilibrium(welded(4, [-1.1 * euler, 0, 0]))
    assert re.fullmatch(r"body beam\d mode \d", caught.value.element)
    # the slightest push to a side decides to which it bends
    exact = elastica(-1.1 * euler, 0.0)
    for side in (1, -1):
        bent = tip(welded(8, [-1.1 * euler, 0, side * 1e-6]))
        assert bent * [1, 1, side] == pytest.approx(exact, abs=2e-3)


def test_a_beam_alone_has_no_bent_shape_beyond_eulers_load_and_says_so():
    # modes of one body shorten it by the square of their deflection, with nothing of fourth order
    with pytest.raises(pl.SolverError, match="no equilibrium") as caught:
        pl.equilibrium(welded(1, [-1.1 * np.pi**2 / 4, 0, 1e-6]))
    assert caught.value.element.startswith("body beam0 mode")


# ------------------------------------------------------------------------------ as a start


def test_a_file_can_ask_for_it():
    text = crane().replace("name: crane\n", "name: crane\nstart: equilibrium\n")
    system = from_yaml(text)
    assert system.start == "equilibrium"
    assert "start: equilibrium" in system.to_yaml()
    assert from_yaml(system.to_yaml()) == system
    sim = pl.Simulation(system)
    rest = pl.equilibrium(from_yaml(crane()))
    assert sim.q == pytest.approx(rest, abs=1e-12)
    assert sim.joint("slew").rate == 1.0  # speeds stay as given
    sim.advance(0.1)
    sim.reset()
    assert sim.q == pytest.approx(rest, abs=1e-12)
    # found once more from where it is, it stays
    assert pl.equilibrium(system) == pytest.approx(rest, abs=1e-12)


def test_another_word_for_it_is_refused():
    with pytest.raises(pl.ModelError, match=r"start: 'equilibrum' .*did you mean 'equilibrium'"):
        from_yaml(crane().replace("name: crane\n", "name: crane\nstart: equilibrum\n"))
    with pytest.raises(pl.ModelError, match=r"start: 'rest' is unknown; known: equilibrium"):
        pl.Simulation(pendulum(0.3), start="rest")


def test_a_run_from_equilibrium_stays_there():
    result = pl.simulate(pendulum(0.3), 1.0, start="equilibrium", record=["joint"])
    assert np.ptp(result["joint.hinge.q"]) < 1e-12


def test_loops_that_move_at_the_start_are_closed_again_where_the_model_rests():
    rod = pl.Body(
        mass=1.0, com=[0.5, 0, 0], inertia=[1e-3, 0.1, 0.1], nodes={"tip": {"at": [1, 0, 0]}}
    )
    close = pl.Loop(
        type="revolute",
        axis="z",
        parent="seat.tip",
        child="right.tip",
        closed_by=["right", "seat"],
    )
    system = pl.System(
        name="swing",
        start="equilibrium",
        gravity=[0, -G, 0],
        bodies={"left": rod, "right": rod, "seat": rod},
        joints={
            "left": pl.Joint(type="revolute", axis="z", child="left", start=-1.0, speed=2.0),
            "right": pl.Joint(type="revolute", axis="z", child="right", at=[1, 0, 0], start=-1.0),
            "seat": pl.Joint(type="revolute", axis="z", parent="left.tip", child="seat", start=1.0),
        },
        loops={"close": close},
    )
    sim = pl.Simulation(system)
    # a parallelogram: the right crank turns with the left one, the seat does not turn
    angles = [sim.joint(name).angle for name in ("left", "right", "seat")]
    rates = [sim.joint(name).rate for name in ("left", "right", "seat")]
    assert angles == pytest.approx([-np.pi / 2, -np.pi / 2, np.pi / 2], abs=1e-10)
    assert rates == pytest.approx([2.0, 2.0, -2.0], abs=1e-10)
