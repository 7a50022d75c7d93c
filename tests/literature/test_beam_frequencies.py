"""Frequencies of beams against classical solutions, and how fast the mesh approaches them.

Sources:

* uniform beams, rods and shafts: Blevins, "Formulas for Natural Frequency and Mode Shape", Van
  Nostrand Reinhold 1979, chapter 8.
* Timoshenko beam: Timoshenko, Young, Weaver, "Vibration Problems in Engineering", 4th edition,
  Wiley 1974, chapter 5.
* double taper: Mabie, Rogers, "Transverse vibrations of double-tapered cantilever beams",
  J. Acoust. Soc. Am. 51 (1972) 1771-1774; sheet SDLL09/89 of the VPCS benchmark guide.
* wedge: Kirchhoff, Monatsberichte der Koeniglich Preussischen Akademie der Wissenschaften zu
  Berlin, 1879, 815-828.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import eigh, expm
from scipy.optimize import brentq

from pliant.beam import cantilever_modes, reduce_beam
from pliant.beam_mesh import BeamMesh, Lump, Profile, Section
from pliant.modal_integrals import free_free_frequencies, integrate

Array = NDArray[np.float64]
uniform = Profile.uniform

L, MASS, EI = 2.5, 3.0, 7.0e3
# roots of cos x cosh x = -1 (clamped-free) and cos x cosh x = 1 (free-free), Blevins table 8-1
CLAMPED_FREE = [1.87510407, 4.69409113, 7.85475744, 10.99554073]
FREE_FREE = [4.73004074, 7.85320462, 10.99560784, 14.13716549]


def omega(mesh: BeamMesh, count: int) -> Array:
    return 2.0 * np.pi * cantilever_modes(mesh, count=count).frequencies


def exact_frequency(beta_L: float) -> float:
    return beta_L**2 * np.sqrt(EI / MASS) / L**2


def exact_cantilever(
    GA: float, rotary: float, tip_mass: float, tip_inertia: float, count: int
) -> list[float]:
    """Roots of the frequency equation of a uniform Timoshenko cantilever.

    State y = (v, theta, M, Q) with v' = theta + Q / GA, theta' = M / EI,
    M' = -Q - w^2 rotary theta, Q' = -w^2 mass v. With v = theta = 0 at the head, M and Q beyond
    the tip body are two linear forms in M and Q of the head; a frequency makes both zero.
    """

    def determinant(w: float) -> float:
        s = w * w
        A = np.array(
            [[0, 1, 0, 1 / GA], [0, 0, 1 / EI, 0], [0, -s * rotary, 0, -1], [-s * MASS, 0, 0, 0]]
        )
        end = expm(A * L)[:, 2:]
        M = end[2] - s * tip_inertia * end[1]
        Q = end[3] - s * tip_mass * end[0]
        return float(np.linalg.det([M, Q]))

    grid = np.linspace(1e-3, exact_frequency(CLAMPED_FREE[count - 1]), 2000)
    values = [determinant(w) for w in grid]
    return [
        brentq(determinant, a, b, xtol=1e-12, rtol=1e-13)
        for (a, b), (fa, fb) in zip(pairwise(grid), pairwise(values), strict=True)
        if fa * fb < 0.0
    ]


def test_uniform_cantilever_has_the_classical_bending_frequencies():
    mesh = BeamMesh(L, Section(uniform(MASS), EIz=uniform(EI)), elements=20)
    exact = [exact_frequency(b) for b in CLAMPED_FREE]
    # leading error of a cubic element: (beta h)^4 / 1440 of a frequency
    bound = [(b / 20) ** 4 / 1000 for b in CLAMPED_FREE]
    error = omega(mesh, 4) / exact - 1.0
    assert np.all(error > -1e-8)  # from above; the roots are given to 8 digits
    assert np.all(error < np.add(bound, 1e-8))


def test_bending_frequencies_converge_with_order_four():
    exact = exact_frequency(CLAMPED_FREE[2])
    counts = np.array([8, 16, 32])
    errors = [
        (omega(BeamMesh(L, Section(uniform(MASS), EIz=uniform(EI)), elements=n), 3)[2]) ** 2
        / exact**2
        - 1.0
        for n in counts.tolist()
    ]
    slope = np.polyfit(np.log(1.0 / counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(4.0, abs=0.05)


def test_timoshenko_and_tapered_meshes_converge_with_order_four():
    def third(n: int) -> float:
        section = Section(
            Profile([0, L], [MASS, 0.3 * MASS]),
            EIz=Profile([0, L], [EI, 0.2 * EI]),
            GAy=Profile([0, L], [4e4, 2e4]),
            jz=Profile([0, L], [0.02, 0.01]),
        )
        return float(omega(BeamMesh(L, section, elements=n), 3)[2]) ** 2

    exact, counts = third(256), np.array([8, 16, 32])
    errors = [third(n) / exact - 1.0 for n in counts.tolist()]
    slope = np.polyfit(np.log(1.0 / counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(4.0, abs=0.15)


def test_axial_and_torsion_frequencies_of_a_fixed_free_rod():
    # omega_i = (2i - 1) pi / 2 c / L
    EA, GJ, jx = 5.0e6, 900.0, 0.02
    mesh = BeamMesh(L, Section(uniform(MASS), EA=uniform(EA), GJ=uniform(GJ), jx=uniform(jx)))
    for kind, speed in (("axial", np.sqrt(EA / MASS)), ("torsion", np.sqrt(GJ / jx))):
        modes = cantilever_modes(mesh, count=4, kinds=[kind])
        exact = (2 * np.arange(1, 5) - 1) * np.pi / 2 * speed / L
        # cubic fields: error of a frequency (k h)^6 / 2e5, k h = 0.55 for the fourth
        assert 2 * np.pi * modes.frequencies == pytest.approx(exact, rel=2e-7)


def test_free_free_frequencies_come_from_cantilever_modes():
    section = Section(uniform(MASS), EIy=uniform(EI), EIz=uniform(4 * EI), jx=uniform(1e-9))
    mesh = BeamMesh(L, section, elements=30)
    reduced = reduce_beam(mesh, cantilever_modes(mesh, bending=12))
    found = 2 * np.pi * free_free_frequencies(reduced)
    # 12 clamped modes and six rigid ones span the free-free modes only nearly: from above
    exact = sorted(
        [exact_frequency(b) for b in FREE_FREE] + [2 * exact_frequency(b) for b in FREE_FREE[:2]]
    )
    assert found[:4] == pytest.approx(exact[:4], rel=2e-4)
    assert np.all(found[:4] > exact[:4])


@pytest.mark.parametrize(("mass_ratio", "beta_L"), [(1.0, 1.24791741), (5.0, 0.87002146)])
def test_tip_mass_cantilever(mass_ratio: float, beta_L: float):
    # 1 + cos x cosh x + mass_ratio x (cos x sinh x - sin x cosh x) = 0
    def equation(x: float) -> float:
        c, s, ch, sh = np.cos(x), np.sin(x), np.cosh(x), np.sinh(x)
        return float(1 + c * ch + mass_ratio * x * (c * sh - s * ch))

    assert equation(beta_L) == pytest.approx(0.0, abs=1e-6)
    lump = Lump(L, mass_ratio * MASS * L)
    mesh = BeamMesh(L, Section(uniform(MASS), EIz=uniform(EI)), [lump])
    second = brentq(equation, 3.0, 4.5)
    exact = [exact_frequency(b) for b in (beta_L, second)]
    assert omega(mesh, 2) == pytest.approx(exact, rel=2e-6)


def test_timoshenko_cantilever_satisfies_the_frequency_equation():
    # short beam: shear lowers the third frequency by more than a third
    GA, rotary = 3.0e4, 0.03
    exact = exact_cantilever(GA, rotary, 0.0, 0.0, 4)[:4]
    assert exact[2] < 0.65 * exact_frequency(CLAMPED_FREE[2])
    section = Section(uniform(MASS), EIz=uniform(EI), GAy=uniform(GA), jz=uniform(rotary))
    assert omega(BeamMesh(L, section, elements=40), 4) == pytest.approx(exact, rel=1e-6)
    # the other plane is the same beam turned
    turned = Section(uniform(MASS), EIy=uniform(EI), GAz=uniform(GA), jy=uniform(rotary))
    assert omega(BeamMesh(L, turned, elements=40), 4) == pytest.approx(exact, rel=1e-6)


def test_tip_body_with_inertia_on_a_timoshenko_beam():
    GA, rotary, mass, inertia = 3.0e4, 0.03, 4.0, 2.0
    exact = exact_cantilever(GA, rotary, mass, inertia, 4)[:3]
    section = Section(uniform(MASS), EIz=uniform(EI), GAy=uniform(GA), jz=uniform(rotary))
    mesh = BeamMesh(L, section, [Lump(L, mass, np.diag([0, 0, inertia]))], elements=40)
    assert omega(mesh, 3) == pytest.approx(exact, rel=1e-6)


def test_shear_element_does_not_lock_and_has_euler_bernoulli_as_its_limit():
    slender = Section(uniform(MASS), EIz=uniform(EI), GAy=uniform(1e15))
    thin = Section(uniform(MASS), EIz=uniform(EI))
    assert omega(BeamMesh(L, slender), 4) == pytest.approx(omega(BeamMesh(L, thin), 4), rel=1e-9)


@pytest.mark.parametrize(
    ("width_ratio", "published"),
    [(4, [23.289, 73.9, 165.23, 299.7, 478.1]), (5, [24.308, 75.56, 167.21, 301.9, 480.4])],
)
def test_double_tapered_cantilever_of_mabie_and_rogers(width_ratio: int, published: list[float]):
    # depth ratio 4, head to tip; omega = lambda (tip depth / L^2) sqrt(E / 12 rho)
    E, rho, h1, b1 = 2.0e11, 7800.0, 0.02, 0.03
    x = np.linspace(0.0, L, 161)
    h, b = h1 * (4 - 3 * x / L), b1 * (width_ratio - (width_ratio - 1) * x / L)
    section = Section(Profile(x, rho * b * h), EIz=Profile(x, E * b * h**3 / 12))
    found = omega(BeamMesh(L, section), 5) / (h1 / L**2 * np.sqrt(E / 12 / rho))
    # a 12-term polynomial Ritz solution lies up to 3.4e-4 above the published values
    assert found == pytest.approx(published, rel=5e-4)


def test_wedge_of_kirchhoff():
    # constant width, depth falling to zero at the tip: omega sqrt(rho A0 L^4 / EI0)
    x = np.linspace(0.0, 1.0, 201)
    section = Section(Profile(x, 1 - x), EIz=Profile(x, (1 - x) ** 3))
    assert omega(BeamMesh(1.0, section), 2) == pytest.approx([5.315, 15.21], rel=5e-4)


def test_width_taper_agrees_with_a_polynomial_ritz_solution():
    # mass and EI both fall linearly to zero: two stations describe it exactly
    section = Section(Profile([0, 1], [1, 0]), EIz=Profile([0, 1], [1, 0]))
    x, w = np.polynomial.legendre.leggauss(40)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    basis = [
        np.polynomial.Polynomial([0, 0, 1])
        * np.polynomial.Legendre.basis(k, [0, 1]).convert(kind=np.polynomial.Polynomial)
        for k in range(10)
    ]
    v = np.array([p(x) for p in basis])
    curvature = np.array([p.deriv(2)(x) for p in basis])
    squares = eigh((curvature * w * (1 - x)) @ curvature.T, (v * w * (1 - x)) @ v.T)[0]
    found = omega(BeamMesh(1.0, section, elements=40), 3)
    assert found == pytest.approx(np.sqrt(squares[:3]), rel=2e-6)


@pytest.mark.parametrize(("gamma", "published"), [(2, 4.137), (4, 5.585), (6, 7.360)])
def test_second_order_field_stiffens_a_rotating_cantilever(gamma: float, published: float):
    # Flapping of a beam that turns about z at the head, gamma = Omega sqrt(mass L^4 / EI):
    # Wright, Smith, Thresher, Wang, J. Appl. Mech. 49 (1982) 197-202. Each mass element feels
    # rho Omega^2 x along x, which works on phi2: K_ij - Omega^2 int rho x phi2_ij.
    mesh = BeamMesh(L, Section(uniform(MASS), EIy=uniform(EI)))
    reduced = reduce_beam(mesh, cantilever_modes(mesh, count=8))
    integrals = integrate(reduced)
    scale = np.sqrt(EI / MASS) / L**2
    stiffness = reduced.stiffness.copy()
    for p, (i, j) in enumerate(reduced.pairs.tolist()):
        added = -((gamma * scale) ** 2) * integrals.A[8 + p][0, 0]
        stiffness[i, j] += added
        stiffness[j, i] += added if i != j else 0.0
    first = np.sqrt(eigh(stiffness, integrals.Mee, eigvals_only=True)[0]) / scale
    assert first == pytest.approx(published, abs=5e-4)
