#include "slave.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

namespace pliant {
namespace {

constexpr double kClockTolerance = 1e-6;  // of a communication step: drift of the importer's clock
constexpr double kMostSteps = 1e9;        // internal steps in one communication step
constexpr double kLargestRotation = 0.3;  // rad, of a node in its body: what modes can carry

std::string text_of(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.12g", x);
  return buffer;
}

// Of a number that is no author's own.
std::string brief(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.3g", x);
  return buffer;
}

// What is wrong with a value outside the limits. The least may be the number next to one that must
// not be reached.
std::string outside(const Parameter& p, double x) {
  if (x > p.most) return text_of(x) + " is too large; give a number up to " + text_of(p.most);
  const bool open = p.least == std::numeric_limits<double>::denorm_min();
  return text_of(x) + " is too small; give a number " +
         (open ? "above 0" : "of at least " + text_of(p.least));
}

bool positive_definite(const double (&a)[3][3]) {
  const double d1 = a[0][0];
  const double d2 = a[0][0] * a[1][1] - a[0][1] * a[0][1];
  const double d3 = a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[1][2]) -
                    a[0][1] * (a[0][1] * a[2][2] - a[1][2] * a[0][2]) +
                    a[0][2] * (a[0][1] * a[1][2] - a[1][1] * a[0][2]);
  return d1 > 0.0 && d2 > 0.0 && d3 > 0.0;
}

// [xx, yy, zz, xy, xz, yz]: positive definite, and no principal moment above the sum of the other
// two, which is the same as tr(J)/2 - J having no negative eigenvalue (thin rods and plates reach
// zero, hence the slack).
bool is_inertia(const double* j) {
  const double half = 0.5 * (j[0] + j[1] + j[2]) * (1.0 + 1e-9);
  const double tensor[3][3] = {{j[0], j[3], j[4]}, {j[3], j[1], j[5]}, {j[4], j[5], j[2]}};
  const double rest[3][3] = {
      {half - j[0], -j[3], -j[4]}, {-j[3], half - j[1], -j[5]}, {-j[4], -j[5], half - j[2]}};
  return positive_definite(tensor) && positive_definite(rest);
}

}  // namespace

std::unique_ptr<Slave> Slave::make(std::vector<unsigned char> data, std::string& error) {
  DataFile file(std::move(data));
  VariableTable table;
  if (file.ok()) table = VariableTable::read(file);
  if (!file.ok()) {
    error = file.error();
    return nullptr;
  }
  std::unique_ptr<Slave> slave(new Slave(std::move(file), std::move(table)));
  if (slave->build() != Result::ok) {
    error = slave->message();
    return nullptr;
  }
  const Model& m = *slave->model_;
  if (static_cast<std::size_t>(m.input_size) != slave->table_.input_names.size() ||
      m.bodies.size() != slave->table_.body_names.size()) {
    error = "variable table: it belongs to another model";
    return nullptr;
  }
  for (const Variable& v : slave->table_.variables) {
    const auto number = static_cast<std::size_t>(v.signal.index);
    const bool stands_for_something =
        v.role == Role::signal   ? exists(m, v.signal)
        : v.role == Role::lock   ? v.signal.index >= 0 && number < m.bodies.size()
        : v.role == Role::motion ? v.signal.index >= 0 && number < slave->motions_.size()
                                 : true;
    if (!stands_for_something) {
      error = "variable table: '" + v.name + "' stands for nothing";
      return nullptr;
    }
  }
  return slave;
}

Slave::Slave(DataFile file, VariableTable table)
    : file_(std::move(file)),
      table_(std::move(table)),
      inputs_(table_.input_names.size()),
      input_rates_(table_.input_names.size()),
      seen_(table_.variables.size()) {
  reset();
}

void Slave::reset() {
  parameters_.clear();
  for (const Parameter& p : table_.parameters) parameters_.push_back(p.start);
  options_ = table_.options;
  std::fill(inputs_.begin(), inputs_.end(), 0.0);
  std::fill(input_rates_.begin(), input_rates_.end(), 0.0);
  motions_ = table_.motions;
  std::fill(locks_.begin(), locks_.end(), static_cast<unsigned char>(0));
  start_time_ = told_step_ = 0.0;
  initialized_ = built_ = told_bent_ = false;
}

Result Slave::refuse(std::string message) {
  message_ = std::move(message);
  return Result::error;
}

