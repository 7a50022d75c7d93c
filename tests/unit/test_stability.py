"""The limit of the step: what it is for systems whose recurrence can be solved by hand, that runs
obey it in the kernel, and that it is told."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pliant as pl
from pliant import stability
from pliant.compile import compile_model
from pliant.options import INTEGRATORS
from pliant.stability import step_limit, suggested_step

MASS = 2.0


def cart(gravity: tuple[float, ...] = (0, 0, 0), **rail: object) -> pl.System:
    """A mass on a rail along x, with a spring, friction or stops."""
    return pl.System(
        name="cart",
        gravity=gravity,
        bodies={"cart": pl.Body(mass=MASS, inertia=[1, 1, 1])},
        joints={"rail": pl.Joint(type="prismatic", axis="x", child="cart", **rail)},
    )


def limit(system: pl.System, integrator: str = "leapfrog") -> stability.StepLimit:
    return step_limit(compile_model(system), integrator)


def largest_speed(system: pl.System, step: float, integrator: str, steps: int = 3000) -> float:
    """Of the last steps, relative to the largest of the first; infinite if the run fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pl.PliantWarning)
        sim = pl.Simulation(system, step, integrator=integrator)
        sim.set_state(u=sim.u + 1e-6 * np.random.default_rng(3).normal(size=len(sim.u)))
        speeds = []
        try:
            for _ in range(steps):
                sim.step()
                speeds.append(float(np.abs(sim.u).max()))
        except pl.SolverError:
            return np.inf
    return max(speeds[-20:]) / max(*speeds[:20], np.finfo(float).tiny)


# ----------------------------------------------------------------------------- by hand, and as run


@pytest.mark.parametrize(
    ("integrator", "bound"), [("euler_cromer", 2.0), ("leapfrog", 2.0), ("rk4", 2.0 * np.sqrt(2.0))]
)
def test_an_oscillator_has_the_limit_of_the_textbook(integrator: str, bound: float) -> None:
    """Step times omega: 2 for Stoermer-Verlet, 2 sqrt 2 on the imaginary axis for Runge-Kutta
    (Hairer, Lubich & Wanner, Geometric Numerical Integration, I.5; Hairer & Wanner, Solving
    Ordinary Differential Equations II, IV.2)."""
    stiff = limit(cart(spring={"stiffness": 800.0}), integrator)
    assert stiff.step == pytest.approx(bound / 20.0, rel=1e-9)
    assert stiff.cause == "joints.rail.spring"


def test_damping_and_stiffness_together_have_the_limit_of_the_quadratic() -> None:
    """Of euler_cromer z^2 - (2 - x^2 - y) z + 1 - y, x step times omega, y step times d/m, has a
    root at -1 for x^2 + 2 y = 4."""
    omega, rate = 20.0, 35.0
    both = cart(spring={"stiffness": MASS * omega**2}, friction={"viscous": MASS * rate})
    h = limit(both, "euler_cromer").step
    assert (h * omega) ** 2 + 2.0 * h * rate == pytest.approx(4.0, rel=1e-9)


SYSTEMS = {
    "spring": cart(spring={"stiffness": 800.0}),
    "viscous friction": cart(friction={"viscous": 500.0}),
    "spring and viscous friction": cart(spring={"stiffness": 800.0}, friction={"viscous": 30.0}),
    "a stop that is leant on": cart(
        gravity=(-10.0, 0, 0), start=-20.0 / 5e3, stops={"lower": 0.0, "stiffness": 5e3}
    ),
}


def flexible() -> pl.System:
    """A damped beam, a hinge with a spring, a rigid body beyond it; nothing moves far."""
    beam = pl.Beam(
        length=2.0, mass_per_length=3.0, EI=4e3, radius=0.05, modes={"bending": 2}, damping=0.03
    )
    return pl.System(
        name="flexible",
        bodies={"beam": pl.Body(beam=beam), "end": pl.Body(mass=1.5, inertia=[0.1, 0.2, 0.2])},
        joints={
            "root": pl.Joint(type="revolute", axis="y", child="beam", spring={"stiffness": 3e3}),
            "wrist": pl.Joint(
                type="revolute",
                axis="z",
                parent="beam.tip",
                child="end",
                friction={"viscous": 2.0},
                spring={"stiffness": 20.0},
            ),
        },
    )


