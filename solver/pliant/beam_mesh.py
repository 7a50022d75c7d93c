"""Finite elements of a straight 3-D beam clamped at its head.

The beam lies along +x of the head frame from 0 to its length. Its motion splits into four
families of scalar fields:

=============  ==============  =================  ==================
family         displacement    rotation           stiffness
=============  ==============  =================  ==================
``bending_y``  v along y       theta about +z     EIz, shear GAy
``bending_z``  w along z       theta about -y     EIy, shear GAz
``torsion``    --              theta about +x     GJ
``axial``      u along x       --                 EA
=============  ==============  =================  ==================

Bending, xi in [0, 1] over an element of length h, grid unknowns (v1, theta1, v2, theta2)::

    v = N.(v1, theta1, v2, theta2),  theta = v',  no shear                               (1)
        N1 = 1 - 3 xi^2 + 2 xi^3        N2 = h (xi - 2 xi^2 + xi^3)
        N3 = 3 xi^2 - 2 xi^3            N4 = h (xi^3 - xi^2)

A plane with shear stiffness (Timoshenko) has three more functions inside each element::

    v = h xi (1 - xi),  v = h xi (1 - xi)(2 xi - 1),  theta = xi (1 - xi)                (2)

so that v is a complete cubic and theta a complete quadratic. That space holds, for every ratio
of bending to shear stiffness, the element with interdependent interpolation (Friedman &
Kosmatka, "An improved two-node Timoshenko beam finite element", Computers & Structures 47,
1993, 473-481), the exact static deflection of a uniform element, whose eigenvalue errors fall
as h^2 only once elements are short against sqrt(EI / GA). Here they fall as h^4 throughout. It
does not lock: with GA growing, what remains is (1), the Euler-Bernoulli element.

The strain energy int EI theta'^2 + GA (v' - theta)^2 is taken with the tapered EI and GA; all
frequencies converge from above.

Axial and torsion fields are linear plus two internal functions xi (1 - xi) and
xi (1 - xi)(2 xi - 1): complete cubics, so that their frequencies are no worse than those of
bending on the same mesh.

Mass, stiffness and all that follows use the same six Gauss points an element. They are exact to
degree 11: the square of the second-order field (5 + 5) times a linear mass per length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pliant.reduced import Array

Index = NDArray[np.int64]

_NEAR = 0.02  # of an element: a node so near to a grid point needs none of its own
_GAUSS_POINTS = 6


class BeamError(ValueError):
    """A beam that cannot be meshed or reduced; ``where`` is the place inside its Body."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where
        self.message = message


@dataclass(frozen=True)
class Profile:
    """A section property along x: linear between stations, constant beyond the outer ones.

    Two stations at one place are a step.

    >>> step = Profile([0.0, 1.0, 1.0, 2.0], [3.0, 3.0, 1.0, 1.0])
    >>> step.on_elements(np.array([0.0, 1.0, 2.0])).tolist()
    [[3.0, 3.0], [1.0, 1.0]]
    """

    at: Sequence[float]
    value: Sequence[float]

    @staticmethod
    def uniform(value: float) -> Profile:
        return Profile([0.0], [value])

    def on_elements(self, grid: Array) -> Array:
        """(elements, 2) values at both ends of each element, as seen from inside it."""
        at, value = np.asarray(self.at, float), np.asarray(self.value, float)
        middle = 0.5 * (grid[:-1] + grid[1:])
        right = np.searchsorted(at, middle)
        a, b = np.clip(right - 1, 0, None), np.clip(right, None, len(at) - 1)
        span = np.where(at[b] > at[a], at[b] - at[a], 1.0)
        ends = np.stack([grid[:-1], grid[1:]], axis=1)
        part = np.clip((ends - at[a, None]) / span[:, None], 0.0, 1.0)
        return np.asarray(value[a, None] + part * (value[b] - value[a])[:, None])


def _nothing() -> Profile:
    return Profile.uniform(0.0)


