// One instance of a model behind the Stepper interface.
#pragma once

#include <memory>

#include "impulses.h"
#include "integrators.h"
#include "inverse_dynamics.h"

namespace pliant::PLIANT_ISA {

class Instance final : public Stepper {
 public:
  explicit Instance(const Model& model) : m_(model), s_(m_), kept_(s_.state.block().size()) {
    reset();
  }

  void configure(const Options& options) override {
    set_time(time());
    s_.options = options;
    s_.step = options.step;
    s_.d.node_rotation = options.node_rotation;
    if (options.algorithm == Algorithm::dense) s_.reserve_matrix();
    if (options.integrator == Integrator::rk4 && rk4_scratch_.size() == 0) {
      rk4_scratch_ = Buffer<double>(2 * m_.q_size + m_.u_size);
    }
    s_.state.forget_accelerations();
  }
  void set_step(double step, double nominal) override {
    s_.options.step = nominal;
    if (step == s_.step) return;
    set_time(time());
    s_.step = step;
  }
  double step_size() const override { return s_.step; }

  void reset() override {
    Buffer<double>& block = s_.state.block();
    std::fill(block.begin(), block.end(), 0.0);
    std::copy(m_.start_q.begin(), m_.start_q.end(), q());
    std::copy(m_.start_u.begin(), m_.start_u.end(), u());
    std::fill(s_.input.begin(), s_.input.end(), 0.0);
    std::fill(s_.input_rate.begin(), s_.input_rate.end(), 0.0);
    s_.input_time = 0.0;
    s_.find_held();
    state_written();
    start_turns();
    open_account();
  }

  const double* state() const override { return s_.state.block().data(); }
  std::size_t state_size() const override { return s_.state.block().size(); }
  bool accepts(const double* state) const override {
    State block(m_);
    std::copy(state, state + state_size(), block.block().begin());
    return block.is_sane(m_);
  }
  void restore(const double* state) override {
    std::copy(state, state + state_size(), s_.state.block().begin());
    s_.find_held();
    forget();
  }
  double loop_time() const override { return s_.loop_time(); }
  void start_turns() override {
    std::fill_n(s_.state.turned(), m_.loop_freedoms.size(), 0.0);
    find_loop_positions();
    s_.turn_to_start();
  }
  void count_turns() override {
    find_loop_positions();
    s_.keep_turned();
  }
  double time() override { return s_.time(); }
  void set_time(double time) override {
    s_.state.time_base() = time;
    s_.state.steps() = 0.0;
    forget();
  }
  double* q() override { return s_.state.q(); }
  double* u() override { return s_.state.u(); }
  void state_written() override {
    s_.state.forget_accelerations();
    s_.keep_motion_start();
    s_.drive(at(time()), 0.0, q(), u());
    forget();
    open_account();
  }
  Status lock(int32_t body, bool on) override {
    const BodyConst& b = m_.bodies[body];
    double* locked = s_.state.locked() + b.dof0;
    if (b.dofs == 0 || (locked[0] != 0.0) == on) return {};
    keep_state();
    Status status;
    if (on) {
      status = jump([&] { return stop_joint(m_, s_.d, body); });
      std::fill(u() + b.u0, u() + b.u0 + b.dofs, 0.0);
    }
    std::fill(locked, locked + b.dofs, on ? 1.0 : 0.0);
    s_.find_held();
    s_.state.forget_accelerations();
    forget();
    if (status.code == Code::ok) status = s_.check_state();  // what the impulse made
    if (status.code != Code::ok) restore(kept_.data());
    return status;
  }
  bool is_locked(int32_t body) override {
    const BodyConst& b = m_.bodies[body];
    return b.dofs > 0 && s_.state.locked()[b.dof0] != 0.0;
  }
  void open_account() override {
    State& x = s_.state;
    x.work() = x.dissipated() = x.turnover() = x.doubt() = x.steps_unjudged() = 0.0;
    x.largest_error() = 0.0;
    x.energy_start() = total_energy();
    x.largest_moving() = moving_energy(m_, totals_, u());
    x.judged_motion() = motion_measure(m_, u());
  }
  double energy_doubt() const override { return s_.state.doubt(); }
  EnergyError energy_error() override {
    const Found now = find_energy_error();
    return {std::max(s_.state.largest_error(), now.error), now.moved};
  }
  bool is_doubtful() const override {
    return s_.state.doubt() > energy_limits(s_.options.integrator).doubtful;
  }

