"""The slow reference with closed loops: constraints by relative motion, forces by least squares.

A loop holds the node b against a joint frame A that moves with the parent's node. A goes along
where b may slide, so that A is where b ought to be. With v, w the velocities of b relative to the
point of the parent that is there, s' what of v is free sliding, and n a held direction fixed in A::

    translation   g' = n . v     g'' = n . (a_b - a_A - w_A x (v + s'))
    rotation      g' = n . w     g'' = n . (alpha_b - alpha_A) + n' . w                     (1)

The one held rotation of a universal joint is n = e1 x e2, e1 fixed in A and e2 in b; all other n
have the rate n' = w_A x n. The gap g of a translation is n . (r_b - r_A), of a rotation
n . log(R_b R_A^T), or n . (e x e_b) about a free axis e, or cos - e1 . e2 of a universal joint.

Loops add J^T lam to the equations of motion, J the rows n of the relative Jacobian. The rows are
not chosen: projections on what is held have three rows each whatever their rank, and least squares
gives the smallest lam. J^T lam and the accelerations do not depend on that choice::

    (J M^-1 J^T) lam = -(J udot_0 + g''_0) - 2 g'/T - g/T^2                                 (2)

with udot_0 the accelerations without loops, g''_0 the rest of (1), and T the time constant of the
stabilisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pliant.mechanism import TreeJoint, TreeLoop
from pliant.reduced import Array
from pliant.reference import Frame, Reference, Wrenches, effort_at, exponential, skew


class Tie(NamedTuple):
    """A loop at one moment, world axes."""

    J: Array  # (6, nu) velocity of b relative to A
    size: Array  # (6, nu) of the numbers that J is the difference of
    rows: Array  # (k, 6) held directions, [n, 0] or [0, n]; the wrench on b is rows^T lam
    gap: Array  # (k,)
    rate: Array  # (k,)
    bias: Array  # (k,) g'' at udot = 0
    along: Array  # (nd, 6) free directions likewise
    position: Array  # (nd,)
    speed: Array  # (nd,)
    place: Array  # (3,) the point of the parent on which the opposite wrench acts


class Solution(NamedTuple):
    """Accelerations; efforts, as of ``Reference.solve``; wrenches of all loops on their b."""

    udot: Array
    effort: Array
    loops: Array


def rotation_vector(R: Array) -> Array:
    """log(R); |theta| < pi."""
    axial = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2.0
    angle = np.arctan2(np.linalg.norm(axial), (np.trace(R) - 1.0) / 2.0)
    return np.asarray(axial / np.sinc(angle / np.pi))


def angle_about(axis: Array, x: Array, y: Array) -> float:
    """Angle from x to y, as seen along a unit axis."""
    return float(np.arctan2(axis @ np.cross(x, y), x @ y - (axis @ x) * (axis @ y)))


class ClosedReference(Reference):
    """A mechanism with its loops at one state and time.

    Use: ``ClosedReference(mechanism, q, u).solution(tau).udot``.
    """

    def solution(
        self,
        tau: Array | None = None,
        wrenches: Wrenches | None = None,
        loop_efforts: Mapping[str, Array] | None = None,
        T: float = np.inf,
    ) -> Solution:
        """Accelerations and forces; efforts along free directions of loops are given by name."""
        ties, nu = self.ties(), len(self.u)
        M, h = self.mass_matrix_and_bias()
        pushes = np.zeros((len(ties), 6))
        for push, tie, loop in zip(pushes, ties, self.mechanism.loops, strict=True):
            joint = loop.joint
            given = (loop_efforts or {}).get(joint.name, np.zeros(len(tie.along)))
            if len(given):
                push += (effort_at(joint, tie.position, tie.speed) + given) @ tie.along
            h = h - tie.J.T @ push
        for name, (force, torque) in (wrenches or {}).items():
            _, node = self._named_node(name)
            h = h - node.Jv.T @ force - node.Jw.T @ torque
        effort = np.zeros(nu) if tau is None else np.array(tau, float)
        udot, driven = self._driven()
        free = ~driven
        inverse = np.linalg.inv(M[np.ix_(free, free)])
        udot[free] = inverse @ (effort - h - M @ udot)[free]
        J = self.loop_jacobian()
        wanted = [-tie.bias - 2.0 * tie.rate / T - tie.gap / T**2 for tie in ties]
        rest = np.concatenate([*wanted, np.zeros(0)]) - J @ udot
        lam = np.linalg.lstsq(J[:, free] @ inverse @ J[:, free].T, rest, rcond=1e-11)[0]
        udot[free] += inverse @ J[:, free].T @ lam
        effort[driven] = (M @ udot + h - J.T @ lam)[driven]
        first = 0
        for push, tie in zip(pushes, ties, strict=True):
            push += lam[first : first + len(tie.rows)] @ tie.rows
            first += len(tie.rows)
        return Solution(udot, effort, pushes)

    def loop_jacobian(self) -> Array:
        """(rows, nu) of all loops; its rank is the number of freedoms they take. What is only
        rounding is zero: least squares would take it for a direction."""
        J = np.zeros((0, len(self.u)))
        for tie in self.ties():
            rows, size = tie.rows @ tie.J, np.abs(tie.rows) @ tie.size
            J = np.vstack([J, np.where(np.abs(rows) > 1e-13 * size, rows, 0.0)])
        return J

    def loop_loads(self, loops: Array) -> list[tuple[int, Array, Array]]:
        """Body, point and wrench there of all that loops do, for their wrenches on b."""
        loads = []
        for loop, tie, wrench in zip(self.mechanism.loops, self.ties(), loops, strict=True):
            loads.append((loop.child, self._node(loop.child, loop.child_node).r, wrench))
            if loop.parent >= 0:
                loads.append((loop.parent, tie.place, -wrench))
        return loads

    def closed_reactions(self, solution: Solution, wrenches: Wrenches | None = None) -> Array:
        """Force and torque of every joint on its body, at the body's head."""
        total = self.reactions(solution.udot, wrenches)
        for b, place, wrench in self.loop_loads(solution.loops):
            while b >= 0:  # the load is taken by every joint between it and the ground
                lever = place - self.heads[b].r
                total[b, :3] -= wrench[:3]
                total[b, 3:] -= wrench[3:] + skew(lever) @ wrench[:3]
                b = self.mechanism.bodies[b].parent
        return total

    # ----------------------------------------------------------------------- relative motion

    def ties(self) -> list[Tie]:
        return [self._tie(loop) for loop in self.mechanism.loops]

    def _tie(self, loop: TreeLoop) -> Tie:
        u, joint = self.u, loop.joint
        none, zero = np.zeros((3, len(u))), np.zeros(3)
        parent, b = (
            self._node(loop.parent, loop.parent_node),
            self._node(loop.child, loop.child_node),
        )
        A = self._shift(parent, joint.position, none, zero)
        A = self._turn(A, joint.rotation, none, zero)
        apart = A.R.T @ (b.r - A.r)
        slides = np.linalg.pinv(joint.translations) @ joint.translations  # projection, in A
        A = self._shift(A, slides @ apart, none, zero)

        J = np.vstack([b.Jv - A.Jv, b.Jw - A.Jw])
        largest = np.abs(b.Jv) + np.abs(parent.Jv) + np.abs(A.Jv), np.abs(b.Jw) + np.abs(A.Jw)
        v, w, w_A = J[:3] @ u, J[3:] @ u, A.Jw @ u
        sliding = A.R @ slides @ A.R.T @ v
        held = A.R.T if joint.prescribed else (np.eye(3) - slides) @ A.R.T
        turns, turns_rate, turns_gap = _held_turns(joint, A, b, w_A, b.Jw @ u)
        rows = np.block([[held, np.zeros((3, 3))], [np.zeros((len(turns), 3)), turns]])
        bias = held @ (b.gv - A.gv - np.cross(w_A, v + sliding))
        turns_bias = turns @ (b.gw - A.gw) + turns_rate @ w
        tie = Tie(
            J=J,
            size=np.vstack(largest),
            rows=rows,
            gap=np.concatenate([held @ A.R @ apart, turns_gap]),
            rate=rows @ J @ u,
            bias=np.concatenate([bias, turns_bias]),
            along=np.zeros((0, 6)),
            position=np.zeros(0),
            speed=np.zeros(0),
            place=A.r,
        )
        if joint.motion is not None:
            return _prescribed(tie, joint, joint.motion(self.time), A, b)
        return _with_free_directions(tie, joint, A, b, apart, v, w)


