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
  loop_open,          // element: held direction of loops, value: how far it is open
  loop_lost,          // element: held direction of loops, value: its pivot
  energy_grew,        // element: speed index that moves most, value: error / energy that moved
  gimbal_lock,        // the same at a joint whose axes line up; element: its first freedom
  not_finite,         // element: which of the signals that were asked for
};

// Limits of what comes from outside. They are far beyond mechanics and far within double precision,
// so that squares and products of them are finite.
constexpr double kShortestStep = 1e-9;         // s, of options
constexpr double kLongestStep = 1e6;           // s
constexpr double kLargestTime = 1e12;          // s
constexpr double kLargestInput = 1e30;         // N, N m; their rates per second likewise
constexpr double kLargestCoordinate = 1e12;    // m, rad
constexpr double kLargestSpeed = 1e8;          // m/s, rad/s; beyond it a run has blown up
constexpr double kLargestAcceleration = 1e14;  // m/s2, rad/s2; likewise
constexpr double kLargestEnergy = 1e100;       // J, and what else is summed up over a run
// What comes from outside at its limit may be above it by rounding once it was worked with.
constexpr double kWithRounding = 1.0 + 1e-6;

// Limits of the rows (position, rate, acceleration) of motions from outside.
constexpr double largest_motion(std::size_t number) {
  constexpr double kLargest[3] = {kLargestCoordinate, kLargestSpeed, kLargestAcceleration};
  return kLargest[number % 3];
}

// Energy that appeared or vanished without cause, relative to all that moved: beyond the first a
// run is doubtful, beyond the second it is refused (energy_audit.h). Vibrations that the step just
// follows have an energy that swings by (h omega / 2)^2, by euler_cromer with its speeds half a
// step late from 1 / (1 + h omega / 2) to 1 / (1 - h omega / 2).
struct EnergyLimits {
  double doubtful, lost;
};
constexpr EnergyLimits energy_limits(Integrator integrator) {
  return integrator == Integrator::euler_cromer ? EnergyLimits{1.0, 100.0} : EnergyLimits{0.1, 1.0};
}

// How far (rad) an angle of a joint whose axes line up may turn in a step. Its rates peak there,
// and pass through the peak within few steps; the energy error that these make mostly comes back,
// that of the attitude stays. In random tumblings it was below 3, 1 and 40 degrees where no step
// turned further, and 20 to 100 soon beyond.
constexpr double lined_up_turn_limit(Integrator integrator) {
  return integrator == Integrator::leapfrog ? 0.2 : integrator == Integrator::rk4 ? 0.5 : 0.03;
}

struct EnergyError {
  double largest;  // J, of now and of the steps at which it was judged
  double moved;    // J, all that moved since the account was opened, and the rounding of energies
};

struct Status {
  Code code = Code::ok;
  int32_t element = -1;
  double value = 0.0;
  int64_t steps = 0;  // whole steps done by this call
};

// Time constant (steps) of the stabilisation of loops that serves an integrator best: gaps that
// leapfrog leaves longer make energy where a mechanism passes fast through an extreme position,
// those of the others cost accuracy when they are closed faster.
constexpr double own_loop_steps(Integrator integrator) {
  return integrator == Integrator::leapfrog ? 3.0 : 10.0;
}

struct Options {
  double step = 1e-3;
  double loop_steps = 0.0;  // time constant of the loops' stabilisation; 0: own_loop_steps()
  Integrator integrator = Integrator::leapfrog;
  Algorithm algorithm = Algorithm::order_n;
  NodeRotation node_rotation = NodeRotation::exact;
  bool project_loops = false;  // move positions and speeds onto the loops after every step
};

// What can be read of a state. World axes; accelerations are true ones (gravity is not hidden in
// them). Those after `momentum` take an evaluation of the accelerations.
enum class Quantity : int32_t {
  q,                // index: coordinate
  u,                // index: speed
  quaternion_rate,  // element: quaternion, in order of the bodies; index: w, x, y, z
  energy,           // index: kinetic, strain, spring, gravity, total, work, dissipated, error
  momentum,         // index: linear x, y, z, angular about the world origin x, y, z
  udot,             // index: speed
  effort,           // element: body, index: freedom of its joint
  reaction,         // element: body, index: force, torque of the joint on the body at its head
  node,             // element: node, index: position 0-2, quaternion 3-6, velocity 7-9, angular
                    // velocity 10-12, acceleration 13-15, angular acceleration 16-18
  inverse_inertia,  // element: node, index: lower triangle of the 6 x 6 matrix, row by row
  loop_gap,         // index: held direction, of all loops in order
  loop_rate,        // index: held direction
  loop_force,       // index: held direction; the force that holds it
  loop_reaction,    // element: loop, index: force, torque on node b
  loop_position,    // index: free direction, of all loops in order
  loop_speed,       // index: free direction
};