  double* input() override { return s_.input.data(); }
  double* input_rate() override { return s_.input_rate.data(); }
  double* input_time() override { return &s_.input_time; }
  const double* motion_now() override { return s_.state.motion_start(); }
  double* motion_next() override { return s_.motion_next.data(); }

  void inputs_written() override { accelerations_known_ = false; }
  Status evaluate() override {
    inputs_written();
    return need_accelerations(false);
  }

  Status prepare_to_read(const Needs& needs) override {
    if (needs.accelerations) {
      if (Status bad = need_accelerations(needs.totals); bad.code != Code::ok) return bad;
    }
    if (needs.totals) need_totals();
    if (!needs.accelerations && !needs.totals) put_state_into_data();
    return {};
  }

  Status step(int64_t count) override {
    Status status = s_.check_inputs(time() + static_cast<double>(count) * s_.step);
    if (status.code != Code::ok) return status;
    status = s_.check_motions();
    if (status.code != Code::ok) return status;
    s_.find_loaded_nodes();
    forget();
    for (int64_t i = 0; i < count; ++i) {
      keep_state();
      status = one_step();
      status.steps = i;
      if (status.code != Code::ok) {
        restore(kept_.data());
        return status;
      }
    }
    status.steps = count;
    return status;
  }

  const double* udot() override {
    need_accelerations(false);
    return s_.d.udot.data();
  }

  Status read(const Signal* signals, std::size_t count, double* out) override {
    Needs needs;
    for (std::size_t i = 0; i < count; ++i) needs.add(signals[i]);
    if (Status bad = prepare_to_read(needs); bad.code != Code::ok) return bad;
    Reader<double> reader(m_, s_.d, totals_);
    for (std::size_t i = 0; i < count; ++i) {
      const Signal& s = signals[i];
      out[i] = s.quantity == Quantity::energy && s.index > 4 ? account(s.index) : reader(s);
    }
    return check_finite(out, count);
  }

  Status differentiate(const Direction& along) override {
    if (Status bad = s_.check_inputs(time()); bad.code != Code::ok) return bad;
    s_.find_loaded_nodes();
    Data<Dual>& d = tangent(along);
    prepare(m_, d);
    tangent_->totals = totals(m_, d);
    Status status = order_n(m_, d);
    if (status.code != Code::ok) return status;
    if (!m_.loops.empty()) add_loops_to_joint_forces(m_, d);
    tangent_->work = {0.0, 0.0};
    if (along.time != 0.0) {
      if (Status bad = need_accelerations(false); bad.code != Code::ok) return bad;
      const Power rates = power(m_, s_.d, s_.d.u.data());
      tangent_->work = {rates.work * along.time, rates.loss * along.time};
    }
    return status;
  }

  Status differentiate_in_time() override {
    if (Status bad = need_accelerations(false); bad.code != Code::ok) return bad;
    if (rate_.size() == 0) rate_ = Buffer<double>(m_.q_size + m_.u_size);
    coordinate_rates(m_, q(), u(), rate_.data());
    std::copy(s_.d.udot.begin(), s_.d.udot.end(), rate_.data() + m_.q_size);
    return differentiate({rate_.data(), rate_.data() + m_.q_size, nullptr, 1.0});
  }

  Status read_derivative(const Signal* signals, std::size_t count, double* out) override {
    Reader<Dual> reader(m_, tangent_->d, tangent_->totals);
    for (std::size_t i = 0; i < count; ++i) {
      const Signal& s = signals[i];
      if (s.quantity == Quantity::energy && s.index > 4) {
        const Dual total = reader({Quantity::energy, 0, 4});
        const double parts[3] = {tangent_->work.work, tangent_->work.loss,
                                 total.d - tangent_->work.work + tangent_->work.loss};
        out[i] = parts[s.index - 5];
      } else {
        out[i] = reader(s).d;
      }
    }
    return check_finite(out, count);
  }

