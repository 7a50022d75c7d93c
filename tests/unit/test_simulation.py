"""Simulation, its handles and simulate(): what a caller sets and reads."""

from __future__ import annotations

import math
import pickle
import warnings

import numpy as np
import pytest

import pliant as pl

STEP = 1e-3


def slider(**joint: object) -> pl.System:
    """2 kg on a rail along x, no gravity."""
    return pl.System(
        name="slider",
        bodies={"cart": pl.Body(mass=2.0, inertia=[1, 1, 1], nodes={"hook": {"at": [0.5, 0, 0]}})},
        joints={"rail": pl.Joint(type="prismatic", axis="x", child="cart", **joint)},
    )


def rotor(**joint: object) -> pl.System:
    """A body with inertia 4 kg m2 about its z axis, turning about it."""
    return pl.System(
        name="rotor",
        bodies={"disc": pl.Body(mass=3.0, inertia=[2, 2, 4])},
        joints={"axle": pl.Joint(type="revolute", axis="z", child="disc", **joint)},
    )


def double_pendulum() -> pl.System:
    rod = {"mass": 1.0, "com": [0.5, 0, 0], "inertia": [0.01, 0.1, 0.1]}
    return pl.System(
        name="double",
        gravity=[0, 0, -9.81],
        bodies={
            "upper": pl.Body(**rod, nodes={"end": {"at": [1, 0, 0]}}),
            "lower": pl.Body(**rod, nodes={"end": {"at": [1, 0, 0]}}),
        },
        joints={
            "shoulder": pl.Joint(type="revolute", axis="y", child="upper", start=0.4),
            "elbow": pl.Joint(
                type="revolute", axis="y", parent="upper.end", child="lower", start=-0.7
            ),
        },
    )


def soft_beam() -> pl.System:
    """A beam whose highest frequency is far beyond what a step of 0.1 s can follow."""
    beam = pl.Beam(length=2.0, mass_per_length=1.0, EI=1e4, modes={"count": 2})
    return pl.System(
        name="whip",
        gravity=[0, 0, -9.81],
        bodies={"beam": pl.Body(beam=beam)},
        joints={"root": pl.Joint(type="revolute", axis="y", child="beam")},
    )


# --------------------------------------------------------------------------------- advancing


def test_advance_and_step_arrive_at_the_same_time():
    a, b = pl.Simulation(rotor(speed=1.0)), pl.Simulation(rotor(speed=1.0))
    a.advance(0.25)
    b.step(250)
    assert a.time == b.time == pytest.approx(0.25, abs=1e-15)
    assert a.joint("axle").angle == b.joint("axle").angle


def test_a_duration_that_the_step_does_not_divide_is_refused_with_the_nearest_ones():
    sim = pl.Simulation(rotor(), step=1e-3)
    with pytest.raises(pl.ModelError, match=r"0\.0105 s .* 0\.001 s; take 0\.01 or 0\.011 s"):
        sim.advance(0.0105)
    assert sim.time == 0.0


@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf])
def test_a_senseless_duration_is_refused(seconds):
    with pytest.raises(pl.ModelError, match="duration"):
        pl.Simulation(rotor()).advance(seconds)


@pytest.mark.parametrize("step", [0.0, -1e-3, math.nan, math.inf])
def test_a_senseless_step_is_refused(step):
    with pytest.raises(pl.ModelError, match="step"):
        pl.Simulation(rotor(), step=step)


def test_all_unknown_options_are_named_with_the_known_ones():
    with pytest.raises(pl.ModelError) as caught:
        pl.Simulation(rotor(), algorithm="ordern", integrator="rk5")
    assert [p.where for p in caught.value.problems] == ["algorithm", "integrator"]
    assert "did you mean 'order_n'?" in str(caught.value)


@pytest.mark.parametrize("algorithm", ["order_n", "dense"])
@pytest.mark.parametrize("integrator", ["leapfrog", "rk4", "euler_cromer"])
def test_every_algorithm_and_integrator_runs(algorithm, integrator):
    sim = pl.Simulation(double_pendulum(), algorithm=algorithm, integrator=integrator)
    sim.advance(0.1)
    # order 1: energy of a few J, error ~ step; the others far less
    assert abs(sim.energy_error) < (5e-2 if integrator == "euler_cromer" else 1e-4)


