// One step of a fixed length h, with a(t, q, u) the accelerations and (+) the update of
// coordinates (of quaternions by the exponential map):
//
//   euler_cromer   u1 = u + h a(t, q, u),  q1 = q (+) h u1                       order 1, 1 call
//   leapfrog       q* = q (+) h/2 u,  u1 = u + h a(t + h/2, q*, u + h/2 a_previous),
//                  q1 = q* (+) h/2 u1                                            order 2, 1 call
//   rk4            the classical one                                             order 4, 4 calls
//
// The state is written only after the accelerations were found good.
#pragma once

#include "dynamics.h"

namespace pliant::PLIANT_ISA {

inline Status euler_cromer(Dynamics& s) {
  const double h = s.options.step, t = s.time();
  double *q = s.state.q(), *u = s.state.u();
  s.set_moment(t, 0.0, q, u);
  Status status = s.accelerations();
  if (status.code != Code::ok) return status;
  const Power rates = s.audit();
  status = s.kick(s.d.u.data(), h);
  if (status.code != Code::ok) return status;
  s.account(rates, h);
  s.drift(q, q, s.d.u.data(), h);
  std::copy(s.d.u.begin(), s.d.u.end(), u);
  s.drive(t + h, h, q, u);
  return status;
}

inline Status leapfrog(Dynamics& s) {
  const double h = s.options.step, t = s.time();
  double *q = s.state.q(), *u = s.state.u();
  if (s.state.previous_valid() == 0.0) {
    s.set_moment(t, 0.0, q, u);
    if (Status status = s.accelerations(); status.code != Code::ok) return status;
    std::copy(s.d.udot.begin(), s.d.udot.end(), s.state.previous());
    s.state.previous_valid() = 1.0;
  }
  const double* a = s.state.previous();
  s.drift(s.d.q.data(), q, u, 0.5 * h);
  for (int32_t i = 0; i < s.m.u_size; ++i) s.d.u[i] = u[i] + 0.5 * h * a[i];
  s.set_moment(t + 0.5 * h, 0.5 * h, s.d.q.data(), s.d.u.data());
  Status status = s.accelerations();
  if (status.code != Code::ok) return status;
  const Power rates = s.audit();
  status = s.kick(s.d.u.data(), h);
  if (status.code != Code::ok) return status;
  s.account(rates, h);
  std::copy(s.d.udot.begin(), s.d.udot.end(), s.state.previous());
  std::copy(s.d.u.begin(), s.d.u.end(), u);
  s.drift(q, s.d.q.data(), u, 0.5 * h);
  s.drive(t + h, h, q, u);
  return status;
}

// `scratch` holds 2 q_size + u_size doubles.
inline Status rk4(Dynamics& s, double* scratch) {
  static constexpr double kAt[4] = {0.0, 0.5, 0.5, 1.0};
  static constexpr double kWeight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  const double h = s.options.step, t = s.time();
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
    s.set_moment(t + since, since, s.d.q.data(), s.d.u.data());
    if (Status status = s.accelerations(); status.code != Code::ok) return status;
    coordinate_rates(s.m, s.d.q.data(), s.d.u.data(), rate);
    for (int32_t i = 0; i < nq; ++i) q_sum[i] += kWeight[stage] * h * rate[i];
    for (int32_t i = 0; i < nu; ++i) u_sum[i] += kWeight[stage] * h * s.d.udot[i];
    const Power rates = s.audit();
    mean.work += kWeight[stage] * rates.work;
    mean.loss += kWeight[stage] * rates.loss;
  }
  for (int32_t i = 0; i < nu; ++i) {
    if (!(std::fabs(u_sum[i]) <= kLargestSpeed)) return {Code::diverged, i, u_sum[i], 0};
  }
  s.account(mean, h);
  std::copy(q_sum, q_sum + nq, q);
  std::copy(u_sum, u_sum + nu, u);
  for (const QuaternionRun& run : s.m.quaternion_runs) turn(q + run.q0, 0.0, 0.0, 0.0);
  s.drive(t + h, h, q, u);
  return {};
}

}  // namespace pliant::PLIANT_ISA
