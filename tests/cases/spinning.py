"""Shafts, discs and blades that spin: their speeds of vibration, seen from the spinning frame.

Exact speeds of six systems are in whirl.json: Euler-Bernoulli or Rayleigh shafts by transfer
matrices, discs on light shafts and blades in torsion in closed form.

The blade of ``blade`` is flat: its mass is spread along y. Turning about z, in its own plane, the
propeller moment resists twist; turning about y it adds to it. Tension stiffens it either way
(Houbolt & Brooks, NACA report 1346, 1958).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

import pliant as pl
from cases.reference import reference
from pliant._kernel import QUANTITIES

Array = NDArray[np.float64]

WHIRL: dict[str, dict[str, Any]] = {model["name"]: model for model in reference("whirl")["models"]}
BLADES = [name for name in WHIRL if "blade" in name]


def spinning(beam: pl.Beam, axis: str, speed: float, tip: pl.Body | None = None) -> pl.System:
    """A beam whose head turns steadily about an axis; with a body welded to its tip, or none."""
    bodies = {"beam": pl.Body(beam=beam)}
    motion = lambda t: (speed * t, speed, 0.0)  # noqa: E731
    joints = {"hub": pl.Joint(type="revolute", axis=axis, child="beam", motion=motion)}
    if tip is not None:
        bodies["disc"] = tip
        joints["weld"] = pl.Joint(type="fixed", parent="beam.tip", child="disc")
    return pl.System(name="spinning", bodies=bodies, joints=joints)


def whirl_system(name: str, speed: float) -> pl.System:
    """A system of whirl.json as its author would write it."""
    model = WHIRL[name]
    given = model["parameters"]
    beam: dict[str, Any] = {
        "length": given["length"],
        "mass_per_length": given["mass_per_length"],
        "inertia_per_length": given["rotary_inertia_per_length"],
    }
    if name in BLADES:  # whose speeds are those without the shortening by twist
        beam |= {"EI": 1e6, "GJ": given["GJ"], "modes": {"torsion": 2}, "stiffening": False}
    else:
        modes = 2 if "light" in name else 5
        beam |= {"EI": given["EI"], "lumps": [given["lump"]] if "lump" in given else []}
        beam |= {"modes": {"bending": modes}}
    return spinning(pl.Beam(**beam), model["spin_axis"], speed)


BLADE_INERTIA = 0.01  # kg m, about x and z
BLADE_AT_REST = 0.5 * np.pi / np.sqrt(BLADE_INERTIA)  # rad/s, of its first mode


def blade(axis: str, speed: float, modes: int = 12, *, stiffening: bool = True) -> pl.System:
    """A uniform flat blade of 1 m, 1 kg and GJ = 1 N m2 that twists only."""
    beam = pl.Beam(
        length=1.0,
        mass_per_length=1.0,
        EI=1e6,
        GJ=1.0,
        inertia_per_length=[BLADE_INERTIA, 0, BLADE_INERTIA],
        modes={"torsion": modes},
        stiffening=stiffening,
    )
    return spinning(beam, axis, speed)


def blade_speeds(axis: str, speed: float, terms: int = 12) -> Array:
    """The same from the equation of its twist, with polynomials x P_i(x) instead of modes::

        ((GJ + T k^2) theta')' + j (w^2 -+ Omega^2) theta = 0,    T = m Omega^2 (1 - x^2) / 2

    with the polar radius k^2 = j / m, and - for the propeller moment about z, + about y.
    """
    x, weight = np.polynomial.legendre.leggauss(40)
    x, weight = 0.5 * (x + 1.0), 0.5 * weight
    basis = [
        np.polynomial.Polynomial([0, 1])
        * np.polynomial.Legendre.basis(k, [0, 1]).convert(kind=np.polynomial.Polynomial)
        for k in range(terms)
    ]
    twist, rate = (np.array([p.deriv(n)(x) for p in basis]) for n in (0, 1))
    stiffness = 1.0 + 0.5 * speed**2 * (1.0 - x**2) * BLADE_INERTIA
    K = (rate * weight * stiffness) @ rate.T
    M = BLADE_INERTIA * (twist * weight) @ twist.T
    propeller = {"z": 1.0, "y": -1.0}[axis] * speed**2
    return np.sqrt(eigh(K, M, eigvals_only=True) + propeller)


def vibrations(system: pl.System) -> NDArray[np.complex128]:
    """Eigenvalues of small motions about the undeformed shape while the hub turns steadily."""
    sim = pl.Simulation(system)
    n = len(sim.q) - 1  # all but the hub's angle, which is first
    kernel = sim.kernel
    rows = [(QUANTITIES.index("udot"), 0, i) for i in range(1, n + 1)]
    signals = kernel.signals(np.array(rows, np.int32))
    units = np.eye(n + 1)[1:]
    by_position = np.array([kernel.derivative(signals, q=unit) for unit in units]).T
    by_speed = np.array([kernel.derivative(signals, u=unit) for unit in units]).T
    return np.linalg.eigvals(np.block([[np.zeros((n, n)), np.eye(n)], [by_position, by_speed]]))


def speeds(system: pl.System) -> Array:
    """The positive imaginary parts of ``vibrations``, ascending."""
    values = vibrations(system).imag
    return np.sort(values[values > 0.0])
