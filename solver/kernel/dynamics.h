// A model at one time: its state block, the inputs that act on it, and the accelerations.
#pragma once

#include <algorithm>
#include <limits>

#include "dense.h"
#include "energy_audit.h"
#include "time_functions.h"

namespace pliant::PLIANT_ISA {

// The state block, one run of doubles: everything of the model a continuation depends on.
class State {
 public:
  explicit State(const Model& m)
      : q_size_(m.q_size),
        u_size_(m.u_size),
        live_(m.live_count),
        rows_(static_cast<int32_t>(m.loop_rows.size())),
        dofs_(m.dof_count),
        block_(kHeader + m.q_size + 3 * m.u_size + rows_ + 3 * m.live_count + m.dof_count +
               static_cast<int32_t>(m.loop_freedoms.size())) {}

  // Time is base + steps * step: it does not gather rounding errors.
  double& time_base() { return block_[0]; }
  double& steps() { return block_[1]; }
  // How long ago the accelerations `previous` and `earlier` were (leapfrog); negative: there are
  // none.
  double& age() { return block_[2]; }
  double& earlier_age() { return block_[6]; }
  void forget_accelerations() { age() = earlier_age() = -1.0; }
  // Account of energy since it was opened (energy_audit.h): all that went in and out, the largest
  // moving energy that it explains, the largest error of it relative to these.
  double& work() { return block_[3]; }
  double& dissipated() { return block_[4]; }
  double& energy_start() { return block_[5]; }
  double& turnover() { return block_[7]; }
  double& largest_moving() { return block_[8]; }
  double& doubt() { return block_[9]; }
  double doubt() const { return block_[9]; }
  // Of the last verdict on it: motion then, steps since.
  double& judged_motion() { return block_[10]; }
  double& steps_unjudged() { return block_[11]; }
  double& largest_error() { return block_[12]; }  // J
  // Whether the account is within what energies can come to; it is never NaN then.
  bool account_is_sane() const {
    int64_t beyond = 0;
    for (int i : {3, 4, 5, 7, 8, 9, 10, 12})
      beyond |= std::fabs(block_[i]) <= kLargestEnergy ? 0 : 1;
    return beyond == 0;
  }

  double* q() { return block_.data() + kHeader; }
  double* u() { return q() + q_size_; }
  double* previous() { return u() + u_size_; }
  double* earlier() { return previous() + u_size_; }
  double* row_bias() { return earlier() + u_size_; }     // of loops, when `previous` was evaluated
  double* motion_start() { return row_bias() + rows_; }  // of motions moved from outside
  double* locked() { return motion_start() + 3 * live_; }  // 1 for every freedom that is locked
  double* turned() { return locked() + dofs_; }            // of loops, where their angles were last

  // Whether a run could have left these numbers.
  bool is_sane(const Model& m) {
    const auto all = [](const double* x, int32_t count, auto test) {
      for (int32_t i = 0; i < count; ++i) {
        if (!test(x[i])) return false;
      }
      return true;
    };
    const auto within = [](double limit) {
      return [limit](double x) { return std::fabs(x) <= limit; };
    };
    const auto aged = [](double age) { return age == -1.0 || within_age(age); };
    bool sane =
        within(kLargestTime)(time_base()) && steps() >= 0.0 && steps() <= kMostSteps &&
        aged(age()) && aged(earlier_age()) &&
        (age() >= 0.0 ? earlier_age() < 0.0 || earlier_age() > age() : earlier_age() < 0.0) &&
        account_is_sane() && turnover() >= 0.0 && largest_moving() >= 0.0 && doubt() >= 0.0 &&
        judged_motion() >= 0.0 && largest_error() >= 0.0 && steps_unjudged() >= 0.0 &&
        steps_unjudged() <= kMostSteps &&
        all(q(), q_size_, within(kWithRounding * kLargestCoordinate)) &&
        all(u(), u_size_, within(kWithRounding * kLargestSpeed)) &&
        all(previous(), 2 * u_size_, within(kLargestAcceleration)) &&
        all(row_bias(), rows_, within(kLargestEnergy)) && motions_are_sane(motion_start()) &&
        all(locked(), m.dof_count, [](double x) { return x == 0.0 || x == 1.0; }) &&
        all(turned(), static_cast<int32_t>(m.loop_freedoms.size()), within(kLargestCoordinate));
    for (const QuaternionRun& run : m.quaternion_runs) {
      double square = 0.0;
      for (int32_t k = 0; k < 4; ++k) square += q()[run.q0 + k] * q()[run.q0 + k];
      sane = sane && std::fabs(square - 1.0) < 1e-3;
    }
    for (const BodyConst& b : m.bodies) {
      for (int32_t k = 0; k < b.dofs; ++k) {
        const bool locked_here = locked()[b.dof0 + k] != 0.0;
        const bool prescribed = m.dofs[b.dof0 + k].drive != kFreeDrive;
        sane = sane && locked_here == (locked()[b.dof0] != 0.0) && !(locked_here && prescribed) &&
               !(locked_here && u()[b.u0 + k] != 0.0);
      }
    }
    return sane;
  }