@dataclass(frozen=True)
class Section:
    """Section properties of a beam. A stiffness of None means rigid in that way.

    ``EIy`` resists bending about y (deflection along z), ``GAy`` shear along y; a plane without
    shear stiffness is Euler-Bernoulli. ``jx, jy, jz`` are mass moments of inertia a length;
    ``polar_radius`` is that of the area that carries axial stress, of the mass if not given.
    """

    mass: Profile
    EA: Profile | None = None
    EIy: Profile | None = None
    EIz: Profile | None = None
    GJ: Profile | None = None
    GAy: Profile | None = None
    GAz: Profile | None = None
    jx: Profile = field(default_factory=_nothing)
    jy: Profile = field(default_factory=_nothing)
    jz: Profile = field(default_factory=_nothing)
    polar_radius: Profile | None = None

    def stations(self) -> list[float]:
        """Every place where a property may have a corner or a step."""
        profiles = [p for p in vars(self).values() if p is not None and len(p.at) > 1]
        return sorted({float(x) for p in profiles for x in p.at})


@dataclass(frozen=True)
class Lump:
    """A rigid mass on the beam: centre of mass at ``[at, 0, 0] + offset``, inertia about it."""

    at: float
    mass: float
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))
    offset: Array = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True)
class Family:
    """One family of fields and the place of its unknowns in a mesh vector."""

    name: str
    stiffness: Profile
    shear: Profile | None
    phi_row: int | None  # direction of the displacement
    psi_row: int | None  # axis of the rotation
    psi_sign: float
    unknowns: Index  # (elements, 4 or 7), -1 where clamped

    @property
    def bends(self) -> bool:
        return self.name.startswith("bending")

    @property
    def columns(self) -> Index:
        every = np.unique(self.unknowns)
        return np.asarray(every[every >= 0])


@dataclass(frozen=True)
class MassPoints:
    """The mass of the beam as points: Gauss points of the elements, then the lumps.

    ``offset`` is from the centreline at (element, xi) to the point; zero for Gauss points.
    """

    element: Index  # (k,)
    xi: Array  # (k,)
    offset: Array  # (k, 3)
    position: Array  # (k, 3)
    mass: Array  # (k,)
    inertia: Array  # (k, 3, 3) about the point


