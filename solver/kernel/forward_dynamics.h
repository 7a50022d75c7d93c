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
    dof[k].force += effort.elastic - effort.damping * d.u_damped[b.u0 + k];
    dof[k].damping = T(d.damping_time) * effort.damping;
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
    V3<T> w = body.V.ang, dw = body.dV.ang;
    T drag = T(0.0);
    const Vec6<T>* jacobian = nullptr;
    if (b.modes > 0) {
      const NodeWork<T>& node = d.node[c.node];
      axis = node.R * c.axis;
      w = node.V.ang;
      dw = node.dV.ang;
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

// Velocity of a head for that of where the joint hangs and the joint's speeds, and the
// acceleration by their products. The joint's axes must be in Data.
template <class T>
struct HeadVelocity {
  Vec6<T> V, products;
};

template <class T>
PLIANT_INLINE HeadVelocity<T> head_velocity(const BodyConst& b, const DofWork<T>* dof, V3<T> arm,
                                            const Vec6<T>& inboard, const T* u) {
  const V3<T> w = inboard.ang;
  V3<T> slide = V3<T>::zero();
  for (int32_t k = 0; k < b.translations; ++k) slide += dof[k].axis * u[k];
  const V3<T> wxarm = cross(w, arm);
  // Rotations in sequence; each axis is carried by the ones before it, those of a quaternion by
  // all together.
  V3<T> spin = w, spin_products = V3<T>::zero();
  for (int32_t k = b.translations; k < b.dofs; ++k) {
    const V3<T> turn = dof[k].axis * u[k];
    spin_products += cross(b.quaternion ? w : spin, turn);
    spin += turn;
  }
  return {{inboard.lin + wxarm + slide, spin}, {cross(w, wxarm + slide * T(2.0)), spin_products}};
}

// Forces of a rigid body by its spin, about its head.
template <class T>
PLIANT_INLINE Vec6<T> spin_force(const BodyWork<T>& body, V3<T> w) {
  return {cross(w, cross(w, body.moment)), cross(w, body.M.C * w)};
}

template <class T>
inline void outward(const Model& m, Data<T>& d) {
  const auto count = static_cast<int32_t>(m.bodies.size());
  const bool corrected = d.correction != 0.0;
  const T weight = T(d.correction);
  for (int32_t i = 0; i < count; ++i) {
    const BodyConst& b = m.bodies[i];
    const DofConst* c = &m.dofs[b.dof0];
    BodyWork<T>& body = d.body[i];
    DofWork<T>* dof = &d.dof[b.dof0];
    const T* q = &d.q[b.q0];

    // Where the joint hangs: a rigid parent's head, a flexible parent's node, or the ground.
    M3<T> R;
    V3<T> p;
    Vec6<T> V, dV, bias = Vec6<T>::zero();
    if (b.parent < 0) {
      R = M3<T>::identity();
      p = V3<T>::zero();
      V = dV = Vec6<T>::zero();
    } else if (b.parent_node < 0) {
      const BodyWork<T>& parent = d.body[b.parent];
      R = parent.R;
      p = parent.p;
      V = parent.V;
      dV = parent.dV;
    } else {
      const NodeWork<T>& node = d.node[b.parent_node];
      R = node.R;
      p = d.body[b.parent].p + node.r;
      V = node.V;
      dV = node.dV;
      bias = node.bias;
    }

    // Position: translations, then rotations in sequence.
    V3<T> arm = R * b.p_PJ;
    for (int32_t k = 0; k < b.translations; ++k) {
      dof[k].axis = R * c[k].axis_parent;
      arm += dof[k].axis * q[k];
    }
    if (b.quaternion) {
      R = R * (M3<T>::load(b.R_PJ.c) * matrix_of(q + b.translations));
      for (int32_t k = 0; k < 3; ++k) dof[b.translations + k].axis = R.c[k];
    } else if (b.rotations == 0) {
      R = R * b.R_PJ;
    } else {
      for (int32_t k = b.translations; k < b.dofs; ++k) {
        T sine, cosine;
        sine_cosine(q[k], sine, cosine);
        dof[k].axis = R * (k == b.translations ? c[k].axis_parent : c[k].axis);
        R = R * (M3<T>::load(c[k].K0.c) + M3<T>::load(c[k].K1.c) * cosine +
                 M3<T>::load(c[k].K2.c) * sine);
      }
    }
    body.R = R;
    body.p = p + arm;
    body.arm = arm;

    // Velocity, and the acceleration that is there without any of the unknown ones.
    const HeadVelocity<T> own = head_velocity(b, dof, arm, V, &d.u[b.u0]);
    body.V = own.V;
    body.bias = motion_at(bias, arm) + own.products;
    if (corrected) {
      const HeadVelocity<T> change = head_velocity(b, dof, arm, dV, &d.du[b.u0]);
      body.dV = change.V;
      body.bias += change.products * weight;
    }
    for (int32_t k = 0; k < b.dofs; ++k) {
      if (!d.held[b.dof0 + k]) continue;
      (k < b.translations ? body.bias.lin : body.bias.ang) += dof[k].axis * dof[k].acceleration;
    }
    joint_efforts(m, b, d);

    if (b.modes == 0) {
      body.moment = R * b.first_moment;
      body.M.A = M3<T>::identity() * T(b.mass);
      body.M.B = cross_matrix(-body.moment);
      body.M.C = rotated(R, b.inertia);
      body.G = spin_force(body, body.V.ang) * T(-1.0);
      if (corrected) body.G -= spin_force(body, body.dV.ang) * weight;
    } else {
      flexible_terms(m, b, d, body);
      for (int32_t k = 0; k < b.actives; ++k) {
        node_kinematics(m, d, m.active_nodes[b.active0 + k]);
      }
    }
    if (b.wheels > 0) wheel_terms(m, b, d, body);
  }
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

}  // namespace pliant::PLIANT_ISA
