"""The longest step at which a model is stable, and the step to take.

Close to a position a model moves by ``M a + (D + C) u + K x = 0``, with D the damping of modes and
joints, C that across loops, and K the stiffness. Damping is viscous, of stops, and the slope of
Coulomb friction where it is steepest, at rest (coulomb / transition_speed). With a step h that is
too long, the fastest of these motions changes its sign from each step to the next and grows. That
begins where

    M - (h/d) D - (h/c) C - (h/w)^2 K                                                       (1)

is no longer positive definite. An integrator is told from another by bounds: w on step times
frequency, d on step times the rate at which damping of modes and joints stops a motion, c likewise
of damping across loops; ``_BOUNDS`` has them. (1) is found by putting u(n+1) = -u(n) into
the integrator's formulas and is exact for euler_cromer and leapfrog. For rk4 it is exact without
damping and without stiffness (2 sqrt 2 on the imaginary axis, 2.785 on the real one) and on the
safe side in between: at 0.92 of the limit for a motion damped by 0.05 of critical, at 0.42 for one
damped critically.

A motion v loses (1) at the h with

    1/h = s(v),   s^2 v^T M v = s v^T (D/d + C/c) v + v^T K v / w^2                         (2)

and the longest stable step is 1 / max s(v). The motion with the largest s(v) is that with the
largest s v^T (D/d + C/c) v + v^T K v / w^2, an eigenvalue problem for a given s; s and v are
improved in turn, which converges quadratically.

In K are all stiffnesses that the model has where it starts, at rest: modes, springs of joints and
loops, weight and loads at t = 0, by the exact derivatives of the kernel's forces; and the
stops of joints and loops as if all were touched, at four times their stiffness: one that is met
and left gains energy from h omega = 1 on. Loops leave only some motions: all matrices are
taken over a basis of these. Prescribed joints are held.

A model that turns at its start is also moved by its speeds alone: a change u of them is turned by
M a = G u, with G the skew part of the derivative of M a by the speeds, over the same basis. This is
nutation and whirl. Together with K, of which K = L L^T is what resists,

    d/dt (u, L^T x) = ( G  -L ) (u, L^T x)                                                  (3)
                      ( L^T 0 )

has motions z = (u, L^T x) of the frequencies w, which turn at the rate g = |u^H G u| of |z| = 1.
Velocity products are taken at extrapolated speeds, so that an explicit integrator lets them grow at
any step, little at first: as g h (w h)^4 for leapfrog, and as g h (w h) for euler_cromer. With

    x = h w (g/w)^s,  s = 1/5 and 1/2                                                       (4)

it is by 8e-8 a step for leapfrog at x = 0.1, 4e-7 at 0.125, 2e-3 at 0.5 and 0.5 at 1. The bound on
x is where it grows tenfold within a thousand steps or so; rk4 has one on the imaginary axis,
2 sqrt 2 for w itself. Of the limit by (1) and that by spin the shorter one counts.

What cannot be seen from there: stiffness and damping that come from outside (controllers, contact
forces put on nodes), a position where the inertia felt is smaller, spin that comes later and what
it stiffens.

Cost: a derivative for every freedom, one mass matrix, and one dense symmetric eigenvalue problem,
of which only the largest value is sought, or some four with damping; of a model that spins another
derivative for every freedom and all eigenvalues of (3). The limits of models seen before are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from pliant._kernel import LONGEST_STEP, QUANTITIES, SHORTEST_STEP, Kernel
from pliant.at_rest import AtRest, Indices
from pliant.closing import loop_signals, loop_speed_jacobian
from pliant.errors import ModelError, StepWarning, warn
from pliant.inputs import Motions
from pliant.mechanism import TreeJoint
from pliant.model import Model
from pliant.options import INTEGRATORS
from pliant.reduced import Array

ACCURATE = 0.5  # step times omega above which the phase of a mode drifts visibly
DEFAULT_STEP = 1e-3  # s, where nothing asks for a shorter one

_CONVERGED = 1e-9
# Stops that are met and left count this much stiffer: at h omega between 1 and 2, where a spring
# that holds is stable, bodies are thrown back faster than they came.
_CONTACT = 4.0
_MOST_KEPT = 1000
_ANGULAR = 10  # where the angular velocity of a node begins in its signals
_NO_SPIN = 1e-9  # of the speeds at the start: rounding
_TURNED = 1e-3  # of its frequency: what turns a motion less is none of spin


class _Bounds(NamedTuple):
    """Of an integrator, see (1)."""

    oscillation: float
    damping: float
    across_loops: float
    spin: float
    share: float  # s of (4)


_BOUNDS = {
    "euler_cromer": _Bounds(oscillation=2.0, damping=2.0, across_loops=2.0, spin=0.1, share=0.5),
    # damping acts at the speed that the step leads to; across loops at one extrapolated by
    # u(n) + 2/3 (u(n) - u(n-1)) - 1/6 (u(n-1) - u(n-2))
    "leapfrog": _Bounds(oscillation=2.0, damping=np.inf, across_loops=0.75, spin=0.5, share=0.2),
    "rk4": _Bounds(2.0 * np.sqrt(2.0), 2.785, 2.785, spin=2.0 * np.sqrt(2.0), share=0.0),
}


@dataclass(frozen=True)
class StepLimit:
    """The longest stable step in s, infinite if there is none, and what sets it, such as
    ``bodies.boom``, ``joints.elbow.stops`` or ``joints.hub (spin)``."""

    step: float
    cause: str


_NO_LIMIT = StepLimit(np.inf, "nothing")
_known: dict[tuple[str, bytes], dict[str, StepLimit]] = {}


def step_limit(model: Model, integrator: str = "leapfrog") -> StepLimit:
    """The longest step at which an integrator is stable on a model near its start.

    >>> from pliant.compile import compile_model
    >>> from pliant.system import Body, Joint, System
    >>> cart = Body(mass=4.0, inertia=[1, 1, 1])
    >>> rail = Joint(type="prismatic", axis="x", child="cart", spring={"stiffness": 400.0})
    >>> step_limit(compile_model(System(name="s", bodies={"cart": cart}, joints={"rail": rail})))
    StepLimit(step=0.2, cause='joints.rail.spring')
    """
    return _limits(model, (integrator,))[integrator]


def step_limits(model: Model) -> dict[str, StepLimit]:
    """The limits of all integrators."""
    return _limits(model, INTEGRATORS)


def _limits(model: Model, integrators: Sequence[str]) -> dict[str, StepLimit]:
    if len(_known) >= _MOST_KEPT:
        _known.clear()
    # functions that move joints are not in the digest, but in what the model starts with
    kernel = _started(model)
    known = _known.setdefault((model.digest, kernel.q.tobytes() + kernel.u.tobytes()), {})
    if missing := [integrator for integrator in integrators if integrator not in known]:
        motion = _linearised(model)
        known |= {integrator: _limit(motion, _BOUNDS[integrator]) for integrator in missing}
    return {integrator: known[integrator] for integrator in integrators}


def _started(model: Model) -> Kernel:
    kernel = Kernel(model.blob)
    Motions(model, kernel).start()
    return kernel


def suggested_step(model: Model, integrator: str = "leapfrog") -> float | None:
    """The longest step that follows the fastest vibration, by half a radian, or stays as far below
    another limit, and follows how bodies turn at the start; rounded down to 1, 2 or 5 times a power
    of ten, which divides most durations. None: any will do."""
    share = ACCURATE / _BOUNDS[integrator].oscillation
    longest = min(share * step_limit(model, integrator).step, turning_step(model, integrator))
    return _rounded_down(longest) if 0.0 < longest < LONGEST_STEP else None


def turning_step(model: Model, integrator: str = "leapfrog") -> float:
    """The longest step that follows how bodies turn at the start: as far in a step as what spin
    turns at the suggested one. What turns about a middle axis is turned by little beside it, so
    that no limit of stability tells."""
    kernel, bounds = _started(model), _BOUNDS[integrator]
    heads = [i for i, node in enumerate(model.nodes) if node.name.endswith(".head")]
    rows = [(QUANTITIES.index("node"), i, _ANGULAR + axis) for i in heads for axis in range(3)]
    turning = np.zeros(len(rows))
    kernel.read(kernel.signals(np.array(rows, np.int32)), turning)
    fastest = np.linalg.norm(turning.reshape(-1, 3), axis=1).max(initial=0.0)
    share = ACCURATE / bounds.oscillation
    return share * bounds.spin / float(fastest) if fastest > 0.0 else np.inf


def default_step(model: Model, integrator: str = "leapfrog") -> float:
    """What a model gets that is not told: a millisecond, or what it needs if that is shorter, which
    divides a millisecond."""
    step = min(DEFAULT_STEP, suggested_step(model, integrator) or DEFAULT_STEP)
    if step < SHORTEST_STEP:
        limit = step_limit(model, integrator)
        raise ModelError.at(
            limit.cause,
            f"it would take steps of {step:g} s, {SHORTEST_STEP:g} s is the shortest; check its "
            "stiffness, its damping and the masses that it moves",
        )
    return step


def warn_of_step(model: Model, step: float, integrator: str) -> None:
    """Issues a StepWarning if the step is beyond the limit."""
    text = step_fault(model, step, integrator)
    if text is not None:
        warn(f"{model.name}: {text}", StepWarning)


def step_fault(model: Model, step: float, integrator: str) -> str | None:
    """What is wrong with a step that is too long, and the remedy; None if it is stable."""
    limit = step_limit(model, integrator)
    if step < limit.step:
        return None
    remedy = "take a shorter step"
    suggested = suggested_step(model, integrator)
    if suggested is not None:
        remedy = f"take {suggested:g} s"
    if limit.cause.endswith(".friction"):
        remedy += ", less friction or a larger transition_speed"
    return (
        f"a step of {step:g} s is beyond the limit of {integrator}, {limit.step:.3g} s, set by "
        f"{limit.cause}: the motion will grow or tremble; {remedy}"
    )


def _rounded_down(longest: float) -> float:
    """
    >>> _rounded_down(0.5 / 300.0)
    0.001
    """
    power = 10.0 ** np.floor(np.log10(longest))
    step = max(m for m in (1.0, 2.0, 5.0) if m * power <= longest * (1 + 1e-12)) * power
    return float(f"{step:.0e}")


# ------------------------------------------------------------------------------- the limit itself


class _Resistance(NamedTuple):
    """Something that resists motion: ``matrix`` over speeds of the model, or over combinations
    of them by rows."""

    where: str
    along: slice | Array
    matrix: Array

    def add_to(self, total: Array, basis: Array) -> None:
        if isinstance(self.along, slice):
            total[self.along] += self.matrix @ basis[self.along]
        else:
            total += self.along.T @ self.matrix @ (self.along @ basis)

    def power(self, motion: Array) -> float:
        own = motion[self.along] if isinstance(self.along, slice) else self.along @ motion
        return float(own @ self.matrix @ own)


class _Freedoms(NamedTuple):
    """Those of a joint or loop, among or as combinations of the model's speeds."""

    where: str
    along: slice | Array
    position: Array
    joint: TreeJoint


