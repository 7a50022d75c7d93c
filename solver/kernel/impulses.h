// Jumps of the speeds: what impulses do to a mechanism at one position, and projections onto loops.
//
// With c the generalised impulse of unit size in some direction, y = L^-1 c its column
// (columns.h), the jump of all speeds is M^-1 c, found by the outward pass of order_n.h without
// velocity products. Impulses act between bodies, so momentum is kept.
#pragma once

#include "order_n.h"

namespace pliant::PLIANT_ISA {

// M^-1 c into d.udot from the column y of c, zero off its path. Held freedoms do not move. Uses
// the bodies' A as scratch.
inline void outward_response(const Model& m, Data<double>& d, const double* y) {
  const auto count = static_cast<int32_t>(m.bodies.size());
  for (int32_t i = 0; i < count; ++i) {
    const BodyConst& b = m.bodies[i];
    BodyWork<double>& body = d.body[i];
    double* udot = &d.udot[b.u0];
    Vec6<double> A = Vec6<double>::zero();
    if (b.parent >= 0) {
      A = d.body[b.parent].A;
      if (b.parent_node >= 0) {
        const BodyConst& pc = m.bodies[b.parent];
        const Vec6<double>* s = &d.jacobian[m.nodes[b.parent_node].work0];
        A = motion_at(A, d.node[b.parent_node].r);
        for (int32_t j = 0; j < pc.modes; ++j) A += s[j] * d.udot[pc.u0 + pc.dofs + j];
      }
      A = motion_at(A, body.arm);
    }
    for (int32_t k = 0; k < b.dofs; ++k) {
      const DofWork<double>& dof = d.dof[b.dof0 + k];
      udot[k] = d.held[b.dof0 + k] ? 0.0 : (y[b.u0 + k] - dot(dof.U, A)) * dof.inverse;
      (k < b.translations ? A.lin : A.ang) += dof.axis * udot[k];
    }
    body.A = A;
    for (int32_t j = 0; j < b.internals; ++j) {
      const InternalWork<double>& internal = d.internal[b.internal0 + j];
      const double* row = &d.coupling[b.coupling0 + j * b.stride];
      double rest = y[b.u0 + b.dofs + j] - dot(internal.column, A);
      for (int32_t k = 0; k < j; ++k) rest -= row[k] * udot[b.dofs + k];
      udot[b.dofs + j] = rest * internal.inverse;
    }
  }
}

// The smallest change (in kinetic energy) of positions or speeds that moves every row of all
// loops by -amount, into d.udot. Needs inward() and loop_columns(); amount is overwritten.
inline void close_rows(const Model& m, Data<double>& d, double* amount) {
  const auto rows = static_cast<int32_t>(m.loop_rows.size());
  const auto loops = static_cast<int32_t>(m.loops.size());
  solve_rows(m, d, amount);
  for (int32_t i = 0; i < rows; ++i) amount[i] = -amount[i];
  double* sum = d.column_sum.data();
  std::fill(sum, sum + m.u_size, 0.0);
  for (int32_t l = 0; l < loops; ++l) add_columns(m, d, l, amount, sum);
  outward_response(m, d, sum);
}

// The jump of all speeds, into d.udot, by the impulses that stop the joint of a body while loops
// keep their rates: S p = -u with S the inverse inertia along the joint's freedoms, loops holding.
// Needs inward() and, with loops, loop_columns().
inline void stop_joint(const Model& m, Data<double>& d, int32_t body) {
  const BodyConst& b = m.bodies[body];
  const auto held = static_cast<int32_t>(m.loop_rows.size());
  const auto loops = static_cast<int32_t>(m.loops.size());
  const int32_t n = b.dofs;
  const BodyPath path = path_of(m, d, body);
  Pack<double>* y = d.node_column.data();
  clear_path(m, d, path, y);
  add_efforts(m, d, body, y);
  clean_path(m, d, path, y);
  Pack<double> open[6], rows[6];
  products(m, d, path, y, path, y, n, open);
  inverse_inertia(m, d, path, y, n, rows);

  double S[36], p[6], scale[6], scratch[6];
  int32_t order[6];
  for (int32_t k = 0; k < n; ++k) {
    p[k] = -d.u[b.u0 + k];
    for (int32_t j = 0; j <= k; ++j) S[k * n + j] = rows[k].a[j];
    // where loops hold the joint already only rounding is left
    if (rows[k].a[k] <= kDependent * open[k].a[k]) S[k * n + k] = 0.0;
  }
  const int32_t rank = factor_semidefinite(S, n, order, scale);
  solve_semidefinite(S, n, rank, order, scale, p, scratch);

  double* sum = d.column_sum.data();
  std::fill(sum, sum + m.u_size, 0.0);
  for (int32_t at = 0; at < path.length; ++at) {
    const BodyConst& on = m.bodies[path.bodies[at]];
    for (int32_t u = on.u0; u < on.u0 + on.dofs + on.internals; ++u) {
      for (int32_t k = 0; k < n; ++k) sum[u] += p[k] * y[u].a[k];
    }
  }
  if (held > 0) {
    double* reaction = d.multiplier_scratch.data();
    for (int32_t i = 0; i < held; ++i) {
      reaction[i] = 0.0;
      for (int32_t k = 0; k < n; ++k) reaction[i] -= d.pack_rows[i].a[k] * p[k];
    }
    solve_rows(m, d, reaction);
    for (int32_t l = 0; l < loops; ++l) add_columns(m, d, l, reaction, sum);
  }
  outward_response(m, d, sum);
}

}  // namespace pliant::PLIANT_ISA