  void mass_matrix(double* row_major) override {
    prepare_present();
    s_.mass_matrix(row_major);
  }

  void loop_rows(double* jacobian, bool* live) override {
    const auto rows = static_cast<int32_t>(m_.loop_rows.size());
    if (rows == 0) return;
    prepare_present();
    find_live_rows(m_, s_.d);
    copy_jacobian(m_, s_.d, jacobian);
    for (int32_t i = 0; i < rows; ++i) live[s_.d.pivot_order[i]] = i < s_.d.loop_rank;
  }

  void forces(const double* lam, double* out) override {
    prepare_present();
    generalised_forces(m_, s_.d, lam);
    std::copy(s_.d.udot.begin(), s_.d.udot.end(), out);
  }

  void differentiate_forces(const Direction& along, const double* lam, double* out) override {
    s_.find_loaded_nodes();
    Data<Dual>& d = tangent(along);
    prepare(m_, d);
    generalised_forces(m_, d, lam);
    for (int32_t i = 0; i < m_.u_size; ++i) out[i] = d.udot[i].d;
  }

  const char* instruction_set() const override { return PLIANT_ISA_NAME; }
  std::size_t bytes() const override {
    return sizeof(*this) - sizeof(s_) + s_.bytes() + kept_.bytes() + rk4_scratch_.bytes() +
           rate_.bytes() + (tangent_ ? sizeof(*tangent_) + tangent_->d.bytes() : 0);
  }

 private:
  // Values with their derivatives along one direction.
  struct Tangent {
    explicit Tangent(const Model& m) : d(m) {}
    Data<Dual> d;
    Totals<Dual> totals;
    Power work{0.0, 0.0};
  };

  void keep_state() {
    const Buffer<double>& block = s_.state.block();
    std::copy(block.begin(), block.end(), kept_.begin());
  }

  Status one_step() {
    Status status;
    switch (s_.options.integrator) {
      case Integrator::euler_cromer:
        status = euler_cromer(s_);
        break;
      case Integrator::leapfrog:
        status = leapfrog(s_);
        break;
      case Integrator::rk4:
        status = rk4(s_, rk4_scratch_.data());
        break;
    }
    if (status.code != Code::ok) return status;
    const double turn_limit = lined_up_turn_limit(s_.options.integrator);
    status = check_angles(m_, s_.d, u(), s_.step, turn_limit);
    if (status.code != Code::ok) return status;
    s_.state.steps() += 1.0;
    s_.keep_motion_start();
    s_.keep_turned();
    forget();
    if (s_.options.project_loops && !m_.loops.empty()) status = project_loops();
    if (status.code == Code::ok) status = s_.check_state();
    if (status.code != Code::ok) return status;
    State& x = s_.state;
    x.steps_unjudged() += 1.0;
    const double motion = motion_measure(m_, u());
    const bool calm = motion <= kGrowth * x.judged_motion();
    return calm && x.steps_unjudged() < kStepsBetween ? status : judge(motion, calm);
  }

  // The energy error of the present state, all that moved, and the energies and forces that are
  // there, by energy_audit.h.
  struct Found {
    double error, largest_moving, moved, at_hand;
  };
  Found find_energy_error() {
    State& x = s_.state;
    need_totals();
    const Totals<double>& now = totals_;
    const double total = now.kinetic + now.strain + now.spring + now.gravity;
    const double error = total - x.energy_start() - x.work() + x.dissipated();
    const double moving = moving_energy(m_, now, u());
    const double largest = std::max(x.largest_moving(), moving - error);
    const double at_hand = now.kinetic + now.strain + now.spring + std::fabs(now.gravity) +
                           std::fabs(x.energy_start()) + x.turnover() + work_at_hand(m_, s_.d);
    const double slow = kStanding * m_.extent;
    const double moved =
        x.turnover() + largest + kRoundingOfEnergy * at_hand + m_.mass * slow * slow;
    return {std::fabs(error), largest, moved, at_hand};
  }

