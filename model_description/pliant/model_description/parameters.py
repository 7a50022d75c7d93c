"""Parameters of a model, each with the kernel data that follow it.

Every datum depends on the parameters affinely, ``data = base + sum slope (value - start)``, so
that an FMU can change a mass without this package at hand. What would take more than that is not
offered: the mass of a flexible body or the inertia of one with wheels (which it must exceed).

=====================================  =======================================================
``joint.elbow.q_start``, ``.qd_start`` start of every freedom that is not prescribed; ``[i]`` for
                                       several, ``.quat_start[1..4]`` for spherical and free
``wheel.base.rw1.speed_start``         start of a wheel
``body.boom.eta_start[i]``             start of the modes, ``.etad_start[i]`` of their rates
``body.hand.m``, ``.J[1..6]``          mass and inertia of a rigid body; its centre of mass stays
``body.boom.zeta``                     damping ratio of a flexible body, if all modes have one
``joint.elbow.viscous``                viscous friction of every freedom but of bodies that float
``world.g[1..3]``                      gravity
=====================================  =======================================================

What a loop ties together has no start of its own: the loop says where it can be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pliant import limits
from pliant.channels import all_channels
from pliant.mechanism import TreeBody
from pliant.model import Model
from pliant.model_description.paths import tied_states
from pliant.model_description.units import display_unit, unit_name
from pliant.model_description.variable import Parameter, Scope, Term, Variable
from pliant.reduced import Array

# Parameters that only make sense together (check.kind in the data file).
QUATERNION, INERTIA = 0, 1

# Above zero, and zero not reached.
POSITIVE = float(np.nextafter(0.0, 1.0))

_VISCOUS_ENTRY, _PASSIVE_ENTRIES = 2, 9  # of a freedom in the section dof.passive
_MIXED = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # order of the six numbers of J
# The damping ratios of one body count as one if they agree to this.
_SAME_RATIO = 1e-12
# Modes count as mass-normalised if their mass matrix is the unit matrix to this.
_NORMALISED = 1e-9


@dataclass(frozen=True)
class ParameterVector:
    """Parameters that are exposed together or not at all."""

    components: tuple[Variable, ...]
    check: int | None = None

    @property
    def path(self) -> str:
        return self.components[0].path


def all_parameters(model: Model) -> list[ParameterVector]:
    """Every parameter that a model has, apart from those of the solver."""
    return [
        *_starts(model),
        *(vector for i in range(len(model.bodies)) for vector in _of_body(model, i)),
        *_friction(model),
        ParameterVector(
            tuple(
                _parameter(
                    f"world.g[{i + 1}]",
                    float(model.sections["gravity"][i]),
                    "m/s2",
                    f"gravitational acceleration, world axes, {axis}",
                    Scope("gravity", 0),
                    (Term("gravity", i, 1.0),),
                    limits.ACCELERATION,
                )
                for i, axis in enumerate("xyz")
            )
        ),
    ]


def _parameter(
    path: str,
    start: float,
    unit: str,
    description: str,
    scope: Scope,
    terms: tuple[Term, ...],
    span: limits.Span,
    least: float | None = None,
) -> Variable:
    """A parameter of the sizes that the model file allows, and of the one that it has."""
    most = max(span.most, abs(start))
    return Variable(
        path=path,
        name=path,
        type="Real",
        causality="parameter",
        variability="fixed",
        initial="exact",
        description=description,
        source=Parameter(scope, terms),
        start=start,
        unit=unit,
        display_unit=display_unit(unit),
        min=-most if least is None else min(least, start),
        max=most,
    )


# ------------------------------------------------------------------------------------------- start


def _starts(model: Model) -> Iterator[ParameterVector]:
    """A start for every state, named after it: q_start for q, speed_start for speed."""
    given = prescribed_states(model) | tied_states(model)
    vectors: dict[str, list[Variable]] = {}
    for channel in all_channels(model):
        kind = channel.source[0]
        if kind not in ("q", "u") or (kind, channel.index) in given:
            continue
        section = f"start.{kind}"
        parameter = _parameter(
            f"{channel.base}_start{channel.name[len(channel.base) :]}",
            float(model.sections[section][channel.index]),
            unit_name(channel.unit),
            f"{channel.description}, at the start",
            Scope("q" if kind == "q" else "u", channel.index),
            (Term(section, channel.index, 1.0),),
            limits.COORDINATE if kind == "q" else limits.SPEED,
        )
        vectors.setdefault(channel.base, []).append(parameter)
    for base, components in vectors.items():
        check = QUATERNION if base.endswith(".quat") else None
        yield ParameterVector(tuple(components), check)


def prescribed_states(model: Model) -> set[tuple[str, int]]:
    """Coordinates and speeds that a prescribed motion gives, as ("q" or "u", index)."""
    held: set[tuple[str, int]] = set()
    for joint in model.joints:
        if model.mechanism.bodies[joint.body].joint.prescribed:
            held |= {("q", i) for i in range(joint.q.start, joint.q.stop)}
            held |= {("u", i) for i in range(joint.u.start, joint.u.stop)}
    return held


# ------------------------------------------------------------------------------------------ bodies


def _of_body(model: Model, i: int) -> Iterator[ParameterVector]:
    body = model.mechanism.bodies[i]
    reduced = body.reduced
    if reduced.mode_count == 0 and len(reduced.point_mass) == 1:
        yield ParameterVector((_mass(body, i),))
        if not body.wheels:
            yield ParameterVector(tuple(_inertia(body, i)), INERTIA)
    damping = _damping(model, i)
    if damping is not None:
        yield ParameterVector((damping,))


def _mass(body: TreeBody, i: int) -> Variable:
    c = body.reduced.point_position[0]
    about_head = np.dot(c, c) * np.eye(3) - np.outer(c, c)
    return _parameter(
        f"body.{body.name}.m",
        body.reduced.mass,
        "kg",
        f"body {body.name}: mass; centre of mass and inertia about it stay",
        Scope("mass", i),
        (
            Term("body.mass", i, 1.0),
            *_terms("body.first_moment", 3 * i, c),
            *_terms("body.inertia", 9 * i, about_head.ravel()),
        ),
        limits.MASS,
        least=limits.MASS.least,
    )


def _inertia(body: TreeBody, i: int) -> Iterator[Variable]:
    J = body.reduced.point_inertia[0]
    for number, (row, column) in enumerate(_MIXED):
        entries = {3 * row + column, 3 * column + row}
        axes = "xyz"[row] + "xyz"[column]
        yield _parameter(
            f"body.{body.name}.J[{number + 1}]",
            float(J[row, column]),
            "kg.m2",
            f"body {body.name}: inertia about its centre of mass, axes of its head, {axes}",
            Scope("inertia", i),
            tuple(Term("body.inertia", 9 * i + entry, 1.0) for entry in sorted(entries)),
            limits.INERTIA,
            least=limits.INERTIA.least if row == column else None,
        )


def _damping(model: Model, i: int) -> Variable | None:
    """The damping ratio of a body whose modes all have the same."""
    body = model.mechanism.bodies[i]
    n = body.reduced.mode_count
    _, _, damping = modal_matrices(model, i)
    unit = body.reduced.unit_damping
    if unit is None:
        unit = _uncoupled_unit_damping(model, i)
    if n == 0 or unit is None:
        return None
    ratio = float(f"{np.trace(damping) / np.trace(unit):.15g}")  # as the author wrote it
    if np.abs(damping - ratio * unit).max() > _SAME_RATIO * ratio * np.abs(unit).max():
        return None
    first = _first_matrix(model, i) + 2 * n * n
    return _parameter(
        f"body.{body.name}.zeta",
        ratio,
        "1",
        f"body {body.name}: damping ratio of every mode, its head held",
        Scope("damping", i),
        tuple(
            Term("mode.matrices", first + int(at), float(unit.flat[at]))
            for at in np.flatnonzero(unit)
        ),
        limits.DAMPING_RATIO,
        least=0.0,
    )


def _uncoupled_unit_damping(model: Model, i: int) -> Array | None:
    """Of modes that nothing couples; None if something does."""
    mass, stiffness, damping = modal_matrices(model, i)
    uncoupled = all(np.array_equal(M, np.diag(np.diag(M))) for M in (stiffness, damping))
    if not uncoupled or np.abs(mass - np.eye(len(mass))).max(initial=0.0) > _NORMALISED:
        return None
    return np.diag(2.0 * np.sqrt(np.diag(stiffness)))


def modal_matrices(model: Model, i: int) -> tuple[Array, Array, Array]:
    """Mass of a body's modes, undeformed; stiffness and damping, as the kernel has them."""
    reduced, first = model.mechanism.bodies[i].reduced, _first_matrix(model, i)
    n = reduced.mode_count
    matrices = model.sections["mode.matrices"][first : first + 3 * n * n]
    _, stiffness, damping = np.asarray(matrices, float).reshape(3, n, n)
    return reduced.modal_mass, stiffness, damping