class BeamMesh:
    """A clamped beam divided into elements, with its mass and stiffness matrices.

    >>> boom = Section(mass=Profile.uniform(8.0), EIz=Profile.uniform(1.4e6))
    >>> mesh = BeamMesh(6.4, boom, elements=20)
    >>> mesh.size  # two unknowns a grid point, none at the clamped head
    40
    >>> float(mesh.points.mass.sum().round(12))
    51.2

    ``elements`` is shared out over the stretches between stations, lumps and ``nodes`` (where
    something may be fixed or hang) in proportion to their length, at least one each.
    """

    def __init__(
        self,
        length: float,
        section: Section,
        lumps: Sequence[Lump] = (),
        elements: int = 20,
        nodes: Sequence[float] = (),
    ) -> None:
        self.length = float(length)
        self.lumps = tuple(lumps)
        places = [*section.stations(), *(p.at for p in lumps)]
        self.grid = _grid(self.length, places, nodes, elements)
        self._h = np.diff(self.grid)
        self._rotary = (section.jx, section.jy, section.jz)
        self._mass_per_length = section.mass
        self._polar_square = self._make_polar_square(section)

        points, weights = np.polynomial.legendre.leggauss(_GAUSS_POINTS)
        count = len(self._h)
        self._element = np.repeat(np.arange(count), _GAUSS_POINTS)
        self._xi = np.tile(0.5 * (1.0 + points), count)
        self._weight = np.tile(0.5 * weights, count) * self._h[self._element]

        self.families = self._make_families(section)
        if not self.families:
            raise BeamError("beam.EI", "no stiffness is given; give at least one of EI, GJ, EA")
        self.size = sum(len(f.columns) for f in self.families)
        self.points = self._make_points()
        self.mass = self._make_mass()
        self.stiffness = self._make_stiffness()

    @property
    def element_count(self) -> int:
        return len(self._h)

    # -- fields ----------------------------------------------------------------------------

    def locate(self, x: Array) -> tuple[Index, Array]:
        """Element and xi of stations x; a grid point belongs to the element before it."""
        element = np.clip(np.searchsorted(self.grid, x) - 1, 0, self.element_count - 1)
        xi = np.clip((x - self.grid[element]) / self._h[element], 0.0, 1.0)
        return element.astype(np.int64), xi

    def shapes(self, element: Index, xi: Array, V: Array) -> tuple[Array, Array]:
        """Shapes on the centreline: phi (k, 3, n) and psi (k, 3, n).

        ``V`` (size, n) holds mesh vectors in its columns.
        """
        phi, psi = np.zeros((len(xi), 3, V.shape[1])), np.zeros((len(xi), 3, V.shape[1]))
        for f in self.families:
            own = _gather(V, f.unknowns)[element]
            N, T = self._values(f, element, xi)
            if f.phi_row is not None:
                phi[:, f.phi_row] = np.einsum("kd,kdn->kn", N, own)
            if f.psi_row is not None:
                psi[:, f.psi_row] = f.psi_sign * np.einsum("kd,kdn->kn", T, own)
        return phi, psi

    def point_shapes(self, V: Array) -> tuple[Array, Array]:
        """phi and psi of the mass points, offsets included."""
        phi, psi = self.shapes(self.points.element, self.points.xi, V)
        return carry(phi, psi, self.points.offset), psi

    def foreshortening(self, element: Index, xi: Array, V: Array) -> Array:
        """``-int_0^x (v_i' v_j' + w_i' w_j' + k^2 theta_i' theta_j') ds`` on the centreline, with
        the twist theta and the polar radius k: (k, n, n), along x.
        """
        every = np.arange(self.element_count)
        whole = self._slope_integral(every, np.ones(self.element_count), V)
        before = np.concatenate([np.zeros_like(whole[:1]), np.cumsum(whole, axis=0)])
        return np.asarray(-before[element] - self._slope_integral(element, xi, V))

    def _slope_integral(self, element: Index, xi: Array, V: Array) -> Array:
        """The same integral, without its sign, from the start of an element to xi: (k, n, n).

        The integrand has degree 5 inside an element: three Gauss points are exact.
        """
        points, weights = np.polynomial.legendre.leggauss(3)
        total = np.zeros((len(xi), V.shape[1], V.shape[1]))
        for f in self.families:
            if f.name == "axial":
                continue
            own = _gather(V, f.unknowns)[element]
            for point, weight in zip(0.5 * (1.0 + points), 0.5 * weights, strict=True):
                place, h = xi * point, self._h[element]
                if f.bends:
                    shape, square = bending_shapes(place, h, f.shear is not None).slope, 1.0
                else:
                    ends = self._polar_square[element]
                    shape = line_shapes(place, h)[1]
                    square = ends[:, 0] * (1.0 - place) + ends[:, 1] * place
                slope = np.einsum("kd,kdn->kn", shape, own)
                total += np.einsum("k,ki,kj->kij", weight * xi * h * square, slope, slope)
        return total

    # -- energies --------------------------------------------------------------------------

    def modal_mass(self, V: Array) -> Array:
        """V^T M V, summed over the mass points."""
        n = V.shape[1]
        phi, psi = self.point_shapes(V)
        m_phi = (self.points.mass[:, None, None] * phi).reshape(-1, n)
        J_psi = (self.points.inertia @ psi).reshape(-1, n)
        return _symmetric(phi.reshape(-1, n).T @ m_phi + psi.reshape(-1, n).T @ J_psi)

    def modal_stiffness(self, V: Array) -> Array:
        """V^T K V, summed over the strains at the Gauss points.

        Strains of smooth modes are small differences: squaring them here, and not multiplying
        out V^T K V, keeps the digits that the large entries of K would cancel.
        """
        strains = [
            np.sqrt(density)[:, None]
            * np.einsum("kd,kdn->kn", shape, _gather(V, f.unknowns)[self._element])
            for f in self.families
            for density, shape in self._strain_terms(f)
        ]
        return _symmetric(sum((e.T @ e for e in strains), np.zeros((V.shape[1], V.shape[1]))))

    def strain_shares(self, V: Array) -> Array:
        """(families, n) strain energy of each family in each column of V."""
        blocks = [(f.columns, self.stiffness[np.ix_(f.columns, f.columns)]) for f in self.families]
        return np.array([np.einsum("in,in->n", V[c], K @ V[c]) for c, K in blocks])

    # -- assembly --------------------------------------------------------------------------

    def _make_families(self, s: Section) -> list[Family]:
        count = self.element_count
        e = np.arange(count)[:, None]
        # unknowns of the grid points first, those of point 0 (negative numbers) clamped, then
        # those inside the elements
        bending = 2 * e + np.arange(4) - 2
        bending_with_shear = np.hstack([bending, 2 * count + 3 * e + np.arange(3)])
        line = np.hstack([e + np.arange(2) - 1, count + 2 * e + np.arange(2)])
        families: list[Family] = []
        first = 0
        for name, stiffness, shear, phi_row, psi_row, psi_sign in (
            ("bending_y", s.EIz, s.GAy, 1, 2, 1.0),
            ("bending_z", s.EIy, s.GAz, 2, 1, -1.0),
            ("torsion", s.GJ, None, None, 0, 1.0),
            ("axial", s.EA, None, 0, None, 1.0),
        ):
            if stiffness is None:
                continue
            local = line
            if name.startswith("bending"):
                local = bending if shear is None else bending_with_shear
            unknowns = np.where(local < 0, -1, local + first)
            families.append(Family(name, stiffness, shear, phi_row, psi_row, psi_sign, unknowns))
            first = 1 + int(unknowns.max())
        return families

    def _values(self, f: Family, element: Index, xi: Array) -> tuple[Array, Array]:
        """Displacement and rotation of a family: coefficients (k, 4 or 7) of its unknowns."""
        if f.bends:
            shape = bending_shapes(xi, self._h[element], f.shear is not None)
            return shape.N, shape.T
        N, _ = line_shapes(xi, self._h[element])
        return N, N

    def _density(self, profile: Profile) -> Array:
        """A property at the Gauss points times their weights."""
        ends = profile.on_elements(self.grid)[self._element]
        value = ends[:, 0] * (1.0 - self._xi) + ends[:, 1] * self._xi
        return np.asarray(self._weight * value)

    def _strain_terms(self, f: Family) -> list[tuple[Array, Array]]:
        """Pairs (stiffness times weight, strain coefficients) at the Gauss points."""
        h = self._h[self._element]
        if not f.bends:
            return [(self._density(f.stiffness), line_shapes(self._xi, h)[1])]
        shape = bending_shapes(self._xi, h, f.shear is not None)
        terms = [(self._density(f.stiffness), shape.curvature)]
        if f.shear is not None:
            terms.append((self._density(f.shear), shape.shear))
        return terms

    def _inertia_terms(self, f: Family) -> list[tuple[Array, Array]]:
        """Pairs (mass or inertia times weight, coefficients) at the Gauss points."""
        N, T = self._values(f, self._element, self._xi)
        terms = [] if f.phi_row is None else [(self._density(self._mass_per_length), N)]
        return terms if f.psi_row is None else [*terms, (self._density(self._rotary[f.psi_row]), T)]

    def _make_polar_square(self, s: Section) -> Array:
        """(elements, 2) squared polar radius of the section at both ends of each element."""
        if s.polar_radius is not None:
            return np.asarray(s.polar_radius.on_elements(self.grid) ** 2)
        jx, mass = s.jx.on_elements(self.grid), s.mass.on_elements(self.grid)
        return np.divide(jx, mass, out=np.zeros_like(jx), where=mass > 0.0)

    def _make_points(self) -> MassPoints:
        x = self.grid[self._element] + self._xi * self._h[self._element]
        station = np.concatenate([x, [p.at for p in self.lumps]])
        lump_element, lump_xi = self.locate(station[len(x) :])
        rotary = np.stack([self._density(j) for j in self._rotary], axis=1)
        offset = np.concatenate([np.zeros((len(x), 3)), *([p.offset] for p in self.lumps)])
        return MassPoints(
            element=np.concatenate([self._element, lump_element]),
            xi=np.concatenate([self._xi, lump_xi]),
            offset=offset,
            position=station[:, None] * [1.0, 0.0, 0.0] + offset,
            mass=np.concatenate(
                [self._density(self._mass_per_length), [p.mass for p in self.lumps]]
            ),
            inertia=np.concatenate(
                [rotary[:, :, None] * np.eye(3), *([p.inertia] for p in self.lumps)]
            ),
        )

    def _make_mass(self) -> Array:
        matrix = self._assemble([(f, self._inertia_terms(f)) for f in self.families])
        identity = np.eye(self.size)
        for lump in self.lumps:
            phi, psi = self.shapes(*self.locate(np.array([lump.at])), identity)
            phi = carry(phi, psi, np.reshape(lump.offset, (1, 3)))
            matrix += lump.mass * phi[0].T @ phi[0] + psi[0].T @ lump.inertia @ psi[0]
        return matrix

    def _make_stiffness(self) -> Array:
        return self._assemble([(f, self._strain_terms(f)) for f in self.families])

    def _assemble(self, parts: list[tuple[Family, list[tuple[Array, Array]]]]) -> Array:
        """Sum of density shape^T shape over the Gauss points, at the unknowns' places."""
        matrix = np.zeros((self.size + 1, self.size + 1))  # the last takes what is clamped
        for f, terms in parts:
            for density, shape in terms:
                by_element = shape.reshape(self.element_count, _GAUSS_POINTS, -1)
                blocks = np.einsum(
                    "eg,egc,egd->ecd", density.reshape(-1, _GAUSS_POINTS), by_element, by_element
                )
                np.add.at(matrix, (f.unknowns[:, :, None], f.unknowns[:, None, :]), blocks)
        return matrix[:-1, :-1]


