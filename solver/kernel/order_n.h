// Accelerations by the Order-N recursion: Ghosh & Quiocho (4.1)-(4.11), Huynh (10)-(62).
// From the body terms that prepare() leaves. Loops come in between the two passes (loops.h).
//
// inward, leaves to ground, for every body:
//     modes and wheels   M A + sum c_j e_j = G + F,   c_j.A + sum_k E_jk e_k = h_j          (1)
//                        are eliminated last to first, each by one rank-1 update:
//                        e_j = (h_j - c_j.A - sum_{k<j} E_jk e_k) / E_jj                    (2)
//                        M -= c_j c_j^T / E_jj,  c_k -= c_j E_jk / E_jj,  and so on
//     bias               G -= M bias, so that F = M X - G with X the head acceleration
//                        without its velocity-product part                                  (3)
//     joint              each freedom p, last to first, with effort s = p.F:
//                        U = M p,  D = p.U (+ damping),  s' = s + p.G
//                        M -= U U^T / D,   G -= U s' / D                                    (4)
//     parent             attach(): Y^T M Y, Y^T G
// outward: X from the parent, then each freedom first to last
//                        g'' = (s' - U.X) / D,   X += p g''                                 (5)
//          A = X + bias, then the modes by (2).
// A held freedom is not eliminated: its acceleration is in the bias. Nothing is inverted, no
// general matrix is solved; the cost is linear in the number of bodies.
#pragma once

#include "loops.h"

