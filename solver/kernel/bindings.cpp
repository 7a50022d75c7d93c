// The Python face of the kernel: no arithmetic, only names, sizes and errors.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstring>
#include <optional>
#include <vector>

#include "data_file.h"
#include "stepper.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Vector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using VectorOut = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using VectorIn = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A numpy array of its own.
struct Owned {
  explicit Owned(std::size_t size) : data(new double[size]()), size(size) {}
  Vector array() { return Vector(data, {size}, nb::capsule(data, deleter)); }
  nb::ndarray<nb::numpy, double, nb::ndim<2>> matrix(std::size_t rows, std::size_t columns) {
    return {data, {rows, columns}, nb::capsule(data, deleter)};
  }
  static void deleter(void* p) noexcept { delete[] static_cast<double*>(p); }
  double* data;
  std::size_t size;
};

class Kernel {
 public:
  Kernel(nb::bytes blob, const std::string& instruction_set) {
    std::string error;
    pliant::DataFile file(blob.c_str(), blob.size());
    model_ = pliant::Model::parse(file, error);
    if (!model_) throw nb::value_error(error.c_str());
    stepper_ = pliant::make_stepper(*model_, instruction_set.c_str());
    if (!stepper_) {
      throw nb::value_error(("this machine has no instruction set '" + instruction_set +
                             "'; leave it empty for the best there is")
                                .c_str());
    }
  }

  const pliant::Model& model() const { return *model_; }
  pliant::Stepper& stepper() { return *stepper_; }
  const pliant::Stepper& stepper() const { return *stepper_; }

  // The array that every call of accelerations() gives, filled anew.
  nb::object answer(const double* values) {
    const auto size = static_cast<std::size_t>(model_->u_size);
    if (!answer_.is_valid()) {
      Owned fresh(size);
      answer_data_ = fresh.data;
      answer_ = nb::cast(fresh.array());
    }
    std::memcpy(answer_data_, values, size * sizeof(double));
    return answer_;
  }

 private:
  std::shared_ptr<const pliant::Model> model_;
  std::unique_ptr<pliant::Stepper> stepper_;
  nb::object answer_;
  double* answer_data_ = nullptr;
};

Vector view(double* data, int32_t size) {
  return Vector(data, {static_cast<std::size_t>(size)}, nb::handle());
}

template <class Enum, std::size_t count>
Enum choice(const char* what, const std::string& name, const char* const (&names)[count]) {
  for (std::size_t i = 0; i < count; ++i) {
    if (name == names[i]) return static_cast<Enum>(i);
  }
  std::string message = std::string("unknown ") + what + " '" + name + "', known are";
  for (const char* known : names) message += std::string(" ") + known;
  throw nb::value_error(message.c_str());
}

void check_size(const char* what, const VectorIn& x, int32_t size) {
  if (x.shape(0) != static_cast<std::size_t>(size)) {
    throw nb::value_error((std::string(what) + " has " + std::to_string(x.shape(0)) +
                           " values, the model has " + std::to_string(size))
                              .c_str());
  }
}

void configure(Kernel& k, double step, const std::string& integrator, const std::string& algorithm,
               const std::string& node_rotation, double loop_steps, bool project_loops) {
  if (!(step >= pliant::kShortestStep) || !(step <= pliant::kLongestStep)) {
    throw nb::value_error("the step is out of range; see SHORTEST_STEP and LONGEST_STEP");
  }
  pliant::Options o;
  o.step = step;
  o.integrator =
      choice<pliant::Integrator>("integrator", integrator, {"euler_cromer", "leapfrog", "rk4"});
  o.algorithm = choice<pliant::Algorithm>("algorithm", algorithm, {"order_n", "dense"});
  o.node_rotation =
      choice<pliant::NodeRotation>("node rotation", node_rotation, {"exact", "paper"});
  if (!pliant::fits(k.model(), o.algorithm)) {
    throw nb::value_error("the model is too large for dense; take order_n");
  }
  if (!(loop_steps >= 2.0 || loop_steps == 0.0)) {
    throw nb::value_error("loop_steps must be at least 2, or 0 for the integrator's own");
  }
  o.loop_steps = loop_steps;
  o.project_loops = project_loops;
  k.stepper().configure(o);
}

[[noreturn]] void throw_no_accelerations(const pliant::Status& status) {
  throw nb::value_error(("no accelerations: code " + std::to_string(static_cast<int>(status.code)) +
                         ", element " + std::to_string(status.element))
                            .c_str());
}