def test_reset_goes_back_to_the_start_and_takes_inputs_away():
    sim = pl.Simulation(double_pendulum())
    start = sim.q.copy()
    sim.joint("elbow").torque = 3.0
    sim.advance(0.1)
    sim.reset()
    assert sim.time == 0.0
    assert np.array_equal(sim.q, start)
    assert sim.joint("elbow").torque == 0.0


def test_the_state_is_read_only_and_set_state_changes_it():
    sim = pl.Simulation(rotor())
    with pytest.raises(ValueError, match="read-only"):
        sim.q[0] = 1.0
    sim.set_state(q=[0.5], u=[2.0])
    assert (sim.joint("axle").angle, sim.joint("axle").rate) == (0.5, 2.0)
    assert sim.energy_error == 0.0
    with pytest.raises(pl.ModelError, match="finite"):
        sim.set_state(q=[math.nan])


# -------------------------------------------------------------------------------- inputs


def test_a_torque_accelerates_its_joint():
    sim = pl.Simulation(rotor())
    sim.joint("axle").torque = 12.0
    assert sim.joint("axle").acceleration == pytest.approx(3.0, rel=1e-14)
    assert sim.joint("axle").torque == 12.0
    sim.advance(1.0)
    assert sim.joint("axle").rate == pytest.approx(3.0, rel=1e-12)


def test_a_force_on_a_node_acts_in_world_axes_until_changed():
    sim = pl.Simulation(slider())
    sim.node("cart.hook").apply(force=[6, 0, 0])
    sim.advance(0.5)
    sim.advance(0.5)
    assert sim.node("cart.hook").velocity == pytest.approx([3, 0, 0], rel=1e-12)
    sim.node("cart.hook").apply(force=[0, 0, 0])
    sim.advance(1.0)
    assert sim.joint("rail").rate == pytest.approx(3.0, rel=1e-12)


def test_apply_leaves_what_is_not_given():
    node = pl.Simulation(slider()).node("cart.hook")
    node.apply(force=[1, 2, 3])
    node.apply(torque=[4, 5, 6])
    assert node.applied.force.tolist() == [1, 2, 3]
    assert node.applied.torque.tolist() == [4, 5, 6]


@pytest.mark.parametrize("integrator", ["leapfrog", "rk4"])
def test_a_function_of_time_is_followed_inside_the_step(integrator):
    # f = 2 t on 2 kg: v = t^2 / 2 exactly, because the input is linear within each step and
    # both integrators take its mean
    sim = pl.Simulation(slider(), step=0.1, integrator=integrator)
    sim.joint("rail").force = lambda t: 2.0 * t
    sim.advance(1.0)
    assert sim.joint("rail").rate == pytest.approx(0.5, rel=1e-14)
    assert sim.joint("rail").force == pytest.approx(2.0, rel=1e-14)


def test_a_constant_function_equals_the_number_to_the_last_bit():
    states = []
    for torque in (1.5, lambda t: 1.5):
        sim = pl.Simulation(double_pendulum())
        sim.joint("elbow").torque = torque
        sim.advance(0.2)
        states.append(sim.q.copy())
    assert np.array_equal(*states)


def test_a_number_takes_the_place_of_a_function():
    sim = pl.Simulation(slider())
    sim.joint("rail").force = lambda t: 1e3 * t
    sim.advance(0.01)
    sim.joint("rail").force = 0.0
    rate = sim.joint("rail").rate
    sim.advance(0.01)
    assert sim.joint("rail").rate == rate


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_an_input_that_is_not_finite_is_refused_by_name(bad):
    sim = pl.Simulation(rotor())
    with pytest.raises(pl.ModelError, match=r"joint axle torque: .* not finite"):
        sim.joint("axle").torque = bad
    with pytest.raises(pl.ModelError, match=r"node disc\.head force: .* not finite"):
        sim.node("disc").apply(force=[0, bad, 0])
    assert sim.joint("axle").torque == 0.0


