// One step of a fixed length h, with a(t, q, u) the accelerations and (+) the update of
// coordinates (of quaternions by the exponential map):
//
//   euler_cromer   u1 = u + h a(t, q, u),  q1 = q (+) h u1                       order 1, 1 call
//   leapfrog       q* = q (+) h/2 u,  u1 = u + h a(t + h/2, q*, ...),
//                  q1 = q* (+) h/2 u1                                            order 2, 1 call
//   rk4            the classical one                                             order 4, 4 calls
//
// Leapfrog and velocities. Over the step q -> q* -> q1 the momentum M(q) u is kept if the
// velocity products Q(u, u) act as their mean over both ends, [Q(u) + Q(u1)] / 2, and u1 is not
// known. What acts instead may differ from Q(u_n) by psi_n - psi_n-1 with any function psi of the
// past: over a run of steps that adds up to a bounded difference, however fast u vibrates, and
// momentum and the rates at which loops close do not drift. With the accelerations a1, a2 of the
// last two steps, evaluated the times age1, age2 ago,
//     Q(u + h/2 [a1 + E (a1 - a2)]) - k Q(h [a1 - m a2]),                                   (1)
//     E = 2/3 age1 / (age2 - age1),  m = 20 / (35 + sqrt 825),  k = (1/4 + 1/3 age1/h) / (1 - m)^2
// is of that kind: at a constant step E = 1/3 and psi = 1/2 Q(u) + 1/3 Q(u, h a1) + e Q(h a1), and
// two products suffice because of m and k. Extrapolated by 1/3, speeds of frequency w are right in
// phase up to (h w)^5, so that spinning bodies neither gain nor lose energy by gyroscopic forces;
// by 0 (3/2 Q(u_n) - 1/2 Q(u_n-1)) or 3/4 (least error of smooth motion) up to (h w)^3. Where
// there is no a2 yet, E = m = 0 and k = 1/4 + age1/h. Ages instead of step numbers keep the order
// for steps of any length. The plain choice Q(u + h/2 a1) leaves 3/4 Q(h a1) in every step. Speeds
// that are prescribed are known at t + h/2. In axes that turn, as those of a free body with its
// mass beside its head, the sum is not quite empty: a tumbling one drifts by some h^2 w^2 a radian.
// Friction and damping act at the speed in the middle of the step, which the unknown a makes,
//     (M + h/2 D) a = f - D u,                                                              (2)
// D diagonal in the freedoms and a matrix in the modes: no damper is too strong for the step. That
// alone would let a strong one, h D / M > 2, turn a speed round within a step, which a stop that
// never pulls makes a throw: in a joint the force is then that of a later speed, u + (h - m / D) a
// instead of u + h/2 a, with m an inertia that the freedom moves at least (Model::own_inertia). A
// freedom with the inertia m comes to f / D at once, and friction of ordinary size stays as it was.
//
// The state is written only after the accelerations were found good.
#pragma once

#include "dynamics.h"

