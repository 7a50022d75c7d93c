"""The platform family: the test systems of the flexible Order-N papers, as parametric models.

A free base plate carries three legs and a top plate, in configuration 4 also two manipulators
that hold a test object (Ghosh & Quiocho 2013, Tables 1 and 2; Huynh et al. 2016). The papers give
topology and counts only, so every number here is a definition of this project.

======= ========================================= ====== ========= ============================
config  what                                      bodies dof       cases: open rigid, open
                                                                   flexible, closed rigid,
                                                                   closed flexible
======= ========================================= ====== ========= ============================
1       3 legs of 6 joints                        23     24 + 24   1, 5, 9, 13
2       as 1, booms split                         29     24 + 48   2, 6, 10, 14
3       3 legs of 7 joints, booms split           32     27 + 48   3, 7, 11, 15
4       as 3, 2 manipulators (split) and object   53     41 + 80   4, 8, 12, 16
H-49    as 4, manipulator booms whole             49     41 + 64
H-128   4 chains of flexible rods on a free base  128    133 + 508
======= ========================================= ====== ========= ============================

A link's z runs along it from its head; roll is about z, yaw about x, pitch about y. Bodies are
``base``, ``leg1_l0`` to ``leg3_l9``, ``top``, ``arm1_l0`` to ``arm2_l9`` and ``object``; joints
``leg1_roll1``, ``leg1_yaw1``, ``leg1_pitch1`` and so on outward. A weld has its body's name.

>>> model = platform(5)
>>> len(model.bodies), model.joints["leg2_pitch1"].start
(23, 0.5)
>>> [(loop.parent, loop.child) for loop in platform(13).loops.values()]
[('top.leg2', 'leg2_l6.tip'), ('top.leg3', 'leg3_l6.tip')]
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from math import cos, pi, sin

import numpy as np

import pliant as pl
from pliant.demos.platform_rods import BOOM, HALF_BOOM, LIMB, STUB, Array, Rod

LEG_ANGLE = 0.5
ARM_ANGLE = 0.6
MOUNT_RADIUS = 1.5
PLATE_THICKNESS = 0.2
LEGS = {"leg1": 0.0, "leg2": 2 * pi / 3, "leg3": 4 * pi / 3}
"""Azimuth of each leg."""
ARMS = {"arm1": 0.0, "arm2": pi}
"""Azimuth of each manipulator; their mounts are 1 m from the top plate's axis."""
AXES = {"roll": "z", "yaw": "x", "pitch": "y"}

LOAD_SCALE = 0.03
LOAD_PERIOD = 20.0
"""The loads change sign after this time, s."""
LOAD_END = 100.0
"""The papers' runs end here; the last loads stay on."""


@dataclass(frozen=True)
class Configuration:
    """What tells one platform from another."""

    leg_joints: int
    split_legs: bool
    has_arms: bool = False
    split_arms: bool = False

    @property
    def top_radius(self) -> float:
        """Radius of the legs' ends. Of a leg with 6 joints the first boom leans outward and the
        second stands upright; with 7 the second leans back by as much."""
        return MOUNT_RADIUS + (BOOM.length * sin(LEG_ANGLE) if self.leg_joints == 6 else 0.0)


CONFIGURATIONS = {
    1: Configuration(leg_joints=6, split_legs=False),
    2: Configuration(leg_joints=6, split_legs=True),
    3: Configuration(leg_joints=7, split_legs=True),
    4: Configuration(leg_joints=7, split_legs=True, has_arms=True, split_arms=True),
}
H49 = Configuration(leg_joints=7, split_legs=True, has_arms=True, split_arms=False)


def platform(case: int) -> pl.System:
    """A case of Ghosh & Quiocho's table, 1 to 16."""
    if case not in range(1, 17):
        raise ValueError(f"case {case} is not in the table; give 1 to 16")
    return _platform(
        f"platform_case{case}",
        CONFIGURATIONS[1 + (case - 1) % 4],
        is_flexible=is_flexible(case),
        is_closed=is_closed(case),
    )


def is_flexible(case: int) -> bool:
    """The booms bend in every second group of four cases.

    >>> [case for case in range(1, 17) if is_flexible(case)]
    [5, 6, 7, 8, 13, 14, 15, 16]
    """
    return (case - 1) // 4 % 2 == 1


