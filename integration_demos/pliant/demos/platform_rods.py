"""Uniform cylindrical rods along z, rigid or with clamped-free bending modes.

A flexible rod is raw modal data: its mass sits at 9 Gauss-Lobatto points, each with the rotary
inertia of its share, and moves in the modes of a clamped-free Euler-Bernoulli beam,

    phi(z) = [cosh t - cos t - s (sinh t - sin t)] / (its value at the tip),  t = b z / L,
    cos b cosh b = -1,  s = (cosh b + cos b) / (sinh b + sin b),

two in the x-z plane, then two in the y-z plane. There is no second-order field: the papers leave
motion-induced stiffening out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Legendre
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import brentq

import pliant as pl

Array = NDArray[np.float64]

MASS_POINTS = 9
DAMPING_RATIO = 0.005
# K is defined by the trapezoidal rule on this many intervals, which lies 2e-7 (first mode) and
# 8e-7 (second) above the exact integral of EI phi'' phi''.
STIFFNESS_INTERVALS = 2000
_MODES_IN_PLANE = 2
_BRACKETS = ((1.0, 3.0), (4.0, 5.0))  # of the roots b


@dataclass(frozen=True)
class Rod:
    """Length in m, mass per length in kg/m, radius in m, bending stiffness in N m2."""

    length: float
    mass_per_length: float
    radius: float
    EI: float = 0.0

    @property
    def mass(self) -> float:
        return self.mass_per_length * self.length

    def body(self, flexible: bool) -> pl.Body:
        """The rod as a body with a node ``tip``.

        >>> BOOM.body(flexible=False).mass, BOOM.body(flexible=True).modal.mode_count
        (60.0, 4)
        """
        return self._flexible_body() if flexible else self._rigid_body()

    def _rigid_body(self) -> pl.Body:
        across = self.mass * (self.length**2 / 12 + self.radius**2 / 4)
        return pl.Body(
            mass=self.mass,
            com=[0, 0, self.length / 2],
            inertia=[across, across, self.mass * self.radius**2 / 2],
            nodes={"tip": {"at": [0, 0, self.length]}},
        )

    def _flexible_body(self) -> pl.Body:
        z, weights = gauss_lobatto(MASS_POINTS, self.length)
        mass = self.mass_per_length * weights
        phi, psi = self._shapes(z)
        inertia = np.outer(mass, np.array([1.0, 1.0, 2.0]) * self.radius**2 / 4)
        K = self._stiffness()
        M = np.einsum("k,kai,kaj->ij", mass, phi, phi)
        M += np.einsum("ka,kai,kaj->ij", inertia, psi, psi)
        points = [
            pl.ModalPoint(at=[0, 0, z[k]], mass=mass[k], inertia=inertia[k], phi=phi[k], psi=psi[k])
            for k in range(MASS_POINTS)
        ]
        tip = pl.ModalNode(at=[0, 0, self.length], phi=phi[-1], psi=psi[-1])
        modal = pl.Modal(points=points, K=K, D=_damping(K, M), nodes={"tip": tip})
        return pl.Body(modal=modal)

    def _shapes(self, z: Array) -> tuple[Array, Array]:
        """(k, 3, n) translations phi and rotations psi: rot_y = u_x', rot_x = -u_y'."""
        values, slopes = clamped_free(z / self.length, 0), clamped_free(z / self.length, 1)
        n = _MODES_IN_PLANE
        phi, psi = np.zeros((2, len(z), 3, 2 * n))
        phi[:, 0, :n] = phi[:, 1, n:] = values.T
        psi[:, 1, :n] = slopes.T / self.length
        psi[:, 0, n:] = -slopes.T / self.length
        return phi, psi

    def _stiffness(self) -> Array:
        s = np.linspace(0.0, 1.0, STIFFNESS_INTERVALS + 1)
        curvature = clamped_free(s, 2)
        curvature[:, [0, -1]] *= np.sqrt(0.5)  # the rule's half weights, seen from both factors
        in_plane = self.EI / self.length**3 / STIFFNESS_INTERVALS * (curvature @ curvature.T)
        return np.asarray(np.kron(np.eye(2), in_plane))


STUB = Rod(length=0.3, mass_per_length=100.0, radius=0.12)
BOOM = Rod(length=4.0, mass_per_length=15.0, radius=0.10, EI=4.0e6)
HALF_BOOM = Rod(length=2.0, mass_per_length=15.0, radius=0.10, EI=4.0e6)
LIMB = Rod(length=1.0, mass_per_length=8.0, radius=0.04, EI=6.0e3)


def gauss_lobatto(count: int, length: float) -> tuple[Array, Array]:
    """Points of [0, length], both ends among them, and weights.

    >>> z, weights = gauss_lobatto(3, 6.0)
    >>> z.tolist(), weights.tolist()
    ([0.0, 3.0, 6.0], [1.0, 4.0, 1.0])
    """
    polynomial = Legendre.basis(count - 1)
    x = np.concatenate([[-1.0], polynomial.deriv().roots(), [1.0]])
    weights = 2.0 / (count * (count - 1) * polynomial(x) ** 2)
    return 0.5 * length * (1.0 + x), 0.5 * length * weights


def clamped_free(s: Array, derivative: int) -> Array:
    """Modes of a clamped-free beam of unit length and their first two derivatives, (2, k)."""
    rows = []
    for bracket in _BRACKETS:
        b = brentq(lambda x: np.cos(x) * np.cosh(x) + 1.0, *bracket, xtol=1e-15)
        ratio = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
        tip = np.cosh(b) - np.cos(b) - ratio * (np.sinh(b) - np.sin(b))
        t = b * s
        row = (
            np.cosh(t) - np.cos(t) - ratio * (np.sinh(t) - np.sin(t)),
            np.sinh(t) + np.sin(t) - ratio * (np.cosh(t) - np.cos(t)),
            np.cosh(t) + np.cos(t) - ratio * (np.sinh(t) + np.sin(t)),
        )[derivative]
        rows.append(row * b**derivative / tip)
    return np.array(rows)


def _damping(K: Array, M: Array) -> Array:
    """DAMPING_RATIO of critical in every mode of K v = w^2 M v."""
    squares, V = eigh(K, M)
    D = M @ V @ np.diag(2.0 * DAMPING_RATIO * np.sqrt(squares)) @ V.T @ M
    return np.asarray(0.5 * (D + D.T))
