// The one interface to the kernel: what the Python bindings and an FMU call.
//
// A Stepper advances one instance of a Model. It never throws, locks or allocates once made;
// failures come back as a Status, to which the caller puts names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "model.h"

namespace pliant {

enum class Integrator : int32_t { euler_cromer, leapfrog, rk4 };
enum class Algorithm : int32_t { order_n, dense };
enum class NodeRotation : int32_t { exact, paper };

enum class Code : int32_t {
  ok = 0,
  singular_joint,     // element: freedom (index into all joints' freedoms), value: its inertia
  singular_internal,  // element: speed index of the mode or wheel, value: its inertia
  diverged,           // element: speed index, value: its rate
  bad_input,          // element: input index, value: what it holds
};

struct Status {
  Code code = Code::ok;
  int32_t element = -1;
  double value = 0.0;
  int64_t steps = 0;  // whole steps done by this call
};

struct Options {
  double step = 1e-3;
  Integrator integrator = Integrator::leapfrog;
  Algorithm algorithm = Algorithm::order_n;
  NodeRotation node_rotation = NodeRotation::exact;
  bool audit = false;  // account for the work of inputs and the energy dissipated
};

// World axes; accelerations are true ones (gravity is not hidden in them).
struct NodeState {
  double position[3], quaternion[4], velocity[3], angular_velocity[3];
  double acceleration[3], angular_acceleration[3];
};

struct Energy {
  double kinetic, strain, spring, gravity, work, dissipated;
};

class Stepper {
 public:
  virtual ~Stepper() = default;

  virtual void configure(const Options& options) = 0;
  virtual void reset() = 0;

  // The state block: everything of the model that a later continuation depends on.
  virtual const double* state() const = 0;
  virtual void restore(const double* state) = 0;
  virtual std::size_t state_size() const = 0;  // in doubles
  virtual double time() const = 0;
  virtual void set_time(double time) = 0;
  virtual double* q() = 0;
  virtual double* u() = 0;
  // Tells that q, u or time were written from outside: what the integrator remembers of the
  // past is then void.
  virtual void state_written() = 0;

  // input(t) = input + input_rate (t - input_time), plus the model's load tables.
  virtual double* input() = 0;
  virtual double* input_rate() = 0;
  virtual double* input_time() = 0;
  // Rows (position, rate, acceleration) at the end of the next step, one for each freedom that
  // is moved from outside.
  virtual double* motion_next() = 0;

  virtual Status evaluate() = 0;
  virtual Status step(int64_t count) = 0;

  // Of the present state, with the inputs as they were at the last evaluate(), if it was later
  // than the last step.
  virtual const double* udot() = 0;
  virtual void node(int32_t index, NodeState& out) = 0;
  virtual void reaction(int32_t body, double* wrench) = 0;
  virtual void efforts(double* per_dof) = 0;
  virtual Energy energy() = 0;
  virtual void momentum(double* linear_angular) = 0;
  virtual void mass_matrix(double* row_major) = 0;

  virtual const char* instruction_set() const = 0;
  virtual std::size_t bytes() const = 0;
};

// `instruction_set`: "" for the best that this machine has, or one of those built in. Null if
// there is none of that name here. The model must outlive the stepper.
std::unique_ptr<Stepper> make_stepper(const Model& model, const char* instruction_set);

}  // namespace pliant
