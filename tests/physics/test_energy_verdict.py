"""Every step is judged by the energy that it makes: what is garbage fails where it begins, what is
doubtful is said, and nothing that is right is doubted."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant as pl
from cases import fmu_models, mechanisms, moving_systems
from cases.free_tree import free_tree
from pliant.demos.platform import platform
from pliant.demos.station_arm import MODEL_FILE

INTEGRATORS = ("leapfrog", "rk4", "euler_cromer")
DOUBTFUL = {"leapfrog": 0.1, "rk4": 0.1, "euler_cromer": 1.0}
LOST = {"leapfrog": 1.0, "rk4": 1.0, "euler_cromer": 100.0}


def crane() -> pl.System:
    """Vibrates at up to 48.7 Hz: leapfrog's limit is 6.5 ms."""
    return pl.System(
        name="crane",
        gravity=[0, 0, -9.81],
        bodies={
            "post": pl.Body(
                mass=60, com=[0, 0, 0.6], inertia=[8, 8, 2], nodes={"top": {"at": [0, 0, 1.2]}}
            ),
            "boom": pl.Body(
                beam={"length": 4, "mass_per_length": 3, "EI": 2e4, "radius": 0.05, "damping": 0.01}
            ),
            "load": pl.Body(mass=20, com=[0, 0, -0.8], inertia=[0.5, 0.5, 0.5]),
        },
        joints={
            "slew": pl.Joint(type="revolute", axis="z", child="post", speed=1.0),
            "luff": pl.Joint(
                type="revolute",
                axis="y",
                parent="post.top",
                child="boom",
                spring={"stiffness": 2e4, "rest": -0.05},
            ),
            "hook": pl.Joint(
                type="universal", axes=["x", "y"], parent="boom.tip", child="load", start=[0.2, 0]
            ),
        },
    )


