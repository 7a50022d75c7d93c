// Closed loops: what holds two nodes together, and the forces it takes.
//
// A loop attaches node b to a joint frame J that moves with node a (or stands in the world). On a
// it acts at the point c of a's material where b ought to be: b less its gap, so that c slides
// along a in the free translations only, at the speed s'. Every held direction n is a row; with
// r from node a to c, v_r = v_b - v_c, w_r = w_b - w_a, all in world axes:
//     translation  g = n.(p_b - p_J),  g' = n.v_r
//                  g'' = n.(a_b - a_c) - n.(w_a x s') + (w_a x n).v_r                       (1)
//     rotation     g' = n.w_r,  g'' = n.(alpha_b - alpha_a) + n'.w_r                        (2)
// with n fixed in a (n' = w_a x n), or n = e1 x e2 between the two free axes of a universal joint,
// e1 fixed in a, e2 in b. The gap g of a rotation is n.log(R_b R_J^T) when all three are held,
// n.(e_a x e_b) when one axis e is free, and the lost right angle of a universal joint. A row that
// is prescribed has its motion subtracted.
// Its unit force acts on b as [n; 0] or [0; n] and on a as the opposite at c.
//
// Multipliers (Ghosh & Quiocho, Step 4), stabilised after Baumgarte with the time constant T:
//     Lambda lam = -(g''_0 + 2 g'/T + g/T^2),   Lambda_ij by (1) of columns.h                (3)
// g''_0 from the accelerations without loops. Rows are scaled to Lambda_ii = 1 and eliminated by
// largest pivot; one below kDependent depends on the others, or nothing can move it, and takes no
// force, which leaves the accelerations unique.
#pragma once

#include <algorithm>
#include <utility>

#include "columns.h"
#include "time_functions.h"

