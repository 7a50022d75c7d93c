"""Recorded loads and efforts are what was applied: constants, functions of time, load tables."""

from __future__ import annotations

import numpy as np
import pytest

import pliant as pl

BODY = {"mass": 2.0, "inertia": [1.0, 1.0, 1.0]}
TIMES = [0.0, 0.2, 0.2503, 0.6]
STEPS = {"times": TIMES, "interpolation": "hold"}


@pytest.fixture(scope="module")
def system() -> pl.System:
    return pl.System(
        name="rig",
        bodies={
            "post": {**BODY, "wheels": {"rw": {"axis": "z", "inertia": 0.5}}},
            "sled": {**BODY, "nodes": {"pad": {"at": [0.1, 0, 0]}}},
        },
        joints={
            "slew": {"type": "revolute", "axis": "z", "child": "post"},
            "slide": {"type": "prismatic", "axis": "x", "child": "sled"},
        },
        loops={"tie": {"type": "planar", "axis": "z", "parent": "ground", "child": "sled"}},
        loads={
            "push": {"node": "sled.pad", "times": TIMES, "force": [[x, 0, -x] for x in range(4)]},
            "spin": {"wheel": "post.rw", "torque": [1, 4, 2, 3], **STEPS},
            "turn": {"joint": "slew", "effort": [1, 4, 2, 3], **STEPS},
            "more": {"node": "sled.pad", "torque": [0, 0, 0.5]},
        },
    )


def test_wheel_torques_of_a_table_are_recorded_as_joint_efforts_are(system):
    # the kernel itself gives the efforts of joints: the same table is read in the same way
    result = pl.simulate(system, 0.7, step=1e-3, every=1)
    assert set(result["wheel.post.rw.tau"]) == {1.0, 2.0, 3.0, 4.0}
    np.testing.assert_array_equal(result["wheel.post.rw.tau"], result["joint.slew.tau"])


def test_loads_of_tables_and_from_outside_are_recorded_as_their_sum(system):
    def control(sim):
        if sim.time == 0.0:
            sim.node("sled.pad").apply(force=lambda t: [np.sin(9 * t), 0, 0], torque=[0, 7, 0])
            sim.wheel("post.rw").torque = 100.0
            sim.loop("tie").effort = [1.0, lambda_free, 3.0]

    lambda_free = 2.0
    result = pl.simulate(
        system, 0.7, step=1e-3, every=3, controller=control, record=["node.sled", "wheel", "loop"]
    )
    table = np.interp(result.time, TIMES, range(4))
    force, torque = result["node.sled.pad.f"], result["node.sled.pad.t"]
    np.testing.assert_allclose(force[:, 0], table + np.sin(9 * result.time), rtol=0, atol=1e-14)
    np.testing.assert_allclose(force[:, 2], -table, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(torque, np.tile([0.0, 7.0, 0.5], (len(result), 1)))
    assert not result["node.sled.head.f"].any()
    assert result["wheel.post.rw.tau"].min() == 101.0
    np.testing.assert_array_equal(result["loop.tie.tau"][-1], [1.0, 2.0, 3.0])


def test_a_function_is_recorded_between_its_values_at_the_ends_of_a_step(system):
    sim = pl.Simulation(system, step=1e-3)
    sim.wheel("post.rw").torque = lambda t: 10.0 * t
    sim.advance(0.01)
    assert sim.wheel("post.rw").torque == pytest.approx(0.1, rel=1e-12)


def test_loads_on_nodes_are_recorded_on_request_and_torques_of_wheels_always(system):
    names = pl.simulate(system, 0.01).names
    assert "wheel.post.rw.tau" in names
    assert "loop.tie.tau[1]" in names
    assert not any(name.startswith("node.sled.pad.f") for name in names)
    chosen = pl.simulate(system, 0.01, record="node.*.t").names
    assert chosen[:3] == ("node.post.head.t[1]", "node.post.head.t[2]", "node.post.head.t[3]")


def test_what_can_be_recorded_has_every_input_under_its_name_and_unit(system):
    from pliant.channels import all_inputs, recordable_channels
    from pliant.compile import compile_model

    model = compile_model(system)
    channels = {c.name: c for c in recordable_channels(model)}
    assert len(channels) == len(recordable_channels(model))
    for taken in all_inputs(model):
        assert channels[taken.name].unit == taken.unit
        assert channels[taken.name].description
