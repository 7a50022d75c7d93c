"""A consistent start: loops closed, and closing no further.

A loop whose nodes do not meet at the start, or move apart, is closed by the joints that it names
in ``closed_by``, all loops together: by Gauss-Newton steps for their positions, of smallest
length, within their stops; then their speeds follow from linear equations. The gaps, their rates
and the Jacobian of these are the kernel's. Joints with prescribed motion stay where their
motion has them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from pliant._kernel import QUANTITIES, Kernel, Signals
from pliant.coordinates import displaced
from pliant.inputs import Motions
from pliant.loop import TRANSLATION
from pliant.mechanism import Mechanism, TreeLoop
from pliant.model import LoopSlots, Model
from pliant.part import Finding
from pliant.reduced import Array
from pliant.reference import quaternion_matrix

CLOSED = 1e-6  # m and rad, and per second: what a start may be off
_IDLE = 1e-4  # the same for directions that nothing can move or that others hold already
_PUT_OPEN = 1e-4  # m and rad: what a state that is given may be off
_PUT_OPENING = 1e-2  # per second, likewise
_TURN_ON_THE_WAY = 0.5  # rad, or m, between looks at the angles of loops
_MOST_ON_THE_WAY = 10_000
_SOLVED = 1e-12  # what a start that is solved for is off
_ITERATIONS = 60
_LARGEST_TURN = 0.5  # rad in one step: a longer one may end at another way to assemble


def closed_start(model: Model) -> tuple[Mechanism, list[Finding]]:
    """The mechanism with closed loops at its start, and what is wrong where that cannot be."""
    mechanism = model.mechanism
    start = LoopStart(model)
    if start.moved.size == 0 and not list(start.open_loops()):
        return mechanism, list(start.turned_over())
    if start.is_closed(_SOLVED):
        return mechanism, list(start.turned_over())
    if start.moved.size:
        start.close_positions()
        start.close_speeds()
    found = [*start.open_loops(), *start.turned_over()]
    if found or not start.moved.size:
        return mechanism, found
    bodies = list(mechanism.bodies)
    for slots in model.joints:
        body = bodies[slots.body]
        if slots.body in start.movers:
            joint = dataclasses.replace(
                body.joint, start=start.q[slots.q].copy(), speed=start.u[slots.u].copy()
            )
            bodies[slots.body] = dataclasses.replace(body, joint=joint)
    return dataclasses.replace(mechanism, bodies=tuple(bodies)), []


def loop_jacobian(kernel: Kernel, *, live: bool = False) -> Array:
    """(rows, u_size): derivatives of the loops' rates by the speeds, at the kernel's position;
    with ``live`` only of the directions that are independent of one another. Prescribed joints have
    no part."""
    jacobian, is_live = kernel.loop_rows()
    return jacobian[is_live] if live else jacobian


def allowed_motions(kernel: Kernel, basis: Array) -> Array:
    """(u_size, m): a basis of those combinations of the motions ``basis`` (u_size, n) that loops
    allow."""
    jacobian = loop_jacobian(kernel, live=True)
    if not jacobian.size or not basis.size:
        return basis
    return np.asarray(basis @ null_space(jacobian @ basis))


def loop_speed_jacobian(model: Model, kernel: Kernel) -> Array:
    """(free directions, u_size): derivatives of the speeds along them by all speeds."""
    signals = loop_signals(model, kernel, "loop_speed")
    if not len(signals):
        return np.zeros((0, model.u_size))
    columns = [kernel.derivative(signals, u=unit) for unit in np.eye(model.u_size)]
    return np.asarray(np.array(columns).reshape(model.u_size, len(signals)).T)


def loop_signals(model: Model, kernel: Kernel, quantity: str) -> Signals:
    """Of all held directions (``loop_gap``, ``loop_rate``, ``loop_force``) or free ones."""
    held = quantity in ("loop_gap", "loop_rate", "loop_force")
    last = model.loops[-1] if model.loops else None
    count = 0 if last is None else (last.rows if held else last.freedoms).stop
    rows = [(QUANTITIES.index(quantity), 0, i) for i in range(count)]
    return kernel.signals(np.array(rows, np.int32).reshape(-1, 3))


class LoopWatch:
    """How far a simulation's loops are open, to judge where it is put."""

    def __init__(self, model: Model, kernel: Kernel) -> None:
        self._model, self._kernel = model, kernel
        self._signals = [loop_signals(model, kernel, what) for what in ("loop_gap", "loop_rate")]

    def look(self) -> tuple[Array, Array]:
        """Gaps and rates; infinite where the model cannot be."""
        found = [np.zeros(len(signals)) for signals in self._signals]
        for signals, values in zip(self._signals, found, strict=True):
            if len(signals) and self._kernel.read(signals, values).code:
                values[:] = np.inf
        return found[0], found[1]

    def count_turns(self, start: Array) -> None:
        """Follows the angles of loops along the straight way of q from ``start`` to where it is."""
        if not self._model.loops:
            return
        end = self._kernel.q.copy()
        count = int(min(np.abs(end - start).max(initial=0.0) / _TURN_ON_THE_WAY, _MOST_ON_THE_WAY))
        for k in range(1, count + 1):
            self._kernel.q[:] = start + (end - start) * (k / (count + 1))
            self._kernel.count_turns()
        self._kernel.q[:] = end
        self._kernel.count_turns()

    def torn(self, before: tuple[Array, Array]) -> Iterator[tuple[str, str]]:
        """Names of loops that are open now, and how far: if they would be pulled together with more
        than weight and inertia can do, and are so more than before."""
        closing = self._kernel.loop_time
        if closing == np.inf:
            return
        gaps, rates = self.look()
        fast = _largest(np.asarray(self._kernel.u))
        pull = float(np.linalg.norm(self._model.mechanism.gravity)) + 2.0 * fast**2
        most_gap = max(_PUT_OPEN, pull * closing**2, 10.0 * _largest(before[0]))
        most_rate = max(_PUT_OPENING, pull * closing, 10.0 * _largest(before[1]))
        for slots in self._model.loops:
            gap, rate = gaps[slots.rows], rates[slots.rows]
            if _largest(gap) > most_gap:
                what = f"is open there, by {_sizes(slots, self._model, gap)}"
            elif _largest(rate) > most_rate:
                what = f"opens there, by {_sizes(slots, self._model, rate)} per second"
            else:
                continue
            yield slots.name, f"{what}; give a state in which it is closed"