namespace pliant::PLIANT_ISA {

// Square of the angle, 1e-4 rad, below which directions are one. It must exceed the gaps within a
// step: of an overconstrained mechanism (Bricard's) that is a little open, the redundant direction
// differs from the others by about the gap, and would be followed with enormous forces.
constexpr double kDependent = 1e-8;

// Sets the targets of a loop's prescribed directions at the time t; `rate` is how fast the time
// goes along the direction of a Dual, zero for plain numbers.
inline void set_target(LoopTarget<double>& target, const Motion& x, double) {
  target = {x.position, x.rate, x.acceleration};
}
inline void set_target(LoopTarget<Dual>& target, const Motion& x, double rate) {
  target = {{x.position, x.rate * rate},
            {x.rate, x.acceleration * rate},
            {x.acceleration, x.jerk * rate}};
}

template <class T>
inline void drive_loop(const Model& m, const LoopConst& loop, double t, double rate, Data<T>& d) {
  T angle = T(0.0);
  for (int32_t i = loop.row0; i < loop.row0 + loop.rows; ++i) {
    const LoopRow& row = m.loop_rows[i];
    if (row.motion < 0) continue;
    set_target(d.loop_target[i], motion_at_time(m, row.motion, t), rate);
    if (row.kind == LoopRow::Kind::rotation) angle = d.loop_target[i].position;
  }
  for (int32_t i = loop.row0; i < loop.row0 + loop.rows; ++i) d.loop_angle[i] = angle;
}

// Pose and motion of one end of a loop; the ground stands still.
template <class T>
struct LoopEnd {
  V3<T> p;
  M3<T> R;
  Vec6<T> V, bias;  // bias: acceleration for zero accelerations of head and modes
};

template <class T>
inline LoopEnd<T> loop_end(const Model& m, Data<T>& d, int32_t node) {
  if (node < 0) {
    return {V3<T>::zero(), M3<T>::identity(), Vec6<T>::zero(), Vec6<T>::zero()};
  }
  const NodeConst& c = m.nodes[node];
  const BodyWork<T>& body = d.body[c.body];
  if (m.bodies[c.body].modes > 0) {
    node_kinematics(m, d, node);
    const NodeWork<T>& n = d.node[node];
    return {body.p + n.r, n.R, n.V, n.bias};
  }
  const V3<T> r = body.R * V3<T>::load(c.position.x);
  const V3<T> w = body.V.ang;
  return {body.p + r,
          body.R * M3<T>::load(c.rotation.c),
          motion_at(body.V, r),
          {cross(w, cross(w, r)), V3<T>::zero()}};
}

// Angle about `axis` from the direction x to the direction y.
template <class T>
inline T angle_about(V3<T> axis, V3<T> x, V3<T> y) {
  const V3<T> across = y - axis * dot(axis, y);
  return arc_tangent(dot(axis, cross(x, across)), dot(x, across));
}

// Rotation vector of R, world axes.
template <class T>
inline V3<T> rotation_vector_of(const M3<T>& R) {
  T quaternion[4];
  quaternion_of(R, quaternion);
  return rotation_vector(quaternion);
}

inline bool is_held_translation(const LoopRow& row) {
  return row.kind == LoopRow::Kind::translation && row.motion < 0;
}

// Rows of all loops and the forces on their free directions, for the moment in Data. Needs
// outward(); the efforts are added to the body terms like loads.
template <class T>
inline void loop_terms(const Model& m, Data<T>& d) {
  for (const LoopConst& loop : m.loops) {
    const LoopEnd<T> a = loop_end(m, d, loop.node_a), b = loop_end(m, d, loop.node_b);
    const M3<T> R_J = a.R * M3<T>::load(loop.R_AJ.c);
    const V3<T> p_J = a.p + a.R * V3<T>::load(loop.p_AJ.x);
    const V3<T> wa = a.V.ang, wb = b.V.ang, turn = wb - wa;
    const V3<T> e1 = R_J * V3<T>::load(loop.axis1.x), e2 = b.R * V3<T>::load(loop.axis2.x);
    V3<T> r = b.p - a.p;
    for (int32_t i = loop.row0; i < loop.row0 + loop.rows; ++i) {
      if (!is_held_translation(m.loop_rows[i])) continue;
      const V3<T> n = R_J * V3<T>::load(m.loop_rows[i].direction.x);
      r -= n * dot(n, b.p - p_J);
    }
    const V3<T> slide = b.V.lin - a.V.lin - cross(wa, r);  // v_r
    V3<T> free_slide = slide;                              // s'
    for (int32_t i = loop.row0; i < loop.row0 + loop.rows; ++i) {
      if (!is_held_translation(m.loop_rows[i])) continue;
      const V3<T> n = R_J * V3<T>::load(m.loop_rows[i].direction.x);
      free_slide -= n * dot(n, slide);
    }
    const V3<T> slide_bias = b.bias.lin - a.bias.lin - cross(a.bias.ang, r) -
                             cross(wa, cross(wa, r) + free_slide + slide);
    const V3<T> turn_bias = b.bias.ang - a.bias.ang;

    for (int32_t i = loop.row0; i < loop.row0 + loop.rows; ++i) {
      const LoopRow& row = m.loop_rows[i];
      LoopRowWork<T>& work = d.loop_row[i];
      V3<T> n = R_J * V3<T>::load(row.direction.x);
      const LoopTarget<T>& target = d.loop_target[i];
      if (row.kind == LoopRow::Kind::translation) {
        work.on_b = {n, V3<T>::zero()};
        work.on_a = {-n, cross(n, r)};
        work.gap = dot(n, b.p - p_J) - target.position;
        work.rate = dot(n, slide) - target.rate;
        work.bias = dot(n, slide_bias) - target.acceleration;
        continue;
      }
      V3<T> n_rate = cross(wa, n);
      if (row.kind == LoopRow::Kind::rotation) {
        const V3<T> spin = V3<T>::load(loop.axis1.x) * d.loop_angle[i];
        const M3<T> turned = R_J * exponential_map(spin, V3<T>::zero()).R;
        work.gap = dot(n, rotation_vector_of(b.R * transpose(turned)));
      } else if (row.kind == LoopRow::Kind::perpendicular) {
        work.gap = dot(n, cross(e1, e2));
      } else {
        n = cross(e1, e2);
        n_rate = cross(cross(wa, e1), e2) + cross(e1, cross(wb, e2));
        work.gap = T(loop.cosine) - dot(e1, e2);
      }
      work.on_b = {V3<T>::zero(), n};
      work.on_a = {V3<T>::zero(), -n};
      work.rate = dot(n, turn) - target.rate;
      work.bias = dot(n, turn_bias) + dot(n_rate, turn) - target.acceleration;
    }

    for (int32_t i = 0; i < loop.freedoms; ++i) {
      const int32_t index = loop.freedom0 + i;
      const LoopFreedom& free = m.loop_freedoms[index];
      LoopFreedomWork<T>& work = d.loop_freedom[index];
      V3<T> axis;
      const V3<T> reference = V3<T>::load(free.reference.x);
      switch (free.kind) {
        case LoopFreedom::Kind::translation:
          axis = R_J * V3<T>::load(free.dof.axis.x);
          work.position = dot(axis, b.p - p_J);
          work.rate = dot(axis, slide);
          break;
        case LoopFreedom::Kind::first_rotation: {
          axis = e1;
          // seen against the second axis if there is one, which turns with the first rotation
          const V3<T> other = loop.freedoms - loop.translations == 2 ? e2 : b.R * reference;
          work.position = angle_about(axis, R_J * reference, other);
          work.rate = dot(axis, turn);
          break;
        }
        case LoopFreedom::Kind::second_rotation:
          axis = e2;
          work.position = angle_about(axis, e1 - e2 * dot(e1, e2), b.R * reference);
          work.rate = dot(axis, turn);
          break;
        case LoopFreedom::Kind::quaternion: {
          const int32_t component = i - loop.translations;
          const V3<T> theta = rotation_vector_of(transpose(R_J) * b.R);
          axis = b.R.c[component];
          work.position = theta[component];
          work.rate = dot(axis, turn);
          break;
        }
      }
      if (free.kind == LoopFreedom::Kind::first_rotation ||
          free.kind == LoopFreedom::Kind::second_rotation) {
        if (loop.freedoms - loop.translations == 2) {
          // w_r = e1 q1' + e2 q2': project on the dual axis
          const V3<T> other = free.kind == LoopFreedom::Kind::first_rotation ? e2 : e1;
          const T c = dot(e1, e2);
          work.rate = (work.rate - c * dot(other, turn)) / (T(1.0) - c * c);
        }
      }
      const T effort =
          d.input[m.loop_input0 + index] +
          (free.dof.passive ? passive_effort(free.dof, work.position, work.rate) : T(0.0));
      work.effort = effort;
      const bool slides = free.kind == LoopFreedom::Kind::translation;
      work.on_b = slides ? Vec6<T>{axis, V3<T>::zero()} : Vec6<T>{V3<T>::zero(), axis};
      add_load(m, d, loop.node_b, work.on_b * effort);
      if (loop.node_a >= 0) add_load(m, d, loop.node_a, force_from(work.on_b, r) * -effort);
    }
  }
}

// All body terms for d.q, d.u, d.input, the accelerations of held freedoms and the targets of
// prescribed loops.
template <class T>
inline void prepare(const Model& m, Data<T>& d) {
  outward(m, d);
  add_loads(m, d);
  if (!m.loops.empty()) loop_terms(m, d);
}

// g'' of a row with the accelerations in Data.
template <class T>
inline T row_acceleration(const Model& m, const Data<T>& d, const LoopConst& loop,
                          const LoopRowWork<T>& row) {
  const auto part = [&](int32_t node, const Vec6<T>& n) {
    const NodeConst& c = m.nodes[node];
    const BodyConst& b = m.bodies[c.body];
    const BodyWork<T>& body = d.body[c.body];
    if (b.modes == 0) {
      return dot(n, motion_at(body.A, body.R * V3<T>::load(c.position.x)));
    }
    Vec6<T> A = motion_at(body.A, d.node[node].r);
    for (int32_t i = 0; i < b.modes; ++i) {
      A += d.jacobian[c.work0 + i] * d.udot[b.u0 + b.dofs + i];
    }
    return dot(n, A);
  };
  T sum = row.bias + part(loop.node_b, row.on_b);
  if (loop.node_a >= 0) return sum + part(loop.node_a, row.on_a);
  // Accelerations in Data are against free fall, and so must be that of the ground.
  return sum + dot(row.on_b.lin, V3<T>::load(m.gravity.x));
}

// L D L^T of a positive semidefinite matrix (lower triangle, row-major n x n) in place, scaled to a
// unit diagonal, by largest pivot. Returns the rank.
template <class T>
inline int32_t factor_semidefinite(T* A, int32_t n, int32_t* order, T* scale) {
  for (int32_t i = 0; i < n; ++i) {
    order[i] = i;
    const T diagonal = A[i * n + i];
    scale[i] = value(diagonal) > 0.0 ? T(1.0) / square_root(diagonal) : T(0.0);
  }
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j <= i; ++j) A[i * n + j] = A[i * n + j] * scale[i] * scale[j];
  }
  for (int32_t k = 0; k < n; ++k) {
    int32_t best = k;
    for (int32_t i = k + 1; i < n; ++i) {
      if (value(A[i * n + i]) > value(A[best * n + best])) best = i;
    }
    if (!(value(A[best * n + best]) > kDependent)) return k;
    if (best != k) {  // exchange rows and columns of the lower triangle
      std::swap(order[k], order[best]);
      std::swap(A[k * n + k], A[best * n + best]);
      for (int32_t j = 0; j < k; ++j) std::swap(A[k * n + j], A[best * n + j]);
      for (int32_t i = k + 1; i < best; ++i) std::swap(A[i * n + k], A[best * n + i]);
      for (int32_t i = best + 1; i < n; ++i) std::swap(A[i * n + k], A[i * n + best]);
    }
    const T inverse = T(1.0) / A[k * n + k];
    for (int32_t i = k + 1; i < n; ++i) {
      const T factor = A[i * n + k] * inverse;
      for (int32_t j = k + 1; j <= i; ++j) A[i * n + j] -= factor * A[j * n + k];
    }
    for (int32_t i = k + 1; i < n; ++i) A[i * n + k] = A[i * n + k] * inverse;
  }
  return n;
}

