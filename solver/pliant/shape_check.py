"""What a richer reduction of the beams would change.

Every beam keeps a few shapes, so that the model is stiffer than what it stands for and all its
frequencies are too high (Rayleigh-Ritz). By how much is measured: the beams get the static shapes
of unit loads wherever something hangs on them and two more modes a family, and the model is solved
again. In the richer model a beam has the coordinates eta, mass-normalised; those that it keeps are
the columns of C, so that it lacks::

    eta - C C^T eta,      C = int rho phi_rich^T phi_kept + int psi_rich^T j psi_kept       (1)

and the strain energy of that is its share in the difference.

Gravity and loads are left out: the question is what elasticity is missing. Joints are looked at

``free``    all but prescribed motions;
``held``    those that a spring, friction, stop or load acts on are locked;
``locked``  all are, as a controller or a brake may do (but spherical and free ones).

What a model is seen to do is one of the first two; about the third a user has to know.

>>> free, *_ = compare_shapes(pl.load("arm.yaml"))        # doctest: +SKIP
>>> free.excess, free.beam                                # doctest: +SKIP
(0.16, 'boom')

Cost: the model compiled twice, and in each state one eigenvalue problem of its size and one of
about three times that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pliant.beam import KINDS
from pliant.compile import compile_model
from pliant.mechanism import resolve
from pliant.model import Model
from pliant.modes import elastic_vibrations
from pliant.outboard import driven_joints, passive_freedoms
from pliant.reduced import Array, ReducedBody
from pliant.system import System

# The lowest third of the frequencies is looked at, and no more than ten: the highest ones are
# those of coarse shapes in any reduction.
_PART, _MOST = 3, 10
_STATES = ("free", "held", "locked")
_WORTH_A_WARNING = 0.02  # of a frequency


@dataclass(frozen=True)
class ShapeComparison:
    """The frequency that a richer reduction lowers most, among the lowest ``count``."""

    count: int
    number: int  # counted from 1
    frequency: float  # Hz, of the model as it is
    richer: float  # Hz
    state: str  # of the joints: free, held or locked
    beam: str  # the one with the largest share in the difference
    kind: str  # of what it lacks most: bending, torsion, axial

    @property
    def excess(self) -> float:
        """By what part the frequency is too high."""
        return self.frequency / self.richer - 1.0


def compare_shapes(system: System, model: Model | None = None) -> tuple[ShapeComparison, ...]:
    """What richer shapes would change in the lowest frequencies, in each state of the joints that
    is one of its own; nothing without flexible beams.

    ``model`` is the compiled system, if it is at hand.
    """
    kept = compile_model(system) if model is None else model
    beams = [
        slots.name
        for slots in kept.bodies
        if system.bodies[slots.name].beam is not None and slots.eta.stop > slots.eta.start
    ]
    if not beams:
        return ()
    rich = compile_model(resolve(system, richer=True))
    states: dict[int, str] = {}  # by the number of freedoms: each state holds more of them
    for state in _STATES:
        states.setdefault(len(_freedoms(kept, state)), state)
    found = [_compare(kept, rich, beams, state) for state in states.values()]
    return tuple(comparison for comparison in found if comparison is not None)


def shapes_summary(found: Sequence[ShapeComparison]) -> Iterator[str]:
    """A line for a report."""
    seen = _worst(found)
    if seen is None:
        return
    several = seen.count > 1
    which, of = (f"{seen.count} frequencies are", "those") if several else ("frequency is", "that")
    text = (
        f"shapes of beams: the first {which} within {_percent(seen.excess)} of {of} of a richer "
        "reduction"
    )
    for locked in found:
        if locked.state == "locked" and locked.excess > max(seen.excess, _WORTH_A_WARNING):
            text += f", with all joints locked within {_percent(locked.excess)}"
    yield text


def shapes_warnings(found: Sequence[ShapeComparison], system: System) -> Iterator[str]:
    """A warning if the beams keep too few shapes, or unsuitable ones."""
    worst = _worst(found)
    if worst is None or worst.excess < _WORTH_A_WARNING:
        return
    held = " with driven joints held" if worst.state == "held" else ""
    beam = system.bodies[worst.beam].beam
    assert beam is not None
    remedy = f"keep one or two more {worst.kind} shapes"
    if beam.shapes == "cantilever":
        remedy = "leave shapes: cantilever out"
    yield (
        f"bodies.{worst.beam}.beam.modes: frequency {worst.number} of the model{held} is "
        f"{worst.frequency:.4g} Hz, {_percent(worst.excess)} above the {worst.richer:.4g} Hz of a "
        f"richer reduction, for want of {worst.kind} shapes, most of all here; {remedy}"
    )


def _worst(found: Sequence[ShapeComparison]) -> ShapeComparison | None:
    seen = [comparison for comparison in found if comparison.state != "locked"]
    return max(seen, key=lambda comparison: comparison.excess, default=None)


def _percent(part: float) -> str:
    return f"{100.0 * max(part, 1e-6):.2g} %"


def _compare(kept: Model, rich: Model, beams: list[str], state: str) -> ShapeComparison | None:
    f_kept, _ = elastic_vibrations(kept, _freedoms(kept, state))
    count = min(-(-len(f_kept) // _PART), _MOST)
    if count == 0:
        return None
    f_rich, vectors = elastic_vibrations(rich, _freedoms(rich, state), count)
    if len(f_rich) < count:  # a stiffness so small that it is none beside that of other shapes
        return None
    worst = int(np.argmax(f_kept[:count] / f_rich[:count]))
    lacking: dict[tuple[str, str], float] = {}
    bodies = zip(rich.bodies, kept.mechanism.bodies, rich.mechanism.bodies, strict=True)
    for slots, kept_body, rich_body in bodies:
        if slots.name in beams:
            eta = vectors[slots.etad, worst]
            energy = _lacking_energy(kept_body.reduced, rich_body.reduced, eta)
            lacking |= {(slots.name, kind): part for kind, part in energy.items()}
    totals = {name: sum(lacking[name, kind] for kind in KINDS) for name in beams}
    beam = max(beams, key=lambda name: totals[name])
    return ShapeComparison(
        count=count,
        number=worst + 1,
        frequency=float(f_kept[worst]),
        richer=float(f_rich[worst]),
        state=state,
        beam=beam,
        kind=max(KINDS, key=lambda kind: lacking[beam, kind]),
    )


def _freedoms(model: Model, state: str) -> Array:
    """Speeds that take part."""
    driven = driven_joints(model.mechanism)
    takes_part = np.ones(model.u_size, bool)
    for slots in model.joints:
        joint = model.mechanism.bodies[slots.body].joint
        if state == "free":
            takes_part[slots.u] = not joint.prescribed
        elif state == "held" or joint.quaternion:
            takes_part[slots.u] = passive_freedoms(joint, driven)
        else:
            takes_part[slots.u] = False
    return np.array(np.flatnonzero(takes_part).tolist(), dtype=np.intp)


def _lacking_energy(kept: ReducedBody, rich: ReducedBody, eta: Array) -> dict[str, float]:
    """Strain energy of what (1) leaves of the richer coordinates, by kind."""
    m, J = rich.point_mass, rich.point_inertia
    C = np.einsum("k,kai,kaj->ij", m, rich.point_phi, kept.point_phi, optimize=True)
    C += np.einsum("kai,kab,kbj->ij", rich.point_psi, J, kept.point_psi, optimize=True)
    rest = eta - C @ (C.T @ eta)
    energy = np.diag(rich.stiffness) * rest**2
    # a shape is of the kind in which most of its mass moves
    along = np.einsum("k,kai->ai", m, rich.point_phi**2)
    twist = np.einsum("k,ki->i", J[:, 0, 0], rich.point_psi[:, 0] ** 2)
    moving = np.argmax([along[1] + along[2], twist, along[0]], axis=0)
    return {kind: float(energy[moving == i].sum()) for i, kind in enumerate(KINDS)}