def run(sim: pl.Simulation, duration: float) -> pl.SolverError | None:
    """What ended a run early, if anything did."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pl.PliantWarning)
        try:
            sim.step(round(duration / sim.step_size))
        except pl.SolverError as error:
            return error
    return None


# ------------------------------------------------------------------------------------- garbage


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("step", [0.0115, 0.0175, 0.1])
def test_a_motion_that_diverges_fails_before_its_energy_is_many_times_what_it_was(
    integrator: str, step: float
) -> None:
    """The load falls from 0.8 m below the tip: 160 J at most move from place to place. At 17.5 ms
    the states grew to 5e19 J before, called good."""
    with pytest.warns(pl.StepWarning):
        sim = pl.Simulation(crane(), step, integrator=integrator)
    start = sim.energy.total
    error = run(sim, 100.0 * step)
    assert error is not None
    assert "energy came out of nothing" in error.message
    assert "take a shorter step" in error.message
    assert error.time == sim.time < 25.0 * step
    assert abs(sim.energy.total - start) < LOST[integrator] * 400.0
    assert np.isfinite(sim.q).all()


def gimbal(rates: np.ndarray) -> pl.System:
    joint = pl.Joint(type="general", rotations=["x", "y", "z"], child="top", speed=list(rates))
    top = pl.Body(mass=2, com=[0.02, 0.01, 0.1], inertia=[0.05, 0.06, 0.03])
    return pl.System(name="gimbal", bodies={"top": top}, joints={"pivot": joint})


@pytest.mark.parametrize("integrator", ["leapfrog", "rk4"])
def test_angles_that_go_through_gimbal_lock_fail_there_and_name_the_joint(integrator: str) -> None:
    sim = pl.Simulation(gimbal([0.1623, 1.2147, 0.1066]), 1e-3, integrator=integrator)
    energy = sim.energy.total
    error = run(sim, 5.0)
    assert error is not None
    assert error.element == "joint pivot freedom 1"
    assert "(gimbal lock)" in error.message
    assert "use a spherical joint" in error.message
    assert abs(sim.joint("pivot").position[1]) == pytest.approx(np.pi / 2, abs=0.05)
    assert abs(sim.energy.total - energy) < 0.5 * energy


def test_no_run_near_gimbal_lock_is_wrong_in_silence() -> None:
    """Random tumbling through it: refused, warned of, or right."""
    rng = np.random.default_rng(11)
    seen = {"refused": 0, "right": 0}
    for _ in range(150):
        rates = rng.normal(size=3) * [0.05, 0.3, 0.05] + [0, 1.5, 0]
        sim = pl.Simulation(gimbal(rates), 5e-3)
        kinetic = sim.energy.total
        if run(sim, 4.0) is not None:
            seen["refused"] += 1
        else:
            seen["right"] += 1
            assert sim.energy_doubt < DOUBTFUL["leapfrog"]
            assert abs(sim.energy_error) < 0.2 * kinetic
    assert seen["refused"] > 0
    assert seen["right"] > 0


def test_a_doubtful_run_is_warned_of_once() -> None:
    """Leapfrog at two thirds of the limit of a spring that holds all the energy."""
    rail = pl.Joint(type="prismatic", axis="x", child="cart", start=0.1, spring={"stiffness": 1e6})
    body = pl.Body(mass=1, inertia=[1, 1, 1])
    sim = pl.Simulation(pl.System(name="cart", bodies={"cart": body}, joints={"rail": rail}), 1e-3)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", pl.EnergyWarning)
        for _ in range(200):
            sim.step()
    assert len(told) == 1
    assert re.match(
        r"cart: t = \S+ s: the energy error has come to 2\S+ % of the energy that moved: do not "
        r"trust this run; take a shorter step \('pliant check' names the limit\)",
        str(told[0].message),
    )
    doubt = sim.energy_doubt
    before = sim.save_state()
    sim.set_state(q=[0.0], u=[0.0])
    assert sim.energy_doubt == 0.0
    sim.restore_state(before)
    assert sim.energy_doubt == doubt


# ---------------------------------------------------------------------------------- false alarms


def heavy_wheel() -> pl.System:
    """600 kJ in a wheel, 1 J in the boom that vibrates."""
    return moving_systems.wheel_on_hub()


def orbiting_boom() -> pl.System:
    """A small vibration on something that flies at orbital speed: 1e10 J against 1 J."""
    return pl.System(
        name="orbiter",
        bodies={
            "hub": pl.Body(mass=300, inertia=[80, 80, 80], nodes={"mount": {"at": [0.5, 0, 0]}}),
            "boom": pl.Body(beam={"length": 6, "mass_per_length": 0.5, "EI": 800, "radius": 0.02}),
        },
        joints={
            "orbit": pl.Joint(type="free", child="hub", speed=[7.5e3, 0, 0, 0, 0.05, 0]),
            "root": pl.Joint(type="fixed", parent="hub.mount", child="boom"),
        },
    )


def strong_damper() -> pl.System:
    """h d / m = 1000: the speed is gone within a step."""
    rail = pl.Joint(type="prismatic", axis="x", child="cart", speed=3.0, friction={"viscous": 1e6})
    cart = pl.Body(mass=1, inertia=[1, 1, 1])
    return pl.System(name="brake", bodies={"cart": cart}, joints={"rail": rail})


def held_brake(coulomb: float = 100.0) -> pl.System:
    """Dry friction that holds a pendulum from the start: next to no energy moves."""
    bob = pl.Body(mass=1, com=[0, 0, -1], inertia=[0.1, 0.1, 0.1])
    joint = pl.Joint(
        type="revolute", axis="y", child="bob", start=0.5, friction={"coulomb": coulomb}
    )
    return pl.System(
        name="held", gravity=[0, 0, -9.81], bodies={"bob": bob}, joints={"pivot": joint}
    )


def dropped(stiffness: float, damping: float) -> pl.System:
    """A kilogram falls a metre onto a stop."""
    joint = pl.Joint(
        type="prismatic",
        axis="z",
        child="body",
        start=1.0,
        stops={"lower": 0.0, "stiffness": stiffness, "damping": damping},
    )
    return pl.System(
        name="drop",
        gravity=[0, 0, -9.81],
        bodies={"body": pl.Body(mass=1, inertia=[1, 1, 1])},
        joints={"rail": joint},
    )


def friction_and_stop() -> pl.System:
    rail = pl.Joint(
        type="prismatic",
        axis="z",
        child="cart",
        start=0.5,
        friction={"coulomb": 1.0},
        stops={"lower": 0.0, "stiffness": 2e4, "damping": 20.0},
    )
    cart = pl.Body(mass=1, inertia=[1, 1, 1])
    return pl.System(
        name="drop", gravity=[0, 0, -9.81], bodies={"cart": cart}, joints={"rail": rail}
    )


SOUND = {
    "pendulum": (fmu_models.pendulum, 5.0),
    "craft": (fmu_models.craft, 3.0),
    "driven": (fmu_models.driven, 3.0),
    "free tree": (free_tree, 3.0),
    "four windows": (lambda: mechanisms.windows(4, 1.0), 3.0),
    "bricard": (mechanisms.bricard, 3.0),
    "truss": (moving_systems.flexible_truss, 2.0),
    "four-bar": (moving_systems.four_bar, 2.0),
    "driven boom": (moving_systems.driven_boom, 2.0),
    "wheel": (heavy_wheel, 2.0),
    "top": (moving_systems.spinning_top, 2.0),
    "crane": (crane, 5.0),
    "arm": (lambda: pl.load(MODEL_FILE), 3.0),
    "platform 4": (lambda: platform(4), 2.0),
    "platform 12": (lambda: platform(12), 1.0),
    "orbiter": (orbiting_boom, 5.0),
    "brake": (strong_damper, 0.02),
    "drop": (friction_and_stop, 2.0),
    "held": (held_brake, 2.0),
    "dead stop": (lambda: dropped(1e4, 1e4), 1.0),
}


# not sound: with euler_cromer the top has 100 times its energy after 1.2 s
RUNS = [(n, i) for n in SOUND for i in INTEGRATORS if (n, i) != ("top", "euler_cromer")]


@pytest.mark.parametrize(("name", "integrator"), RUNS)
def test_no_sound_run_at_the_default_step_is_doubted(name: str, integrator: str) -> None:
    make, duration = SOUND[name]
    sim = pl.Simulation(make(), integrator=integrator)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pl.EnergyWarning)
        sim.step(round(duration / sim.step_size))
    assert sim.energy_doubt < 0.5 * DOUBTFUL[integrator]


# --------------------------------------------------------------------------------- strong dampers


@pytest.mark.parametrize("step", [1e-3, 2e-4, 1e-5])
@pytest.mark.parametrize(("stiffness", "damping"), [(1e4, 1e4), (1e4, 1e5), (1e5, 1e4)])
def test_a_damped_stop_takes_all_of_a_fall_and_throws_nothing_back(
    stiffness: float, damping: float, step: float
) -> None:
    """4.43 m/s and 9.81 J come; overdamped, the body stays. By the trapezoidal rule alone it came
    back at 2.96 and 4.26 m/s at 1 ms, with an energy account that agreed."""
    sim = pl.Simulation(dropped(stiffness, damping), step)
    fastest = -np.inf
    for _ in range(round(0.8 / 1e-3)):
        sim.step(round(1e-3 / step))
        fastest = max(fastest, sim.joint("rail").rate)
    assert fastest < 0.05
    assert abs(sim.joint("rail").position) < 1e-2
    assert sim.energy.dissipated == pytest.approx(9.81, rel=0.03)
    assert sim.energy_doubt < 0.01


@pytest.mark.parametrize("coulomb", [10.0, 100.0, 1e4])
def test_a_brake_that_holds_creeps_as_slowly_as_its_law_says(coulomb: float) -> None:
    """v0 atanh(torque / coulomb): the speed of dry friction at its transition."""
    sim = pl.Simulation(held_brake(coulomb), 1e-3)
    sim.advance(1.0)
    torque = 9.81 * np.sin(sim.joint("pivot").position)
    assert sim.joint("pivot").rate == pytest.approx(-1e-3 * np.arctanh(torque / coulomb), rel=1e-2)
    assert sim.energy_doubt < 0.01


# ------------------------------------------------------------------- rates that jump from outside


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_rate_that_jumps_gives_the_impulse_and_does_the_work_that_it_is(integrator: str) -> None:
    """A carriage told to go at once: the pendulum on it turns at -m l v / (J + m l^2), and what it
    took is the kinetic energy. Within a step of 1e-5 s."""
    mass, arm, inertia, speed = 2.0, 0.4, 0.1, 0.7
    system = pl.System(
        name="carriage",
        gravity=[0, 0, -9.81],
        bodies={
            "carriage": pl.Body(mass=5.0, inertia=[1, 1, 1]),
            "bob": pl.Body(mass=mass, com=[0, 0, -arm], inertia=[inertia] * 3),
        },
        joints={
            "rail": pl.Joint(type="prismatic", axis="x", child="carriage", motion="input"),
            "hinge": pl.Joint(type="revolute", axis="y", parent="carriage", child="bob"),
        },
    )
    sim = pl.Simulation(system, 1e-5, integrator=integrator)
    sim.joint("rail").move(1e-5 * speed, speed)
    sim.step()
    rate = mass * arm * speed / (inertia + mass * arm**2)
    assert sim.joint("hinge").rate == pytest.approx(rate, rel=2e-3)
    kinetic = 0.5 * (5.0 + mass) * speed**2 - 0.5 * mass * arm * speed * rate
    assert sim.energy.kinetic == pytest.approx(kinetic, rel=2e-3)
    if integrator != "rk4":  # whose four moments say little of what goes on between them
        assert sim.energy.work == pytest.approx(kinetic, rel=0.02)
    assert sim.energy_doubt < 0.1


def test_angles_that_stand_where_axes_line_up_are_no_fault() -> None:
    """A camera that looks straight down from a cart that vibrates: it never turns, and the energy
    error of the cart, 6 % at the default step, is none of its own."""
    rail = pl.Joint(
        type="prismatic", axis="x", child="cart", speed=1.0, spring={"stiffness": 2.5e5}
    )
    mount = pl.Joint(
        type="general", rotations=["z", "y", "x"], parent="cart", child="eye", start=[0, 1.55, 0]
    )
    system = pl.System(
        name="camera",
        bodies={
            "cart": pl.Body(mass=1, inertia=[1, 1, 1]),
            "eye": pl.Body(mass=0.1, inertia=[0.01, 0.02, 0.03]),
        },
        joints={"rail": rail, "mount": mount},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", pl.EnergyWarning)
        run = pl.simulate(system, 0.5)
    assert run["joint.mount.q"][-1] == pytest.approx([0.0, 1.55, 0.0], abs=1e-6)


@pytest.mark.parametrize("speed", [[3.3, 0, 4.7, 0, 0, 0], [0] * 6])
def test_rounding_of_a_body_that_only_flies_is_no_doubt(speed: list[float]) -> None:
    """Next to no energy moves but that of its flight."""
    ball = pl.Body(mass=1, inertia=[0.1, 0.1, 0.1])
    throw = pl.Joint(type="free", child="ball", speed=speed)
    system = pl.System(
        name="throw", gravity=[0, 0, -9.81], bodies={"ball": ball}, joints={"throw": throw}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", pl.EnergyWarning)
        assert pl.simulate(system, 1.0).warnings == ()


def test_the_rows_of_a_run_are_judged_between_the_verdicts_of_steps() -> None:
    """At h omega = 0.7 the energy of states swings by 12 %; verdicts come every 64 steps."""
    rail = pl.Joint(type="prismatic", axis="x", child="cart", speed=1.0, spring={"stiffness": 1.0})
    body = pl.Body(mass=1, inertia=[1, 1, 1])
    system = pl.System(name="cart", bodies={"cart": body}, joints={"rail": rail})
    with pytest.warns(pl.EnergyWarning, match="12"):
        pl.simulate(system, 0.7 * 40, 0.7, every=1)


@pytest.mark.parametrize("number", [*range(30), 259])
def test_a_fast_tumbling_through_gimbal_lock_is_refused_or_right(number):
    """Against the same body on a spherical joint: silent runs have the attitude within 10 degrees
    and an energy error below the doubtful."""
    rng = np.random.default_rng([7 if number == 259 else 8, number])
    speed = [2.0 * rng.normal(), rng.uniform(5.0, 25.0), 2.0 * rng.normal()]

    def tumbling(**joint: object) -> pl.System:
        body = pl.Body(mass=1.0, com=[0.3, 0.1, -0.5], inertia=[0.1, 0.2, 0.15])
        return pl.System(
            name="tumbling",
            gravity=[0, 0, -9.81],
            bodies={"b": body},
            joints={"j": pl.Joint(**joint, child="b", speed=speed)},
        )

    exact = pl.Simulation(tumbling(type="spherical"), 5e-5)
    exact.advance(3.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            run = pl.simulate(tumbling(type="general", rotations=["x", "y", "z"]), 3.0)
        except pl.SolverError as refused:
            assert "gimbal lock" in str(refused)  # noqa: PT017
            return
    if any(issubclass(warning.category, pl.EnergyWarning) for warning in told):
        return
    x, y, z = run["joint.j.q"][-1]
    turned = Rotation.from_euler("XYZ", [x, y, z]).as_matrix()
    off = Rotation.from_matrix(turned.T @ exact.body("b").head.rotation).magnitude()
    assert run.energy_error < 0.1
    assert off < np.radians(10.0)


@pytest.mark.parametrize("integrator", ["leapfrog", "rk4"])
@pytest.mark.parametrize("seconds", [0.5, 2.5, 10.0])
@pytest.mark.parametrize("first", [0.0, 2.0])
def test_a_motion_that_sets_out_against_weight_is_not_doubted(
    first: float, seconds: float, integrator: str
) -> None:
    """The first step of it moves as little energy as it errs by."""
    table = pl.Motion(times=[first, first + seconds], position=[0.0, 1.5])
    tilted = [np.cos(0.5), np.sin(0.5), 0.0, 0.0]
    body = pl.Body(mass=2.0, com=[0.5, 0.1, -0.2], inertia=[0.3, 0.25, 0.2])
    joints = {
        "lift": pl.Joint(type="prismatic", axis="z", child="body", motion=table),
        "luff": pl.Joint(type="revolute", axis="y", child="body", motion=table),
        "free": pl.Joint(type="free", child="body", start=[0, 0, 0, *tilted]),
    }
    for name, joint in joints.items():
        loop = pl.Loop(type="revolute", axis="z", child="body", rotation=tilted, motion=table)
        system = pl.System(
            name=name,
            gravity=[0, 0, -9.81],
            bodies={"body": body},
            joints={name: joint},
            loops={"loop": loop} if name == "free" else {},
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error", pl.EnergyWarning)
            result = pl.simulate(system, first + 1.0, integrator=integrator)
        assert result.energy_error < 1e-5


@pytest.mark.parametrize("force", [1e-3, 1.0, 1e6])
def test_what_is_held_and_loaded_is_not_doubted_for_its_rounding(force: float) -> None:
    system = pl.System(
        name="held",
        bodies={"beam": pl.Body(beam={"length": 2, "mass_per_length": 1, "EI": [100, None]})},
        joints={"root": pl.Joint(type="fixed", child="beam")},
        loops={"end": pl.Loop(type="fixed", child="beam.tip", at=[2, 0, 0])},
        loads={"tip": pl.Load(node="beam.tip", force=[0, 0, force])},
    )
    for options in ({}, {"step": 1e-4}, {"integrator": "rk4"}, {"start": "equilibrium"}):
        with warnings.catch_warnings():
            warnings.simplefilter("error", pl.EnergyWarning)
            pl.simulate(system, 0.5, **options)


def test_a_run_of_a_few_steps_is_judged_at_its_end() -> None:
    rail = pl.Joint(type="prismatic", axis="x", child="cart", start=0.1, spring={"stiffness": 1e6})
    body = pl.Body(mass=1, inertia=[1, 1, 1])
    system = pl.System(name="cart", bodies={"cart": body}, joints={"rail": rail})
    with pytest.warns(pl.EnergyWarning, match=r"cart: t = 0\.02 s: the energy error has come to"):
        pl.simulate(system, 0.02, 1e-3)


def test_a_state_that_a_controller_gives_opens_another_account() -> None:
    """What was found of the energy before is not held against what moves after."""
    rail = pl.Joint(type="prismatic", axis="x", child="cart", start=1.0, spring={"stiffness": 100})
    body = pl.Body(mass=1, inertia=[1, 1, 1])
    system = pl.System(name="cart", bodies={"cart": body}, joints={"rail": rail})

    def controller(sim: pl.Simulation) -> None:
        if abs(sim.time - 5.0) < 1e-9:
            sim.set_state(q=[0.1], u=[0.0])

    with warnings.catch_warnings():
        warnings.simplefilter("error", pl.EnergyWarning)
        result = pl.simulate(system, 10.0, 0.02, controller=controller)
    assert result.energy_error < 0.02


@pytest.mark.parametrize("hull", [1.0, 1e3, 1e5])
def test_what_cannot_move_hides_nothing_that_does(hull: float) -> None:
    """A sensor of 0.1 kg at h omega = 1.9 on a hull that is held against its weight."""
    step = 1.9 * np.sqrt(0.1 / 1e3)
    node = pl.Node(at=[30.0, 0, 0])
    system = pl.System(
        name="sensor",
        gravity=[0, 0, -9.81],
        bodies={
            "hull": pl.Body(mass=hull, inertia=[hull, hull, hull], nodes={"mount": node}),
            "sensor": pl.Body(mass=0.1, inertia=[1e-3, 1e-3, 1e-3]),
        },
        joints={
            "held": pl.Joint(type="fixed", child="hull"),
            "soft": pl.Joint(
                type="prismatic",
                axis="x",
                parent="hull.mount",
                child="sensor",
                start=0.05,
                spring={"stiffness": 1e3},
            ),
        },
    )
    sim = pl.Simulation(system, step)
    assert isinstance(run(sim, 300 * step), pl.SolverError)
    assert sim.time < 70 * step