// x <- A^-1 x with the factors above; rows beyond the rank get zero. `y` is scratch of n.
template <class T>
inline void solve_semidefinite(const T* A, int32_t n, int32_t rank, const int32_t* order,
                               const T* scale, T* x, T* y) {
  for (int32_t i = 0; i < rank; ++i) {
    y[i] = x[order[i]] * scale[order[i]];
    for (int32_t j = 0; j < i; ++j) y[i] -= A[i * n + j] * y[j];
  }
  for (int32_t i = 0; i < rank; ++i) y[i] = y[i] / A[i * n + i];
  for (int32_t i = rank - 1; i >= 0; --i) {
    for (int32_t j = i + 1; j < rank; ++j) y[i] -= A[j * n + i] * y[j];
  }
  for (int32_t i = 0; i < n; ++i) {
    x[order[i]] = i < rank ? y[i] * scale[order[i]] : T(0.0);
  }
}

inline BodyPath path_of(const Model& m, const LoopConst& loop) {
  return {&m.loop_paths[loop.path0], loop.paths};
}

// The columns of all rows, a pack for each loop, and the factors of Lambda.
template <class T>
inline void loop_columns(const Model& m, Data<T>& d) {
  const auto rows = static_cast<int32_t>(m.loop_rows.size());
  const auto count = static_cast<int32_t>(m.loops.size());
  for (int32_t l = 0; l < count; ++l) {
    const LoopConst& loop = m.loops[l];
    Pack<T>* y = &d.column[l * m.u_size];
    clear_path(m, d, path_of(m, loop), y);
    const auto packed = [&](Vec6<T> LoopRowWork<T>::* side) {
      PackedForces<T> G = no_loads<T>();
      for (int32_t i = 0; i < loop.rows; ++i) set_lane(G, i, d.loop_row[loop.row0 + i].*side);
      return G;
    };
    add_wrenches(m, d, loop.node_b, packed(&LoopRowWork<T>::on_b), y, Untold());
    if (loop.node_a >= 0) {
      add_wrenches(m, d, loop.node_a, packed(&LoopRowWork<T>::on_a), y, Untold());
    }
    clean_path(m, d, path_of(m, loop), y);
  }
  for (int32_t l = 0; l < count; ++l) {
    for (int32_t k = 0; k <= l; ++k) {
      const LoopConst &one = m.loops[l], &two = m.loops[k];
      Pack<T> block[6];
      products(m, d, path_of(m, one), &d.column[l * m.u_size], path_of(m, two),
               &d.column[k * m.u_size], one.rows, block);
      for (int32_t i = 0; i < one.rows; ++i) {
        for (int32_t j = 0; j < two.rows; ++j) {
          d.lambda_matrix[(one.row0 + i) * rows + two.row0 + j] = block[i].a[j];
        }
      }
    }
  }
  d.loop_rank =
      factor_semidefinite(d.lambda_matrix.data(), rows, d.pivot_order.data(), d.pivot_scale.data());
}