@dataclass(frozen=True)
class BendingShapes:
    """Equations (1), (2) at k places: coefficients (k, 4 or 7) of an element's unknowns."""

    N: Array  # deflection v
    slope: Array  # v'
    T: Array  # section rotation theta
    curvature: Array  # theta'
    shear: Array  # v' - theta


def bending_shapes(xi: Array, h: Array, with_shear: bool) -> BendingShapes:
    zero, bubble = np.zeros_like(xi), xi * (1.0 - xi)
    N = [
        1.0 - 3.0 * xi**2 + 2.0 * xi**3,
        h * (xi - 2.0 * xi**2 + xi**3),
        3.0 * xi**2 - 2.0 * xi**3,
        h * (xi**3 - xi**2),
    ]
    slope = [
        -6.0 * bubble / h,
        1.0 - 4.0 * xi + 3.0 * xi**2,
        6.0 * bubble / h,
        3.0 * xi**2 - 2.0 * xi,
    ]
    T = slope.copy()
    curvature = [
        6.0 * (2.0 * xi - 1.0) / h**2,
        (6.0 * xi - 4.0) / h,
        6.0 * (1.0 - 2.0 * xi) / h**2,
        (6.0 * xi - 2.0) / h,
    ]
    shear = [zero] * 4
    if with_shear:
        N += [h * bubble, h * bubble * (2.0 * xi - 1.0), zero]
        slope += [1.0 - 2.0 * xi, 6.0 * bubble - 1.0, zero]
        T += [zero, zero, bubble]
        curvature += [zero, zero, (1.0 - 2.0 * xi) / h]
        shear += [1.0 - 2.0 * xi, 6.0 * bubble - 1.0, -bubble]
    return BendingShapes(*(np.stack(a, axis=1) for a in (N, slope, T, curvature, shear)))


