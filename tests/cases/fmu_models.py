"""Models for tests of the FMU layer: small, and together with one of everything."""

from __future__ import annotations

import numpy as np

import pliant as pl

ODD_NAME = "hand-1 ä"
QUOTES = 'Ann\'s "best" \\ one'


def pendulum() -> pl.System:
    """A rigid pendulum, off its centre of mass in all directions."""
    rod = pl.Body(mass=2.0, com=[0.1, 0.2, -0.5], inertia=[0.2, 0.3, 0.15, 0.01, -0.02, 0.03])
    hinge = pl.Joint(
        type="revolute", axis="y", child="rod", start=0.3, speed=-0.2, friction={"viscous": 0.4}
    )
    return pl.System(
        name="pendulum", gravity=[0, 0, -9.81], bodies={"rod": rod}, joints={"hinge": hinge}
    )


def craft() -> pl.System:
    """A free hub with wheels, a flexible boom, every type of joint and a prescribed one, a second
    group, and names that no identifier can have."""
    link = {"mass": 1.5, "com": [0.1, 0.05, 0.2], "inertia": [0.02, 0.03, 0.02]}
    end = {"nodes": {"end": {"at": [0.3, 0.1, 0.2]}}}
    boom = {"length": 2.0, "mass_per_length": 3.0, "EI": [900.0, 700.0], "GJ": 400.0}
    # an FMU keeps its shapes whatever its parameters say; so that a model edited likewise has the
    # same, they are those of the beam alone
    boom |= {"radius": 0.05, "modes": {"count": 4}, "damping": 0.01, "shapes": "cantilever"}
    return pl.System(
        name="Träger 7 (test)",
        gravity=[0.1, 0.2, -1.6],
        bodies={
            "hub": pl.Body(
                mass=50.0,
                com=[0.1, 0, 0.05],
                inertia=[5, 6, 7],
                nodes={
                    "mount": {"at": [0.5, 0.1, 0]},
                    "dock": {"at": [0, 0, 0.4], "contact": True},
                },
                wheels={
                    "rw 1": pl.Wheel(axis="z", inertia=0.1, speed=30.0),
                    "rw2": pl.Wheel(axis=[1, 1, 0], inertia=0.1, node="mount"),
                },
            ),
            "boom": pl.Body(beam=boom),
            ODD_NAME: pl.Body(**link, nodes={"pad": {"at": [0.3, 0, 0.1], "contact": True}}),
            "hand-1 a": pl.Body(**link, **end),
            QUOTES: pl.Body(**link, **end),
            "cross": pl.Body(**link, **end),
            "plate": pl.Body(**link, **end),
            "ball": pl.Body(**link, **end),
            "six": pl.Body(**link, **end),
            "lid": pl.Body(**link, **end),
            "buoy": pl.Body(**link),
        },
        joints={
            "orbit": pl.Joint(type="free", child="hub", speed=[0.1, 0, 0, 0, 0, 0.2]),
            "hinge": pl.Joint(
                type="revolute",
                axis=[1, 2, 0.5],
                parent="hub.mount",
                child="boom",
                start=0.4,
                friction={"viscous": 2.0},
            ),
            "grip": pl.Joint(type="fixed", parent="boom.tip", child=ODD_NAME),
            "slide": pl.Joint(
                type="prismatic", axis="x", parent="hub", child="hand-1 a", spring={"stiffness": 5}
            ),
            "screw": pl.Joint(
                type="cylindrical", axis="z", parent="hand-1 a.end", child=QUOTES, start=[0.1, 0.2]
            ),
            "knee": pl.Joint(type="universal", axes=["x", "y"], parent="hub.dock", child="cross"),
            "table": pl.Joint(type="planar", axis="z", parent="cross.end", child="plate"),
            "socket": pl.Joint(type="spherical", parent="plate.end", child="ball"),
            "any": pl.Joint(
                type="general",
                translations=["x", [0, 1, 1]],
                rotations=["z", "y"],
                parent="ball.end",
                child="six",
                start=[0.1, 0.2, 0.3, 0.4],
            ),
            "motor": pl.Joint(
                type="revolute",
                axis="z",
                parent="six.end",
                child="lid",
                motion={"times": [0, 1, 3], "position": [0.1, 0.4, 0.0]},
            ),
            "afloat": pl.Joint(type="free", child="buoy"),
        },
    )


def driven() -> pl.System:
    """A turntable that turns as it is told, carrying a pendulum and a slide with a wheel."""
    part = {"mass": 1.0, "com": [0.1, 0.2, -0.4], "inertia": [0.1, 0.12, 0.05]}
    times = np.linspace(0, 4, 9)
    return pl.System(
        name="driven",
        gravity=[0, 0, -9.81],
        bodies={
            "disc": pl.Body(mass=5, inertia=[1, 1, 2], nodes={"rim": {"at": [1, 0, 0.2]}}),
            "rod": pl.Body(**part),
            "cart": pl.Body(**part, wheels={"w": pl.Wheel(axis=[1, 2, 3], inertia=0.01, speed=5)}),
        },
        joints={
            "axle": pl.Joint(
                type="revolute",
                axis="z",
                child="disc",
                motion={"times": times, "position": np.sin(times)},
            ),
            "hinge": pl.Joint(type="revolute", axis="y", parent="disc.rim", child="rod", start=0.2),
            "rail": pl.Joint(type="prismatic", axis=[1, 1, 1], parent="disc", child="cart"),
        },
    )
