"""Cantilever modes of a beam and its reduction to mass points with mode shapes.

The modes are those of the beam clamped at its head, alone or with the inertia that it carries
(carried). Whatever they were found with, they are then made orthonormal over the mass of the beam
alone, so that in the reduced body Mee = 1, K = diag(omega^2). Families of motion (beam_mesh) that
no eccentric lump couples are solved apart: the modes of a section with EIy = EIz stay in their
planes, and order and sign do not depend on rounding.

Second-order field (motion-induced stiffening) on the centreline, along x, with the twist theta
and the polar radius k of the section::

    phi2_ij = -int_0^x (v_i' v_j' + w_i' w_j' + k^2 theta_i' theta_j') ds                (1)

the foreshortening by bending, and by twist (trapeze or Wagner effect: fibres off the axis become
helices). At a point rigidly offset by o from the centreline, exp(theta) o to second order gives::

    phi_i  += psi_i x o        phi2_ij += (psi_i x (psi_j x o) + psi_j x (psi_i x o)) / 2    (2)

for every pair of modes that turn the section; it belongs to the inertia of an eccentric lump
(propeller moment) and is there without (1) too. Rotary inertia of sections turns to second order
(modal_integrals), that of lumps exactly: a lump may outweigh the beam. Left out is the
second-order deflection by bending and twist together, which several beams in a row supply.

Linear axial modes and (1) belong together: the axial mode is the stretch, (1) what bending
takes away.

A damping ratio zeta is that of the modes X of the beam with the rigid inertia that it carries,
X^T Mc X = 1, X^T K X = diag(Omega^2), for these are the vibrations that it takes part in; of the
beam alone they are faster by Omega to omega, and so much less damped::

    D = Mc X diag(2 zeta Omega) X^T Mc                                                   (3)

Cost: one dense symmetric eigenproblem a family, 2 (axial, torsion 3) unknowns an element.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve, eigh

from pliant.beam_mesh import BeamError, BeamMesh, Index, carry
from pliant.reduced import Array, InertiaModel, ReducedBody, ReducedNode

KINDS = ("bending", "torsion", "axial")
FAMILIES = ("bending_y", "bending_z", "torsion", "axial")

# unit loads at the tip: (family that answers, row of [force; moment], stiffness it needs)
TIP_LOADS = {
    "force_x": ("axial", 0, "EA"),
    "force_y": ("bending_y", 1, "EI"),
    "force_z": ("bending_z", 2, "EI"),
    "moment_x": ("torsion", 3, "GJ"),
    "moment_y": ("bending_z", 4, "EI"),
    "moment_z": ("bending_y", 5, "EI"),
}

_SAME_FREQUENCY = 1e-8  # relative; closer ones are a pair and are ordered by family
_WEAK_PAIR = 1e-6  # part of what a second-order pair of two modes could be at most
_NO_PAIR = 1e-16  # the same of a mode with itself, beside the strongest mode: rounding
_SPANNED = 1e-8  # a static shape with a smaller part outside the kept modes adds nothing
_COUPLED = 1e-13  # mass between two families, relative: above rounding


@dataclass(frozen=True)
class BeamModes:
    """Mass-normalised modes of a mesh; each kind is a family's name, or ``static`` for a static
    shape beside modes of the beam alone."""

    frequencies: Array  # (n,) Hz, clamped at the head, nothing carried
    kinds: tuple[str, ...]
    shapes: Array  # (mesh.size, n) mesh vectors


@dataclass(frozen=True)
class BeamNode:
    """A node to be put on the beam: shapes of station ``position[0]``, carried rigidly."""

    position: Array  # (3,) head frame
    rotation: Array = field(default_factory=lambda: np.eye(3))
    contact: bool = False


def cantilever_modes(
    mesh: BeamMesh,
    carried: Array | None = None,
    *,
    count: int | None = None,
    below_hz: float | None = None,
    bending: int | tuple[int, int] = 0,
    torsion: int = 0,
    axial: int = 0,
    kinds: Sequence[str] = KINDS,
    static: Sequence[str] = (),
) -> BeamModes:
    """The lowest modes of the clamped beam with what it carries, then static shapes.

    ``carried`` is inertia over the mesh vectors that belongs to other bodies
    (``carried.carried_mass``): it makes the modes, and is not part of the beam.

    Kept are the ``count`` lowest, or all ``below_hz``, of the given ``kinds``; or, with neither,
    ``bending`` modes in each plane (or as many as said along y and along z), ``torsion`` and
    ``axial`` ones. Frequencies ascend; of equal ones bending along y comes first, then along z,
    torsion, axial. A mode of coupled families counts as the one that holds most of its strain
    energy; the tip moves along + in it.

    ``static`` names unit loads at the tip (TIP_LOADS). Their deflections, freed of what the kept
    modes contain, follow as further coordinates: what a truncated basis lacks when loads or
    other bodies act at the tip. One that the kept modes contain already adds nothing.

    >>> from pliant.beam_mesh import Profile, Section
    >>> boom = Section(mass=Profile.uniform(8.0), EIz=Profile.uniform(1.4e6))
    >>> modes = cantilever_modes(BeamMesh(6.4, boom), count=2, static=["force_y"])
    >>> modes.kinds
    ('bending_y', 'bending_y', 'static')
    >>> modes.frequencies.round(2).tolist()
    [5.72, 35.82, 116.55]
    """
    for load in static:
        family_name, _, stiffness = TIP_LOADS[load]
        if family_name not in [f.name for f in mesh.families]:
            raise BeamError(
                "beam.modes.static", f"{load}: the beam is rigid against it; give {stiffness}"
            )

    groups = _uncoupled_groups(mesh)
    mass = mesh.mass if carried is None else mesh.mass + carried
    solved = [_group_modes(mesh, mass, columns) for columns in groups]
    frequency = np.concatenate([f for f, _ in solved])
    shapes = np.concatenate([V for _, V in solved], axis=1)
    family = np.argmax(mesh.strain_shares(shapes), axis=0)

    order = _ascending(frequency, family)
    names = [mesh.families[family[i]].name for i in order]
    if count is not None:
        places = _lowest(mesh, names, count, kinds)
    elif below_hz is not None:
        places = [i for i in _of_kinds(names, kinds) if frequency[order[i]] < below_hz]
    else:
        along_y, along_z = (bending, bending) if isinstance(bending, int) else bending
        wanted = {"bending_y": along_y, "bending_z": along_z, "torsion": torsion, "axial": axial}
        places = _by_family(mesh, names, wanted)
    hertz, V = _orthonormal(mesh, groups, shapes[:, order[places]])

    tip = np.array([mesh.length])
    loads = [_deflection(mesh, *TIP_LOADS[load][:2], tip) for load in static]
    residuals = _outside(mesh, V, loads)
    if carried is not None:
        # the span of loaded modes is not closed under K: residuals mix with them
        hertz, V = _orthonormal(mesh, groups, np.column_stack([V, residuals]))
        return BeamModes(hertz, _family_names(mesh, V), _tip_positive(mesh, V))
    f_static, S = _orthonormal(mesh, groups, residuals)
    return BeamModes(
        frequencies=np.concatenate([hertz, f_static]),
        kinds=(*_family_names(mesh, V), *("static" for _ in f_static)),
        shapes=_tip_positive(mesh, np.column_stack([V, S])),
    )


def richer_modes(
    mesh: BeamMesh, modes: BeamModes, carried: Array | None, places: Iterable[float]
) -> BeamModes:
    """The given modes and what a richer reduction would add to them.

    That is two more modes of every family with what is ``carried``, and the deflections under unit
    loads at the given ``places`` along the beam.
    """
    room = {f.name: len(f.columns) for f in mesh.families}
    more = {name: min(modes.kinds.count(name) + 2, room.get(name, 0)) for name in FAMILIES}
    further = cantilever_modes(
        mesh,
        carried,
        bending=(more["bending_y"], more["bending_z"]),
        torsion=more["torsion"],
        axial=more["axial"],
    )
    deflections = [
        _deflection(mesh, family, row, np.array([x]))
        for x in places
        for family, row, _ in TIP_LOADS.values()
        if family in room and x > 0.0
    ]
    added = _outside(mesh, modes.shapes, [*further.shapes.T, *deflections])
    hertz, V = _orthonormal(mesh, _uncoupled_groups(mesh), np.column_stack([modes.shapes, added]))
    return BeamModes(hertz, _family_names(mesh, V), _tip_positive(mesh, V))


def reduce_beam(
    mesh: BeamMesh,
    modes: BeamModes,
    *,
    carried: Array | None = None,
    damping: ArrayLike = 0.0,
    stiffening: bool = True,
    nodes: Mapping[str, BeamNode] | None = None,
) -> ReducedBody:
    """The beam as mass points with the given modes.

    ``damping`` is the ratio zeta of all modes, or one for each, with what is ``carried`` (as in
    ``cantilever_modes``). ``stiffening`` adds the second-order field (1). The nodes ``head`` and
    ``tip`` are always there.
    """
    V, n = modes.shapes, len(modes.kinds)
    zeta = np.asarray(damping, float)
    if zeta.ndim and len(zeta) != n:
        raise BeamError("beam.damping", f"{len(zeta)} ratios for {n} modes; give one number or {n}")
    slack = 1e-9 * mesh.length
    tip = BeamNode(np.array([mesh.length, 0.0, 0.0]))
    every = {"head": BeamNode(np.zeros(3)), "tip": tip, **(nodes or {})}
    for name, node in every.items():
        if not -slack <= node.position[0] <= mesh.length + slack:
            raise BeamError(
                f"nodes.{name}.at",
                f"x = {node.position[0]:g} is beside the beam; give 0 <= x <= {mesh.length:g}",
            )
    node_position = np.array([node.position for node in every.values()], float)
    node_element, node_xi = mesh.locate(node_position[:, 0])

    # mass points, then nodes
    points = mesh.points
    element = np.concatenate([points.element, node_element])
    xi = np.concatenate([points.xi, node_xi])
    offset = np.concatenate([points.offset, node_position * [0.0, 1.0, 1.0]])
    phi, psi = mesh.shapes(element, xi, V)
    shortening = mesh.foreshortening(element, xi, V) if stiffening else np.zeros((len(xi), n, n))
    pairs = _pairs_that_matter(shortening, psi, offset)
    i, j = pairs.T
    phi2 = _second_order_offset(psi[:, :, i], psi[:, :, j], offset)
    phi2[:, 0] += shortening[:, i, j]
    phi = carry(phi, psi, offset)

    k = len(points.mass)
    # a lump may outweigh the beam, and moves as a body welded on would
    models: list[InertiaModel] = ["second_order"] * (k - len(mesh.lumps))
    models += ["exact"] * len(mesh.lumps)
    # those that move nodes only behind those that move mass
    order = np.argsort(~phi2[:k].any(axis=(0, 1)), kind="stable")
    pairs, phi2 = pairs[order], phi2[:, :, order]
    omega = 2.0 * np.pi * modes.frequencies
    felt = np.eye(n) if carried is None else np.eye(n) + V.T @ carried @ V
    reduced_nodes: dict[str, ReducedNode] = {}
    for row, (name, node) in enumerate(every.items(), start=k):
        reduced_nodes[name] = ReducedNode(
            np.asarray(node.position, float),
            np.asarray(node.rotation, float),
            phi[row],
            psi[row],
            phi2[row],
            node.contact,
        )
    return ReducedBody(
        point_position=points.position,
        point_mass=points.mass,
        point_inertia=points.inertia,
        point_phi=phi[:k],
        point_psi=psi[:k],
        point_phi2=phi2[:k],
        stiffness=np.diag(omega**2),
        damping=_damping(omega, felt, zeta),
        unit_damping=None if zeta.ndim else _damping(omega, felt, np.ones(())),
        pairs=pairs,
        nodes=reduced_nodes,
        inertia_model=tuple(models),
    )


def _damping(omega: Array, felt: Array, zeta: Array) -> Array:
    """(n, n) damping by which the modes of K = diag(omega^2) with the mass ``felt`` have the ratios
    zeta (3), in the order of their frequencies."""
    if np.array_equal(felt, np.eye(len(omega))):
        return np.diag(2.0 * zeta * omega)
    squares, X = eigh(np.diag(omega**2), felt)
    MX = felt @ X
    D = (MX * (2.0 * zeta * np.sqrt(np.maximum(squares, 0.0)))) @ MX.T
    size = np.sqrt(np.diag(D))
    return np.where(np.abs(D) > _COUPLED * np.outer(size, size), 0.5 * (D + D.T), 0.0)


# ----------------------------------------------------------------------------------- eigenmodes


def _uncoupled_groups(mesh: BeamMesh) -> list[Index]:
    """Columns of the families, those coupled by the inertia of a lump together.

    Stiffness and distributed mass never couple families.
    """
    scale = np.sqrt(np.diag(mesh.mass))

    def coupled(a: Index, b: Index) -> bool:
        largest = np.abs(mesh.mass[np.ix_(a, b)]).max()
        return bool(largest > _COUPLED * scale[a].max() * scale[b].max())

    groups: list[Index] = []
    for columns in (f.columns for f in mesh.families):
        joined = [g for g in groups if coupled(g, columns)]
        groups = [g for g in groups if not coupled(g, columns)]
        groups.append(np.sort(np.concatenate([*joined, columns])))
    return groups


def _group_modes(mesh: BeamMesh, mass: Array, columns: Index) -> tuple[Array, Array]:
    """All modes of one group with a mass matrix: frequencies (Hz, ascending) and shapes.

    Solved as M v = K v / omega^2: K is positive definite because the head is clamped, M need not
    be (a massless beam with lumps); modes without mass are left out.
    """
    block = np.ix_(columns, columns)
    try:
        inverse_squares, y = eigh(mass[block], mesh.stiffness[block])
    except np.linalg.LinAlgError:
        shortest = float(np.diff(mesh.grid).min())
        raise BeamError(
            "beam",
            f"the stiffness matrix is singular in working precision (shortest element {shortest:g} "
            "m); put neighbouring stations and lumps at one place, or further apart, and check "
            "EI against GAk",
        ) from None
    massless = len(columns) * np.finfo(float).eps * max(inverse_squares[-1], 0.0)
    first = int(np.searchsorted(inverse_squares, massless, side="right"))
    shapes = np.zeros((mesh.size, len(inverse_squares) - first))
    shapes[columns] = y[:, first:][:, ::-1]
    return 1.0 / (2.0 * np.pi * np.sqrt(inverse_squares[first:][::-1])), shapes


def _ascending(frequency: Array, family: Index) -> Index:
    """Order by frequency; within a run of equal ones by family, so that pairs never swap."""
    order = np.argsort(frequency, kind="stable")
    ascending = frequency[order]
    run = np.cumsum(np.diff(ascending, prepend=0.0) > _SAME_FREQUENCY * ascending)
    return np.asarray(order[np.lexsort((family[order], run))])


def _orthonormal(mesh: BeamMesh, groups: list[Index], V: Array) -> tuple[Array, Array]:
    """Frequencies (Hz, ascending) and vectors of the span of V with V^T M V = 1, V^T K V diagonal.

    M is that of the beam alone. Each column of V belongs to one group, and stays in it.
    """
    largest = np.array([np.abs(V[columns]).max(axis=0) for columns in groups])
    group = np.argmax(largest, axis=0)  # elsewhere a column is zero, or rounding
    hertz, vectors = np.zeros(V.shape[1]), np.zeros_like(V)
    for number, columns in enumerate(groups):
        own = np.flatnonzero(group == number)
        if len(own):
            part = np.zeros((mesh.size, len(own)))
            part[columns] = V[np.ix_(columns, own)]
            squares, y = eigh(mesh.modal_stiffness(part), mesh.modal_mass(part))
            hertz[own], vectors[:, own] = np.sqrt(squares) / (2.0 * np.pi), part @ y
    order = _ascending(hertz, np.argmax(mesh.strain_shares(vectors), axis=0))
    return hertz[order], vectors[:, order]


def _family_names(mesh: BeamMesh, V: Array) -> tuple[str, ...]:
    """The family that holds most of the strain energy of each column."""
    return tuple(mesh.families[i].name for i in np.argmax(mesh.strain_shares(V), axis=0))


def _tip_positive(mesh: BeamMesh, V: Array) -> Array:
    """Columns signed so that the tip moves along + in the family with most strain energy."""
    phi, psi = mesh.shapes(*mesh.locate(np.array([mesh.length])), V)
    V = V.copy()
    for i, strongest in enumerate(np.argmax(mesh.strain_shares(V), axis=0)):
        f = mesh.families[strongest]
        tip = psi[0, f.psi_row, i] if f.phi_row is None else phi[0, f.phi_row, i]
        own = V[f.columns, i]
        largest = own[np.argmax(np.abs(own))]
        # a heavy lump can hold the tip still: then the largest unknown decides
        if (tip if abs(tip) > 1e-9 * abs(largest) else largest) < 0.0:
            V[:, i] *= -1.0
    return V


# ------------------------------------------------------------------------------------ selection


def _kind(family: str) -> str:
    return family.split("_")[0]


def _of_kinds(names: list[str], kinds: Sequence[str]) -> list[int]:
    return [i for i, name in enumerate(names) if _kind(name) in kinds]


def _lowest(mesh: BeamMesh, names: list[str], count: int, kinds: Sequence[str]) -> list[int]:
    allowed = _of_kinds(names, kinds)
    if count > len(allowed):
        of_kind = "" if set(kinds) == set(KINDS) else f" of kind {' or '.join(kinds)}"
        raise BeamError(
            "beam.modes.count",
            f"{count} modes asked for, but the mesh has {len(allowed)}{of_kind}; "
            f"raise elements (now {mesh.element_count}) or lower the count",
        )
    return allowed[:count]


def _by_family(mesh: BeamMesh, names: list[str], wanted: Mapping[str, int]) -> list[int]:
    """The lowest of each family; of a rigid plane none if the other one bends."""
    there = [f.name for f in mesh.families]
    for kind, stiffness in (("bending", "EI"), ("torsion", "GJ"), ("axial", "EA")):
        count = max(wanted[family] for family in FAMILIES if _kind(family) == kind)
        if count and kind not in map(_kind, there):
            raise BeamError(
                f"beam.modes.{kind}",
                f"{count} modes asked for, but the mesh has 0 of them: the beam is rigid in "
                f"{kind}; give {stiffness}",
            )
    kept: list[int] = []
    for family in there:
        kind, count = _kind(family), wanted[family]
        have = [i for i, name in enumerate(names) if name == family]
        if count > len(have):
            where = f" along {family[-1]}" if kind == "bending" else ""
            raise BeamError(
                f"beam.modes.{kind}",
                f"{count} modes asked for, but the mesh has {len(have)} of them{where}; "
                f"raise elements (now {mesh.element_count}) or lower the number",
            )
        kept += have[:count]
    return sorted(kept)


# --------------------------------------------------------------------- static and second order


def _deflection(mesh: BeamMesh, family: str, row: int, x: Array) -> Array:
    """Deflection under a unit load at x, ``row`` of [force; moment] that the family takes."""
    phi, psi = mesh.shapes(*mesh.locate(x), np.eye(mesh.size))
    load = np.concatenate([phi[0], psi[0]])[row]
    columns = next(f.columns for f in mesh.families if f.name == family)
    deflection = np.zeros(mesh.size)
    factor = cho_factor(mesh.stiffness[np.ix_(columns, columns)])
    deflection[columns] = cho_solve(factor, load[columns])
    return deflection


def _outside(mesh: BeamMesh, modes: Array, vectors: Iterable[Array]) -> Array:
    """What vectors add to orthonormal modes and to one another, normalised: (size, r)."""
    basis = modes
    for vector in vectors:
        x, whole = vector.copy(), vector @ mesh.mass @ vector
        for _ in range(2):  # the second pass removes the rounding of the first
            x -= basis @ (basis.T @ (mesh.mass @ x))
        left = x @ mesh.mass @ x
        if left > _SPANNED**2 * whole:
            basis = np.column_stack([basis, x / np.sqrt(left)])
    return basis[:, modes.shape[1] :]


def _second_order_offset(psi_i: Array, psi_j: Array, offset: Array) -> Array:
    """Second part of equation (2), (k, 3, p)."""
    o = np.broadcast_to(offset[:, :, None], psi_i.shape)
    a = np.cross(psi_i, np.cross(psi_j, o, axis=1), axis=1)
    b = np.cross(psi_j, np.cross(psi_i, o, axis=1), axis=1)
    return np.asarray(0.5 * (a + b))


def _pairs_that_matter(shortening: Array, psi: Array, offset: Array) -> Index:
    """Pairs i <= j whose field (1) or (2) counts beside what it could be at most: (p, 2).

    By Schwarz (1) is at most sqrt(phi2_ii phi2_jj); (2) is at most |psi_i| |psi_j| |o|.
    """
    every = np.triu_indices(psi.shape[2])
    beside = _second_order_offset(psi[:, :, every[0]], psi[:, :, every[1]], offset)
    size = np.abs(shortening).max(axis=0)[every] + np.abs(beside).max(axis=(0, 1))
    turn = np.linalg.norm(psi, axis=1) ** 2 * np.linalg.norm(offset, axis=1)[:, None]
    square = np.abs(np.einsum("kii->ki", shortening)).max(axis=0) + turn.max(axis=0)
    most = np.sqrt(np.where(square > _NO_PAIR * square.max(initial=0.0), square, np.inf))
    counts = size > _WEAK_PAIR * most[every[0]] * most[every[1]]
    return np.asarray(np.stack(every, axis=1)[counts], np.int64)