Result Slave::refuse(const Status& status) {
  const auto name = [&](const std::vector<std::string>& names) {
    const auto i = static_cast<std::size_t>(status.element);
    return status.element >= 0 && i < names.size() ? names[i] : std::string("the model");
  };
  std::string what;
  switch (status.code) {
    case Code::singular_joint:
      what = name(table_.dof_names) + ": what hangs on this freedom has no inertia along it";
      break;
    case Code::singular_internal:
      what = name(table_.speed_names) + ": it has no inertia of its own";
      break;
    case Code::diverged:
      what = name(table_.speed_names) +
             ": the motion grew without bound; take a shorter internal step (solver.h) or look "
             "for inputs and contact forces too stiff for the step";
      break;
    case Code::bad_input:
      what = name(table_.input_names) + ": the input is not finite";
      break;
    case Code::loop_open:
      what = name(table_.row_names) +
             ": it cannot be held: nothing moves it, or it contradicts the other directions that "
             "loops hold, and it is opening";
      break;
    case Code::loop_lost:
      what = name(table_.row_names) +
             ": its force is lost in rounding: the bodies between its ends are too light beside "
             "those that they connect; give them mass, or weld them together in the tree";
      break;
    case Code::ok:
      break;
  }
  return refuse("t = " + text_of(time()) + " s: " + what + " (" + text_of(status.value) + ")");
}

double Slave::time() { return built_ ? stepper_->time() : start_time_; }

// ------------------------------------------------------------------------------------ variables

const Variable* Slave::find(Reference reference, Type type) {
  static constexpr const char* kTypes[] = {"Real", "Integer or enumeration", "Boolean"};
  if (reference >= table_.variables.size()) {
    refuse("value reference " + std::to_string(reference) + " is unknown; this model has 0 to " +
           std::to_string(table_.variables.size() - 1));
    return nullptr;
  }
  const Variable& v = table_.variables[reference];
  if (v.type != type) {
    refuse(v.name + " is of type " + kTypes[static_cast<int>(v.type)] + ", not " +
           kTypes[static_cast<int>(type)]);
    return nullptr;
  }
  return &v;
}

bool Slave::check_settable(Reference reference) {
  const Variable& v = table_.variables[reference];
  if (std::exchange(seen_[reference], calls_) == calls_) {
    refuse(v.name + " is given twice in one call");
    return false;
  }
  if (v.role == Role::input || v.role == Role::motion || v.role == Role::lock) return true;
  if (v.role == Role::signal || v.role == Role::constant) {
    refuse(v.name + " is computed and cannot be set; set inputs and parameters only");
    return false;
  }
  if (initialized_ && !v.tunable) {
    refuse(v.name + " is a fixed parameter: set it before initialization ends");
    return false;
  }
  return true;
}

Result Slave::refuse_text(const Reference* references, std::size_t count) {
  if (count == 0) return Result::ok;
  if (references[0] >= table_.variables.size()) {
    find(references[0], Type::real);
    return Result::error;
  }
  return refuse(table_.variables[references[0]].name +
                " is not of type String; this model has no such variables");
}

Result Slave::get_real(const Reference* references, std::size_t count, double* values) {
  for (std::size_t i = 0; i < count; ++i) {
    if (find(references[i], Type::real) == nullptr) return Result::error;
  }
  if (build() != Result::ok) return Result::error;
  signals_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const Variable& v = table_.variables[references[i]];
    if (v.role == Role::signal) signals_.push_back(v.signal);
  }
  numbers_.resize(signals_.size());
  const Status status = stepper_->read(signals_.data(), signals_.size(), numbers_.data());
  if (status.code != Code::ok) return refuse(status);
  std::size_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Variable& v = table_.variables[references[i]];
    const auto number = static_cast<std::size_t>(v.signal.index);
    switch (v.role) {
      case Role::signal:
        values[i] = numbers_[next++];
        break;
      case Role::input:
        values[i] = inputs_[number];
        break;
      case Role::parameter:
        values[i] = parameters_[number];
        break;
      case Role::setting:
        values[i] = options_.step;
        break;
      case Role::constant:
        values[i] = table_.constants[number];
        break;
      case Role::motion:
        values[i] = motions_[number];
        break;
      case Role::lock:
        break;  // not Real
    }
  }
  return Result::ok;
}

Result Slave::get_integer(const Reference* references, std::size_t count, int32_t* values) {
  for (std::size_t i = 0; i < count; ++i) {
    const Variable* v = find(references[i], Type::integer);
    if (v == nullptr) return Result::error;
    const bool integrator = static_cast<Setting>(v->signal.index) == Setting::integrator;
    values[i] = 1 + (integrator ? static_cast<int32_t>(options_.integrator)
                                : static_cast<int32_t>(options_.algorithm));
  }
  return Result::ok;
}

