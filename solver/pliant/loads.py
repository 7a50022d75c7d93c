"""Loads given by a table: forces on nodes, efforts on joints, torques on wheels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from pydantic import PlainValidator

from pliant.fields import Text, array, choice, is_single, number
from pliant.limits import EFFORT
from pliant.motion import Times, time_findings
from pliant.part import Finding, Part, show
from pliant.reduced import Array


def _values(value: Any) -> float | Array:
    what = "a number, a list, or a row of numbers for each time"
    if is_single(value):
        return number(value, EFFORT)
    return array(value, (None,), (None, None), what=what, span=EFFORT)


Values: TypeAlias = Annotated[ArrayLike, PlainValidator(_values)]

_QUANTITIES = {"node": ("force", "torque"), "joint": ("effort",), "wheel": ("torque",)}


class Load(Part):
    """A load on one node, joint or wheel, constant or by a table over ``times``.

    Between the times the table is linear, or held until the next with ``interpolation: hold``;
    before the first and after the last time the outer value stays. Loads on one target add up.

    >>> push = Load(node="hand.pad", times=[0, 1, 2], force=[[0, 0, 0], [0, 0, -5], [0, 0, 0]])
    >>> push.table(6).shape
    (3, 6)
    """

    node: Text | None = None
    """The node that is loaded, such as hand.pad; takes force and torque in world axes."""
    joint: Text | None = None
    """The joint or loop that is loaded; takes effort."""
    wheel: Text | None = None
    """The wheel that is driven, such as base.rw1; takes torque."""
    times: Times | None = None
    """The times of the table, s, strictly increasing; a load without times is constant."""
    force: Values | None = None
    """Force on a node, N, world axes: [x, y, z], a row for each time if there are times."""
    torque: Values | None = None
    """Torque on a node, N m, world axes: [x, y, z], a row for each time if there are times; or
    on a wheel, about its axis: a number, one for each time if there are times."""
    effort: Values | None = None
    """Effort on a joint, N or N m: a number for one dof, otherwise a list with one for each; a
    row for each time if there are times."""
    interpolation: Annotated[
        Literal["linear", "hold"], PlainValidator(choice("linear", "hold"))
    ] = "linear"
    """How values between the times are found: linear, or hold."""

    @property
    def kind(self) -> Literal["node", "joint", "wheel"]:
        """What the load acts on."""
        return "node" if self.node is not None else "joint" if self.joint is not None else "wheel"

    @property
    def target(self) -> str:
        """The name of the node, joint or wheel."""
        return str(getattr(self, self.kind))

    def table(self, width: int) -> Array:
        """(times, width) values: force and torque of a node (6), efforts (ndof), torque (1)."""
        count = 1 if self.times is None else len(np.asarray(self.times))
        if self.kind == "node":
            return np.hstack([_rows(x, count, 3) for x in (self.force, self.torque)])
        return _rows(self.effort if self.kind == "joint" else self.torque, count, width)

    def width_findings(self, width: int) -> Iterator[Finding]:
        """Quantities whose rows do not have ``width`` numbers (3 each for a node)."""
        count = None if self.times is None else len(np.asarray(self.times))
        for key in _QUANTITIES[self.kind]:
            value = getattr(self, key)
            if value is None:
                continue
            shape = np.shape(value)
            wanted = (width,) if count is None else (count, width)
            if shape == wanted or (width == 1 and shape == wanted[:-1]):
                continue
            rows = "" if count is None else f"{count} rows (one for each time) of "
            yield (key,), f"{show(value)} does not fit; give {rows}{width} numbers"

    def _findings(self) -> Iterator[Finding]:
        targets = [key for key in _QUANTITIES if getattr(self, key) is not None]
        if len(targets) != 1:
            found = f"{' and '.join(targets)} are given" if targets else "has no target"
            yield (), f"{found}; give one of node, joint, wheel"
            return
        takes = _QUANTITIES[self.kind]
        given = [k for k in ("force", "torque", "effort") if getattr(self, k) is not None]
        for key in given:
            if key not in takes:
                yield (key,), f"does not act on a {self.kind}; give {' or '.join(takes)}"
        if not given:
            yield (), f"has no value; give {' or '.join(takes)}"
        if self.times is not None:
            yield from time_findings(self.times, least=1)
        if self.kind != "joint":
            yield from self.width_findings(3 if self.kind == "node" else 1)


def _rows(value: ArrayLike | None, count: int, width: int) -> Array:
    if value is None:
        return np.zeros((count, width))
    return np.array(np.asarray(value, float).reshape(count, width))