def test_a_function_that_becomes_nan_stops_with_time_and_element():
    sim = pl.Simulation(rotor())
    sim.joint("axle").torque = lambda t: math.nan if t > 0.0505 else 1.0
    with pytest.raises(pl.SolverError) as caught:
        sim.advance(0.1)
    assert caught.value.element == "joint axle torque"
    assert caught.value.time == pytest.approx(0.051)
    assert sim.time == pytest.approx(0.05)


@pytest.mark.parametrize("value", [[1.0, 2.0], "much", None])
def test_an_input_of_the_wrong_shape_is_refused(value):
    with pytest.raises(pl.ModelError, match=r"joint axle torque: .*number"):
        pl.Simulation(rotor()).joint("axle").torque = value


def test_torque_and_force_are_for_joints_that_only_turn_or_slide():
    with pytest.raises(pl.ModelError, match=r"joint rail torque: .*use \.effort"):
        pl.Simulation(slider()).joint("rail").torque = 1.0
    with pytest.raises(pl.ModelError, match=r"joint axle force: .*use \.effort"):
        pl.Simulation(rotor()).joint("axle").force = 1.0
    with pytest.raises(pl.ModelError, match=r"joint rail angle: .*use \.position"):
        _ = pl.Simulation(slider()).joint("rail").angle


def test_a_free_joint_takes_an_effort_for_each_freedom():
    system = pl.System(
        name="satellite",
        bodies={"hub": pl.Body(mass=2.0, inertia=[1, 2, 2.5])},
        joints={"orbit": pl.Joint(type="free", child="hub")},
    )
    sim = pl.Simulation(system)
    sim.joint("orbit").effort = [2, 4, 6, 1, 2, 5]
    assert sim.joint("orbit").acceleration == pytest.approx([1, 2, 3, 1, 1, 2], rel=1e-14)
    assert sim.joint("orbit").position.tolist() == [0, 0, 0, 1, 0, 0, 0]


# -------------------------------------------------------------------------- prescribed motion


def test_a_function_of_motion_is_followed_and_its_effort_is_a_result():
    def swing(t: float) -> tuple[float, float, float]:
        return 0.3 * math.sin(2 * t), 0.6 * math.cos(2 * t), -1.2 * math.sin(2 * t)

    sim = pl.Simulation(rotor(motion=swing))
    assert (sim.joint("axle").angle, sim.joint("axle").rate) == (0.0, 0.6)
    sim.advance(0.7)
    assert sim.joint("axle").angle == pytest.approx(0.3 * math.sin(1.4), rel=1e-12)
    assert sim.joint("axle").rate == pytest.approx(0.6 * math.cos(1.4), rel=1e-12)
    assert sim.joint("axle").torque == pytest.approx(4.0 * -1.2 * math.sin(1.4), rel=1e-12)
    # 4 kg m2: the work is the change of kinetic energy; midpoint rule, error ~ step^2
    kinetic = 0.5 * 4.0 * 0.36 * (math.cos(1.4) ** 2 - 1.0)
    assert sim.energy.work == pytest.approx(kinetic, abs=1e-6)


def test_the_effort_of_a_prescribed_joint_cannot_be_set():
    sim = pl.Simulation(rotor(motion=lambda t: (0.0, 0.0, 0.0)))
    with pytest.raises(pl.ModelError, match=r"joint axle torque: .*prescribed"):
        sim.joint("axle").torque = 1.0


# ------------------------------------------------------------------------------------ reading


def test_node_motion_of_a_turning_body():
    system = rotor(speed=2.0)
    system.bodies["disc"].nodes["rim"] = pl.Node(at=[0.5, 0, 0])
    sim = pl.Simulation(system)
    rim = sim.node("disc.rim")
    assert rim.position == pytest.approx([0.5, 0, 0])
    assert rim.velocity == pytest.approx([0, 1, 0])
    assert rim.angular_velocity == pytest.approx([0, 0, 2])
    assert rim.acceleration == pytest.approx([-2, 0, 0])
    sim.advance(0.5)  # by 1 rad
    assert rim.position == pytest.approx([0.5 * math.cos(1), 0.5 * math.sin(1), 0], rel=1e-12)
    assert rim.quaternion == pytest.approx([math.cos(0.5), 0, 0, math.sin(0.5)], rel=1e-12)
    assert rim.rotation @ [1, 0, 0] == pytest.approx([math.cos(1), math.sin(1), 0], rel=1e-12)