// One evaluation for given positions, speeds and efforts (one for each joint speed; entries of
// modes are ignored). The answer is one array, which the next call overwrites: making a new one
// would cost as much as the evaluation of a small arm.
nb::object accelerations(Kernel& k, const VectorIn& q, const VectorIn& u, const VectorIn& tau) {
  pliant::Stepper& s = k.stepper();
  const pliant::Model& m = k.model();
  check_size("q", q, m.q_size);
  check_size("u", u, m.u_size);
  check_size("tau", tau, m.u_size);
  std::memcpy(s.q(), q.data(), q.shape(0) * sizeof(double));
  std::memcpy(s.u(), u.data(), u.shape(0) * sizeof(double));
  double* input = s.input();
  for (const pliant::BodyConst& b : m.bodies) {
    for (int32_t i = 0; i < b.dofs; ++i) input[b.dof0 + i] = tau.data()[b.u0 + i];
  }
  s.state_written();
  const pliant::Status status = s.evaluate();
  if (status.code != pliant::Code::ok) throw_no_accelerations(status);
  return k.answer(s.udot());
}

using SignalsIn = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// In the order of pliant::Quantity.
constexpr const char* kQuantities[] = {
    "q",         "u",         "quaternion_rate", "energy",        "momentum",
    "udot",      "effort",    "reaction",        "node",          "inverse_inertia",
    "loop_gap",  "loop_rate", "loop_force",      "loop_reaction", "loop_position",
    "loop_speed"};

// Signals of one model, checked.
struct Signals {
  std::vector<pliant::Signal> list;
};

// From rows (quantity, element, index).
Signals make_signals(const Kernel& k, const SignalsIn& rows) {
  if (rows.shape(1) != 3) throw nb::value_error("signals are rows (quantity, element, index)");
  std::vector<pliant::Signal> signals(rows.shape(0));
  for (std::size_t i = 0; i < signals.size(); ++i) {
    const int32_t* row = rows.data() + 3 * i;
    signals[i] = {static_cast<pliant::Quantity>(row[0]), row[1], row[2]};
    if (!pliant::exists(k.model(), signals[i])) {
      throw nb::index_error(("signal " + std::to_string(i) + " names nothing").c_str());
    }
  }
  return {signals};
}

// With the inputs as they are now.
pliant::Status read_into(Kernel& k, const Signals& signals, VectorOut out) {
  if (out.shape(0) != signals.list.size()) throw nb::value_error("one number for each signal");
  k.stepper().inputs_written();
  return k.stepper().read(signals.list.data(), signals.list.size(), out.data());
}

// All indices of one quantity.
Vector read_all(Kernel& k, pliant::Quantity quantity, int32_t element, int32_t count) {
  std::vector<pliant::Signal> signals;
  for (int32_t i = 0; i < count; ++i) signals.push_back({quantity, element, i});
  Owned out(signals.size());
  Vector array = out.array();
  const pliant::Status status = k.stepper().read(signals.data(), signals.size(), out.data);
  if (status.code != pliant::Code::ok) throw_no_accelerations(status);
  return array;
}

void check_element(const char* what, int32_t index, std::size_t count) {
  if (index < 0 || static_cast<std::size_t>(index) >= count) {
    throw nb::index_error((std::string("no such ") + what).c_str());
  }
}

const double* direction(const char* what, const std::optional<VectorIn>& x, int32_t size) {
  if (!x) return nullptr;
  check_size(what, *x, size);
  return x->data();
}

Vector derivative(Kernel& k, const Signals& signals, const std::optional<VectorIn>& q,
                  const std::optional<VectorIn>& u, const std::optional<VectorIn>& input,
                  double time) {
  const pliant::Model& m = k.model();
  const pliant::Direction along{direction("q", q, m.q_size), direction("u", u, m.u_size),
                                direction("input", input, m.input_size), time};
  const pliant::Status status = k.stepper().differentiate(along);
  if (status.code != pliant::Code::ok) throw_no_accelerations(status);
  Owned out(signals.list.size());
  Vector array = out.array();
  const pliant::Status read =
      k.stepper().read_derivative(signals.list.data(), signals.list.size(), out.data);
  if (read.code != pliant::Code::ok) throw_no_accelerations(read);
  return array;
}

Vector forces(Kernel& k, const VectorIn& lam) {
  check_size("lam", lam, static_cast<int32_t>(k.model().loop_rows.size()));
  Owned out(static_cast<std::size_t>(k.model().u_size));
  k.stepper().forces(lam.data(), out.data);
  return out.array();
}

