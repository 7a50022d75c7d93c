// Accelerations by the mass matrix of the whole mechanism and Cholesky's factorisation.
//
// The matrix comes from composite bodies (Featherstone's composite-rigid-body algorithm, with
// modes): inward, every body's inertia is attached to the one it hangs on; a freedom or mode of
// body i then meets the rest through the one force that it takes,
//     f = M_composite p  (freedom)   or   f = column  (mode, wheel),
// carried inward over i's ancestors: against a freedom p.f, against a mode s.f.
// The right-hand side is the force that zero accelerations would take (inverse dynamics).
// Loops by the Schur complement J M^-1 J^T, the Jacobian J built row by row.
// Kept as an independent check on order_n, and faster for a few bodies with many modes.
#pragma once

#include <Eigen/Cholesky>
#include <algorithm>

#include "loops.h"

namespace pliant::PLIANT_ISA {

// The lower triangle of the mass matrix, row-major n x n, and the right-hand side.
// From the body terms that prepare() leaves; composite inertias take their place.
inline void assemble(const Model& m, Data<double>& d, double* matrix, double* rhs) {
  using T = double;
  const auto n = static_cast<std::size_t>(m.u_size);
  const auto count = static_cast<int32_t>(m.bodies.size());
  std::memset(matrix, 0, n * n * sizeof(double));
  // G then holds minus the force that zero accelerations take, so that attach() carries both.
  subtract_inertia_at_zero(m, d);

  for (int32_t i = count - 1; i >= 0; --i) {
    const BodyConst& b = m.bodies[i];
    const BodyWork<T>& body = d.body[i];
    const DofWork<T>* dof = &d.dof[b.dof0];
    const InternalWork<T>* internal = &d.internal[b.internal0];
    const auto u0 = static_cast<std::size_t>(b.u0);
    const auto dofs = static_cast<std::size_t>(b.dofs);
    for (int32_t j = 0; j < b.internals; ++j) {
      const std::size_t row = u0 + dofs + static_cast<std::size_t>(j);
      rhs[row] = internal[j].rhs;
      for (int32_t k = 0; k <= j; ++k) {
        matrix[row * n + u0 + dofs + static_cast<std::size_t>(k)] =
            d.coupling[b.coupling0 + j * b.stride + k];
      }
    }
    for (int32_t k = 0; k < b.dofs; ++k) {
      rhs[u0 + static_cast<std::size_t>(k)] =
          dof[k].force + dot(dof[k].axis, k < b.translations ? body.G.lin : body.G.ang);
    }

    const auto carry_inward = [&](std::size_t row, Vec6<T> f, int32_t own_dofs) {
      for (int32_t k = 0; k < own_dofs; ++k) {
        matrix[row * n + u0 + static_cast<std::size_t>(k)] =
            dot(dof[k].axis, k < b.translations ? f.lin : f.ang);
      }
      const BodyConst* at = &b;
      const BodyWork<T>* from = &body;
      while (at->parent >= 0) {
        const BodyConst& pc = m.bodies[at->parent];
        const BodyWork<T>& parent = d.body[at->parent];
        f = force_from(f, from->arm);
        if (at->parent_node >= 0) {
          const Vec6<T>* s = &d.jacobian[m.nodes[at->parent_node].work0];
          for (int32_t j = 0; j < pc.modes; ++j) {
            matrix[row * n + static_cast<std::size_t>(pc.u0 + pc.dofs + j)] = dot(s[j], f);
          }
          f = force_from(f, d.node[at->parent_node].r);
        }
        const DofWork<T>* pd = &d.dof[pc.dof0];
        for (int32_t k = 0; k < pc.dofs; ++k) {
          matrix[row * n + static_cast<std::size_t>(pc.u0 + k)] =
              dot(pd[k].axis, k < pc.translations ? f.lin : f.ang);
        }
        // Wheels of an ancestor turn with it, the force of a descendant has no part in them.
        at = &pc;
        from = &parent;
      }
    };
    for (int32_t k = 0; k < b.dofs; ++k) {
      const V3<T> axis = dof[k].axis;
      const Vec6<T> unit =
          k < b.translations ? Vec6<T>{axis, V3<T>::zero()} : Vec6<T>{V3<T>::zero(), axis};
      carry_inward(u0 + static_cast<std::size_t>(k), body.M * unit, k + 1);
      if (b.passive) {
        const std::size_t row = u0 + static_cast<std::size_t>(k);
        matrix[row * n + row] += dof[k].damping;
      }
    }
    for (int32_t j = 0; j < b.internals; ++j) {
      carry_inward(u0 + dofs + static_cast<std::size_t>(j), internal[j].column, b.dofs);
    }
    if (b.parent >= 0) attach(m, d, b, body);
  }
}

// `jacobian` is scratch of a row for each held direction of loops.
inline Status dense(const Model& m, Data<double>& d, double* matrix, double* rhs,
                    double* jacobian) {
  assemble(m, d, matrix, rhs);
  const auto n = static_cast<Eigen::Index>(m.u_size);
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<Matrix> M(matrix, n, n);
  Eigen::Map<Eigen::VectorXd> x(rhs, n);

  // A held freedom leaves the unknowns: its column, times the acceleration it has (already in
  // the right-hand side through the bias), gives way to an identity row.
  for (const BodyConst& b : m.bodies) {
    for (int32_t k = 0; k < b.dofs; ++k) {
      if (!d.held[b.dof0 + k]) continue;
      const Eigen::Index r = b.u0 + k;
      M.row(r).head(r).setZero();
      M.col(r).tail(n - r - 1).setZero();
      M(r, r) = 1.0;
      x(r) = 0.0;
    }
  }
  Eigen::LLT<Eigen::Ref<Matrix>, Eigen::Lower> factor(M);
  if (factor.info() != Eigen::Success) {
    // Name the first freedom without inertia of its own; Cholesky stops at a pivot further in.
    for (const BodyConst& b : m.bodies) {
      for (int32_t k = 0; k < b.dofs; ++k) {
        const Eigen::Index r = b.u0 + k;
        if (!(M(r, r) > 0.0)) return {Code::singular_joint, b.dof0 + k, M(r, r), 0};
      }
    }
    return {Code::singular_joint, 0, 0.0, 0};
  }
  factor.solveInPlace(x);
  if (!m.loops.empty()) {
    const auto rows = static_cast<int32_t>(m.loop_rows.size());
    find_live_rows(m, d);
    copy_jacobian(m, d, jacobian);
    // udot in Data is zero still: row_acceleration() is g'' without any
    for (const LoopConst& loop : m.loops) {
      for (int32_t i = loop.row0; i < loop.row0 + loop.rows; ++i) {
        const double* J = jacobian + i * m.u_size;
        d.row_scratch[i] = row_acceleration(m, d, loop, d.loop_row[i]) +
                           Eigen::Map<const Eigen::VectorXd>(J, n).dot(x);
      }
    }
    std::copy(rhs, rhs + m.u_size, d.udot.begin());
    row_demands(m, d, [&](const LoopConst&, const LoopRowWork<double>& row) {
      return d.row_scratch[static_cast<std::size_t>(&row - d.loop_row.data())];
    });
    // Lambda = Y^T Y with Y = L^-1 J^T, and M^-1 J^T lam = L^-T Y lam
    Eigen::Map<Eigen::MatrixXd> Y(jacobian, n, rows);
    factor.matrixL().solveInPlace(Y);
    Eigen::Map<Matrix>(d.lambda_matrix.data(), rows, rows).noalias() = Y.transpose().lazyProduct(Y);
    if (Status bad = factor_lambda(m, d); bad.code != Code::ok) return bad;
    solve_rows(m, d, d.multiplier.data());
    Eigen::Map<Eigen::VectorXd> jump(d.column_sum.data(), n);
    jump.noalias() = Y * Eigen::Map<Eigen::VectorXd>(d.multiplier.data(), rows);
    factor.matrixU().solveInPlace(jump);
    x += jump;
  }
  for (const BodyConst& b : m.bodies) {
    for (int32_t k = 0; k < b.dofs; ++k) {
      if (d.held[b.dof0 + k]) rhs[b.u0 + k] = d.dof[b.dof0 + k].acceleration;
    }
  }
  std::copy(rhs, rhs + m.u_size, d.udot.begin());
  return {};
}

}  // namespace pliant::PLIANT_ISA