template <class T>
inline void solve_rows(const Model& m, Data<T>& d, T* x) {
  solve_semidefinite(d.lambda_matrix.data(), static_cast<int32_t>(m.loop_rows.size()), d.loop_rank,
                     d.pivot_order.data(), d.pivot_scale.data(), x, d.row_scratch.data());
}

// sum += columns of a loop's rows times factors, over its path.
template <class T>
inline void add_columns(const Model& m, const Data<T>& d, int32_t index, const T* factors, T* sum) {
  const LoopConst& loop = m.loops[index];
  const Pack<T>* y = &d.column[index * m.u_size];
  const BodyPath path = path_of(m, loop);
  for (int32_t p = 0; p < path.length; ++p) {
    const BodyConst& b = m.bodies[path.bodies[p]];
    for (int32_t k = b.u0; k < b.u0 + b.dofs + b.internals; ++k) {
      for (int32_t i = 0; i < loop.rows; ++i) sum[k] += factors[loop.row0 + i] * y[k].a[i];
    }
  }
}

// Adds the forces lam of the rows to right-hand sides after elimination: the outward pass then
// gives the accelerations with loops.
template <class T>
inline void apply_multipliers(const Model& m, Data<T>& d) {
  T* sum = d.column_sum.data();
  const auto count = static_cast<int32_t>(m.loops.size());
  for (int32_t u = 0; u < m.u_size; ++u) sum[u] = T(0.0);
  for (int32_t l = 0; l < count; ++l) add_columns(m, d, l, d.multiplier.data(), sum);
  for (const BodyConst& b : m.bodies) {
    for (int32_t k = 0; k < b.dofs; ++k) d.dof[b.dof0 + k].force += sum[b.u0 + k];
    for (int32_t j = 0; j < b.internals; ++j) {
      d.internal[b.internal0 + j].rhs += sum[b.u0 + b.dofs + j];
    }
  }
}

