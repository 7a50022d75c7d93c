"""Flexible bodies as their author gives them: a straight beam, or raw modal data.

All array fields hold read-only float64 arrays at run time whatever was given (their static type
says what may be *given*), so use ``np.asarray(field)`` where a type checker looks on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, PlainValidator

from pliant.beam import KINDS, TIP_LOADS
from pliant.fields import (
    Distance,
    Flag,
    Length,
    MassOrNone,
    Name,
    PointInertia,
    Position,
    array,
    choice,
    not_negative_lists,
    positives,
    shaped,
    whole,
    words,
)
from pliant.limits import (
    DAMPING_RATIO,
    FREQUENCY,
    MODAL_MATRIX,
    MOST_ASKED,
    MOST_ELEMENTS,
    MOST_MODES,
    SECOND_ORDER_SHAPE,
    SHAPE,
)
from pliant.part import Finding, Part, fail, show
from pliant.reduced import Array, InertiaModel
from pliant.section import SECTION_KEYS, SectionData, SectionValues, complete_section, gap_findings

# Shapes at the head count as zero below this part of the largest shape.
ZERO_SHAPE = 1e-9
# K and D count as symmetric, and phi2 too, within this part of their largest entry.
SYMMETRIC = 1e-9


# --------------------------------------------------------------------------------------- beam


class Station(SectionData):
    """Section of a tapered beam at one place; what it does not give is the beam's own value."""

    at: Distance
    """The distance x from the head, m."""


class Lump(Part):
    """A rigid mass fixed to the beam's section at a station, as a body welded on would be."""

    at: Distance
    """The distance x of the section from the head, m."""
    mass: MassOrNone
    """The mass, kg."""
    inertia: PointInertia = Field(default_factory=lambda: array([0, 0, 0], (3,), what=""))
    """Inertia about the lump's centre of mass, head axes, kg m2: 3 numbers, 6 numbers
    [xx, yy, zz, xy, xz, yz] or 3 x 3; may be zero."""
    offset: Position = Field(default_factory=lambda: array([0, 0, 0], (3,), what=""))
    """Centre of mass relative to [at, 0, 0], head axes, m."""


class Modes(Part):
    """How many shapes of a beam are kept: by count, by frequency, or by kind.

    Exactly one of ``count``, ``below_hz``, or numbers of ``bending``, ``torsion``, ``axial``. The
    shapes are the lowest modes of the beam with its head clamped and with what it carries
    (``Beam.shapes``).

    >>> Modes(below_hz=50), Modes(count=6, kinds=["bending"]), Modes(bending=2, torsion=1)
    (Modes(below_hz=50.0), Modes(count=6, kinds=('bending',)), Modes(bending=2, torsion=1))
    """

    count: Annotated[int, PlainValidator(whole(0, MOST_ASKED))] | None = None
    """Number of modes, the lowest of all ``kinds``; 0 makes the beam rigid."""
    below_hz: Annotated[float, positives(FREQUENCY)] | None = None
    """Keep the modes of the given ``kinds`` that make the frequencies of the assembled model right
    up to this one, Hz: those with a frequency below three times this. With ``shapes: cantilever``
    those below it, which promises nothing about the assembled model."""
    bending: Annotated[int, PlainValidator(whole(0, MOST_ASKED))] | None = None
    """Number of bending modes in each plane."""
    torsion: Annotated[int, PlainValidator(whole(0, MOST_ASKED))] | None = None
    """Number of torsion modes."""
    axial: Annotated[int, PlainValidator(whole(0, MOST_ASKED))] | None = None
    """Number of axial modes."""
    kinds: Annotated[tuple[str, ...], PlainValidator(words(*KINDS))] = KINDS
    """Kinds that ``count`` and ``below_hz`` look at: bending, torsion, axial."""
    static: Annotated[tuple[str, ...], PlainValidator(words(*TIP_LOADS))] = ()
    """Unit loads at the tip (force_x, ..., moment_z) whose static deflections are added."""

    def _findings(self) -> Iterator[Finding]:
        by_kind = [k for k in KINDS if getattr(self, k) is not None]
        ways = [k for k in ("count", "below_hz") if getattr(self, k) is not None]
        ways += [" + ".join(by_kind)] if by_kind else []
        if len(ways) != 1:
            found = f"{' and '.join(ways)} are given" if ways else "nothing says how many"
            yield (
                (),
                f"{found}; give one of count, below_hz, or numbers of bending, torsion, axial "
                "(or leave modes out for the usual number)",
            )
        if by_kind and self.kinds != KINDS:
            yield ("kinds",), f"{show(list(self.kinds))} goes with count or below_hz; leave it out"


