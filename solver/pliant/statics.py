"""Where a model comes to rest under its weight and loads.

>>> pl.simulate("arm.yaml", 10.0, start="equilibrium")    # doctest: +SKIP
>>> pl.equilibrium("arm.yaml")                            # doctest: +SKIP

A stable equilibrium is a minimum of the potential energy on the loops. From its start the model
descends to the minimum that lies below it, in steps of bounded length. At each position the
directions v of

    K v = k D v,    D = diag(M),                                                             (1)

over the motions that loops allow (``at_rest``), have each a stiffness k and a force f = v^T Q. D,
the inertia of every freedom and mode by itself, makes angles, lengths and modal coordinates
comparable, and leaves alone what nothing acts on. A step is

    s = sum_i v_i f_i / (k_i + mu),    mu >= 0, mu > - k_i,                                  (2)

Newton's with mu = 0. Otherwise it is where the model gets, released from rest, in one implicit
Euler step of the length 1 / sqrt(mu): stiff directions go all the way, soft and unstable ones as
far as mu lets them; mu is such that no joint and no node turns by more than 0.3 rad. Then the loops
are closed again, and the step is taken if the forces have done work along it, about as much as was
foreseen,

    W = int_0^1 Q(q + s x) . s dx  (Simpson),    W_foreseen = sum_i f_i s_i - k_i s_i^2 / 2. (3)

The work of loads without a potential counts like any other. Nothing is lost to cancellation near
the end, as it would be in differences of energies. And since no load, however large, can carry the
model up and over a ridge, loads need not be applied bit by bit.

Where all forces vanish but a stiffness is negative, the model balances: to which side it would
fall is not for the solver to choose, and it says so. Directions without force and stiffness are
left alone. What falls without end is named.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from pliant.at_rest import AtRest, Indices
from pliant.channels import all_channels
from pliant.coordinates import displaced
from pliant.errors import SolverError
from pliant.mechanism import Mechanism
from pliant.model import Model
from pliant.notebook import coordinates_table
from pliant.reduced import Array
from pliant.simulation import as_model
from pliant.system import System

_LARGEST_TURN = 0.3  # rad in a step: a longer one may end beyond a neighbouring maximum
_FIRST_REACH = 0.1  # rad, and lengths of the model
_STEPS = 1000
_SMALL = 1e-14  # rad, or lengths of the model: a step that is none
_NO_FORCE = 1e-10  # of all forces, each by itself: what rounding may leave of forces that cancel
_NO_STIFFNESS = 1e-12  # of the largest stiffness, likewise
_CLOSED = 1e-13  # rad, or lengths of the model
_CLOSING_STEPS = 20
_FALLEN = 1e6  # lengths of the model, beyond which nothing will stop a fall
_TURNED = 100.0  # rad, likewise


class RestPosition(np.ndarray):
    """Coordinates q at rest: an array, shown in notebooks with the names of its numbers.

    What is calculated from it, or cut out of it, is an array like any other.
    """

    coordinates: tuple[tuple[str, str], ...]
    """Name and unit of every coordinate, such as ``("joint.elbow.q", "rad")``."""

    def __array_finalize__(self, origin: object) -> None:
        self.coordinates = ()

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def _repr_html_(self) -> str | None:
        if len(self.coordinates) != self.size:
            return None
        return coordinates_table(self.coordinates, self)

    @classmethod
    def of(cls, model: Model, q: Array) -> RestPosition:
        """The coordinates of a model."""
        position = q.view(cls)
        named = {c.index: (c.name, c.unit) for c in all_channels(model) if c.source[0] == "q"}
        position.coordinates = tuple(named[i] for i in range(len(q)))
        return position


def equilibrium(system: System | Model | str) -> Array:
    """Coordinates at which the model rests, found downhill from its start, with loads as they are
    at t = 0.

    Prescribed joints stay where their motion has them at t = 0. Freedoms on which nothing acts are
    left alone. Raises a SolverError that names the freedom which nothing holds, or along which the
    model balances without being stable.

    >>> pl.equilibrium(pendulum)                          # doctest: +SKIP
    array([1.57079633])
    """
    model = as_model(system)
    return RestPosition.of(model, _Descent(model).rest())


def resting(model: Model) -> Mechanism:
    """The mechanism with its start where it rests; speeds stay as given."""
    q = equilibrium(model)
    bodies = []
    for joint, slots, body in zip(model.joints, model.bodies, model.mechanism.bodies, strict=True):
        there = dataclasses.replace(body.joint, start=q[joint.q].copy())
        bodies.append(dataclasses.replace(body, joint=there, eta=q[slots.eta].copy()))
    return dataclasses.replace(model.mechanism, bodies=tuple(bodies), start=None)


@dataclass(frozen=True)
class _Directions:
    """The directions (1) at a position."""

    v: Array  # (u_size, n), v^T D v = 1
    k: Array  # (n,)
    f: Array  # (n,)
    pushed: NDArray[np.bool_]  # (n,) whether the force is more than rounding
    held: NDArray[np.bool_]  # (n,) whether there is stiffness
    unstable: NDArray[np.bool_]  # (n,) whether it is negative


class _Descent:
    """A model on its way down."""

    def __init__(self, model: Model) -> None:
        self.rested = AtRest(model)
        self.model = self.rested.model
        self.speeds = _moving(self.model)
        self.wheels = np.array([wheel.u for wheel in model.wheels], dtype=np.intp)
        self.turns, self.shifts = _displacements(self.model, self.rested.length)
        self.ease = _ease(self.model, self.rested.mass())[self.speeds]

    def rest(self) -> Array:
        q = self._moved(self.rested.q, np.zeros(self.model.u_size))
        self._refuse_drift(q)
        travelled = np.zeros(self.model.u_size)
        reach, before = _FIRST_REACH, np.inf
        for _ in range(_STEPS):
            here = self._directions(q)
            if not here.pushed.any():
                # only rounding is left: Newton's steps as long as they make it less
                step, _, _ = self._step(here, reach)
                size = max(self._extent(step))
                if size < _SMALL or size >= before:
                    self._refuse_balance(here)
                    return q
                before = size
                q = self._moved(q, step)
                continue
            step, reach = self._descending(q, here, reach)
            q = displaced(self.model, q, step)
            travelled += step
            turn, shift = self._extent(travelled)
            if turn > _TURNED or shift > _FALLEN or not step.any():
                break
        raise self._fall(q)

    def _moved(self, q: Array, step: Array) -> Array:
        closing = self._closing(q, step)
        return displaced(self.model, q, step if closing is None else closing)

    # ------------------------------------------------------------------------- one position

    def _directions(self, q: Array) -> _Directions:
        self.rested.put(q)
        basis = self.rested.allowed(self.speeds)
        if not basis.size:
            none = np.zeros(0)
            return _Directions(basis, none, none, none > 0, none > 0, none > 0)
        D = basis.T @ (np.diag(self.rested.mass())[:, None] * basis)
        k, shapes = eigh(self.rested.stiffness(self.speeds, basis), D)
        v = np.asarray(basis @ shapes)
        f = v.T @ self._forces()
        size = self._all_forces(q, v)
        # forces of this size turn with the directions, which makes stiffness unless they cancel
        turning = size * np.max(self.turns[:, None] * np.abs(v), axis=0)
        no_stiffness = _NO_STIFFNESS * np.maximum(np.abs(k).max(), turning)
        return _Directions(
            v,
            k,
            f,
            pushed=np.abs(f) > _NO_FORCE * size,
            held=k > no_stiffness,
            unstable=k < -no_stiffness,
        )

    def _forces(self) -> Array:
        """Q on all speeds; wheels follow by inertia, and pass what drives them on to their body."""
        Q, w = self.rested.forces(), self.wheels
        if not w.size:
            return Q
        mass = self.rested.mass()
        return np.asarray(Q - mass[:, w] @ np.linalg.solve(mass[np.ix_(w, w)], Q[w]))

    def _all_forces(self, q: Array, v: Array) -> float:
        """The size that f would have if weight, loads and springs did not balance each other."""
        mechanism = self.model.mechanism
        elastic = np.zeros(self.model.u_size)
        mass = 0.0
        for joint, slots, body in zip(
            self.model.joints, self.model.bodies, mechanism.bodies, strict=True
        ):
            mass += body.reduced.mass
            count = len(body.joint.translations) + len(body.joint.rotations)
            stretch = q[joint.q][:count] - body.joint.rest[:count]
            elastic[joint.u][:count] = body.joint.stiffness[:count] * stretch
            elastic[slots.etad] = body.reduced.stiffness @ q[slots.eta]
        weight = float(np.linalg.norm(mechanism.gravity) * np.sqrt(mass))
        # springs of loops, whose positions are exact to rounding of a length or a radian
        across = 0.0
        for loop in mechanism.loops:
            one = np.repeat(
                [self.rested.length, 1.0], [len(loop.joint.translations), len(loop.joint.rotations)]
            )
            far = np.maximum(np.abs(loop.joint.rest[: len(one)]), one)
            across += float(loop.joint.stiffness[: len(one)] @ far)
        single = np.abs(elastic) + np.abs(self.rested.load_forces()).sum(axis=0)
        motion = np.linalg.norm(v, axis=1)
        return weight + float(single @ motion) + across * float(motion.max(initial=0.0))

    # ----------------------------------------------------------------------------- one step

    def _descending(self, q: Array, here: _Directions, reach: float) -> tuple[Array, float]:
        """The step to take, loops closed at its end, and the reach of the next; none if even the
        shortest step leads up."""
        while reach > _SMALL:
            step, foreseen, is_whole = self._step(here, reach)
            closing = self._closing(q, step)
            if closing is not None:
                work = self._work(q, closing)
                if work > 0.1 * foreseen:
                    is_short = work > 0.75 * foreseen and not is_whole
                    return closing, 2.0 * reach if is_short else reach
            reach = 0.25 * min(reach, max(self._extent(step)))
        return np.zeros(self.model.u_size), reach

    def _step(self, here: _Directions, reach: float) -> tuple[Array, float, bool]:
        """The step (2) within reach, the work foreseen (3), and whether it is all of Newton's."""
        taken = here.pushed | here.held
        k, f, v = here.k[taken], here.f[taken], here.v[:, taken]
        is_whole = bool(here.held[taken].all())
        z = f / k if is_whole else f
        if not is_whole or not self._is_within(v @ z, reach):
            is_whole = False
            least = max(0.0, -float(k.min()))
            # with this little the step is too long, in soft directions or in stiff ones
            more = max(max(self._extent(v @ f)) / _FALLEN, _NO_STIFFNESS * float(np.abs(k).max()))
            while not self._is_within(v @ (z := f / (k + least + more)), reach):
                more *= 2.0
        return np.asarray(v @ z), float(f @ z - 0.5 * k @ z**2), is_whole

    def _extent(self, step: Array) -> tuple[float, float]:
        """The largest turn of a joint or by a mode, rad, and shift, in lengths of the model."""
        turns, shifts = self.turns * np.abs(step), self.shifts * np.abs(step)
        return float(turns.max(initial=0.0)), float(shifts.max(initial=0.0))

    def _is_within(self, step: Array, reach: float) -> bool:
        turn, shift = self._extent(step)
        return turn <= min(reach, _LARGEST_TURN) and shift <= reach

    def _work(self, q: Array, step: Array) -> float:
        """What the forces do along a step (3)."""
        work = 0.0
        for part, weight in ((0.0, 1 / 6), (0.5, 4 / 6), (1.0, 1 / 6)):
            self.rested.put(displaced(self.model, q, part * step))
            work += weight * float(self._forces() @ step)
        return work

    def _closing(self, q: Array, step: Array) -> Array | None:
        """The step changed so that it ends with closed loops, by what gives way most easily;
        None if that cannot be."""
        step = step.copy()
        for _ in range(_CLOSING_STEPS):
            self.rested.put(displaced(self.model, q, step))
            gaps, jacobian = self.rested.open_rows()
            if np.abs(gaps).max(initial=0.0) <= _CLOSED:
                return step
            if not np.isfinite(gaps).all():
                return None
            J = jacobian[:, self.speeds] * self.ease
            step[self.speeds] -= self.ease * np.linalg.lstsq(J, gaps, rcond=None)[0]
        return None

    # ------------------------------------------------------------------------- no way down

    def _refuse_balance(self, here: _Directions) -> None:
        if not here.unstable.any():
            return
        mass = self.rested.mass()
        v = here.v[:, here.unstable | here.held]
        # among the true motions, with all of the mass matrix, the one that grows fastest
        squares, shapes = eigh(np.diag(here.k[here.unstable | here.held]), v.T @ mass @ v)
        motion = v @ shapes[:, 0]
        raise SolverError(
            "it balances here but is not stable: the least push would grow at this rate in 1/s; "
            "start it to the side where it shall come to rest, or hold it",
            time=0.0,
            element=self._name(motion * (mass @ motion)),
            value=float(np.sqrt(-squares[0])),
        )

    def _refuse_drift(self, q: Array) -> None:
        """What slides freely on the ground feels the sum of all forces on it, wherever it is."""
        self.rested.put(q)
        forces, loads = self._forces(), np.abs(self.rested.load_forces()).sum(axis=0)
        gravity = float(np.linalg.norm(self.model.mechanism.gravity))
        accelerations = np.zeros(self.model.u_size)
        masses = _drifting(self.model.mechanism)
        for joint in self.model.joints:
            if joint.body not in masses:
                continue
            mass, tree = masses[joint.body], self.model.mechanism.bodies[joint.body].joint
            for k in range(len(tree.translations)):
                i = joint.u.start + k
                is_pushed = abs(forces[i]) > _NO_FORCE * (mass * gravity + loads[i])
                if is_pushed and tree.stiffness[k] == 0.0 and tree.stop_stiffness[k] == 0.0:
                    accelerations[i] = forces[i] / mass
        if accelerations.any():
            raise self._falling(accelerations, np.abs(accelerations))

    def _fall(self, q: Array) -> SolverError:
        here = self._directions(q)
        mass = here.v.T @ self.rested.mass() @ here.v
        acceleration = np.asarray(here.v @ np.linalg.lstsq(mass, here.f, rcond=None)[0])
        return self._falling(acceleration, acceleration * self._forces())

    def _falling(self, acceleration: Array, shares: Array) -> SolverError:
        return SolverError(
            "no equilibrium: nothing brings it to rest, and it goes on with this acceleration in "
            "m/s2 or rad/s2; hold it by a spring, a stop or a motion, or take away what drives it",
            time=0.0,
            element=self._name(shares),
            value=float(acceleration[int(np.argmax(shares))]),
        )

    def _name(self, shares: Array) -> str:
        return self.model.speed_names[int(np.argmax(shares))]


