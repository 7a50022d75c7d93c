// A co-simulation slave over the kernel, free of any FMI version's C types.
//
// Both flavours of FMU and the tests drive this class: it knows variables by value reference,
// holds parameters until the model is built from them, takes communication steps in whole
// internal steps, and saves and restores itself. It does not know which call is allowed when;
// that is the table of fmi2.cpp.
//
// A call that is refused changes nothing and says why in message().
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "variables.h"

namespace pliant {

using Reference = unsigned int;  // value reference

enum class Result : int32_t { ok, discard, error };

// Also of zeros: a model made with -0 is another than one made with 0.
inline bool same_bits(double a, double b) { return a == b && std::signbit(a) == std::signbit(b); }
inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return same_bits(x, y); });
}

// A complete copy of a slave, to go back to. `phase` is the caller's: where in the life of the
// slave the copy was taken.
struct Snapshot {
  int32_t phase = 0;
  std::vector<double> values;

  bool initialized() const;
};

// Everything of a slave that changes but the kernel's state: what is saved beside it.
struct Condition {
  std::vector<double> parameters;
  Options options;
  std::vector<double> inputs, input_rates;
  // Of motions from outside: rows (position, rate, acceleration) at the last step, how fast each is
  // to change through the next one, and whether that was said.
  std::vector<double> motions, motion_rates, motion_rated;
  std::vector<double> locks;  // per body, 0 or 1
  double start_time = 0.0;
  double clock = 0.0;  // where the importer's next step starts, by its own clock
  bool initialized = false;
};

class Slave {
 public:
  // From the contents of an FMU's data file; null and a reason on failure.
  static std::unique_ptr<Slave> make(std::vector<unsigned char> data, std::string& error);

  const std::string& guid() const { return table_.guid; }
  const std::vector<Variable>& variables() const { return table_.variables; }
  const std::string& message() const { return message_; }
  double time();
  double internal_step() const { return now_.options.step; }
  // What the importer should know of the internal step and the present state, each once: a step
  // beyond the limit of the model as exported, the first body deflected further than its modes
  // can carry, motions from outside that jump, an energy error that makes the run doubtful.
  std::vector<std::string> warnings();

  Result get_real(const Reference* references, std::size_t count, double* values);
  Result get_integer(const Reference* references, std::size_t count, int32_t* values);
  Result set_real(const Reference* references, std::size_t count, const double* values);
  Result set_integer(const Reference* references, std::size_t count, const int32_t* values);
  Result get_boolean(const Reference* references, std::size_t count, int32_t* values);
  // Locks and releases joints; a joint in motion is stopped by an impulse.
  Result set_boolean(const Reference* references, std::size_t count, const int32_t* values);
  // No variable is text: says so.
  Result refuse_text(const Reference* references, std::size_t count);

  // From here on only inputs and tunable settings can be set, until reset().
  Result set_start_time(double time);
  Result initialize();
  void reset();

  // Advances by `size`. Discard: the motion failed inside; time() is that of the last good state.
  Result step(double time, double size);

  Result set_input_derivatives(const Reference* references, std::size_t count,
                               const int32_t* orders, const double* values);
  Result get_output_derivatives(const Reference* references, std::size_t count,
                                const int32_t* orders, double* values);
  Result directional_derivative(const Reference* unknown, std::size_t unknowns,
                                const Reference* known, std::size_t knowns, const double* seed,
                                double* derivative);

  Result save(Snapshot& snapshot);
  Result restore(const Snapshot& snapshot);
  std::vector<unsigned char> serialize(const Snapshot& snapshot) const;
  Result deserialize(const unsigned char* data, std::size_t size, Snapshot& snapshot);

 private:
  Slave(DataFile file, VariableTable table);

  Result refuse(std::string message);
  Result refuse(const Status& status);
  const Variable* find(Reference reference, Type type);
  // Of a parameter or an entry of a motion; not every one is exposed.
  std::string name_of(Role role, std::size_t number) const;
  bool check_settable(Reference reference);
  bool check_value(const Variable& variable, double value);
  bool check_parameter(std::size_t number, double value);
  std::string limit_text() const;  // of the present integrator's step
  Result check_parameters(const std::vector<double>& parameters);
  Result check_inputs_after(double size);
  struct Bent {
    int32_t body = -1;
    double rotation = 0.0;
  };
  Bent bent_body();
  void watch_jumps(double size);
  void motion_after(double size, double time, double* rows) const;
  void add_motion_offset(double time, double* rows) const;
  // The model as the parameters want it; nothing to do if they have not changed since.
  Result build();
  Result make_model(const Condition& condition, std::shared_ptr<const Model>& model,
                    std::unique_ptr<Stepper>& stepper);
  Result put_at_start(const Condition& condition, Stepper& stepper);
  // From the numbers of a snapshot; says why if they make no sense.
  Result read_condition(const std::vector<double>& values, Condition& condition);

  const DataFile file_;
  const VariableTable table_;
  Condition now_;

  bool built_ = false;  // model and stepper are those of the present condition
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Stepper> stepper_;

  double told_step_ = 0.0;  // the step that was last warned of, or found good
  bool told_bent_ = false, told_energy_ = false, told_jumps_ = false;
  std::vector<double> came_to_;  // where motions from outside were at the end of the last step
  int jumps_ = 0;                // times in a row that one of them was told to be elsewhere
  std::size_t jumping_ = 0;      // its position's number

  Needs read_;  // of what was read since the last step

  std::vector<Signal> signals_;  // scratch of the calls below, to allocate once
  std::vector<double> numbers_;
  std::vector<double> before_;         // the kernel's state at the start of a step
  std::vector<double> motion_offset_;  // of motions from outside, then
  std::vector<uint64_t> seen_;         // per variable: the setting call that last named it
  uint64_t calls_ = 0;
  std::string message_;
};

}  // namespace pliant