// Adds the forces of all loops to what joints pass on, for joint_force().
template <class T>
inline void add_loops_to_joint_forces(const Model& m, Data<T>& d) {
  const auto add = [&](int32_t i, const PackedForces<T>& G) {
    d.body[i].G += Vec6<T>{V3<T>::of(G.f[0].a[0], G.f[1].a[0], G.f[2].a[0]),
                           V3<T>::of(G.t[0].a[0], G.t[1].a[0], G.t[2].a[0])};
  };
  const auto count = static_cast<int32_t>(m.loops.size());
  for (int32_t l = 0; l < count; ++l) {
    const LoopConst& loop = m.loops[l];
    Vec6<T> on_a = Vec6<T>::zero(), on_b = Vec6<T>::zero();
    for (int32_t i = loop.row0; i < loop.row0 + loop.rows; ++i) {
      on_a += d.loop_row[i].on_a * d.multiplier[i];
      on_b += d.loop_row[i].on_b * d.multiplier[i];
    }
    const auto send = [&](int32_t node, const Vec6<T>& w) {
      PackedForces<T> G = no_loads<T>();
      set_lane(G, 0, w);
      add_wrenches(m, d, node, G, d.node_column.data(), add);  // the column itself is not needed
    };
    send(loop.node_b, on_b);
    if (loop.node_a >= 0) send(loop.node_a, on_a);
  }
}

