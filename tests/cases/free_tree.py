"""A flexible tree in free motion, whose momentum and energy must stay.

Three soft beams, a branch on a wrist, and revolute, universal, spherical and fixed joints on a
free hub; no gravity, no damping. It starts straight and spins, so that its beams bend and twist.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import pliant as pl

BEAMS = ("boom", "mast", "blade")


def free_tree() -> pl.System:
    """The tree at its start.

    A single torsion mode and a bending mode in each plane: node rotations about three axes, which
    do not commute, and no frequency beyond 30 rad/s.
    """

    def beam(length: float, EIy: float, EIz: float, GJ: float) -> pl.Body:
        modes = {"bending": 1, "torsion": 1}
        return pl.Body(
            beam=pl.Beam(
                length=length, mass_per_length=2.0, EI=[EIy, EIz], GJ=GJ, radius=0.1, modes=modes
            )
        )

    return pl.System(
        name="free_tree",
        bodies={
            "hub": pl.Body(
                mass=20.0,
                com=[0.05, 0, 0.02],
                inertia=[2, 3, 4],
                nodes={
                    "right": {"at": [0.3, 0, 0]},
                    "left": {"at": [-0.3, 0, 0], "rotation": {"axis": "z", "degrees": 180}},
                },
            ),
            "boom": beam(2.0, 3.0, 4.0, 3.0),
            "mast": beam(1.5, 2.5, 3.5, 2.0),
            "wrist": pl.Body(
                mass=2.0,
                com=[0.1, 0, 0.05],
                inertia=[0.05, 0.06, 0.07],
                nodes={
                    "a": {"at": [0.2, 0.1, 0]},
                    "b": {"at": [0.2, -0.1, 0], "rotation": {"axis": "z", "degrees": -40}},
                },
            ),
            "blade": beam(1.0, 3.0, 4.0, 3.0),
            "pod": pl.Body(mass=3.0, com=[0.1, 0.2, 0], inertia=[0.2, 0.25, 0.3]),
            "tail": pl.Body(mass=4.0, com=[0.2, 0, 0.1], inertia=[0.2, 0.25, 0.3]),
        },
        joints={
            "orbit": pl.Joint(
                type="free",
                child="hub",
                start=[0.3, -0.2, 0.5, 1, 0, 0, 0],
                speed=[0.2, -0.1, 0.3, 0.5, -0.8, 0.6],
            ),
            "shoulder": pl.Joint(
                type="revolute", axis="y", parent="hub.right", child="boom", start=0.3, speed=-0.4
            ),
            "gimbal": pl.Joint(
                type="universal",
                axes=["y", "z"],
                parent="hub.left",
                child="mast",
                start=[0.2, -0.3],
                speed=[0.5, 0.3],
            ),
            "ball": pl.Joint(
                type="spherical", parent="boom.tip", child="wrist", speed=[0.6, -0.5, 0.4]
            ),
            "hinge": pl.Joint(
                type="revolute",
                axis=[0, 1, 1],
                parent="wrist.b",
                child="blade",
                start=0.4,
                speed=0.9,
            ),
            "pod": pl.Joint(type="fixed", parent="wrist.a", child="pod"),
            "tail": pl.Joint(type="fixed", parent="mast.tip", child="tail"),
        },
    )


@dataclass(frozen=True)
class Drift:
    """Largest deviations from the start over a run, relative to the start; largest turns."""

    energy: float
    linear: float
    angular: float
    turns: dict[str, float]  # of each beam's tip against its head, rad


def node_turn(sim: pl.Simulation, beam: str) -> float:
    """Angle between the axes of a beam's tip and its head."""
    R = sim.node(f"{beam}.head").rotation.T @ sim.node(f"{beam}.tip").rotation
    return float(np.arccos(np.clip((np.trace(R) - 1.0) / 2.0, -1.0, 1.0)))


def drift(
    step: float,
    integrator: str,
    node_rotation: str = "exact",
    *,
    duration: float = 3.0,
    looks: int = 75,
) -> Drift:
    """Runs the tree and looks at it at evenly spaced times."""
    sim = pl.Simulation(free_tree(), step, integrator=integrator, node_rotation=node_rotation)
    start, energy = sim.momentum, sim.energy.total
    size = [float(np.linalg.norm(x)) for x in start]
    energies, momenta, turns = [], [], []
    for _ in range(looks):
        sim.advance(duration / looks)
        turns.append([node_turn(sim, beam) for beam in BEAMS])
        energies.append(abs(sim.energy.total / energy - 1.0))
        momenta.append(
            [
                float(np.linalg.norm(now - then)) / scale
                for now, then, scale in zip(sim.momentum, start, size, strict=True)
            ]
        )
    linear, angular = np.max(momenta, axis=0).tolist()
    worst = dict(zip(BEAMS, np.max(turns, axis=0).tolist(), strict=True))
    return Drift(max(energies), linear, angular, worst)
