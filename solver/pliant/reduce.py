"""From the author's Body to the one form that everything else uses: ReducedBody.

A rigid body becomes one mass point, a beam is meshed and reduced to its modes (beam) with what it
carries (carried), raw modal data are taken as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pliant.beam import BeamModes, BeamNode, cantilever_modes, reduce_beam, richer_modes
from pliant.beam_mesh import BeamError, BeamMesh, Lump, Profile, Section
from pliant.body import Body
from pliant.carried import Carried, carried_mass, families_that_carry, families_that_change
from pliant.errors import ModelError
from pliant.fields import inertia_matrix
from pliant.flexible import Beam, Modal, ModalNode
from pliant.limits import MOST_MODES, MOST_STRETCHES
from pliant.reduced import Array, ReducedBody, ReducedNode, head_node, rigid_body, rigid_node

# Loaded modes up to this factor times below_hz are kept: then frequencies of the assembled model
# below it are right to 4 % at worst and 0.1 % as a rule (cantilevers cut into 1 to 6 beams; with a
# factor of 2 it would be 11 % and 0.4 %).
BELOW_HZ_FACTOR = 3.0


def reduce_body(
    name: str, body: Body, carried: Sequence[Carried] = (), *, richer: bool = False
) -> ReducedBody:
    """The body ``name`` of a model as mass points, mode shapes and nodes.

    ``carried`` is what its nodes carry, which shapes the modes of a beam. ``richer`` adds the
    shapes that would come next, to see what they change in small vibrations: the second-order
    field and damping are then left out.

    >>> from pliant.body import Body
    >>> boom = {"length": 6.4, "mass_per_length": 8.0, "EI": 1.4e6, "modes": {"count": 4}}
    >>> reduced = reduce_body("boom", Body(beam=boom, nodes={"camera": {"at": [3, 0, 0.2]}}))
    >>> reduced.mode_count, list(reduced.nodes)
    (4, ['head', 'tip', 'camera'])
    """
    if body.modal is not None:
        return _reduce_modal(body.modal, body)
    if body.beam is None:
        return _reduce_rigid(body)
    try:
        nodes = _beam_nodes(body)
        mesh = beam_mesh(body.beam, [float(node.position[0]) for node in nodes.values()])
        modes = beam_modes(body.beam, mesh, carried)
        if richer and modes.kinds:  # a beam without modes is meant to be rigid
            places = {float(item.position[0]) for item in carried}
            modes = richer_modes(mesh, modes, carried_mass(mesh, carried), places)
            return reduce_beam(mesh, modes, stiffening=False, nodes=nodes)
        is_loaded = body.beam.shapes == "loaded" and carried
        return reduce_beam(
            mesh,
            modes,
            carried=carried_mass(mesh, carried, "welded") if is_loaded else None,
            damping=body.beam.damping,
            stiffening=body.beam.stiffening,
            nodes=nodes,
        )
    except BeamError as error:
        raise ModelError.at(f"bodies.{name}.{error.where}", error.message) from None


def undeformed_body(name: str, body: Body) -> ReducedBody:
    """The body with its modes left out; what takes time in a beam is then not done."""
    if body.beam is None:
        return reduce_body(name, body).without_modes()
    try:
        # one element between stations is enough for the mass: it is integrated exactly
        mesh = beam_mesh(body.beam.model_copy(update={"elements": 1}))
        none = BeamModes(np.zeros(0), (), np.zeros((mesh.size, 0)))
        return reduce_beam(mesh, none, nodes=_beam_nodes(body))
    except BeamError as error:
        raise ModelError.at(f"bodies.{name}.{error.where}", error.message) from None


def beam_mesh(beam: Beam, nodes: Sequence[float] = ()) -> BeamMesh:
    """The finite elements of a beam, with grid points at ``nodes``; its own value stands for what a
    station does not give."""
    stations = beam.sections()
    at = [s.at for s in stations]

    def profile(key: str) -> Profile | None:
        values = [getattr(s, key) for s in stations]
        return None if None in values else Profile(at, values)

    def known(key: str) -> Profile:
        return Profile(at, [getattr(s, key) for s in stations])

    section = Section(
        mass=known("mass_per_length"),
        EA=profile("EA"),
        EIy=profile("EIy"),
        EIz=profile("EIz"),
        GJ=profile("GJ"),
        GAy=profile("GAy"),
        GAz=profile("GAz"),
        jx=known("jx"),
        jy=known("jy"),
        jz=known("jz"),
        polar_radius=profile("polar_radius"),
    )
    lumps = [
        Lump(lump.at, lump.mass, inertia_matrix(lump.inertia), np.asarray(lump.offset, float))
        for lump in beam.lumps
    ]
    cuts = len({*at, *(lump.at for lump in lumps), *nodes})
    if cuts > MOST_STRETCHES:
        raise BeamError(
            "beam", f"is cut at {cuts} stations, lumps and nodes; give at most {MOST_STRETCHES}"
        )
    return BeamMesh(beam.length, section, lumps, beam.elements, nodes)


def beam_modes(
    beam: Beam, mesh: BeamMesh | None = None, carried: Sequence[Carried] = ()
) -> BeamModes:
    """The modes a beam keeps, with frequencies (Hz) and kinds.

    >>> boom = Beam(length=6.4, mass_per_length=8.0, EI=[1.4e6, 2e6], modes={"count": 3})
    >>> modes = beam_modes(boom)
    >>> list(zip(modes.kinds, modes.frequencies.round(2).tolist()))
    [('bending_z', 5.72), ('bending_y', 6.83), ('bending_z', 35.82)]
    """
    mesh = beam_mesh(beam) if mesh is None else mesh
    keep, is_loaded = beam.modes, beam.shapes == "loaded"
    mass = None
    if is_loaded and carried:
        mass = carried_mass(mesh, carried, "locked" if keep is None else "held")
    if keep is None:
        bending, torsion = _default_numbers(mesh, carried)
        if beam.GJ is not None and any(f.name == "torsion" for f in mesh.families):
            torsion = 1  # whoever says how stiff it is wants it to twist
        return cantilever_modes(mesh, mass, bending=bending, torsion=torsion)
    below_hz = keep.below_hz
    if below_hz is not None and is_loaded:
        below_hz *= BELOW_HZ_FACTOR
    modes = cantilever_modes(
        mesh,
        mass,
        count=keep.count,
        below_hz=below_hz,
        bending=keep.bending or 0,
        torsion=keep.torsion or 0,
        axial=keep.axial or 0,
        kinds=keep.kinds,
        static=keep.static,
    )
    if len(modes.kinds) > MOST_MODES:
        raise BeamError(
            "beam.modes", f"{len(modes.kinds)} modes would be kept; keep at most {MOST_MODES}"
        )
    return modes


def _default_numbers(mesh: BeamMesh, carried: Sequence[Carried]) -> tuple[tuple[int, int], int]:
    """Bending shapes along y and z, and torsion shapes, of a beam whose author gives none.

    Two follow a load and still vibrate; a third one does both where the load comes and goes, or
    where a hinge may be driven, locked or let go. Twisting matters if something is twisted. An
    axial shape would set the step of the model and hardly change its motion.
    """
    changes = families_that_change(mesh, carried)
    room = {f.name: len(f.columns) for f in mesh.families}
    along_y, along_z = (
        min(3 if family in changes else 2, room.get(family, 0))
        for family in ("bending_y", "bending_z")
    )
    return (along_y, along_z), int("torsion" in families_that_carry(mesh, carried))


def _reduce_rigid(body: Body) -> ReducedBody:
    assert body.mass is not None  # a Body without beam and modal has both
    assert body.inertia is not None
    nodes = {
        key: rigid_node(body.node_position(key), body.node_rotation(key), _contact(body, key))
        for key in body.node_names
    }
    com, inertia = np.asarray(body.com, float), inertia_matrix(body.inertia)
    if body.mass_at is not None:
        # given in the node's frame: p_head = p_node + R p, J_head = R J R^T
        frame = nodes[body.mass_at]
        com = frame.position + frame.rotation @ com
        inertia = frame.rotation @ inertia @ frame.rotation.T
    return rigid_body(body.mass, com, inertia, nodes)


def _beam_nodes(body: Body) -> dict[str, BeamNode]:
    return {
        key: BeamNode(body.node_position(key), body.node_rotation(key), _contact(body, key))
        for key in body.node_names
    }


def _reduce_modal(modal: Modal, body: Body) -> ReducedBody:
    n = modal.mode_count
    listed = {key: node for key, node in modal.nodes.items() if key != "head"}
    items: list[ModalNode] = [*modal.points, *listed.values()]
    phi2 = np.array([_or_zeros(item.phi2, (3, n, n)) for item in items])
    matters = np.triu((phi2 != 0.0).any(axis=(0, 1))) & modal.stiffening
    pairs = np.argwhere(matters).astype(np.int64)
    i, j = pairs.T
    phi2 = 0.5 * (phi2 + phi2.transpose(0, 1, 3, 2))[:, :, i, j]

    nodes = {"head": replace(head_node(n, len(pairs)), contact=_contact(body, "head"))}
    for row, (key, node) in enumerate(listed.items(), start=len(modal.points)):
        nodes[key] = ReducedNode(
            position=np.asarray(node.at, float),
            rotation=body.node_rotation(key),
            phi=np.asarray(node.phi, float),
            psi=_or_zeros(node.psi, (3, n)),
            phi2=phi2[row],
            contact=_contact(body, key),
        )
    points = modal.points
    return ReducedBody(
        point_position=np.array([p.at for p in points], float),
        point_mass=np.array([p.mass for p in points], float),
        point_inertia=np.array(
            [np.zeros((3, 3)) if p.inertia is None else inertia_matrix(p.inertia) for p in points]
        ),
        point_phi=np.array([p.phi for p in points], float),
        point_psi=np.array([_or_zeros(p.psi, (3, n)) for p in points]),
        point_phi2=phi2[: len(points)],
        stiffness=np.asarray(modal.K, float),
        damping=_or_zeros(modal.D, (n, n)),
        pairs=pairs,
        nodes=nodes,
        inertia_model=modal.inertia,
    )


def _contact(body: Body, node: str) -> bool:
    return node in body.nodes and body.nodes[node].contact


def _or_zeros(value: object, shape: tuple[int, ...]) -> Array:
    return np.zeros(shape) if value is None else np.asarray(value, float)