Result Slave::set_real(const Reference* references, std::size_t count, const double* values) {
  ++calls_;
  for (std::size_t i = 0; i < count; ++i) {
    const Variable* v = find(references[i], Type::real);
    if (v == nullptr || !check_settable(references[i])) return Result::error;
    const double x = values[i];
    if (!std::isfinite(x)) return refuse(v->name + ": " + text_of(x) + " is not a finite number");
    if (v->role == Role::parameter) {
      const Parameter& p = table_.parameters[static_cast<std::size_t>(v->signal.index)];
      if (x < p.least || x > p.most) return refuse(v->name + ": " + outside(p, x));
    }
    if (v->role == Role::setting && !(x > 0.0 && x < 1e9)) {
      return refuse(v->name + ": " + text_of(x) + " is not a step; give a time above 0 s");
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Variable& v = table_.variables[references[i]];
    const auto number = static_cast<std::size_t>(v.signal.index);
    if (v.role == Role::input) {
      inputs_[number] = values[i];
      input_rates_[number] = 0.0;
      if (built_) {
        stepper_->input()[number] = values[i];
        stepper_->input_rate()[number] = 0.0;
        stepper_->inputs_written();
      }
    } else if (v.role == Role::motion) {
      motions_[number] = values[i];
      built_ = built_ && initialized_;
    } else if (v.role == Role::parameter) {
      built_ = built_ && parameters_[number] == values[i];
      parameters_[number] = values[i];
    } else {
      options_.step = values[i];
      built_ = built_ && initialized_;
    }
  }
  return Result::ok;
}

Result Slave::set_integer(const Reference* references, std::size_t count, const int32_t* values) {
  ++calls_;
  Options options = options_;
  for (std::size_t i = 0; i < count; ++i) {
    const Variable* v = find(references[i], Type::integer);
    if (v == nullptr || !check_settable(references[i])) return Result::error;
    const bool integrator = static_cast<Setting>(v->signal.index) == Setting::integrator;
    const int32_t most = integrator ? 3 : 2;
    if (values[i] < 1 || values[i] > most) {
      return refuse(v->name + ": " + std::to_string(values[i]) + " is no choice; give 1 to " +
                    std::to_string(most));
    }
    if (integrator) {
      options.integrator = static_cast<Integrator>(values[i] - 1);
    } else {
      options.algorithm = static_cast<Algorithm>(values[i] - 1);
    }
  }
  built_ = built_ && options.integrator == options_.integrator &&
           options.algorithm == options_.algorithm;
  options_ = options;
  return Result::ok;
}

Result Slave::get_boolean(const Reference* references, std::size_t count, int32_t* values) {
  for (std::size_t i = 0; i < count; ++i) {
    const Variable* v = find(references[i], Type::boolean);
    if (v == nullptr) return Result::error;
    values[i] = locks_[static_cast<std::size_t>(v->signal.index)];
  }
  return Result::ok;
}

Result Slave::set_boolean(const Reference* references, std::size_t count, const int32_t* values) {
  ++calls_;
  for (std::size_t i = 0; i < count; ++i) {
    const Variable* v = find(references[i], Type::boolean);
    if (v == nullptr || !check_settable(references[i])) return Result::error;
  }
  const auto body_of = [&](std::size_t i) { return table_.variables[references[i]].signal.index; };
  if (initialized_) {
    const std::vector<double> before(stepper_->state(), stepper_->state() + stepper_->state_size());
    for (std::size_t i = 0; i < count; ++i) {
      const Status status = stepper_->lock(body_of(i), values[i] != 0);
      if (status.code == Code::ok) continue;
      stepper_->restore(before.data());
      return refuse(status);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    locks_[static_cast<std::size_t>(body_of(i))] = values[i] != 0 ? 1 : 0;
  }
  // Until then the model is built anew: a joint locked and released again has its start speed.
  built_ = built_ && initialized_;
  return Result::ok;
}

// ------------------------------------------------------------------------------ initialization

Result Slave::check_parameters() {
  for (const Check& check : table_.checks) {
    const double* p = parameters_.data() + check.first;
    const auto named =
        std::find_if(table_.variables.begin(), table_.variables.end(), [&](const Variable& v) {
          return v.role == Role::parameter &&
                 static_cast<std::size_t>(v.signal.index) == check.first;
        });
    const std::string name = named == table_.variables.end() ? "a parameter" : named->name;
    if (check.kind == Check::Kind::quaternion) {
      const double length = std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]);
      if (!(std::fabs(length - 1.0) <= 1e-6)) {
        return refuse(name + " and the three after it: the quaternion has length " +
                      text_of(length) + ", not 1");
      }
    } else if (!is_inertia(p)) {
      return refuse(name +
                    " and the five after it are no inertia of a body: it must be positive "
                    "definite and no principal moment may exceed the sum of the other two");
    }
  }
  return Result::ok;
}