Vector force_derivative(Kernel& k, const VectorIn& lam, const VectorIn& q) {
  check_size("lam", lam, static_cast<int32_t>(k.model().loop_rows.size()));
  check_size("q", q, k.model().q_size);
  Owned out(static_cast<std::size_t>(k.model().u_size));
  k.stepper().differentiate_forces({q.data(), nullptr, nullptr, 0.0}, lam.data(), out.data);
  return out.array();
}

nb::bytes state(Kernel& k) {
  return nb::bytes(reinterpret_cast<const char*>(k.stepper().state()),
                   k.stepper().state_size() * sizeof(double));
}

void set_state(Kernel& k, nb::bytes data) {
  const std::size_t size = k.stepper().state_size() * sizeof(double);
  if (data.size() != size) {
    throw nb::value_error(("this state has " + std::to_string(data.size()) +
                           " bytes, one of this model has " + std::to_string(size))
                              .c_str());
  }
  std::vector<double> state(k.stepper().state_size());
  std::memcpy(state.data(), data.c_str(), size);
  if (!k.stepper().accepts(state.data())) throw nb::value_error("this is no state of the model");
  k.stepper().restore(state.data());
}

}  // namespace

NB_MODULE(_kernel, module) {
  nb::list names;
  for (const char* name : kQuantities) names.append(name);
  module.attr("QUANTITIES") = nb::tuple(names);

  module.attr("SHORTEST_STEP") = pliant::kShortestStep;
  module.attr("LONGEST_STEP") = pliant::kLongestStep;
  module.attr("LARGEST_TIME") = pliant::kLargestTime;
  module.attr("LARGEST_INPUT") = pliant::kLargestInput;
  module.attr("LARGEST_COORDINATE") = pliant::kLargestCoordinate;
  module.attr("LARGEST_SPEED") = pliant::kLargestSpeed;
  module.attr("LARGEST_ACCELERATION") = pliant::kLargestAcceleration;
  nb::dict doubtful;
  doubtful["euler_cromer"] = pliant::energy_limits(pliant::Integrator::euler_cromer).doubtful;
  doubtful["leapfrog"] = pliant::energy_limits(pliant::Integrator::leapfrog).doubtful;
  doubtful["rk4"] = pliant::energy_limits(pliant::Integrator::rk4).doubtful;
  module.attr("DOUBTFUL_ENERGY_ERROR") = doubtful;

  nb::class_<pliant::Status>(module, "Status")
      .def_prop_ro("code", [](const pliant::Status& s) { return static_cast<int>(s.code); })
      .def_ro("element", &pliant::Status::element)
      .def_ro("value", &pliant::Status::value)
      .def_ro("steps_done", &pliant::Status::steps);

  nb::class_<Signals>(module, "Signals").def("__len__", [](const Signals& s) {
    return s.list.size();
  });

  constexpr auto inner = nb::rv_policy::reference_internal;
  nb::class_<Kernel>(module, "Kernel")
      .def(nb::init<nb::bytes, const std::string&>(), "blob"_a, "instruction_set"_a = "")
      .def_prop_ro("instruction_set", [](const Kernel& k) { return k.stepper().instruction_set(); })
      .def_prop_ro("bytes", [](const Kernel& k) { return k.stepper().bytes(); })
      .def_prop_rw(
          "time", [](Kernel& k) { return k.stepper().time(); },
          [](Kernel& k, double t) { k.stepper().set_time(t); })
      .def_prop_ro(
          "q", [](Kernel& k) { return view(k.stepper().q(), k.model().q_size); }, inner)
      .def_prop_ro(
          "u", [](Kernel& k) { return view(k.stepper().u(), k.model().u_size); }, inner)
      .def_prop_ro(
          "udot",
          [](Kernel& k) { return view(const_cast<double*>(k.stepper().udot()), k.model().u_size); },
          inner)
      .def_prop_ro(
          "input", [](Kernel& k) { return view(k.stepper().input(), k.model().input_size); }, inner)
      .def_prop_ro(
          "input_rate",
          [](Kernel& k) { return view(k.stepper().input_rate(), k.model().input_size); }, inner)
      .def_prop_rw(
          "input_time", [](Kernel& k) { return *k.stepper().input_time(); },
          [](Kernel& k, double t) { *k.stepper().input_time() = t; })
      .def_prop_ro(
          "motion_next",
          [](Kernel& k) {
            return nb::ndarray<nb::numpy, double, nb::ndim<2>>(
                k.stepper().motion_next(),
                {static_cast<std::size_t>(k.model().live_count), std::size_t{3}}, nb::handle());
          },
          inner)
      .def("configure", &configure, nb::kw_only(), "step"_a, "integrator"_a, "algorithm"_a,
           "node_rotation"_a, "loop_steps"_a = 0.0, "project_loops"_a = false)
      .def("reset", [](Kernel& k) { k.stepper().reset(); })
      .def("state_written", [](Kernel& k) { k.stepper().state_written(); })
      .def("start_turns", [](Kernel& k) { k.stepper().start_turns(); })
      .def("count_turns", [](Kernel& k) { k.stepper().count_turns(); })
      .def_prop_ro("loop_time", [](const Kernel& k) { return k.stepper().loop_time(); })
      .def("evaluate", [](Kernel& k) { return k.stepper().evaluate(); })
      .def(
          "step", [](Kernel& k, int64_t count) { return k.stepper().step(count); }, "count"_a,
          nb::call_guard<nb::gil_scoped_release>())
      .def("accelerations", &accelerations, "q"_a, "u"_a, "tau"_a)
      .def("signals", &make_signals, "rows"_a)
      .def("read", &read_into, "signals"_a, "out"_a)
      .def("derivative", &derivative, "signals"_a, nb::kw_only(), "q"_a = nb::none(),
           "u"_a = nb::none(), "input"_a = nb::none(), "time"_a = 0.0)
      .def("node",
           [](Kernel& k, int32_t index) {
             check_element("node", index, k.model().nodes.size());
             return read_all(k, pliant::Quantity::node, index, 19);
           })
      .def("inverse_inertia",
           [](Kernel& k, int32_t index) {
             check_element("node", index, k.model().nodes.size());
             return read_all(k, pliant::Quantity::inverse_inertia, index, 21);
           })
      .def("reaction",
           [](Kernel& k, int32_t body) {
             check_element("body", body, k.model().bodies.size());
             return read_all(k, pliant::Quantity::reaction, body, 6);
           })
      .def("effort",
           [](Kernel& k, int32_t body) {
             check_element("body", body, k.model().bodies.size());
             return read_all(k, pliant::Quantity::effort, body, k.model().bodies[body].dofs);
           })
      .def("energy", [](Kernel& k) { return read_all(k, pliant::Quantity::energy, 0, 8); })
      .def("momentum", [](Kernel& k) { return read_all(k, pliant::Quantity::momentum, 0, 6); })
      .def("lock",
           [](Kernel& k, int32_t body, bool on) {
             check_element("body", body, k.model().bodies.size());
             return k.stepper().lock(body, on);
           })
      .def("is_locked",
           [](Kernel& k, int32_t body) {
             check_element("body", body, k.model().bodies.size());
             return k.stepper().is_locked(body);
           })
      .def("open_account", [](Kernel& k) { k.stepper().open_account(); })
      .def_prop_ro("energy_doubt", [](const Kernel& k) { return k.stepper().energy_doubt(); })
      .def("energy_error",
           [](Kernel& k) {
             const pliant::EnergyError found = k.stepper().energy_error();
             return std::make_tuple(found.largest, found.moved);
           })
      .def_prop_ro("is_sane", [](Kernel& k) { return k.stepper().accepts(k.stepper().state()); })
      .def("mass_matrix",
           [](Kernel& k) {
             const auto n = static_cast<std::size_t>(k.model().u_size);
             Owned out(n * n);
             k.stepper().mass_matrix(out.data);
             return out.matrix(n, n);
           })
      .def("loop_rows",
           [](Kernel& k) {
             const std::size_t rows = k.model().loop_rows.size();
             const auto n = static_cast<std::size_t>(k.model().u_size);
             Owned jacobian(rows * n);
             const std::unique_ptr<bool[]> live(new bool[rows]());
             k.stepper().loop_rows(jacobian.data, live.get());
             nb::list flags;
             for (std::size_t i = 0; i < rows; ++i) flags.append(live[i]);
             return nb::make_tuple(jacobian.matrix(rows, n), flags);
           })
      .def("forces", &forces, "lam"_a)
      .def("force_derivative", &force_derivative, "lam"_a, "q"_a)
      .def("state", &state)
      .def("set_state", &set_state, "data"_a);
}
