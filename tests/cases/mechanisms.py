"""Published closed-loop mechanisms: four-bar windows, Andrews' squeezer, Bricard's linkage.

* Four-bar windows and Bricard's mechanism: problems A02 and A04 of the library of computational
  benchmark problems of IFToMM's committee for multibody dynamics; Gonzalez, Dopico, Lugris,
  Cuadrado, "A benchmarking system for MBS simulation software", Multibody System Dynamics 16
  (2006) 179-190.
* Andrews' squeezing mechanism: Schiehlen (ed.), "Multibody Systems Handbook", Springer 1990;
  Hairer, Wanner, "Solving Ordinary Differential Equations II", section VII.7.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import pliant as pl

Array = NDArray[np.float64]
GRAVITY = 9.81

# ----------------------------------------------------------------------------- four-bar windows

# Position of B0 after 10 s, by number of windows and start speed in rad/s.
WINDOWS = {
    (1, 1.0): (0.47838506, 0.87815018),
    (2, 30.0): (0.83536547, -0.54969494),
    (40, 1.0): (0.18051223, 0.98357274),
}


def windows(count: int, speed: float) -> pl.System:
    """Rods A0B0, A1B1, ... stand on the ground 1 m apart, bars B0B1, B1B2, ... tie them together.

    All are uniform, 1 m long, of 1 kg. B0 starts to the right, at ``speed`` in m/s. The bars close
    as many loops as there are windows.
    """
    rod = pl.Body(
        mass=1.0,
        com=[0.5, 0, 0],
        inertia=[1e-3, 1 / 12, 1 / 12],
        nodes={"tip": {"at": [1, 0, 0]}},
    )
    up, right = np.pi / 2, {"axis": "z", "degrees": 90}
    bodies = {f"rod{i}": rod for i in range(count + 1)} | {f"bar{i}": rod for i in range(count)}
    joints = {
        f"A{i}": pl.Joint(
            type="revolute", axis="z", child=f"rod{i}", at=[i, 0, 0], start=up, speed=-speed
        )
        for i in range(count + 1)
    }
    joints |= {
        f"B{i}": pl.Joint(
            type="revolute",
            axis="z",
            parent=f"rod{i}.tip",
            child=f"bar{i}",
            start=-up,
            speed=speed,
        )
        for i in range(count)
    }
    loops = {
        f"C{i}": pl.Loop(
            type="revolute",
            axis="z",
            parent=f"bar{i}.tip",
            child=f"rod{i + 1}.tip",
            rotation=right,
        )
        for i in range(count)
    }
    return pl.System(
        name="windows", gravity=[0, -GRAVITY, 0], bodies=bodies, joints=joints, loops=loops
    )


def windows_by_one_angle(count: int, speed: float, duration: float) -> Array:
    """B0 from the equation of its one freedom: rods turn by theta, bars only translate."""
    inertia = (count + 1) / 3 + count
    moment = GRAVITY * ((count + 1) / 2 + count)
    solution = solve_ivp(
        lambda _, y: [y[1], -moment * np.cos(y[0]) / inertia],
        (0.0, duration),
        [np.pi / 2, -speed],
        method="DOP853",
        rtol=3e-14,
        atol=1e-14,
    )
    theta = solution.y[0, -1]
    return np.array([np.cos(theta), np.sin(theta)])


# --------------------------------------------------------------------------- Andrews' squeezer

# At t = 0.03 s, by Hairer & Wanner's test set.
ANDREWS = {"beta": 15.81077119629904, "Theta": -15.75637105984298}

_D, _DA, _E, _EA, _ZF, _FA = 0.028, 0.0115, 0.02, 0.01421, 0.02, 0.01421
_RR, _RA, _SS, _SA, _SB, _SC, _SD = 0.007, 0.00092, 0.035, 0.01874, 0.01043, 0.018, 0.02
_TA, _TB, _U, _UA, _UB, _ZT = 0.02308, 0.00916, 0.04, 0.01228, 0.00449, 0.04
_A, _B, _C = (-0.06934, -0.00227, 0), (-0.03635, 0.03273, 0), (0.014, 0.072, 0)
_SPRING, _REST, _TORQUE = 4530.0, 0.07785, 0.033
_START = {
    "beta": -0.0617138900142764496358948458001,
    "Theta": 0.0,
    "gamma": 0.455279819163070380255912382449,
    "Phi": 0.222668390165885884674473185609,
    "delta": 0.487364979543842550225598953530,
    "Omega": -0.222668390165885884674473185609,
    "epsilon": 1.23054744454982119249735015568,
}
# The spring has a guide, which must have some inertia: 1e-9 of the smallest of the bodies.
_GUIDE = 4e-16


def squeezer() -> pl.System:
    """Seven bodies K1 to K7 in the plane, three loops at the point P, a driving torque on K1.

    The spring between K3 and the fixed point C acts in a fourth loop: along a guide that turns
    about C.
    """

    def body(mass: float, inertia: float, com: tuple[float, float], **nodes: object) -> pl.Body:
        flat = [inertia / 2, inertia / 2, inertia]
        return pl.Body(
            mass=mass,
            com=[*com, 0],
            inertia=flat,
            nodes={name: {"at": [*at, 0]} for name, at in nodes.items()},
        )

    def hinge(name: str, child: str, parent: str = "ground", at: tuple = (0, 0, 0)) -> pl.Joint:
        return pl.Joint(
            type="revolute", axis="z", child=child, parent=parent, at=at, start=_START[name]
        )

    at_P = {"type": "revolute", "axis": "z", "parent": "K2.P"}
    # how far the frames of two bodies are turned at the start does not matter to a revolute loop
    guide = pl.Body(mass=_GUIDE / 1e-4, inertia=[_GUIDE / 2, _GUIDE / 2, _GUIDE])
    return pl.System(
        name="squeezer",
        bodies={
            "K1": body(0.04325, 2.194e-6, (_RA, 0), end=(_RR, 0)),
            "K2": body(0.00365, 4.410e-7, (-_DA, 0), P=(-_D, 0)),
            "K3": body(0.02373, 5.255e-6, (_SB, -_SA), P=(0, -_SS), D=(_SD, -_SC)),
            "K5": body(0.07050, 1.169e-5, (_TA, _TB), end=(_ZT, 0)),
            "K4": body(0.00706, 5.667e-7, (0, -(_E - _EA)), P=(0, -_E)),
            "K7": body(0.05498, 1.912e-5, (_UB, -_UA), end=(0, -_U)),
            "K6": body(0.00706, 5.667e-7, (_ZF - _FA, 0), P=(_ZF, 0)),
            "guide": guide,
        },
        joints={
            "beta": hinge("beta", "K1"),
            "Theta": hinge("Theta", "K2", "K1.end"),
            "gamma": hinge("gamma", "K3", at=_B),
            "delta": hinge("delta", "K5", at=_A),
            "Phi": hinge("Phi", "K4", "K5.end"),
            "epsilon": hinge("epsilon", "K7", at=_A),
            "Omega": hinge("Omega", "K6", "K7.end"),
            "aim": pl.Joint(type="revolute", axis="z", child="guide", at=_C, start=-1.5),
        },
        loops={
            "K3": pl.Loop(child="K3.P", **at_P),
            "K4": pl.Loop(child="K4.P", **at_P),
            "K6": pl.Loop(child="K6.P", **at_P),
            "spring": pl.Loop(
                type="general",
                translations=["x"],
                rotations=["z"],
                parent="guide",
                child="K3.D",
                spring={"stiffness": [_SPRING, 0.0], "rest": [_REST, 0.0]},
                closed_by=["aim"],
            ),
        },
        loads={"drive": pl.Load(joint="beta", effort=_TORQUE)},
    )


# ------------------------------------------------------------------------------------- Bricard


def bricard() -> pl.System:
    """Five rods of 1 m, 1 kg and the ground along edges of a cube, six revolute joints.

    Every axis is at right angles to the two rods it joins. By the count of freedoms it could not
    move: one of the five directions that the loop holds is redundant.
    """
    corners = np.array(
        [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1]], dtype=float
    )
    bodies, joints, parent = {}, {}, "ground"
    for i in range(5):
        along = corners[i + 1] - corners[i]
        axis = np.cross(corners[i] - corners[i - 1], along)
        inertia = np.where(along == 0, (1 + 0.01) / 12, 0.01 / 6)  # square section of 0.1 m
        bodies[f"rod{i + 1}"] = pl.Body(
            mass=1.0, com=along / 2, inertia=inertia, nodes={"tip": {"at": along}}
        )
        joints[f"P{i + 1}"] = pl.Joint(
            type="revolute", axis=axis, parent=parent, child=f"rod{i + 1}"
        )
        parent = f"rod{i + 1}.tip"
    axis = np.cross(corners[5] - corners[4], corners[0] - corners[5])
    loop = pl.Loop(type="revolute", axis=axis, at=corners[5], child="rod5.tip")
    return pl.System(
        name="bricard",
        gravity=[0, -GRAVITY, 0],
        bodies=bodies,
        joints=joints,
        loops={"P6": loop},
    )