class _Whirl(NamedTuple):
    """A motion of (3), and where most of its kinetic energy is."""

    frequency: float
    turned: float
    cause: str


class _Linearised(NamedTuple):
    """The model near its start: K over a basis of its motions in which M is the unit matrix, what
    resists them, over all speeds, and how spin turns them."""

    basis: Array
    stiffness: Array
    springs: list[_Resistance]
    stops: list[_Resistance]
    damping: list[_Resistance]
    across_loops: list[_Resistance]
    whirls: list[_Whirl]


def _linearised(model: Model) -> _Linearised:
    rested = AtRest(model)
    speeds = _moving(model)
    basis = rested.allowed(speeds)
    try:
        basis = solve_triangular(cholesky(basis.T @ rested.mass() @ basis), basis.T, trans="T").T
    except LinAlgError:  # what has no inertia is named by the first evaluation
        basis = basis[:, :0]
    freedoms = list(_freedoms(rested.model, rested.kernel))
    stops = list(_stops(freedoms))
    damping = [*_damping(model, freedoms), *_friction(freedoms)]
    stiffness = rested.stiffness(speeds, basis) + basis.T @ _sum(stops, basis)
    return _Linearised(
        basis=basis,
        stiffness=stiffness,
        springs=list(_springs(model, freedoms)),
        stops=stops,
        damping=[r for r in damping if isinstance(r.along, slice)],
        across_loops=[r for r in damping if not isinstance(r.along, slice)],
        whirls=_whirls(model, rested.mass(), basis, stiffness),
    )


