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
// g''_0 from the accelerations without loops. An integrator that knows the speed in the middle of
// its step only by the unknown accelerations, u + h/2 u' (integrators.h), has the rate there:
//     (1 + h/T) Lambda lam = -(g''_0 + 2/T [J (u + h/2 u'_0) + h^2/4 b'] + [g - h^2/8 b]/T^2)  (4)
// Loops that are closed at both ends of the step have the gap h^2/8 b at q (+) h/2 u and the rate
// -h^2/4 b' there at the mean speed, b = g'' - J u' the row's bias; b' from its last two values.
//
// Which rows can be held at all is a matter of kinematics, not of mass: with J_iu what row i does
// to the speed u, rotations taken at the arm's length L of the loop, and w_u the way that a unit
// of u moves the nodes of loops (L for a rotation),
//     A_ij = sum_u J_iu J_ju / w_u^2                                                         (5)
// is factorised by largest pivot. A row whose pivot is too small (kDependent) is moved by nothing
// or follows from the others; it takes no force, which leaves the accelerations unique. In Lambda a
// light ring between two heavy modules looks like that too, and must not be dropped: there only
// rounding is feared.
#pragma once

#include <algorithm>

#include "columns.h"
#include "independent.h"
#include "time_functions.h"

namespace pliant::PLIANT_ISA {

// Squares of the angles below which directions are one, or none: 1e-5 rad, as axes may be off that
// were meant to be parallel, or ten times the widest gap (in rad, or parts of L). Of an
// overconstrained mechanism (Bricard's) that is a little open, as all are within a step, the
// redundant direction differs from the others by about the gap, and would be followed with enormous
// forces; while one that merely passes a singular position closed should keep its force. Never more
// than 1e-3 rad: loops that are wide open are to be pulled together.
constexpr double kDependent = 1e-10;
constexpr double kDependentByGap = 100.0;
constexpr double kDependentAtMost = 1e-6;
// How far a row that takes no force may open and go on opening: radians, or parts of L.
constexpr double kOpen = 1e-2;

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
inline void drive_loop(const Model& m, const LoopConst& loop, TableTime t, double rate,
                       Data<T>& d) {
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
  Vec6<T> V, dV, bias;  // as NodeWork has them
};

template <class T>
inline LoopEnd<T> loop_end(const Model& m, Data<T>& d, int32_t node) {
  if (node < 0) {
    const Vec6<T> none = Vec6<T>::zero();
    return {V3<T>::zero(), M3<T>::identity(), none, none, none};
  }
  const NodeConst& c = m.nodes[node];
  const BodyWork<T>& body = d.body[c.body];
  if (m.bodies[c.body].modes > 0) {
    node_kinematics(m, d, node);
    const NodeWork<T>& n = d.node[node];
    return {body.p + n.r, n.R, n.V, d.node_dV[node], n.bias};
  }
  const V3<T> r = body.R * V3<T>::load(c.position.x);
  const V3<T> w = body.V.ang;
  LoopEnd<T> end{body.p + r,
                 body.R * M3<T>::load(c.rotation.c),
                 motion_at(body.V, r),
                 Vec6<T>::zero(),
                 {cross(w, cross(w, r)), V3<T>::zero()}};
  if (d.correction != 0.0) {
    const Vec6<T>& dV = d.head_dV[c.body];
    end.dV = motion_at(dV, r);
    end.bias.lin += cross(dV.ang, cross(dV.ang, r)) * T(d.correction);
  }
  return end;
}

// Angle about `axis` from the direction x to the direction y.
template <class T>
inline T angle_about(V3<T> axis, V3<T> x, V3<T> y) {
  const V3<T> across = y - axis * dot(axis, y);
  return arc_tangent(dot(axis, cross(x, across)), dot(x, across));
}

// An angle in the turn that is nearest to another.
constexpr double kTurn = 6.283185307179586;
template <class T>
inline T in_turn_of(double other, T angle) {
  return angle + T(kTurn * std::round((other - value(angle)) / kTurn));
}

inline bool counts_turns(const LoopFreedom& free) {
  return free.kind == LoopFreedom::Kind::first_rotation ||
         free.kind == LoopFreedom::Kind::second_rotation;
}

// An angle of a loop in the turn that it starts in: the one nearest to where its spring rests, or
// to zero, but between its stops if any turn is.
inline double in_first_turn(const DofConst& c, double angle) {
  const double nearest = in_turn_of(c.rest, angle);
  if (c.stop_stiffness == 0.0) return nearest;
  const double turns = nearest < c.stop_lower   ? std::ceil((c.stop_lower - nearest) / kTurn)
                       : nearest > c.stop_upper ? -std::ceil((nearest - c.stop_upper) / kTurn)
                                                : 0.0;
  const double inside = nearest + kTurn * turns;
  return inside >= c.stop_lower && inside <= c.stop_upper ? inside : nearest;
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
    const V3<T> e1 = R_J * V3<T>::load(loop.axis1.x), e2 = b.R * V3<T>::load(loop.axis2.x);
    const auto without_held = [&](V3<T> x) {
      V3<T> free = x;
      for (int32_t i = loop.row0; i < loop.row0 + loop.rows; ++i) {
        if (!is_held_translation(m.loop_rows[i])) continue;
        const V3<T> n = R_J * V3<T>::load(m.loop_rows[i].direction.x);
        free -= n * dot(n, x);
      }
      return free;
    };
    const V3<T> r = without_held(b.p - p_J) + p_J - a.p;

    const auto relative = [&](const Vec6<T>& Va, const Vec6<T>& Vb) {
      return Vec6<T>{Vb.lin - Va.lin - cross(Va.ang, r), Vb.ang - Va.ang};
    };
    // Velocity products of (1), for the velocities of both nodes and their difference.
    const auto slide_products = [&](const Vec6<T>& Va, const Vec6<T>& V_r) {
      return -cross(Va.ang, cross(Va.ang, r) + without_held(V_r.lin) + V_r.lin);
    };
    const T weight = T(d.correction);
    const bool corrected = d.correction != 0.0;
    const Vec6<T> V_r = relative(a.V, b.V);
    const V3<T> slide = V_r.lin, turn = V_r.ang;
    const Vec6<T> dV_r = corrected ? relative(a.dV, b.dV) : Vec6<T>::zero();
    V3<T> slide_bias = b.bias.lin - a.bias.lin - cross(a.bias.ang, r) + slide_products(a.V, V_r);
    if (corrected) slide_bias += slide_products(a.dV, dV_r) * weight;
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
      const bool universal = row.kind == LoopRow::Kind::universal;
      if (row.kind == LoopRow::Kind::rotation) {
        const V3<T> spin = V3<T>::load(loop.axis1.x) * d.loop_angle[i];
        const M3<T> turned = R_J * exponential_map(spin).R;
        work.gap = dot(n, rotation_vector_of(b.R * transpose(turned)));
      } else if (row.kind == LoopRow::Kind::perpendicular) {
        work.gap = dot(n, cross(e1, e2));
      } else {
        n = cross(e1, e2);
        work.gap = T(loop.cosine) - dot(e1, e2);
      }
      // n'.w_r of (2)
      const auto turn_product = [&](V3<T> wa, V3<T> wb) {
        const V3<T> n_rate =
            universal ? cross(cross(wa, e1), e2) + cross(e1, cross(wb, e2)) : cross(wa, n);
        return dot(n_rate, wb - wa);
      };
      work.on_b = {V3<T>::zero(), n};
      work.on_a = {V3<T>::zero(), -n};
      work.rate = dot(n, turn) - target.rate;
      work.bias = dot(n, turn_bias) + turn_product(a.V.ang, b.V.ang) - target.acceleration;
      if (corrected) work.bias += turn_product(a.dV.ang, b.dV.ang) * weight;
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
          work.position =
              in_turn_of(d.loop_turned[index], angle_about(axis, R_J * reference, other));
          work.rate = dot(axis, turn);
          break;
        }
        case LoopFreedom::Kind::second_rotation:
          axis = e2;
          work.position = in_turn_of(d.loop_turned[index],
                                     angle_about(axis, e1 - e2 * dot(e1, e2), b.R * reference));
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
      if (counts_turns(free) && loop.freedoms - loop.translations == 2) {
        // w_r = e1 q1' + e2 q2': project on the dual axis
        const V3<T> other = free.kind == LoopFreedom::Kind::first_rotation ? e2 : e1;
        const T c = dot(e1, e2);
        work.rate = (work.rate - c * dot(other, turn)) / (T(1.0) - c * c);
      }
      T effort = d.input[m.loop_input0 + index];
      if (free.dof.passive) {
        const PassiveEffort<T> own = passive_effort(free.dof, work.position, work.rate);
        effort += own.elastic - own.damping * work.rate;
      }
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

inline BodyPath path_of(const Model& m, const LoopConst& loop) {
  return {&m.loop_paths[loop.path0], loop.paths};
}

// One side of all rows of a loop, packed.
template <class T>
inline PackedForces<T> packed_rows(const Data<T>& d, const LoopConst& loop,
                                   Vec6<T> LoopRowWork<T>::* side) {
  PackedForces<T> G = no_loads<T>();
  for (int32_t i = 0; i < loop.rows; ++i) set_lane(G, i, d.loop_row[loop.row0 + i].*side);
  return G;
}

// Puts the products of all loops' packs, `of(l, k, block)`, into the lower triangle of a matrix.
template <class T, class S, class Products>
inline void fill_row_matrix(const Model& m, S* matrix, Products of) {
  const auto rows = static_cast<int32_t>(m.loop_rows.size());
  const auto count = static_cast<int32_t>(m.loops.size());
  for (int32_t l = 0; l < count; ++l) {
    if (m.loops[l].rows == 0) continue;
    for (int32_t k = 0; k <= l; ++k) {
      if (m.loops[k].rows == 0) continue;
      Pack<T> block[6];
      of(l, k, block);
      for (int32_t i = 0; i < m.loops[l].rows; ++i) {
        S* at = matrix + (m.loops[l].row0 + i) * rows + m.loops[k].row0;
        for (int32_t j = 0; j < m.loops[k].rows; ++j) {
          if constexpr (std::is_same_v<S, T>) {
            at[j] = block[i].a[j];
          } else {
            at[j] = value(block[i].a[j]);
          }
        }
      }
    }
  }
}

// The Jacobian J of all rows, a pack for each loop, and by (5) the rows that can be held. Needs
// prepare().
template <class T>
inline void find_live_rows(const Model& m, Data<T>& d) {
  const auto rows = static_cast<int32_t>(m.loop_rows.size());
  const auto count = static_cast<int32_t>(m.loops.size());
  for (int32_t l = 0; l < count; ++l) {
    const LoopConst& loop = m.loops[l];
    Pack<T>* J = &d.row_jacobian[l * m.u_size];
    clear_path(m, path_of(m, loop), J);
    add_generalised_forces(m, d, loop.node_b, packed_rows(d, loop, &LoopRowWork<T>::on_b), J);
    if (loop.node_a >= 0) {
      add_generalised_forces(m, d, loop.node_a, packed_rows(d, loop, &LoopRowWork<T>::on_a), J);
    }
  }
  double* A = d.kinematic_matrix.data();
  fill_row_matrix<T>(m, A, [&](int32_t l, int32_t k, Pack<T>* block) {
    weighted_products(m, path_of(m, m.loops[l]), &d.row_jacobian[l * m.u_size],
                      path_of(m, m.loops[k]), &d.row_jacobian[k * m.u_size], m.loops[l].rows, block,
                      [&](const BodyConst& b, int32_t u) { return T(m.reach[b.u0 + u]); });
  });
  double gap = 0.0;
  for (int32_t i = 0; i < rows; ++i) {
    gap = std::max(gap, std::fabs(value(d.loop_row[i].gap)) / m.row_size[i]);
    for (int32_t j = 0; j <= i; ++j) A[i * rows + j] *= m.row_scale[i] * m.row_scale[j];
  }
  d.least_pivot = std::max(kDependent, std::min(kDependentByGap * gap * gap, kDependentAtMost));
  d.loop_rank = find_independent(A, rows, d.pivot_order.data(), d.least_pivot);
}

// The Jacobian of find_live_rows() as a matrix, rows x speeds.
inline void copy_jacobian(const Model& m, const Data<double>& d, double* matrix) {
  std::fill(matrix, matrix + m.loop_rows.size() * static_cast<std::size_t>(m.u_size), 0.0);
  for (std::size_t l = 0; l < m.loops.size(); ++l) {
    const LoopConst& loop = m.loops[l];
    const Pack<double>* J = &d.row_jacobian[l * static_cast<std::size_t>(m.u_size)];
    const BodyPath path = path_of(m, loop);
    for (int32_t p = 0; p < path.length; ++p) {
      const BodyConst& b = m.bodies[path.bodies[p]];
      for (int32_t u = b.u0; u < b.u0 + b.dofs + b.internals; ++u) {
        for (int32_t i = 0; i < loop.rows; ++i) matrix[(loop.row0 + i) * m.u_size + u] = J[u].a[i];
      }
    }
  }
}

// A row that takes no force and opens all the same: nothing can move it the other way, or it
// contradicts the others.
template <class T>
inline Status check_idle_rows(const Model& m, const Data<T>& d) {
  for (auto i = static_cast<std::size_t>(d.loop_rank); i < m.loop_rows.size(); ++i) {
    const int32_t row = d.pivot_order[i];
    const double gap = value(d.loop_row[row].gap), rate = value(d.loop_row[row].rate);
    if (gap * rate > 0.0 && std::fabs(gap) > kOpen * m.row_size[row]) {
      return {Code::loop_open, row, gap, 0};
    }
  }
  return {};
}

// Factors of the live rows of Lambda in Data.
template <class T>
inline Status factor_lambda(const Model& m, Data<T>& d) {
  const auto rows = static_cast<int32_t>(m.loop_rows.size());
  const int32_t lost = factor_ordered(d.lambda_matrix.data(), rows, d.pivot_order.data(),
                                      d.loop_rank, d.lambda_factor.data(), d.pivot_scale.data());
  if (lost < 0) return {};
  return {Code::loop_lost, d.pivot_order[lost], value(d.lambda_factor[lost * rows + lost]), 0};
}

// The columns of all rows, a pack for each loop, and the factors of Lambda. Needs inward().
template <class T>
inline Status loop_columns(const Model& m, Data<T>& d) {
  find_live_rows(m, d);
  const auto count = static_cast<int32_t>(m.loops.size());
  for (int32_t l = 0; l < count; ++l) {
    const LoopConst& loop = m.loops[l];
    Pack<T>* y = &d.column[l * m.u_size];
    clear_path(m, path_of(m, loop), y);
    add_wrenches(m, d, loop.node_b, packed_rows(d, loop, &LoopRowWork<T>::on_b), y, Untold());
    if (loop.node_a >= 0) {
      add_wrenches(m, d, loop.node_a, packed_rows(d, loop, &LoopRowWork<T>::on_a), y, Untold());
    }
  }
  fill_row_matrix<T>(m, d.lambda_matrix.data(), [&](int32_t l, int32_t k, Pack<T>* block) {
    products(m, d, path_of(m, m.loops[l]), &d.column[l * m.u_size], path_of(m, m.loops[k]),
             &d.column[k * m.u_size], m.loops[l].rows, block);
  });
  return factor_lambda(m, d);
}

template <class T>
inline void solve_rows(const Model& m, Data<T>& d, T* x) {
  solve_ordered(d.lambda_factor.data(), static_cast<int32_t>(m.loop_rows.size()),
                d.pivot_order.data(), d.loop_rank, d.pivot_scale.data(), x, d.row_scratch.data());
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

// Right-hand sides of (3) or (4) with the accelerations without loops in Data; `acceleration(loop,
// row)` is g''_0. Leaves the rows' biases. Needs the Jacobian of find_live_rows().
template <class T, class Acceleration>
inline void row_demands(const Model& m, Data<T>& d, Acceleration acceleration) {
  const T pull = T(1.0 / d.loop_time), later = T(d.damping_time), trend = T(d.bias_trend);
  const T share = T(1.0 / (1.0 + 2.0 * d.damping_time / d.loop_time));
  const auto count = static_cast<int32_t>(m.loops.size());
  for (int32_t l = 0; l < count; ++l) {
    const LoopConst& loop = m.loops[l];
    const BodyPath path = path_of(m, loop);
    const Pack<T>* J = &d.row_jacobian[l * m.u_size];
    Pack<T> by_udot = no_load<T>(),
            lag = no_load<T>();  // J u'_0, and of u behind the speed in Data
    for (int32_t p = 0; p < path.length; ++p) {
      const BodyConst& b = m.bodies[path.bodies[p]];
      for (int32_t u = b.u0; u < b.u0 + b.dofs + b.internals; ++u) {
        by_udot += J[u] * d.udot[u];
        if (d.damping_time > 0.0) lag += J[u] * (d.u_damped[u] - d.u[u]);
      }
    }
    for (int32_t i = 0; i < loop.rows; ++i) {
      const int32_t at = loop.row0 + i;
      const LoopRowWork<T>& row = d.loop_row[at];
      const T demand = acceleration(loop, row);
      d.row_bias[at] = demand - by_udot.a[i];
      const T rate = row.rate + lag.a[i] + later * by_udot.a[i] +
                     trend * (d.row_bias[at] - d.row_bias_before[at]);
      const T gap = row.gap - T(0.5) * later * later * d.row_bias[at];
      d.multiplier[at] = -(demand + T(2.0) * pull * rate + pull * pull * gap) * share;
    }
  }
}

// The multipliers, from the accelerations without loops in Data, and what they do to right-hand
// sides.
template <class T>
inline Status solve_loops(const Model& m, Data<T>& d) {
  if (Status bad = loop_columns(m, d); bad.code != Code::ok) return bad;
  row_demands(m, d, [&](const LoopConst& loop, const LoopRowWork<T>& row) {
    return row_acceleration(m, d, loop, row);
  });
  solve_rows(m, d, d.multiplier.data());
  apply_multipliers(m, d);
  return {};
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
  clear_path(m, path, y);
  add_wrenches(m, d, node, units, y, Untold());
  Pack<T> rows[6];
  inverse_inertia(m, d, path, y, 6, rows);
  for (int32_t i = 0; i < 6; ++i) {
    for (int32_t j = 0; j <= i; ++j) lower[i * (i + 1) / 2 + j] = rows[i].a[j];
  }
}

}  // namespace pliant::PLIANT_ISA