def hung() -> pl.System:
    """Soft beams like a rope that carry a weight: what is fast is the tension's doing."""
    soft = {"length": 1.0, "mass_per_length": 0.1, "EI": 0.02, "modes": {"bending": 2}}
    bodies = {f"rope{i}": pl.Body(beam=soft) for i in range(2)}
    bodies["weight"] = pl.Body(mass=50.0, inertia=[1, 1, 1])
    down = {"axis": "y", "degrees": 90}
    return pl.System(
        name="hung",
        gravity=[0, 0, -9.81],
        bodies=bodies,
        joints={
            "top": pl.Joint(type="universal", axes=["z", "y"], child="rope0", rotation=down),
            "knot": pl.Joint(
                type="universal",
                axes=["z", "y"],
                parent="rope0.tip",
                child="rope1",
            ),
            "hook": pl.Joint(type="fixed", parent="rope1.tip", child="weight"),
        },
    )


def looped() -> pl.System:
    """Two carts on one rail, tied by a spring across a loop."""
    body = pl.Body(mass=MASS, inertia=[1, 1, 1])
    slide = {"type": "prismatic", "axis": "x"}
    return pl.System(
        name="looped",
        bodies={"left": body, "right": body},
        joints={
            "a": pl.Joint(**slide, child="left"),
            "b": pl.Joint(**slide, child="right"),
        },
        loops={"tie": pl.Loop(**slide, parent="left", child="right", spring={"stiffness": 900.0})},
    )


SYSTEMS |= {"flexible": flexible(), "hung": hung(), "loop": looped()}


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", SYSTEMS)
def test_runs_stay_within_the_limit_and_grow_beyond_it(name: str, integrator: str) -> None:
    h = limit(SYSTEMS[name], integrator).step
    if not np.isfinite(h):  # damping that an integrator bears at any step
        assert largest_speed(SYSTEMS[name], 1.0, integrator) < 1.0
        return
    assert largest_speed(SYSTEMS[name], 0.97 * h, integrator) < 2.0
    if integrator == "rk4" and name in ("spring and viscous friction", "flexible"):
        return  # the rule is on the safe side where damping and stiffness meet
    assert largest_speed(SYSTEMS[name], 1.03 * h, integrator) > 1e3


def test_a_spring_across_a_loop_counts_with_what_it_moves() -> None:
    """Two masses on a spring: omega^2 = 2 k/m."""
    found = limit(looped())
    assert found.step == pytest.approx(2.0 / np.sqrt(2 * 900.0 / MASS), rel=1e-9)
    assert found.cause == "loops.tie.spring"


def test_a_stop_counts_before_it_is_touched() -> None:
    away = cart(stops={"lower": -1.0, "upper": 1.0, "stiffness": 5e3})
    found = limit(away)
    assert found.step == pytest.approx(1.0 / np.sqrt(5e3 / MASS), rel=1e-9)
    assert found.cause == "joints.rail.stops"
    # one that is leant on is a spring
    touched = limit(cart(start=-1.5, stops={"lower": -1.0, "upper": 1.0, "stiffness": 5e3}))
    assert touched.step == pytest.approx(2.0 * found.step, rel=1e-9)


@pytest.mark.parametrize("part", [0.45, 0.95])
def test_a_body_that_falls_on_a_stop_is_not_thrown_high_within_the_limit(part: float) -> None:
    """From 1 m onto an undamped stop: back to 1 m by energy. At h omega of nearly 2, where a spring
    that holds is stable, it would be thrown 35 m high."""
    fall = cart(gravity=(-9.81, 0, 0), start=1.0, stops={"lower": 0.0, "stiffness": 1e6})
    sim = pl.Simulation(fall, part * limit(fall).step)
    highest = 0.0
    for _ in range(int(5.0 / sim.step_size)):
        sim.step()
        highest = max(highest, float(sim.q[0]))
    assert highest < 1.0 + 0.7 * part


@pytest.mark.parametrize("integrator", ["euler_cromer", "rk4"])
def test_coulomb_friction_comes_to_rest_within_its_limit_and_trembles_beyond(
    integrator: str,
) -> None:
    rubbing = cart(speed=1.0, friction={"coulomb": 3.0, "transition_speed": 1e-3})
    found = limit(rubbing, integrator)
    assert found.cause == "joints.rail.friction"
    steps = round(2.0 / found.step)  # it takes 2/3 s to come to rest
    assert largest_speed(rubbing, 0.95 * found.step, integrator, steps) < 1e-9
    assert largest_speed(rubbing, 1.05 * found.step, integrator, steps) > 1e-5


@pytest.mark.parametrize("step", [1e-4, 1e-3, 1e-2, 0.1])
def test_leapfrog_brings_friction_to_rest_at_any_step(step: float) -> None:
    """After m v / c = 2/3 s, at a slope of friction of up to 150 times what stops it in a step."""
    rubbing = cart(speed=1.0, friction={"coulomb": 3.0, "transition_speed": 1e-3})
    assert limit(rubbing).step == np.inf
    sim = pl.Simulation(rubbing, step)
    sim.advance(2.0)
    assert abs(sim.joint("rail").rate) < 1e-3
    # v^2 m / (2 c) = 1/3 m, less than half a step of 1 m/s off
    assert sim.joint("rail").position == pytest.approx(1.0 / 3.0, abs=0.05 * step + 1e-3)


