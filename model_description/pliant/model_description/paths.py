"""Which coordinates and speeds move a node: those on its way to the ground.

Structure, not numbers: a coordinate is left out only if no geometry could make it felt. What a
prescribed motion gives is no state and in no set.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pliant.mechanism import TreeBody
from pliant.model import Model
from pliant.reduced import ReducedNode


@dataclass(frozen=True)
class Path:
    """What moves a frame."""

    place: frozenset[int] = frozenset()  # coordinates that its position depends on
    attitude: frozenset[int] = frozenset()  # ... its orientation
    carried: frozenset[int] = frozenset()  # ... its velocity
    drift: frozenset[int] = frozenset()  # speeds that its velocity depends on
    spin: frozenset[int] = frozenset()  # ... its angular velocity
    turns: bool = False  # whether its orientation changes at all, by prescribed motion too


@dataclass
class Paths:
    """Paths to every node, by its number in the model."""

    nodes: list[Path] = field(default_factory=list)
    # translations with nothing inboard that turns: no velocity depends on where they are
    cyclic: set[int] = field(default_factory=set)


def find_paths(model: Model) -> Paths:
    """Walks outward, each head from the node it hangs on, each node from its head."""
    paths = Paths()
    bodies = model.mechanism.bodies
    number = {node.name: k for k, node in enumerate(model.nodes)}
    for i, body in enumerate(bodies):
        carrier = Path()
        if body.parent >= 0:
            carrier = paths.nodes[number[f"{bodies[body.parent].name}.{body.parent_node}"]]
        head = _across_joint(model, i, body, carrier, paths.cyclic)
        paths.nodes += [_across_body(model, i, head, node) for node in body.reduced.nodes.values()]
    return paths


def tied_states(model: Model) -> set[tuple[str, int]]:
    """Coordinates and speeds that loops make depend on one another, as ("q" or "u", index)."""
    paths, tied = find_paths(model), set()
    number = {node.name: k for k, node in enumerate(model.nodes)}
    bodies = model.mechanism.bodies
    for loop in model.mechanism.loops:
        a, b = (
            Path() if body < 0 else paths.nodes[number[f"{bodies[body].name}.{node}"]]
            for body, node in ((loop.parent, loop.parent_node), (loop.child, loop.child_node))
        )
        # what is inboard of both ends moves the loop as a whole
        tied |= {("q", i) for i in (a.place | a.attitude) ^ (b.place | b.attitude)}
        tied |= {("u", i) for i in (a.drift | a.spin) ^ (b.drift | b.spin)}
    return tied


def flexes(node: ReducedNode) -> tuple[bool, bool]:
    """Whether modes move a node, and whether they turn it."""
    return bool(np.any(node.phi) or np.any(node.phi2)), bool(np.any(node.psi))


def has_arm(node: ReducedNode) -> bool:
    """Whether a node is, or can be, away from the head of its body."""
    return bool(np.any(node.position)) or flexes(node)[0]


def indices(where: slice) -> frozenset[int]:
    return frozenset(range(where.start, where.stop))


def _across_joint(model: Model, i: int, body: TreeBody, carrier: Path, cyclic: set[int]) -> Path:
    slots, nt = model.joints[i], len(body.joint.translations)
    turns = carrier.turns or slots.u.stop - slots.u.start > nt
    none: frozenset[int] = frozenset()
    slides_q = slides_u = turns_q = turns_u = none
    if not body.joint.prescribed:
        slides_q = indices(slice(slots.q.start, slots.q.start + nt))
        turns_q = indices(slots.q) - slides_q
        slides_u = indices(slice(slots.u.start, slots.u.start + nt))
        turns_u = indices(slots.u) - slides_u
    if not carrier.turns:
        cyclic |= slides_q
    return Path(
        place=carrier.place | carrier.attitude | slides_q,
        attitude=carrier.attitude | turns_q,
        carried=(carrier.carried | carrier.attitude | slides_q) - cyclic,
        drift=carrier.drift | carrier.spin | slides_u,
        spin=carrier.spin | turns_u,
        turns=turns,
    )


def _across_body(model: Model, i: int, head: Path, node: ReducedNode) -> Path:
    moved, turned = flexes(node)
    eta, etad = indices(model.bodies[i].eta), indices(model.bodies[i].etad)
    none: frozenset[int] = frozenset()
    arm_q, arm_u = (head.attitude, head.spin) if has_arm(node) else (none, none)
    return Path(
        place=head.place | arm_q | (eta if moved else none),
        attitude=head.attitude | (eta if turned else none),
        carried=head.carried | arm_q | (eta if moved else none),
        drift=head.drift | arm_u | (etad if moved else none),
        spin=head.spin | (etad if turned else none),
        turns=head.turns or turned,
    )