def _limit(motion: _Linearised, bounds: _Bounds) -> StepLimit:
    limits = [_limit_at_rest(motion, bounds)]
    for whirl in motion.whirls:
        rate = whirl.frequency * (whirl.turned / whirl.frequency) ** bounds.share
        limits.append(StepLimit(float(bounds.spin / rate), whirl.cause))
    limit = min(limits, key=lambda limit: limit.step)
    return limit if limit.step < LONGEST_STEP else _NO_LIMIT


def _limit_at_rest(motion: _Linearised, bounds: _Bounds) -> StepLimit:
    basis = motion.basis
    slowing = basis.T @ (
        _sum(motion.damping, basis) / bounds.damping
        + _sum(motion.across_loops, basis) / bounds.across_loops
    )
    inverse, v = _largest(slowing, motion.stiffness / bounds.oscillation**2)
    if not inverse > 0.0:
        return _NO_LIMIT
    step, fastest = 1.0 / inverse, basis @ v
    # what each takes away of (1), which is 1 - 1 for the fastest motion
    parts: dict[str, float] = {}
    for resistances, factor in (
        (motion.springs, (step / bounds.oscillation) ** 2),
        (motion.stops, (step / bounds.oscillation) ** 2),
        (motion.damping, step / bounds.damping),
        (motion.across_loops, step / bounds.across_loops),
    ):
        parts |= {r.where: factor * r.power(fastest) for r in resistances}
    parts["weight and loads"] = 1.0 - sum(parts.values())
    return StepLimit(float(step), max(parts, key=lambda where: parts[where]))