  // Of rows (position, rate, acceleration) of motions from outside.
  bool motions_are_sane(const double* rows) const {
    for (int32_t i = 0; i < 3 * live_; ++i) {
      const double limit = kWithRounding * largest_motion(static_cast<std::size_t>(i));
      if (!(std::fabs(rows[i]) <= limit)) return false;
    }
    return true;
  }

  Buffer<double>& block() { return block_; }
  const Buffer<double>& block() const { return block_; }

 private:
  static constexpr int32_t kHeader = 13;
  static constexpr double kMostSteps = 9007199254740992.0;  // beyond it a count does not count on
  static bool within_age(double age) { return age >= 0.0 && age <= 10.0 * kLongestStep; }
  int32_t q_size_, u_size_, live_, rows_, dofs_;
  Buffer<double> block_;
};

// Whether the test holds for any index: in vector registers, since nothing ends it early.
template <class Test>
inline bool any_of(std::size_t first, std::size_t last, Test test) {
  int64_t found = 0;
  for (std::size_t i = first; i < last; ++i) found |= test(i) ? 1 : 0;
  return found != 0;
}

class Dynamics {
 public:
  explicit Dynamics(const Model& model)
      : m(model),
        d(m),
        state(m),
        input(m.input_size),
        input_rate(m.input_size),
        motion_next(3 * m.live_count),
        u_mean_(m.u_size) {}

  const Model& m;
  Data<double> d;
  State state;
  Options options;
  double step = 1e-3;  // in use now: options.step, or less to end where the caller wants
  Buffer<double> input, input_rate, motion_next;
  double input_time = 0.0;

  std::size_t bytes() const {
    return sizeof(*this) - sizeof(d) + d.bytes() + state.block().bytes() + input.bytes() +
           input_rate.bytes() + motion_next.bytes() + u_mean_.bytes() + matrix_.bytes() +
           rhs_.bytes() + jacobian_.bytes();
  }

  // Time constant of the loops' stabilisation: of the nominal step, since a loop that were to close
  // within some steps of 1 ns would be torn. Projection leaves no gap to close, and closing it
  // twice would cost the integrator its order.
  double loop_time() const {
    if (options.project_loops) return std::numeric_limits<double>::infinity();
    const bool own = options.loop_steps == 0.0;
    return (own ? own_loop_steps(options.integrator) : options.loop_steps) * options.step;
  }

  double time() { return state.time_base() + state.steps() * step; }

  // Whether inputs are within their limit now and, going on as they do, at a later time.
  Status check_inputs(double until) {
    const double now = time() - input_time, then = until - input_time;
    const auto bad = [&](std::size_t i) {
      const double first = std::fabs(input[i] + input_rate[i] * now);
      const double last = std::fabs(input[i] + input_rate[i] * then);
      return !((first <= kLargestInput) & (last <= kLargestInput));
    };
    if (!any_of(0, input.size(), bad)) return {};
    std::size_t i = 0;
    while (!bad(i)) ++i;
    const double first = input[i] + input_rate[i] * now;
    const bool now_already = !(std::fabs(first) <= kLargestInput);
    return {Code::bad_input, static_cast<int32_t>(i),
            now_already ? first : input[i] + input_rate[i] * then, 0};
  }

