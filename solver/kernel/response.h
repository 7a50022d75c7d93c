// Accelerations that one load alone causes, on a mechanism as order_n left it factorised.
//
// A wrench at a node reaches the rest of the tree through its own path to the ground, and a node's
// acceleration depends on its own path only: both passes walk a path, not the tree. They repeat
// the elimination (2)-(5) of order_n.h on right-hand sides that hold nothing but the load, without
// velocity products (Ghosh & Quiocho's Qc, Wc, Hc of Step 3 are these columns, stored).
// Cost: the number of freedoms and modes on the two paths.
#pragma once

#include "forward_dynamics.h"

namespace pliant::PLIANT_ISA {

// Inward from a node: leaves right-hand sides in Data::response_*, zero elsewhere on the path.
template <class T>
inline void push_load(const Model& m, Data<T>& d, int32_t node, const Vec6<T>& wrench) {
  const NodeConst& c = m.nodes[node];
  int32_t i = c.body;
  for (int32_t at = i; at >= 0; at = m.bodies[at].parent) {
    const BodyConst& b = m.bodies[at];
    for (int32_t j = 0; j < b.internals; ++j) d.response_rhs[b.internal0 + j] = T(0.0);
    for (int32_t k = 0; k < b.dofs; ++k) d.response_force[b.dof0 + k] = T(0.0);
  }
  Vec6<T> G;
  if (m.bodies[i].modes == 0) {
    G = force_from(wrench, d.body[i].R * V3<T>::load(c.position.x));
  } else {
    G = force_from(wrench, d.node[node].r);
    for (int32_t j = 0; j < m.bodies[i].modes; ++j) {
      d.response_rhs[m.bodies[i].internal0 + j] = dot(d.jacobian[c.work0 + j], wrench);
    }
  }
  while (true) {
    const BodyConst& b = m.bodies[i];
    T* rhs = &d.response_rhs[b.internal0];
    for (int32_t j = b.internals - 1; j >= 0; --j) {
      const InternalWork<T>& internal = d.internal[b.internal0 + j];
      const T* row = &d.coupling[b.coupling0 + j * b.stride];
      const T scaled = rhs[j] * internal.inverse;
      G -= internal.column * scaled;
      for (int32_t k = 0; k < j; ++k) rhs[k] -= row[k] * scaled;
    }
    for (int32_t k = b.dofs - 1; k >= 0; --k) {
      if (d.held[b.dof0 + k]) continue;
      const DofWork<T>& dof = d.dof[b.dof0 + k];
      const T force = dot(dof.axis, k < b.translations ? G.lin : G.ang);
      d.response_force[b.dof0 + k] = force;
      G -= dof.U * (force * dof.inverse);
    }
    if (b.parent < 0) return;
    G = force_from(G, d.body[i].arm);
    if (b.parent_node >= 0) {
      const BodyConst& pc = m.bodies[b.parent];
      const Vec6<T>* s = &d.jacobian[m.nodes[b.parent_node].work0];
      for (int32_t j = 0; j < pc.modes; ++j) d.response_rhs[pc.internal0 + j] += dot(s[j], G);
      G = force_from(G, d.node[b.parent_node].r);
    }
    i = b.parent;
  }
}

// Outward to a node: its acceleration under the right-hand sides of push_load.
template <class T>
inline Vec6<T> pull_acceleration(const Model& m, Data<T>& d, int32_t node) {
  const NodeConst& c = m.nodes[node];
  int32_t depth = 0;
  for (int32_t at = c.body; at >= 0; at = m.bodies[at].parent) d.path[depth++] = at;

  Vec6<T> A = Vec6<T>::zero();
  const auto carried = [&](const BodyConst& b, int32_t at_node, V3<T> r) {
    Vec6<T> moved = motion_at(A, r);
    const Vec6<T>* s = &d.jacobian[m.nodes[at_node].work0];
    for (int32_t j = 0; j < b.modes; ++j) moved += s[j] * d.response_udot[b.internal0 + j];
    return moved;
  };
  while (depth > 0) {
    const int32_t i = d.path[--depth];
    const BodyConst& b = m.bodies[i];
    if (b.parent_node >= 0) A = carried(m.bodies[b.parent], b.parent_node, d.node[b.parent_node].r);
    A = motion_at(A, d.body[i].arm);
    for (int32_t k = 0; k < b.dofs; ++k) {
      if (d.held[b.dof0 + k]) continue;
      const DofWork<T>& dof = d.dof[b.dof0 + k];
      const T acceleration = (d.response_force[b.dof0 + k] - dot(dof.U, A)) * dof.inverse;
      (k < b.translations ? A.lin : A.ang) += dof.axis * acceleration;
    }
    T* udot = &d.response_udot[b.internal0];
    for (int32_t j = 0; j < b.internals; ++j) {
      const InternalWork<T>& internal = d.internal[b.internal0 + j];
      const T* row = &d.coupling[b.coupling0 + j * b.stride];
      T rest = d.response_rhs[b.internal0 + j] - dot(internal.column, A);
      for (int32_t k = 0; k < j; ++k) rest -= row[k] * udot[k];
      udot[j] = rest * internal.inverse;
    }
  }
  const BodyConst& b = m.bodies[c.body];
  if (b.modes == 0) return motion_at(A, d.body[c.body].R * V3<T>::load(c.position.x));
  return carried(b, node, d.node[node].r);
}

// Inverse inertia that a node shows, J M^-1 J^T over [force; torque], world axes: the lower
// triangle, row by row.
template <class T>
inline void inverse_inertia(const Model& m, Data<T>& d, int32_t node, T* lower) {
  if (m.bodies[m.nodes[node].body].modes > 0) node_kinematics(m, d, node);
  for (int32_t column = 0; column < 6; ++column) {
    T unit[6] = {T(0.0), T(0.0), T(0.0), T(0.0), T(0.0), T(0.0)};
    unit[column] = T(1.0);
    push_load(m, d, node,
              Vec6<T>{V3<T>::of(unit[0], unit[1], unit[2]), V3<T>::of(unit[3], unit[4], unit[5])});
    const Vec6<T> A = pull_acceleration(m, d, node);
    for (int32_t row = column; row < 6; ++row) {
      lower[row * (row + 1) / 2 + column] = row < 3 ? A.lin[row] : A.ang[row - 3];
    }
  }
}

}  // namespace pliant::PLIANT_ISA
