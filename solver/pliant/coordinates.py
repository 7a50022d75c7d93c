"""How coordinates change with speeds: q' = N(q) u, which is not the identity for quaternions."""

from __future__ import annotations

import numpy as np

from pliant.model import Model
from pliant.reduced import Array


def coordinate_rates(model: Model, q: Array, u: Array) -> Array:
    """Rates of all coordinates at the speeds u, or at each column of u; of a quaternion
    1/2 quaternion * (0, w)."""
    rates = np.zeros((model.q_size, *u.shape[1:]))
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
    """Coordinates after moving at the constant speeds ``step`` for a second."""
    result = q + coordinate_rates(model, q, step)
    for joint in model.joints:
        if model.mechanism.bodies[joint.body].joint.quaternion:
            ball = slice(joint.q.stop - 4, joint.q.stop)
            result[ball] = _turned(q[ball], step[joint.u][-3:])
    return np.asarray(result)


def _turned(quaternion: Array, turn: Array) -> Array:
    """A unit quaternion turned by a rotation vector in the axes it leads to."""
    w, x, y, z = quaternion
    half = 0.5 * float(np.linalg.norm(turn))
    v0, v1, v2 = 0.5 * np.sinc(half / np.pi) * turn
    c = np.cos(half)
    result = np.array(
        [
            w * c - x * v0 - y * v1 - z * v2,
            x * c + w * v0 + y * v2 - z * v1,
            y * c + w * v1 + z * v0 - x * v2,
            z * c + w * v2 + x * v1 - y * v0,
        ]
    )
    return np.asarray(result / np.linalg.norm(result))
