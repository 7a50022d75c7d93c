// The mutable half of the kernel: what one evaluation of the accelerations reads and writes.
//
// Frames: every spatial vector and matrix is in world axes. A body's are taken at its head, a
// node's at the node. With world axes nothing is turned between bodies, only moved.
//
// Passes (see forward_dynamics.h):
//   outward    writes R, p, V, bias, M, G, column, coupling, rhs, NodeWork
//   inward     reads those and writes, in place, the articulated M, G and what elimination leaves
//   outward 2  writes A and udot
#pragma once

#include <cstring>

#include "buffer.h"
#include "model.h"
#include "spatial.h"
#include "stepper.h"

namespace pliant::PLIANT_ISA {

template <class T>
struct BodyWork {
  M3<T> R;       // head axes
  V3<T> p;       // head position
  Vec6<T> V;     // head velocity
  Vec6<T> bias;  // head acceleration for zero accelerations inboard and zero joint accelerations
  V3<T> arm;     // from where it hangs (rigid parent's head, flexible parent's node) to the head
  V3<T> moment;  // first mass moment about the head
  Sym6<T> M;     // outward: own inertia; inward: articulated, joint eliminated
  Vec6<T> G;     // the same for the forces that are not M A
  Vec6<T> A;     // head acceleration minus gravity
};

// One freedom of a joint.
template <class T>
struct DofWork {
  V3<T> axis;      // of translation or rotation
  Vec6<T> U;       // M times its unit motion, all later freedoms eliminated
  T inverse;       // 1 / (unit motion . U)
  T force;         // effort, then effort + unit motion . G
  T damping;       // added to the pivot by friction (see Data::damping_time)
  T acceleration;  // prescribed, when the freedom is held
};

// One coordinate inside a body: a mode or a wheel.
template <class T>
struct InternalWork {
  Vec6<T> column;  // of the mass matrix, against the motion of the head
  T inverse;       // 1 / pivot
  T rhs;
};

// A node of a flexible body.
template <class T>
struct NodeWork {
  M3<T> R;       // node axes
  V3<T> r;       // from the head
  Vec6<T> V;     // velocity
  Vec6<T> bias;  // acceleration for zero accelerations of head and modes
};

// Numbers of up to eight loads side by side (columns.h).
constexpr int32_t kPack = 8;
template <class T>
struct Pack {
  T a[kPack];
};

// One held direction of a loop, world axes (loops.h).
template <class T>
struct LoopRowWork {
  Vec6<T> on_a, on_b;  // unit force on either node
  T gap, rate, bias;   // g, g', g'' for zero accelerations of heads and modes
};

// One free direction of a loop.
template <class T>
struct LoopFreedomWork {
  Vec6<T> on_b;  // unit effort on node b
  T position, rate, effort;
};

// Where a prescribed direction of a loop is to be; zero for held ones.
template <class T>
struct LoopTarget {
  T position, rate, acceleration;
};

template <class T>
struct Data {
  explicit Data(const Model& m)
      : body(m.bodies.size()),
        dof(m.dof_count),
        internal(m.internal_count),
        coupling(m.coupling_size),
        node(m.nodes.size()),
        jacobian(m.jacobian_columns + 3),
        q(m.q_size),
        u(m.u_size),
        du(m.u_size),
        u_damped(m.u_size),
        head_dV(m.bodies.size()),
        node_dV(m.nodes.size()),
        udot(m.u_size),
        input(m.input_size),
        held(m.dof_count),
        field_q(m.largest_fields),
        field_u(m.largest_fields),
        field_du(m.largest_fields),
        field_a(m.largest_fields),
        field_bias(m.largest_fields),
        field_mass(m.largest_modes),
        field_column(m.largest_fields),
        field_product(m.largest_fields),
        psi(m.largest_modes),
        loaded(m.nodes.size()),
        pack_rhs(m.largest_internals),
        node_column(m.u_size),
        pack_rows(m.loop_rows.size()),
        path(m.bodies.size()),
        loop_row(m.loop_rows.size()),
        loop_freedom(m.loop_freedoms.size()),
        loop_target(m.loop_rows.size()),
        loop_angle(m.loop_rows.size()),
        loop_turned(m.loop_freedoms.size()),
        row_jacobian(m.loops.size() * static_cast<std::size_t>(m.u_size)),
        column(m.loops.size() * static_cast<std::size_t>(m.u_size)),
        column_sum(m.u_size),
        kinematic_matrix(m.loop_rows.size() * m.loop_rows.size()),
        lambda_matrix(m.loop_rows.size() * m.loop_rows.size()),
        lambda_factor(m.loop_rows.size() * m.loop_rows.size()),
        multiplier(m.loop_rows.size()),
        multiplier_scratch(m.loop_rows.size()),
        row_scratch(m.loop_rows.size()),
        pivot_scale(m.loop_rows.size()),
        row_bias(m.loop_rows.size()),
        row_bias_before(m.loop_rows.size()),
        pivot_order(m.loop_rows.size()) {
    for (int32_t i = 0; i < m.dof_count; ++i) held[i] = m.dofs[i].drive != kFreeDrive ? 1 : 0;
  }