def _whirls(model: Model, mass: Array, basis: Array, stiffness: Array) -> list[_Whirl]:
    """The motions that spin turns, by (3)."""
    kernel, n = _started(model), basis.shape[1]
    fastest = np.abs(kernel.u).max(initial=0.0)
    if not n or not fastest > 0.0 or kernel.evaluate().code:
        return []
    rows = [(QUANTITIES.index("udot"), 0, i) for i in range(model.u_size)]
    accelerations = kernel.signals(np.array(rows, np.int32))
    changes = [kernel.derivative(accelerations, u=np.ascontiguousarray(v)) for v in basis.T]
    turning = basis.T @ mass @ np.array(changes).T
    G = 0.5 * (turning - turning.T)
    if np.abs(G).max() <= _NO_SPIN * fastest:
        return []
    squares, shapes = eigh(stiffness)
    L = shapes * np.sqrt(np.maximum(squares, 0.0))
    both = np.block([[G, -L], [L.T, np.zeros((n, n))]])
    # skew: to a real part a of a motion belongs the imaginary part b = both a / w
    squares, real_parts = eigh(both.T @ both)
    found = []
    for w, a in zip(np.sqrt(np.maximum(squares, 0.0)), real_parts.T, strict=True):
        if not w > 0.0:
            continue
        u, v = a[:n], (both @ a)[:n] / w
        turned = abs(float(u @ G @ v))
        if turned > _TURNED * w:
            found.append(_Whirl(float(w), turned, _where(model, mass, basis @ u, basis @ v)))
    return found


def _where(model: Model, mass: Array, *parts: Array) -> str:
    energy = np.sum([part * (mass @ part) for part in parts], axis=0)
    shares = {f"joints.{slots.name} (spin)": float(energy[slots.u].sum()) for slots in model.joints}
    for body in model.bodies:
        shares[f"bodies.{body.name} (spin)"] = float(energy[body.etad].sum())
    return max(shares, key=lambda where: shares[where])


