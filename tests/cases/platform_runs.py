"""Runs of the platform as in the paper's figures: where its points go, how a joint speeds up.

>>> run = record(12, 0.2)
>>> run.displacement.shape, run.names
((41, 2, 3), ('top.com', 'object'))
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from pliant.demos.platform_measure import Case

JOINT = "leg2_pitch1"
"""The bottom pitch joint of leg 2."""
SAMPLE = 5e-3
FINE = (19.95, 20.25)
"""Where every step is kept: the loads change sign at 20 s."""


@dataclass(frozen=True)
class Run:
    names: tuple[str, ...]
    t: np.ndarray
    displacement: np.ndarray  # (time, point, axis), m
    acceleration: np.ndarray  # of the joint, rad/s2


@cache
def record(case: int, seconds: float, algorithm: str = "order_n", rounding: bool = False) -> Run:
    """A run from the start, or from one in which every coordinate is off by one rounding."""
    ready = Case.of(case)
    sim = ready.simulation(algorithm)
    start = ready.points(sim)
    if rounding:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=sim.q.shape)
        sim.set_state(q=sim.q * (1.0 + np.finfo(float).eps * signs))
    slot = next(joint.u.start for joint in ready.model.joints if joint.name == JOINT)
    total, pause = ready.steps(seconds), ready.steps(SAMPLE)
    begin, end = (ready.steps(time) for time in FINE)
    every = {*range(0, total + 1, pause), *range(begin, min(end, total) + 1)}
    rows, done = [], 0
    for at in sorted(every):
        sim.step(at - done)
        done = at
        acceleration = sim.evaluate()[slot]
        rows.append((sim.time, ready.points(sim) - start, acceleration))
    t, points, accelerations = (np.array(column) for column in zip(*rows, strict=True))
    return Run(ready.tracked, t, points, accelerations)
