"""The same model as a pl.Simulation, with inputs and outputs under the names of its FMU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import pliant as pl
from pliant._kernel import QUANTITIES
from pliant.channels import all_channels, all_inputs
from pliant.reduced import Array


class Twin:
    """Steps like an FMU: inputs are held over a step.

    >>> twin = Twin(system, outputs=["joint.elbow.q"])                        # doctest: +SKIP
    >>> twin.set(["joint.elbow.tau"], [12.0]); twin.step(); twin.read()       # doctest: +SKIP
    """

    def __init__(self, system: pl.System, outputs: Sequence[str] = (), **settings) -> None:
        self.sim = pl.Simulation(system, **settings)
        model = self.sim.model
        self._inputs = {item.name: item.index for item in all_inputs(model)}
        channels = {channel.name: channel for channel in all_channels(model)}
        rows = [
            (QUANTITIES.index(c.source[0]), c.source[1], c.index)
            for c in map(channels.__getitem__, outputs)
        ]
        self._signals = self.sim.kernel.signals(np.array(rows, np.int32).reshape(-1, 3))
        self._values = np.zeros(len(rows))

    def set(self, names: Sequence[str], values: Sequence[float]) -> None:
        for name, value in zip(names, values, strict=True):
            index = self._inputs[name]
            self.sim.inputs.set(slice(index, index + 1), value, name)

    def step(self, count: int = 1) -> None:
        self.sim.step(count)

    def read(self) -> Array:
        self.sim.read(self._signals, self._values)
        return self._values.copy()
