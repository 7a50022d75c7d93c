// One instance of a model: state, inputs, integrators, and what is asked of the state.
//
// Integrators, h the step, a(t, q, u) the accelerations, (+) the update of coordinates (for
// quaternions by the exponential map):
//   euler_cromer   u1 = u + h a(t, q, u),  q1 = q (+) h u1                       order 1, 1 call
//   leapfrog       q* = q (+) h/2 u,  u1 = u + h a(t + h/2, q*, u + h/2 a_previous),
//                  q1 = q* (+) h/2 u1                                            order 2, 1 call
//   rk4            the classical one                                             order 4, 4 calls
// A step writes the state only after its accelerations were found good.
#pragma once

#include <algorithm>

#include "dense.h"
#include "order_n.h"
#include "signals.h"

namespace pliant::PLIANT_ISA {

// Speeds and accelerations beyond these are a run that has blown up, not mechanics.
constexpr double kLargestSpeed = 1e8;
constexpr double kLargestAcceleration = 1e14;

class Instance final : public Stepper {
 public:
  explicit Instance(const Model& model)
      : m_(model),
        d_(m_),
        state_(kHeader + m_.q_size + 2 * m_.u_size + 3 * m_.live_count),
        input_(m_.input_size),
        input_rate_(m_.input_size),
        motion_next_(3 * m_.live_count) {
    reset();
  }

  void configure(const Options& options) override {
    set_time(time());
    options_ = options;
    d_.node_rotation = options.node_rotation;
    if (options.algorithm == Algorithm::dense) reserve_matrix();
    if (options.integrator == Integrator::rk4 && stage_.size() == 0) {
      stage_ = Buffer<double>(2 * m_.q_size + m_.u_size);
    }
    previous_valid() = 0.0;
  }

  void reset() override {
    holds_ = Holds::nothing;
    std::fill(state_.begin(), state_.end(), 0.0);
    std::copy(m_.start_q.begin(), m_.start_q.end(), q());
    std::copy(m_.start_u.begin(), m_.start_u.end(), u());
    std::fill(input_.begin(), input_.end(), 0.0);
    std::fill(input_rate_.begin(), input_rate_.end(), 0.0);
    input_time_ = 0.0;
    keep_motion_start();
    drive(0.0, 0.0, q(), u());
  }

  const double* state() const override { return state_.data(); }
  void restore(const double* state) override {
    std::copy(state, state + state_.size(), state_.begin());
    holds_ = Holds::nothing;
  }
  std::size_t state_size() const override { return state_.size(); }
  double time() const override { return state_[0] + state_[1] * options_.step; }
  void set_time(double time) override {
    state_[0] = time;
    state_[1] = 0.0;
    holds_ = Holds::nothing;
  }
  double* q() override { return state_.data() + kHeader; }
  double* u() override { return q() + m_.q_size; }
  const double* udot() override {
    need_accelerations();
    return d_.udot.data();
  }
  void state_written() override {
    holds_ = Holds::nothing;
    previous_valid() = 0.0;
    keep_motion_start();
    drive(time(), 0.0, q(), u());
  }
  double* input() override { return input_.data(); }
  double* input_rate() override { return input_rate_.data(); }
  double* input_time() override { return &input_time_; }
  double* motion_next() override { return motion_next_.data(); }

  Status evaluate() override {
    if (Status bad = check_inputs(); bad.code != Code::ok) return bad;
    find_loaded_nodes();
    return evaluate_state();
  }

  Status step(int64_t count) override {
    Status status = check_inputs();
    if (status.code != Code::ok) return status;
    find_loaded_nodes();
    for (int64_t i = 0; i < count && status.code == Code::ok; ++i) {
      switch (options_.integrator) {
        case Integrator::euler_cromer:
          status = euler_cromer();
          break;
        case Integrator::leapfrog:
          status = leapfrog();
          break;
        case Integrator::rk4:
          status = rk4();
          break;
      }
      if (status.code == Code::ok) {
        state_[1] += 1.0;
        keep_motion_start();
      }
      status.steps = status.code == Code::ok ? i + 1 : i;
    }
    return status;
  }

