"""What a case of the platform family costs, and how well two algorithms agree on it.

As in Ghosh & Quiocho 2013: Euler-Cromer, rigid cases at 1 ms, flexible ones at 0.1 ms, CPU seconds
for 100 s. What the two algorithms compute is compared in two ways, which say different things:

* accelerations of both for the *same* states, met along the way. Their difference is rounding
  alone, times the condition number of the mass matrix, and does not grow with time;
* positions of both *runs* at the same time. These start together and part: every step adds its
  own rounding, what it did to speeds is carried on in positions, and the mechanism answers as it
  answers any small push. This growth belongs to the mechanism, not to the algorithms: a run that
  starts one rounding beside another parts from it in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import process_time
from typing import NamedTuple

import numpy as np

import pliant as pl
from pliant._kernel import QUANTITIES
from pliant.compile import compile_model
from pliant.demos.bench_file import Results
from pliant.demos.platform import is_flexible, platform
from pliant.model import Model
from pliant.reduced import Array
from pliant.simulation import whole_steps

CASES = range(1, 17)
ALGORITHMS = ("order_n", "dense")
PAPER_SPAN = 100.0
RIGID_STEP, FLEXIBLE_STEP = 1e-3, 1e-4


class PaperTimes(NamedTuple):
    """CPU seconds of Ghosh & Quiocho's Table 2, on their machine."""

    order_n: float
    dense: float


# The rows of cases 1 to 4 are illegible in the copies at hand.
PAPER = {
    5: PaperTimes(166.8, 174.0),
    6: PaperTimes(277.9, 423.6),
    7: PaperTimes(275.9, 478.0),
    8: PaperTimes(408.6, 1127.9),
    9: PaperTimes(40.7, 17.1),
    10: PaperTimes(48.0, 18.4),
    11: PaperTimes(59.4, 22.7),
    12: PaperTimes(133.8, 57.4),
    13: PaperTimes(613.4, 567.6),
    14: PaperTimes(937.2, 1402.0),
    15: PaperTimes(1037.9, 1551.2),
    16: PaperTimes(2257.3, 4063.9),
}

# Simulated time between looks at both runs of a race, and between comparisons of accelerations.
LOOK = 0.1
# Steps between looks at gap and energy: the time constant in which gaps are closed, so that none
# comes and goes unseen.
CHECK_STEPS = 10
# When the distance between the runs is noted.
MARKS = (0.1, 1.0, 10.0, 100.0)

Tick = Callable[[str, int], None]
"""Told what is going on and how many steps were done since the last call."""


@dataclass(frozen=True)
class Case:
    """A case ready to run.

    >>> case = Case.of(13)
    >>> case.model.u_size, case.step, case.tracked
    (48, 0.0001, ('top.com',))
    """

    number: int
    model: Model
    step: float

    @classmethod
    def of(cls, number: int) -> Case:
        step = FLEXIBLE_STEP if is_flexible(number) else RIGID_STEP
        return cls(number, compile_model(platform(number)), step)

    @property
    def tracked(self) -> tuple[str, ...]:
        """The paper's points: centre of the top plate, and where manipulator 1 holds the object."""
        has_object = any(body.name == "object" for body in self.model.bodies)
        return ("top.com", "object") if has_object else ("top.com",)

    def simulation(self, algorithm: str = "order_n") -> pl.Simulation:
        return pl.Simulation(self.model, self.step, algorithm=algorithm, integrator="euler_cromer")

    def steps(self, seconds: float) -> int:
        return whole_steps(seconds, self.step, "seconds")

    def points(self, sim: pl.Simulation) -> Array:
        return np.array([sim.node(name).position for name in self.tracked])