def _largest(slowing: Array, stiffness: Array) -> tuple[float, Array]:
    """max s(v) by (2), and its v, of unit length."""

    def s(d: Array, k: Array) -> Array:
        return np.asarray(0.5 * d + np.sqrt(np.maximum(0.25 * d**2 + k, 0.0)))

    n = len(stiffness)
    largest = float(s(np.diag(slowing), np.diag(stiffness)).max(initial=0.0))
    v = np.zeros(n)
    while largest > 0.0:
        _, vectors = eigh(largest * slowing + stiffness, subset_by_index=[n - 1, n - 1])
        v = vectors[:, 0]
        before, largest = largest, float(s(v @ slowing @ v, v @ stiffness @ v))
        if largest <= before * (1.0 + _CONVERGED) or not slowing.any():
            break
    return largest, v


def _moving(model: Model) -> Indices:
    """All speeds but those of prescribed joints."""
    held = [
        i
        for joint in model.joints
        if model.mechanism.bodies[joint.body].joint.prescribed
        for i in range(joint.u.start, joint.u.stop)
    ]
    return np.delete(np.arange(model.u_size), held)


# ----------------------------------------------------------------------------- what resists motion


def _freedoms(model: Model, kernel: Kernel) -> Iterator[_Freedoms]:
    """Of joints and loops that are not prescribed."""
    for slots in model.joints:
        joint = model.mechanism.bodies[slots.body].joint
        if not joint.prescribed:
            yield _Freedoms(f"joints.{slots.name}", slots.u, kernel.q[slots.q].copy(), joint)
    signals = loop_signals(model, kernel, "loop_position")
    if not len(signals):
        return
    positions = np.zeros(len(signals))
    kernel.read(signals, positions)
    along = loop_speed_jacobian(model, kernel)
    for loop, tree_loop in zip(model.loops, model.mechanism.loops, strict=True):
        own = loop.freedoms
        if own.start < own.stop:
            yield _Freedoms(f"loops.{loop.name}", along[own], positions[own], tree_loop.joint)


def _springs(model: Model, freedoms: list[_Freedoms]) -> Iterator[_Resistance]:
    for slots, body in zip(model.bodies, model.mechanism.bodies, strict=True):
        if body.reduced.mode_count:
            yield _Resistance(f"bodies.{slots.name}", slots.etad, body.reduced.stiffness)
    for where, along, _, joint in freedoms:
        if joint.stiffness.any():
            yield _Resistance(f"{where}.spring", along, np.diag(joint.stiffness))


def _stops(freedoms: list[_Freedoms]) -> Iterator[_Resistance]:
    """Those that are not touched, and so not in the kernel's forces."""
    for where, along, position, joint in freedoms:
        if joint.stop_stiffness.any():
            inside = (joint.stop_lower <= position) & (position <= joint.stop_upper)
            stiffness = _CONTACT * joint.stop_stiffness * inside
            yield _Resistance(f"{where}.stops", along, np.diag(stiffness))


def _damping(model: Model, freedoms: list[_Freedoms]) -> Iterator[_Resistance]:
    for slots, body in zip(model.bodies, model.mechanism.bodies, strict=True):
        if body.reduced.damping.any():
            yield _Resistance(f"bodies.{slots.name} (damping)", slots.etad, body.reduced.damping)
    for where, along, _, joint in freedoms:
        if joint.viscous.any():
            yield _Resistance(f"{where}.friction.viscous", along, np.diag(joint.viscous))
        if joint.stop_damping.any():
            yield _Resistance(f"{where}.stops.damping", along, np.diag(joint.stop_damping))


def _friction(freedoms: list[_Freedoms]) -> Iterator[_Resistance]:
    for where, along, _, joint in freedoms:
        if joint.coulomb.any():
            slope = joint.coulomb / joint.transition_speed
            yield _Resistance(f"{where}.friction", along, np.diag(slope))


def _sum(resistances: list[_Resistance], basis: Array) -> Array:
    """Of the matrices over all speeds, times a basis of motions."""
    total = np.zeros_like(basis)
    for resistance in resistances:
        resistance.add_to(total, basis)
    return total
