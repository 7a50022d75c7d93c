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
constexpr double kShortestSize = 1e-12;   // s, of a communication step
constexpr int kJumpsInARow = 3;           // of a motion from outside: it is told of wrongly
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

// What a motion is moved by so that (x, v, a) at the time 0 is nothing at T, smoothly: to be added
// to its row (position, rate, acceleration) at `time`, backward in time if `sign` is -1.
void add_fading(const double* from, double T, double time, double sign, double* row) {
  const double s = time / T, left = 1.0 - s, cube = left * left * left;
  const double x = from[0], v = sign * from[1] * T, a = from[2] * T * T;
  // (1 - s)^3 (c0 + c1 s + c2 s^2)
  const double c0 = x, c1 = v + 3.0 * x, c2 = 0.5 * a + 3.0 * v + 6.0 * x;
  const double p = c0 + s * (c1 + s * c2), dp = c1 + 2.0 * s * c2, ddp = 2.0 * c2;
  row[0] += cube * p;
  row[1] += sign * (cube * dp - 3.0 * left * left * p) / T;
  row[2] += (cube * ddp - 6.0 * left * left * dp + 6.0 * left * p) / (T * T);
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
  for (const Variable& v : slave->table_.variables) {
    const auto number = static_cast<std::size_t>(v.signal.index);
    const bool stands_for_something =
        v.role == Role::signal   ? exists(m, v.signal)
        : v.role == Role::lock   ? v.signal.index >= 0 && number < m.bodies.size()
        : v.role == Role::motion ? v.signal.index >= 0 && number < slave->now_.motions.size()
                                 : true;
    if (!stands_for_something) {
      error = "variable table: '" + v.name + "' stands for nothing";
      return nullptr;
    }
  }
  return slave;
}

Slave::Slave(DataFile file, VariableTable table)
    : file_(std::move(file)), table_(std::move(table)), seen_(table_.variables.size()) {
  reset();
}

void Slave::reset() {
  now_ = Condition();
  for (const Parameter& p : table_.parameters) now_.parameters.push_back(p.start);
  now_.options = table_.options;
  now_.inputs.assign(table_.input_names.size(), 0.0);
  now_.input_rates = now_.inputs;
  now_.motions = table_.motions;
  now_.motion_rates.assign(now_.motions.size(), 0.0);
  now_.motion_rated = now_.motion_rates;
  now_.locks.assign(table_.body_names.size(), 0.0);
  built_ = told_bent_ = told_energy_ = told_jumps_ = false;
  jumps_ = 0;
  told_step_ = 0.0;
  read_ = Needs();
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
      what =
          name(table_.input_names) + ": the input leaves what a model can be given, 1e30 at most";
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
    case Code::energy_grew:
      what = name(table_.speed_names) +
             ": energy came out of nothing, as much as all that moved before; take a shorter "
             "internal step (solver.h" +
             limit_text() + ")";
      break;
    case Code::gimbal_lock:
      what = name(table_.dof_names) +
             ": the axes of its joint line up (gimbal lock), where its angles describe no motion; "
             "use a spherical joint, other axes or a shorter step";
      break;
    case Code::not_finite:
      what =
          "what was asked for is beyond the range of numbers; look for parameters and inputs of "
          "extreme size";
      break;
    case Code::ok:
      break;
  }
  return refuse("t = " + text_of(time()) + " s: " + what + " (" + text_of(status.value) + ")");
}

std::string Slave::limit_text() const {
  const auto integrator = static_cast<std::size_t>(now_.options.integrator);
  const double limit = table_.step_limits[integrator].step;
  return limit < kLongestStep ? ", " + brief(limit) + " s is the limit" : std::string();
}

double Slave::time() { return built_ ? stepper_->time() : now_.start_time; }

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

std::string Slave::name_of(Role role, std::size_t number) const {
  for (const Variable& v : table_.variables) {
    if (v.role == role && static_cast<std::size_t>(v.signal.index) == number) return v.name;
  }
  return role == Role::parameter ? "a parameter" : "a motion from outside";
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
  if (now_.initialized && !v.tunable) {
    refuse(v.name + " is a fixed parameter: set it before initialization ends");
    return false;
  }
  return true;
}

bool Slave::check_parameter(std::size_t number, double x) {
  const Parameter& p = table_.parameters[number];
  if (x >= p.least && x <= p.most) return true;
  const std::string wrong =
      std::isfinite(x) ? outside(p, x) : text_of(x) + " is not a finite number";
  refuse(name_of(Role::parameter, number) + ": " + wrong);
  return false;
}

