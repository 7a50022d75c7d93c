"""The slow, obviously right reference: forward dynamics of a mechanism in plain numpy.

Every frame is reached by walking the tree from the ground and carries its Jacobians (3 x nu,
world axes) along. Every mass point then adds ``m Jv^T Jv`` and what its inertia does (4) to the
mass matrix, and its acceleration at ``udot = 0`` to the bias: no modal integrals, no recursion of
inertia, so that nothing is shared with the kernel. Cost O(points nu^2) + O(nu^3). The equations
of motion are::

    M(q) udot + h(q, u) = tau + sum_nodes (Jv^T force + Jw^T torque)                        (1)

One formula leads from a frame B to a frame C, whose origin is at p and whose axes are turned by
Q, both in components of B, with p' = dp u and w_rel = dw u the rates seen in B, ddp and ddw
their rates at udot = 0, and g an acceleration at udot = 0::

    r_C  = r + R p                     R_C  = R Q
    Jv_C = Jv - (R p)~ Jw + R dp       gv_C = gv + gw x Rp + w x (w x Rp) + 2 w x Rp' + R ddp
    Jw_C = Jw + R dw                   gw_C = gw + w x R w_rel + R ddw                      (2)

A node of a flexible body is turned by exp(theta~), theta = psi eta, against the head; it then
has the angular velocity T thetad in head axes::

    exp = sum_k theta~^k / k!          T = sum_k theta~^k / (k+1)!                          (3)

The inertia J of a mass point turns with it, by one of three models (``pliant.reduced``). Exactly,
with I = R_k J R_k^T and in world axes::

    M += Jw_k^T I Jw_k             h += Jw_k^T (I gw_k + w_k x I w_k)                       (4)

To second order in theta and thetad, with the kinetic energy w^T I w / 2 + w^T N thetad +
thetad^T J thetad / 2 in head axes, where R_k J R_k^T and the momentum of T thetad leave::

    I(theta) = J + theta~ J - J theta~ + (theta~^2 J + J theta~^2) / 2 - theta~ J theta~
    N(theta) = J + theta~ J - J theta~ / 2                                                  (5)

Lagrange's equations, with I' the rate of I, I_j its derivative along psi_j, in head axes::

    head:    I alpha + N psi etadd + I' w + thetad x J thetad + w x (I w + N thetad)
    mode j:  psi_j^T (N^T alpha + J psi etadd) - w^T I_j w / 2
             + w.(thetad x J psi_j - psi_j x J thetad - J (thetad x psi_j))                 (6)

The linear model has I = N = J in (6), and none of the terms that come of their change.

Passive efforts of a joint, dof by dof (x displacement, u speed)::

    spring    -stiffness (x - rest)
    friction  -viscous u - coulomb tanh(u / transition_speed)
    stops     +max(0, stop_stiffness (lower - x) - stop_damping u)   while x < lower
              -max(0, stop_stiffness (x - upper) + stop_damping u)   while x > upper        (7)

so a stop never pulls. Of a quaternion x is the rotation vector (at most pi), u the angular
velocity in child axes; its stiffness is the same about all axes and its rest is zero, so that
-stiffness x is the torque in child axes of the potential stiffness |x|^2 / 2; it has no stops.

A wheel with spin inertia Jw and speed Omega relative to the body, about the axis a of its node,
adds the kinetic energy Jw Omega (a . w_k) + Jw Omega^2 / 2; locked, it is part of the body::

    row of the wheel:  Jw (a . alpha_k + Omegad) = motor torque
    other rows:        h += Jw_k^T (w_k x Jw Omega a),  M symmetric                          (8)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.mechanism import Mechanism, TreeJoint, TreeWheel
from pliant.reduced import Array

Wrenches = Mapping[str, tuple[Array, Array]]  # "body.node": (force, torque) there, world axes


class Slots(NamedTuple):
    """Where a body stands in q = [joint, eta] ... and u = [joint, etad, wheel speeds] ..."""

    joint_q: slice
    eta: slice
    joint_u: slice
    etad: slice
    wheels: range


class Frame(NamedTuple):
    """A moving frame in world axes: pose, Jacobians, acceleration at udot = 0."""

    r: Array
    R: Array
    Jv: Array
    Jw: Array
    gv: Array
    gw: Array


class Rotary(NamedTuple):
    """What the inertia of a mass point does: its M and h, its angular momentum H u."""

    M: Array
    h: Array
    H: Array  # world axes
    rate: Array  # of the angular momentum at udot = 0


class MassPoint(NamedTuple):
    """A mass point: how it moves, and its inertia about itself."""

    body: int
    frame: Frame
    mass: float
    rotary: Rotary


class NodeState(NamedTuple):
    """Pose, velocity and acceleration of a node, world axes."""

    r: Array
    R: Array
    v: Array
    w: Array
    a: Array
    alpha: Array


def slots(mechanism: Mechanism) -> list[Slots]:
    """Places of all bodies in q and u."""
    result, iq, iu = [], 0, 0
    for body in mechanism.bodies:
        joint, n = body.joint, body.reduced.mode_count
        turns = 3 if joint.quaternion else len(joint.rotations)
        eq = iq + len(joint.translations) + turns + joint.quaternion
        eu = iu + len(joint.translations) + turns
        wheels = range(eu + n, eu + n + len(body.wheels))
        result.append(
            Slots(slice(iq, eq), slice(eq, eq + n), slice(iu, eu), slice(eu, eu + n), wheels)
        )
        iq, iu = eq + n, wheels.stop
    return result


def skew(a: Array) -> Array:
    """The matrix a~ with a~ b = a x b."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def exponential(theta: Array, thetad: Array) -> tuple[Array, Array, Array]:
    """exp(theta~), T and dT/dt by their series (3), differentiated term by term; |theta| < 4."""
    X, Xd = skew(theta), skew(thetad)
    R, T, Td = np.eye(3), np.eye(3), np.zeros((3, 3))
    power, powerd, factorial = np.eye(3), np.zeros((3, 3)), 1.0  # X^k, its rate, k!
    for k in range(1, 36 if theta.any() or thetad.any() else 1):
        power, powerd, factorial = power @ X, powerd @ X + power @ Xd, factorial * k
        R = R + power / factorial
        T = T + power / (factorial * (k + 1))
        Td = Td + powerd / (factorial * (k + 1))
    return R, T, Td