def _ease(model: Model, mass: Array) -> Array:
    """How far a unit of work moves every coordinate: modes and springs by their stiffness, the
    rest by inertia as if on a spring much softer than those."""
    stiffness = np.zeros(model.u_size)
    for joint, slots, body in zip(model.joints, model.bodies, model.mechanism.bodies, strict=True):
        stiffness[joint.u] = body.joint.stiffness
        stiffness[slots.etad] = np.diag(body.reduced.stiffness)
    inertia = np.diag(mass)
    soft = 1e-6 * float((stiffness / inertia).max(initial=0.0)) or 1.0
    return np.asarray((stiffness + soft * inertia) ** -0.5)


def _drifting(mechanism: Mechanism) -> dict[int, float]:
    """Bodies whose joints stand on the ground, with the mass of all that hangs on them; without
    those that a loop ties to something else."""
    root: list[int] = []
    for i, body in enumerate(mechanism.bodies):
        root.append(i if body.parent < 0 else root[body.parent])
    masses = dict.fromkeys(root, 0.0)
    for i, body in enumerate(mechanism.bodies):
        masses[root[i]] += body.reduced.mass
    for loop in mechanism.loops:
        one, other = root[loop.child], -1 if loop.parent < 0 else root[loop.parent]
        if one != other:
            masses.pop(one, None)
            masses.pop(other, None)
    return masses


