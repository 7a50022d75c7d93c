"""Equations of motion by automatic differentiation of a Lagrangian over the mass points.

Only positions and rotations are written down, as functions of local coordinates x about the
state (q(x=0) = q, and a quaternion is followed by the rotation with parameters x). Velocities
are directional derivatives of positions along the motion, angular velocities are read off
R^T dR/dt, and the rest follows from T(x, xdot) and V(x)::

    p = dT/dxdot,  M = dp/dxdot,  h = (dp/dx) xdot - dT/dx + dV/dx + dF/dxdot

with F the dissipation function of dampers and friction. At x = 0 the speeds are u = xdot, and
udot = xddot as the second-order term of the rotation is symmetric. Momenta come from Noether's
theorem: the ground is given six coordinates of its own, whose p is the momentum. No formula is
shared with `pliant.reference` or the kernel.
"""

from __future__ import annotations

from math import factorial

import casadi as ca
import numpy as np

from pliant.mechanism import Mechanism, TreeBody, TreeJoint


def vee(R: ca.SX, Rd: ca.SX) -> ca.SX:
    """Angular velocity in turning axes, from R^T dR/dt."""
    W = R.T @ Rd
    return ca.vertcat(W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]) / 2


def exponential(theta: ca.SX) -> ca.SX:
    """Rotation by the vector theta; series in |theta|^2, smooth at zero (|theta| < 2)."""
    s = ca.dot(theta, theta)
    sine = sum((-s) ** k / factorial(2 * k + 1) for k in range(14))
    cosine = sum((-s) ** k / factorial(2 * k + 2) for k in range(14))
    X = ca.skew(theta)
    return ca.SX.eye(3) + sine * X + cosine * X @ X


def small_turn(x: ca.SX) -> ca.SX:
    """Quaternion of a rotation by x, to second order at least: (1, x/2) normalised."""
    return ca.vertcat(1, x / 2) / ca.sqrt(1 + ca.dot(x, x) / 4)


def quaternion_product(a: ca.SX, b: ca.SX) -> ca.SX:
    va, vb = a[1:], b[1:]
    return ca.vertcat(a[0] * b[0] - ca.dot(va, vb), a[0] * vb + b[0] * va + ca.cross(va, vb))


def quaternion_rotation(quaternion: ca.SX) -> ca.SX:
    w, v = quaternion[0], quaternion[1:]
    return (w * w - ca.dot(v, v)) * ca.SX.eye(3) + 2 * v @ v.T + 2 * w * ca.skew(v)


def _second_order_energy() -> ca.Function:
    """Kinetic energy of an inertia J, in axes that spin with w and in which it turns by the vector
    theta: its Taylor polynomial of second order in theta and its rate."""
    J, w = ca.SX.sym("J", 3, 3), ca.SX.sym("w", 3)
    theta, thetad, scale = ca.SX.sym("theta", 3), ca.SX.sym("thetad", 3), ca.SX.sym("scale")
    R = exponential(scale * theta)
    Rd = ca.reshape(ca.jtimes(ca.vec(R), theta, thetad), 3, 3)
    spin = R.T @ w + vee(R, Rd)  # in axes of the inertia
    T = ca.dot(spin, J @ spin) / 2
    slope = ca.gradient(T, scale)
    polynomial = ca.substitute(T + slope + ca.gradient(slope, scale) / 2, scale, 0)
    return ca.Function("T", [J, w, theta, thetad], [polynomial])


SECOND_ORDER_ENERGY = _second_order_energy()


def spin_energy(J: np.ndarray, spin: ca.SX, turn: tuple | None) -> ca.SX:
    """Of an inertia in axes with that spin; turn = (whether only to first order, rotation vector
    in them, its rate)."""
    if turn is None:
        return ca.dot(spin, J @ spin) / 2
    is_linear, theta, thetad = turn
    if is_linear:
        return ca.dot(spin + thetad, J @ (spin + thetad)) / 2
    return SECOND_ORDER_ENERGY(J, spin, theta, thetad)


