"""A cantilever of welded beams: its frequencies, its deflection under an end load, its buckling.

Length, mass per length and bending stiffness are 1. The beams bend in the x-y plane.

The deflection under a dead load P across the undeformed beam is the elastica: with the slope
theta(s), theta'' = -P cos(theta), theta(0) = 0, theta'(1) = 0, whose first integral
theta'^2 = 2 P (sin(alpha) - sin(theta)) holds with the slope alpha of the tip (Bisshopp & Drucker,
"Large deflection of cantilever beams", Quarterly of Applied Mathematics 3, 1945, 272-275). With
k^2 = (1 + sin(alpha)) / 2 and sin(phi0) = 1 / (k sqrt(2))::

    sqrt(P) = K(k) - F(phi0, k)                                                              (1)
    y = 1 - 2 / sqrt(P) (E(k) - E(phi0, k))        x = sqrt(2 sin(alpha) / P)                (2)

The load that buckles a column clamped at one end is (pi / 2)^2 (Euler).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

import pliant as pl
from pliant._kernel import QUANTITIES

Array = NDArray[np.float64]

CLAMPED_FREE = np.array([1.8751040687119611, 4.6940911329741745, 7.8547574382376126])
EULER_LOAD = (np.pi / 2) ** 2


def welded(count: int, load: tuple[float, float] | None = None, **beam: Any) -> pl.System:
    """``count`` beams in a row, clamped to the ground; a dead load (x, y) at the end."""
    names = [f"beam{i + 1}" for i in range(count)]
    parents = ["ground", *(f"{name}.tip" for name in names)]
    part = pl.Beam(length=1.0 / count, mass_per_length=1.0, EI=[None, 1.0], **beam)
    loads = {} if load is None else {"end": pl.Load(node=parents[-1], force=[*load, 0.0])}
    return pl.System(
        name="welded",
        bodies={name: pl.Body(beam=part) for name in names},
        joints={
            f"weld{i + 1}": pl.Joint(type="fixed", parent=parents[i], child=name)
            for i, name in enumerate(names)
        },
        loads=loads,
    )


def frequency_errors(count: int, **beam: Any) -> Array:
    """Relative errors of the first three frequencies of the cantilever."""
    found = 2 * np.pi * pl.assembled_modes(welded(count, **beam)).frequencies[:3]
    exact = CLAMPED_FREE[: len(found)] ** 2
    return np.asarray(found / exact - 1.0)


def exact_tip(load: float) -> Array:
    """Equations (1), (2): x and y of the tip under a load across."""

    def residual(alpha: float) -> float:
        m = 0.5 * (1.0 + np.sin(alpha))
        phi0 = np.arcsin(np.sqrt(0.5 / m))
        return float(ellipk(m) - ellipkinc(phi0, m) - np.sqrt(load))

    alpha = brentq(residual, 1e-9, 0.5 * np.pi - 1e-12, xtol=1e-15)
    m = 0.5 * (1.0 + np.sin(alpha))
    phi0 = np.arcsin(np.sqrt(0.5 / m))
    y = 1.0 - 2.0 / np.sqrt(load) * (ellipe(m) - ellipeinc(phi0, m))
    return np.array([np.sqrt(2.0 * np.sin(alpha) / load), y])


def tip_error(count: int, load: float, **beam: Any) -> float:
    """Distance of the tip from the exact elastica, in lengths of the beam."""
    model = pl.Simulation(welded(count, (0.0, load), **beam)).model
    sim = pl.Simulation(model)
    sim.set_state(q=pl.equilibrium(model))
    tip = sim.node(f"beam{count}.tip").position[:2]
    return float(np.linalg.norm(tip - exact_tip(load)))


def buckling_load(count: int, **beam: Any) -> float:
    """The thrust at which the stiffness of the column, K - P G, is singular.

    The stiffness under a thrust of 1 and of 2 is the exact derivative of the kernel's forces.
    """
    one, two = (_stiffness(welded(count, (-thrust, 0.0), **beam)) for thrust in (1.0, 2.0))
    return float(1.0 / eigh(one - two, 2.0 * one - two, eigvals_only=True)[-1])


def _stiffness(system: pl.System) -> Array:
    """Minus the derivative of the generalised forces at the start, at rest."""
    kernel = pl.Simulation(system).kernel
    size = len(kernel.u)
    rows = [(QUANTITIES.index("udot"), 0, i) for i in range(size)]
    signals = kernel.signals(np.array(rows, np.int32))
    mass = np.array(kernel.mass_matrix())
    slopes = np.array([kernel.derivative(signals, q=direction) for direction in np.eye(size)])
    return np.asarray(-mass @ slopes.T)