bool Slave::check_value(const Variable& v, double x) {
  const auto number = static_cast<std::size_t>(v.signal.index);
  if (v.role == Role::parameter) return check_parameter(number, x);
  std::string wrong;
  const auto up_to = [&](double limit) {
    if (std::fabs(x) > limit) {
      wrong = text_of(x) + " is beyond mechanics; give a number up to " + text_of(limit);
    }
  };
  if (!std::isfinite(x)) {
    wrong = text_of(x) + " is not a finite number";
  } else if (v.role == Role::input) {
    up_to(kLargestInput);
  } else if (v.role == Role::motion) {
    up_to(largest_motion(number));
  } else if (!(x >= kShortestStep && x <= kLongestStep)) {
    wrong = text_of(x) + " is not a step; give a time from " + text_of(kShortestStep) + " to " +
            text_of(kLongestStep) + " s";
  }
  if (!wrong.empty()) refuse(v.name + ": " + wrong);
  return wrong.empty();
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
  for (const Signal& signal : signals_) read_.add(signal);
  std::size_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Variable& v = table_.variables[references[i]];
    const auto number = static_cast<std::size_t>(v.signal.index);
    switch (v.role) {
      case Role::signal:
        values[i] = numbers_[next++];
        break;
      case Role::input:
        values[i] = now_.inputs[number];
        break;
      case Role::parameter:
        values[i] = now_.parameters[number];
        break;
      case Role::setting:
        values[i] = now_.options.step;
        break;
      case Role::constant:
        values[i] = table_.constants[number];
        break;
      case Role::motion:
        values[i] = now_.motions[number];
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
    values[i] = 1 + (integrator ? static_cast<int32_t>(now_.options.integrator)
                                : static_cast<int32_t>(now_.options.algorithm));
  }
  return Result::ok;
}

Result Slave::set_real(const Reference* references, std::size_t count, const double* values) {
  ++calls_;
  for (std::size_t i = 0; i < count; ++i) {
    const Variable* v = find(references[i], Type::real);
    if (v == nullptr || !check_settable(references[i])) return Result::error;
    if (!check_value(*v, values[i])) return Result::error;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Variable& v = table_.variables[references[i]];
    const auto number = static_cast<std::size_t>(v.signal.index);
    if (v.role == Role::input) {
      now_.inputs[number] = values[i];
      now_.input_rates[number] = 0.0;
      if (built_) {
        stepper_->input()[number] = values[i];
        stepper_->input_rate()[number] = 0.0;
        stepper_->inputs_written();
      }
    } else if (v.role == Role::motion) {
      now_.motions[number] = values[i];
      now_.motion_rates[number] = now_.motion_rated[number] = 0.0;
      built_ = built_ && now_.initialized;
    } else if (v.role == Role::parameter) {
      built_ = built_ && same_bits(now_.parameters[number], values[i]);
      now_.parameters[number] = values[i];
    } else {
      now_.options.step = values[i];
      built_ = built_ && now_.initialized;
      if (built_) {  // the loops' time constant goes by it, also in what is read before a step
        stepper_->set_step(stepper_->step_size(), values[i]);
        stepper_->inputs_written();
      }
    }
  }
  return Result::ok;
}

Result Slave::set_integer(const Reference* references, std::size_t count, const int32_t* values) {
  ++calls_;
  Options options = now_.options;
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
  if (!fits(*model_, options.algorithm)) {
    return refuse("this model is too large for the algorithm dense; take order_n");
  }
  built_ = built_ && options.integrator == now_.options.integrator &&
           options.algorithm == now_.options.algorithm;
  now_.options = options;
  return Result::ok;
}

