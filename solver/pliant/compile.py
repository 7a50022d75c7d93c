"""From a System to a Model: modal integrals, flat arrays, the kernel's data file.

Body terms are prepared as the kernel wants them (see ``solver/kernel/flexible_body.h``): of the
integrals A_i, B_ij and A2_ij only the components that are not zero are listed. *Slots* are those
of Q_i = A_i^T + sum_j (B_ij + A2_ij^T) eta_j, one for each (field, component), each with its
entries in j. Of the products of rates that go with them *gyroscopic* pairs have 2 ax(B_ji) and
*turning* pairs ax(A2_ij). A straight beam has a few of the 9 n^2 there could be.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pliant.data_file import NO_LIMIT, Section, pack
from pliant.errors import ModelError
from pliant.joint import Layout
from pliant.loop import SLIDE, free_directions, held_directions
from pliant.mechanism import Mechanism, TreeBody, TreeJoint, TreeLoop, resolve
from pliant.modal_integrals import ModalIntegrals, axial, integrate
from pliant.model import BodySlots, JointSlots, LoopSlots, Model, NodeSlots, WheelSlots
from pliant.motion import MotionCurve
from pliant.reduced import Array
from pliant.source import Source, problems_of
from pliant.system import System

# A component of A or B below this part of the body's largest is rounding of the quadrature.
NEGLIGIBLE = 1e-15

FREE, LIVE = -2, -1  # how a freedom is driven; >= 0 is a motion table


def compile_model(system: System | Mechanism | str | Path, *, close: bool = True) -> Model:
    """Compiles a system (or a model file) for the kernel.

    Loops must close at the start, or are closed by the joints they name (``pliant.closing``);
    ``close=False`` leaves it open. With ``start: equilibrium`` the model starts where it rests.

    >>> import pliant as pl
    >>> rod = pl.Body(mass=1.0, com=[0, 0, -0.5], inertia=[0.1, 0.1, 0.01])
    >>> hinge = pl.Joint(type="revolute", axis="y", child="rod")
    >>> model = compile_model(pl.System(name="p", bodies={"rod": rod}, joints={"hinge": hinge}))
    >>> model.u_size, model.joints[0].name
    (1, 'hinge')
    """
    if isinstance(system, str | Path):
        from pliant.model_file import load

        system = load(system)
    mechanism = system if isinstance(system, Mechanism) else resolve(system)
    source = getattr(system, "_source", None)
    model = _Compiler(mechanism).model()
    if close:
        model = _closed(model, source)
    return at_equilibrium(model, source) if mechanism.start == "equilibrium" else model


def at_equilibrium(model: Model, source: Source | None = None) -> Model:
    """The model with its start where it rests, found from its start (``pliant.statics``)."""
    from pliant.statics import resting  # it runs the kernel, which few models need here

    return _closed(_Compiler(resting(model)).model(), source)


def _closed(model: Model, source: Source | None) -> Model:
    if not model.loops:
        return model
    from pliant.closing import closed_start  # it runs the kernel, which few models need here

    closed, found = closed_start(model)
    if found:
        raise ModelError(problems_of(found, source))
    return model if closed is model.mechanism else _Compiler(closed).model()


class _Compiler:
    """Collects sections while walking the bodies once."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.sections: dict[str, list[Array]] = {}
        self.counts: dict[str, list[int]] = {}
        self.joints: list[JointSlots] = []
        self.bodies: list[BodySlots] = []
        self.nodes: list[NodeSlots] = []
        self.wheels: list[WheelSlots] = []
        self.loops: list[LoopSlots] = []
        self.q = self.u = 0

    def model(self) -> Model:
        bodies = self.mechanism.bodies
        dofs = sum(_dof_count(body.joint) for body in bodies)
        self.node_index = {
            f"{body.name}.{node}": i
            for i, (body, node) in enumerate(
                (body, node) for body in bodies for node in body.reduced.nodes
            )
        }
        self.node_input0 = dofs
        self.wheel_input0 = dofs + 6 * len(self.node_index)
        for name in _REALS:
            self.sections[name] = []
        for name in _INTS:
            self.counts[name] = []
        for body in bodies:
            self._add_body(body)
        self.loop_input0 = self.wheel_input0 + len(self.wheels)
        for loop in self.mechanism.loops:
            self._add_loop(loop)
        self._add_loads()
        self.sections["gravity"].append(self.mechanism.gravity)
        flat: dict[str, Section] = {}
        for name, ints in self.counts.items():
            flat[name] = np.array(ints, np.int32)
        for name, parts in self.sections.items():
            flat[name] = np.concatenate([np.ravel(part) for part in parts] or [np.zeros(0)])
        for values in flat.values():
            values.setflags(write=False)
        blob = pack(flat)
        return Model(
            name=self.mechanism.name,
            digest=hashlib.sha256(blob + self._names().encode()).hexdigest(),
            blob=blob,
            sections=flat,
            mechanism=self.mechanism,
            q_size=self.q,
            u_size=self.u,
            input_size=self.loop_input0 + len(self.counts["freedom.kind"]),
            joints=tuple(self.joints),
            bodies=tuple(self.bodies),
            nodes=tuple(self.nodes),
            wheels=tuple(self.wheels),
            loops=tuple(self.loops),
        )

    def _names(self) -> str:
        """All names in order: two models that differ only in names are two models."""
        kinds = (self.joints, self.bodies, self.nodes, self.wheels, self.loops)
        names = [slots.name for kind in kinds for slots in kind]
        return "\0".join([self.mechanism.name, *names])

    # ------------------------------------------------------------------------------ bodies

    def _add_body(self, body: TreeBody) -> None:
        joint, reduced = body.joint, body.reduced
        n, p = reduced.mode_count, reduced.pair_count
        parent = ""
        if body.parent >= 0:
            parent = f"{self.mechanism.bodies[body.parent].name}.{body.parent_node}"
        slots_before = len(self.counts["slot.field"])
        self._add_joint(joint)
        self._add_integrals(integrate(reduced), n, reduced.mass_pair_count)
        self._count(
            {
                "body.parent": body.parent,
                "body.parent_node": self.node_index[parent] if parent else -1,
                "body.translations": len(joint.translations),
                "body.rotations": len(joint.rotations),
                "body.quaternion": int(joint.quaternion),
                "body.modes": n,
                "body.pairs": p,
                "body.mass_pairs": reduced.mass_pair_count,
                "body.slots": len(self.counts["slot.field"]) - slots_before,
                "body.wheels": len(body.wheels),
            }
        )
        self._real("mode.matrices", reduced.stiffness, reduced.damping)
        self.counts["pair.modes"].extend(int(i) for i in reduced.pairs.ravel())

        self.counts["body.points"].append(len(reduced.exact_points))
        for k in reduced.exact_points:
            self._real("point.inertia", reduced.point_inertia[k])
            self._real("point.psi", reduced.point_psi[k].T)

        for name, node in reduced.nodes.items():
            self.counts["node.body"].append(len(self.bodies))
            self._real("node.position", node.position)
            self._real("node.rotation", node.rotation)
            self._real("node.phi", node.phi.T, node.phi2.T)
            self._real("node.psi", node.psi.T)
            first = self.node_input0 + 6 * len(self.nodes)
            self.nodes.append(
                NodeSlots(f"{body.name}.{name}", node.contact, slice(first, first + 6))
            )

        nd, nq = _dof_count(joint), len(joint.start)
        dof0 = sum(slots.input.stop - slots.input.start for slots in self.joints)
        self.joints.append(
            JointSlots(
                joint.name,
                len(self.bodies),
                joint.type,
                slice(self.q, self.q + nq),
                slice(self.u, self.u + nd),
                slice(dof0, dof0 + nd),
            )
        )
        self.bodies.append(
            BodySlots(
                body.name,
                slice(self.q + nq, self.q + nq + n),
                slice(self.u + nd, self.u + nd + n),
            )
        )
        self._real("start.q", joint.start, np.zeros(n) if body.eta is None else body.eta)
        self._real("start.u", joint.speed, np.zeros(n))
        for k, wheel in enumerate(body.wheels):
            self.counts["wheel.node"].append(self.node_index[f"{body.name}.{wheel.node}"])
            self._real("wheel.axis", wheel.axis)
            self._real("wheel.inertia", wheel.inertia)
            self._real("start.u", wheel.speed)
            self.wheels.append(
                WheelSlots(
                    f"{body.name}.{wheel.name}",
                    self.u + nd + n + k,
                    self.wheel_input0 + len(self.wheels),
                )
            )
        self.q += nq + n
        self.u += nd + n + len(body.wheels)

    def _add_joint(self, joint: TreeJoint) -> None:
        self._real("joint.position", joint.position)
        self._real("joint.rotation", joint.rotation)
        turning = np.eye(3) if joint.quaternion else joint.rotations
        self._real("dof.axis", joint.translations, turning)
        nd = _dof_count(joint)
        self._real("dof.passive", _passive(joint, nd))
        curve = joint.motion
        for k in range(nd):
            if not joint.prescribed:
                self.counts["dof.drive"].append(FREE)
            elif isinstance(curve, MotionCurve):
                self.counts["dof.drive"].append(len(self.counts["motion.rows"]))
                self._add_motion(curve, k)
            else:
                self.counts["dof.drive"].append(LIVE)

    def _add_motion(self, curve: MotionCurve, k: int) -> None:
        times = curve.times
        rows = np.column_stack([times, curve.coefficients[:, k]])
        self.counts["motion.rows"].append(len(times))
        self._real("motion.values", rows)

    def _add_integrals(self, integrals: ModalIntegrals, n: int, p: int) -> None:
        """Of n modes and the first p second-order pairs, which move mass."""
        self._real("body.mass", integrals.m)
        self._real("body.first_moment", integrals.c0)
        self._real("body.inertia", integrals.Mrr[3:, 3:])
        A, B = integrals.A[: n + p], integrals.B[: n + p, : n + p]
        self._real("field.moment", integrals.S[:, : n + p].T)
        self._real("mode.matrices", integrals.Mee)
        if p:
            self._real("field.mass", np.einsum("ijaa->ij", B))
        constant = _without_rounding(A).transpose(0, 2, 1)  # A_i^T
        slope = B.copy()
        slope[:n, :n] += integrals.A2.transpose(0, 1, 3, 2)
        slope = _without_rounding(slope)
        used = (constant != 0) | (slope != 0).any(axis=1)
        for a, field, b in np.argwhere(used.transpose(1, 0, 2)):  # row by row, as the kernel sums
            columns = np.flatnonzero(slope[field, :, a, b])
            self.counts["slot.field"].append(int(field))
            self.counts["slot.component"].append(int(3 * a + b))
            self.counts["slot.entries"].append(len(columns))
            self._real("slot.constant", constant[field, a, b])
            self.counts["entry.field"].extend(int(j) for j in columns)
            self._real("entry.value", slope[field, columns, a, b])

        largest = np.abs(B).max(initial=0.0)
        gyroscopic = _without_rounding(2.0 * axial(B.transpose(1, 0, 2, 3)), largest)
        self._add_pairs("gyroscopic", gyroscopic)
        largest = np.abs(integrals.A2).max(initial=0.0)
        turning = _without_rounding(axial(integrals.A2), largest)
        twice = np.where(np.eye(n, dtype=bool), 1.0, 2.0)  # (i, j) stands for (j, i) as well
        self._add_pairs("turning", np.triu(twice)[:, :, None] * turning)

    def _add_pairs(self, kind: str, vectors: Array) -> None:
        """Those of the vectors (n, n, 3) that are not zero, with their two indices."""
        pairs = np.argwhere(vectors.any(axis=2))
        self.counts[f"body.{kind}s"].append(len(pairs))
        self.counts[f"{kind}.fields"].extend(int(i) for i in pairs.ravel())
        self._real(f"{kind}.value", vectors[tuple(pairs.T)])

    # ------------------------------------------------------------------------------- loops

    def _add_loop(self, loop: TreeLoop) -> None:
        joint = loop.joint
        layout = Layout(joint.translations, joint.rotations, joint.quaternion)
        held = held_directions(layout, joint.prescribed)
        free = free_directions(layout, joint.prescribed)
        bodies = self.mechanism.bodies

        def node(body: int, name: str) -> int:
            return -1 if body < 0 else self.node_index[f"{bodies[body].name}.{name}"]

        first_motion = len(self.counts["motion.rows"])
        if isinstance(joint.motion, MotionCurve):
            for k in range(layout.dof_count):
                self._add_motion(joint.motion, k)
        turns = [*joint.rotations[:2], *np.zeros((2, 3))] if len(joint.rotations) != 1 else None
        axes = np.array(turns[:2] if turns else [joint.rotations[0]] * 2)
        rows0, freedoms0 = len(self.counts["row.kind"]), len(self.counts["freedom.kind"])
        self._count(
            {
                "loop.node_a": node(loop.parent, loop.parent_node),
                "loop.node_b": node(loop.child, loop.child_node),
                "loop.rows": len(held),
                "loop.freedoms": len(free),
                "loop.translations": sum(direction.kind == SLIDE for direction in free),
            }
        )
        self._real("loop.position", joint.position)
        self._real("loop.rotation", joint.rotation)
        self._real("loop.axes", axes)
        self._real("loop.cosine", float(axes[0] @ axes[1]))
        for row in held:
            self.counts["row.kind"].append(row.kind)
            self.counts["row.motion"].append(first_motion + row.freedom if row.freedom >= 0 else -1)
            self._real("row.direction", row.direction)
        for direction in free:
            self.counts["freedom.kind"].append(direction.kind)
            self._real("freedom.axis", direction.axis)
            self._real("freedom.reference", direction.reference)
        self._real("freedom.passive", _passive(joint, layout.dof_count)[: len(free)])
        freedoms = slice(freedoms0, freedoms0 + len(free))
        self.loops.append(
            LoopSlots(
                joint.name,
                joint.type,
                slice(rows0, rows0 + len(held)),
                freedoms,
                slice(self.loop_input0 + freedoms.start, self.loop_input0 + freedoms.stop),
            )
        )

    # ------------------------------------------------------------------------------- loads

    def _add_loads(self) -> None:
        efforts = {slots.name: slots.input.start for slots in self.joints}
        efforts |= {slots.name: slots.input.start for slots in self.loops}
        wheels = {slots.name: slots for slots in self.wheels}
        for load in self.mechanism.loads:
            on_body = f"{self.bodies[load.body].name}.{load.element}"
            if load.kind == "node":
                first = self.node_input0 + 6 * self.node_index[on_body]
            elif load.kind == "joint":
                first = efforts[load.element]
            else:
                first = wheels[on_body].input
            for column in range(load.values.shape[1]):
                values = load.values[:, column]
                if not values.any():
                    continue
                self.counts["load.input"].append(first + column)
                self.counts["load.hold"].append(int(load.hold))
                self.counts["load.rows"].append(len(values))
                self._real("load.values", np.stack([load.times, values], axis=1))

    # --------------------------------------------------------------------------- collecting

    def _real(self, name: str, *parts: Array | float) -> None:
        self.sections[name].extend(np.asarray(part, float) for part in parts)

    def _count(self, values: dict[str, int]) -> None:
        for name, value in values.items():
            self.counts[name].append(value)