def test_the_reaction_holds_a_hanging_weight():
    system = double_pendulum()
    for joint in system.joints.values():
        joint.start = 0.0
    system.joints["shoulder"].start = math.pi / 2  # both rods hang straight down
    sim = pl.Simulation(system)
    assert sim.joint("shoulder").reaction.force == pytest.approx([0, 0, 2 * 9.81], abs=1e-12)
    assert sim.joint("elbow").reaction.force == pytest.approx([0, 0, 9.81], abs=1e-12)
    # also after the kernel was asked for energies in between
    _ = sim.energy, sim.momentum
    assert sim.joint("elbow").reaction.force == pytest.approx([0, 0, 9.81], abs=1e-12)


def test_energy_is_kept_and_the_account_closes():
    sim = pl.Simulation(double_pendulum())
    start = sim.energy.total
    sim.joint("elbow").torque = lambda t: math.sin(3 * t)
    sim.advance(2.0)
    assert abs(sim.energy.total - start) > 1e-2  # the torque did something
    assert sim.energy.total == pytest.approx(start + sim.energy.work, abs=2e-4)
    assert sim.energy_error == pytest.approx(sim.energy.total - start - sim.energy.work)


def test_a_wheel_takes_the_momentum_that_its_body_gets():
    system = pl.System(
        name="satellite",
        bodies={
            "hub": pl.Body(
                mass=10.0, inertia=[4, 4, 4], wheels={"rw": pl.Wheel(axis="z", inertia=0.5)}
            )
        },
        joints={"orbit": pl.Joint(type="free", child="hub")},
    )
    sim = pl.Simulation(system)
    sim.wheel("hub.rw").torque = 0.7
    sim.advance(2.0)
    assert sim.wheel("hub.rw").torque == 0.7
    assert sim.wheel("hub.rw").speed > 1.0
    assert sim.momentum.angular == pytest.approx([0, 0, 0], abs=1e-14)
    # 4 w + 0.5 speed = 0 with the wheel's inertia part of the hub's 4
    w = sim.node("hub").angular_velocity[2]
    assert 4.0 * w == pytest.approx(-0.5 * sim.wheel("hub.rw").speed, rel=1e-12)


def test_names_that_do_not_exist_are_answered_with_the_nearest():
    sim = pl.Simulation(double_pendulum())
    for call, kind, hint in (
        (sim.joint, "joint 'elbw'", "'elbow'"),
        (sim.node, "node 'elbw'", ""),
        (sim.body, "body 'lowr'", "'lower'"),
        (sim.wheel, "wheel 'x'", ""),
    ):
        name = kind.split("'")[1]
        with pytest.raises(pl.ModelError, match=f"{kind}: there is none.*{hint}"):
            call(name)


def test_a_body_gives_its_modes_and_nodes():
    sim = pl.Simulation(soft_beam(), step=1e-4)
    sim.advance(0.01)
    assert sim.body("beam").eta.shape == (2,)
    assert np.any(sim.body("beam").eta != 0.0)
    assert sim.body("beam").node("tip").name == "beam.tip"
    assert sim.body("beam").head.position == pytest.approx([0, 0, 0], abs=1e-15)


# ----------------------------------------------------------------------------- saving a state


def test_restoring_a_state_repeats_the_future_to_the_last_bit():
    sim = pl.Simulation(double_pendulum())
    sim.joint("elbow").torque = lambda t: 2.0 * math.sin(7.0 * t)
    sim.node("lower.end").apply(force=[0.3, 0, 0])
    sim.advance(0.137)
    saved = sim.save_state()
    sim.advance(0.5)
    first = (sim.time, sim.q.copy(), sim.u.copy(), sim.energy, sim.energy_error)
    sim.joint("elbow").torque = 0.0
    sim.restore_state(saved)
    assert sim.time == pytest.approx(0.137)
    sim.advance(0.5)
    again = (sim.time, sim.q.copy(), sim.u.copy(), sim.energy, sim.energy_error)
    assert first[0] == again[0]
    assert np.array_equal(first[1], again[1])
    assert np.array_equal(first[2], again[2])
    assert first[3:] == again[3:]