  // Nodes with a load, from outside or by a table, are few: the others are not visited.
  void find_loaded_nodes() {
    d.loaded_count = 0;
    const auto loaded = [&](std::size_t i) { return (input[i] != 0.0) | (input_rate[i] != 0.0); };
    const auto first = static_cast<std::size_t>(m.node_input0);
    const bool any = any_of(first, first + 6 * m.nodes.size(), loaded);
    for (std::size_t k = 0; k < m.nodes.size(); ++k) {
      const std::size_t at = first + 6 * k;
      if (m.nodes[k].has_table || (any && any_of(at, at + 6, loaded))) {
        d.loaded[d.loaded_count++] = static_cast<int32_t>(k);
      }
    }
  }

  // Puts a moment of the motion into Data: inputs, coordinates, speeds, and the prescribed
  // freedoms. The moment is `since` after the start of the step; outside of steps it is now.
  void set_moment(double since, const double* q, const double* u) {
    const TableTime t = within_step(time(), step, since);
    const double start = time();
    const double off = options.integrator == Integrator::rk4 ? since - 0.5 * step : 0.0;
    put_moment(t, since, q, u,
               [&](const LoadTable& table) { return load_in_step(m, table, t, start, step, off); });
  }
  void set_present() {
    const TableTime now = at(time());
    put_moment(now, 0.0, state.q(), state.u(),
               [&](const LoadTable& table) { return load_at_time(m, table, now).value; });
  }

  // Moves the prescribed freedoms to where they are at a time, `since` after the start of a step.
  void drive(TableTime t, double since, double* q, double* u) {
    for (std::size_t i = 0; i < m.driven.size(); ++i) {
      const Motion x = motion(static_cast<int32_t>(i), t, since);
      q[m.driven_q[i]] = x.position;
      u[m.driven[i]] = x.rate;
      d.dof[m.driven_dof[i]].acceleration = x.acceleration;
    }
  }
  // For a step with one evaluation: the rates of prescribed freedoms change evenly by what the
  // motion makes of them in the whole of it, at the mean of both. A rate that jumps then gives what
  // hangs on it the impulse that it is, and does the work that it takes.
  void drive_evenly() {
    for (std::size_t i = 0; i < m.driven.size(); ++i) {
      const double before = state.u()[m.driven[i]];
      const TableTime end = within_step(time(), step, step);
      const double after = motion(static_cast<int32_t>(i), end, step).rate;
      d.u[m.driven[i]] = 0.5 * (before + after);
      d.dof[m.driven_dof[i]].acceleration = (after - before) / step;
    }
  }
  Motion motion(int32_t driven, TableTime t, double since) {
    const int32_t table = m.dofs[m.driven_dof[driven]].drive;
    if (table >= 0) return motion_at_time(m, table, t);
    const int32_t live = m.driven_live[driven];
    const double* a = state.motion_start() + 3 * live;
    if (since == 0.0) return {a[0], a[1], a[2], 0.0};  // wherever it goes on to
    const double* b = motion_next.data() + 3 * live;
    return quintic({a[0], a[1], a[2], 0.0}, {b[0], b[1], b[2], 0.0}, step, since);
  }

  // Freedoms that do not move by forces: prescribed ones and those of locked joints.
  void find_held() {
    for (int32_t i = 0; i < m.dof_count; ++i) {
      const bool locked = state.locked()[i] != 0.0;
      d.held[i] = locked || m.dofs[i].drive != kFreeDrive ? 1 : 0;
      if (locked) d.dof[i].acceleration = 0.0;
    }
  }

  // Loops count their turns from step to step: less than half a turn in each, and no further than
  // coordinates go.
  void keep_turned() {
    for (std::size_t i = 0; i < m.loop_freedoms.size(); ++i) {
      if (!counts_turns(m.loop_freedoms[i])) continue;
      state.turned()[i] =
          std::clamp(d.loop_freedom[i].position, -kLargestCoordinate, kLargestCoordinate);
    }
  }
  void turn_to_start() {
    for (std::size_t i = 0; i < m.loop_freedoms.size(); ++i) {
      const LoopFreedom& free = m.loop_freedoms[i];
      if (!counts_turns(free)) continue;
      state.turned()[i] = in_first_turn(free.dof, d.loop_freedom[i].position);
    }
  }

  // The outside motions' end of this step is the start of the next.
  void keep_motion_start() {
    std::copy(motion_next.begin(), motion_next.end(), state.motion_start());
  }