  void node(int32_t index, NodeState& out) override {
    need_accelerations();
    const NodeConst& c = m_.nodes[index];
    const BodyWork<double>& body = d_.body[c.body];
    const BodyConst& b = m_.bodies[c.body];
    M3<double> R;
    V3<double> r;
    Vec6<double> V, A;
    if (b.modes == 0) {
      R = body.R * M3<double>::load(c.rotation.c);
      r = body.R * V3<double>::load(c.position.x);
      V = motion_at(body.V, r);
      A = motion_at(body.A, r);
      A.lin += cross(body.V.ang, cross(body.V.ang, r));
    } else {
      node_kinematics(m_, d_, index);
      const NodeWork<double>& node = d_.node[index];
      const Vec6<double>* s = &d_.jacobian[c.work0];
      R = node.R;
      r = node.r;
      V = node.V;
      A = motion_at(body.A, r) + node.bias;
      const double* etadd = &d_.udot[b.u0 + b.dofs];
      for (int32_t i = 0; i < b.modes; ++i) A += s[i] * etadd[i];
    }
    A.lin += V3<double>::load(m_.gravity.x);
    const V3<double> p = body.p + r;
    for (int i = 0; i < 3; ++i) {
      out.position[i] = p[i];
      out.velocity[i] = V.lin[i];
      out.angular_velocity[i] = V.ang[i];
      out.acceleration[i] = A.lin[i];
      out.angular_acceleration[i] = A.ang[i];
    }
    quaternion_of(R, out.quaternion);
  }

  void reaction(int32_t body, double* wrench) override {
    need_accelerations();
    const Vec6<double> F = joint_force(m_, d_, body);
    for (int i = 0; i < 3; ++i) {
      wrench[i] = F.lin[i];
      wrench[3 + i] = F.ang[i];
    }
  }

  void efforts(double* per_dof) override {
    need_accelerations();
    for (int32_t k = 0; k < m_.dof_count; ++k) per_dof[k] = d_.input[k];
    for (int32_t i = 0; i < body_count(); ++i) {
      const BodyConst& b = m_.bodies[i];
      for (int32_t k = 0; k < b.dofs; ++k) {
        const int32_t dof = b.dof0 + k;
        if (d_.held[dof]) per_dof[dof] = held_effort(i, k);
      }
    }
  }

  Energy energy() override {
    need_terms();
    Energy e{};
    const V3<double> g = V3<double>::load(m_.gravity.x);
    for (int32_t i = 0; i < body_count(); ++i) {
      const BodyConst& b = m_.bodies[i];
      const BodyWork<double>& body = d_.body[i];
      e.kinetic += dot(body.V, body_momentum(b, body) - body.M * body.V * 0.5);
      e.gravity -= dot(g, body.p * b.mass + body.moment);
      const double* rate = &d_.u[b.u0 + b.dofs];
      const double* E = &d_.coupling[b.coupling0];
      for (int32_t j = 0; j < b.internals; ++j) {
        for (int32_t k = 0; k <= j; ++k) {
          e.kinetic += (k == j ? 0.5 : 1.0) * rate[j] * E[j * b.stride + k] * rate[k];
        }
      }
      e.strain += strain_energy(b);
      e.spring += spring_energy(b);
    }
    e.work = state_[3];
    e.dissipated = state_[4];
    return e;
  }

  void momentum(double* linear_angular) override {
    need_terms();
    Vec6<double> sum = Vec6<double>::zero();
    for (int32_t i = 0; i < body_count(); ++i) {
      const BodyWork<double>& body = d_.body[i];
      sum += force_from(body_momentum(m_.bodies[i], body), body.p);
    }
    for (int i = 0; i < 3; ++i) {
      linear_angular[i] = sum.lin[i];
      linear_angular[3 + i] = sum.ang[i];
    }
  }