namespace pliant::PLIANT_ISA {

inline Status euler_cromer(Dynamics& s) {
  const double h = s.step;
  double *q = s.state.q(), *u = s.state.u();
  s.set_moment(0.0, q, u);
  s.drive_evenly();
  Status status = s.accelerations();
  if (status.code != Code::ok) return status;
  const Power rates = s.audit(0.5 * h);
  status = s.kick(s.d.u.data(), h);
  if (status.code != Code::ok) return status;
  s.account(rates, h);
  s.drift(q, q, s.d.u.data(), h);
  std::copy(s.d.u.begin(), s.d.u.end(), u);
  s.drive_to_end(q, u);
  return status;
}

inline Status leapfrog(Dynamics& s) {
  const double h = s.step;
  const int32_t n = s.m.u_size;
  double *q = s.state.q(), *u = s.state.u(), *a1 = s.state.previous(), *a2 = s.state.earlier();
  if (s.state.age() < 0.0) {
    s.set_moment(0.0, q, u);
    if (Status status = s.accelerations(); status.code != Code::ok) return status;
    std::copy(s.d.udot.begin(), s.d.udot.end(), a1);
    std::copy(s.d.row_bias.begin(), s.d.row_bias.end(), s.state.row_bias());
    s.state.age() = 0.0;
  }
  const double age = s.state.age();
  const bool two = s.state.earlier_age() >= 0.0;
  const double E = two ? 2.0 / 3.0 * age / (s.state.earlier_age() - age) : 0.0;
  const double m = two ? 20.0 / (35.0 + std::sqrt(825.0)) : 0.0;
  const double k = (0.25 + (two ? 1.0 / 3.0 : 1.0) * age / h) / ((1.0 - m) * (1.0 - m));
  s.drift(s.d.q.data(), q, u, 0.5 * h);
  for (int32_t i = 0; i < n; ++i) {
    s.d.u[i] = u[i] + 0.5 * h * (a1[i] + E * (a1[i] - a2[i]));
    s.d.du[i] = h * (a1[i] - m * a2[i]);
  }
  s.set_moment(0.5 * h, s.d.q.data(), s.d.u.data());
  s.drive_evenly();
  s.d.correction = -k;  // (1)
  std::copy(u, u + n, s.d.u_damped.begin());
  s.d.damping_time = 0.5 * h;  // (2)
  std::copy_n(s.state.row_bias(), s.d.row_bias_before.size(), s.d.row_bias_before.begin());
  s.d.bias_trend = 0.25 * h * h / (age + 0.5 * h);  // (4) of loops.h
  for (const int32_t i : s.m.driven) {
    s.d.du[i] = 0.0;
    s.d.u_damped[i] = s.d.u[i];
  }
  Status status = s.accelerations();
  if (status.code != Code::ok) return status;
  const Power rates = s.audit(0.5 * h);
  status = s.kick(s.d.u.data(), h);
  if (status.code != Code::ok) return status;
  s.account(rates, h);
  std::copy(a1, a1 + n, a2);
  std::copy(s.d.udot.begin(), s.d.udot.end(), a1);
  std::copy(s.d.row_bias.begin(), s.d.row_bias.end(), s.state.row_bias());
  s.state.earlier_age() = age + h;
  s.state.age() = 0.5 * h;
  std::copy(s.d.u.begin(), s.d.u.end(), u);
  s.drift(q, s.d.q.data(), u, 0.5 * h);
  s.drive_to_end(q, u);
  return status;
}

// `scratch` holds 2 q_size + u_size doubles.
inline Status rk4(Dynamics& s, double* scratch) {
  static constexpr double kAt[4] = {0.0, 0.5, 0.5, 1.0};
  static constexpr double kWeight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  const double h = s.step;
  const int32_t nq = s.m.q_size, nu = s.m.u_size;
  double *q = s.state.q(), *u = s.state.u();
  double *rate = scratch, *q_sum = rate + nq, *u_sum = q_sum + nq;
  Power mean{0.0, 0.0};
  std::copy(q, q + nq, q_sum);
  std::copy(u, u + nu, u_sum);
  std::copy(q, q + nq, s.d.q.begin());
  std::copy(u, u + nu, s.d.u.begin());
  for (int stage = 0; stage < 4; ++stage) {
    const double since = kAt[stage] * h;
    if (stage > 0) {
      for (int32_t i = 0; i < nq; ++i) s.d.q[i] = q[i] + since * rate[i];
      for (int32_t i = 0; i < nu; ++i) s.d.u[i] = u[i] + since * s.d.udot[i];
    }
    s.set_moment(since, s.d.q.data(), s.d.u.data());
    if (Status status = s.accelerations(); status.code != Code::ok) return status;
    coordinate_rates(s.m, s.d.q.data(), s.d.u.data(), rate);
    for (int32_t i = 0; i < nq; ++i) q_sum[i] += kWeight[stage] * h * rate[i];
    for (int32_t i = 0; i < nu; ++i) u_sum[i] += kWeight[stage] * h * s.d.udot[i];
    const Power rates = s.audit(0.0);
    mean.work += kWeight[stage] * rates.work;
    mean.loss += kWeight[stage] * rates.loss;
    mean.on_wheels += kWeight[stage] * rates.on_wheels;
  }
  for (int32_t i = 0; i < nu; ++i) {
    if (!(std::fabs(u_sum[i]) <= kLargestSpeed)) return {Code::diverged, i, u_sum[i], 0};
  }
  s.account(mean, h);
  std::copy(q_sum, q_sum + nq, q);
  std::copy(u_sum, u_sum + nu, u);
  for (const QuaternionRun& run : s.m.quaternion_runs) turn(q + run.q0, 0.0, 0.0, 0.0);
  s.drive_to_end(q, u);
  return {};
}

}  // namespace pliant::PLIANT_ISA