Result Slave::get_boolean(const Reference* references, std::size_t count, int32_t* values) {
  for (std::size_t i = 0; i < count; ++i) {
    const Variable* v = find(references[i], Type::boolean);
    if (v == nullptr) return Result::error;
    values[i] = now_.locks[static_cast<std::size_t>(v->signal.index)] != 0.0 ? 1 : 0;
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
  if (now_.initialized) {
    const std::vector<double> before(stepper_->state(), stepper_->state() + stepper_->state_size());
    for (std::size_t i = 0; i < count; ++i) {
      const Status status = stepper_->lock(body_of(i), values[i] != 0);
      if (status.code == Code::ok) continue;
      stepper_->restore(before.data());
      return refuse(status);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    now_.locks[static_cast<std::size_t>(body_of(i))] = values[i] != 0 ? 1.0 : 0.0;
  }
  // Until then the model is built anew: a joint locked and released again has its start speed.
  built_ = built_ && now_.initialized;
  return Result::ok;
}

// ------------------------------------------------------------------------------ initialization

Result Slave::check_parameters(const std::vector<double>& parameters) {
  for (const Check& check : table_.checks) {
    const double* p = parameters.data() + check.first;
    const auto name = [&] { return name_of(Role::parameter, check.first); };
    if (check.kind == Check::Kind::quaternion) {
      const double length = std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]);
      if (!(std::fabs(length - 1.0) <= 1e-6)) {
        return refuse(name() + " and the three after it: the quaternion has length " +
                      text_of(length) + ", not 1");
      }
    } else if (!is_inertia(p)) {
      return refuse(name() +
                    " and the five after it are no inertia of a body: it must be positive "
                    "definite and no principal moment may exceed the sum of the other two");
    }
  }
  return Result::ok;
}

Result Slave::make_model(const Condition& condition, std::shared_ptr<const Model>& model,
                         std::unique_ptr<Stepper>& stepper) {
  if (check_parameters(condition.parameters) != Result::ok) return Result::error;
  DataFile file = file_;
  for (std::size_t p = 0; p < condition.parameters.size(); ++p) {
    const Parameter& parameter = table_.parameters[p];
    const double value = condition.parameters[p];
    if (value == parameter.start) continue;
    for (const Term& term : parameter.terms) {
      const double base = file_.real_at(term.place), now = file.real_at(term.place);
      const bool is_itself = term.slope == 1.0 && base == parameter.start;
      file.set_real(term.place, is_itself ? value : now + term.slope * (value - parameter.start));
    }
  }
  std::string error;
  model = Model::parse(file, error);
  if (!model) return refuse(error);
  const bool fitting = 3 * static_cast<std::size_t>(model->live_count) == table_.motions.size() &&
                       static_cast<std::size_t>(model->input_size) == table_.input_names.size() &&
                       model->bodies.size() == table_.body_names.size();
  if (!fitting) return refuse("variable table: it belongs to another model");
  if (!fits(*model, condition.options.algorithm)) {
    return refuse("this model is too large for the algorithm dense; take order_n");
  }
  stepper = make_stepper(*model, "");
  stepper->configure(condition.options);
  return Result::ok;
}

Result Slave::put_at_start(const Condition& condition, Stepper& stepper) {
  stepper.set_time(condition.start_time);
  std::copy(condition.motions.begin(), condition.motions.end(), stepper.motion_next());
  stepper.state_written();
  stepper.start_turns();
  for (std::size_t body = 0; body < condition.locks.size(); ++body) {
    if (condition.locks[body] == 0.0) continue;
    const Status status = stepper.lock(static_cast<int32_t>(body), true);
    if (status.code != Code::ok) return refuse(status);
  }
  stepper.open_account();
  if (!stepper.accepts(stepper.state())) {
    return refuse("the parameters put the model beyond mechanics: look for coordinates beyond " +
                  text_of(kLargestCoordinate) + ", speeds beyond " + text_of(kLargestSpeed) +
                  " and quaternions that are no unit ones at the start");
  }
  std::copy(condition.inputs.begin(), condition.inputs.end(), stepper.input());
  std::copy(condition.input_rates.begin(), condition.input_rates.end(), stepper.input_rate());
  *stepper.input_time() = condition.start_time;
  return Result::ok;
}

Result Slave::build() {
  if (built_) return Result::ok;
  std::shared_ptr<const Model> model;
  std::unique_ptr<Stepper> stepper;
  if (make_model(now_, model, stepper) != Result::ok ||
      put_at_start(now_, *stepper) != Result::ok) {
    return Result::error;
  }
  stepper_ = std::move(stepper);  // before the model that it looks at
  model_ = std::move(model);
  now_.clock = now_.start_time;
  built_ = true;
  return Result::ok;
}

Result Slave::set_start_time(double time) {
  if (!(std::fabs(time) <= kLargestTime)) {
    return refuse("start time " + text_of(time) + " s; give one within " + text_of(kLargestTime) +
                  " s of zero");
  }
  now_.start_time = time;
  built_ = false;
  return Result::ok;
}

Result Slave::initialize() {
  if (build() != Result::ok) return Result::error;
  const Status status = stepper_->evaluate();
  if (status.code != Code::ok) return refuse(status);
  now_.initialized = true;
  return Result::ok;
}

