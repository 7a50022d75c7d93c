"""Units of the variables: exponents of the SI base units, and units to show them in.

Units are written as Modelica does, ``N.m.s/rad``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

_DEGREES = 180.0 / math.pi


class Unit(NamedTuple):
    """Exponents of the base units, and display units with the factor that leads to them."""

    kg: int = 0
    m: int = 0
    s: int = 0
    rad: int = 0
    display: tuple[tuple[str, float], ...] = ()


UNITS = {
    "1": Unit(),
    "1/s": Unit(s=-1),
    "s": Unit(s=1),
    "m": Unit(m=1),
    "m/s": Unit(m=1, s=-1),
    "m/s2": Unit(m=1, s=-2),
    "rad": Unit(rad=1, display=(("deg", _DEGREES),)),
    "rad/s": Unit(rad=1, s=-1, display=(("deg/s", _DEGREES), ("rpm", 30.0 / math.pi))),
    "rad/s2": Unit(rad=1, s=-2, display=(("deg/s2", _DEGREES),)),
    "kg": Unit(kg=1),
    "kg.m2": Unit(kg=1, m=2),
    "N": Unit(kg=1, m=1, s=-2),
    "N.m": Unit(kg=1, m=2, s=-2),
    "J": Unit(kg=1, m=2, s=-2),
    "N.s": Unit(kg=1, m=1, s=-1),
    "N.m.s": Unit(kg=1, m=2, s=-1),
    "N.s/m": Unit(kg=1, s=-1),
    "N.m.s/rad": Unit(kg=1, m=2, s=-1, rad=-1),
    "1/kg": Unit(kg=-1),
    "1/(kg.m)": Unit(kg=-1, m=-1),
    "1/(kg.m2)": Unit(kg=-1, m=-2),
}


def unit_name(unit: str) -> str:
    """The unit of a channel as it is written in an FMU.

    >>> unit_name("N m s")
    'N.m.s'
    """
    return unit.replace(" ", ".")


def display_unit(unit: str) -> str:
    """The unit in which a variable is shown; empty for its own."""
    display = UNITS[unit].display if unit else ()
    return display[0][0] if display else ""
