// What single loads do to a mechanism that order_n has factorised.
//
// Eliminating coordinates (order_n.h) is the factorisation M = L D L^T: D holds the pivots
// 1/inverse of freedoms and internal coordinates, and sending a load inward through what
// elimination left is the forward substitution y = L^-1 c, c the generalised force of the load. A
// load reaches the ground along its own path, so y is zero off it, and for two loads
//     c_i . M^-1 c_j = sum over the common path of y_i y_j / D.                              (1)
// This is the inverse inertia between two nodes, or between two directions of loops: Ghosh &
// Quiocho's Step 3 without its outward recursion, symmetric and not negative by construction.
// Cost of a column: the freedoms and modes on its path.
#pragma once

#include "forward_dynamics.h"

namespace pliant::PLIANT_ISA {

// 1/D of coordinate k of a body: freedoms first, then modes and wheels, as in u and y.
template <class T>
inline T pivot_inverse(const Data<T>& d, const BodyConst& b, int32_t k) {
  if (k >= b.dofs) return d.internal[b.internal0 + k - b.dofs].inverse;
  return d.held[b.dof0 + k] ? T(0.0) : d.dof[b.dof0 + k].inverse;
}

// Carries a force G at the head of body i, and forces rhs on its internal coordinates, inward
// through freedoms below `dofs`, adding to y and, if wanted, to what every joint passes on.
template <class T>
inline void carry_inward(const Model& m, Data<T>& d, int32_t i, Vec6<T> G, int32_t dofs, T* y,
                         Vec6<T>* passed) {
  T* rhs = d.column_rhs.data();
  while (true) {
    const BodyConst& b = m.bodies[i];
    T* own = y + b.u0;
    for (int32_t j = b.internals - 1; j >= 0; --j) {
      const InternalWork<T>& internal = d.internal[b.internal0 + j];
      const T* row = &d.coupling[b.coupling0 + j * b.stride];
      own[b.dofs + j] += rhs[j];
      const T scaled = rhs[j] * internal.inverse;
      G -= internal.column * scaled;
      for (int32_t k = 0; k < j; ++k) rhs[k] -= row[k] * scaled;
    }
    for (int32_t k = dofs - 1; k >= 0; --k) {
      if (d.held[b.dof0 + k]) continue;
      const DofWork<T>& dof = d.dof[b.dof0 + k];
      const T force = dot(dof.axis, k < b.translations ? G.lin : G.ang);
      own[k] += force;
      G -= dof.U * (force * dof.inverse);
    }
    if (passed != nullptr) passed[i] += G;
    if (b.parent < 0) return;
    const BodyConst& pc = m.bodies[b.parent];
    G = force_from(G, d.body[i].arm);
    for (int32_t j = 0; j < pc.internals; ++j) rhs[j] = T(0.0);
    if (b.parent_node >= 0) {
      const Vec6<T>* s = &d.jacobian[m.nodes[b.parent_node].work0];
      for (int32_t j = 0; j < pc.modes; ++j) rhs[j] = dot(s[j], G);
      G = force_from(G, d.node[b.parent_node].r);
    }
    i = b.parent;
    dofs = pc.dofs;
  }
}

// Adds the column of a wrench at a node, world axes. Kinematics of the node must be in Data.
template <class T>
inline void add_wrench(const Model& m, Data<T>& d, int32_t node, const Vec6<T>& wrench, T* y,
                       Vec6<T>* passed) {
  const NodeConst& c = m.nodes[node];
  const BodyConst& b = m.bodies[c.body];
  T* rhs = d.column_rhs.data();
  for (int32_t j = 0; j < b.internals; ++j) {
    rhs[j] = j < b.modes ? dot(d.jacobian[c.work0 + j], wrench) : T(0.0);
  }
  const V3<T> r = b.modes > 0 ? d.node[node].r : d.body[c.body].R * V3<T>::load(c.position.x);
  carry_inward(m, d, c.body, force_from(wrench, r), b.dofs, y, passed);
}

// Adds the column of an effort on freedom k of the joint of body i.
template <class T>
inline void add_effort(const Model& m, Data<T>& d, int32_t i, int32_t k, T effort, T* y,
                       Vec6<T>* passed) {
  const BodyConst& b = m.bodies[i];
  const DofWork<T>& dof = d.dof[b.dof0 + k];
  T* rhs = d.column_rhs.data();
  for (int32_t j = 0; j < b.internals; ++j) rhs[j] = T(0.0);
  y[b.u0 + k] += effort;
  carry_inward(m, d, i, dof.U * (-effort * dof.inverse), k, y, passed);
}

template <class T>
inline void clear_path(const Model& m, int32_t body, T* y) {
  for (int32_t i = body; i >= 0; i = m.bodies[i].parent) {
    const BodyConst& b = m.bodies[i];
    for (int32_t k = 0; k < b.dofs + b.internals; ++k) y[b.u0 + k] = T(0.0);
  }
}

// z = y / D over a list of bodies.
template <class T>
inline void weigh_path(const Model& m, const Data<T>& d, const int32_t* path, int32_t length,
                       const T* y, T* z) {
  for (int32_t p = 0; p < length; ++p) {
    const BodyConst& b = m.bodies[path[p]];
    for (int32_t k = 0; k < b.dofs + b.internals; ++k) {
      z[b.u0 + k] = y[b.u0 + k] * pivot_inverse(d, b, k);
    }
  }
}

}  // namespace pliant::PLIANT_ISA
