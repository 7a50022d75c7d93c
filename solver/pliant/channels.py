"""Names of everything that can be recorded from a run, and how patterns choose among them.

======================================  =====================================================
``joint.elbow.q``, ``.qd``, ``.qdd``    position, rate, acceleration; ``[i]`` for several
                                        freedoms, ``.quat[1..4]`` for spherical and free ones
``joint.elbow.tau`` (``.f``: sliding)   effort of the actuator or of the prescribed motion
``joint.elbow.reaction.f[1..3]``        force of the joint on the child, at its head, world axes;
                                        ``.t`` torque
``node.hand.pad.r[1..3]``               position, world axes; ``.quat``, ``.v`` velocity, ``.w``
                                        angular velocity, ``.a`` and ``.alpha`` accelerations
``body.boom.eta[i]``, ``.etad[i]``      modal coordinates and their rates
``wheel.base.rw1.speed``                speed relative to the body
``energy.kinetic``                      ``.strain``, ``.spring``, ``.gravity``, ``.total``,
                                        ``.work``, ``.dissipated``, ``.error``
``momentum.p[1..3]``, ``.L[1..3]``      linear, and angular about the world origin, world axes
======================================  =====================================================

Indices count from 1. A pattern is a name with ``*`` and ``?`` in it, or the beginning of one up
to a dot or bracket: ``joint.elbow``, ``node.*.r``, ``energy``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pliant.errors import ModelError, Problem
from pliant.model import JointSlots, Model
from pliant.part import suggest

# Where the kernel has a channel's number: one of its quantities and, for nodes, efforts and
# reactions, of which element.
Source = tuple[str, int]


@dataclass(frozen=True)
class Channel:
    """One recorded number.

    >>> Channel("node.hand.pad.r[2]", "m", ("node", 4), 1).base
    'node.hand.pad.r'
    """

    name: str
    unit: str
    source: Source
    index: int

    @property
    def base(self) -> str:
        """The name without its index."""
        return self.name.partition("[")[0]

    @property
    def component(self) -> int:
        """The index in the name, 0 if it has none."""
        inside = self.name.partition("[")[2]
        return int(inside[:-1]) if inside else 0


# Left out unless asked for: they are many, and rarely looked at.
_OPTIONAL = re.compile(r"(joint\..*\.reaction\..*|node\..*\.(a|alpha)\[.*)")

_NODE_PARTS = (
    ("r", 3, "m"),
    ("quat", 4, "1"),
    ("v", 3, "m/s"),
    ("w", 3, "rad/s"),
    ("a", 3, "m/s2"),
    ("alpha", 3, "rad/s2"),
)
ENERGY_PARTS = (
    "kinetic",
    "strain",
    "spring",
    "gravity",
    "total",
    "work",
    "dissipated",
    "error",
)


def all_channels(model: Model) -> list[Channel]:
    """Everything that can be recorded from a model, in the order of the tables above."""
    channels: list[Channel] = []
    for joint in model.joints:
        tree_joint = model.mechanism.bodies[joint.body].joint
        channels += _joint_channels(joint, len(tree_joint.translations))
    for body in model.bodies:
        for part, where, source in (("eta", body.eta, "q"), ("etad", body.etad, "u")):
            # the unit of a modal coordinate depends on how its shape was scaled
            channels += _vector(f"body.{body.name}.{part}", where, source, "")
    for wheel in model.wheels:
        channels.append(Channel(f"wheel.{wheel.name}.speed", "rad/s", ("u", 0), wheel.u))
    for number, node in enumerate(model.nodes):
        first = 0
        for part, size, unit in _NODE_PARTS:
            name = f"node.{node.name}.{part}"
            channels += _vector(name, slice(first, first + size), "node", unit, number)
            first += size
    channels += [Channel(f"energy.{p}", "J", ("energy", 0), i) for i, p in enumerate(ENERGY_PARTS)]
    channels += _vector("momentum.p", slice(0, 3), "momentum", "N s")
    channels += _vector("momentum.L", slice(3, 6), "momentum", "N m s")
    return channels


def default_channels(model: Model) -> list[Channel]:
    """What a run records unless told otherwise: all but reactions and node accelerations."""
    return [c for c in all_channels(model) if not _OPTIONAL.fullmatch(c.name)]


def choose(channels: Sequence[Channel], patterns: Iterable[str]) -> list[Channel]:
    """Those channels that any pattern matches, in their own order.

    >>> table = [Channel(f"node.hand.pad.r[{i}]", "m", ("node", 0), i - 1) for i in (1, 2, 3)]
    >>> [c.name for c in choose(table, ["node.*.r[2]"])]
    ['node.hand.pad.r[2]']
    >>> len(choose(table, ["node.hand"]))
    3
    """
    chosen: set[int] = set()
    problems = []
    for pattern in patterns:
        expression = _expression(pattern)
        hits = {i for i, channel in enumerate(channels) if expression.match(channel.name)}
        if not hits:
            known = dict.fromkeys(c.base for c in channels)
            problems.append(
                Problem(f"record '{pattern}'", f"matches nothing; {suggest(pattern, known)}")
            )
        chosen |= hits
    if problems:
        raise ModelError(problems)
    return [channels[i] for i in sorted(chosen)]


def _expression(pattern: str) -> re.Pattern[str]:
    """``*`` and ``?`` are the only signs with a meaning: brackets belong to the names."""
    words = re.split(r"([*?])", pattern)
    body = "".join({"*": ".*", "?": "."}.get(word, re.escape(word)) for word in words)
    return re.compile(rf"{body}(?=$|\.|\[)")


def _vector(base: str, where: slice, source: str, unit: str, which: int = 0) -> Iterator[Channel]:
    for i, index in enumerate(range(where.start, where.stop), start=1):
        yield Channel(f"{base}[{i}]", unit, (source, which), index)


def _joint_channels(joint: JointSlots, translations: int) -> Iterator[Channel]:
    base = f"joint.{joint.name}"
    freedoms = joint.u.stop - joint.u.start
    with_quaternion = joint.q.stop - joint.q.start > freedoms
    charted = translations if with_quaternion else freedoms  # coordinates that are plain numbers

    def several(
        part: str, start: int, count: int, source: Source, units: tuple[str, str]
    ) -> Iterator[Channel]:
        for i in range(count):
            suffix = "" if freedoms == 1 else f"[{i + 1}]"
            unit = units[0] if i < translations else units[1]
            yield Channel(f"{base}.{part}{suffix}", unit, source, start + i)

    yield from several("q", joint.q.start, charted, ("q", 0), ("m", "rad"))
    if with_quaternion:
        where = slice(joint.q.start + charted, joint.q.stop)
        yield from _vector(f"{base}.quat", where, "q", "1")
    yield from several("qd", joint.u.start, freedoms, ("u", 0), ("m/s", "rad/s"))
    yield from several("qdd", joint.u.start, freedoms, ("udot", 0), ("m/s2", "rad/s2"))
    effort = "f" if freedoms == translations == 1 else "tau"
    yield from several(effort, 0, freedoms, ("effort", joint.body), ("N", "N m"))
    yield from _vector(f"{base}.reaction.f", slice(0, 3), "reaction", "N", joint.body)
    yield from _vector(f"{base}.reaction.t", slice(3, 6), "reaction", "N m", joint.body)