  std::size_t bytes() const {
    return sizeof(*this) + body.bytes() + dof.bytes() + internal.bytes() + coupling.bytes() +
           node.bytes() + jacobian.bytes() + q.bytes() + u.bytes() + du.bytes() + u_damped.bytes() +
           head_dV.bytes() + node_dV.bytes() + udot.bytes() + input.bytes() + held.bytes() +
           field_q.bytes() + field_u.bytes() + field_du.bytes() + field_a.bytes() +
           field_bias.bytes() + field_mass.bytes() + field_column.bytes() + field_product.bytes() +
           psi.bytes() + loaded.bytes() + pack_rhs.bytes() + node_column.bytes() +
           pack_rows.bytes() + path.bytes() + loop_row.bytes() + loop_freedom.bytes() +
           loop_target.bytes() + loop_angle.bytes() + loop_turned.bytes() + column.bytes() +
           column_sum.bytes() + row_jacobian.bytes() + kinematic_matrix.bytes() +
           lambda_matrix.bytes() + lambda_factor.bytes() + multiplier.bytes() +
           multiplier_scratch.bytes() + row_scratch.bytes() + row_bias.bytes() +
           row_bias_before.bytes() + pivot_scale.bytes() + pivot_order.bytes();
  }

  Buffer<BodyWork<T>> body;
  Buffer<DofWork<T>> dof;
  Buffer<InternalWork<T>> internal;
  Buffer<T> coupling;        // per body: mass matrix of its internal coordinates, lower triangle
  Buffer<NodeWork<T>> node;  // of flexible bodies
  Buffer<Vec6<T>> jacobian;  // per flexible node: motion of the node by each mode; read by fours

  Buffer<T> q, u;  // where the accelerations are evaluated
  // Of an integrator that knows the speeds in the middle of its step by extrapolation only
  // (integrators.h): velocity products of du are added, times `correction`; friction, damping and
  // the rates of loops count at the speed u_damped + damping_time udot. Zero: not so.
  Buffer<T> du, u_damped;
  Buffer<Vec6<T>> head_dV, node_dV;  // what du makes of the velocities of heads and nodes
  double correction = 0.0, damping_time = 0.0;
  Buffer<T> udot;
  Buffer<T> input;             // at that time
  Buffer<unsigned char> held;  // freedoms whose acceleration is given

  // Scratch of one flexible body: coordinates of its fields, their rates, the rates' products,
  // and what becomes of them.
  Buffer<T> field_q, field_u, field_du, field_a, field_bias, field_mass;
  Buffer<V3<T>> field_column, field_product, psi;

  Buffer<int32_t> loaded;  // nodes with a load from outside
  int32_t loaded_count = 0;

  // Packs of loads (columns.h): scratch, the columns of one node, their products with loops.
  Buffer<Pack<T>> pack_rhs, node_column, pack_rows;
  Buffer<int32_t> path;

  // Loops (loops.h). outward: rows and freedoms; inward: Jacobian and columns (loop x speed), which
  // rows are live, Lambda and the factors of its live part (row x row); then the multipliers and
  // what they add to right-hand sides.
  Buffer<LoopRowWork<T>> loop_row;
  Buffer<LoopFreedomWork<T>> loop_freedom;
  Buffer<LoopTarget<T>> loop_target;
  Buffer<T> loop_angle;        // prescribed about the first free axis, for rows of kind rotation
  Buffer<double> loop_turned;  // where angles were last, to know in which turn they are
  Buffer<Pack<T>> row_jacobian, column;
  Buffer<T> column_sum;
  Buffer<double> kinematic_matrix;  // its factors, in pivot_order
  Buffer<T> lambda_matrix, lambda_factor, multiplier, multiplier_scratch, row_scratch, pivot_scale;
  // g'' less what accelerations make of it; that of an earlier moment, and how much of the
  // difference enters the rates
  Buffer<T> row_bias, row_bias_before;
  double bias_trend = 0.0;
  Buffer<int32_t> pivot_order;  // rows, the live ones first
  int32_t loop_rank = 0;        // how many are live
  double least_pivot = 0.0;     // what decided it
  double loop_time = 1.0;       // T of Baumgarte

  NodeRotation node_rotation = NodeRotation::exact;
};

}  // namespace pliant::PLIANT_ISA
