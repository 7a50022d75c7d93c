"""The constant integrals of a body over its mass, from the mass points of a ReducedBody.

Everything is about the head and in the head frame. The translation fields are the augmented
basis ``[phi_1 .. phi_n, phi2_1 .. phi2_p]`` of ``nh = n + p`` fields: a second-order pair
``p = (i, j)`` counts as one more field whose coordinate is ``c_p eta_i eta_j`` (``c_p = 1/2``
for ``i == j``, else 1), so that the same constants serve bodies with and without geometric
stiffening.

==========  ================  ==================================================
``m``       number            int rho
``c0``      (3,)              int rho X
``S``       (3, nh)           int rho phi
``P0``      (3, 3)            int rho X X^T
``A``       (nh, 3, 3)        A_i = int rho X phi_i^T
``B``       (nh, nh, 3, 3)    B_ij = int rho phi_i phi_j^T, so B_ji = B_ij^T
``A2``      (n, n, 3, 3)      A2_ij = int rho X phi2_ij^T of rotary inertia, (2)
``Mee``     (n, n)            modal mass, undeformed: tr B_ij
==========  ================  ==================================================

Rotary inertia. A point of inertia J is a small cloud of mass about it, with the second moment
``E = int rho s s^T = tr(J)/2 I - J`` of the places s in it. It turns as a whole by the vector
theta = psi eta, which moves s by ``(theta~ + theta~^2 / 2) s`` to second order. The fields of the
cloud are therefore ``psi_i~ s`` and ``(psi_i~ psi_j~ + psi_j~ psi_i~) s / 2``, and they add::

    P0 += E     A_i += E psi_i~^T     B_ij += psi_i~ E psi_j~^T                             (1)
    A2_ij = E (psi_i~ psi_j~ + psi_j~ psi_i~)^T / 2                                        (2)

which is all of second order in eta and eta' in the kinetic energy: the products of the second
fields with the first and with themselves are of higher order, and their S is zero. (1) and (2)
belong together; with (1) alone a spinning shaft is further from the truth than with J fixed.

``exact`` points are not in here: the kernel turns them one by one. What a ``linear`` inertia adds
is E to ``P0``, the moment J psi_i as the antisymmetric part of A_i, and psi_i^T J psi_j to ``Mee``
alone.

Cost: k (nh^2 9) for k points, once, at compile time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    A2: Array
    Mee: Array

    @property
    def mode_count(self) -> int:
        return int(self.Mee.shape[0])

    @property
    def Mrr(self) -> Array:
        """(6, 6) rigid mass matrix about the head, undeformed, ``[linear; angular]``."""
        c_x = _cross_matrix(self.c0)
        J = np.trace(self.P0) * np.eye(3) - self.P0
        return np.block([[self.m * np.eye(3), -c_x], [c_x, J]])

    @property
    def Mre(self) -> Array:
        """(6, n) coupling of rigid motion and modes, undeformed: ``[S; C]``."""
        n = self.mode_count
        # C_i = int rho X x phi_i = ax(A_i)
        return np.vstack([self.S[:, :n], axial(self.A[:n]).T])


def integrate(body: ReducedBody) -> ModalIntegrals:
    """The integrals of a body over its mass points, without the inertia of ``exact`` ones."""
    inertia = body.point_inertia.copy()
    inertia[body.exact_points] = 0.0
    is_linear = body.has_model("linear")[:, None, None]
    integrals = _with_second_order_inertia(_of_masses(body), body, np.where(is_linear, 0, inertia))
    return _with_linear_inertia(integrals, body, np.where(is_linear, inertia, 0))


def undeformed_integrals(body: ReducedBody) -> ModalIntegrals:
    """The integrals with every point inertia included: right for matrices at zero modes."""
    return integrate(replace(body, inertia_model="second_order"))


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
    """``ax(Q) = [Q23-Q32, Q31-Q13, Q12-Q21]`` of (..., 3, 3): ``int a x b = ax(int a b^T)``."""
    difference = Q - np.swapaxes(Q, -1, -2)
    return np.stack([difference[..., 1, 2], difference[..., 2, 0], difference[..., 0, 1]], axis=-1)


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


def _of_masses(body: ReducedBody) -> ModalIntegrals:
    """Of the mass points without their inertia."""
    m, X, n = body.point_mass, body.point_position, body.mode_count
    fields = np.concatenate([body.point_phi, body.point_phi2], axis=2)
    m_fields = m[:, None, None] * fields
    B = np.einsum("kai,kbj->ijab", fields, m_fields, optimize=True)
    B = _exactly_symmetric(B)
    return ModalIntegrals(
        m=float(m.sum()),
        c0=m @ X,
        S=m_fields.sum(axis=0),
        P0=np.einsum("k,ka,kb->ab", m, X, X),
        A=np.einsum("ka,kbi->iab", X, m_fields),
        B=B,
        A2=np.zeros((n, n, 3, 3)),
        Mee=np.einsum("ijaa->ij", B[:n, :n]),
    )


def _with_second_order_inertia(of: ModalIntegrals, body: ReducedBody, J: Array) -> ModalIntegrals:
    """Adds the inertias J (k, 3, 3) of the points by (1) and (2)."""
    E = _second_moments(J)
    psi_x = _cross_matrices(body.point_psi)  # psi_i~, (k, n, 3, 3)
    E_psi_x = np.einsum("kab,kicb->kiac", E, psi_x)  # E psi_i~^T
    B = _exactly_symmetric(np.einsum("kiab,kjbc->ijac", psi_x, E_psi_x, optimize=True))
    # E psi_j~^T psi_i~^T = E (psi_i~ psi_j~)^T
    product = np.einsum("kjab,kicb->ijac", E_psi_x, psi_x, optimize=True)
    pairs = len(of.A) - of.mode_count
    return replace(
        of,
        P0=of.P0 + E.sum(axis=0),
        A=of.A + np.pad(E_psi_x.sum(axis=0), ((0, pairs), (0, 0), (0, 0))),
        B=of.B + np.pad(B, ((0, pairs), (0, pairs), (0, 0), (0, 0))),
        A2=0.5 * (product + product.transpose(1, 0, 2, 3)),
        Mee=of.Mee + np.einsum("ijaa->ij", B),
    )


def _with_linear_inertia(of: ModalIntegrals, body: ReducedBody, J: Array) -> ModalIntegrals:
    """Adds the inertias J (k, 3, 3) of points that stay fixed in the head frame."""
    psi, pairs = body.point_psi, len(of.A) - of.mode_count
    moment = np.einsum("kab,kbi->ai", J, psi)[None]  # of which ax(-moment~ / 2) is the moment
    return replace(
        of,
        P0=of.P0 + _second_moments(J).sum(axis=0),
        A=of.A + np.pad(-0.5 * _cross_matrices(moment)[0], ((0, pairs), (0, 0), (0, 0))),
        Mee=of.Mee + np.einsum("kai,kab,kbj->ij", psi, J, psi, optimize=True),
    )


def _second_moments(J: Array) -> Array:
    """E of (1), of inertias (k, 3, 3)."""
    return np.asarray(0.5 * np.einsum("kaa->k", J)[:, None, None] * np.eye(3) - J)


def _exactly_symmetric(B: Array) -> Array:
    """B_ji = B_ij^T to the last bit, so that the mass matrix comes out exactly symmetric."""
    return np.asarray(0.5 * (B + B.transpose(1, 0, 3, 2)))


def _cross_matrices(shapes: Array) -> Array:
    """a~ of every column a of (k, 3, n): (k, n, 3, 3)."""
    columns = np.cross(shapes.transpose(0, 2, 1)[:, :, None, :], np.eye(3))
    return np.asarray(columns.transpose(0, 1, 3, 2))