def test_friction_across_a_loop_has_the_limit_of_leapfrogs_extrapolation() -> None:
    """Two carts of 2 kg and 40 N s/m between them: 3/4 of the time m/(2 d)."""
    slide = {"type": "prismatic", "axis": "x"}
    body = pl.Body(mass=MASS, inertia=[1, 1, 1])
    tied = pl.System(
        name="tied",
        bodies={"left": body, "right": body},
        joints={"a": pl.Joint(**slide, child="left"), "b": pl.Joint(**slide, child="right")},
        loops={"tie": pl.Loop(**slide, parent="left", child="right", friction={"viscous": 40.0})},
    )
    found = limit(tied)
    assert found.step == pytest.approx(0.75 * MASS / (2 * 40.0), rel=1e-9)
    assert largest_speed(tied, 0.97 * found.step, "leapfrog") < 1.0
    assert largest_speed(tied, 1.03 * found.step, "leapfrog") > 1e3


def test_friction_of_two_joints_on_one_body_adds_up() -> None:
    """Both act on the light body between: m/(2 d) instead of m/d, which each alone would give."""
    light, heavy = pl.Body(mass=1e-3, inertia=[1, 1, 1]), pl.Body(mass=1e6, inertia=[1, 1, 1])
    slide = {"type": "prismatic", "axis": "x", "friction": {"viscous": 5.0}}
    system = pl.System(
        name="between",
        bodies={"light": light, "heavy": heavy},
        joints={
            "in": pl.Joint(**slide, child="light"),
            "out": pl.Joint(**slide, parent="light", child="heavy"),
        },
    )
    assert limit(system, "euler_cromer").step == pytest.approx(2.0 * 1e-3 / 10.0, rel=1e-6)


def test_a_joint_that_is_moved_from_outside_stands_where_it_starts() -> None:
    """Turned by a right angle it makes the hinge of a pendulum level: omega^2 = m g c / J."""
    rod = pl.Body(mass=2.0, com=[0, -0.5, 0], inertia=[0.1, 0.1, 0.1])

    def carried(start: float) -> pl.System:
        return pl.System(
            name="carried",
            gravity=[0, 0, -9.81],
            bodies={"frame": pl.Body(mass=1, inertia=[1, 1, 1]), "rod": rod},
            joints={
                "crank": pl.Joint(
                    type="revolute", axis="x", child="frame", start=start, motion="input"
                ),
                "hinge": pl.Joint(type="revolute", axis="z", parent="frame", child="rod"),
            },
        )

    omega = np.sqrt(2.0 * 9.81 * 0.5 / (0.1 + 2.0 * 0.5**2))
    found = limit(carried(np.pi / 2))
    assert found.step == pytest.approx(2.0 / omega, rel=1e-9)
    assert found.cause == "weight and loads"
    assert limit(carried(0.0)).step == np.inf


def test_a_model_in_which_nothing_moves_has_no_limit() -> None:
    fixed = pl.Joint(type="fixed", child="block")
    block = pl.Body(mass=1, inertia=[1, 1, 1])
    system = pl.System(name="still", bodies={"block": block}, joints={"weld": fixed})
    assert limit(system).step == np.inf


def test_prescribed_joints_and_free_bodies_have_no_limit() -> None:
    held = cart(spring={"stiffness": 800.0}, motion={"times": [0, 1], "position": [0, 1]})
    free = pl.System(
        name="free",
        bodies={"ball": pl.Body(mass=1.0, inertia=[1, 2, 2])},
        joints={"afloat": pl.Joint(type="free", child="ball", speed=[1, 0, 0, 0, 0, 0])},
    )
    for system in (held, free):
        assert limit(system).step == np.inf
        assert suggested_step(compile_model(system)) is None


# ---------------------------------------------------------------------------------- what is taken


def test_the_suggested_step_follows_the_fastest_vibration_in_round_numbers() -> None:
    """20 rad/s: half a radian takes 25 ms."""
    assert suggested_step(compile_model(cart(spring={"stiffness": 800.0}))) == 0.02
    # a stop of 50 rad/s is met within 20 ms, by a quarter of that
    stops = {"lower": -1.0, "stiffness": MASS * 50.0**2}
    assert suggested_step(compile_model(cart(stops=stops))) == 0.005


# ------------------------------------------------------------------------------- that it is told