def test_restoring_repeats_a_prescribed_motion_too():
    sim = pl.Simulation(rotor(motion=lambda t: (t**3, 3 * t**2, 6 * t)))
    sim.advance(0.2)
    saved = sim.save_state()
    sim.advance(0.2)
    first = sim.q.copy(), sim.joint("axle").torque
    sim.restore_state(saved)
    sim.advance(0.2)
    assert np.array_equal(first[0], sim.q)
    assert first[1] == sim.joint("axle").torque


def test_a_state_of_another_model_or_step_is_refused():
    saved = pl.Simulation(rotor()).save_state()
    with pytest.raises(pl.ModelError, match="another model"):
        pl.Simulation(slider()).restore_state(saved)
    with pytest.raises(pl.ModelError, match="step"):
        pl.Simulation(rotor(), step=2e-3).restore_state(saved)


# ----------------------------------------------------------------------------------- failing


def test_a_run_that_blows_up_names_time_and_element_and_keeps_the_last_good_state():
    with pytest.warns(pl.StepWarning):
        sim = pl.Simulation(soft_beam(), step=0.1)
    with pytest.raises(pl.SolverError, match="shorter step") as caught:
        sim.advance(100.0)
    assert caught.value.element in ("joint root", "body beam mode 1", "body beam mode 2")
    assert 0.0 <= caught.value.time < 1.0
    assert sim.time == caught.value.time
    assert np.isfinite(sim.q).all()
    assert np.isfinite(sim.u).all()


def test_simulate_keeps_what_was_recorded_when_the_run_blows_up():
    with pytest.warns(pl.StepWarning), pytest.raises(pl.SolverError) as caught:
        pl.simulate(soft_beam(), 100.0, step=0.1)
    result = caught.value.result
    assert len(result) > 0
    assert result.time[-1] <= caught.value.time
    assert np.isfinite(result.data).all()
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert np.array_equal(again.result.data, result.data)


# ---------------------------------------------------------------------------------- simulate


def test_simulate_records_the_start_every_nth_step_and_the_end():
    result = pl.simulate(rotor(speed=1.0), 0.01, step=1e-3, every=4)
    assert result.time == pytest.approx([0, 0.004, 0.008, 0.01], abs=1e-15)
    assert result["joint.axle.q"] == pytest.approx(result.time, rel=1e-12)


def test_simulate_records_at_most_2000_rows_unless_told():
    assert len(pl.simulate(rotor(), 5.0, record="joint")) <= 2001
    assert len(pl.simulate(rotor(), 3.0, record="joint", every=1)) == 3001


def test_a_controller_is_called_at_its_period_and_acts():
    calls = []

    def brake(sim: pl.Simulation) -> None:
        calls.append(sim.time)
        sim.joint("axle").torque = -8.0 * sim.joint("axle").rate

    result = pl.simulate(rotor(speed=1.0), 0.5, controller=brake, control_period=0.1)
    assert calls == pytest.approx([0, 0.1, 0.2, 0.3, 0.4], abs=1e-12)
    # each period changes the rate by -8/4 * 0.1 of itself
    assert result["joint.axle.qd"][-1] == pytest.approx(0.8**5, rel=1e-12)
    assert result["joint.axle.tau"][0] == -8.0


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"every": 0}, "every"),
        ({"control_period": 0.00015}, "control_period"),
        ({"control_period": 0.0}, "control_period"),
        ({"record": ["joint.axel.q"]}, "record 'joint.axel.q'"),
    ],
)
def test_bad_options_of_simulate_are_named(options, where):
    with pytest.raises(pl.ModelError) as caught:
        pl.simulate(rotor(), 0.1, controller=lambda sim: None, **options)
    assert caught.value.problems[0].where == where


