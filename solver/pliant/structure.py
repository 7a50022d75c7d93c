"""What must be true between the parts of a system: names, nodes, one tree (or several).

Works on whatever parts are sound by themselves, so that one faulty body does not hide the
problems of the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pliant.body import Body
from pliant.joint import Joint
from pliant.loads import Load
from pliant.loop import Loop
from pliant.part import Finding, show, suggest

GROUND = "ground"


class Reference(NamedTuple):
    """A node as it is written: ``body.node``, ``body`` (its head), or ``ground``."""

    body: str | None  # None: the ground
    node: str

    @staticmethod
    def read(text: str) -> Reference:
        """
        >>> Reference.read("boom.tip"), Reference.read("boom").node, Reference.read("ground").body
        (Reference(body='boom', node='tip'), 'head', None)
        """
        if text == GROUND:
            return Reference(None, "head")
        body, _, node = text.partition(".")
        return Reference(body, node or "head")


@dataclass(frozen=True)
class Link:
    """A joint's place in the tree; ``joint`` is None if the joint itself has problems."""

    parent: str
    child: str
    joint: Joint | None


@dataclass(frozen=True)
class Parts:
    """The parts of a system; a body or load that has problems of its own is None.

    ``faulty_nodes`` are the names of nodes that bodies with problems seem to have.
    """

    bodies: Mapping[str, Body | None]
    links: Mapping[str, Link | None]
    loads: Mapping[str, Load | None]
    loops: Mapping[str, Loop | None] = field(default_factory=dict)
    faulty_nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def held_by(self, body: str) -> str:
        """The node by which the first joint holds a body."""
        for link in self.links.values():
            if link is not None and Reference.read(link.child).body == body:
                return Reference.read(link.child).node
        return "head"

    def nodes_of(self, body: str) -> tuple[str, ...] | None:
        """Nodes of a body that joints and loads can name; None if they are not known."""
        given = self.bodies[body]
        if given is None:
            return self.faulty_nodes.get(body)
        moved = given.is_rigid and self.held_by(body) != "head"
        return (*given.node_names, "origin") if moved else given.node_names


def findings(parts: Parts) -> Iterator[Finding]:
    """Everything wrong between the parts of a system."""
    if not parts.bodies:
        yield ("bodies",), "there are none; give at least one body"
        return
    if GROUND in parts.bodies:
        yield ("bodies", GROUND), "is the name of the fixed world; choose another name"
    for name, link in parts.links.items():
        if link is not None:
            for place, message in _link_findings(parts, link):
                yield ("joints", name, *place), message
    yield from _inboard_findings(parts)
    yield from _cycle_findings(parts)
    for name, load in parts.loads.items():
        if load is not None:
            for place, message in _load_findings(parts, load):
                yield ("loads", name, *place), message
    for name, loop in parts.loops.items():
        if loop is not None:
            for place, message in _loop_findings(parts, loop):
                yield ("loops", name, *place), message
        if name in parts.links:
            yield ("loops", name), "is the name of a joint too; choose another name"


def _node_fault(parts: Parts, text: str, may_stand: bool = False) -> str | None:
    """What is wrong with a reference to a node, which ``may_stand`` on the ground; None if nothing,
    or if it cannot be known."""
    reference = Reference.read(text)
    if reference.body is None:
        return None
    if reference.body not in parts.bodies:
        known = [*parts.bodies, GROUND] if may_stand else parts.bodies
        return f"{show(text)}: no body {show(reference.body)}; {suggest(reference.body, known)}"
    nodes = parts.nodes_of(reference.body)
    if nodes is not None and reference.node not in nodes:
        return (
            f"{show(text)}: body {show(reference.body)} has no node {show(reference.node)}; "
            f"{suggest(reference.node, nodes)}"
        )
    return None


def _link_findings(parts: Parts, link: Link) -> Iterator[Finding]:
    for key, text in (("parent", link.parent), ("child", link.child)):
        fault = _node_fault(parts, text, may_stand=key == "parent")
        if fault:
            yield (key,), fault
    child = Reference.read(link.child)
    if child.body is None:
        yield (
            ("child",),
            "'ground' does not move and carries no joint inboard; name the body here and leave "
            "parent at ground",
        )
        return
    if child.body == Reference.read(link.parent).body:
        yield (
            ("parent",),
            f"{show(link.parent)} is on the child {show(child.body)} itself; name another body or "
            "ground",
        )
    body = parts.bodies.get(child.body)
    if body is None or child.node == "head":
        return
    if not body.is_rigid:
        yield (
            ("child",),
            f"{show(link.child)}: a flexible body is held by its head, to which its modes are "
            f"fixed; write {child.body}, and describe the body from the held end",
        )
    elif "origin" in body.nodes:
        yield (
            ("child",),
            f"{show(link.child)}: holding the body by this node makes 'origin' the name of its "
            "own origin, but it has a node of that name; rename that node",
        )


