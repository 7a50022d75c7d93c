"""What beams carry, and the shapes and numbers of shapes that follow from it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import pliant as pl
from pliant.carried import Carried
from pliant.compile import compile_model
from pliant.mechanism import carried_by_beams, resolve

BEAM = {"length": 2.0, "mass_per_length": 3.0, "EI": [1e3, 2e3], "GJ": 800.0, "radius": 0.05}
BOX = {"mass": 10.0, "inertia": [1.0, 2.0, 2.5]}
ROD = {"mass": 6.0, "com": [0.5, 0, 0], "inertia": [1e-3, 0.5, 0.5]}  # 1 m, about its middle


def boom_with(
    bodies: dict[str, Any], joints: dict[str, Any], nodes: dict[str, Any] | None = None, **more: Any
) -> pl.System:
    """A beam clamped to the ground and what hangs on it; ``beam`` changes its data."""
    beam = {**BEAM, **more.pop("beam", {})}
    return pl.System(
        name="boom",
        bodies={"boom": pl.Body(beam=beam, nodes=nodes or {})}
        | {name: pl.Body(**body) for name, body in bodies.items()},
        joints={"root": pl.Joint(type="fixed", child="boom")}
        | {name: pl.Joint(**joint) for name, joint in joints.items()},
        **more,
    )


def carried(system: pl.System) -> dict[float, Carried]:
    """What the boom carries, by the x of the node."""
    return {float(item.position[0]): item for item in carried_by_beams(system)["boom"]}


def at_tip(body: dict[str, Any], **joint: Any) -> pl.System:
    return boom_with({"load": body}, {"load": {"parent": "boom.tip", "child": "load", **joint}})


def mode_count(system: pl.System) -> int:
    (boom, *_) = pl.Simulation(system).model.mechanism.bodies
    return boom.reduced.mode_count


# ------------------------------------------------------------------------------ inertia felt


def test_a_welded_body_is_felt_with_its_mass_and_its_inertia_about_the_node():
    item = carried(at_tip({**BOX, "com": [0.0, 0.3, 0.0]}, type="fixed"))[2.0]
    assert np.diag(item.held) == pytest.approx([10, 10, 10, 1 + 0.9, 2, 2.5 + 0.9])  # Steiner
    assert item.held[0, 5] == pytest.approx(-3.0)  # - m y: turning about z takes the box along -x
    assert np.array_equal(item.held, item.loose)
    assert np.array_equal(item.held, item.locked)


def test_a_rod_on_a_free_hinge_is_felt_as_a_quarter_of_its_mass():
    """Across a rod of mass m and length l hinged at its end: m - (m l/2)^2 / (m l^2/3) = m/4."""
    item = carried(at_tip(ROD, type="revolute", axis="z"))[2.0]
    assert item.held[0, 0] == pytest.approx(6.0)
    assert item.held[1, 1] == pytest.approx(1.5, rel=1e-12)
    assert item.held[2, 2] == pytest.approx(6.0)
    assert item.held[5] == pytest.approx(np.zeros(6), abs=1e-12)  # no moment about the hinge
    assert item.held[4, 4] == pytest.approx(2.0)
    # it may be driven, or locked
    assert (item.locked[1, 1], item.locked[5, 5]) == (pytest.approx(6.0), pytest.approx(2.0))


@pytest.mark.parametrize(
    "acts",
    [
        {"spring": {"stiffness": 1.0}},
        {"friction": {"viscous": 0.1}},
        {"friction": {"coulomb": 0.1}},
        {"stops": {"lower": -1.0, "stiffness": 1.0}},
    ],
)
def test_a_hinge_on_which_something_acts_may_hold_or_yield(acts: dict[str, Any]):
    item = carried(at_tip(ROD, type="revolute", axis="z", **acts))[2.0]
    assert (item.held[1, 1], item.held[5, 5]) == (pytest.approx(6.0), pytest.approx(2.0))
    assert (item.loose[1, 1], item.loose[5, 5]) == (pytest.approx(1.5), pytest.approx(0, abs=1e-12))


def test_a_prescribed_hinge_always_holds_and_a_driven_one_may():
    table = {"times": [0, 1], "position": [0, 1], "rate": [0, 0]}
    item = carried(at_tip(ROD, type="revolute", axis="z", motion=table))[2.0]
    assert item.held[1, 1] == item.loose[1, 1] == pytest.approx(6.0)
    system = at_tip(ROD, type="revolute", axis="z")
    system.loads["motor"] = pl.Load(joint="load", effort=1.0)
    item = carried(system)[2.0]
    assert (item.held[1, 1], item.loose[1, 1]) == (pytest.approx(6.0), pytest.approx(1.5))


def test_bodies_are_taken_as_they_stand_at_the_start():
    """The rod turned by 90 degrees points along y: what was across it is along x now."""
    turned = at_tip(ROD, type="revolute", axis="z", start=np.pi / 2)
    item = carried(turned)[2.0]
    assert (item.held[0, 0], item.held[1, 1]) == (pytest.approx(1.5), pytest.approx(6.0))


def test_a_chain_is_felt_through_all_its_joints():
    """Two rods in line, both hinged: of the second a quarter of its mass is left, at the end of the
    first, whose hinge then takes away (first moment)^2 / (inertia about it)."""
    rods = {"a": {**ROD, "nodes": {"end": {"at": [1, 0, 0]}}}, "b": ROD}
    hinge = {"type": "revolute", "axis": "z"}
    system = boom_with(
        rods,
        {
            "a": {**hinge, "parent": "boom.tip", "child": "a"},
            "b": {**hinge, "parent": "a.end", "child": "b"},
        },
    )
    # mass 6 + 1.5, first moment 3 + 1.5, inertia about the hinge 2 + 1.5
    assert carried(system)[2.0].held[1, 1] == pytest.approx(7.5 - 4.5**2 / 3.5, rel=1e-12)


def test_flexible_and_modal_bodies_outboard_count_as_rigid():
    beam = {"length": 1.0, "mass_per_length": 6.0, "EI": 1.0}
    shape = [[0.0], [1.0], [0.0]]
    points = [{"at": [x, 0, 0], "mass": 3.0, "phi": shape} for x in (0.2, 0.8)]
    for body in ({"beam": beam}, {"modal": {"points": points, "K": [[5.0]]}}):
        item = carried(at_tip(body, type="fixed"))[2.0]
        assert item.held[1, 1] == pytest.approx(6.0)
        assert item.held[1, 5] == pytest.approx(3.0)


def test_wheels_leave_their_spin_inertia_behind():
    item = carried(at_tip({**BOX, "wheels": {"rw": {"axis": "z", "inertia": 0.5}}}, type="fixed"))[
        2.0
    ]
    assert np.diag(item.held)[3:] == pytest.approx([1.0, 2.0, 2.0])


# ---------------------------------------------------------------------- what acts from outside


def very_heavy(inertia: np.ndarray) -> list[bool]:
    return [bool(x > 1e5) for x in np.diag(inertia)]


def test_a_force_holds_along_a_torque_about_an_interface_both():
    loads = {"push": pl.Load(node="boom.a", force=[1, 0, 0])}
    loads["twist"] = pl.Load(node="boom.b", torque=[0, 0, 1])
    nodes = {
        "a": {"at": [0.5, 0, 0]},
        "b": {"at": [1.0, 0, 0]},
        "c": {"at": [1.5, 0, 0], "interface": True},
        "tip": {"contact": True},
    }
    found = carried(boom_with({}, {}, nodes, loads=loads))
    assert very_heavy(found[0.5].held) == very_heavy(found[2.0].held) == [True] * 3 + [False] * 3
    assert very_heavy(found[1.0].held) == [False] * 3 + [True] * 3
    assert very_heavy(found[1.5].held) == [True] * 6
    assert not any(item.loose.any() for item in found.values())


def test_a_force_on_a_body_outboard_reaches_the_beam_with_its_lever():
    system = at_tip({**BOX, "nodes": {"pad": {"at": [0.5, 0, 0]}}}, type="fixed")
    system.loads["push"] = pl.Load(node="load.pad", force=[0, 1, 0])
    held = carried(system)[2.0].held
    # one heavy point half a metre out: about z it counts as mass times 0.25, and drags along y
    assert held[5, 5] / held[1, 1] == pytest.approx(0.25, rel=1e-4)
    assert held[1, 5] / held[1, 1] == pytest.approx(0.5, rel=1e-4)
    assert held[3, 3] < 10.0


def test_a_loop_holds_in_the_directions_that_it_does_not_leave_free():
    rail = pl.Loop(type="prismatic", axis="y", parent="ground", child="boom.tip", at=[2, 0, 0])
    held = carried(boom_with({}, {}, loops={"rail": rail}))[2.0].held
    assert very_heavy(held) == [True, False, True, True, True, True]
    # a turned joint frame turns the free direction
    turned = rail.model_copy(update={"rotation": np.array([[1, 0, 0], [0, 0, 1.0], [0, -1, 0]])})
    held = carried(boom_with({}, {}, loops={"rail": turned}))[2.0].held
    assert very_heavy(held) == [True, True, False, True, True, True]
    ball = pl.Loop(type="spherical", parent="ground", child="boom.tip", at=[2, 0, 0])
    held = carried(boom_with({}, {}, loops={"ball": ball}))[2.0].held
    assert very_heavy(held) == [True] * 3 + [False] * 3
    cross = pl.Loop(type="universal", axes=["x", "y"], child="boom.tip", at=[2, 0, 0])
    held = carried(boom_with({}, {}, loops={"cross": cross}))[2.0].held
    assert very_heavy(held) == [True] * 3 + [False, False, True]


# ----------------------------------------------------------------------------------- shapes


def frequencies(system: pl.System) -> np.ndarray:
    return pl.assembled_modes(system).frequencies


@pytest.mark.parametrize("plane", ["y", "z"])
def test_a_welded_body_and_a_lump_of_the_same_mass_are_one_system(plane: str):
    """Modes of the beam with a lump are exact within the mesh; loaded shapes with the same thing
    welded on span the same space."""
    inertia = [0.3, 0.2, 0.4]
    lump = {"at": 2.0, "mass": 5.0, "inertia": inertia}
    rigid = {"EI": [None, 2e3] if plane == "y" else [1e3, None], "GJ": None}
    keep = {**rigid, "modes": {"bending": 2}}
    lumped = boom_with({}, {}, beam={**keep, "lumps": [lump]})
    welded = boom_with(
        {"load": {"mass": 5.0, "inertia": inertia}},
        {"load": {"type": "fixed", "parent": "boom.tip", "child": "load"}},
        beam=keep,
    )
    assert frequencies(welded) == pytest.approx(frequencies(lumped), rel=1e-7)


def test_an_eccentric_body_couples_the_planes_and_is_still_right():
    """Off the beam's axis by its own length's third, products of inertia and all: against a lump,
    whose coupled modes the mesh solves together."""
    body = {"mass": 10.0, "com": [0.3, 0.6, 0.5], "inertia": [1.0, 2.0, 2.5, 0.3, -0.2, 0.4]}
    lump = {"at": 2.0, "mass": 10.0, "offset": body["com"], "inertia": body["inertia"]}
    exact = frequencies(boom_with({}, {}, beam={"lumps": [lump], "modes": {"count": 5}}))
    found = frequencies(at_tip(body, type="fixed"))
    errors = found[:4] / exact[:4] - 1
    assert np.all(errors > -1e-6)
    assert np.all(errors < [1e-5, 5e-5, 2e-3, 1e-3])  # found: 3e-6, 1.5e-5, 9e-4, 2e-4


def test_bodies_along_the_beam_shape_it_as_lumps_do():
    places, mass = (0.8, 1.4), 4.0
    planar = {"EI": [None, 2e3], "GJ": None, "modes": {"bending": 3}}
    lumps = [{"at": x, "mass": mass, "inertia": [0.1, 0.1, 0.1]} for x in places]
    lumped = boom_with({}, {}, beam={**planar, "lumps": lumps})
    body = {"mass": mass, "inertia": [0.1, 0.1, 0.1]}
    welded = boom_with(
        {"p": body, "q": body},
        {name: {"type": "fixed", "parent": f"boom.{name}", "child": name} for name in ("p", "q")},
        nodes={"p": {"at": [0.8, 0, 0]}, "q": {"at": [1.4, 0, 0]}},
        beam=planar,
    )
    assert frequencies(welded) == pytest.approx(frequencies(lumped), rel=1e-6)


def test_a_body_without_weight_leaves_the_cantilever_as_it_was():
    dust = {"mass": 1e-9, "inertia": [1e-12] * 3}
    keep = {"modes": {"bending": 2}}
    alone = frequencies(boom_with({}, {}, beam=keep))
    system = boom_with(
        {"dust": dust},
        {"dust": {"type": "fixed", "parent": "boom.tip", "child": "dust"}},
        beam=keep,
    )
    assert frequencies(system) == pytest.approx(alone, rel=1e-6)


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_a_mass_that_changes_later_tenfold_leaves_the_first_frequency_right(factor: float):
    """As a parameter of an FMU: the shapes stay. Against shapes made for the new mass."""

    def loaded(mass: float, modes: dict[str, int] | None = None) -> pl.System:
        body = {"mass": mass, "com": [0.2, 0, 0], "inertia": [0.1 * mass] * 3}
        weld = {"type": "fixed", "parent": "boom.tip", "child": "load"}
        return boom_with({"load": body}, {"load": weld}, beam={"modes": modes})

    for mass in (1.0, 10.0):
        boom, _ = resolve(loaded(mass)).bodies
        changed = resolve(loaded(factor * mass))
        model = compile_model(dataclasses.replace(changed, bodies=(boom, changed.bodies[1])))
        exact = frequencies(loaded(factor * mass, {"bending": 8, "torsion": 4}))
        # found: 1.6e-4 at worst
        assert pl.assembled_modes(model).frequencies[0] == pytest.approx(exact[0], rel=2e-4)


def test_a_tip_that_is_pushed_deflects_as_it_should():
    """By L^3 / (3 EI) under a unit force, by L / EI under a unit torque; and it still vibrates."""
    for load, row, exact in (
        ({"force": [0, 1.0, 0]}, "phi", 2.0**3 / (3 * 2e3)),
        ({"torque": [0, 0, 1.0]}, "psi", 2.0 / 2e3),
    ):
        system = boom_with({}, {}, loads={"end": pl.Load(node="boom.tip", **load)})
        reduced = pl.Simulation(system).model.mechanism.bodies[0].reduced
        shape = getattr(reduced.nodes["tip"], row)[1 if row == "phi" else 2]
        compliance = float(shape @ np.linalg.solve(reduced.stiffness, shape))
        assert compliance == pytest.approx(exact, rel=1e-8)
        alone = 1.8751040687**2 * np.sqrt(1e3 / 3.0) / 4.0 / (2 * np.pi)
        # the rotary inertia of the section takes away 1e-3
        assert frequencies(system)[0] == pytest.approx(alone, rel=2e-3)


@pytest.mark.parametrize("is_locked", [False, True])
def test_the_default_shapes_serve_a_hinge_that_is_driven_or_let_go(is_locked: bool):
    """Nothing in the model says whether a motor turns it. Against shapes of both kinds, many."""
    beam = {"EI": [None, 2e3], "GJ": None}

    def arm(**options: Any) -> np.ndarray:
        hinge = {"type": "revolute", "axis": "z", "parent": "boom.tip", "child": "load"}
        load = {"mass": 20.0, "com": [0.5, 0, 0], "inertia": [1.0, 5.0, 5.0]}
        system = boom_with({"load": load}, {"hinge": hinge}, beam={**beam, **options})
        return pl.assembled_modes(system, locked=is_locked).frequencies

    static = {"bending": 8, "static": ["force_y", "moment_z"]}
    exact = arm(modes=static, shapes="cantilever")
    assert arm()[:2] == pytest.approx(exact[:2], rel=2e-3)
    if is_locked:  # what the model says, nothing acts on the hinge, would be the wrong guess
        assert arm(modes={"bending": 3})[0] > 1.004 * exact[0]


# --------------------------------------------------------------------------- number of shapes


def test_a_plain_beam_keeps_two_shapes_in_each_plane():
    assert mode_count(boom_with({}, {}, beam={"GJ": None})) == 4
    assert mode_count(boom_with({}, {}, beam={"EI": [None, 2e3], "GJ": None})) == 2


def test_torsion_is_kept_if_it_is_given_or_something_is_twisted():
    assert mode_count(boom_with({}, {})) == 5
    assert mode_count(at_tip(BOX, type="fixed")) == 5
    weld = {"type": "fixed", "parent": "boom.tip", "child": "load"}
    rigid = boom_with({"load": BOX}, {"load": weld}, beam={"GJ": None})
    assert mode_count(rigid) == 4


def test_one_shape_more_where_what_is_carried_may_come_and_go():
    assert mode_count(at_tip(BOX, type="revolute", axis="x")) == 5
    hinge = {"type": "revolute", "axis": "z"}
    assert mode_count(at_tip(BOX, **hinge)) == 6  # bending in the plane of the hinge
    still = {"times": [0, 1], "position": [0, 0], "rate": [0, 0]}
    assert mode_count(at_tip(BOX, **hinge, motion=still)) == 5  # as good as welded
    assert mode_count(boom_with({}, {}, {"tip": {"contact": True}})) == 7
    assert mode_count(boom_with({}, {}, {"tip": {"interface": True}})) == 7
    ball = pl.Loop(type="spherical", parent="ground", child="boom.tip", at=[2, 0, 0])
    assert mode_count(boom_with({}, {}, loops={"ball": ball})) == 7


def test_a_coarse_mesh_has_what_it_can_give():
    assert mode_count(boom_with({}, {}, {"tip": {"interface": True}}, beam={"elements": 1})) == 5


def test_damping_ratios_fit_the_shapes_that_are_kept():
    with pytest.raises(pl.ModelError, match="2 ratios for 5 modes"):
        pl.Simulation(
            boom_with(
                {"load": BOX},
                {"load": {"type": "fixed", "parent": "boom.tip", "child": "load"}},
                beam={"damping": [0.01, 0.02]},
            )
        )
