"""How coordinates change with speeds: q' = N(q) u, which is not the identity for quaternions."""

from __future__ import annotations

import numpy as np

from pliant.model import Model
from pliant.reduced import Array


def coordinate_rates(model: Model, q: Array, u: Array) -> Array:
    """Rates of all coordinates at the speeds u; of a quaternion 1/2 quaternion * (0, w)."""
    rates = np.zeros(model.q_size)
    for joint in model.joints:
        speeds = u[joint.u]
        if model.mechanism.bodies[joint.body].joint.quaternion:
            slides = len(speeds) - 3
            w, x, y, z = q[joint.q][slides:]
            rates[joint.q.start : joint.q.start + slides] = speeds[:slides]
            half = 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])
            rates[joint.q.start + slides : joint.q.stop] = half @ speeds[slides:]
        else:
            rates[joint.q] = speeds
    for body in model.bodies:
        rates[body.eta] = u[body.etad]
    return rates


def displaced(model: Model, q: Array, step: Array) -> Array:
    """Coordinates after a displacement along every speed, to first order; quaternions are unit."""
    result = q + coordinate_rates(model, q, step)
    for joint in model.joints:
        if model.mechanism.bodies[joint.body].joint.quaternion:
            ball = slice(joint.q.stop - 4, joint.q.stop)
            result[ball] /= np.linalg.norm(result[ball])
    return np.asarray(result)
