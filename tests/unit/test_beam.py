"""Beams: mass identities, selection of modes, static shapes, nodes, second-order fields."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import eigh, expm

from pliant.beam import TIP_LOADS, BeamNode, cantilever_modes, reduce_beam
from pliant.beam_mesh import BeamError, BeamMesh, Lump, Profile, Section
from pliant.modal_integrals import clamped_frequencies, integrate, undeformed_integrals
from pliant.reduced import ReducedBody

Array = NDArray[np.float64]
uniform = Profile.uniform

L, MASS, EI, EA, GJ = 2.5, 3.0, 7.0e3, 5.0e6, 900.0
JX, JYZ = 0.02, 0.01
TUBE = Section(
    uniform(MASS), EA=uniform(EA), EIy=uniform(EI), EIz=uniform(EI), GJ=uniform(GJ),
    jx=uniform(JX), jy=uniform(JYZ), jz=uniform(JYZ),
)  # fmt: skip
TAPER = Section(
    Profile([0, L], [MASS, 1.0]),
    EA=Profile([0, L], [EA, 0.2 * EA]),
    EIy=Profile([0, 1.0, L], [EI, EI, 0.1 * EI]),
    EIz=Profile([0, L], [2 * EI, 0.3 * EI]),
    GJ=uniform(GJ),
    GAy=uniform(4e4),
    jx=Profile([0, L], [JX, 0.1 * JX]),
    jy=uniform(JYZ),
    jz=uniform(JYZ),
)
# off the axis in y and z and with products of inertia: couples every family
BOX = Lump(
    1.7,
    2.0,
    np.array([[0.3, 0.02, -0.01], [0.02, 0.4, 0.03], [-0.01, 0.03, 0.5]]),
    np.array([0.1, 0.2, -0.3]),
)


def cross(a: Array) -> Array:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def reduced_tube(count: int = 8, **options: object) -> ReducedBody:
    mesh = BeamMesh(L, TUBE)
    return reduce_beam(mesh, cantilever_modes(mesh, count=count), **options)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------ mass


def test_mass_points_reproduce_the_consistent_mass_matrix_of_a_free_beam():
    """V^T M V = Mee, Z^T M V = Mre, Z^T M Z = Mrr with M of a textbook, Z rigid motions."""
    n = 7
    mesh = BeamMesh(L, Section(uniform(MASS), EIz=uniform(EI)), elements=n)
    modes = cantilever_modes(mesh, count=5)
    integrals = integrate(reduce_beam(mesh, modes))
    h = L / n
    element = (MASS * h / 420.0) * np.array(
        [
            [156, 22 * h, 54, -13 * h],
            [22 * h, 4 * h * h, 13 * h, -3 * h * h],
            [54, 13 * h, 156, -22 * h],
            [-13 * h, -3 * h * h, -22 * h, 4 * h * h],
        ]
    )
    M = np.zeros((2 * n + 2, 2 * n + 2))
    for e in range(n):
        M[2 * e : 2 * e + 4, 2 * e : 2 * e + 4] += element
    V = np.vstack([np.zeros((2, 5)), modes.shapes])
    translation = np.tile([1.0, 0.0], n + 1)
    rotation = np.stack([np.linspace(0, L, n + 1), np.ones(n + 1)], axis=1).ravel()
    Z = np.stack([translation, rotation], axis=1)
    along_y, about_z = 1, 5
    rows = [along_y, about_z]
    tolerance = 1e-13 * MASS * L**3
    assert integrals.Mee == pytest.approx(V.T @ M @ V, abs=1e-13)
    assert integrals.Mre[rows] == pytest.approx(Z.T @ M @ V, abs=tolerance)
    assert integrals.Mrr[np.ix_(rows, rows)] == pytest.approx(Z.T @ M @ Z, abs=tolerance)


@pytest.mark.parametrize("lumps", [(), (BOX,)])
@pytest.mark.parametrize("section", [TUBE, TAPER])
def test_modes_are_mass_normalised_and_match_the_mesh_matrices(
    section: Section, lumps: tuple[Lump, ...]
):
    mesh = BeamMesh(L, section, lumps)
    modes = cantilever_modes(mesh, count=10, static=list(TIP_LOADS))
    n = len(modes.kinds)
    assert n == 16
    reduced = reduce_beam(mesh, modes)
    V = modes.shapes
    assert undeformed_integrals(reduced).Mee == pytest.approx(np.eye(n), abs=1e-12)
    assert reduced.modal_mass == pytest.approx(np.eye(n), abs=1e-12)
    assert pytest.approx(np.eye(n), abs=1e-12) == V.T @ mesh.mass @ V
    largest = np.linalg.eigvalsh(mesh.stiffness)[-1]
    assert V.T @ mesh.stiffness @ V == pytest.approx(reduced.stiffness, abs=1e-13 * largest)
    assert np.sort(modes.frequencies) == pytest.approx(clamped_frequencies(reduced), rel=1e-10)


def test_rigid_mass_of_a_uniform_tube():
    integrals = integrate(reduced_tube())
    about_head = MASS * L**3 / 3 + JYZ * L
    assert integrals.m == pytest.approx(MASS * L, rel=1e-14)
    assert integrals.c0 == pytest.approx([MASS * L**2 / 2, 0, 0], rel=1e-14)
    inertia = np.diag([JX * L, about_head, about_head])
    assert integrals.Mrr[3:, 3:] == pytest.approx(inertia, rel=1e-14, abs=1e-14)


def test_rigid_mass_of_a_taper_with_an_eccentric_lump():
    integrals = integrate(
        reduce_beam(mesh := BeamMesh(L, TAPER, [BOX]), cantilever_modes(mesh, count=0))
    )
    centre = np.array([BOX.at, 0, 0]) + BOX.offset
    assert integrals.m == pytest.approx(L * 2.0 + BOX.mass, rel=1e-14)
    # int (3 - 0.8 x) x dx = 1.5 L^2 - 0.8 L^3 / 3
    first = np.array([1.5 * L**2 - 0.8 * L**3 / 3, 0, 0]) + BOX.mass * centre
    assert integrals.c0 == pytest.approx(first, rel=1e-14)
    second = 3.0 * L**3 / 3 - 0.8 * L**4 / 4
    inertia = np.diag([0.55 * JX * L, second + JYZ * L, second + JYZ * L])
    inertia += BOX.inertia - BOX.mass * cross(centre) @ cross(centre)
    assert integrals.Mrr[3:, 3:] == pytest.approx(inertia, rel=1e-13, abs=1e-14)


def test_exact_inertia_leaves_point_inertias_to_the_kernel():
    second_order = reduced_tube()
    bare = replace(second_order, point_inertia=np.zeros_like(second_order.point_inertia))
    exact = replace(second_order, inertia_model="exact")
    assert len(exact.exact_points) == len(exact.point_mass)
    for name in ("Mrr", "Mre", "Mee", "A", "B", "A2"):
        assert (getattr(integrate(exact), name) == getattr(integrate(bare), name)).all()
        assert (
            getattr(undeformed_integrals(exact), name) == getattr(integrate(second_order), name)
        ).all()
    assert clamped_frequencies(exact) == pytest.approx(clamped_frequencies(second_order))


@pytest.mark.parametrize("model", ["second_order", "linear"])
def test_undeformed_matrices_do_not_depend_on_how_point_inertias_turn(model: str):
    """Mrr, Mre and Mee of points with inertia, by the motion of every point."""
    reduced = replace(reduced_tube(3), inertia_model=model)
    n, M = reduced.mode_count, 0.0
    for X, m, J, phi, psi in zip(
        reduced.point_position, reduced.point_mass, reduced.point_inertia,
        reduced.point_phi, reduced.point_psi, strict=True,
    ):  # fmt: skip
        Jv, Jw = np.hstack([np.eye(3), -cross(X), phi]), np.hstack([cross(0 * X), np.eye(3), psi])
        M = M + m * Jv.T @ Jv + Jw.T @ J @ Jw
    found = integrate(reduced)
    whole = np.block([[found.Mrr, found.Mre], [found.Mre.T, found.Mee]])
    assert whole.shape == (6 + n, 6 + n)
    assert whole == pytest.approx(M, abs=1e-13 * np.abs(M).max())


# ----------------------------------------------------------------------------------------- modes


def test_modes_of_a_round_section_stay_in_their_planes():
    mesh = BeamMesh(L, TUBE)
    modes = cantilever_modes(mesh, bending=4, torsion=1, axial=1)
    expected = ["bending_y", "bending_z"] * 4
    assert [k for k in modes.kinds if k.startswith("bending")] == expected
    reduced = reduce_beam(mesh, modes)
    for i, kind in enumerate(modes.kinds):
        moving = np.flatnonzero(np.abs(reduced.point_phi[:, :, i]).max(axis=0))
        turning = np.flatnonzero(np.abs(reduced.point_psi[:, :, i]).max(axis=0))
        phi_row, psi_row = {
            "bending_y": ([1], [2]),
            "bending_z": ([2], [1]),
            "torsion": ([], [0]),
            "axial": ([0], []),
        }[kind]
        assert (moving.tolist(), turning.tolist()) == (phi_row, psi_row)
    assert np.all(np.diff(modes.frequencies) > -1e-9 * modes.frequencies[1:])


def test_tip_moves_along_the_positive_axis():
    mesh = BeamMesh(L, TUBE)
    modes = cantilever_modes(mesh, bending=3, torsion=2, axial=2)
    tip = reduce_beam(mesh, modes).nodes["tip"]
    for i, kind in enumerate(modes.kinds):
        rows = {"bending_y": tip.phi[1], "bending_z": tip.phi[2], "axial": tip.phi[0]}
        assert rows.get(kind, tip.psi[0])[i] > 0.0


def test_rotation_shapes_are_the_slopes_of_the_deflections():
    reduced = reduced_tube(
        4, nodes={"a": BeamNode(np.array([1.0, 0, 0])), "b": BeamNode(np.array([1.0 + 1e-6, 0, 0]))}
    )
    a, b = reduced.nodes["a"], reduced.nodes["b"]
    slope = (b.phi - a.phi) / 1e-6
    middle = 0.5 * (a.psi + b.psi)
    assert middle[2] == pytest.approx(slope[1], abs=1e-7)
    assert middle[1] == pytest.approx(-slope[2], abs=1e-7)


@pytest.mark.parametrize("kinds", [["bending"], ["torsion", "axial"]])
def test_below_hz_keeps_everything_below_of_the_kinds_asked_for(kinds: list[str]):
    mesh = BeamMesh(L, TUBE)
    every = cantilever_modes(mesh, count=30)
    limit = float(every.frequencies[12]) + 1e-3
    kept = cantilever_modes(mesh, below_hz=limit, kinds=kinds)
    wanted = [
        f
        for f, kind in zip(every.frequencies, every.kinds, strict=True)
        if f < limit and kind.split("_")[0] in kinds
    ]
    assert kept.frequencies == pytest.approx(wanted, rel=1e-9)


def test_no_mode_below_the_limit_leaves_a_rigid_beam():
    mesh = BeamMesh(L, TUBE)
    reduced = reduce_beam(mesh, cantilever_modes(mesh, below_hz=0.1))
    assert (reduced.mode_count, reduced.pair_count) == (0, 0)
    assert reduced.nodes["tip"].phi.shape == (3, 0)


@pytest.mark.parametrize(
    ("options", "where", "words"),
    [
        ({"count": 161}, "beam.modes.count", "161 modes asked for, but the mesh has 160"),
        ({"count": 50, "kinds": ["axial"]}, "beam.modes.count", "has 48 of kind axial"),
        ({"bending": 33}, "beam.modes.bending", "33 modes asked for, but the mesh has 32"),
        ({"torsion": 49}, "beam.modes.torsion", "49 modes asked for, but the mesh has 48"),
    ],
)
def test_asking_for_more_modes_than_the_mesh_has_names_both_numbers(
    options: dict[str, object], where: str, words: str
):
    with pytest.raises(BeamError, match=words) as error:
        cantilever_modes(BeamMesh(L, TUBE, elements=16), **options)  # type: ignore[arg-type]
    assert error.value.where == where


def test_modes_of_a_rigid_family_are_refused_with_the_missing_stiffness():
    mesh = BeamMesh(L, Section(uniform(MASS), EIz=uniform(EI)))
    with pytest.raises(BeamError, match="give GJ"):
        cantilever_modes(mesh, bending=1, torsion=1)
    with pytest.raises(BeamError, match=r"force_x: .* give EA"):
        cantilever_modes(mesh, count=1, static=["force_x"])
    assert cantilever_modes(mesh, bending=3).kinds == ("bending_y",) * 3


def test_eccentric_lump_couples_the_families():
    mesh = BeamMesh(L, TUBE, [BOX])
    modes = cantilever_modes(mesh, count=6)
    squares = eigh(mesh.stiffness, mesh.mass, eigvals_only=True)[:6]
    assert modes.frequencies == pytest.approx(np.sqrt(squares) / 2 / np.pi, rel=1e-7)
    plain = cantilever_modes(BeamMesh(L, TUBE, [Lump(1.7, 2.0)]), count=6)
    assert not np.allclose(modes.frequencies, plain.frequencies, rtol=1e-3)


def test_massless_beam_with_a_tip_body_is_a_six_degree_oscillator():
    """Flexibility of the tip from beam theory, mass of the body about the tip."""
    none = uniform(0.0)
    section = Section(
        none, EA=uniform(EA), EIy=uniform(EI), EIz=uniform(3 * EI), GJ=uniform(GJ),
        jx=none, jy=none, jz=none,
    )  # fmt: skip
    o, m, J = BOX.offset, BOX.mass, BOX.inertia
    mesh = BeamMesh(L, section, [Lump(L, m, J, o)], elements=4)
    modes = cantilever_modes(mesh, count=6)
    F = np.diag([L / EA, L**3 / (9 * EI), L**3 / (3 * EI), L / GJ, L / EI, L / (3 * EI)])
    F[1, 5] = F[5, 1] = L**2 / (6 * EI)
    F[2, 4] = F[4, 2] = -(L**2) / (2 * EI)
    M = np.block([[m * np.eye(3), -m * cross(o)], [m * cross(o), J - m * cross(o) @ cross(o)]])
    squares = eigh(np.linalg.inv(F), M, eigvals_only=True)
    assert modes.frequencies == pytest.approx(np.sqrt(squares) / 2 / np.pi, rel=1e-9)
    with pytest.raises(BeamError, match="7 modes asked for, but the mesh has 6"):
        cantilever_modes(mesh, count=7)


# ---------------------------------------------------------------------------------- static shapes


@pytest.mark.parametrize("count", [0, 1, 7])
@pytest.mark.parametrize("load", list(TIP_LOADS))
def test_static_shape_makes_the_flexibility_at_the_tip_exact(load: str, count: int):
    mesh = BeamMesh(L, TUBE)
    tip_of = [reduce_beam(mesh, cantilever_modes(mesh, count=count, static=s))
              for s in ([load], [])]  # fmt: skip
    row = TIP_LOADS[load][1]
    with_shape, without = (
        float(np.sum(np.vstack([b.nodes["tip"].phi, b.nodes["tip"].psi])[row] ** 2
                     / np.diag(b.stiffness)))
        for b in tip_of
    )  # fmt: skip
    bending = L**3 / (3 * EI) if load.startswith("force") else L / EI
    exact = {"force_x": L / EA, "moment_x": L / GJ}.get(load, bending)
    assert with_shape == pytest.approx(exact, rel=1e-9)
    assert without < exact * (1 - 1e-6)


def test_static_shape_already_spanned_adds_nothing():
    mesh = BeamMesh(L, Section(uniform(MASS), EIz=uniform(EI)), elements=2)
    modes = cantilever_modes(mesh, count=4, static=["force_y", "moment_z"])
    assert modes.kinds == ("bending_y",) * 4


# ----------------------------------------------------------------------------- damping, nodes


def test_damping_ratio_for_all_or_for_each_mode():
    mesh = BeamMesh(L, TUBE)
    modes = cantilever_modes(mesh, count=3)
    omega = 2 * np.pi * modes.frequencies
    one = reduce_beam(mesh, modes, damping=0.01)
    assert one.damping == pytest.approx(np.diag(0.02 * omega))
    each = reduce_beam(mesh, modes, damping=[0.0, 0.01, 0.1])
    assert each.damping == pytest.approx(np.diag([0.0, 0.02, 0.2] * omega))
    with pytest.raises(BeamError, match="2 ratios for 3 modes"):
        reduce_beam(mesh, modes, damping=[0.0, 0.01])


def test_node_off_the_axis_is_carried_rigidly():
    offset = np.array([0.0, 0.2, -0.4])
    on_axis, off_axis = np.array([1.234, 0, 0]), np.array([1.234, 0, 0]) + offset
    turn = expm(cross(np.array([0.3, 0.2, 0.1])))
    reduced = reduced_tube(
        nodes={"on": BeamNode(on_axis), "off": BeamNode(off_axis, turn, contact=True)}
    )
    on, off = reduced.nodes["on"], reduced.nodes["off"]
    assert off.psi == pytest.approx(on.psi)
    assert off.phi == pytest.approx(on.phi - cross(offset) @ on.psi)
    assert (off.rotation == turn).all()
    assert (off.contact, on.contact) == (True, False)
    assert list(reduced.nodes) == ["head", "tip", "on", "off"]


def test_node_beside_the_beam_is_refused():
    with pytest.raises(BeamError, match=r"x = 2\.6 is beside the beam"):
        reduced_tube(nodes={"far": BeamNode(np.array([2.6, 0, 0]))})


# -------------------------------------------------------------------------------- second order


def test_only_pairs_of_one_family_shorten_a_beam():
    mesh = BeamMesh(L, TUBE)
    modes = cantilever_modes(mesh, bending=2, torsion=2, axial=1)
    pairs = {tuple(sorted((modes.kinds[i], modes.kinds[j])))
             for i, j in reduce_beam(mesh, modes).pairs.tolist()}  # fmt: skip
    assert pairs == {(name, name) for name in ("bending_y", "bending_z", "torsion")}
    assert reduce_beam(mesh, modes).pair_count == 9
    assert reduce_beam(mesh, modes, stiffening=False).pair_count == 0


@pytest.mark.parametrize("stiffening", [True, False])
def test_pairs_of_a_node_off_the_axis_move_no_mass(stiffening: bool):
    mesh = BeamMesh(L, TUBE)
    modes = cantilever_modes(mesh, bending=2, torsion=1)
    plain = reduce_beam(mesh, modes, stiffening=stiffening)
    nodes = {"camera": BeamNode(np.array([1.0, 0.1, 0.2]))}
    reduced = reduce_beam(mesh, modes, stiffening=stiffening, nodes=nodes)
    assert plain.mass_pair_count == plain.pair_count == reduced.mass_pair_count
    assert reduced.pair_count == 15  # any two of five modes that turn the section


def test_twist_shortens_a_beam_by_its_fibres_becoming_helices():
    """A fibre at the radius a keeps its length: dx = sqrt(ds^2 - (a theta' ds)^2), over the area.

    A thin tube has all its area at the polar radius; it is given apart from the mass here.
    """
    a = 0.11
    section = Section(uniform(MASS), GJ=uniform(GJ), jx=uniform(JX), polar_radius=uniform(a))
    modes = cantilever_modes(mesh := BeamMesh(L, section), torsion=1)
    tip = reduce_beam(mesh, modes).nodes["tip"]
    eta = 0.05 / tip.psi[0, 0]
    s = np.linspace(0.0, L, 2001)
    rate = 0.05 * np.pi / (2 * L) * np.cos(np.pi * s / (2 * L))  # twist of the first mode
    shortening = np.trapezoid(np.sqrt(1 - (a * rate) ** 2) - 1.0, s)
    assert tip.phi2[0, 0] * eta**2 / 2 == pytest.approx(shortening, rel=1e-4)  # (a theta')^2


def test_polar_radius_is_that_of_the_mass_if_not_given():
    own = Section(uniform(MASS), GJ=uniform(GJ), jx=uniform(JX))
    given = replace(own, polar_radius=uniform(np.sqrt(JX / MASS)))
    fields = [
        reduce_beam(mesh, cantilever_modes(mesh, torsion=2)).point_phi2
        for mesh in (BeamMesh(L, own), BeamMesh(L, given))
    ]
    assert fields[0] == pytest.approx(fields[1], rel=1e-12)


@pytest.mark.parametrize("section", [TUBE, TAPER])
def test_second_order_field_keeps_the_length_of_the_centreline(section: Section):
    """(1 + u')^2 + v'^2 + w'^2 = 1 to second order in eta, integrated independently."""
    mesh = BeamMesh(L, section)
    modes = cantilever_modes(mesh, bending=3)
    x = np.linspace(0.0, L, 4001)
    nodes = {str(k): BeamNode(np.array([s, 0, 0])) for k, s in enumerate(x)}
    reduced = reduce_beam(mesh, modes, nodes=nodes)
    line = [reduced.nodes[str(k)] for k in range(len(x))]
    eta = np.array([1.0, -0.5, 0.3, 0.2, 0.1, -0.05])
    i, j = reduced.pairs.T
    products = np.where(i == j, 0.5, 1.0) * eta[i] * eta[j]
    shortening = np.array([node.phi2[0] @ products for node in line])
    lateral = np.array([node.phi[1:] @ eta for node in line])
    steps = np.diff(lateral, axis=0) ** 2
    polygon = np.concatenate([[0.0], np.cumsum(-0.5 * steps.sum(axis=1) / np.diff(x))])
    assert shortening == pytest.approx(polygon, abs=1e-5 * abs(polygon[-1]))


@pytest.mark.parametrize("stiffening", [True, False])
@pytest.mark.parametrize("offset", [[0.0, 0.3, 0.0], [0.1, -0.2, 0.3]])
def test_offset_point_turns_with_its_section_to_second_order(offset: list[float], stiffening: bool):
    """r = x + u + exp(theta) o up to third order in eta, for bending and twist together."""
    mesh = BeamMesh(L, TUBE, [Lump(2.0, 1.0, offset=np.array(offset))])
    modes = cantilever_modes(mesh, bending=1, torsion=1)
    on_axis = {"on": BeamNode(np.array([2.0, 0, 0]))}
    reduced = reduce_beam(mesh, modes, nodes=on_axis, stiffening=stiffening)
    i, j = reduced.pairs.T

    def gap(scale: float) -> float:
        eta = scale * np.array([0.2, 0.05, 0.03])
        products = np.where(i == j, 0.5, 1.0) * eta[i] * eta[j]
        on = reduced.nodes["on"]
        centre = on.position + on.phi @ eta + on.phi2 @ products
        exact = centre + expm(cross(on.psi @ eta)) @ offset
        lump = reduced.point_position[-1] + reduced.point_phi[-1] @ eta
        return float(np.linalg.norm(lump + reduced.point_phi2[-1] @ products - exact))

    assert gap(1.0) / gap(0.5) == pytest.approx(8.0, rel=0.02)


# --------------------------------------------------------------------------------------- stations


def test_step_in_the_section_equals_two_uniform_parts():
    step = Section(
        Profile([0, 1, 1, L], [3, 3, 1, 1]), EIz=Profile([0, 1, 1, L], [EI, EI, 0.2 * EI, 0.2 * EI])
    )
    mesh = BeamMesh(L, step, elements=5)
    assert mesh.grid == pytest.approx(np.linspace(0, L, 6))
    assert mesh.points.mass.sum() == pytest.approx(3 + 1.5)
    # static deflection under a unit tip load: int M^2 / EI
    exact = (L**3 - 1.5**3) / (3 * EI) + 1.5**3 / (3 * 0.2 * EI)
    tip = mesh.shapes(*mesh.locate(np.array([L])), np.eye(mesh.size))[0][0, 1]
    assert tip @ np.linalg.solve(mesh.stiffness, tip) == pytest.approx(exact, rel=1e-10)


def test_stations_and_lumps_are_grid_points():
    mesh = BeamMesh(L, TAPER, [Lump(0.77, 1.0)], elements=10)
    for place in (0.0, 0.77, 1.0, L):
        assert np.abs(mesh.grid - place).min() < 1e-12
    assert np.all(np.diff(mesh.grid) > 0.0)


def test_beam_without_any_stiffness_is_refused():
    with pytest.raises(BeamError, match="no stiffness"):
        BeamMesh(L, Section(uniform(MASS)))


def test_stations_too_close_to_resolve_are_refused():
    close = Profile([0, 1, 1 + 1e-8, L], [1, 1, 2, 2])
    with pytest.raises(BeamError, match="shortest element 1e-08 m"):
        cantilever_modes(BeamMesh(L, Section(uniform(MASS), EIz=close)), count=1)
