"""Reading channels from a simulation: the kernel's quantities, and what acts from outside.

What acts on a node, a wheel or along a free direction of a loop is the sum of what was set from
outside and of the model's load tables at the present time; the kernel adds them up in the same way
(``dynamics.h``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pliant._kernel import QUANTITIES
from pliant.channels import APPLIED, Channel
from pliant.reduced import Array

if TYPE_CHECKING:
    from pliant.mechanism import TreeLoad
    from pliant.model import Model
    from pliant.simulation import Simulation


class Reader:
    """Reads the same channels again and again."""

    def __init__(self, sim: Simulation, channels: Sequence[Channel]) -> None:
        acting = [c.source[0] == APPLIED for c in channels]
        rows = [
            (QUANTITIES.index(c.source[0]), c.source[1], c.index)
            for c, acts in zip(channels, acting, strict=True)
            if not acts
        ]
        self._sim = sim
        self._signals = sim.kernel.signals(np.array(rows, np.int32).reshape(-1, 3))
        self._values = np.zeros(len(rows))
        self._acting = np.array(acting, bool)
        self._inputs = np.array([c.index for c in channels if c.source[0] == APPLIED], np.intp)
        self._tables = load_tables(sim.model)

    def read(self, out: Array) -> None:
        """Fills ``out`` with the channels at the present state and inputs."""
        if not len(self._inputs):
            self._sim.read(self._signals, out)
            return
        self._sim.read(self._signals, self._values)
        out[~self._acting] = self._values
        values = self._sim.inputs.get(slice(None))
        for where, load in self._tables:
            values[where] += load.at(self._sim.time)
        out[self._acting] = values[self._inputs]


def load_tables(model: Model) -> list[tuple[slice, TreeLoad]]:
    """The model's load tables and the inputs, in the order of the kernel's, that they add to."""
    places = {("joint", slots.name): slots.input for slots in model.joints}
    places |= {("joint", slots.name): slots.input for slots in model.loops}
    places |= {("node", slots.name): slots.input for slots in model.nodes}
    places |= {("wheel", w.name): slice(w.input, w.input + 1) for w in model.wheels}
    tables = []
    for load in model.mechanism.loads:
        body = model.mechanism.bodies[load.body].name
        name = load.element if load.kind == "joint" else f"{body}.{load.element}"
        tables.append((places[load.kind, name], load))
    return tables
