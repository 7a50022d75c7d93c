"""What is possible but hardly meant: slips of units and of typing, seen before a run.

Units are SI and angles radians; what a new user most often gives instead is degrees, per cent,
millimetres and N/mm2. Each of these leaves a trace that no mechanism has on purpose, and only such
traces are named here: a model that is meant as it is gets no warning.

=============================  ====================================================================
degrees for radians            a start or rest beyond a turn, stops beyond two, a frame turned by
                               more than a turn
per cent for a ratio           a mode damped by 0.3 of critical or more
mm for m, N/mm2 for N/m2       a beam that bends under its weight further than its modes carry,
                               or vibrates in hours; a section thicker than the beam is long; a
                               material softer than rubber, lighter than foam, denser than
                               osmium; gravity of thousands of m/s2
a start that is not            a joint that starts beyond its stops
=============================  ====================================================================

How far a body bends under its weight and loads: its modes held, the model accelerates by
``a = (M_rr)^-1 Q_r`` where it starts, r its joints and wheels. On the modes then act

    R = Q_eta - M_eta,r a,          eta = K^-1 R                                            (1)

so that a pendulum that falls is not taken for a beam that is clamped. Q = M du/dt at rest is the
kernel's. Without gravity it is bent by its own weight on Earth, clamped, across its axes. Bodies
in loops support one another and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pliant._kernel import Kernel
from pliant.deflection import LARGEST_ROTATION, Shapes
from pliant.fields import AxisAngle
from pliant.flexible import Beam
from pliant.inputs import Motions
from pliant.mechanism import TreeBody, TreeJoint
from pliant.modal_integrals import clamped_frequencies, undeformed_integrals
from pliant.model import Model
from pliant.modes import assembled_modes
from pliant.reduced import Array, ReducedBody
from pliant.system import System

_TURN = 2.0 * np.pi
_EARTH = 9.81  # m/s2
_STRONGEST_GRAVITY = 100.0  # m/s2
_SLOWEST = 1e-3  # Hz
_MOST_DAMPED = 0.3  # of critical, more than any structure
_WATCHED, _OFF = 4, 2.0  # vibrations, and by what factor their damping may be off
_LEANING = 0.05  # m, rad, or of the way between stops: what a joint at rest may press a stop in
# Without gravity: of the body's length. Booms of solar sails, the softest there are, reach 30.
_SOFTEST = 100.0
_MATERIALS = {  # least and largest, with what is beyond
    "E": (1e6, 2e12, "softer than rubber", "stiffer than diamond", "Pa (1 N/mm2 is 1e6 Pa)"),
    "G": (3e5, 1e12, "softer than rubber", "stiffer than diamond", "Pa (1 N/mm2 is 1e6 Pa)"),
    "rho": (10.0, 25e3, "lighter than foam", "denser than osmium", "kg/m3 (1 g/cm3 is 1000 kg/m3)"),
}


def implausible(model: Model) -> Iterator[str]:
    """What a compiled model hardly means, each with its place, the value and what would be right.

    >>> from pliant.compile import compile_model
    >>> from pliant.system import Body, Joint
    >>> rod = Body(mass=1, com=[0.5, 0, 0], inertia=[0.001, 0.08, 0.08])
    >>> hinge = Joint(type="revolute", axis="y", child="rod", start=30)
    >>> pendulum = System(name="pendulum", bodies={"rod": rod}, joints={"hinge": hinge})
    >>> print(*implausible(compile_model(pendulum)))
    joints.hinge.start: 30 rad is more than a turn; give radians (30 degrees are 0.5236 rad)
    """
    gravity = float(np.linalg.norm(model.mechanism.gravity))
    if gravity > _STRONGEST_GRAVITY:
        yield f"gravity: {gravity:g} m/s2 is that of no planet; give m/s2, 9.81 on Earth"
    for body in model.mechanism.bodies:
        if not body.joint.prescribed:
            yield from _start(f"joints.{body.joint.name}.start", body.joint)
        yield from _forces(f"joints.{body.joint.name}", body.joint)
    for loop in model.mechanism.loops:
        yield from _forces(f"loops.{loop.joint.name}", loop.joint)
    flexible = [body for body in model.mechanism.bodies if body.reduced.mode_count]
    for body in flexible:
        yield from _modes(body)
    yield from _vibrations(model)
    yield from _sagging(model) if gravity > 0.0 else _soft(flexible)


def implausible_parts(system: System) -> Iterator[str]:
    """What the author wrote and a compiled model no longer shows: frames, sections, materials."""
    for name, joint in {**system.joints, **system.loops}.items():
        kind = "joints" if name in system.joints else "loops"
        yield from _frame(f"{kind}.{name}.rotation", joint.rotation)
    for name, body in system.bodies.items():
        for node, frame in body.nodes.items():
            yield from _frame(f"bodies.{name}.nodes.{node}.rotation", frame.rotation)
        if body.beam is not None:
            yield from _beam(f"bodies.{name}.beam", body.beam)


# ------------------------------------------------------------------------------------------ joints


def _forces(where: str, joint: TreeJoint) -> Iterator[str]:
    turns = slice(len(joint.translations), joint.dof_count)
    if not joint.quaternion:
        yield from _angles(f"{where}.spring.rest", joint.rest[turns], 1)
        yield from _angles(f"{where}.stops.lower", joint.stop_lower[turns], 2)
        yield from _angles(f"{where}.stops.upper", joint.stop_upper[turns], 2)


def _start(where: str, joint: TreeJoint) -> Iterator[str]:
    slides = len(joint.translations)
    if not joint.quaternion:
        yield from _angles(where, joint.start[slides:], 1)
    for i in np.flatnonzero(joint.stop_stiffness):
        start, low, high = joint.start[i], joint.stop_lower[i], joint.stop_upper[i]
        slack = _LEANING * min(1.0, high - low)
        if not low - slack <= start <= high + slack:
            stop, unit = (low if start < low else high), ("m" if i < slides else "rad")
            yield (
                f"{where}: {start:.4g} {unit} is beyond its stop at {stop:.4g} {unit}, which "
                "pushes back from the first moment; start within its stops"
            )


def _angles(where: str, angles: Array, turns: int) -> Iterator[str]:
    for angle in angles[np.isfinite(angles)]:
        if abs(angle) > turns * _TURN * (1.0 + 1e-6):
            limit = "a turn" if turns == 1 else f"{turns} turns"
            yield (
                f"{where}: {angle:.4g} rad is more than {limit}; give radians ({angle:.4g} degrees "
                f"are {np.deg2rad(angle):.4g} rad)"
            )


def _frame(where: str, rotation: Any) -> Iterator[str]:
    if isinstance(rotation, AxisAngle) and rotation.angle is not None:
        yield from _angles(f"{where}.angle", np.array([rotation.angle]), 1)


# ----------------------------------------------------------------------------------------- flexible


def _beam(where: str, beam: Beam) -> Iterator[str]:
    given: dict[str, Any] = {where: beam}
    given |= {f"{where}.stations[{i}]": station for i, station in enumerate(beam.stations)}
    for place, section in given.items():
        for key, (least, most, below, above, right) in _MATERIALS.items():
            value = getattr(section, key)
            if value is not None and not least <= value <= most:
                what = below if value < least else above
                yield f"{place}.{key}: {value:g} is {what}; give {right}"
    for section in beam.sections():
        thickness = 2.0 * np.sqrt(section.jx / section.mass_per_length)  # of a round one: 1.4 r
        if thickness > beam.length:
            yield (
                f"{where}: its section, {thickness:.3g} m across by its rotary inertia, is wider "
                f"than the beam is long ({beam.length:g} m); give metres"
            )
            return


def damping_ratio(reduced: ReducedBody) -> float:
    """The one ratio of all modes of a beam."""
    assert reduced.unit_damping is not None
    unit = float(np.trace(reduced.unit_damping))
    return float(np.trace(reduced.damping)) / unit if unit else 0.0


def _vibrations(model: Model) -> Iterator[str]:
    """Vibrations whose damping is not what their beams were given: of beams in a row each has the
    ratio with the others rigid, which is not the ratio of all."""
    ratios = {
        f"body {body.name}": damping_ratio(body.reduced)
        for body in model.mechanism.bodies
        if body.reduced.unit_damping is not None
    }
    if len(ratios) < 2 or not any(ratios.values()):
        return
    for number, mode in enumerate(assembled_modes(model, locked=True).modes[:_WATCHED], start=1):
        meant = sum(share * ratios.get(where, 0.0) for where, share in mode.shares.items())
        beams = sum(share for where, share in mode.shares.items() if where in ratios)
        if beams > 0.9 and not 1.0 / _OFF <= mode.damping / meant <= _OFF:
            yield (
                f"damping: that of vibration {number}, {mode.frequency:.3g} Hz with all joints "
                f"locked, is {mode.damping:.2g} of critical, where its beams are given "
                f"{meant:.2g}: a beam has its ratio with what it carries taken rigid; give single "
                "beams more or less until 'pliant modes' shows what is meant"
            )
            return


def _modes(body: TreeBody) -> Iterator[str]:
    reduced = body.reduced
    mass = np.diag(undeformed_integrals(reduced).Mee)
    critical = 2.0 * np.sqrt(np.diag(reduced.stiffness) * mass)
    ratios = np.diag(reduced.damping) / np.where(critical > 0.0, critical, np.inf)
    if reduced.unit_damping is not None:  # a beam's ratio is that of its vibrations with a load
        ratios = np.array([damping_ratio(reduced)])
    worst = int(np.argmax(ratios))
    if ratios[worst] >= _MOST_DAMPED:
        yield (
            f"bodies.{body.name}: the damping of mode {worst + 1} is {ratios[worst]:.3g} of "
            f"critical, which no structure has; give a ratio, {ratios[worst] / 100:.3g} for "
            f"{ratios[worst]:.3g} %"
        )
    lowest = float(clamped_frequencies(reduced)[0])
    if lowest < _SLOWEST:
        yield (
            f"bodies.{body.name}: its lowest frequency is {lowest:.2g} Hz, a period of "
            f"{1.0 / lowest:.2g} s; check lengths (m) and stiffness (N m2; 1 N/mm2 is 1e6 N/m2)"
        )


def _sagging(model: Model) -> Iterator[str]:
    if model.loops:
        return
    kernel = Kernel(model.blob)
    Motions(model, kernel).start()
    rest = np.zeros(model.u_size)
    udot = kernel.accelerations(kernel.q.copy(), rest, rest).copy()
    mass = np.asarray(kernel.mass_matrix())
    is_mode, is_held = np.zeros(model.u_size, bool), np.zeros(model.u_size, bool)
    for slots in model.bodies:
        is_mode[slots.etad] = True
    for joint in model.joints:
        is_held[joint.u] = model.mechanism.bodies[joint.body].joint.prescribed
    r = np.flatnonzero(~is_mode & ~is_held)
    Q = mass @ udot
    for slots, body in zip(model.bodies, model.mechanism.bodies, strict=True):
        Q[slots.etad] += body.reduced.stiffness @ kernel.q[slots.eta]
    Q -= mass[:, is_held] @ udot[is_held]
    R = Q - mass[:, r] @ np.linalg.lstsq(mass[np.ix_(r, r)], Q[r], rcond=None)[0]  # (1)
    for slots, body in zip(model.bodies, model.mechanism.bodies, strict=True):
        if not body.reduced.mode_count:
            continue
        shapes, eta = Shapes(body.reduced), np.linalg.solve(body.reduced.stiffness, R[slots.etad])
        rotation, deflection = shapes.rotation(eta), shapes.deflection(eta)
        if rotation > LARGEST_ROTATION or deflection > shapes.length:
            yield (
                f"bodies.{body.name}: it bends by {deflection:.2g} m and {rotation:.2g} rad under "
                f"weight and loads at the start, more than modes carry ({LARGEST_ROTATION:g} rad); "
                "check lengths (m) and stiffness (N m2; 1 N/mm2 is 1e6 N/m2), or divide it"
            )


def _soft(bodies: list[TreeBody]) -> Iterator[str]:
    for body in bodies:
        reduced = body.reduced
        shapes, S = Shapes(reduced), undeformed_integrals(reduced).S[:, : reduced.mode_count]
        eta = np.linalg.solve(reduced.stiffness, _EARTH * S.T)  # a column for each axis
        deflection = max(shapes.deflection(column) for column in eta.T)
        if deflection > _SOFTEST * shapes.length:
            yield (
                f"bodies.{body.name}: on Earth it would bend by {deflection:.2g} m under its own "
                f"weight, {deflection / shapes.length:.2g} of its length; check stiffness (N m2; "
                "1 N/mm2 is 1e6 N/m2) and lengths (m)"
            )