def race(case: Case, spans: Mapping[str, float], tick: Tick) -> Results:
    """CPU seconds of the algorithms, each over its own span and counted for 100 s; if both run,
    how far they get apart.

    They take turns, so that the machine's noise hits both alike. Only the stepping is timed.
    """
    sims = {algorithm: case.simulation(algorithm) for algorithm in spans}
    left = {algorithm: case.steps(span) for algorithm, span in spans.items()}
    cpu = dict.fromkeys(spans, 0.0)
    pause = case.steps(LOOK)
    parting = Parting(case) if len(spans) == len(ALGORITHMS) else None
    while any(left.values()):
        for algorithm, sim in sims.items():
            count = min(pause, left[algorithm])
            start = process_time()
            sim.step(count)
            cpu[algorithm] += process_time() - start
            left[algorithm] -= count
            tick("timing", count)
        if parting is not None:
            parting.look(*sims.values())
    figures: Results = {}
    for algorithm, span in spans.items():
        figures[f"{algorithm}_cpu_s"] = digits(cpu[algorithm] * PAPER_SPAN / span, 4)
        figures[f"{algorithm}_seconds_run"] = span
    return figures | (parting.figures() if parting is not None else {})


class Parting:
    """How far two runs of a case are from each other, and from their start."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._start = case.points(case.simulation())
        self._farthest = self._largest = 0.0
        self._at_marks: dict[str, float] = {}

    def look(self, one: pl.Simulation, other: pl.Simulation) -> None:
        """Does nothing when one of them has stopped earlier."""
        if one.time != other.time:
            return
        here = self._case.points(one)
        apart = float(np.linalg.norm(here - self._case.points(other), axis=1).max())
        self._largest = max(self._largest, apart)
        travelled = np.linalg.norm(here - self._start, axis=1)
        self._farthest = max(self._farthest, float(travelled.max()))
        for mark in MARKS:
            if abs(one.time - mark) < 0.5 * self._case.step:
                self._at_marks[f"{mark:g}"] = digits(apart, 2)

    def figures(self) -> Results:
        return {
            "position_difference": digits(self._largest / self._farthest, 2),
            "position_difference_m": self._at_marks,
        }


def check(case: Case, seconds: float, tick: Tick) -> Results:
    """Along the run of order_n: the largest difference of its accelerations from those of dense
    for the same states (relative, 2-norm), the largest gap of the loops, and the energy that
    appeared or vanished, relative to the largest kinetic and strain energy."""
    sim, other = case.simulation(), case.simulation("dense")
    rows = sum(loop.rows.stop - loop.rows.start for loop in case.model.loops)
    energy, gap = QUANTITIES.index("energy"), QUANTITIES.index("loop_gap")
    wanted = [(energy, 0, i) for i in (0, 1, 7)] + [(gap, 0, i) for i in range(rows)]
    signals = sim.kernel.signals(np.array(wanted, np.int32))
    values = np.zeros(len(wanted))
    left, since = case.steps(seconds), 0
    moving = error = difference = 0.0
    gaps = np.zeros(2)  # m, rad
    while left:
        count = min(CHECK_STEPS, left)
        sim.step(count)
        left -= count
        since += count
        sim.read(signals, values)
        moving = max(moving, values[0] + values[1])
        error = max(error, abs(values[2]))
        # a weld holds three translations, then three rotations
        each = np.linalg.norm(values[3:].reshape(-1, 2, 3), axis=2)
        gaps = np.maximum(gaps, each.max(axis=0, initial=0.0))
        if since >= case.steps(LOOK) or not left:
            difference = max(difference, acceleration_difference(sim, other))
            tick("checking", since)
            since = 0
    return {
        "difference": digits(difference, 2),
        "gap": digits(gaps[0], 2) if rows else None,
        "gap_rad": digits(gaps[1], 2) if rows else None,
        "energy_balance": digits(error / moving, 2),
    }


def acceleration_difference(sim: pl.Simulation, other: pl.Simulation) -> float:
    """Of the accelerations for the state of ``sim``, into which the other is put."""
    other.kernel.time = sim.time
    other.set_state(sim.q, sim.u)
    accelerations = sim.evaluate().copy()
    apart = np.linalg.norm(other.evaluate() - accelerations)
    return float(apart / np.linalg.norm(accelerations))


def digits(value: float, count: int) -> float:
    """To so many digits, beyond which figures do not repeat.

    >>> digits(0.123456, 2)
    0.12
    """
    return float(f"{value:.{count}g}")