def test_a_recording_equals_what_the_handles_say():
    result = pl.simulate(
        double_pendulum(), 0.3, record=["joint", "node.lower.end", "energy", "momentum"]
    )
    sim = pl.Simulation(double_pendulum())
    sim.advance(0.3)
    end, elbow = sim.node("lower.end"), sim.joint("elbow")
    assert result["node.lower.end.r"][-1] == pytest.approx(end.position, rel=1e-14)
    assert result["node.lower.end.a"][-1] == pytest.approx(end.acceleration, rel=1e-12)
    assert result["joint.elbow.qdd"][-1] == pytest.approx(elbow.acceleration, rel=1e-14)
    assert result["joint.elbow.reaction.f"][-1] == pytest.approx(elbow.reaction.force, rel=1e-12)
    assert result["energy.kinetic"][-1] == pytest.approx(sim.energy.kinetic, rel=1e-14)
    assert result["energy.error"][-1] == pytest.approx(sim.energy_error, abs=1e-13)
    assert result["momentum.L"][-1] == pytest.approx(sim.momentum.angular, rel=1e-14)


def test_recording_does_not_change_the_motion():
    ends = [pl.simulate(double_pendulum(), 0.2, every=n).q[-1] for n in (1, 7, 200)]
    assert np.array_equal(ends[0], ends[1])
    assert np.array_equal(ends[0], ends[2])


def test_positions_of_a_moved_joint_without_their_rates_are_warned_of_once() -> None:
    system = pl.System(
        name="led",
        bodies={"arm": pl.Body(mass=1, com=[1, 0, 0], inertia=[0.1, 0.1, 0.1])},
        joints={"drive": pl.Joint(type="revolute", axis="z", child="arm", motion="input")},
    )
    for rates, count in ((True, 0), (False, 1)):
        sim = pl.Simulation(system, 1e-3)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for i in range(50):
                t = 1e-3 * i
                sim.joint("drive").move(np.sin(t), np.cos(t) if rates else 0.0)
                sim.step()
        jumps = [w for w in told if "jumps from one position to the next" in str(w.message)]
        assert len(jumps) == count


def turned_by(function) -> pl.System:
    body = pl.Body(mass=1.0, com=[0.1, 0, 0], inertia=[1, 1, 1])
    joint = pl.Joint(type="revolute", axis="z", child="arm", motion=function)
    return pl.System(name="turned", bodies={"arm": body}, joints={"hinge": joint})


W = 30.0  # rad/s


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda t: (np.sin(W * t), W * np.cos(W * t), 0.0), "the rate that its function gives"),
        (
            lambda t: (np.sin(W * t), 1.2 * W * np.cos(W * t), -1.2 * W**2 * np.sin(W * t)),
            "the position that its function gives changes by 0.0250104 from t = 0.019 s to 0.02 s, "
            "the rate that it gives makes it 0.0300103; return (position, rate, acceleration), "
            "each the derivative of the one before, or take a step that follows it",
        ),
        (
            lambda t: (0.0 if t < 0.1 else 0.1, 0.0, 0.0),
            "the position that its function gives changes by 0.1 from t = 0.099 s to 0.1 s, the "
            "rate that it gives makes it 0;",
        ),
    ],
)
def test_a_motion_whose_rates_lead_elsewhere_is_warned_of_once(function, what):
    with pytest.warns(pl.PliantWarning) as told:
        pl.simulate(turned_by(function), 0.5, 1e-3)
    (warning,) = (w for w in told if "each the derivative" in str(w.message))
    assert f"joint hinge motion: {what}" in str(warning.message)


@pytest.mark.parametrize(
    "function",
    [
        lambda t: (np.sin(W * t), W * np.cos(W * t), -(W**2) * np.sin(W * t)),
        lambda t: (0.5, 0.0, 0.0),
        lambda t: (1e6 + 2.0 * t, 2.0, 0.0),
        lambda t: (0.5 * min(t, 0.1), 0.5 if t < 0.1 else 0.0, 0.0),  # stops at once
        lambda t: (np.sin(W * t), W * (np.cos(W * t) + 0.01), -(W**2) * (np.sin(W * t) + 0.01)),
        lambda t: (1e-9 * np.sin(t), 1e-9 * np.cos(t), -1e-9 * np.sin(t)),
    ],
)
def test_a_motion_of_derivatives_is_not_warned_of(function):
    with warnings.catch_warnings():
        warnings.simplefilter("error", pl.PliantWarning)
        pl.simulate(turned_by(function), 0.5, 1e-3)


