"""Beams on a turning hub: steady rotation and spin-up.

* steady: frequencies of flapping (out of the plane of rotation) and lagging (in it), over the
  speed of the hub gamma = Omega sqrt(m L^4 / EI). Published first flapping frequencies: Wright,
  Smith, Thresher, Wang, "Vibration modes of centrifugally stiffened beams", J. Appl. Mech. 49
  (1982) 197-202.
* spin-up: Kane, Ryan, Banerjee, "Dynamics of a cantilever beam attached to a moving base",
  J. Guidance 10 (1987) 139-151; the geometrically exact curve is in spin_up_ancf.json.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

import pliant as pl
from cases.reference import reference

Array = NDArray[np.float64]

LENGTH, MASS, EI = 2.5, 3.0, 7.0e3  # m, kg/m, N m2
UNIT = float(np.sqrt(EI / MASS) / LENGTH**2)  # rad/s of a frequency or speed parameter of 1
PUBLISHED = {2: 4.137, 4: 5.585, 6: 7.360}


def blade(gamma: float, plane: str, *, modes: int = 8, stiffening: bool = True) -> pl.System:
    """A beam clamped to a hub that turns steadily about z; it bends in one plane only."""
    speed = gamma * UNIT
    beam = pl.Beam(
        length=LENGTH,
        mass_per_length=MASS,
        EI=[EI, None] if plane == "flap" else [None, EI],
        modes={"bending": modes},
        stiffening=stiffening,
    )
    return pl.System(
        name="blade",
        bodies={"blade": pl.Body(beam=beam)},
        joints={
            "hub": pl.Joint(
                type="revolute",
                axis="z",
                child="blade",
                motion=lambda t: (speed * t, speed, 0.0),
            )
        },
    )


def rotating_squares(gamma: float, plane: str, **options: object) -> Array:
    """Squares of the frequency parameters about steady rotation, ascending.

    The modal accelerations are differenced at both sides of the straight beam. They are quadratic
    in the rates, so at rest in the turning frame the Coriolis terms of one plane do not enter.
    """
    sim = pl.Simulation(blade(gamma, plane, **options), step=1e-5)
    eta = slice(1, len(sim.q))  # after the hub's angle
    start = sim.q.copy()

    def accelerations(mode: int, amplitude: float) -> Array:
        q = start.copy()
        q[eta.start + mode] = amplitude
        sim.set_state(q=q)
        return np.array(sim.evaluate()[eta])

    # large beside rounding, small beside the length: cubic terms enter with amplitude^2 = 1e-10
    d = 1e-5
    K = [(accelerations(i, -d) - accelerations(i, d)) / (2.0 * d) for i in range(len(start[eta]))]
    return np.sort(np.linalg.eigvals(np.array(K)).real) / UNIT**2


def ritz_squares(gamma: float, terms: int = 14) -> Array:
    """The same for flapping from another formulation, with Phi_i = x^2 P_i(x), x = 0..1.

    Strain energy int w''^2 and the work of the tension gamma^2 (1 - x^2) / 2 on w'^2, as in
    Wright et al.; no modes, no second-order field.
    """
    x, weight = np.polynomial.legendre.leggauss(60)
    x, weight = 0.5 * (x + 1.0), 0.5 * weight
    basis = [
        np.polynomial.Polynomial([0, 0, 1])
        * np.polynomial.Legendre.basis(k, [0, 1]).convert(kind=np.polynomial.Polynomial)
        for k in range(terms)
    ]
    w, slope, curvature = (np.array([p.deriv(n)(x) for p in basis]) for n in (0, 1, 2))
    K = (curvature * weight) @ curvature.T
    K += (slope * weight * 0.5 * gamma**2 * (1.0 - x**2)) @ slope.T
    return np.asarray(eigh(K, (w * weight) @ w.T, eigvals_only=True))


# ------------------------------------------------------------------------------------- spin-up

SPIN_LENGTH, FINAL_SPEED, SPIN_UP = 10.0, 6.0, 15.0


def spin_motion(t: float) -> tuple[float, float, float]:
    """Angle, rate and acceleration of the hub: up to 6 rad/s in 15 s, smoothly."""
    if t >= SPIN_UP:
        return FINAL_SPEED * (t - 0.5 * SPIN_UP), FINAL_SPEED, 0.0
    a, w = FINAL_SPEED / SPIN_UP, 2.0 * np.pi / SPIN_UP
    return (
        a * (0.5 * t * t + (np.cos(w * t) - 1.0) / w**2),
        a * (t - np.sin(w * t) / w),
        a * (1.0 - np.cos(w * t)),
    )


def spin_up_beam(stiffening: bool = True) -> pl.System:
    beam = pl.Beam(
        length=SPIN_LENGTH,
        mass_per_length=1.2,
        EI=[None, 1.4e4],
        EA=2.8e7,
        modes={"bending": 4, "axial": 2},
        stiffening=stiffening,
    )
    return pl.System(
        name="spin_up",
        bodies={"beam": pl.Body(beam=beam)},
        joints={"hub": pl.Joint(type="revolute", axis="z", child="beam", motion=spin_motion)},
    )


@dataclass(frozen=True)
class TipCurve:
    """Displacement of the tip in the turning frame."""

    t: Array
    u: Array  # along the undeformed beam
    v: Array  # across it, in the plane of rotation


def spin_up_reference() -> TipCurve:
    data = reference("spin_up_ancf")
    return TipCurve(*(np.array(data[key]) for key in ("t", "u", "v")))


def tip_curve(result: pl.Result) -> TipCurve:
    """From a run that recorded the joint and the node of the tip."""
    angle, r = result["joint.hub.q"], result["node.beam.tip.r"]
    c, s = np.cos(angle), np.sin(angle)
    u = c * r[:, 0] + s * r[:, 1] - SPIN_LENGTH
    return TipCurve(result.time, u, c * r[:, 1] - s * r[:, 0])


def run_spin_up(stiffening: bool = True, duration: float = 20.0, step: float = 5e-4) -> TipCurve:
    """Raises a SolverError, with what was recorded as its ``result``, if the run blows up."""
    record = ["joint.hub.q", "node.beam.tip.r"]
    return tip_curve(pl.simulate(spin_up_beam(stiffening), duration, step, every=20, record=record))