def test_a_step_beyond_the_limit_is_a_warning_at_the_line_that_asked_for_it() -> None:
    stiff = cart(spring={"stiffness": 800.0})
    for call in (lambda: pl.Simulation(stiff, 0.11), lambda: pl.simulate(stiff, 0.11, 0.11)):
        with pytest.warns(pl.StepWarning) as caught:
            call()
        (warning,) = caught
        assert warning.filename == __file__
        assert str(warning.message) == (
            "cart: a step of 0.11 s is beyond the limit of leapfrog, 0.1 s, set by "
            "joints.rail.spring: the motion will grow or tremble; take 0.02 s"
        )


def test_a_step_within_the_limit_is_none() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pl.Simulation(cart(spring={"stiffness": 800.0}), 0.09)
        pl.Simulation(cart(spring={"stiffness": 800.0}), 0.11, integrator="rk4")


def test_the_limit_of_a_model_is_found_once(monkeypatch) -> None:
    model = compile_model(cart(spring={"stiffness": 801.0}))
    pl.Simulation(model)
    monkeypatch.setattr(stability, "_linearised", None)
    pl.Simulation(model)
    pl.Simulation(cart(spring={"stiffness": 801.0}))


# ----------------------------------------------------------------------------------------- spin


def rotor(spin: float, wheel: float = 0.0, aside: float = 0.0, along: float = 0.0) -> pl.System:
    """A free symmetric body that turns about its axis and aside, or carries a wheel that does."""
    body = pl.Body(
        mass=1.0,
        inertia=[0.004, 0.004, 0.006],
        wheels={"w": pl.Wheel(axis="z", inertia=0.001, speed=wheel)},
    )
    orbit = pl.Joint(type="free", child="rotor", speed=[along, 0, 0, aside, 0, spin])
    return pl.System(name="rotor", bodies={"rotor": body}, joints={"orbit": orbit})


@pytest.mark.parametrize(
    ("system", "rate"), [(rotor(600.0), 0.5 * 600.0), (rotor(0.0, wheel=600.0), 0.25 * 600.0)]
)
@pytest.mark.parametrize(("integrator", "bound"), [("leapfrog", 0.5), ("rk4", 2.0 * np.sqrt(2.0))])
def test_spin_at_the_start_sets_a_limit(system, rate, integrator, bound) -> None:
    """A symmetric body nutates in its own axes at (I3 / I1 - 1) spin, with a wheel at
    J speed / I1 (Hughes, Spacecraft Attitude Dynamics, 4.2, 6.3)."""
    found = limit(system, integrator)
    assert found.step == pytest.approx(bound / rate, rel=1e-9)
    assert found.cause == "joints.orbit (spin)"


@pytest.mark.parametrize("x", [0.2, 0.5, 0.8])
def test_nutation_grows_in_the_kernel_as_the_limit_has_it(x: float) -> None:
    """u' = i rate u by leapfrog, whose velocity products are at u(n) + 2/3 (u(n) - u(n-1))
    - 1/6 (u(n-1) - u(n-2)): the largest root of its recurrence."""
    z = 1j * x
    growth = np.abs(np.roots([1.0, -(1.0 + z * 5.0 / 3.0), z * 5.0 / 6.0, -z / 6.0])).max()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pl.PliantWarning)
        sim = pl.Simulation(rotor(600.0), x / 300.0)
    steps = {0.2: 4000, 0.5: 200, 0.8: 60}[x]
    sim.set_state(u=sim.u + 1e-7 * np.array([0, 0, 0, 1, 0, 0, 0]))
    sim.step(40)  # until the largest root is alone
    before = np.hypot(*sim.u[3:5])
    sim.step(steps)
    assert np.log(np.hypot(*sim.u[3:5]) / before) / steps == pytest.approx(np.log(growth), rel=1e-3)


@pytest.mark.parametrize("spin", [300.0, 3000.0])
def test_a_spinning_model_gets_a_step_that_follows_its_spin(spin: float) -> None:
    """A torque-free symmetric body keeps its angular momentum and the angle of its axis to it, here
    over 300 turns to a thousandth."""
    sim = pl.Simulation(rotor(spin, aside=0.1 * spin))
    momentum = sim.momentum.angular.copy()
    sim.step(round(2000.0 / spin / sim.step_size))
    axis = sim.body("rotor").head.rotation[:, 2]
    cosine = axis @ momentum / np.linalg.norm(momentum)
    assert np.abs(sim.momentum.angular - momentum).max() < 1e-3 * np.linalg.norm(momentum)
    assert cosine == pytest.approx(0.006 / np.hypot(0.006, 0.0004), abs=1e-3)
    assert abs(sim.energy.error) < 1e-3 * sim.energy.kinetic


def test_what_is_at_rest_or_only_moves_along_has_no_limit_by_spin() -> None:
    for system in (rotor(0.0), rotor(0.0, along=50.0)):
        assert limit(system) == stability.StepLimit(np.inf, "nothing")
