"""Joints and loops that follow a table: the rest of the model against its own equation, and the
account of energy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pliant as pl

G, MASS, ARM, INERTIA = 9.81, 2.0, 0.5, 0.1  # a pendulum, its inertia about its centre
TRAVEL, START, END = 0.8, 0.25, 1.0  # of the cart that it hangs on, m and s


def cart_and_pendulum(motion: pl.Motion) -> pl.System:
    """A cart moved along x, and a pendulum on it, about y; straight down at zero."""
    return pl.System(
        name="cart",
        gravity=[0, 0, -G],
        bodies={
            "cart": pl.Body(mass=5.0, inertia=[1, 1, 1]),
            "rod": pl.Body(mass=MASS, com=[0, 0, -ARM], inertia=[INERTIA] * 3),
        },
        joints={
            "rail": pl.Joint(type="prismatic", axis="x", child="cart", motion=motion),
            "pin": pl.Joint(type="revolute", axis="y", parent="cart", child="rod"),
        },
    )


def swing(acceleration, until: float) -> np.ndarray:
    """Angle and rate of the pendulum: (J + m l^2) theta'' = m l (x'' cos theta - g sin theta), a
    positive angle about y taking the rod to -x."""
    ml = MASS * ARM

    def slope(t: float, y: np.ndarray) -> list[float]:
        push = acceleration(t) * np.cos(y[0]) - G * np.sin(y[0])
        return [y[1], ml * push / (INERTIA + ml * ARM)]

    y = np.zeros(2)
    for t0, t1 in ((0.0, START), (START, END), (END, until)):
        y = solve_ivp(slope, (t0, t1), y, rtol=1e-11, atol=1e-12).y[:, -1]
    return y


def rest_to_rest(t: float) -> float:
    """Second derivative of TRAVEL (10 x^3 - 15 x^4 + 6 x^5), x from 0 to 1."""
    x = min(max((t - START) / (END - START), 0.0), 1.0)
    return TRAVEL * (60 * x - 180 * x**2 + 120 * x**3) / (END - START) ** 2


def test_two_times_are_a_smooth_motion_that_the_rest_of_the_model_feels():
    table = pl.Motion(times=[START, END], position=[0.0, TRAVEL])
    sim = pl.Simulation(cart_and_pendulum(table), step=1e-3, integrator="rk4")
    largest = 0.0
    for _ in range(20):
        sim.advance(0.1)
        largest = max(largest, sim.energy.kinetic)
        assert abs(sim.energy.error) < 1e-7 * max(largest, 1.0)
    assert (sim.joint("rail").position, sim.joint("rail").rate) == (TRAVEL, 0.0)
    theta, rate = swing(rest_to_rest, 2.0)
    assert sim.joint("pin").angle == pytest.approx(theta, abs=1e-8)
    assert sim.joint("pin").rate == pytest.approx(rate, abs=1e-8)


@pytest.mark.parametrize("integrator", ["leapfrog", "euler_cromer"])
def test_the_energy_of_a_table_is_accounted_for_by_every_integrator(integrator: str):
    table = pl.Motion(times=[START, END], position=[0.0, TRAVEL])
    errors = []
    for step in (2e-3, 1e-3):
        sim = pl.Simulation(cart_and_pendulum(table), step=step, integrator=integrator)
        sim.advance(2.0)
        errors.append(abs(sim.energy.error))
    assert errors[1] < 0.02  # of some 15 J that come and go
    assert errors[1] < 0.6 * errors[0]


def test_a_table_with_rates_at_its_ends_neither_starts_nor_stops_with_a_jolt():
    # at constant rate before, in and after the table the pendulum knows of nothing
    rate = TRAVEL / (END - START)
    table = pl.Motion(times=[START, END], position=[0.0, TRAVEL], rate=[rate, rate])
    sim = pl.Simulation(cart_and_pendulum(table), step=1e-3)
    assert sim.joint("rail").position == pytest.approx(-rate * START, rel=1e-14)
    sim.advance(2.0)
    assert sim.joint("rail").position == pytest.approx(rate * (2.0 - START), rel=1e-14)
    assert abs(sim.joint("pin").angle) < 1e-13
    assert abs(sim.energy.error) < 1e-11


def test_a_loop_that_follows_a_table_begins_and_ends_at_rest():
    # the cart hangs free on its rail, and a loop moves it
    table = pl.Motion(times=[START, END], position=[0.0, TRAVEL])
    system = cart_and_pendulum(table)
    system.joints["rail"] = pl.Joint(type="prismatic", axis="x", child="cart")
    system.loops["drive"] = pl.Loop(
        type="prismatic", axis="x", parent="ground", child="cart", motion=table
    )
    sim = pl.Simulation(system, step=1e-3, integrator="rk4")
    sim.advance(2.0)
    theta, rate = swing(rest_to_rest, 2.0)
    assert sim.joint("rail").position == pytest.approx(TRAVEL, abs=1e-6)
    assert sim.joint("pin").angle == pytest.approx(theta, abs=1e-5)
    assert sim.joint("pin").rate == pytest.approx(rate, abs=1e-4)
    assert abs(sim.energy.error) < 1e-3


# --------------------------------------------------------------------------------- loads in time


def struck(times: list[float], effort: list[float], interpolation: str) -> pl.System:
    load = {"joint": "rail", "times": times, "effort": effort, "interpolation": interpolation}
    return pl.System(
        name="struck",
        bodies={"cart": pl.Body(mass=1.0, inertia=[1, 1, 1])},
        joints={"rail": pl.Joint(type="prismatic", axis="x", child="cart")},
        loads={"blow": load},
    )


@pytest.mark.parametrize("integrator", ["leapfrog", "rk4", "euler_cromer"])
@pytest.mark.parametrize(
    ("times", "effort", "interpolation"),
    [
        ([0, 0.1002, 0.1006], [0, 2500, 0], "hold"),
        ([0, 0.1001, 0.1005], [0, 2500, 0], "hold"),
        ([0, 0.1, 0.1004], [0, 2500, 0], "hold"),
        ([0, 0.1003, 0.1016], [0, 1 / 0.0013, 0], "hold"),
        ([0, 0.1002, 0.1004, 0.1006], [0, 0, 5000, 0], "linear"),
        ([0, 0.0999, 0.1001, 0.1003], [0, 0, 5000, 0], "linear"),
    ],
)
def test_a_blow_within_a_step_gives_its_impulse(integrator, times, effort, interpolation):
    """1 N s on 1 kg."""
    sim = pl.Simulation(struck(times, effort, interpolation), 1e-3, integrator=integrator)
    sim.advance(0.2)
    assert sim.joint("rail").rate == pytest.approx(1.0, rel=1e-12)
    assert sim.energy.work == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize(("step", "error"), [(1e-2, 2e-7), (5e-3, 1e-8)])
def test_a_load_given_in_finer_steps_than_those_of_rk4_does_not_cost_its_accuracy(step, error):
    """sin(10 pi t) N on 1 kg, every 0.1 ms: with the mean over a step as the load in all of it,
    the position was off by 8e-6 and 2e-6 m."""
    times = np.arange(10001) * 1e-4
    force = np.sin(10.0 * np.pi * times)
    sim = pl.Simulation(struck(times.tolist(), force.tolist(), "linear"), step, integrator="rk4")
    sim.advance(1.0)
    # the integral of (1 - t) F, piecewise quadratic
    ends = (1.0 - times) * force
    centres = 0.25 * (2.0 - times[1:] - times[:-1]) * (force[1:] + force[:-1])
    exact = 1e-4 / 6.0 * (ends[1:] + 4.0 * centres + ends[:-1]).sum()
    assert sim.joint("rail").position == pytest.approx(exact, abs=error)


# -------------------------------------------------------------------- curves beyond their rows


def led(**motion: object) -> pl.System:
    rail = pl.Joint(type="prismatic", axis="x", child="cart", motion=motion)
    body = pl.Body(mass=1.0, inertia=[1, 1, 1])
    return pl.System(name="led", bodies={"cart": body}, joints={"rail": rail})


def test_a_table_whose_curve_swings_far_beyond_its_rows_is_warned_of(tmp_path):
    dwell = {"times": [0, 1, 1.01, 3], "position": [0, 0, 1, 1]}
    swing = r"joints\.rail\.motion: the curve through its rows swings to 27\.62 at t = 1\.5697 s"
    with pytest.warns(pl.PliantWarning, match=swing):
        run = pl.simulate(led(**dwell), 3.0)
    assert run["joint.rail.q"].max() > 27.0
    with pytest.warns(pl.PliantWarning, match=swing):
        pl.export_fmu(led(**dwell), tmp_path / "led.fmu")


@pytest.mark.parametrize(
    "table",
    [
        {"times": [0.5, 0.5001], "position": [0, 0.3]},
        {"times": [0, 0.5, 0.502, 1.5], "position": [0, 0, 0.3, 0.3], "rate": [0, 0, 0, 0]},
        {
            "times": (np.arange(101) * 1e-2).tolist(),
            "position": np.sin(np.arange(101) * 1e-2).tolist(),
            "rate": [0] * 101,
        },
    ],
)
def test_a_table_that_goes_where_its_rates_do_not_lead_is_warned_of(table):
    """Within the first, what hangs on the cart felt nothing of 0.3 m."""
    with pytest.warns(pl.PliantWarning, match=r"joints\.rail\.motion: within the step of"):
        pl.Simulation(led(**table), 1e-2)


@pytest.mark.parametrize(
    "table",
    [
        {"times": [0, 1, 1.01, 3], "position": [0, 0, 1, 1], "rate": [0, 0, 0, 0]},
        {"times": [0, 1], "position": [0, 5]},
        {"times": [0, 1, 2, 3], "position": [0, 0, 1, 1]},
        {"times": list(range(8)), "position": [0, 0, 0, 0, 1, 1, 1, 1]},
        {"times": [0, 1], "position": [0, 0], "rate": [5, -5]},
        *(
            {"times": t, "position": np.sin(2 * np.pi * t + phase)}
            for t in (np.arange(16) / 3, np.arange(30) / 6, np.arange(500) / 50)
            for phase in (0.0, 0.4, 0.8, 1.2)
        ),
    ],
)
def test_a_table_whose_curve_stays_near_its_rows_is_not_warned_of(table):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pl.Simulation(led(**table))