  // Accelerations of the moment in Data, from the body terms that prepare() left there: any that
  // are finite, since forces of any size may be asked what they do.
  Status solve() {
    const bool by_recursion = options.algorithm == Algorithm::order_n;
    Status status =
        by_recursion ? order_n(m, d) : dense(m, d, matrix_.data(), rhs_.data(), jacobian_.data());
    return status.code == Code::ok ? check_accelerations(std::numeric_limits<double>::max())
                                   : status;
  }

  // Accelerations of the moment in Data, for a step: which they must not throw out of the world of
  // mechanics and a loop must not come apart in.
  Status accelerations() {
    prepare(m, d);
    Status status = solve();
    if (status.code == Code::ok) status = check_accelerations(kLargestAcceleration);
    if (status.code == Code::ok && !m.loops.empty()) status = check_idle_rows(m, d);
    return status;
  }

  // What joint_force() needs, once for every solve(). Accelerations of bodies and forces of joints
  // come with the recursion; after `dense` they are found by it, without touching the accelerations
  // that dense found (still in rhs_).
  void find_joint_forces() {
    if (options.algorithm != Algorithm::order_n) {
      prepare(m, d);
      order_n(m, d);
      std::copy(rhs_.begin(), rhs_.end(), d.udot.begin());
    }
    if (!m.loops.empty()) add_loops_to_joint_forces(m, d);
  }