def _held_turns(
    joint: TreeJoint, A: Frame, b: Frame, w_A: Array, w_b: Array
) -> tuple[Array, Array, Array]:
    """Held directions of rotation n (k, 3), their rates, and gaps."""
    if joint.quaternion or len(joint.rotations) == 3:
        return np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0)
    if len(joint.rotations) == 2:
        e1, e2 = A.R @ joint.rotations[0], b.R @ joint.rotations[1]
        rate = np.cross(np.cross(w_A, e1), e2) + np.cross(e1, np.cross(w_b, e2))
        gap = joint.rotations[0] @ joint.rotations[1] - e1 @ e2
        return np.cross(e1, e2)[None], rate[None], np.array([gap])
    if len(joint.rotations) == 1 and not joint.prescribed:
        e = joint.rotations[0]
        n = (np.eye(3) - np.outer(e, e)) @ A.R.T
        gap = n @ np.cross(A.R @ e, b.R @ e)
    else:
        n = A.R.T
        gap = n @ rotation_vector(b.R @ A.R.T)
    return n, -n @ skew(w_A), gap


def _prescribed(
    tie: Tie, joint: TreeJoint, motion: tuple[Array, Array, Array], A: Frame, b: Frame
) -> Tie:
    """All six directions are held, along the axes of A, less the motion."""
    x, xd, xdd = motion
    nt = len(joint.translations)
    axes = np.zeros((len(x), 6))
    axes[:nt, :3], axes[nt:, 3:] = joint.translations, joint.rotations
    gap = tie.gap - x @ axes
    if nt < len(x):  # A itself turns about its axis
        turned = A.R @ exponential(x[nt:] @ joint.rotations, np.zeros(3))[0]
        gap[3:] = A.R.T @ rotation_vector(b.R @ turned.T)
    return tie._replace(gap=gap, rate=tie.rate - xd @ axes, bias=tie.bias - xdd @ axes)


