// The constant half of the kernel: a compiled mechanism, shared by any number of instances.
//
// A Model is read from the kernel data file (a checksummed, sectioned binary that
// pliant/compile.py writes) and never changes afterwards. It holds plain doubles only: 3-vectors
// padded to four, matrices as three padded columns, each body's constants next to one another,
// so that every instruction set can load them as they are.
//
// Bodies are in breadth-first order, parents before children. All constants of a body are in its
// head frame; a joint's placement is in the frame of the parent's node (for a rigid parent it is
// folded into the parent's head frame when the model is read).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace pliant {

class DataFile;

template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t{64}); }
  template <class U>
  bool operator==(const AlignedAllocator<U>&) const {
    return true;
  }
  template <class U>
  bool operator!=(const AlignedAllocator<U>&) const {
    return false;
  }
};

// An aligned std::vector that takes the kernel's 32-bit indices. It has room from the start, so
// that &x[0] is an address where a model has nothing of a kind.
template <class T>
class Array : public std::vector<T, AlignedAllocator<T>> {
 public:
  Array() { this->reserve(1); }
  const T& operator[](int32_t i) const { return this->data()[i]; }
  T& operator[](int32_t i) { return this->data()[i]; }
  const T& operator[](std::size_t i) const { return this->data()[i]; }
  T& operator[](std::size_t i) { return this->data()[i]; }
};

struct alignas(32) Vector3 {
  double x[4] = {0.0, 0.0, 0.0, 0.0};
};
struct alignas(32) Matrix3 {
  double c[12] = {};  // columns, padded to four
};

// Length of the rows of a matrix of n columns that is read and written by fours.
constexpr int32_t padded(int32_t n) { return (n + 3) / 4 * 4; }

// Of an instance, and of the matrices that `dense` adds: what asks for more is refused before
// anything is allocated.
constexpr double kMostBytes = 2147483648.0;

constexpr int32_t kFreeDrive = -2, kLiveDrive = -1;  // >= 0: a motion table

// One freedom of a joint.
struct DofConst {
  // Turning by q about the axis: K0 + cos(q) K1 + sin(q) K2 (the joint's placement folded into
  // the first rotation of the joint).
  Matrix3 K0, K1, K2;
  Vector3 axis;         // translation: in the joint frame; rotation: in the frame before it
  Vector3 axis_parent;  // the same in the parent node's frame (first rotation and translations)
  double stiffness, rest;
  double viscous, coulomb, transition_speed;
  double stop_lower, stop_upper, stop_stiffness, stop_damping;
  int32_t drive;  // free, moved from outside, or by a motion table
  bool passive;   // any spring, friction or stop
};

struct BodyConst {
  Matrix3 R_PJ;     // joint frame in the parent's node frame (rigid parent: head frame)
  Vector3 p_PJ;     // its origin there
  Matrix3 inertia;  // undeformed, about the head
  Vector3 first_moment;
  double mass;
  int32_t parent;       // -1: ground
  int32_t parent_node;  // node of a flexible parent, -1 otherwise
  int32_t q0, u0;       // first coordinate, first speed of the body
  int32_t dof0;         // first freedom of the joint, in the list of all joints' freedoms
  int32_t translations, rotations;
  bool quaternion;             // three rotational freedoms without a chart
  bool passive;                // some freedom has a spring, friction or a stop
  int32_t dofs, joint_qs;      // freedoms and coordinates of the joint
  int32_t modes, pairs;        // second-order pairs: those that move mass first,
  int32_t mass_pairs, fields;  // fields = modes + mass_pairs: the augmented basis
  int32_t wheels, wheel0;
  int32_t internals;                     // modes + wheels: coordinates inside the body
  int32_t internal0, coupling0, stride;  // storage of the internal coordinates (see Data)
  // into the arrays of Model
  int32_t field0, matrix0, hat0, pair0, point0, points;
  int32_t gyroscopic0, gyroscopics, turning0, turnings;
  int32_t slot0[4];          // slots of row r of the Q_f: slot0[r] to slot0[r + 1]
  int32_t active0, actives;  // its nodes that every evaluation needs
  bool diagonal;             // stiffness and damping matrices are diagonal
};

// One non-zero row of Q_f = int rho phi_f r^T = A_f^T + sum_g (B_fg + A2_fg^T) e_g: that row of
// A_f^T, and of those of the sum where it is not zero, in slot_values for the fields g in
// slot_fields.
struct Slot {
  Vector3 constant;
  int32_t field;  // f
  int32_t value0, values;
};
// A constant of two fields of a body.
struct FieldPair {
  Vector3 value;
  int32_t f, g;
};
struct Pair {
  int32_t i, j;
  double weight;  // 1/2 for i == j, 1 otherwise
};
struct PointConst {
  Matrix3 inertia;
  int32_t psi0;
};
struct NodeConst {
  Matrix3 rotation;
  Vector3 position;
  int32_t body;
  int32_t phi0;    // first of `modes + pairs` columns in node_phi
  int32_t psi0;    // first of `modes` columns in node_psi
  int32_t work0;   // storage of its Jacobian columns (see Data), -1 on rigid bodies
  bool has_table;  // a load table acts on it
};
struct WheelConst {
  Vector3 axis;  // in the head frame of a rigid body, in the node frame of a flexible one
  double inertia;
  int32_t body, node;
  int32_t u;
};
// One direction in which a loop holds its two nodes together.
struct LoopRow {
  enum class Kind : int32_t {
    translation,    // along `direction`
    rotation,       // about `direction`, all three rotations being held
    perpendicular,  // about `direction`, perpendicular to the one free axis
    universal,      // about the common normal of the two free axes
  };
  Vector3 direction;  // joint frame
  Kind kind;
  int32_t motion;  // table that prescribes it, -1: held at zero
};