  void mass_matrix(double* row_major) {
    reserve_matrix();
    assemble(m, d, row_major, rhs_.data());
    const auto n = static_cast<std::size_t>(m.u_size);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i + 1; j < n; ++j) row_major[i * n + j] = row_major[j * n + i];
    }
  }

  void reserve_matrix() {
    if (rhs_.size() != 0) return;
    rhs_ = Buffer<double>(m.u_size);
    jacobian_ = Buffer<double>(m.loop_rows.size() * static_cast<std::size_t>(m.u_size));
    matrix_ =
        Buffer<double>(static_cast<std::size_t>(m.u_size) * static_cast<std::size_t>(m.u_size));
  }

  // out = from (+) h rate, quaternions by the exponential map.
  void drift(double* out, const double* from, const double* rate, double h) const {
    for (const LinearRun& run : m.linear_runs) {
      for (int32_t k = 0; k < run.count; ++k) {
        out[run.q0 + k] = from[run.q0 + k] + h * rate[run.u0 + k];
      }
    }
    for (const QuaternionRun& run : m.quaternion_runs) {
      const double* w = rate + run.u0;
      if (out != from) std::copy(from + run.q0, from + run.q0 + 4, out + run.q0);
      turn(out + run.q0, h * w[0], h * w[1], h * w[2]);
    }
  }

  // out = u + h udot, refused when a speed leaves the world of mechanics.
  Status kick(double* out, double h) {
    const double* u = state.u();
    for (int32_t i = 0; i < m.u_size; ++i) {
      const double x = u[i] + h * d.udot[i];
      if (!(std::fabs(x) <= kLargestSpeed)) return {Code::diverged, i, x, 0};
      out[i] = x;
    }
    return {};
  }

  // Work of inputs and prescribed motions and the energy lost, per second, at the moment in Data
  // after its accelerations were found. A step that changes the speeds by h udot does work at their
  // mean over it, `half` a step on; friction and damping act at that speed if they are implicit.
  // Prescribed speeds are what they are at the moment.
  Power audit(double half) {
    if (m.driven.size() > 0) find_joint_forces();
    if (half == 0.0) return power(m, d, d.u.data());
    for (int32_t i = 0; i < m.u_size; ++i) u_mean_[i] = state.u()[i] + half * d.udot[i];
    for (const int32_t i : m.driven) u_mean_[i] = d.u[i];
    return power(m, d, u_mean_.data());
  }

  // Of what is to be called good: a coordinate or speed that has left the world of mechanics, or
  // sums that have.
  Status check_state() {
    const double *q = state.q(), *u = state.u();
    const auto far = [&](std::size_t i) { return !(std::fabs(q[i]) <= kLargestCoordinate); };
    const auto fast = [&](std::size_t i) {
      return !(std::fabs(u[i]) <= kWithRounding * kLargestSpeed);
    };
    if (any_of(0, static_cast<std::size_t>(m.q_size), far)) {
      std::size_t i = 0;
      while (!far(i)) ++i;
      return {Code::diverged, speed_of(static_cast<int32_t>(i)), q[i], 0};
    }
    if (any_of(0, static_cast<std::size_t>(m.u_size), fast)) {
      std::size_t i = 0;
      while (!fast(i)) ++i;
      return {Code::diverged, static_cast<int32_t>(i), u[i], 0};
    }
    if (state.account_is_sane()) return {};
    return {Code::energy_grew, 0, kLargestEnergy, 0};
  }

  // What a motion from outside is to be after the next step: given by somebody, or worked out from
  // what was given.
  Status check_motions() {
    if (state.motions_are_sane(motion_next.data())) return {};
    for (std::size_t i = 0; i < m.driven.size(); ++i) {
      if (m.driven_live[i] < 0) continue;
      const double* row = motion_next.data() + 3 * m.driven_live[i];
      for (std::size_t k = 0; k < 3; ++k) {
        if (std::fabs(row[k]) <= kWithRounding * largest_motion(k)) continue;
        return {Code::diverged, m.driven[i], row[k], 0};
      }
    }
    return {};
  }

  // ... to where they are at the end of the step.
  void drive_to_end(double* q, double* u) { drive(within_step(time(), step, step), step, q, u); }

  // Books a step of length dt, before its speeds are written. What prescribed motions make of the
  // energy is known from the moments of evaluation only: of a rate that jumps within a step of rk4,
  // as much as 22 times what it brings was missed.
  void account(const Power& rates, double dt) {
    constexpr double kMissed = 32.0;
    state.work() += rates.work * dt;
    state.dissipated() += rates.loss * dt;
    double& turnover = state.turnover();
    turnover += std::fabs((rates.work - rates.on_wheels) * dt) + std::fabs(rates.loss * dt);
    for (std::size_t i = 0; i < m.driven.size(); ++i) {
      const TableTime end = within_step(time(), step, step);
      const double after = motion(static_cast<int32_t>(i), end, step).rate;
      const double change = after - state.u()[m.driven[i]];
      turnover += kMissed * m.largest_inertia[m.driven[i]] * change * change;
    }
    for (std::size_t i = 0; i < m.loop_rows.size(); ++i) {
      const int32_t table = m.loop_rows[i].motion;
      if (table < 0) continue;
      const double change =
          m.row_scale[i] * (motion_at_time(m, table, within_step(time(), step, step)).rate -
                            motion_at_time(m, table, within_step(time(), step, 0.0)).rate);
      turnover += kMissed * m.mass * change * change;
    }
  }

 private:
  Status check_accelerations(double most) const {
    for (int32_t i = 0; i < m.u_size; ++i) {
      if (!(std::fabs(d.udot[i]) <= most)) return {Code::diverged, i, d.udot[i], 0};
    }
    return {};
  }

  // The speed whose coordinate this is.
  int32_t speed_of(int32_t coordinate) const {
    for (const BodyConst& b : m.bodies) {
      const int32_t k = coordinate - b.q0;
      if (k >= b.joint_qs + b.modes) continue;
      return b.u0 + (k < b.translations ? k : k - (b.quaternion ? 1 : 0));
    }
    return -1;
  }

  template <class Load>
  void put_moment(TableTime t, double since, const double* q, const double* u, Load load) {
    const double elapsed = t.time - input_time;
    for (std::size_t i = 0; i < input.size(); ++i) d.input[i] = input[i] + input_rate[i] * elapsed;
    for (const LoadTable& table : m.loads) {
      d.input[table.input] += load(table);
    }
    if (q != d.q.data()) std::copy(q, q + m.q_size, d.q.begin());
    if (u != d.u.data()) std::copy(u, u + m.u_size, d.u.begin());
    d.correction = d.damping_time = d.bias_trend = 0.0;
    drive(t, since, d.q.data(), d.u.data());
    d.loop_time = loop_time();
    std::copy_n(state.turned(), m.loop_freedoms.size(), d.loop_turned.begin());
    for (const LoopConst& loop : m.loops) drive_loop(m, loop, t, 0.0, d);
  }

  Buffer<double> u_mean_;                   // over a step
  Buffer<double> matrix_, rhs_, jacobian_;  // dense only
};

}  // namespace pliant::PLIANT_ISA