def _dof_count(joint: TreeJoint) -> int:
    return len(joint.translations) + (3 if joint.quaternion else len(joint.rotations))


def _passive(joint: TreeJoint, count: int) -> Array:
    """(count, 9) spring, friction and stops of a joint's freedoms, as the kernel has them."""
    passive = (
        joint.stiffness,
        joint.rest,
        joint.viscous,
        joint.coulomb,
        joint.transition_speed,
        np.clip(joint.stop_lower, -NO_LIMIT, NO_LIMIT),
        np.clip(joint.stop_upper, -NO_LIMIT, NO_LIMIT),
        joint.stop_stiffness,
        joint.stop_damping,
    )
    return np.stack([np.broadcast_to(x, count) for x in passive], axis=1)


def _without_rounding(values: Array, largest: float | None = None) -> Array:
    """Zero where it is rounding of sums whose terms are as large as ``largest``."""
    scale = np.abs(values).max(initial=0.0) if largest is None else largest
    return np.where(np.abs(values) > NEGLIGIBLE * scale, values, 0.0)


_REALS: Sequence[str] = (
    "gravity joint.position joint.rotation body.mass body.first_moment body.inertia dof.axis "
    "dof.passive start.q start.u field.moment mode.matrices field.mass slot.constant entry.value "
    "gyroscopic.value turning.value point.inertia point.psi node.position node.rotation node.phi "
    "node.psi wheel.axis wheel.inertia motion.values load.values loop.position loop.rotation "
    "loop.axes loop.cosine row.direction freedom.axis freedom.passive freedom.reference"
).split()
_INTS: Sequence[str] = (
    "body.parent body.parent_node body.translations body.rotations body.quaternion body.modes "
    "body.pairs body.mass_pairs body.slots body.gyroscopics body.turnings body.points body.wheels "
    "dof.drive slot.field slot.component slot.entries entry.field gyroscopic.fields "
    "turning.fields pair.modes node.body wheel.node motion.rows load.input load.hold load.rows "
    "loop.node_a loop.node_b loop.rows loop.freedoms loop.translations row.kind row.motion "
    "freedom.kind"
).split()
