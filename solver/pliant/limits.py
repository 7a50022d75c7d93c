"""What the numbers of a model may be: one list for model files, Python and parameters of FMUs.

No limit is one of engineering: from mechanisms of nanometres to structures the size of planets all
fit, with room to spare. They keep every product that is formed of them, up to the fourth power of
a length, far from where doubles end (1e308, 1e-308), so that what comes out of a model is finite
or an error that says why; and they catch a slip of a hundred powers of ten where it was made.
What moves is limited by the kernel itself (kLargest... in stepper.h).
"""

from __future__ import annotations

from dataclasses import dataclass

from pliant._kernel import (
    LARGEST_COORDINATE,
    LARGEST_INPUT,
    LARGEST_SPEED,
    LARGEST_TIME,
    LONGEST_STEP,
    SHORTEST_STEP,
)


@dataclass(frozen=True)
class Span:
    """The sizes of a quantity, SI units; ``least`` holds for what must be above zero."""

    what: str
    least: float
    most: float
    unit: str = ""

    def fault(self, value: float, *, above_zero: bool = False) -> str | None:
        """What is wrong with the size of a finite number, None if nothing.

        >>> MASS.fault(-1e300)
        'exceeds 1e+18 kg, the largest mass of a model; check its unit'
        """
        unit = f" {self.unit}" if self.unit else ""
        of_model = f"{self.what} of a model; check its unit"
        if abs(value) > self.most:
            return f"exceeds {self.most:g}{unit}, the largest {of_model}"
        if above_zero and 0.0 < abs(value) < self.least:
            return f"is below {self.least:g}{unit}, the least {of_model}"
        return None


# An atom is 1e-10 m across and weighs 1e-25 kg; the Moon is 4e8 m away.
LENGTH = Span("length", 1e-12, 1e9, "m")
MASS = Span("mass", 1e-24, 1e18, "kg")
INERTIA = Span("inertia", MASS.least * LENGTH.least**2, MASS.most * LENGTH.most**2, "kg m2")
MASS_PER_LENGTH = Span("mass per length", 1e-24, 1e18, "kg/m")
INERTIA_PER_LENGTH = Span("inertia per length", 1e-48, 1e24, "kg m")
# Steel has 2e11 Pa, osmium 2.3e4 kg/m3.
MODULUS = Span("modulus", 1e-6, 1e18, "Pa")
DENSITY = Span("density", 1e-9, 1e12, "kg/m3")
AREA = Span("area", LENGTH.least**2, LENGTH.most**2, "m2")
SECOND_MOMENT = Span("second moment of area", LENGTH.least**4, LENGTH.most**4, "m4")
SECTION_STIFFNESS = Span("stiffness of a section", 1e-42, 1e30)
FACTOR = Span("factor", 1e-6, 1e6)
STIFFNESS = Span("stiffness", 1e-30, 1e20)
DAMPING = Span("damping", 1e-30, 1e20)
EFFORT = Span("force or torque", 1e-30, 1e20)
ACCELERATION = Span("acceleration", 1e-30, 1e9, "m/s2")
COORDINATE = Span("coordinate", 1e-30, LARGEST_COORDINATE)
SPEED = Span("speed", 1e-12, LARGEST_SPEED)
RATE_OF_SPEED = Span("acceleration", 1e-30, 1e14)
TIME = Span("time", 1e-30, LARGEST_TIME, "s")
STEP = Span("step", SHORTEST_STEP, LONGEST_STEP, "s")
FREQUENCY = Span("frequency", 1e-9, 1e12, "Hz")
DAMPING_RATIO = Span("damping ratio", 1e-30, 1e3)
ANGLE = Span("angle", 1e-30, 1e9)
DIRECTION = Span("component of a direction", 1e-12, 1e12)
SHAPE = Span("entry of a shape", 1e-30, 1e15)
SECOND_ORDER_SHAPE = Span("entry of a shape", 1e-30, 1e24)
MODAL_MATRIX = Span("entry of a modal matrix", 1e-30, 1e30)
ANYTHING = Span("number", 1e-30, LARGEST_INPUT)

# Times of a table lie no closer: what changes in between is a jump, and rates go with 1 / h^5.
CLOSEST_TIMES = 1e-12  # s

# Matrices of a beam are dense, 7 unknowns an element; its frequencies are exact long before.
MOST_ELEMENTS = 200
MOST_STRETCHES = 300  # between stations, lumps and nodes, each an element at least
# Pairs of modes go with the square; a body of 30 modes is a large one.
MOST_MODES = 100
MOST_ASKED = 1_000  # numbers of modes that are told how many there are instead
LONGEST_NAME = 200  # characters
