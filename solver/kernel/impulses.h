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

// sum += factor * column of a loop's row, over its path.
inline void add_row_column(const Model& m, const Data<double>& d, const LoopConst& loop,
                           int32_t row, double factor, double* sum) {
  const double* y = &d.column[row * m.u_size];
  for (int32_t p = 0; p < loop.paths; ++p) {
    const BodyConst& b = m.bodies[m.loop_paths[loop.path0 + p]];
    for (int32_t k = b.u0; k < b.u0 + b.dofs + b.internals; ++k) sum[k] += factor * y[k];
  }
}

// The smallest change (in kinetic energy) of positions or speeds that moves every row of all
// loops by -amount, into d.udot. Needs inward() and loop_columns(); amount is overwritten.
inline void close_rows(const Model& m, Data<double>& d, double* amount) {
  double* sum = d.node_column.data();
  std::fill(sum, sum + m.u_size, 0.0);
  solve_rows(m, d, amount);
  for (const LoopConst& loop : m.loops) {
    for (int32_t i = loop.row0; i < loop.row0 + loop.rows; ++i) {
      add_row_column(m, d, loop, i, -amount[i], sum);
    }
  }
  outward_response(m, d, sum);
}

// The jump of all speeds, into d.udot, by the impulses that stop the joint of a body while loops
// keep their rates: S p = -u with S the inverse inertia along the joint's freedoms, loops holding.
// Needs inward() and, with loops, loop_columns().
inline void stop_joint(const Model& m, Data<double>& d, int32_t body) {
  const BodyConst& b = m.bodies[body];
  const auto rows = static_cast<int32_t>(m.loop_rows.size());
  const int32_t n = b.dofs;
  int32_t length = 0;
  for (int32_t i = body; i >= 0; i = m.bodies[i].parent) ++length;
  for (int32_t i = body, at = length; i >= 0; i = m.bodies[i].parent) d.path[--at] = i;
  const int32_t* path = d.path.data();

  double S[36], p[6], scale[6], scratch[6];
  int32_t order[6];
  for (int32_t k = 0; k < n; ++k) {
    double* y = &d.node_column[k * m.u_size];
    std::fill(y, y + m.u_size, 0.0);
    add_effort(m, d, body, k, 1.0, y, static_cast<Vec6<double>*>(nullptr));
  }
  for (int32_t k = 0; k < n; ++k) {
    weigh_path(m, d, path, length, &d.node_column[k * m.u_size], d.column_scaled.data());
    for (int32_t j = 0; j <= k; ++j) {
      S[k * n + j] = product_on_common_path(m, path, length, path, length, d.column_scaled.data(),
                                            &d.node_column[j * m.u_size]);
    }
    for (const LoopConst& loop : m.loops) {
      for (int32_t i = loop.row0; i < loop.row0 + loop.rows; ++i) {
        d.node_rows[k * rows + i] =
            product_on_common_path(m, path, length, &m.loop_paths[loop.path0], loop.paths,
                                   d.column_scaled.data(), &d.column[i * m.u_size]);
      }
    }
  }
  double* carried = d.multiplier_scratch.data();
  for (int32_t k = 0; k < n && rows > 0; ++k) {
    std::copy(&d.node_rows[k * rows], &d.node_rows[k * rows] + rows, carried);
    solve_rows(m, d, carried);
    for (int32_t j = 0; j <= k; ++j) {
      for (int32_t i = 0; i < rows; ++i) S[k * n + j] -= d.node_rows[j * rows + i] * carried[i];
    }
  }
  for (int32_t k = 0; k < n; ++k) p[k] = -d.u[b.u0 + k];
  const int32_t rank = factor_semidefinite(S, n, order, scale);
  solve_semidefinite(S, n, rank, order, scale, p, scratch);

  for (int32_t i = 0; i < rows; ++i) {
    carried[i] = 0.0;
    for (int32_t k = 0; k < n; ++k) carried[i] -= d.node_rows[k * rows + i] * p[k];
  }
  if (rows > 0) solve_rows(m, d, carried);
  double* sum = d.node_column.data();  // the first column becomes the sum
  for (int32_t u = 0; u < m.u_size; ++u) {
    double total = 0.0;
    for (int32_t k = 0; k < n; ++k) total += d.node_column[k * m.u_size + u] * p[k];
    sum[u] = total;
  }
  for (const LoopConst& loop : m.loops) {
    for (int32_t i = loop.row0; i < loop.row0 + loop.rows; ++i) {
      add_row_column(m, d, loop, i, carried[i], sum);
    }
  }
  outward_response(m, d, sum);
}

}  // namespace pliant::PLIANT_ISA