// (3) with the accelerations without loops in Data; leaves the multipliers and applies them.
template <class T>
inline void solve_loops(const Model& m, Data<T>& d) {
  loop_columns(m, d);
  const T pull = T(1.0 / d.loop_time);
  for (const LoopConst& loop : m.loops) {
    for (int32_t i = loop.row0; i < loop.row0 + loop.rows; ++i) {
      const LoopRowWork<T>& row = d.loop_row[i];
      d.multiplier[i] =
          -(row_acceleration(m, d, loop, row) + T(2.0) * pull * row.rate + pull * pull * row.gap);
    }
  }
  solve_rows(m, d, d.multiplier.data());
  apply_multipliers(m, d);
}

// Inverse inertia among the loads of a pack y on a path, loops holding:
// Lambda_yy - Lambda_yl Lambda_ll^+ Lambda_ly, into rows. Leaves Lambda_ly in Data::pack_rows, row
// by row. With loops it needs loop_columns().
template <class T>
inline void inverse_inertia(const Model& m, Data<T>& d, BodyPath path, const Pack<T>* y,
                            int32_t count, Pack<T>* rows) {
  products(m, d, path, y, path, y, count, rows);
  const auto loops = static_cast<int32_t>(m.loops.size());
  const auto held = static_cast<int32_t>(m.loop_rows.size());
  if (held == 0) return;
  for (int32_t l = 0; l < loops; ++l) {
    const LoopConst& loop = m.loops[l];
    products(m, d, path_of(m, loop), &d.column[l * m.u_size], path, y, loop.rows,
             &d.pack_rows[loop.row0]);
  }
  for (int32_t c = 0; c < count; ++c) {
    for (int32_t i = 0; i < held; ++i) d.multiplier_scratch[i] = d.pack_rows[i].a[c];
    solve_rows(m, d, d.multiplier_scratch.data());
    for (int32_t i = 0; i < held; ++i) rows[c] -= d.pack_rows[i] * d.multiplier_scratch[i];
  }
}

// Inverse inertia that a node shows, J M^-1 J^T over [force; torque], world axes, with the loops
// holding: the lower triangle, row by row.
template <class T>
inline void inverse_inertia(const Model& m, Data<T>& d, int32_t node, T* lower) {
  const int32_t body = m.nodes[node].body;
  if (m.bodies[body].modes > 0) node_kinematics(m, d, node);
  const BodyPath path = path_of(m, d, body);
  PackedForces<T> units = no_loads<T>();
  for (int32_t i = 0; i < 6; ++i) {
    T unit[6] = {T(0.0), T(0.0), T(0.0), T(0.0), T(0.0), T(0.0)};
    unit[i] = T(1.0);
    set_lane(units, i,
             {V3<T>::of(unit[0], unit[1], unit[2]), V3<T>::of(unit[3], unit[4], unit[5])});
  }
  Pack<T>* y = d.node_column.data();
  clear_path(m, d, path, y);
  add_wrenches(m, d, node, units, y, Untold());
  clean_path(m, d, path, y);
  Pack<T> rows[6];
  inverse_inertia(m, d, path, y, 6, rows);
  for (int32_t i = 0; i < 6; ++i) {
    for (int32_t j = 0; j <= i; ++j) lower[i * (i + 1) / 2 + j] = rows[i].a[j];
  }
}

}  // namespace pliant::PLIANT_ISA
