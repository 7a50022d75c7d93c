// Terms of a flexible body and kinematics of its nodes.
//
// Displacement field, head frame: r = X + sum_f phi_f e_f over the fields f of the body: its
// modes (e = eta) and, for geometric stiffening, the second-order pairs (e = c eta_i eta_j). The
// constants are the integrals over the undeformed body
//     S_f = int rho phi_f,   A_f = int rho X phi_f^T,   B_fg = int rho phi_f phi_g^T,
// of which only the non-zero rows are stored, as Slots of
//     Q_f(e) = int rho phi_f r^T = A_f^T + sum_g (B_fg + A2_fg^T) e_g.                      (1)
// With e' the rates and w the angular velocity of the head:
//     P = P0 + sym(sum_f e_f (Q_f + A_f^T)),  J = tr(P) I - P      inertia about the head   (2)
//     C_f = int rho r x phi_f = -ax(Q_f)                                                    (3)
//     linear bias   w x (w x mc) + 2 w x (S e')                                             (4)
//     angular bias  w x J w + 2 (tr(Qv) w - Qv w) + sum_fg ax(A2_fg) e'_f e'_g,
//                   Qv = sum_f e'_f Q_f                                                     (5)
//     field bias    (w w^T - w.w I) : Q_f + 2 w . sum_g ax(B_gf) e'_g                       (6)
// where ax(Q) = (Q23 - Q32, Q31 - Q13, Q12 - Q21) and ':' sums over components. These are
// Ghosh & Quiocho's B_r, B_e (3.3-3.4) with every second-order modal term kept, which the SID
// standard drops.
//
// Second-order pairs: e'_p and e''_p follow from eta by the chain rule, e' = E eta',
// e'' = E eta'' + a with a_p = 2 c eta_i' eta_j'; columns, biases and masses of the fields are
// contracted with E (Banerjee 1993; Wallrapp & Schwertassek 1991). A body without pairs skips it,
// and pairs whose field moves no mass, only nodes off the axis of a beam, are no fields of it.
//
// Rotary inertia of the mass points is in these constants to second order in the deflections
// (pliant/modal_integrals.py), exactly what small deflections of a spinning body need. A2_fg is
// its second-order pair of the modes f and g, of which int rho X phi2_fg^T alone is of that order:
// it changes Q and therefore J and the columns C, whose rates give the last term of (5); in (6) it
// drops out, being symmetric in f and g. Points listed in the model are exact instead: their
// inertia turns with exp(psi eta).
#pragma once

#include <algorithm>
#include <type_traits>

#include "data.h"
#include "rotation.h"