class Beam(SectionData):
    """A straight beam along +x of the head frame, from 0 to ``length``, clamped at the head.

    A length, a mass and a stiffness are enough: two shapes in each plane, and what else the things
    that it carries ask for, are then kept.

    >>> boom = Beam(length=6.4, mass_per_length=8.0, EI=1.4e6, GJ=9e5, radius=0.17,
    ...             modes={"below_hz": 50}, damping=0.005)
    >>> boom.modes.below_hz, boom.elements
    (50.0, 20)
    """

    length: Length
    """The length, m."""
    modes: Modes | None = None
    """The modes to keep, such as {count: 6} or {below_hz: 50}. If left out: two bending shapes in
    each plane, three where what is outboard may be held or let go (a hinge of that plane, which may
    be driven or locked, a load, contact, loop or interface), and one of torsion if GJ is given and
    something is twisted."""
    shapes: Annotated[
        Literal["loaded", "cantilever"], PlainValidator(choice("loaded", "cantilever"))
    ] = "loaded"
    """"loaded": modes of the clamped beam with what it carries, the bodies outboard taken rigid as
    they stand at the start. "cantilever": modes of the beam alone, as in much of the literature;
    they make a beam that carries something too stiff."""
    stations: list[Station] = Field(default_factory=list)
    """Sections of a tapered beam in ascending order; linear between them and constant beyond
    the outer ones. Two stations at one place make a step."""
    lumps: list[Lump] = Field(default_factory=list)
    """Rigid masses fixed to the beam."""
    elements: Annotated[int, PlainValidator(whole(1, MOST_ELEMENTS))] = 20
    """Number of finite elements over the length."""
    damping: Annotated[ArrayLike, not_negative_lists(DAMPING_RATIO)] = 0.0
    """Damping ratio of every mode, or a list with one for each mode kept."""
    stiffening: Flag = True
    """Whether bending and twist shorten the beam, so that tension stiffens it and compression
    buckles it. The second order of rotary inertia and of what is off the axis stays without."""

    def sections(self) -> list[SectionValues]:
        """The complete section at every station; a single one at 0 for a uniform beam."""
        values, findings = self._sections()
        assert not findings
        return values

    def _findings(self) -> Iterator[Finding]:
        slack = 1e-12 * self.length
        for kind in ("stations", "lumps"):
            for i, item in enumerate(getattr(self, kind)):
                if item.at > self.length + slack:
                    yield (
                        (kind, i, "at"),
                        f"{item.at!r} is beyond the beam's end; give 0 to {self.length!r}",
                    )
        at = [station.at for station in self.stations]
        for i in range(1, len(at)):
            if at[i] < at[i - 1] or (i > 1 and at[i] == at[i - 2]):
                yield (
                    ("stations", i, "at"),
                    f"{at[i]!r} does not follow {at[i - 1]!r}; sort the stations by at (two at "
                    "one place make a step)",
                )
        sections, findings = self._sections()
        yield from findings
        if not findings:
            yield from self._kind_findings(sections)

    def _kind_findings(self, sections: list[SectionValues]) -> Iterator[Finding]:
        """Modes asked for that this beam cannot have."""
        if self.modes is None:
            return
        for kind, attribute, key in (("torsion", "GJ", "GJ"), ("axial", "EA", "EA")):
            if any(getattr(s, attribute) is not None for s in sections):
                continue
            if getattr(self.modes, kind) or self.modes.kinds == (kind,):
                yield ("modes",), f"asks for {kind} modes but the beam has no {key}; give {key}"

    def _sections(self) -> tuple[list[SectionValues], list[Finding]]:
        own = {key: getattr(self, key) for key in SECTION_KEYS}
        if not self.stations:
            return complete_section(own, 0.0, ())
        values: list[SectionValues] = []
        findings: list[Finding] = []
        for i, station in enumerate(self.stations):
            given = {key: getattr(station, key) for key in SECTION_KEYS}
            merged = {key: own[key] if given[key] is None else given[key] for key in own}
            value, found = complete_section(merged, station.at, ("stations", i))
            values += value
            findings += found
        if not findings:
            findings += gap_findings(values)
        return values, findings


