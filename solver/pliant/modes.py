"""Vibration of each body alone and of the assembled model at its start.

Of a body: its frequencies held at the head (clamped) and with nothing holding it (free-free).
The largest free-free frequency bounds what the body can bring into any assembly.

Of the model: ``K v = omega^2 M v`` at the start position and at rest, once with all joints free
and once with joints locked. M is the kernel's mass matrix. K is the sum of

- modal stiffness of the bodies and springs of joints and loops, as they stand in the model;
- what else depends on position: gravity (pendulums and, on bodies with geometric stiffening, the
  effect of their own weight), loads of the model at t = 0, stops that are touched: the exact
  derivative of the kernel's generalised forces at rest, less the elastic ones.

Loops leave only some motions: both matrices are taken over a basis of these, with the forces that
hold the loops at the start (``at_rest``).

What is left out: friction, centrifugal stiffening and gyroscopic coupling (the model is taken at
rest). If gravity or loads move the model away from its start, the start is no equilibrium and the
frequencies are those of its first moments.

Cost: one dense symmetric eigenvalue problem of the size of the model; with gravity also one
derivative of the forces for every freedom.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from pliant._kernel import Kernel
from pliant.at_rest import AtRest, Indices
from pliant.closing import allowed_motions, loop_speed_jacobian
from pliant.modal_integrals import clamped_frequencies, free_free_frequencies
from pliant.model import Model
from pliant.notebook import assembled_modes_table, body_modes_table
from pliant.reduced import Array
from pliant.simulation import as_model
from pliant.system import System

_TURN = 2.0 * np.pi
_NO_STIFFNESS = 1e-12  # of the largest: rounding
_ROUNDING = 1e-12  # of the largest omega^2 that gravity and loads make: what they leave of zero


@dataclass(frozen=True)
class BodyModes:
    """Frequencies in Hz of one flexible body."""

    name: str
    clamped: Array
    free_free: Array

    def __repr__(self) -> str:
        clamped, free = (_listed(x) for x in (self.clamped, self.free_free))
        return f"BodyModes({self.name!r}: clamped {clamped} Hz; free-free {free} Hz)"


class AllBodyModes(tuple[BodyModes, ...]):
    """The frequencies of every flexible body of a model, shown as a table in notebooks."""

    def _repr_html_(self) -> str:
        return body_modes_table(self)


@dataclass(frozen=True)
class Mode:
    """A mode of the assembled model.

    ``frequency`` is in Hz, negative for a motion that gravity makes grow (an inverted pendulum),
    then with the rate of growth over 2 pi as its size. ``damping`` is the ratio to critical.
    ``shares`` tell where its potential energy is: in bodies, springs of joints and loops, gravity;
    largest first, those above a thousandth.
    """

    frequency: float
    damping: float
    shares: dict[str, float]


@dataclass(frozen=True)
class AssembledModes:
    """``rigid`` freedoms that nothing holds, then the vibrations by ascending frequency."""

    rigid: int
    modes: tuple[Mode, ...]

    def __repr__(self) -> str:
        rigid = f"{self.rigid} rigid freedom{'' if self.rigid == 1 else 's'}"
        modes = f"{len(self.modes)} mode{'' if len(self.modes) == 1 else 's'}"
        span = f": {_listed(self.frequencies)} Hz" if self.modes else ""
        return f"AssembledModes({rigid}, {modes}{span})"

    def _repr_html_(self) -> str:
        return assembled_modes_table(self)

    @property
    def frequencies(self) -> Array:
        """Of the vibrations, Hz, ascending; negative for what grows."""
        return np.array([mode.frequency for mode in self.modes])


def _listed(frequencies: Array) -> str:
    shown = [f"{x:.4g}" for x in frequencies[:8]]
    return ", ".join([*shown, "..."] if len(frequencies) > 8 else shown)


def body_modes(system: System | Model | str) -> AllBodyModes:
    """Frequencies of every flexible body.

    >>> for body in pl.body_modes("arm.yaml"):                 # doctest: +SKIP
    ...     print(body.name, body.clamped, body.free_free)
    """
    return AllBodyModes(
        BodyModes(body.name, clamped_frequencies(body.reduced), free_free_frequencies(body.reduced))
        for body in as_model(system).mechanism.bodies
        if body.reduced.mode_count
    )


def assembled_modes(system: System | Model | str, *, locked: bool = False) -> AssembledModes:
    """Vibrations of the model at its start.

    ``locked`` holds every joint and wheel; a body that hangs on nothing (a free joint to ground)
    stays free even then. Joints with prescribed motion are held in either case.

    >>> pl.assembled_modes("arm.yaml", locked=True).frequencies    # doctest: +SKIP
    """
    rested = AtRest(as_model(system))
    model, kept = rested.model, _kept(rested.model, locked)
    stiffness, damping = _elastic(model)
    springs, dampers = _loop_elastic(model, rested.kernel)
    basis = rested.allowed(kept)
    mass = basis.T @ rested.mass() @ basis
    elastic = basis.T @ (stiffness + sum(springs.values(), np.zeros_like(stiffness))) @ basis
    further = np.zeros_like(elastic)
    if _has_further_forces(model):
        further = _without_rounding(rested.stiffness(kept, basis) - elastic, mass)
    rigid, squares, vectors = _solve(elastic + further, mass)
    modes = []
    for square, vector in zip(squares, (basis @ vectors).T, strict=True):
        omega = np.sqrt(abs(square))
        ratio = float(vector @ (damping + dampers) @ vector / (2.0 * omega))
        frequency = float(np.copysign(omega, square)) / _TURN
        shares = _shares(model, stiffness, springs, vector, float(square))
        modes.append(Mode(frequency, ratio, shares))
    return AssembledModes(rigid, tuple(modes))


def elastic_vibrations(
    model: Model, freedoms: Array, count: int | None = None
) -> tuple[Array, Array]:
    """The lowest ``count`` frequencies (Hz, ascending; None: all) by elasticity alone, and their
    mass-normalised shapes (u_size, n).

    Gravity and loads are left out; of all speeds only the given ``freedoms`` take part. Solved as
    M v = K v / omega^2, which keeps the digits of slow vibrations of large models.
    """
    kernel = Kernel(model.blob)
    stiffness, _ = _elastic(model)
    springs, _ = _loop_elastic(model, kernel)
    basis = allowed_motions(kernel, np.eye(model.u_size)[:, freedoms])
    total = stiffness + sum(springs.values(), np.zeros_like(stiffness))
    K = basis.T @ total @ basis
    if model.loops:  # motions without stiffness are combinations of coordinates: single them out
        squares, turn = eigh(K)
        K = np.diag(np.where(squares > _NO_STIFFNESS * squares[-1:].max(initial=0.0), squares, 0.0))
        basis = basis @ turn
    held = np.any(K != 0.0, axis=0)
    M = basis.T @ np.asarray(kernel.mass_matrix()) @ basis
    if not held.any():
        return np.zeros(0), np.zeros((model.u_size, 0))
    follow = np.zeros((int(np.sum(~held)), int(np.sum(held))))
    if len(follow):
        follow = -cho_solve(cho_factor(M[np.ix_(~held, ~held)]), M[np.ix_(~held, held)])
    felt = M[np.ix_(held, held)] + M[np.ix_(held, ~held)] @ follow
    size = len(felt)
    kept = size if count is None else min(count, size)
    inverse_squares, shapes = eigh(
        0.5 * (felt + felt.T), K[np.ix_(held, held)], subset_by_index=[size - kept, size - 1]
    )
    massive = inverse_squares > 0.0  # a combination without mass of its own has no frequency
    omega = 1.0 / np.sqrt(inverse_squares[massive][::-1])
    vectors = np.zeros((len(K), len(omega)))
    vectors[held] = shapes[:, massive][:, ::-1] * omega  # K-normalised before
    vectors[~held] = follow @ vectors[held]
    return omega / _TURN, basis @ vectors


def highest_frequency(system: System | Model | str) -> float:
    """Highest frequency in rad/s of the assembled model, joints free; 0 without vibrations."""
    frequencies = assembled_modes(system).frequencies
    return float(_TURN * max(frequencies.max(initial=0.0), 0.0))


def _elastic(model: Model) -> tuple[Array, Array]:
    """Stiffness and damping matrices of modes and joint springs, over all speeds."""
    size = model.u_size
    stiffness, damping = np.zeros((size, size)), np.zeros((size, size))
    for joint in model.joints:
        tree = model.mechanism.bodies[joint.body].joint
        index = np.arange(joint.u.start, joint.u.stop)
        stiffness[index, index] = tree.stiffness
        damping[index, index] = tree.viscous
    for slots, body in zip(model.bodies, model.mechanism.bodies, strict=True):
        stiffness[slots.etad, slots.etad] = body.reduced.stiffness
        damping[slots.etad, slots.etad] = body.reduced.damping
    return stiffness, damping


def _loop_elastic(model: Model, kernel: Kernel) -> tuple[dict[str, Array], Array]:
    """Stiffness matrices of the springs of loops by name, and damping of all, over all speeds."""
    springs: dict[str, Array] = {}
    dampers = np.zeros((model.u_size, model.u_size))
    if not model.loops:
        return springs, dampers
    along = loop_speed_jacobian(model, kernel)
    for slots, loop in zip(model.loops, model.mechanism.loops, strict=True):
        S = along[slots.freedoms]
        if len(S) and np.any(loop.joint.stiffness):
            springs[slots.name] = (S.T * loop.joint.stiffness) @ S
        if len(S):
            dampers += (S.T * loop.joint.viscous) @ S
    return springs, dampers


def _kept(model: Model, locked: bool) -> Indices:
    """Indices of the speeds that take part."""
    kept: list[int] = []
    for joint in model.joints:
        body = model.mechanism.bodies[joint.body]
        floating = body.joint.type == "free" and body.parent < 0
        if not body.joint.prescribed and (floating or not locked):
            kept += range(joint.u.start, joint.u.stop)
    for slots in model.bodies:
        kept += range(slots.etad.start, slots.etad.stop)
    if not locked:
        kept += [wheel.u for wheel in model.wheels]
    return np.array(sorted(kept), dtype=np.intp)


def _solve(stiffness: Array, mass: Array) -> tuple[int, Array, Array]:
    """Number of rigid freedoms; omega^2 and mass-normalised shapes of the vibrations."""
    # Coordinates without any stiffness move by inertia alone and are eliminated, so that they do
    # not come out as small frequencies made of rounding errors.
    held = np.flatnonzero(np.any(stiffness != 0.0, axis=0))
    loose = np.setdiff1d(np.arange(len(mass)), held)
    if not held.size:
        return len(loose), np.zeros(0), np.zeros((len(mass), 0))
    K, M = stiffness[np.ix_(held, held)], mass[np.ix_(held, held)]
    follow = np.zeros((len(loose), len(held)))
    if loose.size:
        M_lh = mass[np.ix_(loose, held)]
        follow = -cho_solve(cho_factor(mass[np.ix_(loose, loose)]), M_lh)
        M = M + M_lh.T @ follow
    squares, shapes = _vibrations(K, 0.5 * (M + M.T))
    vectors = np.zeros((len(mass), len(held)))
    vectors[held] = shapes
    vectors[loose] = follow @ shapes
    # gravity can leave combinations of joints without stiffness: what cancels to rounding
    sizes = np.abs(shapes)
    still = np.abs(squares) <= 1e-11 * np.sum(sizes * (np.abs(K) @ sizes), axis=0)
    return len(loose) + int(still.sum()), squares[~still], vectors[:, ~still]


def _vibrations(K: Array, M: Array) -> tuple[Array, Array]:
    """omega^2 and shapes, slow ones not drowned by the rounding of fast ones.

    Of shapes that are right to rounding, v^T K v is right to rounding squared, so that the slow
    part is solved once more by itself.
    """
    squares, shapes = eigh(K, M)
    slow = np.abs(squares) < 1e-8 * np.abs(squares).max()
    if slow.any():
        V = shapes[:, slow]
        squares[slow], turned = eigh(V.T @ K @ V)
        shapes[:, slow] = V @ turned
    return squares, shapes


def _shares(
    model: Model, stiffness: Array, springs: dict[str, Array], vector: Array, square: float
) -> dict[str, float]:
    """Parts of the energy of a mass-normalised shape, which is omega^2 in all."""
    energy = vector * (stiffness @ vector)  # no stiffness couples two elements
    parts = {f"joint {j.name}": float(energy[j.u].sum()) for j in model.joints}
    parts |= {f"body {b.name}": float(energy[b.etad].sum()) for b in model.bodies}
    parts |= {f"loop {name}": float(vector @ K @ vector) for name, K in springs.items()}
    parts["gravity and loads"] = square - sum(parts.values())
    ordered = sorted(parts.items(), key=lambda item: -abs(item[1]))
    return {name: part / square for name, part in ordered if abs(part) > 1e-3 * abs(square)}


def _without_rounding(further: Array, mass: Array) -> Array:
    """What is only rounding must not turn a free coordinate into a spring."""
    inertia = np.sqrt(np.diag(mass))
    size = np.abs(further) / np.outer(inertia, inertia)
    return np.where(size > _ROUNDING * size.max(initial=0.0), further, 0.0)


def _has_further_forces(model: Model) -> bool:
    joints = [body.joint for body in model.mechanism.bodies]
    loops = [loop.joint for loop in model.mechanism.loops]
    return bool(
        np.any(model.mechanism.gravity)
        or model.mechanism.loads
        or any(np.any(joint.stop_stiffness) for joint in joints)
        or any(joint.quaternion and np.any(joint.stiffness) for joint in joints)
        or any(np.any(joint.stiffness) or np.any(joint.stop_stiffness) for joint in loops)
    )