  void mass_matrix(double* row_major) override {
    need_terms();
    holds_ = Holds::nothing;
    reserve_matrix();
    assemble(m_, d_, row_major, rhs_.data());
    const auto n = static_cast<std::size_t>(m_.u_size);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i + 1; j < n; ++j) row_major[i * n + j] = row_major[j * n + i];
    }
  }

  const char* instruction_set() const override { return PLIANT_ISA_NAME; }
  std::size_t bytes() const override {
    return sizeof(*this) - sizeof(d_) + d_.bytes() + state_.bytes() + input_.bytes() +
           input_rate_.bytes() + motion_next_.bytes() + matrix_.bytes() + rhs_.bytes() +
           stage_.bytes();
  }

 private:
  // state: time base, steps since, whether a_previous holds, work, dissipated; q; u; a_previous;
  // start of the outside motions
  static constexpr int32_t kHeader = 5;
  int32_t body_count() const { return static_cast<int32_t>(m_.bodies.size()); }
  double& previous_valid() { return state_[2]; }
  double* previous() { return u() + m_.u_size; }
  double* motion_start() { return previous() + m_.u_size; }

  Status check_inputs() const {
    for (std::size_t i = 0; i < input_.size(); ++i) {
      // One test for both: x - x is zero for finite numbers only.
      if (!(input_[i] - input_[i] + (input_rate_[i] - input_rate_[i]) == 0.0)) {
        return {Code::bad_input, static_cast<int32_t>(i), input_[i], 0};
      }
    }
    return {};
  }

  void find_loaded_nodes() {
    d_.loaded_count = 0;
    const auto count = static_cast<int32_t>(m_.nodes.size());
    for (int32_t k = 0; k < count; ++k) {
      const int32_t at = m_.node_input0 + 6 * k;
      bool any = false;
      for (int32_t i = at; i < at + 6; ++i) {
        any = any || input_[i] != 0.0 || input_rate_[i] != 0.0;
      }
      if (any) d_.loaded[d_.loaded_count++] = k;
    }
    for (const LoadTable& table : m_.loads) {
      const int32_t k = (table.input - m_.node_input0) / 6;
      if (table.input < m_.node_input0 || table.input >= m_.wheel_input0) continue;
      bool known = false;
      for (int32_t l = 0; l < d_.loaded_count; ++l) {
        known = known || d_.loaded[l] == k;
      }
      if (!known) d_.loaded[d_.loaded_count++] = k;
    }
  }

  void set_inputs(double t) {
    const double since = t - input_time_;
    for (std::size_t i = 0; i < input_.size(); ++i) {
      d_.input[i] = input_[i] + input_rate_[i] * since;
    }
    for (const LoadTable& table : m_.loads) {
      d_.input[table.input] += load_at_time(m_, table, t);
    }
  }

  // Sets the prescribed freedoms for the time t, `since` after the start of the step.
  void drive(double t, double since, double* q, double* u) {
    int32_t live = 0;
    for (std::size_t i = 0; i < m_.driven.size(); ++i) {
      const int32_t dof = m_.driven_dof[i];
      const int32_t table = m_.dofs[dof].drive;
      Motion x;
      if (table >= 0) {
        x = motion_at_time(m_, table, t);
      } else {
        const double* a = motion_start() + 3 * live;
        const double* b = motion_next_.data() + 3 * live;
        x = quintic({a[0], a[1], a[2]}, {b[0], b[1], b[2]}, options_.step, since);
        ++live;
      }
      q[m_.driven_q[i]] = x.position;
      u[m_.driven[i]] = x.rate;
      d_.dof[dof].acceleration = x.acceleration;
    }
  }

  // The outside motions' end of this step is the start of the next.
  void keep_motion_start() { std::copy(motion_next_.begin(), motion_next_.end(), motion_start()); }

  void drift(double* out, const double* from, const double* rate, double h) const {
    for (const LinearRun& run : m_.linear_runs) {
      for (int32_t k = 0; k < run.count; ++k) {
        out[run.q0 + k] = from[run.q0 + k] + h * rate[run.u0 + k];
      }
    }
    for (const QuaternionRun& run : m_.quaternion_runs) {
      const double* w = rate + run.u0;
      if (out != from) std::copy(from + run.q0, from + run.q0 + 4, out + run.q0);
      turn(out + run.q0, h * w[0], h * w[1], h * w[2]);
    }
  }

  // Accelerations for d_.q, d_.u, d_.input.
  Status accelerations() {
    holds_ = Holds::nothing;
    Status status = options_.algorithm == Algorithm::order_n
                        ? order_n(m_, d_)
                        : dense(m_, d_, matrix_.data(), rhs_.data());
    if (status.code != Code::ok) return status;
    const double* a = d_.udot.data();
    for (int32_t i = 0; i < m_.u_size; ++i) {
      if (!(std::fabs(a[i]) <= kLargestAcceleration)) return {Code::diverged, i, a[i], 0};
    }
    if (options_.algorithm == Algorithm::dense && options_.audit && m_.driven.size() > 0) {
      find_joint_forces();
    }
    return status;
  }

  Status evaluate_state() {
    const double t = time();
    set_inputs(t);
    std::copy(q(), q() + m_.q_size, d_.q.begin());
    std::copy(u(), u() + m_.u_size, d_.u.begin());
    drive(t, 0.0, d_.q.data(), d_.u.data());
    Status status = accelerations();
    if (status.code != Code::ok) return status;
    if (options_.algorithm == Algorithm::dense) find_joint_forces();
    holds_ = Holds::accelerations;
    return status;
  }

  // Accelerations of bodies and forces of joints come with the recursion; after `dense` they are
  // found by it, without touching the accelerations that dense found (still in rhs_).
  void find_joint_forces() {
    order_n(m_, d_);
    std::copy(rhs_.begin(), rhs_.end(), d_.udot.begin());
  }

  // u + h a, refused when a speed leaves the world of mechanics.
  Status kick(double* out, double h) const {
    for (int32_t i = 0; i < m_.u_size; ++i) {
      const double x = state_[kHeader + m_.q_size + i] + h * d_.udot[i];
      if (!(std::fabs(x) <= kLargestSpeed)) return {Code::diverged, i, x, 0};
      out[i] = x;
    }
    return {};
  }

  Status euler_cromer() {
    const double h = options_.step;
    const double t = time();
    set_inputs(t);
    std::copy(q(), q() + m_.q_size, d_.q.begin());
    std::copy(u(), u() + m_.u_size, d_.u.begin());
    drive(t, 0.0, d_.q.data(), d_.u.data());
    Status status = accelerations();
    if (status.code != Code::ok) return status;
    if (options_.audit) audit(h);
    status = kick(d_.u.data(), h);
    if (status.code != Code::ok) return status;
    drift(q(), q(), d_.u.data(), h);
    std::copy(d_.u.begin(), d_.u.end(), u());
    drive(t + h, h, q(), u());
    return status;
  }

  Status leapfrog() {
    const double h = options_.step;
    const double t = time();
    if (previous_valid() == 0.0) {
      if (Status status = evaluate_state(); status.code != Code::ok) return status;
      std::copy(d_.udot.begin(), d_.udot.end(), previous());
      previous_valid() = 1.0;
    }
    set_inputs(t + 0.5 * h);
    drift(d_.q.data(), q(), u(), 0.5 * h);
    const double* a = previous();
    const double* u0 = u();
    for (int32_t i = 0; i < m_.u_size; ++i) {
      d_.u[i] = u0[i] + 0.5 * h * a[i];
    }
    drive(t + 0.5 * h, 0.5 * h, d_.q.data(), d_.u.data());
    Status status = accelerations();
    if (status.code != Code::ok) return status;
    if (options_.audit) audit(h);
    status = kick(d_.u.data(), h);
    if (status.code != Code::ok) return status;
    std::copy(d_.udot.begin(), d_.udot.end(), previous());
    std::copy(d_.u.begin(), d_.u.end(), u());
    drift(q(), d_.q.data(), u(), 0.5 * h);
    drive(t + h, h, q(), u());
    return status;
  }

  // Rates of the coordinates: of a quaternion 1/2 quaternion * (0, w).
  void coordinate_rates(const double* q, const double* u, double* rate) const {
    for (const LinearRun& run : m_.linear_runs) {
      std::copy(u + run.u0, u + run.u0 + run.count, rate + run.q0);
    }
    for (const QuaternionRun& run : m_.quaternion_runs) {
      const double* a = q + run.q0;
      const double* w = u + run.u0;
      double* r = rate + run.q0;
      r[0] = 0.5 * (-a[1] * w[0] - a[2] * w[1] - a[3] * w[2]);
      r[1] = 0.5 * (a[0] * w[0] + a[2] * w[2] - a[3] * w[1]);
      r[2] = 0.5 * (a[0] * w[1] - a[1] * w[2] + a[3] * w[0]);
      r[3] = 0.5 * (a[0] * w[2] + a[1] * w[1] - a[2] * w[0]);
    }
  }

  Status rk4() {
    const double h = options_.step;
    const double t = time();
    const auto nq = static_cast<std::size_t>(m_.q_size), nu = static_cast<std::size_t>(m_.u_size);
    double* rate = stage_.data();
    double* q_sum = rate + nq;
    double* u_sum = q_sum + nq;
    static constexpr double kAt[4] = {0.0, 0.5, 0.5, 1.0};
    static constexpr double kWeight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    std::copy(q(), q() + nq, d_.q.begin());
    std::copy(u(), u() + nu, d_.u.begin());
    std::copy(q(), q() + nq, q_sum);
    std::copy(u(), u() + nu, u_sum);
    for (int s = 0; s < 4; ++s) {
      if (s > 0) {
        for (std::size_t i = 0; i < nq; ++i) d_.q[i] = q()[i] + kAt[s] * h * rate[i];
        for (std::size_t i = 0; i < nu; ++i) d_.u[i] = u()[i] + kAt[s] * h * d_.udot[i];
      }
      set_inputs(t + kAt[s] * h);
      drive(t + kAt[s] * h, kAt[s] * h, d_.q.data(), d_.u.data());
      if (Status status = accelerations(); status.code != Code::ok) return status;
      coordinate_rates(d_.q.data(), d_.u.data(), rate);
      for (std::size_t i = 0; i < nq; ++i) q_sum[i] += kWeight[s] * h * rate[i];
      for (std::size_t i = 0; i < nu; ++i) u_sum[i] += kWeight[s] * h * d_.udot[i];
      if (options_.audit) audit(kWeight[s] * h);
    }
    for (std::size_t i = 0; i < nu; ++i) {
      if (!(std::fabs(u_sum[i]) <= kLargestSpeed)) {
        return {Code::diverged, static_cast<int32_t>(i), u_sum[i], 0};
      }
    }
    std::copy(q_sum, q_sum + nq, q());
    std::copy(u_sum, u_sum + nu, u());
    for (const QuaternionRun& run : m_.quaternion_runs) turn(q() + run.q0, 0.0, 0.0, 0.0);
    drive(t + h, h, q(), u());
    return {};
  }

  double held_effort(int32_t body, int32_t k) const {
    const BodyConst& b = m_.bodies[body];
    const DofWork<double>& dof = d_.dof[b.dof0 + k];
    const Vec6<double> F = joint_force(m_, d_, body);
    const int32_t at = b.dof0 + k;
    // The joint's force along the freedom, less what springs and friction give.
    const double passive = dof.force - d_.input[at];
    return dot(dof.axis, k < b.translations ? F.lin : F.ang) - passive;
  }

  // Adds the work of inputs and prescribed motions, and the energy lost, over a time dt at the
  // rates of the present evaluation.
  void audit(double dt) {
    double power = 0.0, loss = 0.0;
    for (int32_t i = 0; i < body_count(); ++i) {
      const BodyConst& b = m_.bodies[i];
      const double* u = &d_.u[b.u0];
      for (int32_t k = 0; k < b.dofs; ++k) {
        const int32_t dof = b.dof0 + k;
        const double effort = d_.held[dof] ? held_effort(i, k) : d_.input[dof];
        power += effort * u[k];
        if (b.passive) loss += friction_power(b, k);
      }
      const double* rate = u + b.dofs;
      const int32_t n = b.modes;
      const double* damping = m_.matrices.data() + b.matrix0 + 2 * n * n;
      for (int32_t j = 0; j < n; ++j) {
        for (int32_t k = 0; k < n; ++k) loss += rate[j] * damping[j * n + k] * rate[k];
      }
    }
    for (std::size_t w = 0; w < m_.wheels.size(); ++w) {
      power += d_.input[m_.wheel_input0 + w] * d_.u[m_.wheels[w].u];
    }
    for (int32_t l = 0; l < d_.loaded_count; ++l) {
      const int32_t k = d_.loaded[l];
      const NodeConst& c = m_.nodes[k];
      const BodyConst& b = m_.bodies[c.body];
      const BodyWork<double>& body = d_.body[c.body];
      const Vec6<double> V =
          b.modes > 0 ? d_.node[k].V : motion_at(body.V, body.R * V3<double>::load(c.position.x));
      const double* x = &d_.input[m_.node_input0 + 6 * k];
      power += x[0] * V.lin[0] + x[1] * V.lin[1] + x[2] * V.lin[2] + x[3] * V.ang[0] +
               x[4] * V.ang[1] + x[5] * V.ang[2];
    }
    state_[3] += power * dt;
    state_[4] += loss * dt;
  }

  double joint_position(const BodyConst& b, int32_t k) const {
    const double* q = &d_.q[b.q0];
    if (!b.quaternion || k < b.translations) return q[k];
    return rotation_vector(q + b.translations)[k - b.translations];
  }

  double friction_power(const BodyConst& b, int32_t k) const {
    const DofConst& c = m_.dofs[b.dof0 + k];
    if (!c.passive) return 0.0;
    const double q = joint_position(b, k);
    const double u = d_.u[b.u0 + k];
    const double over =
        q > c.stop_upper ? q - c.stop_upper : (q < c.stop_lower ? q - c.stop_lower : 0.0);
    const double elastic = -c.stiffness * (q - c.rest) - c.stop_stiffness * over;
    return -(passive_effort(c, q, u) - elastic) * u;
  }

  double spring_energy(const BodyConst& b) const {
    if (!b.passive) return 0.0;
    double sum = 0.0;
    for (int32_t k = 0; k < b.dofs; ++k) {
      const DofConst& c = m_.dofs[b.dof0 + k];
      const double q = joint_position(b, k);
      sum += 0.5 * c.stiffness * (q - c.rest) * (q - c.rest);
      const double over =
          q > c.stop_upper ? q - c.stop_upper : (q < c.stop_lower ? q - c.stop_lower : 0.0);
      sum += 0.5 * c.stop_stiffness * over * over;
    }
    return sum;
  }

  double strain_energy(const BodyConst& b) const {
    const int32_t n = b.modes;
    const double* stiffness = m_.matrices.data() + b.matrix0 + n * n;
    const double* eta = d_.q.data() + b.q0 + b.joint_qs;
    double sum = 0.0;
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j < n; ++j) sum += 0.5 * eta[i] * stiffness[i * n + j] * eta[j];
    }
    return sum;
  }

  // Momentum of a body about its head: M V + sum of columns times rates.
  Vec6<double> body_momentum(const BodyConst& b, const BodyWork<double>& body) const {
    Vec6<double> h = body.M * body.V;
    const double* rate = d_.u.data() + b.u0 + b.dofs;
    for (int32_t j = 0; j < b.internals; ++j) {
      h += d_.internal[b.internal0 + j].column * rate[j];
    }
    return h;
  }

  // What Data holds of the present state. Eliminating the joints consumes the body terms, and
  // composite inertias take their place too, so each is found again when it is needed.
  enum class Holds { nothing, terms, accelerations };

  void need_accelerations() {
    if (holds_ != Holds::accelerations) evaluate();
  }

  void need_terms() {
    if (holds_ == Holds::terms) return;
    holds_ = Holds::terms;
    set_inputs(time());
    std::copy(q(), q() + m_.q_size, d_.q.begin());
    std::copy(u(), u() + m_.u_size, d_.u.begin());
    outward(m_, d_);
  }

  void reserve_matrix() {
    if (rhs_.size() != 0) return;
    rhs_ = Buffer<double>(m_.u_size);
    matrix_ = Buffer<double>(m_.u_size * m_.u_size);
  }

  const Model& m_;
  Data<double> d_;
  Holds holds_ = Holds::nothing;
  Options options_;
  Buffer<double> state_;
  Buffer<double> input_, input_rate_, motion_next_;
  double input_time_ = 0.0;
  Buffer<double> matrix_, rhs_;  // dense only
  Buffer<double> stage_;         // rk4 only
};

}  // namespace pliant::PLIANT_ISA
