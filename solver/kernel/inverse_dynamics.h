// What drives a model: the generalised forces Q + J^T lam on its speeds, of M u' = Q + J^T lam.
// Inverse dynamics at u' = 0, from the body terms that prepare() leaves.
//
//     loops     the forces lam on their held directions act on the nodes like loads
//     outward   A of every body as it would be at u' = 0: gravity (as an upward acceleration of
//               the ground) and velocity products; the force that is left over is G - M A
//     inward    a freedom p takes effort + p.G, a mode or wheel h - c.A and, at the node where
//               something hangs, s.G of what hangs there; all of G goes on to the parent
//
// For T = Dual with exact derivatives. Linear in the number of bodies; nothing is factorised, so
// that no inertia is needed.
#pragma once

#include "loops.h"

namespace pliant::PLIANT_ISA {

template <class T>
inline void add_loop_forces(const Model& m, Data<T>& d, const double* lam) {
  for (const LoopConst& loop : m.loops) {
    for (int32_t i = loop.row0; i < loop.row0 + loop.rows; ++i) {
      add_load(m, d, loop.node_b, d.loop_row[i].on_b * T(lam[i]));
      if (loop.node_a >= 0) add_load(m, d, loop.node_a, d.loop_row[i].on_a * T(lam[i]));
    }
  }
}

// Leaves the forces in Data::udot, whose place they take.
template <class T>
inline void generalised_forces(const Model& m, Data<T>& d, const double* lam) {
  add_loop_forces(m, d, lam);
  subtract_inertia_at_zero(m, d);
  const auto count = static_cast<int32_t>(m.bodies.size());
  for (int32_t i = count - 1; i >= 0; --i) {
    const BodyConst& b = m.bodies[i];
    const BodyWork<T>& body = d.body[i];
    const DofWork<T>* dof = &d.dof[b.dof0];
    T* force = &d.udot[b.u0];
    for (int32_t k = 0; k < b.dofs; ++k) {
      force[k] = dof[k].force + dot(dof[k].axis, k < b.translations ? body.G.lin : body.G.ang);
    }
    for (int32_t j = 0; j < b.internals; ++j) {
      force[b.dofs + j] = d.internal[b.internal0 + j].rhs;
    }
    if (b.parent < 0) continue;
    Vec6<T> G = force_from(body.G, body.arm);
    if (b.parent_node >= 0) {
      const BodyConst& pc = m.bodies[b.parent];
      const Vec6<T>* s = &d.jacobian[m.nodes[b.parent_node].work0];
      for (int32_t j = 0; j < pc.modes; ++j) d.internal[pc.internal0 + j].rhs += dot(s[j], G);
      G = force_from(G, d.node[b.parent_node].r);
    }
    d.body[b.parent].G += G;
  }
}

}  // namespace pliant::PLIANT_ISA
