"""Which directions of loops are held: a matter of kinematics, not of mass or of rounding."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl

ALGORITHMS = ["order_n", "dense"]


def docked(ring_mass: float, ring_inertia: float) -> pl.System:
    """Two free modules of 4e5 kg and 1e8 kg m2, welded to a free ring between them by loops."""
    module = pl.Body(mass=4e5, inertia=[1e8] * 3, nodes={"port": {"at": [5, 0, 0]}})
    weld = {"type": "fixed", "child": "ring"}
    return pl.System(
        name="docked",
        bodies={
            "A": module,
            "B": module,
            "ring": pl.Body(mass=ring_mass, inertia=[ring_inertia] * 3),
        },
        joints={
            "a": pl.Joint(type="free", child="A"),
            "b": pl.Joint(type="free", child="B", start=[10, 0, 0, 0, 0, 0, 1]),
            "r": pl.Joint(type="free", child="ring", start=[5, 0, 0, 1, 0, 0, 0]),
        },
        loops={
            "near": pl.Loop(parent="A.port", **weld),
            "far": pl.Loop(parent="B.port", rotation={"axis": "z", "degrees": 180}, **weld),
        },
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("mass", "inertia"), [(30.0, 0.3), (1.0, 0.01)])
def test_a_light_ring_holds_two_heavy_modules_together(mass, inertia, algorithm) -> None:
    """1e8 N m on one turn both by 0.5 rad/s in a second; a pivot of Lambda of 6e-9 or 2e-10 is no
    reason to let go."""
    sim = pl.Simulation(docked(mass, inertia), algorithm=algorithm)
    sim.node("B").apply(torque=[1e8, 0, 0])
    sim.advance(1.0)
    for module in "AB":
        # what Lambda loses: rounding over its smallest pivot
        assert sim.node(module).angular_velocity == pytest.approx([0.5, 0, 0], abs=1e-7)
    assert np.abs(sim.loop("far").gap).max() < 1e-9


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("mass", "inertia"), [(1e-3, 1e-6), (1e-6, 1e-9)])
def test_a_ring_too_light_to_be_resolved_is_named(mass, inertia, algorithm) -> None:
    sim = pl.Simulation(docked(mass, inertia), algorithm=algorithm)
    sim.node("B").apply(torque=[1e8, 0, 0])
    with pytest.raises(pl.SolverError, match=r"loop (near|far) direction \d .*lost in rounding"):
        sim.advance(1.0)
    assert sim.time == 0.0


def test_a_lock_stops_what_hangs_on_a_light_ring_between_heavy_modules() -> None:
    """The ring carries a spinning drum; locked, all turn together with the momentum that it had."""
    system = docked(30.0, 0.3)
    system.bodies = {**system.bodies, "drum": pl.Body(mass=2e5, inertia=[1e8] * 3)}
    system.joints = {
        **system.joints,
        "bearing": pl.Joint(type="revolute", axis="x", parent="ring", child="drum", speed=0.3),
    }
    sim = pl.Simulation(system)
    before = sim.momentum
    sim.joint("bearing").lock()
    assert sim.joint("bearing").rate == 0.0
    # about x: 3e7 kg m2/s in 3e8 kg m2
    for body in ("A", "B", "ring", "drum"):
        assert sim.node(body).angular_velocity[0] == pytest.approx(0.1, rel=1e-6)
    # what Lambda loses, as above
    np.testing.assert_allclose(sim.momentum.angular, before.angular, rtol=1e-7, atol=1e-7)


def parallelogram(axis: tuple[float, float, float]) -> pl.System:
    """Three rods of 1 kg hinged in the plane x-z; one axis may point a little out of y."""
    rod = pl.Body(
        mass=1.0,
        com=[0.5, 0, 0],
        inertia=[1e-3, 1 / 12, 1 / 12],
        nodes={"tip": {"at": [1, 0, 0]}},
    )
    hinge = {"type": "revolute", "axis": "y"}
    return pl.System(
        name="parallelogram",
        gravity=[0, 0, -9.81],
        bodies={"a": rod, "b": rod, "c": rod},
        joints={
            "A": pl.Joint(type="revolute", axis=axis, child="a", start=0.3),
            "B": pl.Joint(**hinge, parent="a.tip", child="b", start=-0.3),
            "C": pl.Joint(**hinge, child="c", at=[1, 0, 0], start=0.3),
        },
        loops={
            "D": pl.Loop(
                **hinge,
                parent="b.tip",
                child="c.tip",
                rotation={"axis": "y", "angle": 0.3},
            )
        },
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("off", [0.0, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5])
def test_an_axis_that_is_a_little_off_does_not_lock_a_plane_mechanism(off, algorithm) -> None:
    """The rods turn as a pendulum of (1/3 + 1/3 + 1) kg m2 under 2 kg m g cos: by energy."""
    sim = pl.Simulation(parallelogram((off, 1.0, 0.0)), algorithm=algorithm)
    sim.advance(0.5)
    angle, rate = sim.joint("A").angle, sim.joint("A").rate
    fallen = 2.0 * 9.81 * (np.sin(angle) - np.sin(0.3))
    assert rate > 1.0
    assert 0.5 * (5 / 3) * rate**2 == pytest.approx(fallen, rel=1e-4)
    assert np.abs(sim.loop("D").reaction.force).max() < 100.0
    if off:  # as open as it must be where nothing can close it
        assert np.abs(sim.loop("D").gap).max() < 3.0 * off


def test_check_counts_what_loops_take_as_the_kernel_does() -> None:
    from pliant.report import ModelReport

    for off in (0.0, 1e-9, 1e-6):
        summary = "\n".join(ModelReport(parallelogram((off, 1.0, 0.0))).summary())
        assert "5 held directions, 3 of them redundant: 1 freedom is left" in summary


def test_a_direction_that_nothing_can_hold_is_named_when_it_opens() -> None:
    """A loop that is to keep a slider on the ground while its own joint drives it away."""
    system = pl.System(
        name="pulled_apart",
        bodies={"cart": pl.Body(mass=1.0, inertia=[1, 1, 1])},
        joints={
            "rail": pl.Joint(
                type="prismatic",
                axis="x",
                child="cart",
                motion={"times": [0, 1], "position": [0, 1.0]},
            )
        },
        loops={"anchor": pl.Loop(type="fixed", child="cart")},
    )
    sim = pl.Simulation(system)
    with pytest.raises(pl.SolverError, match=r"loop anchor direction 1 \(translation\)") as failure:
        sim.advance(1.0)
    assert "opening" in str(failure.value)
    assert 0.0 < sim.time < 0.5
    assert np.isfinite(sim.q).all()
