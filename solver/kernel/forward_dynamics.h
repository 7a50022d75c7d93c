// From positions, speeds and loads to body terms and accelerations: what both algorithms share.
//
//   outward(...)   ground to leaves: poses, velocities, velocity-product accelerations, and every
//                  body's inertia and forces. Ghosh & Quiocho (1.1)-(3.4) in world axes, with the
//                  exact node rotation.
//   add_loads(...) forces from outside at nodes
//   attach(...)    what a body (or the articulated rest of a branch) means to the body it hangs
//                  on: Huynh (35)-(40), used by order_n and dense alike
//
// Gravity enters as an upward acceleration of the ground: accelerations in Data are relative to
// free fall.
#pragma once

#include "flexible_body.h"

namespace pliant::PLIANT_ISA {

// What acts on one freedom by itself: elastic - damping * speed.
template <class T>
struct PassiveEffort {
  T elastic, damping;
};

// Of the spring, friction and stops of a freedom at the position q and the speed u. Dry friction
// c tanh(u / transition) is a damper that depends on the speed.
template <class T>
inline PassiveEffort<T> passive_effort(const DofConst& c, T q, T u) {
  PassiveEffort<T> effort{T(-c.stiffness) * (q - T(c.rest)), T(c.viscous)};
  if (c.coulomb != 0.0) {
    const T x = u / T(c.transition_speed);
    effort.damping += T(c.coulomb / c.transition_speed) * tangent_ratio(x);
  }
  if (c.stop_stiffness != 0.0) {
    // A stop only pushes back: its damper never pulls.
    const bool above = value(q) > c.stop_upper;
    if (above || value(q) < c.stop_lower) {
      const T push = T(-c.stop_stiffness) * (q - T(above ? c.stop_upper : c.stop_lower));
      const double whole = value(push - T(c.stop_damping) * u);
      if (above ? whole < 0.0 : whole > 0.0) {
        effort.elastic += push;
        effort.damping += T(c.stop_damping);
      }
    }
  }
  return effort;
}

// Efforts of a joint: from outside plus passive.
template <class T>
PLIANT_INLINE void joint_efforts(const Model& m, const BodyConst& b, Data<T>& d) {
  DofWork<T>* dof = &d.dof[b.dof0];
  for (int32_t k = 0; k < b.dofs; ++k) {
    dof[k].force = d.input[b.dof0 + k];
  }
  if (!b.passive) return;
  const DofConst* c = &m.dofs[b.dof0];
  const T* q = &d.q[b.q0];
  const auto add = [&](int32_t k, T position) {
    dof[k].damping = T(0.0);
    if (!c[k].passive) return;
    const T u = d.u[b.u0 + k];
    const PassiveEffort<T> effort = passive_effort(c[k], position, u);
    const T damped = d.damping_time > 0.0 ? d.u_damped[b.u0 + k] : u;
    dof[k].force += effort.elastic - effort.damping * damped;
    // (2) of integrators.h
    const T half = T(d.damping_time) * effort.damping;
    const T whole = half + half - T(m.own_inertia[b.dof0 + k]);
    dof[k].damping = value(whole) > value(half) ? whole : half;
  };
  const int32_t charted = b.translations + b.rotations;
  for (int32_t k = 0; k < charted; ++k) add(k, q[k]);
  if (b.quaternion) {
    const V3<T> theta = rotation_vector(q + b.translations);
    for (int32_t k = 0; k < 3; ++k) add(b.translations + k, theta[k]);
  }
}

// Wheels of a body: internal coordinates behind its modes. A rotor of spin inertia I, axis a and
// speed s relative to its node has the momentum I (s + a.w_node) about a; the locked part is in
// the body's inertia, so the coupling column is I a and the body feels -w_node x I s a
// (Stoneking 52-53, with the node's own acceleration instead of the body's).
template <class T>
inline void wheel_terms(const Model& m, const BodyConst& b, Data<T>& d, BodyWork<T>& body) {
  InternalWork<T>* internal = &d.internal[b.internal0];
  T* coupling = &d.coupling[b.coupling0];
  for (int32_t k = 0; k < b.wheels; ++k) {
    const WheelConst& c = m.wheels[b.wheel0 + k];
    const int32_t row = b.modes + k;
    const T inertia = T(c.inertia);
    V3<T> axis = body.R * c.axis;
    V3<T> w = body.V.ang, dw = d.head_dV[c.body].ang;
    T drag = T(0.0);
    const Vec6<T>* jacobian = nullptr;
    if (b.modes > 0) {
      const NodeWork<T>& node = d.node[c.node];
      axis = node.R * c.axis;
      w = node.V.ang;
      dw = d.node_dV[c.node].ang;
      drag = inertia * dot(axis, node.bias.ang);
      jacobian = &d.jacobian[m.nodes[c.node].work0];
    }
    const V3<T> momentum = axis * inertia;
    V3<T> torque = cross(w, momentum) * d.u[c.u];
    if (d.correction != 0.0) torque += cross(dw, momentum) * (T(d.correction) * d.du[c.u]);
    body.G.ang -= torque;
    internal[row].column = {V3<T>::zero(), momentum};
    internal[row].rhs = d.input[m.wheel_input0 + b.wheel0 + k] - drag;
    for (int32_t i = 0; i < b.modes; ++i) {
      internal[i].rhs -= dot(jacobian[i].ang, torque);
      coupling[row * b.stride + i] = dot(jacobian[i].ang, momentum);
    }
    for (int32_t j = 0; j < k; ++j) coupling[row * b.stride + b.modes + j] = T(0.0);
    coupling[row * b.stride + row] = inertia;
  }
}

// Forces of a rigid body by its spin, about its head.
template <class T>
PLIANT_INLINE Vec6<T> spin_force(const BodyWork<T>& body, V3<T> w) {
  return {cross(w, cross(w, body.moment)), cross(w, body.M.C * w)};
}

// Velocity of a head while the joint's freedoms are added to that of where the joint hangs, and the
// acceleration by products of velocities.
template <class T>
struct HeadVelocity {
  V3<T> w;  // where the joint hangs
  V3<T> slide, spin, spin_products;

