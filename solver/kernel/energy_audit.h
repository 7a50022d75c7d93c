// The account of energy over a run, and whether its steps can be believed.
//
// Between two moments energy changes by the work of inputs and prescribed motions less what
// friction and damping take. What is left over is the error of the integrator:
//     error = E - E_start - work + dissipated                                                (1)
// It is held against all the energy that moved: the largest kinetic, strain and spring energy that
// (1) can explain, plus what went in and out,
//     moved = max(K + S + P - error) + sum |work| + sum |dissipated|                         (2)
// K and work without what goes on by itself, which may be large and is nothing to measure
// vibrations by: the motion of a floating model's mass centre, the spin of wheels and what their
// motors do on it.
//
// A motion that the step does not follow gains energy out of nothing, and soon more than ever was
// there. (1) takes a pass over all bodies, so it is not asked after every step but after
// kStepsBetween of them, and before that as soon as
//     m = sum I_i u_i^2                                                                      (3)
// has grown by kGrowth since it was last asked. I_i is the largest inertia that the speed u_i can
// move, so that of n speeds 2 K <= n m in every position: no step passes unseen that makes much
// more energy than there was.
//
// What sets out from rest has moved little more energy in its first step than the error of that
// step, however right it is. So only what has not grown for kStepsBetween steps is judged to be
// doubtful, by the largest error so far; and what grows is lost by an error that counts beside the
// energies and forces at hand.
#pragma once

#include <cmath>

#include "observe.h"