def quaternion_matrix(quaternion: Array) -> Array:
    """Rotation matrix of a unit quaternion w, x, y, z."""
    V = skew(quaternion[1:])
    return np.asarray(np.eye(3) + 2.0 * quaternion[0] * V + 2.0 * V @ V)


def displacement(joint: TreeJoint, coordinates: Array) -> Array:
    """One number a dof: the coordinates, with a rotation vector (<= pi) for a quaternion."""
    if not joint.quaternion:
        return coordinates
    nt = len(joint.translations)
    w, v = coordinates[nt], coordinates[nt + 1 :]
    half_turn = np.arctan2(np.linalg.norm(v), abs(w))
    theta = 2.0 * v * np.copysign(1.0, w) / np.sinc(half_turn / np.pi)
    return np.concatenate([coordinates[:nt], theta])


def passive_effort(joint: TreeJoint, coordinates: Array, u: Array) -> Array:
    """Spring, friction and stops of a joint (7)."""
    return effort_at(joint, displacement(joint, coordinates), u)


def effort_at(joint: TreeJoint, x: Array, u: Array) -> Array:
    """Spring, friction and stops of a joint at the displacements x (7)."""
    below, above = np.maximum(joint.stop_lower - x, 0.0), np.maximum(x - joint.stop_upper, 0.0)
    k, c = joint.stop_stiffness, joint.stop_damping
    effort = -joint.stiffness * (x - joint.rest)
    effort -= joint.viscous * u + joint.coulomb * np.tanh(u / joint.transition_speed)
    effort += (below > 0.0) * np.maximum(k * below - c * u, 0.0)
    effort -= (above > 0.0) * np.maximum(k * above + c * u, 0.0)
    return np.asarray(effort)


