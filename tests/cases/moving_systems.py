"""Systems on which integrators differ: soft and stiff, free and closed, driven, spinning."""

from __future__ import annotations

import numpy as np

import pliant as pl
from cases.free_tree import free_tree

GRAVITY = 9.81


def vibrating_tree(vigour: float) -> pl.System:
    """The free flexible tree with all start speeds times a factor."""
    system = free_tree()
    for joint in system.joints.values():
        if joint.speed is not None:
            joint.speed = vigour * np.asarray(joint.speed)
    return system


def flexible_truss(vigour: float = 1.0) -> pl.System:
    """A free hub with two hinged beams that hold each other by a ball: a closed triangle that
    bends."""

    def beam(length: float, **more: object) -> pl.Body:
        return pl.Body(
            beam=pl.Beam(
                length=length,
                mass_per_length=1.0,
                EI=[4.0, 6.0],
                GJ=5.0,
                radius=0.1,
                modes={"bending": 1, "torsion": 1},
                shapes="cantilever",
            ),
            **more,
        )

    return pl.System(
        name="truss",
        bodies={
            "hub": pl.Body(
                mass=10.0,
                inertia=[1.0, 1.2, 1.4],
                nodes={"left": {"at": [-0.5, 0, 0]}, "right": {"at": [0.5, 0, 0]}},
            ),
            "a": beam(1.0),
            "b": beam(1.2, nodes={"ball": {"at": [1.0, 0, 0]}}),
        },
        joints={
            "orbit": pl.Joint(
                type="free", child="hub", speed=[0.1, 0, 0, *(vigour * np.array([0.6, 0.8, 0.9]))]
            ),
            "A": pl.Joint(type="revolute", axis="z", parent="hub.left", child="a", start=np.pi / 3),
            "B": pl.Joint(
                type="universal",
                axes=["z", "y"],
                parent="hub.right",
                child="b",
                start=[2 * np.pi / 3, 0],
            ),
        },
        loops={"ball": pl.Loop(type="spherical", parent="a.tip", child="b.ball")},
    )


def four_bar(
    lengths: tuple[float, float, float, float] = (0.3, 0.9, 0.6, 1.0),
    crank: float = 0.9,
    speed: float = 2.0,
    gravity: float = GRAVITY,
) -> pl.System:
    """Uniform rods of 1 kg/m in a plane: crank, coupler, rocker; the last length is the ground."""

    def rod(length: float) -> pl.Body:
        return pl.Body(
            mass=length,
            com=[length / 2, 0, 0],
            inertia=[1e-3, length**3 / 12, length**3 / 12],
            nodes={"tip": {"at": [length, 0, 0]}},
        )

    a, b, c, ground = lengths
    pin = a * np.array([np.cos(crank), np.sin(crank)])
    across = np.array([ground, 0.0]) - pin
    far = float(np.hypot(*across))
    coupler = np.arctan2(across[1], across[0]) + np.arccos((b**2 + far**2 - c**2) / (2 * b * far))
    end = pin + b * np.array([np.cos(coupler), np.sin(coupler)])
    rocker = np.arctan2(end[1], end[0] - ground)
    hinge = {"type": "revolute", "axis": "z"}
    return pl.System(
        name="four_bar",
        gravity=[0, -gravity, 0],
        bodies={"crank": rod(a), "coupler": rod(b), "rocker": rod(c)},
        joints={
            "A": pl.Joint(**hinge, child="crank", start=crank, speed=speed),
            "B": pl.Joint(**hinge, parent="crank.tip", child="coupler", start=coupler - crank),
            "C": pl.Joint(**hinge, child="rocker", at=[ground, 0, 0], start=rocker),
        },
        loops={
            "D": pl.Loop(**hinge, parent="coupler.tip", child="rocker.tip", closed_by=["B", "C"])
        },
    )