def line_shapes(xi: Array, h: Array) -> tuple[Array, Array]:
    """Axial and torsion: complete cubic of an element, N and dN/dx, each (k, 4)."""
    one, bubble = np.ones_like(xi), xi * (1.0 - xi)
    N = np.stack([1.0 - xi, xi, bubble, bubble * (2.0 * xi - 1.0)], axis=1)
    dN = np.stack([-one, one, 1.0 - 2.0 * xi, 6.0 * bubble - 1.0], axis=1) / h[:, None]
    return N, dN


def carry(phi: Array, psi: Array, offset: Array) -> Array:
    """Translation shapes of points rigidly offset from the centreline: phi + psi x offset."""
    return np.asarray(phi + np.cross(psi, offset[:, :, None], axis=1))


def _grid(length: float, places: Sequence[float], nodes: Sequence[float], elements: int) -> Array:
    """Grid points: every place inside the beam, every node that is not very near to one (two
    conditions within one element would lock it), and ``elements`` shared out between them."""
    nearly = 1e-9 * length
    edges = [0.0]
    for x in sorted(places):
        if x - edges[-1] > nearly and length - x > nearly:
            edges.append(x)
    edges.append(length)
    for x in nodes:
        if 0.0 < x < length and min(abs(x - edge) for edge in edges) > _NEAR * length / elements:
            edges.append(x)
    edges.sort()
    parts = [
        np.linspace(a, b, max(1, round(elements * (b - a) / length)) + 1)[1:]
        for a, b in pairwise(edges)
    ]
    return np.concatenate([[0.0], *parts])


def _gather(V: Array, unknowns: Index) -> Array:
    """(elements, 4 or 7, n) element vectors; clamped unknowns (-1) are zero."""
    padded = np.concatenate([V, np.zeros((1, V.shape[1]))])
    return np.asarray(padded[unknowns])


def _symmetric(matrix: Array) -> Array:
    return np.asarray(0.5 * (matrix + matrix.T))