// One direction in which a loop leaves its nodes free, with the effort that acts there.
struct LoopFreedom {
  enum class Kind : int32_t { translation, first_rotation, second_rotation, quaternion };
  DofConst dof;       // axis in the joint frame (second rotation: in node b), passive effort
  Vector3 reference;  // perpendicular to the axis of a rotation: where its angle is zero
  Kind kind;
};

// An attachment that closes a loop: node b is held to a joint frame J on node a or the ground.
struct LoopConst {
  Matrix3 R_AJ;            // J in node a's frame, or in the world
  Vector3 p_AJ;            // its origin there
  Vector3 axis1, axis2;    // free rotations: in J, in node b
  double cosine;           // axis1 . axis2 as the joint has it
  int32_t node_a, node_b;  // a: -1 is the ground
  int32_t row0, rows, freedom0, freedoms, translations;
  int32_t path0, paths;  // bodies between the nodes and the ground, in loop_paths
};

// From `time` to the next row: position = sum_k c_k (t - time)^k.
struct MotionRow {
  double time;
  double c[6];
};
struct Table {
  int32_t row0, rows;
};
struct LoadTable {
  int32_t input;
  bool hold;
  int32_t row0, rows;
};
struct LoadRow {
  double time, value;
};
// A run of coordinates that simply add up: q[q0 + k] += h u[u0 + k].
struct LinearRun {
  int32_t q0, u0, count;
};
struct QuaternionRun {
  int32_t q0, u0;
};

class Model {
 public:
  // From a kernel data file. On failure returns null and says why in `error`.
  static std::shared_ptr<const Model> parse(DataFile& file, std::string& error);

  int32_t q_size = 0, u_size = 0, dof_count = 0;
  int32_t input_size = 0, node_input0 = 0, wheel_input0 = 0;
  int32_t internal_count = 0, coupling_size = 0, jacobian_columns = 0, live_count = 0;
  int32_t largest_fields = 0, largest_modes = 0, largest_internals = 0;
  Vector3 gravity;

  Array<BodyConst> bodies;
  Array<DofConst> dofs;
  Array<Vector3> fields;   // S: int rho phi, int rho phi2
  Array<double> matrices;  // per flexible body: Mee (n x n), K (n x n), D (n x n)
  Array<double> hats;      // per stiffened body: int rho phi_i . phi_j over all fields
  Array<Slot> slots;
  Array<Vector3> slot_values;
  Array<int32_t> slot_fields;
  Array<FieldPair> gyroscopics, turnings;  // 2 ax(B_gf); ax(A2_fg), both orders in one
  Array<Pair> pairs;
  Array<PointConst> points;
  Array<Vector3> point_psi;
  Array<NodeConst> nodes;
  Array<Vector3> node_phi, node_psi;
  Array<int32_t> active_nodes;
  Array<WheelConst> wheels;
  Array<Table> motions;
  Array<MotionRow> motion_rows;
  Array<LoadTable> loads;
  Array<LoadRow> load_rows;
  Array<LinearRun> linear_runs;
  Array<QuaternionRun> quaternion_runs;
  Array<int32_t> driven;  // speeds (u index) that are prescribed, in order
  Array<int32_t> driven_dof, driven_q, driven_live;  // live: among those moved from outside
  Array<double> start_q, start_u;

  Array<LoopConst> loops;
  Array<LoopRow> loop_rows;
  Array<LoopFreedom> loop_freedoms;
  Array<int32_t> loop_paths;
  Array<int32_t> three_angles;  // bodies whose joint has three rotations, one after another
  int32_t loop_input0 = 0;
  // Metric of the loops' kinematics (loops.h): how far, in m, a unit of every speed moves the nodes
  // of loops, as 1 / length^2; what a row is multiplied with to be a length; what gap is large.
  Array<double> reach, row_scale, row_size;

  double mass = 0.0;    // of all bodies
  double extent = 0.0;  // how far it can be from where its trees stand, or float
  // Nothing ties the model to the ground: its mass centre moves by itself.
  bool floats = false;
  // Of every speed: the largest inertia that it can move, in any position. Zero for what goes on by
  // itself and may hold most of the energy: wheels, and a floating model as a whole.
  Array<double> largest_inertia;
  // Of every freedom of a joint: how much inertia it moves at least.
  Array<double> own_inertia;

 private:
  Model() = default;
};

}  // namespace pliant