def driven_boom() -> pl.System:
    """A base turned by a table, with a flexible boom and a tip body on free hinges."""
    times = np.linspace(0.0, 6.0, 25)
    x = np.clip(times / 2.0, 0.0, 1.0) ** 3
    boom = pl.Beam(
        length=2.0,
        mass_per_length=1.0,
        EI=6.0,
        radius=0.1,
        modes={"bending": 2},
        shapes="cantilever",
    )
    return pl.System(
        name="driven",
        bodies={
            "base": pl.Body(mass=5.0, inertia=[1, 1, 1], nodes={"mount": {"at": [0.5, 0, 0]}}),
            "boom": pl.Body(beam=boom),
            "tip": pl.Body(mass=1.0, com=[0.3, 0, 0], inertia=[0.1, 0.1, 0.1]),
        },
        joints={
            "drive": pl.Joint(
                type="revolute",
                axis="z",
                child="base",
                motion={"times": times, "position": 1.5 * np.sin(1.1 * times) * x},
            ),
            "root": pl.Joint(
                type="revolute", axis="y", parent="base.mount", child="boom", speed=1.0
            ),
            "wrist": pl.Joint(type="revolute", axis="z", parent="boom.tip", child="tip", speed=0.5),
        },
    )


def wheel_on_hub() -> pl.System:
    """A satellite with a fast wheel and a flexible appendage, tumbling."""
    appendage = pl.Beam(length=2.0, mass_per_length=1.0, EI=20.0, radius=0.1, modes={"bending": 2})
    return pl.System(
        name="satellite",
        bodies={
            "hub": pl.Body(
                mass=50.0,
                inertia=[10, 12, 14],
                nodes={"mount": {"at": [0, 0, 0]}},
                wheels={"rw": {"node": "mount", "axis": "z", "inertia": 0.1, "speed": 300.0}},
            ),
            "panel": pl.Body(beam=appendage),
        },
        joints={
            "orbit": pl.Joint(type="free", child="hub", speed=[0, 0, 0, 0.3, 0.2, 0.1]),
            "root": pl.Joint(type="fixed", parent="hub.mount", child="panel"),
        },
    )


def spinning_top(spin: float = 100.0) -> pl.System:
    body = pl.Body(
        mass=1.0,
        com=[0, 0, 0.1],
        inertia=[3e-3, 3e-3, 2e-3],
        nodes={"mark": {"at": [0.05, 0, 0.2]}},
    )
    return pl.System(
        name="top",
        gravity=[0, 0, -GRAVITY],
        bodies={"top": body},
        joints={
            "foot": pl.Joint(
                type="spherical",
                child="top",
                start=[np.cos(0.3), np.sin(0.3), 0, 0],
                speed=[0, 0, spin],
            )
        },
    )


def stiff_crane() -> pl.System:
    """A hoist's jib with a load on a hinge under gravity: slow swinging, fast bending."""
    jib = pl.Beam(
        length=4.0, mass_per_length=3.0, EI=4e4, radius=0.06, modes={"bending": 2}, damping=0.005
    )
    return pl.System(
        name="crane",
        gravity=[0, 0, -GRAVITY],
        bodies={
            "jib": pl.Body(beam=jib),
            "load": pl.Body(mass=5.0, com=[0.5, 0, 0], inertia=[0.1, 0.3, 0.3]),
        },
        joints={
            "slew": pl.Joint(
                type="revolute", axis="z", child="jib", speed=0.6, friction={"viscous": 2.0}
            ),
            "swing": pl.Joint(
                type="universal",
                axes=["y", "z"],
                parent="jib.tip",
                child="load",
                start=[1.2, 0.2],
                friction={"viscous": 0.05},
            ),
        },
    )


def places(sim: pl.Simulation) -> np.ndarray:
    return np.array([sim.node(slots.name).position for slots in sim.model.nodes])


def motion_of(
    system: pl.System, step: float, duration: float, integrator: str, looks: int = 20
) -> np.ndarray:
    """(looks, nodes, 3) positions of all nodes at evenly spaced times."""
    sim = pl.Simulation(system, step, integrator=integrator)
    seen = []
    for _ in range(looks):
        sim.advance(duration / looks)
        seen.append(places(sim))
    return np.array(seen)


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """Root mean square of the distances of all nodes at all times."""
    return float(np.sqrt(((a - b) ** 2).sum(axis=-1).mean()))
