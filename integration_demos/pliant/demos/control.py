"""Joint control for the demos: a smooth slew and one servo a joint.

The controller knows nothing of pliant. It is a function of time and of what the joints measure,
so that it drives a ``Simulation``, an FMU of the same arm, or a real one:

>>> slew = Slew(start=np.zeros(2), goal=np.array([0.2, -0.1]), begin=1.0, duration=10.0, ramp=2.0)
>>> servo = JointController(slew, stiffness=np.full(2, 5e4), damping=np.full(2, 4e3))
>>> servo(0.0, position=np.zeros(2), rate=np.zeros(2))
array([0., 0.])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pliant.reduced import Array
from pliant.simulation import Simulation


@dataclass(frozen=True)
class Slew:
    """All joints from ``start`` to ``goal`` (rad) at once: speed up, coast, slow down.

    The acceleration is a raised cosine over ``ramp`` seconds at either end, so that neither
    position, rate nor acceleration jumps. Before ``begin`` and after the end the joints stand.

    >>> slew = Slew(np.zeros(1), np.ones(1), begin=1.0, duration=10.0, ramp=2.0)
    >>> [slew(t)[0].item() for t in (0.0, 6.0, 20.0)]
    [0.0, 0.5, 1.0]
    """

    start: Array
    goal: Array
    begin: float
    duration: float
    ramp: float

    @property
    def end(self) -> float:
        return self.begin + self.duration

    def __call__(self, time: float) -> tuple[Array, Array]:
        """Commanded position and rate of every joint."""
        way, speed = self._progress(min(max(time - self.begin, 0.0), self.duration))
        travel = self.goal - self.start
        return self.start + way * travel, speed * travel

    def _progress(self, t: float) -> tuple[float, float]:
        """Part of the way done after t seconds, and its rate."""
        coasting = 1.0 / (self.duration - self.ramp)
        if t > 0.5 * self.duration:
            way, speed = self._progress(self.duration - t)
            return 1.0 - way, speed
        if t >= self.ramp:
            return coasting * (t - 0.5 * self.ramp), coasting
        # integrals of the acceleration coasting / ramp * (1 - cos(turn))
        turn = 2.0 * np.pi * t / self.ramp
        speed = coasting * (turn - np.sin(turn)) / (2.0 * np.pi)
        way = coasting * self.ramp * (0.5 * turn**2 + np.cos(turn) - 1.0) / (2.0 * np.pi) ** 2
        return float(way), float(speed)


@dataclass(frozen=True)
class JointController:
    """A spring and a damper between each joint and its command: PD control.

    Called with the time and the measured positions (rad) and rates (rad/s) of all joints it gives
    their torques (N m). It keeps no state.
    """

    command: Callable[[float], tuple[Array, Array]]
    stiffness: Array  # N m/rad, one a joint
    damping: Array  # N m s/rad

    def __call__(self, time: float, position: Array, rate: Array) -> Array:
        wanted_position, wanted_rate = self.command(time)
        error = self.stiffness * (wanted_position - position)
        return np.asarray(error + self.damping * (wanted_rate - rate))


def servo_gains(inertia: Array, hertz: float, ratio: float = 0.7) -> tuple[Array, Array]:
    """Stiffness and damping that let an inertia answer like an oscillator of this frequency.

    >>> servo_gains(np.array([10.0]), hertz=1.0, ratio=0.5)
    (array([394.78417604]), array([62.83185307]))
    """
    omega = 2.0 * np.pi * hertz
    return inertia * omega**2, 2.0 * ratio * inertia * omega


def reflected_inertia(sim: Simulation, joints: Sequence[str]) -> Array:
    """The inertia (kg m2) that each joint's motor feels at once: torque over acceleration.

    It is less than that of all it carries: booms bend, and the other joints and the base give way.
    """
    inertia = []
    for name in joints:
        joint = sim.joint(name)
        before = joint.acceleration
        joint.torque = 1.0
        inertia.append(1.0 / (np.asarray(joint.acceleration) - before))
        joint.torque = 0.0
    return np.array(inertia, dtype=float)
