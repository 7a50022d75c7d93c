"""Author's bodies become reduced bodies: rigid, beam, modal data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from pliant.body import Body
from pliant.errors import ModelError
from pliant.flexible import Beam
from pliant.modal_integrals import clamped_frequencies, integrate
from pliant.reduce import beam_mesh, beam_modes, reduce_body

BOOM = {"length": 4.0, "mass_per_length": 15.0, "EI": 4e6, "radius": 0.1, "modes": {"count": 4}}


def test_rigid_body_given_at_a_node_is_the_same_body_in_the_head_frame():
    turn = {"axis": [1, 2, 3], "angle": 0.7}
    nodes = {"flange": {"at": [0.1, 0.2, 0.3], "rotation": turn, "contact": True}}
    at_node = Body(mass=4, com=[1, 0, 0], inertia=[1, 2, 2.5], mass_at="flange", nodes=nodes)
    reduced = reduce_body("hand", at_node)
    a = np.array([1.0, 2.0, 3.0]) / np.sqrt(14)
    R = expm(0.7 * np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]]))
    assert reduced.point_position[0] == pytest.approx([0.1, 0.2, 0.3] + R[:, 0])
    assert reduced.point_inertia[0] == pytest.approx(R @ np.diag([1, 2, 2.5]) @ R.T)
    assert list(reduced.nodes) == ["head", "flange"]
    assert reduced.nodes["flange"].rotation == pytest.approx(R)
    assert reduced.nodes["flange"].contact


def test_beam_of_a_file_has_its_mass_nodes_and_frequencies():
    nodes = {"tip": {"contact": True}, "camera": {"at": [3.0, 0.0, 0.2]}}
    reduced = reduce_body("boom", Body(beam={**BOOM, "damping": 0.005}, nodes=nodes))
    assert reduced.mass == pytest.approx(60.0)
    assert list(reduced.nodes) == ["head", "tip", "camera"]
    assert [node.contact for node in reduced.nodes.values()] == [False, True, False]
    head = reduced.nodes["head"]
    assert not head.phi.any()
    assert not head.psi.any()
    assert not head.phi2.any()
    first = 1.8751041**2 * np.sqrt(4e6 / 15.0) / 16.0 / (2 * np.pi)
    # the rotary inertia of the 0.1 m radius lowers it by 0.2 %
    assert clamped_frequencies(reduced)[0] == pytest.approx(first, rel=3e-3)
    assert clamped_frequencies(reduced)[0] < first
    assert np.diag(reduced.damping) == pytest.approx(0.01 * np.sqrt(np.diag(reduced.stiffness)))


def test_stations_lumps_and_material_reach_the_mesh():
    beam = Beam(
        length=2.0,
        E=7e10, G=2.7e10, rho=2700.0, A=1e-3, Iy=1e-6, Iz=2e-6, J=1.5e-6, shear_factor=0.85,
        stations=[{"at": 0.0}, {"at": 2.0, "A": 5e-4, "Iy": 2e-7}],
        lumps=[{"at": 1.5, "mass": 3.0, "inertia": [0.1, 0.1, 0.1], "offset": [0, 0.1, 0]}],
        modes={"count": 5},
    )  # fmt: skip
    mesh = beam_mesh(beam)
    assert mesh.points.mass.sum() == pytest.approx(2700 * 0.75e-3 * 2 + 3.0)
    assert mesh.points.position[-1] == pytest.approx([1.5, 0.1, 0.0])
    stiffness = {f.name: f.stiffness.value for f in mesh.families}
    assert stiffness["bending_z"] == pytest.approx([7e4, 1.4e4])
    assert stiffness["bending_y"] == pytest.approx([1.4e5, 1.4e5])
    assert stiffness["axial"] == pytest.approx([7e7, 3.5e7])
    assert mesh.families[0].shear is not None
    assert mesh.families[0].shear.value == pytest.approx([0.85 * 2.7e7, 0.85 * 1.35e7])
    jx = mesh.points.inertia[:-1, 0, 0].sum()
    assert jx == pytest.approx(2700 * 0.5 * (3e-6 + 2.2e-6) * 2)


def test_one_rigid_plane_leaves_bending_in_the_other():
    modes = beam_modes(Beam(**{**BOOM, "EI": [4e6, None], "modes": {"bending": 3}}))
    assert modes.kinds == ("bending_z",) * 3


@pytest.mark.parametrize(
    ("change", "where", "words"),
    [
        ({"modes": {"count": 81}}, "bodies.boom.beam.modes.count", "81 modes .* has 80"),
        ({"modes": {"bending": 41}}, "bodies.boom.beam.modes.bending", "41 modes .* has 40"),
        ({"modes": {"count": 2, "static": ["force_x"]}}, "bodies.boom.beam.modes.static", "EA"),
        ({"damping": [0.01, 0.02]}, "bodies.boom.beam.damping", "2 ratios for 4 modes"),
    ],
)
def test_impossible_reductions_name_the_body_and_the_field(
    change: dict[str, object], where: str, words: str
):
    with pytest.raises(ModelError, match=words) as error:
        reduce_body("boom", Body(beam={**BOOM, **change}))
    assert [problem.where for problem in error.value.problems] == [where]


def test_modal_data_are_taken_as_they_are():
    generator = np.random.default_rng(7)
    phi2 = np.zeros((3, 3, 3))
    phi2[0, 0, 0], phi2[0, 0, 2], phi2[0, 2, 0] = -1.0, 0.5, 0.5
    point = {
        "at": [1, 0, 0],
        "mass": 2.0,
        "inertia": [0.1, 0.2, 0.2],
        "phi": generator.normal(size=(3, 3)),
        "psi": generator.normal(size=(3, 3)),
        "phi2": phi2,
    }
    plain = {"at": [0.5, 0, 0], "mass": 1.0, "phi": generator.normal(size=(3, 3))}
    node = {key: point[key] for key in ("at", "phi", "psi", "phi2")}
    data = {"points": [plain, point], "K": np.diag([1.0, 2, 3]), "nodes": {"end": node}}
    turned = {"end": {"rotation": {"axis": "z", "degrees": 90}, "contact": True}}
    reduced = reduce_body("panel", Body(modal={**data, "inertia": "exact"}, nodes=turned))
    assert reduced.pairs.tolist() == [[0, 0], [0, 2]]
    assert reduced.point_phi2[1, 0] == pytest.approx([-1.0, 0.5])
    assert not reduced.point_phi2[0].any()
    assert not reduced.point_psi[0].any()
    assert reduced.exact_points.tolist() == [1]  # the other has no inertia
    end = reduced.nodes["end"]
    assert (end.phi == point["phi"]).all()
    assert (end.phi2 == reduced.point_phi2[1]).all()
    assert end.rotation[:, 0] == pytest.approx([0, 1, 0])
    assert end.contact
    assert (
        pytest.approx(np.hstack([plain["phi"] + 2 * point["phi"], 2 * reduced.point_phi2[1]]))
        == integrate(reduced).S
    )
    off = reduce_body("panel", Body(modal={**data, "stiffening": False}))
    assert off.pair_count == 0
    assert off.inertia_model == "second_order"


def test_modal_body_without_modes_is_rigid():
    empty = np.zeros((3, 0))
    points = [{"at": [x, 0, 0], "mass": 1.0, "inertia": [1, 1, 1], "phi": empty} for x in (0, 1)]
    reduced = reduce_body("block", Body(modal={"points": points, "K": []}))
    assert (reduced.mode_count, reduced.pair_count, reduced.mass) == (0, 0, 2.0)