namespace pliant::PLIANT_ISA {

constexpr double kStepsBetween = 64.0;
constexpr double kGrowth = 4.0;
// Of all energies in (1), and of what the forces at hand would do over the size of the model: less
// is rounding; less is a motion that sets out.
constexpr double kRoundingOfEnergy = 1e-9;
constexpr double kSettingOut = 1e-6;
// Of the size of the model, a second: what stands still moves by rounding, but slower.
constexpr double kStanding = 1e-9;
// Sine of the angle between the third axis of a joint and the plane of the others below which its
// angles are no measure of rotation any more.
constexpr double kAxesLinedUp = 0.1;

// ---------------------------------------------------------------------------------------- account

// Work of inputs and prescribed motions, and loss to friction and damping, each per second.
struct Power {
  double work, loss;
  double on_wheels = 0.0;  // of the work
};

// From the world's origin; kinematics of nodes of flexible bodies must be in Data.
inline V3<double> node_place(const Model& m, const Data<double>& d, int32_t node) {
  const NodeConst& c = m.nodes[node];
  const BodyWork<double>& body = d.body[c.body];
  if (m.bodies[c.body].modes > 0) return body.p + d.node[node].r;
  return body.p + body.R * V3<double>::load(c.position.x);
}

// Velocity of a node that the speeds `u` make at the position in Data, world axes.
inline Vec6<double> node_velocity(const Model& m, const Data<double>& d, int32_t node,
                                  const double* u) {
  using V = V3<double>;
  const NodeConst& c = m.nodes[node];
  const V target = node_place(m, d, node);
  Vec6<double> sum = Vec6<double>::zero();
  // Modes that move a node at `place` move the target with it.
  const auto add_modes = [&](int32_t body, int32_t at, const V& place) {
    const BodyConst& b = m.bodies[body];
    const Vec6<double>* s = &d.jacobian[m.nodes[at].work0];
    Vec6<double> motion = Vec6<double>::zero();
    for (int32_t j = 0; j < b.modes; ++j) motion += s[j] * u[b.u0 + b.dofs + j];
    sum += motion_at(motion, target - place);
  };
  if (m.bodies[c.body].modes > 0) add_modes(c.body, node, target);
  for (int32_t i = c.body; i >= 0; i = m.bodies[i].parent) {
    const BodyConst& b = m.bodies[i];
    const V arm = target - d.body[i].p;
    for (int32_t k = 0; k < b.dofs; ++k) {
      const V motion = d.dof[b.dof0 + k].axis * u[b.u0 + k];
      if (k < b.translations) {
        sum.lin += motion;
      } else {
        sum.lin += cross(motion, arm);
        sum.ang += motion;
      }
    }
    if (b.parent_node >= 0) {
      add_modes(b.parent, b.parent_node, node_place(m, d, b.parent_node));
    }
  }
  return sum;
}

// What a freedom's friction and stops take off at the position q: all of their effort that is not
// in the energy of springs, their dampers at the speed u.
inline double taken_off(const DofConst& c, double q, const PassiveEffort<double>& effort,
                        double u) {
  const double elastic = -c.stiffness * (q - c.rest) - c.stop_stiffness * beyond_stop(c, q);
  return elastic - effort.elastic + effort.damping * u;
}

// Of the moment in Data after its accelerations were found, at the speeds `u_all`; friction and
// damping as they acted on it.
inline Power power(const Model& m, const Data<double>& d, const double* u_all) {
  Power sum{0.0, 0.0};
  const bool implicit = d.damping_time > 0.0;
  const auto count = static_cast<int32_t>(m.bodies.size());
  for (int32_t i = 0; i < count; ++i) {
    const BodyConst& b = m.bodies[i];
    const double* u = u_all + b.u0;
    const double* acting = implicit ? u : &d.u[b.u0];  // of modes: at the speed in the middle
    for (int32_t k = 0; k < b.dofs; ++k) {
      const int32_t dof = b.dof0 + k;
      const DofConst& c = m.dofs[dof];
      sum.work += (d.held[dof] ? held_effort(m, d, i, k) : d.input[dof]) * u[k];
      if (!c.passive) continue;
      const double q = joint_position(b, d, k);
      const PassiveEffort<double> effort = passive_effort(c, q, d.u[b.u0 + k]);
      double at = d.u[b.u0 + k];
      if (implicit && !d.held[dof]) {
        const double later = effort.damping > 0.0 ? d.dof[dof].damping / effort.damping : 0.0;
        at = d.u_damped[b.u0 + k] + later * d.udot[b.u0 + k];
      }
      sum.loss += taken_off(c, q, effort, at) * u[k];
    }
    const int32_t n = b.modes;
    const double* damping = m.matrices.data() + b.matrix0 + 2 * n * n;
    for (int32_t j = 0; j < n; ++j) {
      const double rate = u[b.dofs + j];
      if (b.diagonal) {
        sum.loss += rate * damping[j * n + j] * acting[b.dofs + j];
        continue;
      }
      for (int32_t k = 0; k < n; ++k) sum.loss += rate * damping[j * n + k] * acting[b.dofs + k];
    }
  }
  for (const LoopConst& loop : m.loops) {
    for (int32_t i = loop.freedom0; i < loop.freedom0 + loop.freedoms; ++i) {
      const DofConst& c = m.loop_freedoms[i].dof;
      const LoopFreedomWork<double>& free = d.loop_freedom[i];
      if (c.passive) {
        const PassiveEffort<double> applied = passive_effort(c, free.position, free.rate);
        sum.loss += taken_off(c, free.position, applied, free.rate) * free.rate;
      }
      const double effort = d.input[m.loop_input0 + i];
      if (effort == 0.0) continue;
      Vec6<double> V = node_velocity(m, d, loop.node_b, u_all);
      if (loop.node_a >= 0) {
        const V3<double> apart = node_place(m, d, loop.node_b) - node_place(m, d, loop.node_a);
        V = V - motion_at(node_velocity(m, d, loop.node_a, u_all), apart);
      }
      sum.work += effort * dot(free.on_b, V);
    }
  }
  for (std::size_t i = 0; i < m.loop_rows.size(); ++i) {
    sum.work += d.multiplier[i] * d.loop_target[i].rate;  // of prescribed directions
  }
  for (std::size_t w = 0; w < m.wheels.size(); ++w) {
    sum.on_wheels += d.input[m.wheel_input0 + static_cast<int32_t>(w)] * u_all[m.wheels[w].u];
  }
  sum.work += sum.on_wheels;
  for (int32_t l = 0; l < d.loaded_count; ++l) {
    const int32_t k = d.loaded[l];
    const double* x = &d.input[m.node_input0 + 6 * k];
    const Vec6<double> load{V3<double>::of(x[0], x[1], x[2]), V3<double>::of(x[3], x[4], x[5])};
    sum.work += dot(node_velocity(m, d, k, u_all), load);
  }
  return sum;
}

// ---------------------------------------------------------------------------------------- verdict

// (3)
inline double motion_measure(const Model& m, const double* u) {
  double sum = 0.0;
  for (int32_t i = 0; i < m.u_size; ++i) sum += m.largest_inertia[i] * u[i] * u[i];
  return sum;
}

// What weights and inputs, as they are in Data, would do over the size of the model, torques over a
// radian.
inline double work_at_hand(const Model& m, const Data<double>& d) {
  const V3<double> g = V3<double>::load(m.gravity.x);
  double forces = m.mass * std::sqrt(dot(g, g)), torques = 0.0;
  const auto add = [&](const double* input, int32_t count, int32_t slides) {
    for (int32_t k = 0; k < count; ++k) (k < slides ? forces : torques) += std::fabs(input[k]);
  };
  for (const BodyConst& b : m.bodies) add(&d.input[b.dof0], b.dofs, b.translations);
  for (int32_t l = 0; l < d.loaded_count; ++l) {
    add(&d.input[m.node_input0 + 6 * d.loaded[l]], 6, 3);
  }
  add(&d.input[m.wheel_input0], static_cast<int32_t>(m.wheels.size()), 0);
  for (const LoopConst& loop : m.loops) {
    add(&d.input[m.loop_input0 + loop.freedom0], loop.freedoms, loop.translations);
  }
  return forces * m.extent + torques;
}

// Kinetic, strain and spring energy, without what goes on by itself.
inline double moving_energy(const Model& m, const Totals<double>& now, const double* u) {
  double kinetic = now.kinetic;
  if (m.floats) kinetic -= dot(now.momentum.lin, now.momentum.lin) / (2.0 * m.mass);
  for (const WheelConst& wheel : m.wheels) kinetic -= 0.5 * wheel.inertia * u[wheel.u] * u[wheel.u];
  return std::fabs(kinetic) + now.strain + now.spring;
}

// Whether the axes of three angles that move are in one plane, but for little, at the moment in
// Data.
inline bool are_lined_up(const BodyConst& b, const Data<double>& d) {
  const int32_t first = b.dof0 + b.translations;
  const DofWork<double>* turn = &d.dof[first];
  const double sine = dot(turn[0].axis, cross(turn[1].axis, turn[2].axis));
  return !d.held[first] && std::fabs(sine) < kAxesLinedUp;
}

// The first freedom of the first joint of which that is so, -1 if there is none.
inline int32_t axes_lined_up(const Model& m, const Data<double>& d) {
  for (const int32_t i : m.three_angles) {
    if (are_lined_up(m.bodies[i], d)) return m.bodies[i].dof0;
  }
  return -1;
}

// Whether such a joint turned further than `most` in a step, whose evaluation is in Data; `u` are
// the speeds at its end.
inline Status check_angles(const Model& m, const Data<double>& d, const double* u, double step,
                           double most) {
  for (const int32_t i : m.three_angles) {
    const BodyConst& b = m.bodies[i];
    if (!are_lined_up(b, d)) continue;
    for (int32_t k = b.translations; k < b.dofs; ++k) {
      const double turned = step * std::fabs(u[b.u0 + k]);
      if (!(turned <= most)) return {Code::gimbal_lock, b.dof0 + k, turned, 0};
    }
  }
  return {};
}

// Which freedom an energy error is to be blamed on: a joint of three angles whose axes line up,
// else the speed that moves most.
inline Status blame(const Model& m, const Data<double>& d, const double* u, double ratio) {
  if (const int32_t first = axes_lined_up(m, d); first >= 0) {
    return {Code::gimbal_lock, first, ratio, 0};
  }
  int32_t most = 0;
  for (int32_t i = 1; i < m.u_size; ++i) {
    const double motion = m.largest_inertia[i] * u[i] * u[i];
    if (motion > m.largest_inertia[most] * u[most] * u[most]) most = i;
  }
  return {Code::energy_grew, most, ratio, 0};
}

}  // namespace pliant::PLIANT_ISA
