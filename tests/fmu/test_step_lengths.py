"""Communication steps of any length, in any mix: the motion is that of even steps."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import pytest

import pliant as pl
from cases.moving_systems import apart, driven_boom, flexible_truss, four_bar, vibrating_tree
from pliant.compile import compile_model
from pliant.data_file import pack
from pliant.fmu._slave import Slave
from pliant.model_description import TableOptions, VariableTable, table_sections


def smoothly_driven() -> pl.System:
    """By one polynomial: rows of a table inside steps would cost rk4 its order."""
    system = driven_boom()
    system.joints["drive"].motion = pl.Motion(times=[0, 6], position=[0, 8.0])
    return system


SYSTEMS = {
    "four-bar": lambda: four_bar(speed=8.0),
    "closed and flexible": flexible_truss,
    "free and flexible": lambda: vibrating_tree(0.5),
    "prescribed": smoothly_driven,
}
STEP, DURATION = 2e-3, 1.0


class Run:
    """A slave that is stepped, and where the nodes of its model are."""

    def __init__(self, system: pl.System, step: float = STEP, integrator: str = "leapfrog") -> None:
        model = compile_model(system)
        options = TableOptions(step=step, integrator=integrator, include=["node.*.r", "joint.*.qd"])
        table = VariableTable.build(model, options)
        self.slave = Slave(pack({**model.sections, **table_sections(table)}))
        self.names = self.slave.names
        self.slave.initialize()
        self.time = 0.0

    def read(self, *patterns: str) -> np.ndarray:
        chosen = [i for i, name in enumerate(self.names) if any(p in name for p in patterns)]
        return np.array(self.slave.get_real(chosen))

    def step(self, size: float) -> None:
        assert self.slave.step(self.time, size), self.slave.message
        self.time += size

    def places(self, sizes: Iterable[float]) -> np.ndarray:
        """Of all nodes after steps of these sizes, the last cut to end with the run."""
        for size in sizes:
            left = DURATION - self.time
            self.step(min(size, left))
            if left <= size * (1.0 + 1e-9):
                break
        return self.read(".r[").reshape(1, -1, 3)


def even() -> Iterator[float]:
    return itertools.repeat(STEP)


def short_tenths() -> Iterator[float]:
    return itertools.cycle([STEP] * 9 + [1e-5])


def alternating() -> Iterator[float]:
    return itertools.cycle([STEP, STEP / 7.0])


def pairs_of_short_ones() -> Iterator[float]:
    return itertools.cycle([STEP, 1e-9, 1e-12])


def wild() -> Iterator[float]:
    random = np.random.default_rng(3)
    while True:
        yield float(10.0 ** random.uniform(-12.0, -1.0))


@pytest.mark.parametrize("integrator", ["leapfrog", "euler_cromer", "rk4"])
@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("sizes", [short_tenths, alternating, pairs_of_short_ones, wild])
def test_any_mix_of_steps_gives_the_motion_of_even_ones(sizes, name, integrator) -> None:
    """As near to the truth, rk4 at a tenth of the step, as even steps are: none is longer."""
    system = SYSTEMS[name]()
    exact = Run(system, STEP / 10.0, "rk4").places(even())
    straight = apart(Run(system, integrator=integrator).places(even()), exact)
    mixed = apart(Run(system, integrator=integrator).places(sizes()), exact)
    assert mixed < 2.0 * straight + 1e-10


@pytest.mark.parametrize("size", [1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_short_step_changes_little(name, size) -> None:
    """No speed by more than its acceleration (up to 1e3 in these systems) makes in that time; a
    loop that were closed within ten such steps would be torn."""
    run = Run(SYSTEMS[name]())
    for _ in range(50):
        run.step(STEP)
    before = run.read(".qd")
    run.step(size)
    assert np.abs(run.read(".qd") - before).max() < 1e3 * size + 1e-12


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-154, 1e-30, 1e-19])
def test_a_step_too_short_to_be_represented_is_refused_and_changes_nothing(size) -> None:
    run, calm = Run(four_bar(speed=8.0)), Run(four_bar(speed=8.0))
    before = run.slave.save()
    with pytest.raises(ValueError, match="too short to be noticed"):
        run.slave.step(0.0, size)
    assert run.slave.save() == before
    for each in (run, calm):
        each.step(STEP)
    with pytest.raises(ValueError, match="too short to be noticed"):
        run.slave.step(run.time, size)
    for each in (run, calm):
        each.step(STEP)
    assert run.slave.save() == calm.slave.save()


# ----------------------------------------------------------------------- motions from outside


def moved_arm() -> pl.System:
    """Two rods under gravity; the first is moved by inputs, the second swings."""
    rod = pl.Body(
        mass=1.0,
        com=[0.5, 0, 0],
        inertia=[0.01, 1 / 12, 1 / 12],
        nodes={"end": {"at": [1, 0, 0]}},
    )
    hinge = {"type": "revolute", "axis": "y"}
    return pl.System(
        name="moved",
        gravity=[0, 0, -9.81],
        bodies={"a": rod, "b": rod},
        joints={
            "j": pl.Joint(**hinge, child="a", motion="input", speed=1.5),
            "k": pl.Joint(**hinge, parent="a.end", child="b", start=0.3),
        },
    )


def wave(t: float) -> tuple[float, float, float]:
    return 0.5 * np.sin(3 * t), 1.5 * np.cos(3 * t), -4.5 * np.sin(3 * t)


def swing(sizes: Iterable[float], step: float) -> float:
    """Where the second rod is after a second in which the first was moved by wave()."""
    run = Run(moved_arm(), step)
    motion = [run.names.index(f"joint.j.motion.{part}") for part in ("q", "qd", "qdd")]
    for size in sizes:
        left = DURATION - run.time
        run.slave.set_real(motion, wave(run.time))
        run.step(min(size, left))
        if left <= size * (1.0 + 1e-9):
            break
    return float(run.slave.get_real([run.names.index("joint.k.q")])[0])


@pytest.mark.parametrize("short", [1e-6, 1e-8, 1e-10, 1e-12])
def test_a_motion_from_outside_survives_short_steps(short: float) -> None:
    """What the importer gives differs a little from where the motion had come to by itself, by the
    jerk: nothing to be made up for within a step of 1e-12 s."""

    exact = 2.28834  # by rk4 at 0.1 ms with wave() as a function of time
    even = swing(itertools.repeat(1e-2), 1e-3)
    mixed = swing(itertools.cycle([1e-2, short]), 1e-3)
    assert abs(even - exact) < 2e-3
    assert abs(mixed - exact) < 2e-3
