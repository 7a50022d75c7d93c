"""A model standing still at any coordinates: the forces on it, and how they change with position.

At rest the equations of motion are M a = Q + J^T lam: generalised forces Q of weight, strain,
springs, stops and loads at t = 0, and forces lam that hold the loops, whose Jacobian is J. Of
motions N that loops allow (J N = 0) only Q takes part. When such a motion goes on, the constant
forces lam turn with the mechanism, so that

    K = - sym( N^T d(Q + J^T lam)/dq N )                                                     (1)

is the second variation of the potential energy on the loops. lam leaves the least acceleration,

    lam = argmin (Q + J^T lam)^T M^-1 (Q + J^T lam),                                         (2)

and none where the model rests. The derivatives are the kernel's, exact: no difference is taken, so
that neither the size of a model nor the unit of its modes matters.

Torques in world axes and efforts on quaternion joints have no potential; (1) takes the symmetric
part of what they add. Friction has no force at rest. Prescribed joints and loops stand where
their motion has them at t = 0, without its rate.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from pliant._kernel import Kernel
from pliant.closing import allowed_motions, loop_signals
from pliant.compile import compile_model
from pliant.coordinates import coordinate_rates
from pliant.loop import TRANSLATION
from pliant.mechanism import TreeJoint
from pliant.model import Model
from pliant.motion import standing_curve
from pliant.reduced import Array

Indices = NDArray[np.intp]


class AtRest:
    """A model at rest; ``put`` moves it. ``length`` is that of its longest body."""

    def __init__(self, model: Model) -> None:
        self.model = _standing(model)
        self.kernel = Kernel(self.model.blob)
        # beside the start loops are open a little: no stabilisation, which would pull at them
        self.kernel.configure(
            step=1.0,
            integrator="leapfrog",
            algorithm="order_n",
            node_rotation="exact",
            loop_steps=np.inf,
        )
        self.length = _length(self.model)
        self._gaps = loop_signals(self.model, self.kernel, "loop_gap")
        slides = self.model.sections["row.kind"] == TRANSLATION
        self._gap_size = np.where(slides, self.length, 1.0)
        self.put(self.q)

    @property
    def q(self) -> Array:
        """The coordinates now; a copy."""
        return np.array(self.kernel.q)

    def put(self, q: Array) -> None:
        self.kernel.q[:], self.kernel.u[:] = q, 0.0
        self.kernel.start_turns()
        self.kernel.state_written()

    def mass(self) -> Array:
        """M over all speeds."""
        return np.asarray(self.kernel.mass_matrix())

    def forces(self) -> Array:
        """Q on all speeds, without what holds the loops."""
        return self.kernel.forces(np.zeros(len(self._gaps)))

    def load_forces(self) -> Array:
        """(loads, u_size): what each load of the model by itself adds to Q."""
        model, mechanism = self.model, self.model.mechanism
        places = {("node", node.name): node.input.start for node in model.nodes}
        places |= {("joint", joint.name): joint.input.start for joint in model.joints}
        places |= {("joint", loop.name): loop.input.start for loop in model.loops}
        places |= {("wheel", wheel.name): wheel.input for wheel in model.wheels}
        parts, all_of_them = [], self.forces()
        for load in mechanism.loads:
            body = "" if load.kind == "joint" else f"{mechanism.bodies[load.body].name}."
            first, values = places[load.kind, f"{body}{load.element}"], load.at(0.0)
            self.kernel.input[first : first + len(values)] = values  # once more
            parts.append(self.forces() - all_of_them)
            self.kernel.input[first : first + len(values)] = 0.0
        return np.array(parts).reshape(-1, model.u_size)

    def gaps(self) -> Array:
        """Of all held directions of loops: in lengths of the model, and rad; infinite where the
        model cannot be."""
        gaps = np.zeros(len(self._gaps))
        if self.kernel.read(self._gaps, gaps).code:
            gaps[:] = np.inf
        return gaps / self._gap_size

    def open_rows(self) -> tuple[Array, Array]:
        """Gaps and their derivatives (rows, u_size), of the directions that loops hold by
        themselves: not those that nothing moves or that follow from others."""
        jacobian, live = self.kernel.loop_rows()
        return self.gaps()[live], (jacobian / self._gap_size[:, None])[live]

    def allowed(self, speeds: Indices) -> Array:
        """(u_size, n): a basis of the motions of these speeds that loops allow."""
        return allowed_motions(self.kernel, np.eye(self.model.u_size)[:, speeds])

    def stiffness(self, speeds: Indices, basis: Array) -> Array:
        """K (1) over a basis of motions of these speeds."""
        lam = self._holding(speeds)
        along = np.ascontiguousarray(coordinate_rates(self.model, self.q, basis).T)
        rows = [self.kernel.force_derivative(lam, direction) for direction in along]
        K = -np.array(rows).reshape(len(rows), self.model.u_size) @ basis
        return np.asarray(0.5 * (K + K.T))

    def _holding(self, speeds: Indices) -> Array:
        """The forces lam (2) on all held directions; none on those that others hold already."""
        jacobian, live = self.kernel.loop_rows()
        lam = np.zeros(len(live))
        if any(live):
            L = np.linalg.cholesky(self.mass()[np.ix_(speeds, speeds)])
            J = jacobian[live][:, speeds]
            weighted = np.linalg.solve(L, np.column_stack([J.T, -self.forces()[speeds]]))
            lam[live] = np.linalg.lstsq(weighted[:, :-1], weighted[:, -1], rcond=None)[0]
        return lam


def _length(model: Model) -> float:
    """The largest distance from the head of a body to one of its nodes or mass points, or from the
    node that a joint hangs on to the joint; 1 m if there is none."""
    parts = [np.zeros((1, 3))]
    for body in model.mechanism.bodies:
        parts += [body.reduced.point_position, body.joint.position[None]]
        parts += [node.position[None] for node in body.reduced.nodes.values()]
    return float(np.linalg.norm(np.concatenate(parts), axis=1).max()) or 1.0


def _standing(model: Model) -> Model:
    """The model with all prescribed motions stopped where they are at t = 0."""
    mechanism = model.mechanism
    joints = [body.joint for body in mechanism.bodies] + [x.joint for x in mechanism.loops]
    if not any(joint.prescribed for joint in joints):
        return model
    bodies = tuple(dataclasses.replace(b, joint=_stopped(b.joint)) for b in mechanism.bodies)
    loops = tuple(dataclasses.replace(x, joint=_stopped(x.joint)) for x in mechanism.loops)
    still = dataclasses.replace(mechanism, bodies=bodies, loops=loops, start=None)
    return compile_model(still, close=False)


def _stopped(joint: TreeJoint) -> TreeJoint:
    if joint.motion is None:
        return joint
    position = joint.motion(0.0)[0]
    return dataclasses.replace(
        joint, motion=standing_curve(position), speed=np.zeros_like(joint.speed)
    )