def test_a_motion_is_not_judged_from_one_time_to_another_that_was_restored():
    sim = pl.Simulation(turned_by(lambda t: (min(t, 1.0) ** 3, 3.0 * t**2 * (t < 1.0), 6.0 * t)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sim.advance(2.0)
        late = sim.save_state()
        sim.reset()
        sim.advance(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pl.PliantWarning)
        sim.restore_state(late)
        sim.step()


def cart_and_bob() -> pl.System:
    return pl.System(
        name="carriage",
        gravity=[0, 0, -9.81],
        bodies={
            "carriage": pl.Body(mass=5.0, inertia=[1, 1, 1]),
            "bob": pl.Body(mass=2.0, com=[0, 0, -0.4], inertia=[0.1, 0.1, 0.1]),
        },
        joints={
            "rail": pl.Joint(type="prismatic", axis="x", child="carriage", motion="input"),
            "hinge": pl.Joint(type="revolute", axis="y", parent="carriage", child="bob"),
        },
    )


@pytest.mark.parametrize("wrong", [None, "a", (0.1, 1.0), ((1, 2), 0.0, 0.0)])
def test_a_motion_function_that_goes_wrong_later_is_named_with_the_time(wrong):
    system = turned_by(lambda t: (t, 1.0, 0.0) if t < 0.05 else wrong)
    with pytest.raises(pl.PliantError, match=r"hinge motion: its function gives .* at t = 0\.05 s"):
        pl.simulate(system, 0.1, 1e-3)


def test_a_state_that_cannot_be_restored_leaves_the_simulation_as_it_was():
    sim = pl.Simulation(cart_and_bob())
    fails = False

    def effort(t: float) -> float:
        if fails:
            raise RuntimeError("no more")
        return 1.0

    sim.joint("hinge").torque = effort
    sim.advance(0.1)
    saved = sim.save_state()
    sim.advance(0.1)
    before, fails = sim.q.copy(), True
    with pytest.raises(RuntimeError, match="no more"):
        sim.restore_state(saved)
    assert np.array_equal(sim.q, before)
    assert sim.time == pytest.approx(0.2)
    assert sim.inputs.is_varying


def test_a_motion_from_outside_is_part_of_a_saved_state_and_taken_back_by_a_reset():
    sim = pl.Simulation(cart_and_bob())
    sim.joint("rail").move(0.0, 1.0)
    sim.advance(0.1)
    saved = sim.save_state()
    sim.advance(0.1)
    after = sim.q.copy()
    sim.joint("rail").move(0.2, -3.0)
    sim.advance(0.05)
    sim.restore_state(saved)
    sim.advance(0.1)
    assert np.array_equal(sim.q, after)
    sim.reset()
    sim.advance(0.1)
    assert np.array_equal(sim.q, [0.0, 0.0])


@pytest.mark.parametrize("meddle", [lambda sim: sim.step(), lambda sim: sim.reset()])
def test_a_controller_that_moves_the_simulation_itself_is_refused(meddle):
    def controller(sim: pl.Simulation) -> None:
        if sim.time > 0.0045:
            meddle(sim)

    with pytest.raises(pl.ModelError, match="controller: it left the simulation at t = ") as caught:
        pl.simulate(double_pendulum(), 0.1, 1e-3, controller=controller)
    assert len(caught.value.result.time) == 5


def test_a_controller_may_look_ahead_and_come_back():
    def controller(sim: pl.Simulation) -> None:
        now = sim.save_state()
        sim.step(3)
        sim.restore_state(now)

    plain = pl.simulate(double_pendulum(), 0.05, 1e-3)
    looking = pl.simulate(double_pendulum(), 0.05, 1e-3, controller=controller)
    assert np.array_equal(plain.q, looking.q)


def test_an_energy_error_of_a_row_counts_though_no_step_was_judged_there():
    """Less than 64 steps of a vibration: judged at none of them."""
    rail = pl.Joint(type="prismatic", axis="x", child="cart", speed=1.0, spring={"stiffness": 1e6})
    body = pl.Body(mass=1.0, inertia=[1, 1, 1])
    system = pl.System(name="cart", bodies={"cart": body}, joints={"rail": rail})
    with pytest.warns(pl.EnergyWarning, match="cart: t = 0.04 s: the energy error has come to"):
        run = pl.simulate(system, 0.04, 1e-3)
    assert run.energy_error > 0.1
    assert len(run.warnings) == 1
