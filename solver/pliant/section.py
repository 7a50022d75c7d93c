"""Sections of a beam: given directly or by material and geometry, made complete here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike
from pydantic import PlainValidator

from pliant.fields import Length, array, positive_pairs, positives
from pliant.limits import (
    AREA,
    DENSITY,
    FACTOR,
    INERTIA_PER_LENGTH,
    MASS_PER_LENGTH,
    MODULUS,
    SECOND_MOMENT,
    SECTION_STIFFNESS,
    Span,
)
from pliant.part import Finding, Part, fail, show
from pliant.reduced import Array


@dataclass(frozen=True)
class SectionValues:
    """Section properties at one station of a beam, complete; None is rigid in that way.

    Units: kg/m, N, N m2, kg m (= kg m2 a metre).
    """

    at: float
    mass_per_length: float
    EIy: float | None  # bending about y: deflection along z
    EIz: float | None  # bending about z: deflection along y
    EA: float | None
    GJ: float | None
    GAy: float | None  # shear along y; None in both: Euler-Bernoulli
    GAz: float | None
    jx: float  # mass moments of inertia a length
    jy: float
    jz: float
    polar_radius: float | None  # of the area that carries axial stress; None: of the mass


def _inertia_per_length(value: Any) -> Array:
    result = array(value, (3,), what="3 numbers [jx, jy, jz]", span=INERTIA_PER_LENGTH)
    if (result < 0).any():
        raise fail(f"{show(result)} has a negative entry; give zero or positive numbers")
    return result


class SectionData(Part):
    """Section properties, given directly or by material and geometry.

    Directly: ``mass_per_length``, ``EI``, ``EA``, ``GJ``, ``GAk``, ``inertia_per_length`` or
    ``radius``. By material: ``E``, ``G``, ``rho``, ``A``, ``Iy``, ``Iz``, ``J``,
    ``shear_factor``; then ``mass_per_length = rho A``, ``EI = [E Iy, E Iz]``, ``EA = E A``,
    ``GJ = G J``, ``GAk = shear_factor G A``, ``inertia_per_length = rho [Iy + Iz, Iy, Iz]``.
    The two may be mixed as long as nothing is given twice.
    """

    mass_per_length: Annotated[float, positives(MASS_PER_LENGTH)] | None = None
    """Mass per length, kg/m."""
    EI: Annotated[ArrayLike, positive_pairs(SECTION_STIFFNESS)] | None = None
    """Bending stiffness, N m2: one number for both planes, or [EIy, EIz] with EIy about y
    (deflection along z) and EIz about z (deflection along y); null in the pair is a rigid
    plane. At run time a float or an array of 2 in which infinity stands for rigid."""
    EA: Annotated[float, positives(SECTION_STIFFNESS)] | None = None
    """Axial stiffness, N; without it the beam does not stretch."""
    GJ: Annotated[float, positives(SECTION_STIFFNESS)] | None = None
    """Torsional stiffness, N m2; without it the beam does not twist."""
    GAk: Annotated[ArrayLike, positive_pairs(SECTION_STIFFNESS)] | None = None
    """Shear stiffness including the shear factor, N: one number or [GAy, GAz] with GAy along y.
    Its presence makes the beam a Timoshenko beam; null in the pair is a plane without shear."""
    inertia_per_length: Annotated[ArrayLike, PlainValidator(_inertia_per_length)] | None = None
    """Rotary inertia per length [jx, jy, jz], kg m; jx is the polar one, for torsion."""
    radius: Length | None = None
    """Radius of a solid round section, m: stands for the rotary inertia
    mass_per_length * radius^2 * [1/2, 1/4, 1/4] and for nothing else."""
    polar_radius: Length | None = None
    """Polar radius sqrt((Iy + Iz) / A) of the area that carries axial stress, m: twist shortens
    a beam by it, so that tension stiffens torsion (trapeze effect). From jx and
    mass_per_length if left out."""
    E: Annotated[float, positives(MODULUS)] | None = None
    """Young's modulus, Pa."""
    G: Annotated[float, positives(MODULUS)] | None = None
    """Shear modulus, Pa."""
    rho: Annotated[float, positives(DENSITY)] | None = None
    """Density, kg/m3."""
    A: Annotated[float, positives(AREA)] | None = None
    """Area of the section, m2."""
    Iy: Annotated[float, positives(SECOND_MOMENT)] | None = None
    """Second moment of area about y, m4 (deflection along z)."""
    Iz: Annotated[float, positives(SECOND_MOMENT)] | None = None
    """Second moment of area about z, m4 (deflection along y); as Iy if left out."""
    J: Annotated[float, positives(SECOND_MOMENT)] | None = None
    """Torsion constant, m4."""
    shear_factor: Annotated[ArrayLike, positive_pairs(FACTOR)] | None = None
    """Shear factor k, one number or [ky, kz]; makes the beam a Timoshenko beam."""


SECTION_KEYS = tuple(SectionData.model_fields)


def gap_findings(sections: list[SectionValues]) -> Iterator[Finding]:
    """These must be there at all stations or at none: nothing lies between it and rigid."""
    for key in ("EIy", "EIz", "EA", "GJ", "GAy", "GAz", "polar_radius"):
        missing = [i for i, s in enumerate(sections) if getattr(s, key) is None]
        if missing and len(missing) < len(sections):
            yield (
                ("stations", missing[0]),
                f"has no {key} while other stations have one; give {key} at every station",
            )


