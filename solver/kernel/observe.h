// What is asked of a mechanism at one state: motion of nodes, efforts, energies, momenta, and the
// numbers that a Signal names. For T = Dual the same functions give exact derivatives.
//
//   totals(...)        after outward() and, with loops, loop_terms(): needs every body's own
//   inertia the others         after order_n(): need accelerations and what elimination leaves
#pragma once

#include "order_n.h"

namespace pliant::PLIANT_ISA {

// World axes; A without gravity's share hidden in it.
template <class T>
struct NodeMotion {
  V3<T> p;
  M3<T> R;
  Vec6<T> V, A;
};

template <class T>
inline NodeMotion<T> node_motion(const Model& m, Data<T>& d, int32_t index) {
  const NodeConst& c = m.nodes[index];
  const BodyWork<T>& body = d.body[c.body];
  const BodyConst& b = m.bodies[c.body];
  NodeMotion<T> out;
  V3<T> r;
  if (b.modes == 0) {
    r = body.R * V3<T>::load(c.position.x);
    out.R = body.R * M3<T>::load(c.rotation.c);
    out.V = motion_at(body.V, r);
    out.A = motion_at(body.A, r);
    out.A.lin += cross(body.V.ang, cross(body.V.ang, r));
  } else {
    node_kinematics(m, d, index);
    const NodeWork<T>& node = d.node[index];
    const Vec6<T>* s = &d.jacobian[c.work0];
    r = node.r;
    out.R = node.R;
    out.V = node.V;
    out.A = motion_at(body.A, r) + node.bias;
    const T* etadd = &d.udot[b.u0 + b.dofs];
    for (int32_t i = 0; i < b.modes; ++i) out.A += s[i] * etadd[i];
  }
  out.p = body.p + r;
  out.A.lin += V3<T>::load(m.gravity.x);
  return out;
}

// Effort that a held freedom takes: the joint's force along it, less springs and friction.
template <class T>
inline T held_effort(const Model& m, const Data<T>& d, int32_t body, int32_t k) {
  const BodyConst& b = m.bodies[body];
  const DofWork<T>& dof = d.dof[b.dof0 + k];
  const Vec6<T> F = joint_force(m, d, body);
  const T passive = dof.force - d.input[b.dof0 + k];
  return dot(dof.axis, k < b.translations ? F.lin : F.ang) - passive;
}

// How far a position is beyond a stop; negative below the lower one.
template <class T>
inline T beyond_stop(const DofConst& c, T q) {
  if (value(q) > c.stop_upper) return q - T(c.stop_upper);
  if (value(q) < c.stop_lower) return q - T(c.stop_lower);
  return T(0.0);
}

template <class T>
inline T joint_position(const BodyConst& b, const Data<T>& d, int32_t k) {
  const T* q = &d.q[b.q0];
  if (!b.quaternion || k < b.translations) return q[k];
  return rotation_vector(q + b.translations)[k - b.translations];
}

// Of spring and stops at the position q.
template <class T>
inline T spring_energy(const DofConst& c, T q) {
  const T stretch = q - T(c.rest), over = beyond_stop(c, q);
  return T(0.5 * c.stiffness) * stretch * stretch + T(0.5 * c.stop_stiffness) * over * over;
}

template <class T>
inline T strain_energy(const Model& m, const Data<T>& d, const BodyConst& b) {
  const int32_t n = b.modes;
  const double* stiffness = m.matrices.data() + b.matrix0 + n * n;
  const T* eta = d.q.data() + b.q0 + b.joint_qs;
  T sum = T(0.0);
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < n; ++j) sum += T(0.5 * stiffness[i * n + j]) * eta[i] * eta[j];
  }
  return sum;
}

// Energies, and momentum [linear; angular about the world origin], world axes.
template <class T>
struct Totals {
  T kinetic, strain, spring, gravity;
  Vec6<T> momentum;
};

template <class T>
inline Totals<T> totals(const Model& m, const Data<T>& d) {
  Totals<T> sum{T(0.0), T(0.0), T(0.0), T(0.0), Vec6<T>::zero()};
  const V3<T> g = V3<T>::load(m.gravity.x);
  const auto count = static_cast<int32_t>(m.bodies.size());
  for (int32_t i = 0; i < count; ++i) {
    const BodyConst& b = m.bodies[i];
    const BodyWork<T>& body = d.body[i];
    const T* rate = d.u.data() + b.u0 + b.dofs;
    const T* E = d.coupling.data() + b.coupling0;
    Vec6<T> flow = Vec6<T>::zero();  // of the internal coordinates, against the head
    for (int32_t j = 0; j < b.internals; ++j) {
      flow += d.internal[b.internal0 + j].column * rate[j];
      T row = T(0.5) * E[j * b.stride + j] * rate[j];
      for (int32_t k = 0; k < j; ++k) row += E[j * b.stride + k] * rate[k];
      sum.kinetic += rate[j] * row;
    }
    const Vec6<T> rigid = body.M * body.V;
    sum.kinetic += dot(body.V, rigid * T(0.5) + flow);
    sum.momentum += force_from(rigid + flow, body.p);
    sum.gravity -= dot(g, body.p * T(b.mass) + body.moment);
    sum.strain += strain_energy(m, d, b);
    for (int32_t k = 0; b.passive && k < b.dofs; ++k) {
      sum.spring += spring_energy(m.dofs[b.dof0 + k], joint_position(b, d, k));
    }
  }
  for (std::size_t i = 0; i < m.loop_freedoms.size(); ++i) {
    const DofConst& c = m.loop_freedoms[i].dof;
    if (c.passive) sum.spring += spring_energy(c, d.loop_freedom[i].position);
  }
  return sum;
}