// ------------------------------------------------------------------------------------- warnings

std::vector<std::string> Slave::warnings() {
  std::vector<std::string> found;
  const StepLimit& limit = table_.step_limits[static_cast<std::size_t>(now_.options.integrator)];
  const double h = now_.options.step;
  if (std::exchange(told_step_, h) != h && h >= limit.step) {
    found.push_back("solver.h = " + text_of(h) + " s is beyond the limit of the integrator, " +
                    brief(limit.step) + " s for the model as exported, set by " + limit.cause +
                    ": the motion will grow or tremble; take a shorter one");
  }
  if (!told_jumps_ && jumps_ >= kJumpsInARow) {
    told_jumps_ = true;
    found.push_back("t = " + text_of(time()) + " s: " + name_of(Role::motion, jumping_) +
                    " jumps from step to step, off where " + name_of(Role::motion, jumping_ + 1) +
                    " leads: what hangs on it is thrown about; set the rate of the motion too");
  }
  if (!told_energy_ && stepper_->is_doubtful()) {
    told_energy_ = true;
    found.push_back("t = " + text_of(time()) + " s: the energy error has come to " +
                    brief(100.0 * stepper_->energy_doubt()) +
                    " % of the energy that moved: do not trust this run; " +
                    "take a shorter internal step (solver.h" + limit_text() + ")");
  }
  if (const Bent bent = told_bent_ ? Bent{} : bent_body(); bent.body >= 0) {
    told_bent_ = true;
    found.push_back("t = " + text_of(time()) + " s: body " +
                    table_.body_names[static_cast<std::size_t>(bent.body)] + " turns by " +
                    brief(bent.rotation) + " rad in itself, more than its modes can carry (" +
                    brief(kLargestRotation) + " rad); divide it into several bodies");
  }
  return found;
}

// The first body with a node that is turned further than modes can carry.
Slave::Bent Slave::bent_body() {
  for (const NodeConst& node : model_->nodes) {
    const BodyConst& b = model_->bodies[node.body];
    if (b.modes == 0) continue;
    const double* eta = stepper_->q() + b.q0 + b.joint_qs;
    double theta[3] = {0.0, 0.0, 0.0};
    for (int32_t i = 0; i < b.modes; ++i) {
      const double* psi = model_->node_psi[node.psi0 + i].x;
      for (int axis = 0; axis < 3; ++axis) theta[axis] += psi[axis] * eta[i];
    }
    const double rotation = std::hypot(theta[0], theta[1], theta[2]);
    if (rotation > kLargestRotation) return {node.body, rotation};
  }
  return {};
}

// ------------------------------------------------------------------------------------- stepping

// Motions from outside go on at the acceleration they were given; where a derivative was set, to
// where it leads by the end of a communication step of this size; the derivative of a position of
// whose rate nothing is said is its rate, ...
void Slave::motion_after(double size, double time, double* rows) const {
  for (std::size_t i = 0; i < now_.motions.size(); i += 3) {
    const bool led = now_.motion_rated[i] != 0.0 && now_.motion_rated[i + 1] == 0.0;
    const double x = now_.motions[i], v = led ? now_.motion_rates[i] : now_.motions[i + 1];
    const double a = led ? 0.0 : now_.motions[i + 2];
    rows[i] = x + time * (v + 0.5 * time * a);
    rows[i + 1] = v + time * a;
    rows[i + 2] = a;
    const double end[3] = {x + size * (v + 0.5 * size * a), v + size * a, a};
    double extra[3];
    bool any = false;
    for (std::size_t k = 0; k < 3; ++k) {
      const bool said = now_.motion_rated[i + k] != 0.0;
      extra[k] = said ? now_.motions[i + k] + size * now_.motion_rates[i + k] - end[k] : 0.0;
      any = any || said;
    }
    if (any) add_fading(extra, size, size - time, -1.0, rows + i);
  }
}

// ... and what they were off it at the start of the step, because the importer gave something else
// than where they had come to, is taken back smoothly within the internal step asked for: not
// within a shorter one, which would throw the model about.
void Slave::add_motion_offset(double time, double* rows) const {
  const double T = now_.options.step;
  if (time >= T) return;
  for (std::size_t i = 0; i < now_.motions.size(); i += 3) {
    add_fading(&motion_offset_[i], T, time, 1.0, rows + i);
  }
}