  // The verdict on it, when the motion has grown, or has not for kStepsBetween steps.
  Status judge(double motion, bool is_calm) {
    State& x = s_.state;
    const Found found = find_energy_error();
    const auto beside = [](double error, double moved) {
      return error == 0.0 ? 0.0 : error / moved;
    };
    const double setting_out = is_calm ? 0.0 : kSettingOut * found.at_hand;
    const double ratio = beside(found.error, found.moved + setting_out);
    const EnergyLimits limits = energy_limits(s_.options.integrator);
    if (!(ratio <= limits.lost)) return blame(m_, s_.d, u(), ratio);
    x.largest_moving() = found.largest_moving;
    x.largest_error() = std::max(x.largest_error(), found.error);
    if (is_calm) x.doubt() = std::max(x.doubt(), beside(x.largest_error(), found.moved));
    x.judged_motion() = motion;
    x.steps_unjudged() = 0.0;
    return {};
  }

  // What is in Data of the present state. Eliminating the joints consumes the body terms, so that
  // totals are taken before it.
  void forget() { accelerations_known_ = totals_known_ = false; }

  void put_state_into_data() { s_.set_present(); }

  static Status check_finite(const double* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::isfinite(values[i])) {
        return {Code::not_finite, static_cast<int32_t>(i), values[i], 0};
      }
    }
    return {};
  }

  void find_loop_positions() {
    if (m_.loops.empty()) return;
    put_state_into_data();
    outward(m_, s_.d);
    loop_terms(m_, s_.d);
    forget();
  }

  // Body terms of the present state, for what is not an acceleration.
  void prepare_present() {
    s_.find_loaded_nodes();
    put_state_into_data();
    prepare(m_, s_.d);
    forget();
  }

  Status need_accelerations(bool with_totals) {
    if (accelerations_known_ && (totals_known_ || !with_totals)) return {};
    if (Status bad = s_.check_inputs(time()); bad.code != Code::ok) return bad;
    s_.find_loaded_nodes();
    put_state_into_data();
    prepare(m_, s_.d);
    if (with_totals) {
      totals_ = totals(m_, s_.d);
      totals_known_ = true;
    }
    Status status = s_.solve();
    if (status.code != Code::ok) return status;
    s_.find_joint_forces();
    accelerations_known_ = true;
    return status;
  }

  void need_totals() {
    if (totals_known_) return;
    put_state_into_data();
    outward(m_, s_.d);
    if (!m_.loops.empty()) loop_terms(m_, s_.d);
    totals_ = totals(m_, s_.d);
    accelerations_known_ = false;
    totals_known_ = true;
  }

  // Changes the speeds by what `find` leaves in udot at the present position; energy that the
  // jump takes is dissipated.
  template <class Find>
  Status jump(Find find) {
    put_state_into_data();
    prepare(m_, s_.d);
    const double before = totals(m_, s_.d).kinetic;
    if (Status bad = inward(m_, s_.d); bad.code != Code::ok) return bad;
    if (!m_.loops.empty()) {
      if (Status bad = loop_columns(m_, s_.d); bad.code != Code::ok) return bad;
    }
    if (Status bad = find(); bad.code != Code::ok) return bad;
    for (int32_t i = 0; i < m_.u_size; ++i) u()[i] += s_.d.udot[i];
    forget();
    need_totals();
    const double lost = before - totals_.kinetic;
    s_.state.dissipated() += lost;
    s_.state.turnover() += std::fabs(lost);
    return {};
  }

  // Positions, then speeds, onto the loops: smallest changes in the sense of kinetic energy.
  Status project_loops() {
    const auto rows = static_cast<int32_t>(m_.loop_rows.size());
    put_state_into_data();
    prepare(m_, s_.d);
    if (Status bad = inward(m_, s_.d); bad.code != Code::ok) return bad;
    if (Status bad = loop_columns(m_, s_.d); bad.code != Code::ok) return bad;
    for (int32_t i = 0; i < rows; ++i) s_.d.multiplier[i] = s_.d.loop_row[i].gap;
    close_rows(m_, s_.d, s_.d.multiplier.data());
    s_.drift(q(), q(), s_.d.udot.data(), 1.0);
    return jump([&] {
      for (int32_t i = 0; i < rows; ++i) s_.d.multiplier[i] = s_.d.loop_row[i].rate;
      close_rows(m_, s_.d, s_.d.multiplier.data());
      return Status{};
    });
  }

  double total_energy() {
    need_totals();
    return totals_.kinetic + totals_.strain + totals_.spring + totals_.gravity;
  }

  // The part of the energy that is an account over time: work, dissipated, error.
  double account(int32_t part) {
    if (part == 5) return s_.state.work();
    if (part == 6) return s_.state.dissipated();
    return totals_.kinetic + totals_.strain + totals_.spring + totals_.gravity - s_.state.work() +
           s_.state.dissipated() - s_.state.energy_start();
  }

  // The present moment and its change along a direction, in Data of its own.
  Data<Dual>& tangent(const Direction& along) {
    if (!tangent_) tangent_ = std::make_unique<Tangent>(m_);
    seed(along, tangent_->d);
    return tangent_->d;
  }

  void seed(const Direction& along, Data<Dual>& d) {
    const auto part = [](const double* x, int32_t i) { return x == nullptr ? 0.0 : x[i]; };
    const double t = time(), elapsed = t - s_.input_time;
    d.node_rotation = s_.options.node_rotation;
    for (int32_t i = 0; i < m_.q_size; ++i) d.q[i] = {q()[i], part(along.q, i)};
    for (int32_t i = 0; i < m_.u_size; ++i) d.u[i] = {u()[i], part(along.u, i)};
    for (int32_t i = 0; i < m_.input_size; ++i) {
      const double rate = s_.input_rate[i];
      d.input[i] = {s_.input[i] + rate * elapsed, part(along.input, i) + rate * along.time};
    }
    for (const LoadTable& table : m_.loads) {
      const LoadValue load = load_at_time(m_, table, at(t));
      d.input[table.input] += Dual(load.value, load.slope * along.time);
    }
    std::copy(s_.d.held.begin(), s_.d.held.end(), d.held.begin());
    const auto driven = static_cast<int32_t>(m_.driven.size());
    for (int32_t i = 0; i < driven; ++i) {
      const Motion x = s_.motion(i, at(t), 0.0);
      const int32_t row = m_.driven_live[i] < 0 ? -1 : 3 * m_.driven_live[i];
      const double* by = row < 0 || along.motion == nullptr ? nullptr : along.motion + row;
      d.q[m_.driven_q[i]] = {x.position, x.rate * along.time + part(by, 0)};
      d.u[m_.driven[i]] = {x.rate, x.acceleration * along.time + part(by, 1)};
      // Outside of steps a motion from outside goes on at its acceleration.
      const double jerk = row < 0 ? x.jerk : 0.0;
      d.dof[m_.driven_dof[i]].acceleration = {x.acceleration, jerk * along.time + part(by, 2)};
    }
    d.loop_time = s_.loop_time();
    std::copy_n(s_.state.turned(), m_.loop_freedoms.size(), d.loop_turned.begin());
    for (const LoopConst& loop : m_.loops) drive_loop(m_, loop, at(t), along.time, d);
    d.loaded_count = s_.d.loaded_count;
    std::copy(s_.d.loaded.begin(), s_.d.loaded.end(), d.loaded.begin());
    for (int32_t k = 0; along.input != nullptr && k < static_cast<int32_t>(m_.nodes.size()); ++k) {
      const double* load = along.input + m_.node_input0 + 6 * k;
      const bool any = std::any_of(load, load + 6, [](double x) { return x != 0.0; });
      const int32_t* const end = d.loaded.data() + d.loaded_count;
      if (any && std::find(d.loaded.data(), d.loaded.data() + d.loaded_count, k) == end) {
        d.loaded[d.loaded_count++] = k;
      }
    }
  }

  const Model& m_;
  Dynamics s_;
  Buffer<double> kept_;  // the state block before what may fail
  Buffer<double> rk4_scratch_;
  Buffer<double> rate_;  // of coordinates and speeds, once a derivative in time was asked for
  std::unique_ptr<Tangent> tangent_;
  Totals<double> totals_{};
  bool accelerations_known_ = false, totals_known_ = false;
};

}  // namespace pliant::PLIANT_ISA
