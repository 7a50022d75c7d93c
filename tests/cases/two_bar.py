"""The two-bar arm of Mukherjee & Anderson, "A flexible body divide and conquer algorithm",
section 5, with the data of ``two_bar_ancf.json`` (a geometrically exact solution).

Two elastic bars in the vertical plane with point masses at elbow and tip. The *absolute* angles of
the bars' roots are prescribed by equations (92) and (93): the first by the shoulder's motion, the
second by a loop that holds the root of the second bar parallel to a dial, a body that turns about
the ground as told. The bars start bent by their weight, and swing on after 0.5 s.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import pliant as pl
from cases.reference import reference

Array = NDArray[np.float64]


def angle_table(sign: float) -> dict[str, list[float]]:
    """Equation (92): piecewise cubic and twice differentiable, so position and rate say all."""
    t = np.array([0.0, 1 / 6, 1 / 3, 1 / 2])
    position = np.pi / 4 * np.array([-1.0, -2 / 3, 2 / 3, 1.0])
    rate = np.pi / 4 * np.array([0.0, 6.0, 6.0, 0.0])
    return {
        "times": t.tolist(),
        "position": (sign * position).tolist(),
        "rate": (sign * rate).tolist(),
    }


def two_bar(
    name: str = "two_bar_ancf", *, stiffening: bool = True, bending: int = 3, axial: int = 1
) -> pl.System:
    """The arm with the data of a reference file."""
    data = reference(name)["params"]
    E, rho = data["E"], data["rho"]

    def bar(i: int) -> pl.Body:
        length, area, second_moment = data["L"][i], data["A"][i], data["I"][i]
        return pl.Body(
            beam=pl.Beam(
                length=length,
                mass_per_length=rho * area,
                EA=E * area,
                EI=[None, E * second_moment],
                lumps=[{"at": length, "mass": data["mt"][i]}],
                modes={"bending": bending, "axial": axial},
                stiffening=stiffening,
            )
        )

    return pl.System(
        name="two_bar",
        gravity=[0, -data["g"], 0],
        bodies={
            "upper": bar(0),
            "lower": bar(1),
            "dial": pl.Body(mass=1.0, inertia=[1, 1, 1]),
        },
        joints={
            "shoulder": pl.Joint(type="revolute", axis="z", child="upper", motion=angle_table(1.0)),
            "elbow": pl.Joint(
                type="revolute", axis="z", parent="upper.tip", child="lower", start=np.pi / 2
            ),
            "dial": pl.Joint(type="revolute", axis="z", child="dial", motion=angle_table(-1.0)),
        },
        loops={
            "parallel": pl.Loop(
                type="general",
                translations=["x", "y", "z"],
                parent="dial",
                child="lower",
                closed_by=["elbow"],
            )
        },
    )


def run_two_bar(
    name: str = "two_bar_ancf", *, step: float = 2e-5, every: int = 250, **options: object
) -> Array:
    """Rows t, x, y of the tip over 1 s, from static equilibrium."""
    model = pl.Simulation(two_bar(name, **options), step).model
    sim = pl.Simulation(model, step)
    sim.set_state(q=pl.equilibrium(model))
    tip = sim.node("lower.tip")
    rows = [(0.0, *tip.position[:2])]
    for _ in range(round(1.0 / (step * every))):
        sim.step(every)
        rows.append((sim.time, *tip.position[:2]))
    return np.array(rows)


def distance_from_reference(rows: Array, name: str = "two_bar_ancf") -> tuple[Array, Array]:
    """Times of the reference and the distance of the tip from it, m."""
    exact = np.array(reference(name)["curve"])
    t = exact[:, 0]
    x, y = (np.interp(t, rows[:, 0], rows[:, k]) for k in (1, 2))
    return t, np.hypot(x - exact[:, 1], y - exact[:, 2])