def _with_free_directions(
    tie: Tie, joint: TreeJoint, A: Frame, b: Frame, apart: Array, v: Array, w: Array
) -> Tie:
    """Axes of translations and rotations in the world, positions and speeds along them."""
    slides, turns = joint.translations @ A.R.T, joint.rotations @ A.R.T
    if joint.quaternion or len(turns) == 3:
        turns = b.R.T
    elif len(turns) == 2:
        turns[1] = b.R @ joint.rotations[1]
    along = np.zeros((len(slides) + len(turns), 6))
    along[: len(slides), :3], along[len(slides) :, 3:] = slides, turns
    return tie._replace(
        along=along,
        position=np.concatenate([joint.translations @ apart, _angles(joint, A.R.T @ b.R)]),
        speed=np.concatenate([slides @ v, np.linalg.pinv(turns.T) @ w]),
    )


def _angles(joint: TreeJoint, Q: Array) -> Array:
    """Rotational positions of a joint whose child is turned by Q against its frame, in the turns
    that they are in at the start."""
    if joint.quaternion or len(joint.rotations) == 3:
        return rotation_vector(Q)
    if len(joint.rotations) == 2:  # Q = turn about e1, then e2: e2 shows the first angle
        e1, e2 = joint.rotations
        angles = np.array([angle_about(e1, e2, Q @ e2), angle_about(e2, Q.T @ e1, e1)])
    else:
        angles = np.array([_angle(axis, Q) for axis in joint.rotations])
    return _first_turns(joint, angles)


def _first_turns(joint: TreeJoint, angles: Array) -> Array:
    """Angles in the turns that they start in: nearest to where springs rest, but between stops."""
    turn = 2 * np.pi
    rest, low, high, stiffness = (
        values[len(joint.translations) :]
        for values in (joint.rest, joint.stop_lower, joint.stop_upper, joint.stop_stiffness)
    )
    nearest = angles + turn * np.round((rest - angles) / turn)
    inside = nearest + turn * np.ceil(np.maximum(low - nearest, 0.0) / turn)
    inside = inside - turn * np.ceil(np.maximum(nearest - high, 0.0) / turn)
    fits = (stiffness != 0.0) & (inside >= low) & (inside <= high)
    return np.where(fits, inside, nearest)


def _angle(axis: Array, Q: Array) -> float:
    across = np.linalg.svd(axis[None])[2][1]
    return angle_about(axis, across, Q @ across)