def is_closed(case: int) -> bool:
    """Legs 2 and 3 hold the top plate too, and manipulator 2 the object."""
    return case > 8


def h49() -> pl.System:
    """Huynh's system of 49 bodies, open."""
    return _platform("h49", H49, is_flexible=True, is_closed=False)


def h128() -> pl.System:
    """Huynh's system of 128 bodies: four chains of flexible rods that point outward."""
    outward = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])  # turns z into x
    lengths = {"chain1": 31, "chain2": 32, "chain3": 32, "chain4": 32}
    azimuths = dict(zip(lengths, np.arange(4) * pi / 2, strict=True))
    mounts = {
        chain: pl.Node(at=[cos(azimuth), sin(azimuth), 0.0], rotation=_about_z(azimuth) @ outward)
        for chain, azimuth in azimuths.items()
    }
    bodies = {"base": pl.Body(mass=2000.0, inertia=[800.0, 800.0, 1000.0], nodes=mounts)}
    joints = {"base": pl.Joint(type="free", child="base")}
    for chain, length in lengths.items():
        parent = f"base.{chain}"
        for i in range(length):
            name = f"{chain}_l{i}"
            bodies[name] = LIMB.body(flexible=True)
            joints[name] = pl.Joint(
                type="revolute",
                axis="yx"[i % 2],
                parent=parent,
                child=name,
                start=0.05 * (-1.0) ** (i // 2),
            )
            parent = f"{name}.tip"
    load = pl.Load(node="chain1_l30.tip", force=[0.0, 2.0, 1.0])
    return pl.System(name="h128", bodies=bodies, joints=joints, loads={"tip": load})


# --------------------------------------------------------------------------------------- parts


def _platform(
    name: str, configuration: Configuration, is_flexible: bool, is_closed: bool
) -> pl.System:
    mechanism = _Mechanism(is_flexible)
    mechanism.add_body("base", _base(), "ground", "free")
    legs = {
        leg: mechanism.add_chain(
            leg, f"base.{leg}", configuration.leg_joints, LEG_ANGLE, configuration.split_legs
        )
        for leg in LEGS
    }
    mechanism.add_body("top", _top(configuration), legs["leg1"])
    loops = {f"{leg}-top": _weld(f"top.{leg}", legs[leg]) for leg in ("leg2", "leg3")}
    if configuration.has_arms:
        arms = {
            arm: mechanism.add_chain(arm, f"top.{arm}", 7, ARM_ANGLE, configuration.split_arms)
            for arm in ARMS
        }
        mechanism.add_body("object", _test_object(), arms["arm1"])
        loops["arm2-object"] = _weld("object.grip", arms["arm2"])
    return pl.System(
        name=name,
        bodies=mechanism.bodies,
        joints=mechanism.joints,
        loads=_loads(mechanism),
        loops=loops if is_closed else {},
    )


def _weld(mount: str, end: str) -> pl.Loop:
    """Holds the end of a chain at its mount in all six directions. The frames of the two nodes
    agree at the start, so that the joint's needs no turning."""
    return pl.Loop(type="fixed", parent=mount, child=end)


class _Mechanism:
    """Bodies and joints while they are put together from the base outward."""

    def __init__(self, is_flexible: bool) -> None:
        self.is_flexible = is_flexible
        self.bodies: dict[str, pl.Body] = {}
        self.joints: dict[str, pl.Joint] = {}

    def add_body(self, name: str, body: pl.Body, parent: str, joint: str = "fixed") -> None:
        self.bodies[name] = body
        self.joints[name] = pl.Joint(type=joint, parent=parent, child=name)

    def add_chain(self, name: str, mount: str, joints: int, angle: float, split: bool) -> str:
        """A leg or a manipulator on a mount; returns its outer end."""
        pitches = [angle, -angle] if joints == 6 else [angle, -2 * angle, angle]
        booms = [HALF_BOOM, HALF_BOOM] if split else [BOOM]
        links: list[tuple[str, float, list[Rod]]] = [("roll", 0.0, [STUB]), ("yaw", 0.0, [STUB])]
        links += [("pitch", pitch, booms if i < 2 else [STUB]) for i, pitch in enumerate(pitches)]
        links += [("yaw", 0.0, [STUB]), ("roll", 0.0, [STUB])]

        number = count()
        body = f"{name}_l{next(number)}"
        self.add_body(body, STUB.body(flexible=False), mount)
        turns = dict.fromkeys(AXES, 0)
        for kind, start, rods in links:
            turns[kind] += 1
            parent, body = f"{body}.tip", f"{name}_l{next(number)}"
            self.bodies[body] = self._rod(rods[0])
            self.joints[f"{name}_{kind}{turns[kind]}"] = pl.Joint(
                type="revolute", axis=AXES[kind], parent=parent, child=body, start=start
            )
            for rod in rods[1:]:
                parent, body = f"{body}.tip", f"{name}_l{next(number)}"
                self.add_body(body, self._rod(rod), parent)
        return f"{body}.tip"

    def _rod(self, rod: Rod) -> pl.Body:
        return rod.body(self.is_flexible and rod is not STUB)


def _base() -> pl.Body:
    mounts = {
        leg: pl.Node(
            at=[MOUNT_RADIUS * cos(azimuth), MOUNT_RADIUS * sin(azimuth), PLATE_THICKNESS / 2],
            rotation=_about_z(azimuth),
        )
        for leg, azimuth in LEGS.items()
    }
    return pl.Body(mass=3000.0, inertia=_plate_inertia(3000.0, 2.0), nodes=mounts)


def _top(configuration: Configuration) -> pl.Body:
    """The top plate; its head is at the end of leg 1, its axis at x = -radius."""
    radius = configuration.top_radius
    com = [-radius, 0.0, PLATE_THICKNESS / 2]
    nodes = {"com": pl.Node(at=com)}
    for leg in ("leg2", "leg3"):
        x, y = radius * (cos(LEGS[leg]) - 1.0), radius * sin(LEGS[leg])
        nodes[leg] = pl.Node(at=[x, y, 0.0], rotation=_about_z(LEGS[leg]))
    if configuration.has_arms:
        for arm, azimuth in ARMS.items():
            at = [cos(azimuth) - radius, 0.0, PLATE_THICKNESS]
            nodes[arm] = pl.Node(at=at, rotation=_about_z(azimuth))
    inertia = _plate_inertia(2000.0, max(2.0, radius + 0.3))
    return pl.Body(mass=2000.0, com=com, inertia=inertia, nodes=nodes)


def _test_object() -> pl.Body:
    """Held by manipulator 1 at its head and by manipulator 2 at ``grip``."""
    com = [-1.0, 0.0, 0.5]
    return pl.Body(
        mass=1500.0,
        com=com,
        inertia=[1200.0, 1800.0, 1800.0],
        nodes={
            "com": pl.Node(at=com),
            "grip": pl.Node(at=[-2.0, 0.0, 0.0], rotation=_about_z(pi)),
        },
    )


def _plate_inertia(mass: float, radius: float) -> list[float]:
    across = mass * (3 * radius**2 + PLATE_THICKNESS**2) / 12
    return [across, across, mass * radius**2 / 2]


def _about_z(angle: float) -> Array:
    return np.array([[cos(angle), -sin(angle), 0], [sin(angle), cos(angle), 0], [0, 0, 1]])


def _loads(mechanism: _Mechanism) -> dict[str, pl.Load]:
    """World axes at the centres of mass; efforts on the joints of leg 1 from the mount outward."""
    times = np.arange(0.0, LOAD_END, LOAD_PERIOD)
    scale = LOAD_SCALE * (-1.0) ** np.arange(len(times))

    def held(target: dict[str, str], **values: list[float]) -> pl.Load:
        tables = {key: np.outer(scale, value) for key, value in values.items()}
        return pl.Load(**target, times=times, interpolation="hold", **tables)

    loads = {
        "top": held({"node": "top.com"}, force=[60.0, -40.0, 30.0], torque=[50.0, 30.0, -40.0])
    }
    if "object" in mechanism.bodies:
        loads["object"] = held(
            {"node": "object.com"}, force=[-30.0, 20.0, 25.0], torque=[20.0, -15.0, 10.0]
        )
    efforts = (8.0, -6.0, 10.0, -10.0, 5.0, 4.0, -3.0)
    leg1 = [
        name
        for name, joint in mechanism.joints.items()
        if name.startswith("leg1_") and joint.type == "revolute"
    ]
    for joint, effort in zip(leg1, efforts[: len(leg1)], strict=True):
        loads[joint] = held({"joint": joint}, effort=[effort])
    return loads