def complete_section(
    given: dict[str, Any], at: float, place: tuple[str | int, ...]
) -> tuple[list[SectionValues], list[Finding]]:
    """All properties at a station out of those given directly or by material."""
    findings: list[Finding] = []

    def pick(key: str, *factors: str) -> Any:
        """A property given directly, or as product of others; both is an error."""
        have_all = all(given[factor] is not None for factor in factors)
        if given[key] is not None and have_all:
            product = " and ".join(factors)
            findings.append(((*place, key), f"given twice, also by {product}; leave one out"))
        if given[key] is not None:
            return given[key]
        return np.prod([given[factor] for factor in factors]) if have_all else None

    mass = pick("mass_per_length", "rho", "A")
    if mass is None:
        findings.append(((*place, "mass_per_length"), "missing; give it, or rho and A"))
    Iz = given["Iy"] if given["Iz"] is None else given["Iz"]
    EI = given["EI"]
    if given["E"] is not None and given["Iy"] is not None:
        if EI is not None:
            findings.append(((*place, "EI"), "given twice, also by E and Iy; leave one out"))
        EI = np.array([given["E"] * given["Iy"], given["E"] * Iz])
    if EI is None:
        findings.append(((*place, "EI"), "missing; give EI, or E and Iy"))
    EA, GJ = pick("EA", "E", "A"), pick("GJ", "G", "J")
    shear = _pair(given["GAk"])
    if given["shear_factor"] is not None:
        if given["GAk"] is not None:
            findings.append(((*place, "GAk"), "given twice, also by shear_factor; leave one out"))
        if given["G"] is None or given["A"] is None:
            findings.append(((*place, "shear_factor"), "needs G and A; give them, or GAk instead"))
        else:
            shear = _pair(np.asarray(given["shear_factor"]) * given["G"] * given["A"])
    rotary = _rotary_inertia(given, mass, Iz, place, findings)
    if GJ is not None and rotary[0] == 0 and mass is not None:
        findings.append(
            (
                (*place, "GJ"),
                f"{show(float(GJ))}: torsion needs a polar inertia; give radius or "
                "inertia_per_length, or leave GJ out",
            )
        )
    if findings:
        return [], findings
    EIy, EIz = _pair(EI)
    if EIy is None and EIz is None:
        return [], [((*place, "EI"), "is rigid in both planes; give a number for one of them")]
    GAy, GAz = shear
    jx, jy, jz = rotary
    made: tuple[tuple[str, float | None, Span], ...] = (
        ("mass_per_length", float(mass), MASS_PER_LENGTH),
        *(("EI", stiffness, SECTION_STIFFNESS) for stiffness in (EIy, EIz)),
        ("EA", None if EA is None else float(EA), SECTION_STIFFNESS),
        ("GJ", None if GJ is None else float(GJ), SECTION_STIFFNESS),
        *(("GAk", stiffness, SECTION_STIFFNESS) for stiffness in shear),
        *(("inertia_per_length", j, INERTIA_PER_LENGTH) for j in rotary),
    )
    for key, value, span in made:
        fault = None if value is None else span.fault(value, above_zero=True)
        if fault:
            findings.append(((*place, key), f"{show(value)} {fault}"))
    if findings:
        return [], findings
    values = SectionValues(
        at=at,
        mass_per_length=float(mass),
        EIy=EIy,
        EIz=EIz,
        EA=None if EA is None else float(EA),
        GJ=None if GJ is None else float(GJ),
        GAy=GAy,
        GAz=GAz,
        jx=jx,
        jy=jy,
        jz=jz,
        polar_radius=given["polar_radius"],
    )
    return [values], []


def _pair(value: Any) -> tuple[float | None, float | None]:
    """[about y, about z] with None for rigid."""
    y, z = (float(x) for x in np.broadcast_to(np.inf if value is None else value, 2))
    return (y if np.isfinite(y) else None), (z if np.isfinite(z) else None)


def _rotary_inertia(
    given: dict[str, Any],
    mass: float | None,
    Iz: float | None,
    place: tuple[str | int, ...],
    findings: list[Finding],
) -> tuple[float, float, float]:
    """[jx, jy, jz] by the one of three ways that is given; zero without any."""
    by_material = given["rho"] is not None and given["Iy"] is not None
    ways = [key for key in ("inertia_per_length", "radius") if given[key] is not None]
    if len(ways) + by_material > 1:
        also = "rho and Iy" if by_material else "inertia_per_length"
        findings.append(
            ((*place, ways[-1]), f"rotary inertia is given twice, also by {also}; leave one out")
        )
    if given["inertia_per_length"] is not None:
        jx, jy, jz = (float(x) for x in given["inertia_per_length"])
        return jx, jy, jz
    if given["radius"] is not None and mass is not None:
        j = float(mass) * given["radius"] ** 2
        return 0.5 * j, 0.25 * j, 0.25 * j
    if by_material and Iz is not None:
        Iy = given["Iy"]
        return given["rho"] * (Iy + Iz), given["rho"] * Iy, given["rho"] * Iz
    return 0.0, 0.0, 0.0