# -------------------------------------------------------------------------------- modal data


def modal_matrix(may_vanish: bool) -> Callable[[Any], Array]:
    """A checker of modal stiffness (positive definite) and damping (semidefinite)."""

    def check(value: Any) -> Array:
        M = array(value, (None, None), (0,), what="an n x n matrix", span=MODAL_MATRIX)
        M = M.reshape(0, 0) if M.size == 0 else M  # no modes: [] in a file
        if M.shape[0] != M.shape[1]:
            raise fail(f"is {M.shape[0]} x {M.shape[1]}; give a row and a column for each mode")
        if len(M) > MOST_MODES:
            raise fail(f"has {len(M)} modes; give at most {MOST_MODES}, the lowest")
        scale = np.abs(M).max(initial=0.0)
        gap = np.abs(M - M.T)
        if gap.max(initial=0.0) > SYMMETRIC * scale:
            i, j = (int(x) for x in np.unravel_index(gap.argmax(), M.shape))
            raise fail(
                f"is not symmetric: entry [{i}][{j}] is {M[i, j]:g} but [{j}][{i}] is "
                f"{M[j, i]:g}; give a symmetric matrix"
            )
        lowest = float(np.linalg.eigvalsh(0.5 * (M + M.T)).min(initial=np.inf))
        if may_vanish and lowest < -SYMMETRIC * scale:
            raise fail(
                f"is not positive semidefinite (lowest eigenvalue {lowest:g}), it would feed "
                "energy; give a damping that takes energy only"
            )
        if not may_vanish and lowest <= len(M) * np.finfo(float).eps * scale:
            raise fail(
                f"is not positive definite (lowest eigenvalue {lowest:g}); leave rigid-body "
                "modes out and give the stiffness of modes clamped at the head"
            )
        return M

    return check


_SHAPE = "3 x n numbers: a row each for x, y, z, a column for each mode"
_Shape = Annotated[ArrayLike, shaped((3, None), what=_SHAPE, span=SHAPE)]
_Shape2 = Annotated[
    ArrayLike, shaped((3, None, None), what="3 x n x n numbers", span=SECOND_ORDER_SHAPE)
]


class ModalNode(Part):
    """A named node of a body given by modal data."""

    at: Position
    """The undeformed position in the head frame, m."""
    phi: _Shape
    """Translation shapes, 3 x n: displacement phi q."""
    psi: _Shape | None = None
    """Rotation shapes, 3 x n: small rotation psi q, head axes; zero if left out."""
    phi2: _Shape2 | None = None
    """Second-order translation shapes, 3 x n x n, symmetric in the last two:
    displacement 1/2 sum_ij phi2_ij q_i q_j; zero if left out."""


class ModalPoint(ModalNode):
    """A mass point of a body given by modal data."""

    mass: MassOrNone
    """The mass, kg."""
    inertia: PointInertia | None = None
    """Inertia about the point, head axes, kg m2: 3 numbers, 6 numbers [xx, yy, zz, xy, xz, yz]
    or 3 x 3; zero if left out."""


