// The variable table of an FMU: what each value reference means to the kernel.
//
// It stands in the FMU's data file beside the kernel's own sections, written by
// pliant/model_description/sections.py. A value reference is a row of the table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data_file.h"
#include "stepper.h"

namespace pliant {

enum class Type : int32_t { real, integer, boolean };
enum class Role : int32_t {
  signal,
  input,
  parameter,
  setting,
  constant,
  lock,    // Boolean input; index: the body whose joint it locks
  motion,  // input; index: 3 x freedom moved from outside + position, rate, acceleration
};
enum class Setting : int32_t { step, integrator, algorithm };

struct Variable {
  std::string name;
  Type type;
  Role role;
  bool output, tunable;
  Signal signal;  // of a signal; else `signal.index` is the number of the input, parameter, ...
};

// A number of the kernel's data that follows a parameter:
// data = base + sum over parameters of slope (value - start).
struct Term {
  DataFile::Place place;
  double slope;
};

struct Parameter {
  double start, least, most;
  std::vector<Term> terms;
};

// Parameters that only make sense together, from `first` on.
struct Check {
  enum class Kind : int32_t { quaternion, inertia } kind;
  std::size_t first;
};

// The longest step at which an integrator is stable on the model as exported, and what sets it.
struct StepLimit {
  double step;
  std::string cause;
};

struct VariableTable {
  std::string guid;
  std::vector<Variable> variables;
  std::vector<Parameter> parameters;
  std::vector<Check> checks;
  std::vector<double> constants;
  std::vector<double> motions;         // from outside, at the start: position, rate, acceleration
  Options options;                     // defaults
  std::vector<StepLimit> step_limits;  // of each integrator
  std::vector<std::string> body_names, speed_names, dof_names, input_names, row_names;

  // Fills the table; on failure the file says why.
  static VariableTable read(DataFile& file);
};

}  // namespace pliant
