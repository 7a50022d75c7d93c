"""The elastic bar of Mukherjee & Anderson, "A flexible body divide and conquer algorithm",
section 5: four unit rods welded together, clamped at one end, released from a uniform strain.

E = rho = A = 1, so waves travel at speed 1 along the length of 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import pliant as pl

Array = NDArray[np.float64]

RODS, MODES, STRAIN = 4, 4, -0.01
LENGTH = float(RODS)


def bar(static: bool = False) -> pl.System:
    """Four axial modes a rod, each free of stress at its tip; ``static`` adds the rod's
    deflection under a force there."""
    modes = {"axial": MODES, "static": ["force_x"] if static else []}
    rod = pl.Beam(
        length=1.0,
        mass_per_length=1.0,
        EA=1.0,
        EI=1.0,
        elements=40,
        modes=modes,
        shapes="cantilever",  # the paper's
    )
    names = [f"rod{i + 1}" for i in range(RODS)]
    parents = ["ground", *(f"{name}.tip" for name in names)]
    return pl.System(
        name="bar",
        bodies={name: pl.Body(beam=rod) for name in names},
        joints={
            f"weld{i + 1}": pl.Joint(type="fixed", parent=parents[i], child=name)
            for i, name in enumerate(names)
        },
    )


def start(static: bool = False) -> Array:
    """Modal coordinates of one rod in the strained state.

    The modes sqrt(2) sin(k x), k = (2 i - 1) pi / 2, are signed so that the tip moves along +:
    int phi_i x dx = sqrt(2) / k^2. What they leave of x is along the static mode.
    """
    k = (2 * np.arange(1, MODES + 1) - 1) * np.pi / 2
    parts = np.sqrt(2.0) / k**2
    if static:
        parts = np.append(parts, np.sqrt(1.0 / 3.0 - parts @ parts))
    return STRAIN * parts


def exact_tip(t: Array) -> Array:
    """Displacement of the tip of the continuous bar: a triangular wave of period 16."""
    phase = np.mod(t, 4 * LENGTH)
    return STRAIN * (LENGTH - np.minimum(phase, 4 * LENGTH - phase))


def run_bar(
    static: bool = False, *, duration: float = 10.0, step: float = 2.5e-3, every: float = 0.05
) -> tuple[Array, Array]:
    """Times and the displacement of the tip."""
    sim = pl.Simulation(bar(static), step, integrator="rk4")
    sim.set_state(q=np.tile(start(static), RODS))
    tip = sim.node(f"rod{RODS}.tip")
    t, u = [0.0], [tip.position[0] - LENGTH]
    for _ in range(round(duration / every)):
        sim.advance(every)
        t.append(sim.time)
        u.append(tip.position[0] - LENGTH)
    return np.array(t), np.array(u)