Result Slave::build() {
  if (built_) return Result::ok;
  if (check_parameters() != Result::ok) return Result::error;
  DataFile file = file_;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const Parameter& parameter = table_.parameters[p];
    if (parameters_[p] == parameter.start) continue;
    for (const Term& term : parameter.terms) {
      double base = 0.0, now = 0.0;
      file_.real_at(term.section, term.index, base);
      file.real_at(term.section, term.index, now);
      const bool is_itself = term.slope == 1.0 && base == parameter.start;
      file.set_real(
          term.section, term.index,
          is_itself ? parameters_[p] : now + term.slope * (parameters_[p] - parameter.start));
    }
  }
  std::string error;
  std::shared_ptr<const Model> model = Model::parse(file, error);
  if (!model) return refuse(error);
  if (motions_.size() != 3 * static_cast<std::size_t>(model->live_count)) {
    return refuse("variable table: it belongs to another model");
  }
  stepper_ = make_stepper(*model, "");
  model_ = std::move(model);
  locks_.resize(model_->bodies.size());
  stepper_->configure(options_);
  stepper_->set_time(start_time_);
  std::copy(motions_.begin(), motions_.end(), stepper_->motion_next());
  stepper_->state_written();
  for (std::size_t body = 0; body < locks_.size(); ++body) {
    if (locks_[body] == 0) continue;
    const Status status = stepper_->lock(static_cast<int32_t>(body), true);
    if (status.code != Code::ok) return refuse(status);
  }
  stepper_->open_account();
  if (static_cast<std::size_t>(model_->input_size) == inputs_.size()) {
    std::copy(inputs_.begin(), inputs_.end(), stepper_->input());
    std::copy(input_rates_.begin(), input_rates_.end(), stepper_->input_rate());
  }
  *stepper_->input_time() = start_time_;
  clock_ = start_time_;
  built_ = true;
  return Result::ok;
}

Result Slave::set_start_time(double time) {
  if (!std::isfinite(time)) return refuse("start time " + text_of(time) + " is not finite");
  start_time_ = time;
  built_ = false;
  return Result::ok;
}

Result Slave::initialize() {
  if (build() != Result::ok) return Result::error;
  const Status status = stepper_->evaluate();
  if (status.code != Code::ok) return refuse(status);
  initialized_ = true;
  return Result::ok;
}

// ------------------------------------------------------------------------------------- warnings

std::vector<std::string> Slave::warnings() {
  std::vector<std::string> found;
  const StepLimit& limit = table_.step_limits[static_cast<std::size_t>(options_.integrator)];
  const double h = options_.step;
  if (std::exchange(told_step_, h) != h && h >= limit.step) {
    found.push_back("solver.h = " + text_of(h) + " s is beyond the limit of the integrator, " +
                    brief(limit.step) + " s for the model as exported, set by " + limit.cause +
                    ": the motion will grow or tremble; take a shorter one");
  }
  for (const NodeConst& node : model_->nodes) {
    const BodyConst& b = model_->bodies[node.body];
    if (told_bent_) break;
    if (b.modes == 0) continue;
    const double* eta = stepper_->q() + b.q0 + b.joint_qs;
    double theta[3] = {0.0, 0.0, 0.0};
    for (int32_t i = 0; i < b.modes; ++i) {
      const double* psi = model_->node_psi[node.psi0 + i].x;
      for (int axis = 0; axis < 3; ++axis) theta[axis] += psi[axis] * eta[i];
    }
    const double rotation = std::hypot(theta[0], theta[1], theta[2]);
    if (!(rotation > kLargestRotation)) continue;
    told_bent_ = true;
    found.push_back("t = " + text_of(time()) + " s: body " +
                    table_.body_names[static_cast<std::size_t>(node.body)] + " turns by " +
                    brief(rotation) + " rad in itself, more than its modes can carry (" +
                    brief(kLargestRotation) + " rad); divide it into several bodies");
  }
  return found;
}

