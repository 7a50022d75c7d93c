"""The platform's closed cases in motion: loops stay shut, energy and momentum stay in the books.

The loads are a hundred times those of the family, so that the top plate moves by centimetres
within a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

import pliant as pl
from pliant._kernel import QUANTITIES
from pliant.demos.platform import is_flexible, platform

CLOSED = range(9, 17)
RIGID = range(9, 13)
LOADS = ("force", "torque", "effort")


@cache
def system(case: int) -> pl.System:
    made = platform(case)
    for load in made.loads.values():
        for key in LOADS:
            if getattr(load, key) is not None:
                setattr(load, key, 100.0 * np.asarray(getattr(load, key)))
    return made


def span(case: int) -> float:
    """Within the first constant loads; some periods of the flexible cases' lowest modes."""
    return 0.05 if is_flexible(case) else 1.0


def impulse(case: int) -> np.ndarray:
    """Of the forces from outside until the end of the span."""
    forces = [load.force[0] for load in system(case).loads.values() if load.force is not None]
    return span(case) * np.sum(forces, axis=0)


@dataclass(frozen=True)
class Errors:
    """Largest gap in m and rad; largest energy that appeared or vanished, and momentum without
    impulse at the end, both relative to what is there at the end."""

    gap: float
    energy: float
    momentum: float


def run(case: int, step: float, integrator: str) -> Errors:
    sim = pl.Simulation(system(case), step, integrator=integrator)
    rows = sim.model.loops[-1].rows.stop
    wanted = [(QUANTITIES.index("loop_gap"), 0, i) for i in range(rows)]
    wanted.append((QUANTITIES.index("energy"), 0, 7))
    signals, values = sim.kernel.signals(np.array(wanted, np.int32)), np.zeros(rows + 1)
    gap = error = 0.0
    for _ in range(round(span(case) / step)):
        sim.step()
        sim.read(signals, values)
        gap = max(gap, float(np.abs(values[:-1]).max()))
        error = max(error, abs(float(values[-1])))
    energy, expected = sim.energy, impulse(case)
    momentum = np.linalg.norm(sim.momentum.linear - expected) / np.linalg.norm(expected)
    return Errors(gap, error / (energy.kinetic + energy.strain), float(momentum))


@pytest.mark.parametrize("case", CLOSED)
def test_euler_cromer_closes_the_books_at_its_order(case: int) -> None:
    """Momentum is the impulse of the loads whatever the loops do, energy their work. A step along
    a tangent opens a loop by h^2 times its curvature; stabilisation leaves ten steps of that."""
    coarse_step = 1e-4 if is_flexible(case) else 2e-3
    coarse, fine = (run(case, h, "euler_cromer") for h in (coarse_step, 0.5 * coarse_step))
    # of the flexible ones' fast vibrations the next order is seen: 2.5, at half the steps 2.15
    assert 1.8 < coarse.energy / fine.energy < (2.6 if is_flexible(case) else 2.3)
    assert 1.8 < coarse.momentum / fine.momentum < 2.3
    assert 3.4 < coarse.gap / fine.gap < 4.6
    # measured: rigid 1.1e-6 m, flexible (a hundredth of the speed) 9e-12 m
    assert fine.gap < (2e-11 if is_flexible(case) else 2e-6)
    assert fine.energy < 2e-3  # measured 1.2e-3


@pytest.mark.parametrize("case", RIGID)
def test_loop_forces_keep_the_momentum_of_a_rigid_case(case: int) -> None:
    errors = run(case, 1e-3, "rk4")
    assert errors.momentum < 5e-11  # measured 9e-12
    assert errors.energy < 5e-11  # measured 7e-12
    assert errors.gap < 5e-11  # measured 1.4e-11 m


@pytest.mark.parametrize("case", CLOSED)
def test_both_algorithms_agree_at_the_states_that_are_reached(case: int) -> None:
    step = 1e-4 if is_flexible(case) else 1e-3
    sims = {
        algorithm: pl.Simulation(system(case), step, algorithm=algorithm, integrator="euler_cromer")
        for algorithm in ("order_n", "dense")
    }
    order_n, dense = sims.values()
    cond = float(np.linalg.cond(order_n.kernel.mass_matrix()))
    for _ in range(5):
        order_n.step(round(0.2 * span(case) / step))
        dense.kernel.time = order_n.time
        dense.set_state(order_n.q, order_n.u)
        expected = dense.evaluate().copy()
        difference = np.linalg.norm(order_n.evaluate() - expected) / np.linalg.norm(expected)
        assert difference < max(1e-12, 1e-16 * cond)


@pytest.mark.parametrize("case", CLOSED)
def test_runs_of_both_algorithms_part_by_rounding_only(case: int) -> None:
    """A gap is known to some 2e-15 m, 10 m away from the origin; over the square of the time
    constant of 10 steps that is an acceleration of 2e-9 m/s2 (at 0.1 ms) with random signs."""
    step = 1e-4 if is_flexible(case) else 1e-3
    ends = []
    for algorithm in ("order_n", "dense"):
        sim = pl.Simulation(system(case), step, algorithm=algorithm, integrator="euler_cromer")
        sim.advance(span(case))
        ends.append(sim.node("top.com").position)
    assert np.linalg.norm(ends[0] - ends[1]) < 2e-13  # measured 1.9e-14 m