namespace pliant::PLIANT_ISA {

// f(n), with n known to the compiler if it is four, the usual number of modes of a beam: their
// loops then run in registers.
template <class Function>
PLIANT_INLINE auto with_count(int32_t n, Function f) {
  if (n == 4) return f(std::integral_constant<int32_t, 4>());
  return f(n);
}

// sum_i shape_i x_i
template <class T, class Count>
PLIANT_INLINE V3<T> combined(Count n, const Vector3* shape, const T* x) {
  V3<T> sum = V3<T>::zero();
  for (int32_t i = 0; i < n; ++i) sum += V3<T>::load(shape[i].x) * x[i];
  return sum;
}

// Rotation of a node relative to the head, from the shapes psi of the modes. Its Jacobian's
// columns are T psi_i, its rate T psi eta' and what that lacks in acceleration T' psi eta'.
template <class T, class Count>
PLIANT_INLINE ExponentialMap<T> node_turn(Count n, const Vector3* psi, const T* eta,
                                          NodeRotation rotation) {
  ExponentialMap<T> map = exponential_map(combined(n, psi, eta));
  if (rotation == NodeRotation::paper) {
    // Ghosh & Quiocho 1.1, Huynh 12: the tangent taken as I. No orientation has this rate.
    map.tangent = M3<T>::identity();
    map.c = map.db = map.dc = T(0.0);
  }
  return map;
}

// Node of a flexible body: pose, velocity, bias acceleration and Jacobian of the modes, from the
// head's: v_k = v + w x r + phi eta', w_k = w + T psi eta'.
template <bool corrected, class T, class Count>
inline void node_kinematics(Count n, const Model& m, Data<T>& d, int32_t index) {
  const NodeConst& c = m.nodes[index];
  const BodyConst& b = m.bodies[c.body];
  const BodyWork<T>& body = d.body[c.body];
  NodeWork<T>& node = d.node[index];
  Vec6<T>* jacobian = &d.jacobian[c.work0];
  const T* eta = &d.q[b.q0 + b.joint_qs];
  const T* etad = &d.u[b.u0 + b.dofs];
  const T* change = &d.du[b.u0 + b.dofs];
  const T weight = T(d.correction);
  const Vector3* phi = &m.node_phi[c.phi0];
  const Vector3* psi = &m.node_psi[c.psi0];

  const ExponentialMap<T> turn = node_turn(n, psi, eta, d.node_rotation);
  const M3<T> tangent = body.R * turn.tangent;

  V3<T>* shape = d.field_column.data();
  V3<T> position = V3<T>::load(c.position.x);
  V3<T> product = V3<T>::zero();
  for (int32_t i = 0; i < n; ++i) {
    shape[i] = V3<T>::load(phi[i].x);
    position += shape[i] * eta[i];
  }
  for (int32_t p = 0; p < b.pairs; ++p) {
    const Pair& pair = m.pairs[b.pair0 + p];
    const V3<T> second = V3<T>::load(phi[n + p].x) * T(pair.weight);
    shape[pair.i] += second * eta[pair.j];
    shape[pair.j] += second * eta[pair.i];
    position += second * (eta[pair.i] * eta[pair.j]);
    product += second *
               (T(2.0) * (etad[pair.i] * etad[pair.j] + weight * change[pair.i] * change[pair.j]));
  }
  for (int32_t i = 0; i < n; ++i) jacobian[i] = {body.R * shape[i], tangent * psi[i]};
  node.r = body.R * position;
  node.R = body.R * (turn.R * c.rotation);

  // Velocity of the node for the head's and the modes' rates, and its velocity products.
  const auto velocity = [&](const Vec6<T>& head, const T* rates, Vec6<T>& products) {
    V3<T> slide = V3<T>::zero(), angle_rate = V3<T>::zero();
    for (int32_t i = 0; i < n; ++i) {
      slide += shape[i] * rates[i];
      angle_rate += V3<T>::load(psi[i].x) * rates[i];
    }
    const V3<T> w = head.ang;
    const V3<T> slide_W = body.R * slide, turn_W = tangent * angle_rate;
    const V3<T> wxr = cross(w, node.r);
    products = {cross(w, wxr + slide_W * T(2.0)),
                cross(w, turn_W) + body.R * turn.bias(angle_rate)};
    return Vec6<T>{head.lin + wxr + slide_W, w + turn_W};
  };
  Vec6<T> products;
  node.V = velocity(body.V, etad, products);
  node.bias = {products.lin + body.R * product, products.ang};
  if (corrected) {
    d.node_dV[index] = velocity(d.head_dV[c.body], change, products);
    node.bias += products * weight;
  }
}

template <bool corrected, class T>
inline void node_kinematics(const Model& m, Data<T>& d, int32_t index) {
  with_count(m.bodies[m.nodes[index].body].modes,
             [&](auto n) { node_kinematics<corrected>(n, m, d, index); });
}

template <class T>
inline void node_kinematics(const Model& m, Data<T>& d, int32_t index) {
  if constexpr (std::is_same_v<T, double>) {
    if (d.correction != 0.0) return node_kinematics<true>(m, d, index);
  }
  node_kinematics<false>(m, d, index);
}

// y += A x for a symmetric matrix A, by its columns.
template <class T, class Count>
PLIANT_INLINE void add_product(Count n, const double* __restrict A, const T* x, T* __restrict y) {
  for (int32_t j = 0; j < n; ++j) {
    const T xj = x[j];
    for (int32_t i = 0; i < n; ++i) y[i] += T(A[j * n + i]) * xj;
  }
}

// Inertia M, first moment, forces G, mode columns, modal mass matrix and modal forces of a body
// with modes, from its head's pose and velocity: writes the body's part of Data. `corrected`: with
// the velocity products of du.
template <bool corrected, class T, class Count>
inline void flexible_terms(Count n, const Model& m, const BodyConst& b, Data<T>& d,
                           BodyWork<T>& body, const Vec6<T>& head_dV) {
  const T* eta = &d.q[b.q0 + b.joint_qs];
  const T* etad = &d.u[b.u0 + b.dofs];
  const T* change = &d.du[b.u0 + b.dofs];
  const T weight = T(d.correction);
  InternalWork<T>* internal = &d.internal[b.internal0];
  T* coupling = &d.coupling[b.coupling0];
  const Vector3* field = &m.fields[b.field0];
  const double* mass_matrix = &m.matrices[b.matrix0];
  const double* stiffness = mass_matrix + n * n;
  const double* damping = stiffness + n * n;

  // Coordinates, rates and rates of the change of all fields
  const T* e = eta;
  const T* ed = etad;
  const T* ec = change;
  T* ea = d.field_a.data();
  T* bias = d.field_bias.data();
  V3<T>* moment_column = d.field_column.data();  // C_f
  V3<T>* product = d.field_product.data();       // (6), its components still apart
  if (b.mass_pairs > 0) {
    T* field_q = d.field_q.data();
    T* field_u = d.field_u.data();
    T* field_du = d.field_du.data();
    std::copy(eta, eta + n, field_q);
    std::copy(etad, etad + n, field_u);
    if (corrected) std::copy(change, change + n, field_du);
    for (int32_t p = 0; p < b.mass_pairs; ++p) {
      const Pair& pair = m.pairs[b.pair0 + p];
      const T factor = T(pair.weight);
      field_q[n + p] = factor * eta[pair.i] * eta[pair.j];
      field_u[n + p] = factor * (eta[pair.i] * etad[pair.j] + etad[pair.i] * eta[pair.j]);
      ea[n + p] = T(2.0) * factor * etad[pair.i] * etad[pair.j];
      if (corrected) {
        field_du[n + p] = factor * (eta[pair.i] * change[pair.j] + change[pair.i] * eta[pair.j]);
        ea[n + p] += T(2.0) * factor * weight * change[pair.i] * change[pair.j];
      }
    }
    e = field_q;
    ed = field_u;
    ec = field_du;
  }

  const V3<T> w = transposed_times(body.R, body.V.ang);  // head frame, as all until the end
  const V3<T> dw = corrected ? transposed_times(body.R, head_dV.ang) : V3<T>::zero();
  const T two = T(2.0);
  const M3<T> axes = M3<T>::identity();
  M3<T> centrifugal = outer(w, w) - axes * dot(w, w);  // by rows, as Q
  if (corrected) centrifugal += (outer(dw, dw) - axes * dot(dw, dw)) * weight;

  V3<T> moment = V3<T>::load(b.first_moment.x);
  V3<T> moment_rate = V3<T>::zero(), moment_change = V3<T>::zero(), moment_product = V3<T>::zero();
  const auto add_field = [&](int32_t f) {
    const V3<T> S = V3<T>::load(field[f].x);
    moment += S * e[f];
    moment_rate += S * ed[f];
    if (corrected) moment_change += S * ec[f];
    product[f] = V3<T>::zero();
    moment_column[f] = V3<T>::zero();
  };
  for (int32_t i = 0; i < n; ++i) add_field(i);
  for (int32_t p = n; p < b.fields; ++p) {
    add_field(p);
    moment_product += V3<T>::load(field[p].x) * ea[p];
  }

  // (1)-(6) over the non-zero rows of the Q_f.
  M3<T> dP, Qv, Qv_change;  // by rows; dP the change of P, unsymmetrised
  const auto add_row = [&](auto row_constant) {
    constexpr int row = decltype(row_constant)::value;
    V3<T> dP_row = V3<T>::zero(), Qv_row = V3<T>::zero(), Qv_change_row = V3<T>::zero();
    for (int32_t s = b.slot0[row]; s < b.slot0[row + 1]; ++s) {
      const Slot& slot = m.slots[s];
      const V3<T> constant = V3<T>::load(slot.constant.x);
      const Vector3* slope = &m.slot_values[slot.value0];
      const int32_t* g = &m.slot_fields[slot.value0];
      V3<T> Q = constant;
      for (int32_t k = 0; k < slot.values; ++k) Q += V3<T>::load(slope[k].x) * e[g[k]];
      const int32_t f = slot.field;
      dP_row += (Q + constant) * e[f];
      Qv_row += Q * ed[f];
      if (corrected) Qv_change_row += Q * ec[f];
      product[f] += products(centrifugal.c[row], Q);
      moment_column[f] += cross_axis<row>(Q);
    }
    dP.c[row] = dP_row;
    Qv.c[row] = Qv_row;
    Qv_change.c[row] = Qv_change_row;
  };
  add_row(std::integral_constant<int, 0>());
  add_row(std::integral_constant<int, 1>());
  add_row(std::integral_constant<int, 2>());
  for (int32_t k = b.gyroscopic0; k < b.gyroscopic0 + b.gyroscopics; ++k) {
    const FieldPair& pair = m.gyroscopics[k];
    V3<T> rate = w * ed[pair.g];
    if (corrected) rate += dw * (weight * ec[pair.g]);
    product[pair.f] += products(rate, V3<T>::load(pair.value.x));
  }
  V3<T> turn_product = V3<T>::zero();
  for (int32_t k = b.turning0; k < b.turning0 + b.turnings; ++k) {
    const FieldPair& pair = m.turnings[k];
    T rates = ed[pair.f] * ed[pair.g];
    if (corrected) rates += weight * ec[pair.f] * ec[pair.g];
    turn_product += V3<T>::load(pair.value.x) * rates;
  }
  for (int32_t f = 0; f < b.fields; ++f) bias[f] = sum(product[f]);
  M3<T> J = M3<T>::load(b.inertia.c) + axes * trace(dP) - (dP + transpose(dP)) * T(0.5);

  // (4) and (5) but for products of rates alone
  const auto spin_bias = [&](V3<T> w, V3<T> moment_rate, const M3<T>& Qv) {
    return Vec6<T>{cross(w, cross(w, moment) + moment_rate * two),
                   cross(w, J * w) + (w * trace(Qv) - transposed_times(Qv, w)) * two};
  };
  Vec6<T> head_bias = spin_bias(w, moment_rate, Qv) + Vec6<T>{moment_product, turn_product};
  if (corrected) head_bias += spin_bias(dw, moment_change, Qv_change) * weight;

  for (int32_t i = 0; i < n; ++i) {
    internal[i].column = {V3<T>::load(field[i].x), moment_column[i]};
    std::copy(mass_matrix + i * n, mass_matrix + (i + 1) * n, coupling + i * b.stride);
  }

  if (b.mass_pairs > 0) {
    // Contraction of the pairs' fields with E: row p of E has c eta_j in column i and c eta_i in
    // column j.
    const double* hat = &m.hats[b.hat0];
    const int32_t nh = b.fields;
    T* F = d.field_mass.data();
    for (int32_t f = 0; f < nh; ++f) {
      for (int32_t p = n; p < nh; ++p) bias[f] += T(hat[f * nh + p]) * ea[p];
    }
    for (int32_t p = n; p < nh; ++p) {
      head_bias.ang += moment_column[p] * ea[p];
    }
    for (int32_t p = 0; p < b.mass_pairs; ++p) {
      const Pair& pair = m.pairs[b.pair0 + p];
      const T Ei = T(pair.weight) * eta[pair.j], Ej = T(pair.weight) * eta[pair.i];
      const Vec6<T> c{V3<T>::load(field[n + p].x), moment_column[n + p]};
      internal[pair.i].column += c * Ei;
      internal[pair.j].column += c * Ej;
      bias[pair.i] += Ei * bias[n + p];
      bias[pair.j] += Ej * bias[n + p];
      // Mee = [1 E^T] hat [1; E] = hat_mm + E^T F + F^T E,  F = hat_pm + 1/2 hat_pp E: row by row,
      // lower triangle.
      const double* row = hat + (n + p) * nh;
      for (int32_t j = 0; j < n; ++j) F[j] = T(row[j]);
      for (int32_t s = 0; s < b.mass_pairs; ++s) {
        const Pair& other = m.pairs[b.pair0 + s];
        const T half = T(0.5 * row[n + s] * other.weight);
        F[other.i] += half * eta[other.j];
        F[other.j] += half * eta[other.i];
      }
      const auto add = [&](int32_t i, int32_t j, T x) {
        coupling[(i > j ? i : j) * b.stride + (i > j ? j : i)] += i == j ? two * x : x;
      };
      for (int32_t j = 0; j < n; ++j) {
        add(pair.i, j, Ei * F[j]);
        add(pair.j, j, Ej * F[j]);
      }
    }
  }

  const T* damped = corrected ? &d.u_damped[b.u0 + b.dofs] : etad;
  const T later = T(d.damping_time);
  if (b.diagonal) {
    for (int32_t i = 0; i < n; ++i) {
      const T rate = T(damping[i * n + i]);
      bias[i] += T(stiffness[i * n + i]) * eta[i] + rate * damped[i];
      if (corrected) coupling[i * b.stride + i] += later * rate;
    }
  } else {
    add_product(n, stiffness, eta, bias);
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j < n; ++j) {
        const T rate = T(damping[i * n + j]);
        bias[i] += rate * damped[j];
        if (corrected && j <= i) coupling[i * b.stride + j] += later * rate;
      }
    }
  }
  for (int32_t i = 0; i < n; ++i) internal[i].rhs = -bias[i];

  // Points whose inertia turns with the deformation.
  for (int32_t k = 0; k < b.points; ++k) {
    const PointConst& point = m.points[b.point0 + k];
    const Vector3* shape = &m.point_psi[point.psi0];
    V3<T>* psi = d.psi.data();
    const ExponentialMap<T> turn = node_turn(n, shape, eta, d.node_rotation);
    for (int32_t i = 0; i < n; ++i) psi[i] = turn.tangent * shape[i];
    const M3<T> Jk = rotated(turn.R, point.inertia);
    const auto torque_of = [&](V3<T> w, const T* rates) {
      const V3<T> angle_rate = combined(n, shape, rates), rate = turn.tangent * angle_rate;
      const V3<T> wk = w + rate;
      return Jk * (cross(w, rate) + turn.bias(angle_rate)) + cross(wk, Jk * wk);
    };
    V3<T> torque = torque_of(w, etad);
    if (corrected) torque += torque_of(dw, change) * weight;
    J += Jk;
    head_bias.ang += torque;
    for (int32_t i = 0; i < n; ++i) {
      const V3<T> Jpsi = Jk * psi[i];
      internal[i].column.ang += Jpsi;
      internal[i].rhs -= dot(psi[i], torque);
      for (int32_t j = 0; j <= i; ++j) coupling[i * b.stride + j] += dot(Jpsi, psi[j]);
    }
  }

  // Into world axes.
  body.moment = body.R * moment;
  body.M.A = M3<T>::identity() * T(b.mass);
  body.M.B = cross_matrix(-body.moment);
  body.M.C = rotated(body.R, J);
  body.G = {-(body.R * head_bias.lin), -(body.R * head_bias.ang)};
  for (int32_t i = 0; i < n; ++i) {
    internal[i].column = {body.R * internal[i].column.lin, body.R * internal[i].column.ang};
  }
}

template <bool corrected, class T>
inline void flexible_terms(const Model& m, const BodyConst& b, Data<T>& d, BodyWork<T>& body,
                           const Vec6<T>& head_dV) {
  with_count(b.modes, [&](auto n) { flexible_terms<corrected>(n, m, b, d, body, head_dV); });
}

}  // namespace pliant::PLIANT_ISA