def _moving(model: Model) -> Indices:
    """Speeds of joints and modes that are not prescribed."""
    moving: list[int] = []
    for joint in model.joints:
        if not model.mechanism.bodies[joint.body].joint.prescribed:
            moving += range(joint.u.start, joint.u.stop)
    for body in model.bodies:
        moving += range(body.etad.start, body.etad.stop)
    return np.array(sorted(moving), dtype=np.intp)


def _displacements(model: Model, length: float) -> tuple[Array, Array]:
    """What a unit of every coordinate turns at most, in rad, and shifts, in lengths of the model:
    a joint its child, a mode the points and nodes of its body."""
    turns, shifts = np.zeros(model.u_size), np.zeros(model.u_size)
    for joint, slots, body in zip(model.joints, model.bodies, model.mechanism.bodies, strict=True):
        slides = len(body.joint.translations)
        shifts[joint.u][:slides] = 1.0 / length
        turns[joint.u][slides:] = 1.0
        part, nodes = body.reduced, body.reduced.nodes.values()
        psi = np.concatenate([part.point_psi, [node.psi for node in nodes]])
        phi = np.concatenate([part.point_phi, [node.phi for node in nodes]])
        turns[slots.etad] = np.linalg.norm(psi, axis=1).max(axis=0)
        shifts[slots.etad] = np.linalg.norm(phi, axis=1).max(axis=0) / length
    return turns, shifts