struct Signal {
  Quantity quantity;
  int32_t element, index;
};

// What has to be worked out of a state before signals can be read.
struct Needs {
  bool accelerations = false, totals = false;
  void add(const Signal& signal);
};

// Whether an algorithm's matrices of a model are within kMostBytes.
bool fits(const Model& model, Algorithm algorithm);

// Whether a model has such a signal.
bool exists(const Model& model, const Signal& signal);

// A direction of change: of coordinates, speeds, inputs, present rows of motions from outside
// (null: none) and of time.
struct Direction {
  const double* q = nullptr;
  const double* u = nullptr;
  const double* input = nullptr;
  double time = 0.0;
  const double* motion = nullptr;
};

class Stepper {
 public:
  virtual ~Stepper() = default;

  virtual void configure(const Options& options) = 0;
  // Another step length from now on, without forgetting the past; `nominal` is the one that time
  // constants of the solver go by.
  virtual void set_step(double step, double nominal) = 0;
  virtual double step_size() const = 0;
  virtual void reset() = 0;

  // The state block: everything of the model that a later continuation depends on.
  virtual const double* state() const = 0;
  virtual std::size_t state_size() const = 0;  // in doubles
  // Whether a block can be a state of this model: numbers that a run could have left there.
  virtual bool accepts(const double* state) const = 0;
  virtual void restore(const double* state) = 0;
  virtual double time() = 0;
  virtual void set_time(double time) = 0;
  virtual double* q() = 0;
  virtual double* u() = 0;
  // Tells that q, u or time were written from outside: what the integrator remembers of the
  // past is then void, and the account of energy starts anew.
  virtual void state_written() = 0;
  // In which loops are pulled together, s.
  virtual double loop_time() const = 0;
  // Takes q for a start, at which springs and stops of loops say in which turn they are.
  virtual void start_turns() = 0;
  // Lets loops take notice of where q was written to: less than half a turn from where they were.
  virtual void count_turns() = 0;
  // Locks the joint of a body where it is, or lets it go. Locking a joint in motion stops it by an
  // impulse, which keeps momentum; letting go takes none. Not for prescribed joints.
  virtual Status lock(int32_t body, bool on) = 0;
  virtual bool is_locked(int32_t body) = 0;
  // Work, dissipated energy and energy error count from here.
  virtual void open_account() = 0;
  // Largest energy error found since then, relative to the energy that moved, of the steps at which
  // it was judged; and whether it makes the run doubtful.
  virtual double energy_doubt() const = 0;
  virtual bool is_doubtful() const = 0;
  // Of the present state, asked for whenever one likes: changes nothing.
  virtual EnergyError energy_error() = 0;

  // input(t) = input + input_rate (t - input_time), plus the model's load tables.
  virtual double* input() = 0;
  virtual double* input_rate() = 0;
  virtual double* input_time() = 0;
  // Rows (position, rate, acceleration), one for each freedom that is moved from outside: now, and
  // at the end of the next step; each within the limits above.
  virtual const double* motion_now() = 0;
  virtual double* motion_next() = 0;

  // Tells that inputs were changed: what is read next takes them into account.
  virtual void inputs_written() = 0;
  // Accelerations of the present state with the present inputs.
  virtual Status evaluate() = 0;
  // Works out what signals need, so that they can be read next.
  virtual Status prepare_to_read(const Needs& needs) = 0;
  // On failure the state is that of the last good step.
  virtual Status step(int64_t count) = 0;

  virtual const double* udot() = 0;  // accelerations of all speeds
  virtual Status read(const Signal* signals, std::size_t count, double* out) = 0;
  // Exact derivatives of all signals along a direction: differentiate, then read. The first call
  // allocates.
  virtual Status differentiate(const Direction& along) = 0;
  virtual Status differentiate_in_time() = 0;  // along the motion itself
  virtual Status read_derivative(const Signal* signals, std::size_t count, double* out) = 0;
  virtual void mass_matrix(double* row_major) = 0;
  // Of the directions that loops hold, at the present position: their rates by the speeds
  // (row-major, rows x speeds; speeds that are prescribed or locked have no part), and which of
  // them are live: neither immovable nor dependent on the others.
  virtual void loop_rows(double* jacobian, bool* live) = 0;
  // Generalised forces Q + J^T lam on all speeds at the present state and inputs, the loops held by
  // given forces lam, and their exact derivatives along a direction at constant lam.
  virtual void forces(const double* lam, double* out) = 0;
  virtual void differentiate_forces(const Direction& along, const double* lam, double* out) = 0;

  virtual const char* instruction_set() const = 0;
  virtual std::size_t bytes() const = 0;
};

// `instruction_set`: "" for the best that this machine has, or one of those built in. Null if
// there is none of that name here. The model must outlive the stepper.
std::unique_ptr<Stepper> make_stepper(const Model& model, const char* instruction_set);

}  // namespace pliant
