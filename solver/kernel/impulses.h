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
inline Status stop_joint(const Model& m, Data<double>& d, int32_t body) {
  const BodyConst& b = m.bodies[body];
  const auto held = static_cast<int32_t>(m.loop_rows.size());
  const auto loops = static_cast<int32_t>(m.loops.size());
  const int32_t n = b.dofs;
  const BodyPath path = path_of(m, d, body);
  Pack<double>* y = d.node_column.data();
  clear_path(m, path, y);
  add_efforts(m, d, body, y);
  Pack<double> rows[6];
  inverse_inertia(m, d, path, y, n, rows);

  // Freedoms that loops leave to the joint, by kinematics as (5) of loops.h: what is left of a unit
  // effort, in the metric there, beside the live rows.
  double S[36], left[36], L[36], p[6], scale[6], scratch[6];
  int32_t order[6];
  for (int32_t k = 0; k < n; ++k) {
    double* row = d.multiplier_scratch.data();
    for (int32_t l = 0; l < loops; ++l) {
      const LoopConst& loop = m.loops[l];
      const Pack<double>& J = d.row_jacobian[l * m.u_size + b.u0 + k];
      const bool on_path = std::binary_search(&m.loop_paths[loop.path0],
                                              &m.loop_paths[loop.path0] + loop.paths, body);
      for (int32_t i = 0; i < loop.rows; ++i) {
        row[loop.row0 + i] = on_path ? J.a[i] * m.row_scale[loop.row0 + i] : 0.0;
      }
    }
    if (held > 0) {
      solve_ordered(d.kinematic_matrix.data(), held, d.pivot_order.data(), d.loop_rank,
                    static_cast<const double*>(nullptr), row, d.row_scratch.data());
    }
    for (int32_t j = 0; j <= k; ++j) {
      double taken = 0.0;
      for (int32_t l = 0; l < loops; ++l) {
        const LoopConst& loop = m.loops[l];
        const Pack<double>& J = d.row_jacobian[l * m.u_size + b.u0 + j];
        for (int32_t i = 0; i < loop.rows; ++i) {
          const int32_t at = loop.row0 + i;
          if (row[at] != 0.0) taken += row[at] * J.a[i] * m.row_scale[at];
        }
      }
      const double reach = std::sqrt(m.reach[b.u0 + j] * m.reach[b.u0 + k]);
      left[k * n + j] = (j == k ? 1.0 : 0.0) - taken * reach;
      S[k * n + j] = rows[k].a[j];
    }
    p[k] = -d.u[b.u0 + k];
  }
  const int32_t rank = find_independent(left, n, order, held > 0 ? d.least_pivot : 0.0);
  if (const int32_t lost = factor_ordered(S, n, order, rank, L, scale); lost >= 0) {
    return {Code::loop_lost, 0, L[lost * n + lost], 0};
  }
  solve_ordered(L, n, order, rank, scale, p, scratch);

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
  return {};
}

}  // namespace pliant::PLIANT_ISA
