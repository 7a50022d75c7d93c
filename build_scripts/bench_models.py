"""The models of the benchmark, their states, and pliant's forward dynamics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

import pliant as pl
from pliant._kernel import Kernel
from pliant.model import Model

Array = NDArray[np.float64]


# -------------------------------------------------------------------------------------- models


def chain(bodies: int) -> pl.System:
    """Links on revolute joints about x, y, z in turn, the first on the ground."""
    parts: dict[str, pl.Body] = {}
    joints: dict[str, pl.Joint] = {}
    _add_chain(parts, joints, "link", "ground", bodies)
    return pl.System(name=f"chain{bodies}", gravity=[0, 0, -9.81], bodies=parts, joints=joints)


def tree(branches: int = 5, length: int = 7) -> pl.System:
    """A free base with chains around it."""
    azimuths = 2 * np.pi * np.arange(branches) / branches
    mounts = {f"mount{k}": {"at": [np.cos(a), np.sin(a), 0]} for k, a in enumerate(azimuths)}
    parts = {"base": pl.Body(mass=50, inertia=[5, 6, 7], nodes=mounts)}
    joints = {"base": pl.Joint(type="free", child="base")}
    for k in range(branches):
        _add_chain(parts, joints, f"branch{k}", f"base.mount{k}", length)
    return pl.System(
        name=f"tree{branches}x{length}", gravity=[0, 0, -9.81], bodies=parts, joints=joints
    )


def _add_chain(
    bodies: dict[str, pl.Body],
    joints: dict[str, pl.Joint],
    name: str,
    parent: str,
    length: int,
) -> None:
    for i in range(length):
        link = f"{name}_{i}"
        bodies[link] = pl.Body(
            mass=1 + 0.1 * (i % 3),
            com=[0.1, 0.05, 0.25],
            inertia=[0.1, 0.12, 0.09],
            nodes={"tip": {"at": [0, 0, 0.5]}},
        )
        joints[link] = pl.Joint(type="revolute", axis="xyz"[i % 3], parent=parent, child=link)
        parent = f"{link}.tip"


def beam_chain(bodies: int, stiffening: bool) -> pl.System:
    """Flexible beams on revolute joints, two bending modes in each plane and one of torsion."""
    parts: dict[str, pl.Body] = {}
    joints: dict[str, pl.Joint] = {}
    parent = "ground"
    for i in range(bodies):
        link = f"link_{i}"
        beam = pl.Beam(
            length=1.0,
            mass_per_length=8.0,
            EI=6.0e3,
            GJ=5.0e3,
            radius=0.04,
            modes={"bending": 2, "torsion": 1},
            damping=0.005,
            stiffening=stiffening,
        )
        parts[link] = pl.Body(beam=beam)
        joints[link] = pl.Joint(type="revolute", axis="yz"[i % 2], parent=parent, child=link)
        parent = f"{link}.tip"
    return pl.System(name=f"beams{bodies}", bodies=parts, joints=joints)


# -------------------------------------------------------------------------------------- pliant


@dataclass(frozen=True)
class State:
    """Coordinates, speeds and efforts in pliant's conventions and order."""

    q: Array
    u: Array
    tau: Array


def random_state(model: Model, seed: int = 1) -> State:
    """The start moved a little, with speeds and joint efforts; a free base is not pushed."""
    rng = np.random.default_rng(seed)
    q = np.array(Kernel(model.blob).q)
    u, tau = 0.1 * rng.normal(size=model.u_size), np.zeros(model.u_size)
    for joint in model.joints:
        if joint.type == "revolute":
            q[joint.q] += 0.3 * rng.normal(size=1)
            tau[joint.u] = rng.normal(size=1)
        elif joint.type == "free":
            q[joint.q] = rng.normal(size=7)
            q[joint.q][3:] /= np.linalg.norm(q[joint.q][3:])
    for body in model.bodies:
        q[body.eta] += 1e-3 * rng.normal(size=body.eta.stop - body.eta.start)
    return State(q, u, tau)


def pliant_kernel(model: Model, algorithm: str = "order_n") -> Kernel:
    kernel = Kernel(model.blob)
    kernel.configure(
        step=1e-3,
        integrator="leapfrog",
        algorithm=algorithm,
        node_rotation="exact",
    )
    return kernel


def pliant_call(model: Model, state: State, algorithm: str = "order_n") -> Callable[[], Array]:
    """Forward dynamics as Python calls it."""
    kernel = pliant_kernel(model, algorithm)
    return partial(kernel.accelerations, state.q, state.u, state.tau)


def evaluate_call(model: Model, state: State) -> Callable[[], object]:
    """The same evaluation with everything in place, no arrays to pass."""
    kernel = pliant_kernel(model)
    kernel.accelerations(state.q, state.u, state.tau)
    return kernel.evaluate