// Rate of the coordinate q[index] of a quaternion: 1/2 quaternion * (0, w).
template <class T>
inline T quaternion_rate(const T* a, const T* w, int32_t index) {
  switch (index) {
    case 0:
      return T(0.5) * (-a[1] * w[0] - a[2] * w[1] - a[3] * w[2]);
    case 1:
      return T(0.5) * (a[0] * w[0] + a[2] * w[2] - a[3] * w[1]);
    case 2:
      return T(0.5) * (a[0] * w[1] - a[1] * w[2] + a[3] * w[0]);
    default:
      return T(0.5) * (a[0] * w[2] + a[1] * w[1] - a[2] * w[0]);
  }
}

inline void coordinate_rates(const Model& m, const double* q, const double* u, double* rate) {
  for (const LinearRun& run : m.linear_runs) {
    for (int32_t k = 0; k < run.count; ++k) rate[run.q0 + k] = u[run.u0 + k];
  }
  for (const QuaternionRun& run : m.quaternion_runs) {
    for (int32_t k = 0; k < 4; ++k) {
      rate[run.q0 + k] = quaternion_rate(q + run.q0, u + run.u0, k);
    }
  }
}

// Reads signals one after the other; those of one node or reaction are found once if they follow
// one another.
template <class T>
class Reader {
 public:
  Reader(const Model& m, Data<T>& d, const Totals<T>& totals) : m_(m), d_(d), totals_(totals) {}

  T operator()(const Signal& s) {
    switch (s.quantity) {
      case Quantity::q:
        return d_.q[s.index];
      case Quantity::u:
        return d_.u[s.index];
      case Quantity::udot:
        return d_.udot[s.index];
      case Quantity::quaternion_rate: {
        const QuaternionRun& run = m_.quaternion_runs[s.element];
        return quaternion_rate(&d_.q[run.q0], &d_.u[run.u0], s.index);
      }
      case Quantity::effort: {
        const BodyConst& b = m_.bodies[s.element];
        const int32_t dof = b.dof0 + s.index;
        return d_.held[dof] ? held_effort(m_, d_, s.element, s.index) : d_.input[dof];
      }
      case Quantity::reaction:
        if (reaction_ != s.element) force_ = joint_force(m_, d_, reaction_ = s.element);
        return s.index < 3 ? force_.lin[s.index] : force_.ang[s.index - 3];
      case Quantity::node:
        return node(s);
      case Quantity::energy: {
        const T parts[4] = {totals_.kinetic, totals_.strain, totals_.spring, totals_.gravity};
        return s.index < 4 ? parts[s.index] : parts[0] + parts[1] + parts[2] + parts[3];
      }
      case Quantity::momentum:
        return s.index < 3 ? totals_.momentum.lin[s.index] : totals_.momentum.ang[s.index - 3];
      case Quantity::inverse_inertia:
        if (inverse_ != s.element) {
          inverse_inertia(m_, d_, inverse_ = s.element, inverse_inertia_);
        }
        return inverse_inertia_[s.index];
      case Quantity::loop_gap:
        return d_.loop_row[s.index].gap;
      case Quantity::loop_rate:
        return d_.loop_row[s.index].rate;
      case Quantity::loop_force:
        return d_.multiplier[s.index];
      case Quantity::loop_reaction: {
        const Vec6<T> F = loop_reaction(s.element);
        return s.index < 3 ? F.lin[s.index] : F.ang[s.index - 3];
      }
      case Quantity::loop_position:
        return d_.loop_freedom[s.index].position;
      case Quantity::loop_speed:
        return d_.loop_freedom[s.index].rate;
    }
    return T(0.0);
  }

 private:
  T node(const Signal& s) {
    if (node_ != s.element) {
      motion_ = node_motion(m_, d_, node_ = s.element);
      quaternion_of(motion_.R, quaternion_);
    }
    const int32_t i = s.index;
    if (i < 3) return motion_.p[i];
    if (i < 7) return quaternion_[i - 3];
    if (i < 10) return motion_.V.lin[i - 7];
    if (i < 13) return motion_.V.ang[i - 10];
    if (i < 16) return motion_.A.lin[i - 13];
    return motion_.A.ang[i - 16];
  }

  // What a loop does to its node b: held directions and efforts along the free ones.
  Vec6<T> loop_reaction(int32_t index) const {
    const LoopConst& loop = m_.loops[index];
    Vec6<T> F = Vec6<T>::zero();
    for (int32_t i = loop.row0; i < loop.row0 + loop.rows; ++i) {
      F += d_.loop_row[i].on_b * d_.multiplier[i];
    }
    for (int32_t i = loop.freedom0; i < loop.freedom0 + loop.freedoms; ++i) {
      F += d_.loop_freedom[i].on_b * d_.loop_freedom[i].effort;
    }
    return F;
  }

  const Model& m_;
  Data<T>& d_;
  const Totals<T>& totals_;
  int32_t node_ = -1, reaction_ = -1, inverse_ = -1;
  NodeMotion<T> motion_;
  T quaternion_[4];
  Vec6<T> force_;
  T inverse_inertia_[21];
};

}  // namespace pliant::PLIANT_ISA