// Positions told without the rates that lead from one to the next make a motion of jumps. What is
// told again is no news.
void Slave::watch_jumps(double size) {
  if (came_to_.size() == now_.motions.size()) {
    std::size_t jump = now_.motions.size();
    bool told = false;
    for (std::size_t i = 0; i < now_.motions.size(); i += 3) {
      const double off = std::fabs(now_.motions[i] - came_to_[i]);
      const double rate = std::max(std::fabs(now_.motions[i + 1]), std::fabs(came_to_[i + 1]));
      const double rounding = 1e-12 * (1.0 + std::fabs(now_.motions[i]));
      told = told || off > rounding;
      if (off > rate * size + rounding) jump = std::min(jump, i);
    }
    if (told) jumps_ = jump < now_.motions.size() ? jumps_ + 1 : 0;
    if (jumps_ == kJumpsInARow && jump < now_.motions.size()) jumping_ = jump;
  }
}

// What inputs come to by the end of a step, with the derivatives that were set.
Result Slave::check_inputs_after(double size) {
  const auto beyond = [&](const std::string& name, double value, double limit) {
    return refuse(name + " comes to " + text_of(value) + " by the end of the step; " +
                  text_of(limit) + " is the most");
  };
  for (std::size_t i = 0; i < now_.inputs.size(); ++i) {
    const double value = now_.inputs[i] + now_.input_rates[i] * size;
    if (!(std::fabs(value) <= kLargestInput)) {
      return beyond(table_.input_names[i], value, kLargestInput);
    }
  }
  numbers_.resize(now_.motions.size());
  motion_after(size, size, numbers_.data());
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    if (!(std::fabs(numbers_[i]) <= largest_motion(i))) {
      return beyond(name_of(Role::motion, i), numbers_[i], largest_motion(i));
    }
  }
  return Result::ok;
}

Result Slave::step(double time, double size) {
  const double now = stepper_->time(), h = now_.options.step;
  if (!(size > 0.0) || !std::isfinite(size)) {
    return refuse("communication step size " + text_of(size) + " s; give a time above 0 s");
  }
  const double rounding = 16.0 * std::numeric_limits<double>::epsilon();
  // Against the importer's own clock: one that adds up its steps parts from the model's time by
  // more than the tolerance in some minutes.
  const double slack = std::max(kClockTolerance * size, rounding * std::fabs(now_.clock));
  if (!(std::fabs(time - now_.clock) <= slack)) {
    return refuse("communication point " + text_of(time) + " s, but the last step ended at " +
                  text_of(now_.clock) + " s; restore a saved state to go back");
  }
  if (!(now + size <= kLargestTime)) {
    return refuse("the step goes past " + text_of(kLargestTime) + " s, the longest time there is");
  }
  const double noticed = std::numeric_limits<double>::epsilon() * std::max(std::fabs(now), h);
  if (!(size >= std::max(noticed, kShortestSize))) {
    return refuse("communication step size " + text_of(size) + " s is too short to be noticed at " +
                  text_of(now) + " s beside an internal step (solver.h) of " + text_of(h) + " s");
  }
  if (!(size / h <= kMostSteps)) {
    return refuse("communication step size " + text_of(size) + " s would take " +
                  text_of(size / h) + " internal steps of " + text_of(h) + " s; 1e9 is the most");
  }
  if (check_inputs_after(size) != Result::ok) return Result::error;
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
  if (now_.motions.empty()) {
    status = stepper_->step(static_cast<int64_t>(count));
  } else {
    motion_offset_.assign(stepper_->motion_now(), stepper_->motion_now() + now_.motions.size());
    for (std::size_t i = 0; i < now_.motions.size(); ++i) motion_offset_[i] -= now_.motions[i];
    watch_jumps(size);
    for (double done = 1.0; done <= count && status.code == Code::ok; done += 1.0) {
      motion_after(size, done * length, stepper_->motion_next());
      add_motion_offset(done * length, stepper_->motion_next());
      status = stepper_->step(1);
    }
  }
  // What the importer reads after a step must be there after a step that is called good.
  if (status.code == Code::ok) {
    for (std::size_t i = 0; i < now_.inputs.size(); ++i) {
      stepper_->input()[i] = now_.inputs[i] + now_.input_rates[i] * size;
      stepper_->input_rate()[i] = 0.0;
    }
    stepper_->inputs_written();
    Needs needs = std::exchange(read_, Needs());
    // Far bent, a body may have no inertia left that makes sense: that is not known before it is
    // asked for.
    needs.accelerations = needs.accelerations || bent_body().body >= 0;
    status = stepper_->prepare_to_read(needs);
  }
  if (status.code != Code::ok) {
    refuse(status);
    std::copy(now_.inputs.begin(), now_.inputs.end(), stepper_->input());
    std::copy(now_.input_rates.begin(), now_.input_rates.end(), stepper_->input_rate());
    // The instance stays at the last internal step that was good, unless nothing can be read there.
    if (stepper_->evaluate().code != Code::ok) stepper_->restore(before_.data());
    return Result::discard;
  }
  now_.clock = time + size;
  std::copy(stepper_->input(), stepper_->input() + now_.inputs.size(), now_.inputs.begin());
  std::fill(now_.input_rates.begin(), now_.input_rates.end(), 0.0);
  numbers_.resize(now_.motions.size());
  motion_after(size, size, numbers_.data());
  now_.motions = came_to_ = numbers_;
  std::fill(now_.motion_rates.begin(), now_.motion_rates.end(), 0.0);
  std::fill(now_.motion_rated.begin(), now_.motion_rated.end(), 0.0);
  return Result::ok;
}