class LoopStart:
    """The loops of a model at its start, and the joints that may be moved to close them."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.kernel = Kernel(model.blob)
        # no stabilisation: the gaps of an open start would make very large forces
        self.kernel.configure(
            step=1.0,
            integrator="leapfrog",
            algorithm="order_n",
            node_rotation="exact",
            loop_steps=np.inf,
        )
        Motions(model, self.kernel).start()
        self.q, self.u = self.kernel.q.copy(), self.kernel.u.copy()
        self.movers = {body for loop in model.mechanism.loops for body in loop.closed_by}
        moved = [j.u for j in model.joints if j.body in self.movers]
        self.moved = np.array([i for u in moved for i in range(u.start, u.stop)], dtype=np.intp)
        self._gap_signals = loop_signals(model, self.kernel, "loop_gap")
        self._rate_signals = loop_signals(model, self.kernel, "loop_rate")
        self.gap, self.rate = self._gaps(self.q), self._rates()

    def is_closed(self, limit: float) -> bool:
        return _largest(self.gap) <= limit and _largest(self.rate) <= limit

    # ----------------------------------------------------------------------------- solving

    def close_positions(self) -> None:
        """Moves the joints until the gaps vanish, or get no smaller."""
        for _ in range(_ITERATIONS):
            if _largest(self.gap) <= _SOLVED:
                return
            for q in self._candidates():
                gap = self._gaps(q)
                if np.linalg.norm(gap) < np.linalg.norm(self.gap):
                    self.q, self.gap = q, gap
                    break
            else:
                return

    def _candidates(self) -> Iterator[Array]:
        """Coordinates along the next step, nearer and nearer."""
        self._put(self.q)
        # the rates' Jacobian is that of the gaps to first order in the gaps
        step = self._bounded_step(loop_jacobian(self.kernel)[:, self.moved])
        turns = np.abs(step[self._is_turn])
        factor = min(1.0, _LARGEST_TURN / max(turns.max(initial=0.0), 1e-300))
        for halvings in range(12):
            yield displaced(self.model, self.q, step * (factor * 0.5**halvings))

    def _bounded_step(self, jacobian: Array) -> Array:
        """The shortest step that closes the gaps to first order and keeps within the stops."""
        lower, upper = self._room()
        free = np.ones(len(self.moved), bool)
        step = np.zeros(len(self.moved))
        while True:
            rest = -self.gap - jacobian[:, ~free] @ step[~free]
            step[free] = np.linalg.lstsq(jacobian[:, free], rest, rcond=1e-9)[0]
            beyond = free & ((step < lower) | (step > upper))
            if not beyond.any():
                break
            step[beyond] = np.clip(step[beyond], lower[beyond], upper[beyond])
            free &= ~beyond
        whole = np.zeros(self.model.u_size)
        whole[self.moved] = step
        return whole

    def _room(self) -> tuple[Array, Array]:
        """How far every moved freedom may go before it meets its stops."""
        lower, upper = np.full((2, self.model.u_size), np.inf)
        for slots in self.model.joints:
            joint = self.model.mechanism.bodies[slots.body].joint
            if not joint.quaternion:
                lower[slots.u] = np.maximum(self.q[slots.q] - joint.stop_lower, 0.0)
                upper[slots.u] = np.maximum(joint.stop_upper - self.q[slots.q], 0.0)
        return -lower[self.moved], upper[self.moved]

    @property
    def _is_turn(self) -> NDArray[np.bool_]:
        turns = np.zeros(self.model.u_size, bool)
        for slots in self.model.joints:
            slides = len(self.model.mechanism.bodies[slots.body].joint.translations)
            turns[slots.u.start + slides : slots.u.stop] = True
        return turns

    def close_speeds(self) -> None:
        """Changes the speeds of the joints as little as stops the gaps from opening."""
        self.rate = self._rates()
        jacobian = loop_jacobian(self.kernel)[:, self.moved]
        self.u[self.moved] -= np.linalg.lstsq(jacobian, self.rate, rcond=1e-9)[0]
        self.rate = self._rates()

    # ----------------------------------------------------------------------------- reading

    def _put(self, q: Array) -> None:
        """Puts the kernel at coordinates, at rest but for prescribed joints."""
        self.kernel.q[:], self.kernel.u[:] = q, 0.0
        self.kernel.state_written()

    def _gaps(self, q: Array) -> Array:
        self._put(q)
        return self._read(self._gap_signals)

    def _rates(self) -> Array:
        # linear in the speeds: at rest there are no velocity products, however open the loops are
        self._put(self.q)
        own = self._read(self._rate_signals)
        return np.asarray(own + loop_jacobian(self.kernel) @ self.u)

    def _read(self, signals: Signals) -> Array:
        values = np.zeros(len(signals))
        status = self.kernel.read(signals, values)
        return values if status.code == 0 else np.full(len(signals), np.inf)

    # ------------------------------------------------------------------------- what is wrong

    def open_loops(self) -> Iterator[Finding]:
        self._put(self.q)
        # axes that were meant to be parallel are not quite, or nodes of a plane not quite in it:
        # what the loop cannot do anything about does not keep it from moving
        idle = ~np.array(self.kernel.loop_rows()[1], bool)
        limit = np.where(idle, _IDLE, CLOSED)
        for slots, loop in zip(self.model.loops, self.model.mechanism.loops, strict=True):
            gap, rate = self.gap[slots.rows], self.rate[slots.rows]
            if np.any(np.abs(gap) > limit[slots.rows]):
                what = f"does not close at the start: a gap of {_sizes(slots, self.model, gap)}"
            elif np.any(np.abs(rate) > limit[slots.rows]):
                what = f"opens at the start, by {_sizes(slots, self.model, rate)} per second"
            else:
                continue
            yield ("loops", slots.name), f"{what}; {self._remedy(loop)}"

    def _remedy(self, loop: TreeLoop) -> str:
        names = ", ".join(_joints_on_path(self.model.mechanism, loop))
        if not names:
            return "no joint on its path can move; place its nodes where they meet"
        if not self.moved.size:
            return (
                f"change the start of the joints on its path ({names}), or name those that may be "
                "moved under closed_by"
            )
        joints = [self.model.mechanism.bodies[b].joint for b in sorted(self.movers)]
        tried = ", ".join(joint.name for joint in joints)
        if any(np.isfinite([joint.stop_lower, joint.stop_upper]).any() for joint in joints):
            tried += " within their stops"
        return (
            f"moving {tried} does not bring its nodes together; start nearer, or name more of the "
            f"joints on its path ({names}) under closed_by"
        )

    def turned_over(self) -> Iterator[Finding]:
        """Loops about one axis that close with the axis of the child pointing backwards."""
        self._put(self.q)
        if self.kernel.evaluate().code:
            return  # whoever evaluates the model is told what of it
        nodes = {node.name: i for i, node in enumerate(self.model.nodes)}
        bodies = self.model.mechanism.bodies

        def axes(body: int, node: str) -> Array:
            if body < 0:
                return np.eye(3)
            turn = self.kernel.node(nodes[f"{bodies[body].name}.{node}"])[3:7]
            return quaternion_matrix(turn)

        for loop in self.model.mechanism.loops:
            joint = loop.joint
            if len(joint.rotations) != 1 or joint.prescribed:
                continue
            e_J = axes(loop.parent, loop.parent_node) @ joint.rotation @ joint.rotations[0]
            e_b = axes(loop.child, loop.child_node) @ joint.rotations[0]
            if e_J @ e_b < 0.0:
                yield (
                    ("loops", joint.name),
                    "closes with its axis pointing one way on the parent's node and the other way "
                    "on the child's; turn one of the nodes, or the joint frame by rotation",
                )


def _largest(values: Array) -> float:
    return float(np.abs(values).max(initial=0.0))


def _sizes(slots: LoopSlots, model: Model, values: Array) -> str:
    """Millimetres and degrees of a loop's gap."""
    slides = model.sections["row.kind"][slots.rows] == TRANSLATION
    length = 1e3 * float(np.linalg.norm(values[slides]))
    angle = float(np.degrees(np.linalg.norm(values[~slides])))
    parts = [f"{size:.3g} {unit}" for size, unit in ((length, "mm"), (angle, "deg")) if size > 0.0]
    return " and ".join(parts)


def _joints_on_path(mechanism: Mechanism, loop: TreeLoop) -> list[str]:
    """Joints that can change a loop: those between its two ends, but for prescribed ones."""

    def inboard(body: int) -> list[int]:
        return [] if body < 0 else [body, *inboard(mechanism.bodies[body].parent)]

    between = set(inboard(loop.parent)) ^ set(inboard(loop.child))
    joints = [mechanism.bodies[b].joint for b in sorted(between)]
    return [joint.name for joint in joints if joint.dof_count and not joint.prescribed]
