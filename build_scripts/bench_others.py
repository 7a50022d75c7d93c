"""The same trees for Pinocchio and MuJoCo.

Both get pliant's own mechanism, so that all three solve the same thing; flexible bodies are given
undeformed, as rigid ones. MuJoCo's free joint has pliant's conventions (position rate in world
axes, angular velocity in the body's, quaternion w, x, y, z); Pinocchio has both velocities in the
body's axes and the quaternion as x, y, z, w.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
from bench_models import Array, State

from pliant.mechanism import Mechanism, TreeBody
from pliant.model import JointSlots, Model


class Pinocchio:
    """A model for Pinocchio; welded bodies are merged into what they hang on."""

    def __init__(self, model: Model) -> None:
        self.slots = {joint.name: joint for joint in model.joints}
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array(model.mechanism.gravity), np.zeros(3))
        heads: dict[int, tuple[int, Any]] = {-1: (0, pin.SE3.Identity())}
        for index, body in depth_first(model.mechanism):
            joint, head = heads[body.parent]
            place = head * pin.SE3(*joint_frame(model.mechanism, body))
            if body.joint.type != "fixed":
                joint = self.model.addJoint(joint, _joint_model(body), place, body.joint.name)
                place = pin.SE3.Identity()
            heads[index] = (joint, place)
            mass, com, inertia = undeformed(body)
            self.model.appendBodyToJoint(joint, pin.Inertia(mass, com, inertia), place)
        self.data = self.model.createData()

    def call(self, state: State, convention: str = "") -> Callable[[], Array]:
        """Forward dynamics as Python calls it, in the default or a named convention."""
        q, v, tau = pin.neutral(self.model), np.zeros(self.model.nv), np.zeros(self.model.nv)
        for slots, iq, iv in self._joints():
            own_q, own_u = state.q[slots.q], state.u[slots.u]
            if slots.type == "free":
                q[iq : iq + 7] = own_q[[0, 1, 2, 4, 5, 6, 3]]
                v[iv : iv + 3] = rotation_of(own_q[3:]).T @ own_u[:3]
                v[iv + 3 : iv + 6] = own_u[3:]
            else:
                q[iq], v[iv], tau[iv] = own_q[0], own_u[0], state.tau[slots.u][0]
        options = [getattr(pin.Convention, convention)] if convention else []
        return partial(pin.aba, self.model, self.data, q, v, tau, *options)

    def in_pliants_order(self, acceleration: Array, state: State) -> Array:
        """Accelerations as pliant gives them: of a free joint R (vdot + w x v), wdot."""
        result = np.zeros(self.model.nv)
        for slots, _, iv in self._joints():
            if slots.type == "free":
                R, own_u = rotation_of(state.q[slots.q][3:]), state.u[slots.u]
                turning = np.cross(own_u[3:], R.T @ own_u[:3])
                linear = R @ (acceleration[iv : iv + 3] + turning)
                result[slots.u] = np.concatenate([linear, acceleration[iv + 3 : iv + 6]])
            else:
                result[slots.u] = acceleration[iv]
        return result

    def _joints(self) -> Iterator[tuple[JointSlots, int, int]]:
        """pliant's slots and Pinocchio's places in q and v."""
        for name, joint in zip(self.model.names[1:], list(self.model.joints)[1:], strict=True):
            yield self.slots[name], joint.idx_q, joint.idx_v


def _joint_model(body: TreeBody) -> Any:
    if body.joint.type == "free":
        return pin.JointModelFreeFlyer()
    axis = body.joint.rotations[0]
    aligned = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
    for unit, kind in zip(np.eye(3), aligned, strict=True):
        if np.array_equal(axis, unit):
            return kind()
    return pin.JointModelRevoluteUnaligned(axis)


class MuJoCo:
    """A rigid model for MuJoCo without contacts, constraints and sensors."""

    def __init__(self, model: Model) -> None:
        self.slots = {joint.name: joint for joint in model.joints}
        spec = mujoco.MjSpec()
        spec.option.gravity = np.array(model.mechanism.gravity)
        off = mujoco.mjtDisableBit
        spec.option.disableflags = off.mjDSBL_CONTACT | off.mjDSBL_CONSTRAINT | off.mjDSBL_SENSOR
        bodies = {-1: spec.worldbody}
        for index, body in depth_first(model.mechanism):
            R, p = joint_frame(model.mechanism, body)
            quaternion = np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, R.ravel())
            child = bodies[body.parent].add_body(name=body.name, pos=p, quat=quaternion)
            mass, com, J = undeformed(body)
            child.explicitinertial = True
            child.mass, child.ipos = mass, com
            child.fullinertia = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
            if body.joint.type == "free":
                child.add_freejoint(name=body.joint.name)
            else:
                axis = body.joint.rotations[0]
                kind = mujoco.mjtJoint.mjJNT_HINGE
                child.add_joint(name=body.joint.name, type=kind, axis=axis)
            bodies[index] = child
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)

    def call(self, state: State) -> Callable[[], None]:
        """Forward dynamics as Python calls it; the result is ``data.qacc``."""
        for slots, iq, iv, count in self._joints():
            self.data.qpos[iq : iq + len(state.q[slots.q])] = state.q[slots.q]
            self.data.qvel[iv : iv + count] = state.u[slots.u]
            self.data.qfrc_applied[iv : iv + count] = state.tau[slots.u]
        return partial(mujoco.mj_forward, self.model, self.data)

    def in_pliants_order(self) -> Array:
        result = np.zeros(self.model.nv)
        for slots, _, iv, count in self._joints():
            result[slots.u] = self.data.qacc[iv : iv + count]
        return result

    def _joints(self) -> Iterator[tuple[JointSlots, int, int, int]]:
        for name, slots in self.slots.items():
            joint = self.model.joint(name)
            count = slots.u.stop - slots.u.start
            yield slots, int(joint.qposadr[0]), int(joint.dofadr[0]), count


def depth_first(mechanism: Mechanism) -> Iterator[tuple[int, TreeBody]]:
    """The order that both of them prefer."""
    children: dict[int, list[int]] = {}
    for index, body in enumerate(mechanism.bodies):
        children.setdefault(body.parent, []).append(index)
    waiting = children[-1][::-1]
    while waiting:
        index = waiting.pop()
        yield index, mechanism.bodies[index]
        waiting += children.get(index, [])[::-1]


def joint_frame(mechanism: Mechanism, body: TreeBody) -> tuple[Array, Array]:
    """Axes and origin of a body's joint frame in its undeformed parent's head frame."""
    joint = body.joint
    if body.parent < 0:
        return joint.rotation, joint.position
    node = mechanism.bodies[body.parent].reduced.nodes[body.parent_node]
    return node.rotation @ joint.rotation, node.position + node.rotation @ joint.position


def undeformed(body: TreeBody) -> tuple[float, Array, Array]:
    """Mass, centre of mass, and inertia about it in head axes."""
    reduced = body.reduced
    mass = float(reduced.point_mass.sum())
    com = reduced.point_mass @ reduced.point_position / mass
    r = reduced.point_position - com
    second = np.einsum("k,ka,kb->ab", reduced.point_mass, r, r)
    inertia = np.trace(second) * np.eye(3) - second + reduced.point_inertia.sum(axis=0)
    return mass, com, inertia


def rotation_of(quaternion: Array) -> Array:
    return np.asarray(pin.Quaternion(*quaternion).matrix())