// ------------------------------------------------------------------------------------- stepping

// Motions from outside go on at the acceleration they were given, ...
void Slave::motion_after(double time, double* rows) const {
  for (std::size_t i = 0; i < motions_.size(); i += 3) {
    const double x = motions_[i], v = motions_[i + 1], a = motions_[i + 2];
    rows[i] = x + time * (v + 0.5 * time * a);
    rows[i + 1] = v + time * a;
    rows[i + 2] = a;
  }
}

// ... and what they were off it at the start of the step, because the importer gave something else
// than where they had come to, is taken back smoothly within the internal step asked for: not
// within a shorter one, which would throw the model about.
void Slave::add_motion_offset(double time, double* rows) const {
  const double T = options_.step;
  if (time >= T) return;
  const double s = time / T, left = 1.0 - s, cube = left * left * left;
  for (std::size_t i = 0; i < motions_.size(); i += 3) {
    const double x = motion_offset_[i], v = motion_offset_[i + 1] * T;
    const double a = motion_offset_[i + 2] * T * T;
    // (1 - s)^3 (c0 + c1 s + c2 s^2): x, v, a at s = 0, nothing of them left at s = 1
    const double c0 = x, c1 = v + 3.0 * x, c2 = 0.5 * a + 3.0 * v + 6.0 * x;
    const double p = c0 + s * (c1 + s * c2), dp = c1 + 2.0 * s * c2, ddp = 2.0 * c2;
    rows[i] += cube * p;
    rows[i + 1] += (cube * dp - 3.0 * left * left * p) / T;
    rows[i + 2] += (cube * ddp - 6.0 * left * left * dp + 6.0 * left * p) / (T * T);
  }
}

Result Slave::step(double time, double size) {
  const double now = stepper_->time(), h = options_.step;
  if (!(size > 0.0) || !std::isfinite(size)) {
    return refuse("communication step size " + text_of(size) + " s; give a time above 0 s");
  }
  const double rounding = 16.0 * std::numeric_limits<double>::epsilon();
  // Against the importer's own clock: one that adds up its steps parts from the model's time by
  // more than the tolerance in some minutes.
  const double slack = std::max(kClockTolerance * size, rounding * std::fabs(clock_));
  if (!(std::fabs(time - clock_) <= slack)) {
    return refuse("communication point " + text_of(time) + " s, but the last step ended at " +
                  text_of(clock_) + " s; restore a saved state to go back");
  }
  if (!(size > std::numeric_limits<double>::epsilon() * std::max(std::fabs(now), h))) {
    return refuse("communication step size " + text_of(size) + " s is too short to be noticed at " +
                  text_of(now) + " s beside an internal step (solver.h) of " + text_of(h) + " s");
  }
  if (!(size / h <= kMostSteps)) {
    return refuse("communication step size " + text_of(size) + " s would take " +
                  text_of(size / h) + " internal steps of " + text_of(h) + " s; 1e9 is the most");
  }
  // Whole internal steps: of the length asked for where that fits, else slightly shorter ones. A
  // size that is the difference of two times has their rounding.
  double count = std::max(1.0, std::round(size / h)), length = h;
  const double off = std::fabs(count * h - size);
  if (off > std::min(rounding * (std::fabs(now) + size), kClockTolerance * size)) {
    count = std::max(1.0, std::ceil(size / h - 1e-9));
    length = size / count;
  }
  stepper_->set_step(length, h);
  *stepper_->input_time() = now;
  before_.assign(stepper_->state(), stepper_->state() + stepper_->state_size());
  Status status;
  if (motions_.empty()) {
    status = stepper_->step(static_cast<int64_t>(count));
  } else {
    motion_offset_.assign(stepper_->motion_now(), stepper_->motion_now() + motions_.size());
    for (std::size_t i = 0; i < motions_.size(); ++i) motion_offset_[i] -= motions_[i];
    for (double done = 1.0; done <= count && status.code == Code::ok; done += 1.0) {
      motion_after(done * length, stepper_->motion_next());
      add_motion_offset(done * length, stepper_->motion_next());
      status = stepper_->step(1);
    }
  }
  if (status.code != Code::ok) {
    refuse(status);
    // The instance stays at the last internal step that was good, unless nothing can be read there.
    if (stepper_->evaluate().code != Code::ok) stepper_->restore(before_.data());
    return Result::discard;
  }
  clock_ = time + size;
  motion_after(size, motions_.data());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (input_rates_[i] == 0.0) continue;
    inputs_[i] += input_rates_[i] * size;
    input_rates_[i] = 0.0;
    stepper_->input()[i] = inputs_[i];
    stepper_->input_rate()[i] = 0.0;
  }
  return Result::ok;
}

