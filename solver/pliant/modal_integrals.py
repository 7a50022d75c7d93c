"""The constant integrals of a body over its mass, from the mass points of a ReducedBody.

Everything is about the head and in the head frame. The translation fields are the augmented
basis ``[phi_1 .. phi_n, phi2_1 .. phi2_p]`` of ``nh = n + p`` fields: a second-order pair
``p = (i, j)`` counts as one more field whose coordinate is ``c_p eta_i eta_j`` (``c_p = 1/2``
for ``i == j``, else 1), so that the same constants serve bodies with and without geometric
stiffening. Rotation shapes have no second-order part.

==========  ================  ==================================================
``m``       number            int rho
``c0``      (3,)              int rho X
``S``       (3, nh)           int rho phi
``P0``      (3, 3)            int rho X X^T
``A``       (nh, 3, 3)        A_i = int rho X phi_i^T
``B``       (nh, nh, 3, 3)    B_ij = int rho phi_i phi_j^T, so B_ji = B_ij^T
``Js``      (3, 3)            sum J_k
``Jpsi``    (3, n)            sum J_k psi_k
``pJp``     (n, n)            sum psi_k^T J_k psi_k
==========  ================  ==================================================

With ``exact_inertia`` the kernel turns every point inertia with its point and adds it one by
one; ``Js``, ``Jpsi`` and ``pJp`` are then zero here.

Cost: k (nh^2 9) for k points, once, at compile time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, pinvh

from pliant.reduced import Array, ReducedBody


@dataclass(frozen=True)
class ModalIntegrals:
    """Constant integrals of one body; symbols and shapes are in the module's table.

    >>> from pliant.reduced import rigid_body
    >>> integrals = integrate(rigid_body(2.0, [0.5, 0, 0], np.diag([1.0, 2.0, 3.0])))
    >>> integrals.m, integrals.c0.tolist()
    (2.0, [1.0, 0.0, 0.0])
    >>> integrals.Mrr[3:, 3:].diagonal().tolist()  # about the head
    [1.0, 2.5, 3.5]
    """

    m: float
    c0: Array
    S: Array
    P0: Array
    A: Array
    B: Array
    Js: Array
    Jpsi: Array
    pJp: Array  # noqa: N815

    @property
    def mode_count(self) -> int:
        return int(self.pJp.shape[0])

    @property
    def Mrr(self) -> Array:
        """(6, 6) rigid mass matrix about the head, undeformed, ``[linear; angular]``."""
        c_x = _cross_matrix(self.c0)
        J = np.trace(self.P0) * np.eye(3) - self.P0 + self.Js
        return np.block([[self.m * np.eye(3), -c_x], [c_x, J]])

    @property
    def Mre(self) -> Array:
        """(6, n) coupling of rigid motion and modes, undeformed: ``[S; C + Jpsi]``."""
        n = self.mode_count
        # C_i = int rho X x phi_i = ax(A_i)
        C = np.stack([axial(self.A[i]) for i in range(n)], axis=1) if n else np.zeros((3, 0))
        return np.vstack([self.S[:, :n], C + self.Jpsi])

    @property
    def Mee(self) -> Array:
        """(n, n) modal mass matrix, undeformed: ``tr B_ij + pJp``."""
        n = self.mode_count
        return np.asarray(np.einsum("ijaa->ij", self.B[:n, :n]) + self.pJp)


def integrate(body: ReducedBody) -> ModalIntegrals:
    """The integrals of a body over its mass points (rotary parts by its ``exact_inertia``)."""
    if body.exact_inertia:
        return _integrate(body, np.zeros_like(body.point_inertia))
    return _integrate(body, body.point_inertia)


def undeformed_integrals(body: ReducedBody) -> ModalIntegrals:
    """The integrals with every point inertia included: right for matrices at zero modes."""
    return _integrate(body, body.point_inertia)


def clamped_frequencies(body: ReducedBody) -> Array:
    """Frequencies in Hz of the body held at its head, ascending: ``K`` against ``Mee``."""
    return _frequencies(body.stiffness, undeformed_integrals(body).Mee)


def free_free_frequencies(body: ReducedBody) -> Array:
    """Elastic frequencies in Hz of the body alone with its head free, ascending.

    The rigid motion is eliminated: ``K`` against ``Mee - Mer Mrr^-1 Mre``. The largest one
    bounds every frequency the body can bring into any tree or loop.
    """
    integrals = undeformed_integrals(body)
    Mre = integrals.Mre
    # pseudo-inverse: a line of mass has no inertia about itself, and nothing couples to that
    return _frequencies(body.stiffness, integrals.Mee - Mre.T @ pinvh(integrals.Mrr) @ Mre)


def axial(Q: Array) -> Array:
    """``ax(Q) = [Q23-Q32, Q31-Q13, Q12-Q21]``: ``int a x b = ax(int a b^T)``."""
    return np.array([Q[1, 2] - Q[2, 1], Q[2, 0] - Q[0, 2], Q[0, 1] - Q[1, 0]])


def _cross_matrix(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def _frequencies(stiffness: Array, mass: Array) -> Array:
    """Solved as M v = K v / omega^2, which keeps the digits of the lowest frequencies."""
    if not stiffness.size:
        return np.zeros(0)
    inverse_squares = eigh(mass, stiffness, eigvals_only=True)[::-1]
    # a combination of modes without mass of its own, within rounding, has no finite frequency
    massive = inverse_squares > 0.0
    omega = np.full(len(inverse_squares), np.inf)
    omega[massive] = 1.0 / np.sqrt(inverse_squares[massive])
    return omega / (2.0 * np.pi)


def _integrate(body: ReducedBody, inertia: Array) -> ModalIntegrals:
    m, X, psi = body.point_mass, body.point_position, body.point_psi
    fields = np.concatenate([body.point_phi, body.point_phi2], axis=2)
    m_fields = m[:, None, None] * fields
    B = np.einsum("kai,kbj->ijab", fields, m_fields, optimize=True)
    return ModalIntegrals(
        m=float(m.sum()),
        c0=m @ X,
        S=m_fields.sum(axis=0),
        P0=np.einsum("k,ka,kb->ab", m, X, X),
        A=np.einsum("ka,kbi->iab", X, m_fields),
        # exactly B_ji = B_ij^T, so that the mass matrix comes out exactly symmetric
        B=0.5 * (B + B.transpose(1, 0, 3, 2)),
        Js=inertia.sum(axis=0),
        Jpsi=np.einsum("kab,kbi->ai", inertia, psi),
        pJp=np.einsum("kai,kab,kbj->ij", psi, inertia, psi, optimize=True),
    )
