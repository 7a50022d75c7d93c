"""Where a model rests under its weight and loads.

>>> sim = pl.Simulation("arm.yaml")                       # doctest: +SKIP
>>> sim.set_state(q=pl.equilibrium("arm.yaml"))           # doctest: +SKIP

At rest the accelerations a(q, u = 0) vanish. With loops that are stabilised (Baumgarte) they
vanish only where the loops are closed too, so that one set of equations holds both. Newton's
method, with the exact derivatives of the kernel.
"""

from __future__ import annotations

import numpy as np

from pliant._kernel import QUANTITIES, Kernel
from pliant.coordinates import coordinate_rates, displaced
from pliant.errors import SolverError
from pliant.inputs import Motions
from pliant.model import Model
from pliant.reduced import Array
from pliant.simulation import as_model
from pliant.system import System

_ITERATIONS = 50
_CONVERGED = 1e-12  # step in m, rad and modal coordinates
_ROUNDING = 1e-8  # a step that rounding keeps from getting better


def equilibrium(system: System | Model | str) -> Array:
    """Coordinates at which the model rests, near its start, under its weight and loads at t = 0.

    Joints with prescribed motion stay where it has them. Freedoms on which nothing acts are left
    alone. Whether the equilibrium is stable is not asked. Raises a SolverError if there is none.
    """
    model = as_model(system)
    kernel = Kernel(model.blob)
    kernel.configure(
        step=1e-3,
        integrator="leapfrog",
        algorithm="order_n",
        node_rotation="exact",
        audit=False,
        loop_steps=2.0,
    )
    motions = Motions(model, kernel)
    moving = _moving(model)
    rows = [(QUANTITIES.index("udot"), 0, int(i)) for i in moving]
    signals = kernel.signals(np.array(rows, np.int32).reshape(-1, 3))
    unit = np.eye(model.u_size)[moving]

    def accelerations(q: Array) -> Array:
        kernel.q[:], kernel.u[:] = q, 0.0
        motions.start()
        values = np.zeros(len(moving))
        status = kernel.read(signals, values)
        return values if status.code == 0 else np.full(len(moving), np.inf)

    q: Array = kernel.q.copy()
    a = accelerations(q)
    for _ in range(_ITERATIONS):
        along = [coordinate_rates(model, q, direction) for direction in unit]
        slopes = np.array([kernel.derivative(signals, q=each) for each in along]).T
        # accelerations of stiff modes and of slow pendulums, each by the displacement it tells of
        largest = np.abs(slopes).max(axis=1, initial=0.0)
        scale = 1.0 / np.where(largest > 0.0, largest, 1.0)
        part = np.linalg.lstsq(slopes * scale[:, None], -a * scale, rcond=1e-12)[0]
        left = np.linalg.norm((slopes @ part + a) * scale)
        if left > max(0.5 * np.linalg.norm(a * scale), _ROUNDING):
            break  # something accelerates that no displacement slows down
        step = unit.T @ part
        length = float(np.abs(step).max(initial=0.0))
        for halvings in range(12):
            nearer = displaced(model, q, step * 0.5**halvings)
            b = accelerations(nearer)
            if np.linalg.norm(b * scale) < np.linalg.norm(a * scale):
                q, a = nearer, b
                break
        else:
            if length > _ROUNDING:
                break
            return q
        if length < _CONVERGED:
            return q
    worst = int(np.argmax(np.abs(a)))
    raise SolverError(
        "no equilibrium was found near the start; start nearer, or add springs that hold it",
        time=0.0,
        element=model.speed_names[int(moving[worst])],
        value=float(a[worst]),
    )


def _moving(model: Model) -> Array:
    """Speeds of joints and modes that are not prescribed."""
    moving: list[int] = []
    for joint in model.joints:
        if not model.mechanism.bodies[joint.body].joint.prescribed:
            moving += range(joint.u.start, joint.u.stop)
    for body in model.bodies:
        moving += range(body.etad.start, body.etad.stop)
    return np.array(sorted(moving), dtype=np.intp)