  PLIANT_INLINE explicit HeadVelocity(const Vec6<T>& inboard)
      : w(inboard.ang), slide(V3<T>::zero()), spin(w), spin_products(V3<T>::zero()) {}

  PLIANT_INLINE void add_slide(V3<T> axis, T u) { slide += axis * u; }
  // Each axis is carried by the rotations before it; those of a quaternion, `together`, are not.
  PLIANT_INLINE void add_turn(V3<T> axis, T u, bool together) {
    const V3<T> turn = axis * u;
    spin_products += cross(together ? w : spin, turn);
    spin += turn;
  }
  PLIANT_INLINE Vec6<T> velocity(const Vec6<T>& inboard, V3<T> arm) const {
    return {inboard.lin + cross(w, arm) + slide, spin};
  }
  PLIANT_INLINE Vec6<T> products(V3<T> arm) const {
    return {cross(w, cross(w, arm) + slide * T(2.0)), spin_products};
  }
};

// `corrected`: with the velocity products of du.
template <bool corrected, class T>
inline void outward(const Model& m, Data<T>& d) {
  const auto count = static_cast<int32_t>(m.bodies.size());
  const T weight = T(d.correction);
  for (int32_t i = 0; i < count; ++i) {
    const BodyConst& b = m.bodies[i];
    const DofConst* c = &m.dofs[b.dof0];
    BodyWork<T>& body = d.body[i];
    DofWork<T>* dof = &d.dof[b.dof0];
    const T* q = &d.q[b.q0];
    const T* u = &d.u[b.u0];
    const T* du = &d.du[b.u0];

    // Where the joint hangs: a rigid parent's head, a flexible parent's node, or the ground.
    M3<T> R;
    V3<T> p;
    Vec6<T> V, dV = Vec6<T>::zero(), bias = Vec6<T>::zero();
    if (b.parent < 0) {
      R = M3<T>::identity();
      p = V3<T>::zero();
      V = Vec6<T>::zero();
    } else if (b.parent_node < 0) {
      const BodyWork<T>& parent = d.body[b.parent];
      R = parent.R;
      p = parent.p;
      V = parent.V;
      if (corrected) dV = d.head_dV[b.parent];
    } else {
      const NodeWork<T>& node = d.node[b.parent_node];
      R = node.R;
      p = d.body[b.parent].p + node.r;
      V = node.V;
      if (corrected) dV = d.node_dV[b.parent_node];
      bias = node.bias;
    }

    // Translations, then rotations in sequence; arm = y of the derivation.
    HeadVelocity<T> own(V), change(dV);
    V3<T> arm = R * b.p_PJ;
    for (int32_t k = 0; k < b.translations; ++k) {
      const V3<T> axis = R * c[k].axis_parent;
      dof[k].axis = axis;
      arm += axis * q[k];
      own.add_slide(axis, u[k]);
      if (corrected) change.add_slide(axis, du[k]);
      if (d.held[b.dof0 + k]) bias.lin += axis * dof[k].acceleration;
    }
    const V3<T> bias_lin = bias.lin + cross(bias.ang, arm);
    if (b.quaternion) {
      R = R * (M3<T>::load(b.R_PJ.c) * matrix_of(q + b.translations));
      for (int32_t axis = 0; axis < 3; ++axis) {
        const int32_t k = b.translations + axis;
        dof[k].axis = R.c[axis];
        own.add_turn(R.c[axis], u[k], true);
        if (corrected) change.add_turn(R.c[axis], du[k], true);
      }
    } else if (b.rotations == 0) {
      R = R * b.R_PJ;
    } else {
      for (int32_t k = b.translations; k < b.dofs; ++k) {
        T sine, cosine;
        sine_cosine(q[k], sine, cosine);
        const V3<T> axis = R * (k == b.translations ? c[k].axis_parent : c[k].axis);
        R = R * (M3<T>::load(c[k].K0.c) + M3<T>::load(c[k].K1.c) * cosine +
                 M3<T>::load(c[k].K2.c) * sine);
        dof[k].axis = axis;
        own.add_turn(axis, u[k], false);
        if (corrected) change.add_turn(axis, du[k], false);
        if (d.held[b.dof0 + k]) bias.ang += axis * dof[k].acceleration;
      }
    }
    body.R = R;
    body.p = p + arm;
    body.arm = arm;
    body.V = own.velocity(V, arm);
    body.bias = Vec6<T>{bias_lin, bias.ang} + own.products(arm);
    if (corrected) {
      d.head_dV[i] = dV = change.velocity(dV, arm);
      body.bias += change.products(arm) * weight;
    }
    joint_efforts(m, b, d);

    if (b.modes == 0) {
      body.moment = R * b.first_moment;
      body.M.A = M3<T>::identity() * T(b.mass);
      body.M.B = cross_matrix(-body.moment);
      body.M.C = rotated(R, b.inertia);
      Vec6<T> force = spin_force(body, body.V.ang);
      if (corrected) force += spin_force(body, dV.ang) * weight;
      body.G = {-force.lin, -force.ang};
    } else {
      flexible_terms<corrected>(m, b, d, body, dV);
      for (int32_t k = 0; k < b.actives; ++k) {
        node_kinematics<corrected>(m, d, m.active_nodes[b.active0 + k]);
      }
    }
    if (b.wheels > 0) wheel_terms(m, b, d, body);
  }
}

template <class T>
inline void outward(const Model& m, Data<T>& d) {
  if constexpr (std::is_same_v<T, double>) {
    if (d.correction != 0.0) return outward<true>(m, d);
  }
  outward<false>(m, d);
}

// A load at a node, world axes: [f; r x f + t] on the head, Jacobian^T [f; t] on the modes. On
// flexible bodies the kinematics of the node must be in Data.
template <class T>
inline void add_load(const Model& m, Data<T>& d, int32_t node, const Vec6<T>& wrench) {
  const NodeConst& c = m.nodes[node];
  const BodyConst& b = m.bodies[c.body];
  BodyWork<T>& body = d.body[c.body];
  if (b.modes == 0) {
    body.G += force_from(wrench, body.R * c.position);
    return;
  }
  body.G += force_from(wrench, d.node[node].r);
  const Vec6<T>* jacobian = &d.jacobian[c.work0];
  InternalWork<T>* internal = &d.internal[b.internal0];
  for (int32_t i = 0; i < b.modes; ++i) internal[i].rhs += dot(jacobian[i], wrench);
}

template <class T>
inline void add_loads(const Model& m, Data<T>& d) {
  for (int32_t l = 0; l < d.loaded_count; ++l) {
    const int32_t k = d.loaded[l];
    if (m.bodies[m.nodes[k].body].modes > 0) node_kinematics(m, d, k);
    const T* x = &d.input[m.node_input0 + 6 * k];
    add_load(m, d, k, Vec6<T>{V3<T>::of(x[0], x[1], x[2]), V3<T>::of(x[3], x[4], x[5])});
  }
}

// Adds an inertia M and force G at the head of body i to the body it hangs on: at a flexible
// parent's node they act on the modes too.
template <class T>
PLIANT_INLINE void attach(const Model& m, Data<T>& d, const BodyConst& b, const BodyWork<T>& body) {
  BodyWork<T>& parent = d.body[b.parent];
  const Sym6<T> M = inertia_from(body.M, body.arm);
  const Vec6<T> G = force_from(body.G, body.arm);
  if (b.parent_node < 0) {
    parent.M += M;
    parent.G += G;
    return;
  }
  const BodyConst& pc = m.bodies[b.parent];
  const NodeWork<T>& node = d.node[b.parent_node];
  const Vec6<T>* s = &d.jacobian[m.nodes[b.parent_node].work0];
  InternalWork<T>* internal = &d.internal[pc.internal0];
  T* coupling = &d.coupling[pc.coupling0];
  with_count(pc.modes, [&](auto n) {
    for (int32_t i = 0; i < n; ++i) {
      const Vec6<T> z = M * s[i];
      internal[i].column += force_from(z, node.r);
      internal[i].rhs += dot(s[i], G);
      for (int32_t j = 0; j <= i; j += 4) add_four_dots(coupling + i * pc.stride + j, s + j, z);
    }
  });
  parent.M += inertia_from(M, node.r);
  parent.G += force_from(G, node.r);
}

// Acceleration, where body b hangs, of its inboard side and moved to its head; without the
// body's own bias. Accelerations of parents and their modes are known.
template <class T>
PLIANT_INLINE Vec6<T> inboard_acceleration(const Model& m, const Data<T>& d, const BodyConst& b,
                                           const BodyWork<T>& body) {
  if (b.parent < 0) return {-V3<T>::load(m.gravity.x), V3<T>::zero()};
  Vec6<T> A = d.body[b.parent].A;
  if (b.parent_node >= 0) {
    const BodyConst& pc = m.bodies[b.parent];
    const Vec6<T>* s = &d.jacobian[m.nodes[b.parent_node].work0];
    A = motion_at(A, d.node[b.parent_node].r);
    const T* etadd = &d.udot[pc.u0 + pc.dofs];
    for (int32_t i = 0; i < pc.modes; ++i) A += s[i] * etadd[i];
  }
  return motion_at(A, body.arm);
}

// Takes from G and from the right-hand sides of internal coordinates what zero accelerations of all
// freedoms and coordinates take, outward: what is left, summed inward, is the generalised force.
template <class T>
inline void subtract_inertia_at_zero(const Model& m, Data<T>& d) {
  for (T& acceleration : d.udot) acceleration = T(0.0);
  const auto count = static_cast<int32_t>(m.bodies.size());
  for (int32_t i = 0; i < count; ++i) {
    const BodyConst& b = m.bodies[i];
    BodyWork<T>& body = d.body[i];
    body.A = inboard_acceleration(m, d, b, body) + body.bias;
    body.G -= body.M * body.A;
    InternalWork<T>* internal = &d.internal[b.internal0];
    for (int32_t j = 0; j < b.internals; ++j) internal[j].rhs -= dot(internal[j].column, body.A);
  }
}

}  // namespace pliant::PLIANT_ISA