namespace pliant::PLIANT_ISA {

// row -= factor * pivot over `count` elements; both may be read and written up to a multiple of 4.
PLIANT_INLINE void subtract_row(double* row, const double* pivot, double factor, int32_t count) {
  for (int32_t k = 0; k < count; k += 4) {
    auto* r = static_cast<Lanes*>(__builtin_assume_aligned(row + k, 32));
    const auto* p = static_cast<const Lanes*>(__builtin_assume_aligned(pivot + k, 32));
    *r -= *p * factor;
  }
}
PLIANT_INLINE void subtract_row(Dual* row, const Dual* pivot, Dual factor, int32_t count) {
  for (int32_t k = 0; k < count; ++k) row[k] -= pivot[k] * factor;
}

// (2) for the n internal coordinates of a body, last to first; returns the first one whose pivot
// is not positive, or -1.
template <class T, class Count>
inline int32_t eliminate(Count n, InternalWork<T>* internal, T* coupling, Sym6<T>& M, Vec6<T>& G) {
  const int32_t stride = padded(n);
  int32_t singular = -1;
#pragma GCC unroll 4  // in registers, if n is known
  for (int32_t j = n - 1; j >= 0; --j) {
    const T* row = coupling + j * stride;
    const T pivot = row[j];
    if (!(value(pivot) > 0.0) && singular < 0) singular = j;
    const T inverse = T(1.0) / pivot;
    internal[j].inverse = inverse;
    const Vec6<T> c = internal[j].column;
    const Vec6<T> scaled = c * inverse;
    const T h = internal[j].rhs;
    subtract_rank1(M, c, inverse);
    G -= scaled * h;
    for (int32_t k = 0; k < j; ++k) {
      const T factor = row[k] * inverse;
      internal[k].column -= c * factor;
      internal[k].rhs -= h * factor;
      subtract_row(coupling + k * stride, row, factor, k + 1);
    }
  }
  return singular;
}

// What a pivot that is not positive means. Within rounding of the body's own inertia nothing is
// there to move. Far below zero deflections are of a radian and more, where the second order of
// rotary inertia has lost its sense: the motion has blown up.
template <class T>
inline Status without_pivot(const Model& m, const Data<T>& d, const Status& singular) {
  constexpr double kRounding = 1e-9;
  const bool is_joint = singular.code == Code::singular_joint;
  for (const BodyConst& b : m.bodies) {
    const int32_t first = is_joint ? b.dof0 : b.u0 + b.dofs;
    const int32_t k = singular.element - first;
    if (k < 0 || k >= (is_joint ? b.dofs : b.modes)) continue;
    const double* J = b.inertia.c;
    double own = k < b.translations ? b.mass : J[0] + J[5] + J[10];
    if (!is_joint) own = m.matrices[b.matrix0 + k * b.modes + k];
    if (own == 0.0 || !(singular.value < -kRounding * own)) return singular;
    const int32_t speed = (is_joint ? b.u0 : first) + k;
    return {Code::diverged, speed, value(d.u[speed]), 0};
  }
  return singular;
}

template <class T>
inline Status inward(const Model& m, Data<T>& d) {
  Status status;
  for (auto i = static_cast<int32_t>(m.bodies.size()) - 1; i >= 0; --i) {
    const BodyConst& b = m.bodies[i];
    BodyWork<T>& body = d.body[i];
    InternalWork<T>* internal = &d.internal[b.internal0];
    T* coupling = &d.coupling[b.coupling0];
    Sym6<T> M = body.M;
    Vec6<T> G = body.G;
    const int32_t singular =
        with_count(b.internals, [&](auto n) { return eliminate(n, internal, coupling, M, G); });
    if (singular >= 0 && status.code == Code::ok) {
      const double pivot = value(coupling[singular * b.stride + singular]);
      status = {Code::singular_internal, b.u0 + b.dofs + singular, pivot, 0};
    }

    G -= M * body.bias;  // (3)

    DofWork<T>* dof = &d.dof[b.dof0];
    for (int32_t k = b.dofs - 1; k >= 0; --k) {  // (4)
      if (d.held[b.dof0 + k]) continue;
      const V3<T> axis = dof[k].axis;
      Vec6<T> U;
      T D;
      if (k < b.translations) {
        U = {M.A * axis, transposed_times(M.B, axis)};
        D = dot(axis, U.lin);
        dof[k].force += dot(axis, G.lin);
      } else {
        U = {M.B * axis, M.C * axis};
        D = dot(axis, U.ang);
        dof[k].force += dot(axis, G.ang);
      }
      if (b.passive) D += dof[k].damping;
      if (!(value(D) > 0.0) && status.code == Code::ok) {
        status = {Code::singular_joint, b.dof0 + k, value(D), 0};
      }
      const T inverse = T(1.0) / D;
      dof[k].U = U;
      dof[k].inverse = inverse;
      subtract_rank1(M, U, inverse);
      G -= U * (dof[k].force * inverse);
    }
    body.M = M;
    body.G = G;
    if (b.parent >= 0) attach(m, d, b, body);
  }
  return status.code == Code::ok ? status : without_pivot(m, d, status);
}

template <class T>
inline void outward_accelerations(const Model& m, Data<T>& d) {
  const auto count = static_cast<int32_t>(m.bodies.size());
  for (int32_t i = 0; i < count; ++i) {
    const BodyConst& b = m.bodies[i];
    BodyWork<T>& body = d.body[i];
    const DofWork<T>* dof = &d.dof[b.dof0];
    T* udot = &d.udot[b.u0];
    Vec6<T> X = inboard_acceleration(m, d, b, body);
    for (int32_t k = 0; k < b.dofs; ++k) {  // (5)
      if (d.held[b.dof0 + k]) {
        udot[k] = dof[k].acceleration;
        continue;
      }
      const T acceleration = (dof[k].force - dot(dof[k].U, X)) * dof[k].inverse;
      udot[k] = acceleration;
      if (k < b.translations) {
        X.lin += dof[k].axis * acceleration;
      } else {
        X.ang += dof[k].axis * acceleration;
      }
    }
    body.A = X + body.bias;
    const InternalWork<T>* internal = &d.internal[b.internal0];
    const T* coupling = &d.coupling[b.coupling0];
    with_count(b.internals, [&](auto n) {  // (2)
      T* etadd = udot + b.dofs;
      for (int32_t j = 0; j < n; ++j) {
        T rest = internal[j].rhs - dot(internal[j].column, body.A);
        for (int32_t k = 0; k < j; ++k) rest -= coupling[j * padded(n) + k] * etadd[k];
        etadd[j] = rest * internal[j].inverse;
      }
    });
  }
}

template <class T>
inline Status order_n(const Model& m, Data<T>& d) {
  Status status = inward(m, d);
  if (status.code != Code::ok) return status;
  outward_accelerations(m, d);
  if (m.loops.empty()) return status;
  status = solve_loops(m, d);
  if (status.code == Code::ok) outward_accelerations(m, d);
  return status;
}

// Force [force; moment about the head] that the joint of a body exerts on it, world axes: with
// the articulated M, G that order_n leaves, F = M X - G.
template <class T>
inline Vec6<T> joint_force(const Model& m, const Data<T>& d, int32_t i) {
  const BodyConst& b = m.bodies[i];
  const BodyWork<T>& body = d.body[i];
  return body.M * inboard_acceleration(m, d, b, body) - body.G;
}

}  // namespace pliant::PLIANT_ISA