def _inboard_findings(parts: Parts) -> Iterator[Finding]:
    """Every body hangs on exactly one joint."""
    inboard: dict[str, str] = {}
    stray = False  # a joint whose child is unreadable or unknown may be the missing one
    for name, link in parts.links.items():
        body = None if link is None else Reference.read(link.child).body
        if body is None or body not in parts.bodies:
            stray = True
            continue
        if body in inboard:
            yield (
                ("joints", name, "child"),
                f"{show(body)} hangs on joint {show(inboard[body])} already; a second joint would "
                "close a loop: put it under loops",
            )
        inboard.setdefault(body, name)
    if stray:
        return
    if not parts.links:
        yield (
            ("joints",),
            "there are none; give one for each body, which says what it hangs on (a joint of type "
            "free lets it float)",
        )
        return
    for name in parts.bodies:
        if name not in inboard:
            yield (
                ("bodies", name),
                f"has no joint; add a joint of type free with child: {name} to let it float, or "
                "one of another type to hang it on something",
            )


def _cycle_findings(parts: Parts) -> Iterator[Finding]:
    """Parents must end at the ground."""
    parent: dict[str, tuple[str | None, str]] = {}
    for name, link in parts.links.items():
        child = None if link is None else Reference.read(link.child).body
        if link is not None and child is not None:
            parent.setdefault(child, (Reference.read(link.parent).body, name))
    settled: set[str] = set()
    for first in parent:
        chain: list[str] = []
        here: str | None = first
        while here is not None and here in parent and here not in settled and here not in chain:
            chain.append(here)
            here = parent[here][0]
        settled.update(chain)
        if here is not None and here in chain and chain[-1] != here:
            circle = chain[chain.index(here) :]
            names = " on ".join([*circle, here])
            yield (
                ("joints", parent[circle[0]][1], "parent"),
                f"the bodies hang in a circle, {names}; hang one of them on ground",
            )


def _load_findings(parts: Parts, load: Load) -> Iterator[Finding]:
    if load.kind == "node":
        fault = _node_fault(parts, load.target)
        if fault is None and Reference.read(load.target).body is None:
            fault = "'ground' does not move under a load; name a node such as hand.pad"
        if fault:
            yield ("node",), fault
    elif load.kind == "wheel":
        name, _, wheel = load.target.partition(".")
        body = parts.bodies.get(name)
        if name not in parts.bodies:
            bodies = [n for n, b in parts.bodies.items() if b is not None and b.wheels]
            yield ("wheel",), f"{show(load.target)}: no body {show(name)}; {suggest(name, bodies)}"
        elif body is not None and wheel not in body.wheels:
            yield (
                ("wheel",),
                f"{show(load.target)}: body {show(name)} has no wheel {show(wheel)}; "
                f"{suggest(wheel, body.wheels)}",
            )
    elif load.target in parts.links or load.target in parts.loops:
        link = parts.links.get(load.target)
        joint = parts.loops.get(load.target) if link is None else link.joint
        if joint is not None:
            yield from _effort_findings(load, joint)
    else:
        known = [*parts.links, *parts.loops]
        yield ("joint",), f"no joint {show(load.target)}; {suggest(load.target, known)}"


def _loop_findings(parts: Parts, loop: Loop) -> Iterator[Finding]:
    for key, text in (("parent", loop.parent), ("child", loop.child)):
        fault = _node_fault(parts, text, may_stand=key == "parent")
        if fault:
            yield (key,), fault
    child, parent = Reference.read(loop.child).body, Reference.read(loop.parent).body
    if child is None:
        yield ("child",), "'ground' does not move; name a node here and leave parent at ground"
    elif child == parent:
        yield ("parent",), f"{show(loop.parent)} is on the body of {show(loop.child)} itself"
    for i, joint in enumerate(loop.closed_by):
        link = parts.links.get(joint)
        if joint not in parts.links:
            yield ("closed_by", i), f"no joint {show(joint)}; {suggest(joint, parts.links)}"
        elif link is not None and link.joint is not None:
            if link.joint.motion is not None:
                yield ("closed_by", i), f"{show(joint)} has a prescribed motion; name another joint"
            elif link.joint.layout.dof_count == 0:
                yield ("closed_by", i), f"{show(joint)} is fixed; name another joint"


def _effort_findings(load: Load, joint: Joint) -> Iterator[Finding]:
    count = joint.layout.dof_count
    if count == 0:
        yield ("joint",), f"{show(load.target)} is fixed and takes no effort; leave the load out"
    elif joint.motion is not None:
        yield (
            ("joint",),
            f"{show(load.target)} has a prescribed motion, whose effort is a result; leave the "
            "load or the motion out",
        )
    else:
        yield from load.width_findings(count)
