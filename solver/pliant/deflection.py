"""Deflections beyond what modes can carry, watched while a run is recorded.

A mode is a shape of small deflections. What it leaves out grows with the square of the slope: a
cantilever bent to a slope of 0.3 rad at its tip is shortened by 3 % of its length, and its
deflection under a tip load is 4 % less than linear theory has it (the elastica). A body that goes
further is to be divided into several.

The rotation of a point is ``|psi eta|``, its deflection ``|phi eta|``; where shapes come without
rotations, a deflection counts as the slope that a bent cantilever has with it, 1.4 deflection /
length (its first mode). The watch looks at rows in batches and first at the bound
``sum_i max_k |psi_ki| |eta_i|``, so that it costs about a microsecond a row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.model import Model
from pliant.reduced import Array, ReducedBody

LARGEST_ROTATION = 0.3  # rad

_SLOPE = 1.376  # slope times length over deflection at the tip, first mode of a cantilever
_BATCH = 64  # rows


class Shapes:
    """How the mass points and nodes of a flexible body turn and move with its modes."""

    def __init__(self, body: ReducedBody) -> None:
        nodes = list(body.nodes.values())
        self.phi = np.concatenate([body.point_phi, np.array([node.phi for node in nodes])])
        self.psi = np.concatenate([body.point_psi, np.array([node.psi for node in nodes])])
        places = np.concatenate([body.point_position, np.array([n.position for n in nodes])])
        self.length = float(np.linalg.norm(places, axis=1).max())
        if not self.psi.any() and self.length > 0.0:
            self.psi = _SLOPE / self.length * self.phi

    def rotation(self, eta: Array) -> float:
        """The largest rotation of a point, rad."""
        return float(np.linalg.norm(self.psi @ eta, axis=1).max())

    def deflection(self, eta: Array) -> float:
        """The largest deflection of a point, m."""
        return float(np.linalg.norm(self.phi @ eta, axis=1).max())


@dataclass(frozen=True)
class Deflection:
    """The largest rotation in a body during a run, the deflection with it, and when."""

    body: str
    time: float
    rotation: float
    deflection: float
    length: float

    def __str__(self) -> str:
        return (
            f"bodies.{self.body}: it turned by {self.rotation:.2g} rad in itself at t = "
            f"{self.time:.4g} s (deflected by {self.deflection:.2g} m of {self.length:.3g} m); "
            f"modes carry about {LARGEST_ROTATION:g} rad: divide it into several bodies"
        )


class DeflectionWatch:
    """Keeps the largest deflection of every body that goes beyond what modes can carry."""

    def __init__(self, model: Model) -> None:
        flexible = [
            (slots, body.reduced)
            for slots, body in zip(model.bodies, model.mechanism.bodies, strict=True)
            if body.reduced.mode_count
        ]
        self._names = [slots.name for slots, _ in flexible]
        self._shapes = [Shapes(reduced) for _, reduced in flexible]
        counts = [reduced.mode_count for _, reduced in flexible]
        self._first = np.cumsum([0, *counts])[:-1]
        self._index = np.array(
            [i for slots, _ in flexible for i in range(slots.eta.start, slots.eta.stop)], np.intp
        )
        # (modes of all bodies,): the largest rotation anywhere by each
        self._bound = np.concatenate(
            [np.zeros(0), *(np.linalg.norm(s.psi, axis=1).max(axis=0) for s in self._shapes)]
        )
        self._times = np.zeros(_BATCH)
        self._rows = np.zeros((_BATCH, len(self._index)))
        self._count = 0
        self._worst: dict[int, Deflection] = {}

    def look(self, time: float, q: Array) -> None:
        """At the coordinates of a model."""
        if not self._names:
            return
        self._times[self._count] = time
        np.take(q, self._index, out=self._rows[self._count])
        self._count += 1
        if self._count == _BATCH:
            self._judge()

    def found(self) -> tuple[Deflection, ...]:
        """The largest of each body that went too far, in the order of the bodies."""
        self._judge()
        return tuple(self._worst[i] for i in sorted(self._worst))

    def _judge(self) -> None:
        rows, self._count = self._rows[: self._count], 0
        if not len(rows):
            return
        bounds = np.add.reduceat(np.abs(rows) * self._bound, self._first, axis=1)
        for i in np.flatnonzero((bounds > LARGEST_ROTATION).any(axis=0)):
            shapes, first = self._shapes[i], self._first[i]
            eta = rows[:, first : first + shapes.psi.shape[2]]
            rotations = np.linalg.norm(np.einsum("kai,ri->rka", shapes.psi, eta), axis=2).max(
                axis=1
            )
            row = int(np.argmax(rotations))
            known = self._worst.get(int(i))
            least = LARGEST_ROTATION if known is None else known.rotation
            if rotations[row] > least:
                self._worst[int(i)] = Deflection(
                    self._names[i],
                    float(self._times[row]),
                    float(rotations[row]),
                    shapes.deflection(eta[row]),
                    shapes.length,
                )