class Modal(Part):
    """A flexible body given by raw data: mass points with shapes, stiffness, nodes.

    Everything is in the head frame; the modes must be zero at the head (the origin). The number
    of modes n is that of ``K``, and the shapes need not be normalised.

    >>> bar = Modal(K=[[50.0]],
    ...             points=[{"at": [1, 0, 0], "mass": 2.0, "phi": [[0], [0], [1]]}],
    ...             nodes={"end": {"at": [1, 0, 0], "phi": [[0], [0], [1]]}})
    >>> bar.mode_count
    1
    """

    points: list[ModalPoint]
    """Mass points, each with at, mass, phi and if wanted inertia, psi, phi2."""
    K: Annotated[ArrayLike, PlainValidator(modal_matrix(may_vanish=False))]
    """Modal stiffness, n x n, symmetric positive definite."""
    D: Annotated[ArrayLike, PlainValidator(modal_matrix(may_vanish=True))] | None = None
    """Modal damping, n x n, symmetric positive semidefinite; zero if left out."""
    nodes: dict[Name, ModalNode] = Field(default_factory=dict)
    """Named nodes with their shapes; "head" is there without being listed."""
    inertia: Annotated[InertiaModel, PlainValidator(choice(*get_args(InertiaModel)))] = (
        "second_order"
    )
    """How the inertias of the points turn with them: "second_order" in the deflections, right
    for any spin of the body; "exact" by exp(psi q), for heavy points that turn by more than
    0.1 rad; "linear" not at all, as in much of the literature: wrong once the body spins."""
    stiffening: Flag = True
    """Whether phi2, where given, is used; without it pairs of modes cost nothing."""

    @property
    def mode_count(self) -> int:
        """The number of modes, that of rows of ``K``."""
        return int(np.asarray(self.K).shape[0])

    def _findings(self) -> Iterator[Finding]:
        n = self.mode_count
        yield from self._size_findings(n)
        items: list[tuple[tuple[str | int, ...], ModalNode]] = [
            (("points", i), point) for i, point in enumerate(self.points)
        ]
        items += [(("nodes", key), node) for key, node in self.nodes.items()]
        for place, item in items:
            yield from _shape_findings(place, item, n)
        if not self.points:
            yield ("points",), "there are none; give at least one mass point"
        elif sum(point.mass for point in self.points) <= 0:
            yield ("points",), "all masses are zero; give at least one mass above zero"
        yield from self._head_findings(items)

    def _size_findings(self, n: int) -> Iterator[Finding]:
        if self.D is not None and np.shape(self.D) != (n, n):
            size = " x ".join(map(str, np.shape(self.D)))
            yield ("D",), f"is {size}; give {n} x {n}, a row and a column for each mode of K"

    def _head_findings(
        self, items: list[tuple[tuple[str | int, ...], ModalNode]]
    ) -> Iterator[Finding]:
        """Modes are relative to the head, so whatever sits there has no shapes."""
        extent = max((float(np.linalg.norm(np.asarray(x.at))) for _, x in items), default=0.0)
        for key in ("phi", "psi", "phi2"):
            values = [getattr(item, key) for _, item in items]
            sizes = [float(np.abs(v).max(initial=0.0)) for v in values if v is not None]
            largest = max(sizes, default=0.0)
            for (place, item), shape in zip(items, values, strict=True):
                at_head = np.linalg.norm(np.asarray(item.at)) <= 1e-12 * extent
                if shape is None or not (at_head or place == ("nodes", "head")):
                    continue
                worst = float(np.abs(shape).max(initial=0.0))
                if worst > ZERO_SHAPE * largest:
                    yield (
                        (*place, key),
                        f"is {worst:g} at the head, where every shape must be zero; use modes "
                        "clamped at the head, or subtract the head's motion from every shape",
                    )
        head = self.nodes.get("head")
        if head is not None and np.linalg.norm(np.asarray(head.at)) > 1e-12 * extent:
            yield (
                ("nodes", "head", "at"),
                f"{show(head.at)}: the head is the origin; give [0, 0, 0]",
            )


def _shape_findings(place: tuple[str | int, ...], item: ModalNode, n: int) -> Iterator[Finding]:
    for key, wanted in (("phi", (3, n)), ("psi", (3, n)), ("phi2", (3, n, n))):
        shape = getattr(item, key)
        if shape is None:
            continue
        if shape.shape != wanted:
            yield (
                (*place, key),
                f"is {' x '.join(map(str, shape.shape))}; give {' x '.join(map(str, wanted))} "
                f"for the {n} modes of K",
            )
        elif key == "phi2" and n:
            gap = np.abs(shape - shape.transpose(0, 2, 1)).max()
            if gap > SYMMETRIC * np.abs(shape).max():
                yield (
                    (*place, key),
                    "is not symmetric in its last two indices; make it so",
                )