class Reference:
    """A mechanism at one state and time.

    Prescribed joints have the q and u they are given here, and accelerate as their motion does
    at that time. Loads are arguments; tables of loads in the mechanism are not looked at, nor are
    its loops: ``pliant.reference_loops`` has them.

    Use: ``Reference(mechanism, q, u).accelerations(tau, {"hand.pad": (force, torque)})``.
    """

    def __init__(self, mechanism: Mechanism, q: Array, u: Array, time: float = 0.0) -> None:
        self.mechanism, self.q, self.u, self.time = mechanism, q, u, time
        self.slots = slots(mechanism)
        none, zero = np.zeros((3, len(u))), np.zeros(3)
        self.heads: list[Frame] = []
        self.ground = Frame(zero, np.eye(3), none, none, zero, zero)
        for body in mechanism.bodies:  # from the ground outward
            node = self._node(body.parent, body.parent_node)
            self.heads.append(self._across_joint(node, body.joint))

    # ---------------------------------------------------------------------------- kinematics

    def _columns(self, first: int, block: Array) -> Array:
        """A (3, nu) matrix that is zero but for a block."""
        result = np.zeros((3, len(self.u)))
        result[:, first : first + block.shape[1]] = block
        return result

    def _shift(self, base: Frame, p: Array, dp: Array, ddp: Array) -> Frame:
        """The origin moves to p: left half of (2)."""
        R, w, lever = base.R, skew(base.Jw @ self.u), base.R @ p
        return base._replace(
            r=base.r + lever,
            Jv=base.Jv - skew(lever) @ base.Jw + R @ dp,
            gv=base.gv + skew(base.gw) @ lever + w @ w @ lever + 2 * w @ R @ dp @ self.u + R @ ddp,
        )

    def _turn(self, base: Frame, Q: Array, dw: Array, ddw: Array) -> Frame:
        """The axes turn by Q: the rest of (2)."""
        R, w = base.R, skew(base.Jw @ self.u)
        return base._replace(
            R=R @ Q, Jw=base.Jw + R @ dw, gw=base.gw + w @ R @ dw @ self.u + R @ ddw
        )

    def _across_joint(self, node: Frame, joint: TreeJoint) -> Frame:
        """From the parent's node to the child's head: translations in J, then rotations."""
        none, zero = np.zeros_like(node.Jv), np.zeros(3)
        at = self.slots[len(self.heads)]
        coordinate, speed = at.joint_q.start, at.joint_u.start
        frame = self._shift(node, joint.position, none, zero)
        frame = self._turn(frame, joint.rotation, none, zero)
        for axis in joint.translations:
            slide = self._columns(speed, axis[:, None])
            frame = self._shift(frame, axis * self.q[coordinate], slide, zero)
            coordinate, speed = coordinate + 1, speed + 1
        if joint.quaternion:  # dw turns child components; its rate Q (u x u) is zero
            Q = quaternion_matrix(self.q[coordinate : coordinate + 4])
            return self._turn(frame, Q, self._columns(speed, Q), zero)
        for axis in joint.rotations:
            angle, X = self.q[coordinate], skew(axis)
            Q = np.eye(3) + np.sin(angle) * X + (1.0 - np.cos(angle)) * X @ X
            frame = self._turn(frame, Q, self._columns(speed, axis[:, None]), zero)
            coordinate, speed = coordinate + 1, speed + 1
        return frame

    def _deformed(self, b: int, X: Array, phi: Array, psi: Array, phi2: Array) -> Frame:
        """From the head of body b to its point X, with axes turned by exp(psi eta)."""
        at, head = self.slots[b], self.heads[b]
        eta, etad = self.q[at.eta], self.u[at.etad]
        p, slope, ddp = X + phi @ eta, phi.copy(), np.zeros(3)  # slope = d p / d eta
        for (i, j), field in zip(self.mechanism.bodies[b].reduced.pairs, phi2.T, strict=True):
            field = field / 2.0 if i == j else field
            p = p + field * eta[i] * eta[j]
            slope[:, i] += field * eta[j]
            slope[:, j] += field * eta[i]
            ddp = ddp + 2.0 * field * etad[i] * etad[j]
        Q, T, Td = exponential(psi @ eta, psi @ etad)
        frame = self._shift(head, p, self._columns(at.etad.start, slope), ddp)
        return self._turn(frame, Q, self._columns(at.etad.start, T @ psi), Td @ psi @ etad)

    def _node(self, b: int, name: str) -> Frame:
        if b < 0:
            return self.ground
        node = self.mechanism.bodies[b].reduced.nodes[name]
        frame = self._deformed(b, node.position, node.phi, node.psi, node.phi2)
        return frame._replace(R=frame.R @ node.rotation)

    def _named_node(self, name: str) -> tuple[int, Frame]:
        body, _, node = name.partition(".")
        b = [each.name for each in self.mechanism.bodies].index(body)
        return b, self._node(b, node or "head")

    def node(self, name: str, udot: Array) -> NodeState:
        """State of the node "body.node" while the speeds change at the rate udot."""
        _, f = self._named_node(name)
        u = self.u
        return NodeState(f.r, f.R, f.Jv @ u, f.Jw @ u, f.Jv @ udot + f.gv, f.Jw @ udot + f.gw)

    # ------------------------------------------------------------------------------ dynamics

    def _points(self) -> Iterator[MassPoint]:
        for b, body in enumerate(self.mechanism.bodies):
            part = body.reduced
            is_exact, is_linear = part.has_model("exact"), part.has_model("linear")
            for k, mass in enumerate(part.point_mass):
                psi, J = part.point_psi[k], part.point_inertia[k]
                frame = self._deformed(
                    b, part.point_position[k], part.point_phi[k], psi, part.point_phi2[k]
                )
                if is_exact[k]:
                    rotary = self._exact_inertia(frame, J)
                else:
                    rotary = self._small_turn_inertia(b, J, psi, bool(is_linear[k]))
                yield MassPoint(b, frame, float(mass), rotary)

    def _exact_inertia(self, frame: Frame, J: Array) -> Rotary:
        """(4)."""
        H = frame.R @ J @ frame.R.T @ frame.Jw
        rate = frame.R @ J @ frame.R.T @ frame.gw + skew(frame.Jw @ self.u) @ H @ self.u
        return Rotary(frame.Jw.T @ H, frame.Jw.T @ rate, H, rate)

    def _small_turn_inertia(self, b: int, J: Array, psi: Array, is_linear: bool) -> Rotary:
        """(5), (6); everything in axes of the head of body b until the end."""
        at, head = self.slots[b], self.heads[b]
        theta, thetad = psi @ self.q[at.eta], psi @ self.u[at.etad]
        theta = np.zeros(3) if is_linear else theta
        Jw, gw = head.R.T @ head.Jw, head.R.T @ head.gw
        w, turning = Jw @ self.u, self._columns(at.etad.start, psi)
        X, Xd = skew(theta), skew(thetad)
        inertia = J + X @ J - J @ X + (X @ X @ J + J @ X @ X) / 2 - X @ J @ X
        N = J + X @ J - J @ X / 2

        def slope(d: Array) -> Array:
            """Derivative of I along theta = d."""
            D = skew(d)
            square = D @ X + X @ D
            return np.asarray(D @ J - J @ D + (square @ J + J @ square) / 2 - D @ J @ X - X @ J @ D)

        H = inertia @ Jw + N @ turning
        rate = inertia @ gw + skew(w) @ H @ self.u
        on_modes = psi.T @ N.T @ gw
        if not is_linear:
            rate = rate + slope(thetad) @ w + Xd @ J @ thetad
            gyroscopic = Xd @ J + skew(J @ thetad) - J @ Xd
            on_modes = on_modes + psi.T @ gyroscopic.T @ w
            on_modes -= np.array([w @ slope(d) @ w / 2.0 for d in psi.T])
        M = Jw.T @ H + turning.T @ (N.T @ Jw + J @ turning)
        h = Jw.T @ rate
        h[at.etad] += on_modes
        return Rotary(M, h, head.R @ H, head.R @ rate)

    def _wheels(self) -> Iterator[tuple[int, int, TreeWheel, Frame, Array]]:
        """Body, index in u, wheel, frame of its node, axis in the world."""
        for b, body in enumerate(self.mechanism.bodies):
            for index, wheel in zip(self.slots[b].wheels, body.wheels, strict=True):
                node = self._node(b, wheel.node)
                yield b, index, wheel, node, node.R @ wheel.axis

    def mass_matrix_and_bias(self) -> tuple[Array, Array]:
        """M and h of (1); h holds everything but tau and the loads on nodes."""
        u, gravity = self.u, self.mechanism.gravity
        M, h = np.zeros((len(u), len(u))), np.zeros(len(u))
        for P in self._points():
            Jv = P.frame.Jv
            M += P.mass * Jv.T @ Jv + P.rotary.M
            h += P.mass * Jv.T @ (P.frame.gv - gravity) + P.rotary.h
        for _, index, wheel, node, axis in self._wheels():
            column = wheel.inertia * node.Jw.T @ axis
            M[:, index] += column
            M[index, :] += column
            M[index, index] += wheel.inertia
            h += node.Jw.T @ skew(node.Jw @ u) @ (wheel.inertia * u[index] * axis)
            h[index] += wheel.inertia * axis @ node.gw
        for body, at in zip(self.mechanism.bodies, self.slots, strict=True):
            part = body.reduced
            h[at.etad] += part.stiffness @ self.q[at.eta] + part.damping @ u[at.etad]
            h[at.joint_u] -= passive_effort(body.joint, self.q[at.joint_q], u[at.joint_u])
        return M, h

    def solve(
        self, tau: Array | None = None, wrenches: Wrenches | None = None
    ) -> tuple[Array, Array]:
        """udot, and the tau that it takes: the given one, but what the motion of prescribed
        joints needs (springs, friction and stops excluded) in their places."""
        M, h = self.mass_matrix_and_bias()
        effort = np.zeros(len(h)) if tau is None else np.array(tau, float)
        for name, (force, torque) in (wrenches or {}).items():
            _, node = self._named_node(name)
            h = h - node.Jv.T @ force - node.Jw.T @ torque
        udot, driven = self._driven()
        free = ~driven
        rest = (effort - h - M @ udot)[free]
        udot[free] = np.linalg.solve(M[np.ix_(free, free)], rest)
        effort[driven] = (M @ udot + h)[driven]
        return udot, effort

    def _driven(self) -> tuple[Array, NDArray[np.bool_]]:
        """Accelerations of prescribed joints, zero elsewhere; which speeds they are."""
        udot, driven = np.zeros(len(self.u)), np.zeros(len(self.u), bool)
        for body, at in zip(self.mechanism.bodies, self.slots, strict=True):
            if body.joint.motion is not None:
                driven[at.joint_u] = True
                udot[at.joint_u] = body.joint.motion(self.time)[2]
        return udot, driven

    def accelerations(self, tau: Array | None = None, wrenches: Wrenches | None = None) -> Array:
        """udot of (1)."""
        return self.solve(tau, wrenches)[0]

    # ------------------------------------------------------------------------------- results

    def energies(self) -> tuple[float, float, float, float]:
        """Kinetic, strain of the modes, springs and stops of the joints, gravity (zero at the
        world's origin)."""
        kinetic = strain = spring = weight = 0.0
        for P in self._points():
            v = P.frame.Jv @ self.u
            kinetic += float(P.mass * v @ v + self.u @ P.rotary.M @ self.u) / 2.0
            weight -= P.mass * float(self.mechanism.gravity @ P.frame.r)
        for _, index, wheel, node, axis in self._wheels():
            speed = float(self.u[index])
            kinetic += wheel.inertia * speed * float(axis @ node.Jw @ self.u + speed / 2.0)
        for body, at in zip(self.mechanism.bodies, self.slots, strict=True):
            eta, joint = self.q[at.eta], body.joint
            strain += float(eta @ body.reduced.stiffness @ eta) / 2.0
            x = displacement(joint, self.q[at.joint_q])
            beyond = np.maximum(joint.stop_lower - x, 0.0) + np.maximum(x - joint.stop_upper, 0.0)
            spring += float(joint.stiffness @ (x - joint.rest) ** 2) / 2.0
            spring += float(joint.stop_stiffness @ beyond**2) / 2.0
        return kinetic, strain, spring, weight

    def momentum(self) -> Array:
        """Linear, and angular about the world's origin."""
        linear, angular = np.zeros(3), np.zeros(3)
        for P in self._points():
            v = P.frame.Jv @ self.u
            linear += P.mass * v
            angular += P.mass * skew(P.frame.r) @ v + P.rotary.H @ self.u
        for _, index, wheel, _, axis in self._wheels():
            angular += wheel.inertia * self.u[index] * axis
        return np.concatenate([linear, angular])

    def reactions(self, udot: Array, wrenches: Wrenches | None = None) -> Array:
        """Force and torque of every joint on its body, at the body's head: the momentum rate of
        all that hangs on the joint, less the loads on it."""
        total = np.zeros((len(self.heads), 6))  # force, torque about the world's origin
        for P in self._points():
            force = P.mass * (P.frame.Jv @ udot + P.frame.gv - self.mechanism.gravity)
            torque = P.rotary.H @ udot + P.rotary.rate
            total[P.body] += np.concatenate([force, skew(P.frame.r) @ force + torque])
        for b, index, wheel, node, axis in self._wheels():
            gyroscopic = self.u[index] * skew(node.Jw @ self.u) @ axis
            total[b, 3:] += wheel.inertia * (udot[index] * axis + gyroscopic)
        for name, (force, torque) in (wrenches or {}).items():
            b, node = self._named_node(name)
            total[b] -= np.concatenate([force, skew(node.r) @ force + torque])
        for b in reversed(range(len(total))):
            if (parent := self.mechanism.bodies[b].parent) >= 0:
                total[parent] += total[b]
        for row, head in zip(total, self.heads, strict=True):
            row[3:] -= skew(head.r) @ row[:3]
        return total