def _first_matrix(model: Model, i: int) -> int:
    return 3 * sum(body.reduced.mode_count**2 for body in model.mechanism.bodies[:i])


# ---------------------------------------------------------------------------------------- friction


def _friction(model: Model) -> Iterator[ParameterVector]:
    for slots in model.joints:
        body = model.mechanism.bodies[slots.body]
        joint, count = body.joint, slots.u.stop - slots.u.start
        if count == 0 or floats(body):
            continue
        components = []
        for k in range(count):
            slides = k < len(joint.translations)
            entry = _PASSIVE_ENTRIES * (slots.input.start + k) + _VISCOUS_ENTRY
            components.append(
                _parameter(
                    f"joint.{slots.name}.viscous" + (f"[{k + 1}]" if count > 1 else ""),
                    float(joint.viscous[k]),
                    "N.s/m" if slides else "N.m.s/rad",
                    f"joint {slots.name}: viscous friction of "
                    + (f"freedom {k + 1}" if count > 1 else "its freedom"),
                    Scope("friction", slots.body),
                    (Term("dof.passive", entry, 1.0),),
                    limits.DAMPING,
                    least=0.0,
                )
            )
        yield ParameterVector(tuple(components))


def floats(body: TreeBody) -> bool:
    """Whether a body hangs on nothing: a free joint to the ground, which has no actuator."""
    return body.parent < 0 and body.joint.type == "free"


def _terms(section: str, first: int, slopes: Array) -> Iterator[Term]:
    for i, slope in enumerate(slopes):
        if slope != 0.0:
            yield Term(section, first + i, float(slope))