class Lagrangian:
    """A mechanism at one state.

    Use: ``Lagrangian(mechanism, q, u).accelerations(tau, {"hand.pad": (force, torque)})``.
    """

    def __init__(self, mechanism: Mechanism, q: np.ndarray, u: np.ndarray) -> None:
        self.mechanism, self.q, self.u = mechanism, q, u
        self.nu = nu = len(u)
        # The last six coordinates move the ground: translation, rotation.
        self.x, self.xd = ca.SX.sym("x", nu + 6), ca.SX.sym("xd", nu + 6)
        self.moving: list[tuple[ca.SX, ca.SX]] = []  # origin and axes of everything that matters
        self.strain = self.spring = self.weight = ca.SX(0)
        self.dissipation = ca.SX(0)
        self.stop_push = np.zeros(nu)  # what the stops add to their potential's force
        self.bodies: list[tuple[ca.SX, ca.SX, ca.SX, slice]] = []  # r, R of the head, eta, place
        self.body_index = {body.name: b for b, body in enumerate(mechanism.bodies)}
        spins = self._walk()
        self._rates(spins)

    # ------------------------------------------------------------ positions and rotations

    def _walk(self) -> list[tuple]:
        """Places of all mass points and wheels; returns how each one moves."""
        terms = []
        iq = iu = 0
        for body in self.mechanism.bodies:
            if body.parent < 0:
                r, R = self.x[-6:-3], quaternion_rotation(small_turn(self.x[-3:]))
            else:
                r, R = self._node(body.parent, body.parent_node)
            joint = body.joint
            r, R = r + R @ joint.position, R @ joint.rotation
            r, R, iq, iu = self._joint(joint, r, R, iq, iu)
            n = body.reduced.mode_count
            eta = self.q[iq : iq + n] + self.x[iu : iu + n]
            place = slice(iu, iu + n)
            self.bodies.append((r, R, eta, place))
            terms += self._mass(body, len(self.bodies) - 1)
            iq, iu = iq + n, iu + n
            for wheel in body.wheels:
                self.moving.append(self._node(len(self.bodies) - 1, wheel.node))
                terms.append(("wheel", len(self.moving) - 1, wheel.inertia, wheel.axis, iu))
                iu += 1
            K, D = body.reduced.stiffness, body.reduced.damping
            rates = self.xd[place]
            self.strain += ca.dot(eta, K @ eta) / 2 if n else 0
            self.dissipation += ca.dot(rates, D @ rates) / 2 if n else 0
        return terms

    def _joint(self, joint: TreeJoint, r: ca.SX, R: ca.SX, iq: int, iu: int) -> tuple:
        first = iu
        displacement = []
        slide = ca.SX.zeros(3)
        for axis in joint.translations:
            displacement.append(self.q[iq] + self.x[iu])
            slide += axis * displacement[-1]
            iq, iu = iq + 1, iu + 1
        r = r + R @ slide
        if joint.quaternion:
            start = ca.SX(self.q[iq : iq + 4])
            turned = quaternion_product(start, small_turn(self.x[iu : iu + 3]))
            R = R @ quaternion_rotation(turned)
            if joint.stiffness[-3:].any():
                turned = turned if self.q[iq] >= 0 else -turned
                sine = ca.norm_2(turned[1:])
                theta = 2 * ca.atan2(sine, turned[0]) * turned[1:] / sine
                displacement += ca.vertsplit(theta)
            else:
                displacement += [ca.SX(0)] * 3
            iq, iu = iq + 4, iu + 3
        for axis in joint.rotations:
            angle = self.q[iq] + self.x[iu]
            displacement.append(angle)
            # Turning keeps what lies along the axis and turns the rest in its plane.
            along = np.outer(axis, axis)
            across = np.cross(axis, np.eye(3)).T
            R = R @ (along + ca.cos(angle) * (np.eye(3) - along) + ca.sin(angle) * across)
            iq, iu = iq + 1, iu + 1
        for i, d in enumerate(displacement):
            self._efforts(joint, i, d, first + i)
        return r, R, iq, iu

    def _efforts(self, joint: TreeJoint, i: int, d: ca.SX, iu: int) -> None:
        """Potential and dissipation of one dof of a joint."""
        rate = self.xd[iu]
        self.spring += joint.stiffness[i] * (d - joint.rest[i]) ** 2 / 2
        self.dissipation += joint.viscous[i] * rate**2 / 2
        if joint.coulomb[i]:  # log cosh, whose slope is tanh, without overflow
            z = ca.fabs(rate / joint.transition_speed[i])
            log_cosh = z + ca.log1p(ca.exp(-2 * z))
            self.dissipation += joint.coulomb[i] * joint.transition_speed[i] * log_cosh
        if not joint.stop_stiffness[i] and not joint.stop_damping[i]:
            return
        for limit, side in ((joint.stop_lower[i], -1.0), (joint.stop_upper[i], 1.0)):
            depth = side * (float(ca.evalf(ca.substitute(d, self.x, 0))) - limit)
            if depth > 0:
                self.spring += joint.stop_stiffness[i] * (d - limit) ** 2 / 2
                elastic = joint.stop_stiffness[i] * depth
                total = max(0.0, elastic + joint.stop_damping[i] * side * self.u[iu])
                self.stop_push[iu] -= side * (total - elastic)

    def _deformed(
        self, b: int, X: np.ndarray, phi: np.ndarray, psi: np.ndarray, phi2: np.ndarray
    ) -> tuple[ca.SX, ca.SX]:
        r, R, eta, _ = self.bodies[b]
        local, turned = ca.SX(X), R
        if phi.shape[1]:
            local = local + phi @ eta
            for (i, j), column in zip(self.mechanism.bodies[b].reduced.pairs, phi2.T, strict=True):
                local = local + column * (eta[i] * eta[j] / (2 if i == j else 1))
            if psi.any():
                turned = R @ exponential(psi @ eta)
        return r + R @ local, turned

    def _node(self, b: int, name: str) -> tuple[ca.SX, ca.SX]:
        node = self.mechanism.bodies[b].reduced.nodes[name]
        r, R = self._deformed(b, node.position, node.phi, node.psi, node.phi2)
        return r, R @ node.rotation

    def _mass(self, body: TreeBody, b: int) -> list[tuple]:
        part, terms = body.reduced, []
        _, R, eta, place = self.bodies[b]
        for k, mass in enumerate(part.point_mass):
            psi, J = part.point_psi[k], part.point_inertia[k]
            r, turned = self._deformed(
                b, part.point_position[k], part.point_phi[k], psi, part.point_phi2[k]
            )
            # exact: the point's own axes; otherwise the energy is written in axes of the head
            exact = part.has_model("exact")[k] or not psi.any()
            self.moving.append((r, turned if exact else R))
            turn = None
            if not exact:
                turn = (part.has_model("linear")[k], psi @ eta, psi @ self.xd[place])
            terms.append(("point", len(self.moving) - 1, float(mass), J, turn))
            self.weight -= float(mass) * ca.dot(self.mechanism.gravity, r)
        return terms

    # --------------------------------------------------------------- energies and their rates

    def _rates(self, terms: list[tuple]) -> None:
        x, xd, nu = self.x, self.xd, self.nu
        flat = ca.vertcat(*[ca.vertcat(r, ca.vec(R)) for r, R in self.moving])
        flatd = ca.jtimes(flat, x, xd)
        T = ca.SX(0)
        spin = {}
        for i, (_, R) in enumerate(self.moving):
            spin[i] = vee(R, ca.reshape(flatd[12 * i + 3 : 12 * i + 12], 3, 3))
        for kind, i, amount, data, extra in terms:
            if kind == "point":
                v = flatd[12 * i : 12 * i + 3]
                T += amount * ca.dot(v, v) / 2 + spin_energy(data, spin[i], extra)
            else:  # a wheel about `data`: its whole spin less that of the locked wheel
                along = ca.dot(data, spin[i])
                T += amount * ((along + xd[extra]) ** 2 - along**2) / 2
        V = self.strain + self.spring + self.weight
        p = ca.gradient(T, xd)
        drift = ca.jtimes(p, x, xd) - ca.gradient(T, x) + ca.gradient(V, x)
        drift += ca.gradient(self.dissipation, xd)
        energy = ca.vertcat(T, self.strain, self.spring, self.weight)
        momenta = ca.Function("p", [x, xd], [p])
        everything = ca.Function("all", [x, xd], [p, drift, energy])
        at, speed = np.zeros(nu + 6), np.concatenate([self.u, np.zeros(6)])
        values = [np.array(value).ravel() for value in everything(at, speed)]
        self._momentum = values[0][nu:]
        self.bias = values[1][:nu] - self.stop_push
        self._energies = values[2]
        # T is quadratic in xd, so that p is linear and its value at a unit vector is a column.
        units = np.eye(nu + 6)[:, :nu]
        self.mass_matrix = np.array(momenta(np.zeros((nu + 6, nu)), units))[:nu]

    def energies(self) -> tuple[float, ...]:
        """Kinetic, strain, springs and stops, gravity."""
        return tuple(float(value) for value in self._energies)

    def momentum(self) -> np.ndarray:
        """Linear, and angular about the world's origin."""
        return self._momentum

    def _node_rates(self, name: str) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        body, _, node = name.partition(".")
        r, R = self._node(self.body_index[body], node or "head")
        v = ca.jtimes(r, self.x, self.xd)
        Rd = ca.reshape(ca.jtimes(ca.vec(R), self.x, self.xd), 3, 3)
        return r, R, v, R @ vee(R, Rd)

    def node(self, name: str, udot: np.ndarray) -> tuple[np.ndarray, ...]:
        """r, R, v, w, a, alpha of the node "body.node", world axes."""
        r, R, v, w = self._node_rates(name)
        state = ca.vertcat(self.x, self.xd)
        statedd = ca.vertcat(self.xd, ca.SX(np.concatenate([udot, np.zeros(6)])))
        rates = ca.jtimes(ca.vertcat(v, w), state, statedd)
        found = ca.Function("node", [self.x, self.xd], [r, R, v, w, rates[:3], rates[3:]])
        values = found(np.zeros(self.nu + 6), np.concatenate([self.u, np.zeros(6)]))
        return tuple(np.array(value).squeeze() for value in values)

    def load(self, wrenches: dict[str, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """Generalised force of wrenches on nodes: the gradient of their power."""
        power = ca.SX(0)
        for name, (force, torque) in wrenches.items():
            _, _, v, w = self._node_rates(name)
            power += ca.dot(force, v) + ca.dot(torque, w)
        push = ca.Function("load", [self.x, self.xd], [ca.gradient(power, self.xd)])
        return np.array(push(0, 0)).ravel()[: self.nu]

    def accelerations(
        self,
        tau: np.ndarray | None = None,
        wrenches: dict[str, tuple[np.ndarray, np.ndarray]] | None = None,
        prescribed: dict[int, float] | None = None,
    ) -> np.ndarray:
        """udot; prescribed = {index in u: its acceleration}."""
        force = -self.bias + (0.0 if tau is None else tau)
        if wrenches:
            force = force + self.load(wrenches)
        udot = np.zeros(self.nu)
        known = sorted(prescribed or {})
        for i in known:
            udot[i] = (prescribed or {})[i]
        free = np.setdiff1d(np.arange(self.nu), known)
        rest = (force - self.mass_matrix @ udot)[free]
        udot[free] = np.linalg.solve(self.mass_matrix[np.ix_(free, free)], rest)
        return udot
