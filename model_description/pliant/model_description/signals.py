"""What the kernel computes, as variables: derivatives of one another, sizes, units to show."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from pliant.channels import Channel
from pliant.model import Model
from pliant.model_description.parameters import modal_matrices, prescribed_states
from pliant.model_description.units import display_unit, unit_name
from pliant.model_description.variable import Causality, Signal, Variable

# A modal coordinate is of ordinary size if no node moves by more than this, in m or rad.
_ORDINARY_DEFLECTION = 0.01
_ORDINARY_WHEEL_SPEED = 100.0
# Of a node's 19 numbers: velocity is the derivative of position, and so on.
_NODE_DERIVATIVES = {
    **{i: i - 7 for i in (7, 8, 9)},
    **{i: i - 6 for i in (13, 14, 15, 16, 17, 18)},
}


class Signals:
    """Signals of one model."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._trees = model.mechanism.bodies
        self._held = prescribed_states(model)

    def variable(self, channel: Channel, causality: Causality) -> Variable:
        """The row of a channel; its derivative is linked later, when all names are known."""
        unit = unit_name(channel.unit)
        is_wheel_speed = channel.name.startswith("wheel.") and unit == "rad/s"
        return Variable(
            path=channel.name,
            name=channel.name,
            type="Real",
            causality=causality,
            variability="continuous",
            initial="calculated",
            description=channel.description,
            source=signal_of(channel),
            unit=unit,
            display_unit="rpm" if is_wheel_speed else display_unit(unit),
            nominal=self._nominal(channel),
        )

    def is_state(self, signal: Signal) -> bool:
        is_coordinate = signal.quantity in ("q", "u")
        return is_coordinate and (signal.quantity, signal.index) not in self._held

    def derivative_of(self, signal: Signal) -> Signal | None:
        """The signal whose time derivative this one is."""
        quantity, element, index = signal.quantity, signal.element, signal.index
        if quantity == "u" and index in self._coordinates:
            return Signal("q", 0, self._coordinates[index])
        if quantity == "udot":
            return Signal("u", 0, index)
        if quantity == "quaternion_rate":
            return Signal("q", 0, self._quaternions[element] + index)
        if quantity == "node" and index in _NODE_DERIVATIVES:
            return Signal("node", element, _NODE_DERIVATIVES[index])
        return None

    @cached_property
    def _coordinates(self) -> dict[int, int]:
        """Coordinates by the speeds that are their derivatives; those of quaternions are not."""
        pairs: dict[int, int] = {}
        for joint, body in zip(self._model.joints, self._model.bodies, strict=True):
            tree = self._trees[joint.body].joint
            count = len(tree.translations) if tree.quaternion else joint.u.stop - joint.u.start
            pairs |= {joint.u.start + k: joint.q.start + k for k in range(count)}
            modes = body.eta.stop - body.eta.start
            pairs |= {body.etad.start + k: body.eta.start + k for k in range(modes)}
        return pairs

    @cached_property
    def _quaternions(self) -> list[int]:
        """First coordinates of the quaternions, in order."""
        joints = self._model.joints
        return [j.q.stop - 4 for j in joints if self._trees[j.body].joint.quaternion]

    def _nominal(self, channel: Channel) -> float | None:
        """Sizes that are far from one, for importers that scale by them."""
        words = channel.base.split(".")
        if words[0] == "wheel" and words[-1] == "speed":
            return _ORDINARY_WHEEL_SPEED
        if words[0] != "body":
            return None
        size, omega = self._modal_sizes[words[1]][channel.component - 1]
        nominal = size * omega ** {"eta": 0, "etad": 1, "etadd": 2}[words[2]]
        return float(f"{nominal:.3g}")

    @cached_property
    def _modal_sizes(self) -> dict[str, list[tuple[float, float]]]:
        """Ordinary deflection and frequency of every mode, by body."""
        sizes = {}
        for i, body in enumerate(self._trees):
            mass, stiffness, _ = modal_matrices(self._model, i)
            shapes = [abs(s) for n in body.reduced.nodes.values() for s in (n.phi, n.psi)]
            most = np.concatenate(shapes).max(axis=0)
            inertia = np.diag(mass)
            omega = np.sqrt(np.diag(stiffness) / np.where(inertia > 0.0, inertia, 1.0))
            deflection = _ORDINARY_DEFLECTION / np.where(most > 0.0, most, 1.0)
            sizes[body.name] = list(zip(deflection.tolist(), omega.tolist(), strict=True))
        return sizes


def signal_of(channel: Channel) -> Signal:
    return Signal(*channel.source, channel.index)