// ---------------------------------------------------------------------------------- derivatives

Result Slave::set_input_derivatives(const Reference* references, std::size_t count,
                                    const int32_t* orders, const double* values) {
  ++calls_;
  for (std::size_t i = 0; i < count; ++i) {
    const Variable* v = find(references[i], Type::real);
    if (v == nullptr || !check_settable(references[i])) return Result::error;
    if (v->role != Role::input && v->role != Role::motion) {
      return refuse(v->name + " is not an input that is interpolated");
    }
    if (orders[i] != 1) {
      return refuse(v->name + ": derivative of order " + std::to_string(orders[i]) +
                    "; inputs are interpolated linearly, give order 1");
    }
    if (!(std::fabs(values[i]) <= kLargestInput)) {
      return refuse(v->name + ": the derivative " + text_of(values[i]) +
                    " makes no sense; give a number up to " + text_of(kLargestInput));
    }
  }
  if (build() != Result::ok) return Result::error;
  for (std::size_t i = 0; i < count; ++i) {
    const Variable& v = table_.variables[references[i]];
    const auto number = static_cast<std::size_t>(v.signal.index);
    if (v.role == Role::motion) {
      now_.motion_rates[number] = values[i];
      now_.motion_rated[number] = 1.0;
    } else {
      now_.input_rates[number] = stepper_->input_rate()[number] = values[i];
    }
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
  const Status read = stepper_->read_derivative(signals_.data(), signals_.size(), numbers_.data());
  if (read.code != Code::ok) return refuse(read);
  read_.accelerations = true;
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
  numbers_.assign(q_size + u_size + now_.inputs.size() + now_.motions.size(), 0.0);
  double *q = numbers_.data(), *u = q + q_size, *input = u + u_size;
  double* motion = input + now_.inputs.size();
  for (std::size_t i = 0; i < knowns; ++i) {
    const Variable* v = find(known[i], Type::real);
    if (v == nullptr) return Result::error;
    const bool is_state = v->role == Role::signal &&
                          (v->signal.quantity == Quantity::q || v->signal.quantity == Quantity::u);
    if (v->role != Role::input && v->role != Role::motion && !is_state) {
      return refuse(v->name + " is neither an input nor a state: nothing is differentiated by it");
    }
    if (!(std::fabs(seed[i]) <= kLargestInput)) {
      return refuse(v->name + ": the seed " + text_of(seed[i]) +
                    " makes no sense; give a number up to " + text_of(kLargestInput));
    }
    // A motion that is given anew during a run acts from the next step on: not at this instant.
    if (v->role == Role::motion && now_.initialized) continue;
    double* part = v->role == Role::input              ? input
                   : v->role == Role::motion           ? motion
                   : v->signal.quantity == Quantity::q ? q
                                                       : u;
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
  const Status status = stepper_->differentiate({q, u, input, 0.0, motion});
  if (status.code != Code::ok) return refuse(status);
  numbers_.resize(signals_.size());
  const Status read = stepper_->read_derivative(signals_.data(), signals_.size(), numbers_.data());
  if (read.code != Code::ok) return refuse(read);
  std::size_t next = 0;
  for (std::size_t i = 0; i < unknowns; ++i) {
    const bool moves = table_.variables[unknown[i]].role == Role::signal;
    derivative[i] = moves ? numbers_[next++] : 0.0;
  }
  return Result::ok;
}

}  // namespace pliant