// ---------------------------------------------------------------------------------- derivatives

Result Slave::set_input_derivatives(const Reference* references, std::size_t count,
                                    const int32_t* orders, const double* values) {
  ++calls_;
  for (std::size_t i = 0; i < count; ++i) {
    const Variable* v = find(references[i], Type::real);
    if (v == nullptr || !check_settable(references[i])) return Result::error;
    if (v->role != Role::input) return refuse(v->name + " is not an input that is interpolated");
    if (orders[i] != 1) {
      return refuse(v->name + ": derivative of order " + std::to_string(orders[i]) +
                    "; inputs are interpolated linearly, give order 1");
    }
    if (!std::isfinite(values[i])) {
      return refuse(v->name + ": the derivative " + text_of(values[i]) + " is not a finite number");
    }
  }
  if (build() != Result::ok) return Result::error;
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::size_t>(table_.variables[references[i]].signal.index);
    input_rates_[number] = stepper_->input_rate()[number] = values[i];
  }
  *stepper_->input_time() = stepper_->time();
  stepper_->inputs_written();
  return Result::ok;
}

Result Slave::get_output_derivatives(const Reference* references, std::size_t count,
                                     const int32_t* orders, double* values) {
  signals_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const Variable* v = find(references[i], Type::real);
    if (v == nullptr) return Result::error;
    if (!v->output) return refuse(v->name + " is not an output");
    if (orders[i] != 1) {
      return refuse(v->name + ": derivative of order " + std::to_string(orders[i]) +
                    "; this model gives order 1");
    }
    if (v->role == Role::signal) signals_.push_back(v->signal);
  }
  if (build() != Result::ok) return Result::error;
  const Status status = stepper_->differentiate_in_time();
  if (status.code != Code::ok) return refuse(status);
  numbers_.resize(signals_.size());
  stepper_->read_derivative(signals_.data(), signals_.size(), numbers_.data());
  std::size_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool moves = table_.variables[references[i]].role == Role::signal;
    values[i] = moves ? numbers_[next++] : 0.0;
  }
  return Result::ok;
}

Result Slave::directional_derivative(const Reference* unknown, std::size_t unknowns,
                                     const Reference* known, std::size_t knowns, const double* seed,
                                     double* derivative) {
  if (build() != Result::ok) return Result::error;
  const auto q_size = static_cast<std::size_t>(model_->q_size);
  const auto u_size = static_cast<std::size_t>(model_->u_size);
  numbers_.assign(q_size + u_size + inputs_.size(), 0.0);
  double *q = numbers_.data(), *u = q + q_size, *input = u + u_size;
  for (std::size_t i = 0; i < knowns; ++i) {
    const Variable* v = find(known[i], Type::real);
    if (v == nullptr) return Result::error;
    const bool is_state = v->role == Role::signal &&
                          (v->signal.quantity == Quantity::q || v->signal.quantity == Quantity::u);
    if (v->role != Role::input && !is_state) {
      return refuse(v->name + " is neither an input nor a state: nothing is differentiated by it");
    }
    if (!std::isfinite(seed[i])) return refuse(v->name + ": the seed is not a finite number");
    double* part = v->role == Role::input ? input : v->signal.quantity == Quantity::q ? q : u;
    part[v->signal.index] += seed[i];
  }
  signals_.clear();
  for (std::size_t i = 0; i < unknowns; ++i) {
    const Variable* v = find(unknown[i], Type::real);
    if (v == nullptr) return Result::error;
    if (v->role != Role::signal && v->role != Role::constant) {
      return refuse(v->name + " is not computed: it has no derivative");
    }
    if (v->role == Role::signal) signals_.push_back(v->signal);
  }
  const Status status = stepper_->differentiate({q, u, input, 0.0});
  if (status.code != Code::ok) return refuse(status);
  numbers_.resize(signals_.size());
  stepper_->read_derivative(signals_.data(), signals_.size(), numbers_.data());
  std::size_t next = 0;
  for (std::size_t i = 0; i < unknowns; ++i) {
    const bool moves = table_.variables[unknown[i]].role == Role::signal;
    derivative[i] = moves ? numbers_[next++] : 0.0;
  }
  return Result::ok;
}

}  // namespace pliant
