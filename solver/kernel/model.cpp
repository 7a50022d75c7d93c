// From the kernel data file to a Model: every count and index is checked here, so that the
// algorithms need not.
#include "model.h"

#include <algorithm>
#include <cmath>

#include "data_file.h"
#include "stepper.h"

namespace pliant {
namespace {

Vector3 vector3(const double* p) {
  Vector3 v;
  for (int i = 0; i < 3; ++i) v.x[i] = p[i];
  return v;
}

// From row-major storage.
Matrix3 matrix3(const double* rows) {
  Matrix3 m;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) m.c[4 * j + i] = rows[3 * i + j];
  }
  return m;
}

Matrix3 product(const Matrix3& a, const Matrix3& b) {
  Matrix3 m;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 3; ++k) m.c[4 * j + i] += a.c[4 * k + i] * b.c[4 * j + k];
    }
  }
  return m;
}

Vector3 product(const Matrix3& a, const Vector3& x) {
  Vector3 v;
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) v.x[i] += a.c[4 * k + i] * x.x[k];
  }
  return v;
}

// exp(q a~) = a a^T + cos(q) (I - a a^T) + sin(q) a~ for a unit axis, each term turned by R.
void set_rotation(DofConst& dof, const Matrix3& R) {
  const double* a = dof.axis.x;
  Matrix3 along, across, turn;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      along.c[4 * j + i] = a[i] * a[j];
      across.c[4 * j + i] = (i == j ? 1.0 : 0.0) - a[i] * a[j];
    }
  }
  turn.c[1] = a[2];
  turn.c[2] = -a[1];
  turn.c[4] = -a[2];
  turn.c[6] = a[0];
  turn.c[8] = a[1];
  turn.c[9] = -a[0];
  dof.K0 = product(R, along);
  dof.K1 = product(R, across);
  dof.K2 = product(R, turn);
}

Matrix3 identity() {
  Matrix3 m;
  m.c[0] = m.c[5] = m.c[10] = 1.0;
  return m;
}

// Spring, friction and stops of a freedom; false if its friction makes no sense.
bool set_passive(DofConst& c, const double* passive) {
  c.stiffness = passive[0];
  c.rest = passive[1];
  c.viscous = passive[2];
  c.coulomb = passive[3];
  c.transition_speed = passive[4];
  c.stop_lower = passive[5];
  c.stop_upper = passive[6];
  c.stop_stiffness = passive[7];
  c.stop_damping = passive[8];
  c.passive = c.stiffness != 0.0 || c.viscous != 0.0 || c.coulomb != 0.0 || c.stop_stiffness != 0.0;
  return c.coulomb == 0.0 || c.transition_speed > 0.0;
}

bool within(int32_t x, int64_t low, int64_t high) { return x >= low && x < high; }

// Few enough that the matrix of a body's modes and wheels is no larger than the file that has its
// modes' matrices.
constexpr int32_t kMostWheels = 64;

// Bodies on the paths of pairs of loops, which every evaluation follows: some ten seconds' worth.
constexpr double kMostMeetings = 1e10;

// What an instance holds of a model grows faster than its file in two places: the matrices of a
// body's internal coordinates, and what loops mean to each other and to every speed (Data).
struct Growth {
  int64_t couplings = 0;  // numbers
  int64_t loops = 0, rows = 0, speeds = 0, paths = 0, shapes = 0;

  double bytes() const {
    const auto count = [](int64_t n) { return static_cast<double>(n); };
    const double per_loop_and_speed = 2 * 8 * sizeof(double), per_two_rows = 3 * sizeof(double);
    const double per_shape_of_a_node = 3 * 8 * sizeof(double);  // and its derivative
    return sizeof(double) * count(couplings) + per_loop_and_speed * count(loops) * count(speeds) +
           per_two_rows * count(rows) * count(rows) + sizeof(int32_t) * count(paths) +
           per_shape_of_a_node * count(shapes);
  }
};

// Coordinates of a joint in the order in which joints have them: translations, then one rotation,
// two, or three together.
bool in_order(const int32_t* kinds, int32_t count, int32_t translations) {
  using Kind = LoopFreedom::Kind;
  const int32_t turns = count - translations;
  for (int32_t k = 0; k < count; ++k) {
    const Kind turn = turns == 3              ? Kind::quaternion
                      : k - translations == 0 ? Kind::first_rotation
                                              : Kind::second_rotation;
    if (static_cast<Kind>(kinds[k]) != (k < translations ? Kind::translation : turn)) return false;
  }
  return translations <= 3 && turns <= 3;
}

double length(const Vector3& x) { return std::hypot(x.x[0], x.x[1], x.x[2]); }

// Lengths of the loops, the longest piece between their nodes and the joints that only one of their
// ends hangs on, and the metric that follows from them.
void measure_loops(Model& m) {
  const auto ancestors = [&](int32_t node) {
    std::vector<int32_t> bodies;
    for (int32_t i = node < 0 ? -1 : m.nodes[node].body; i >= 0; i = m.bodies[i].parent) {
      bodies.push_back(i);
    }
    return bodies;
  };
  std::vector<double> arm(m.bodies.size(), 0.0);  // of the longest loop through a body
  std::vector<int> ends(m.bodies.size(), 0);      // of the present loop that hang on a body
  for (const LoopConst& loop : m.loops) {
    const std::vector<int32_t> sides[2] = {ancestors(loop.node_a), ancestors(loop.node_b)};
    for (const auto& side : sides) {
      for (const int32_t i : side) ++ends[static_cast<std::size_t>(i)];
    }
    double longest = 0.0;
    for (int side = 0; side < 2; ++side) {
      const int32_t node = side == 0 ? loop.node_a : loop.node_b;
      double piece = node < 0 ? 0.0 : length(m.nodes[node].position);
      if (side == 0 && node >= 0) piece += length(loop.p_AJ);
      for (const int32_t i : sides[side]) {
        if (ends[static_cast<std::size_t>(i)] == 2) break;
        longest = std::max(longest, piece);
        const BodyConst& b = m.bodies[i];
        piece = length(b.p_PJ);
        if (b.parent_node >= 0) piece += length(m.nodes[b.parent_node].position);
      }
    }
    for (const auto& side : sides) {
      for (const int32_t i : side) ends[static_cast<std::size_t>(i)] = 0;
    }
    const double L = longest > 0.0 ? longest : 1.0;
    for (int32_t r = loop.row0; r < loop.row0 + loop.rows; ++r) {
      const bool slides = m.loop_rows[r].kind == LoopRow::Kind::translation;
      m.row_scale.push_back(slides ? 1.0 : L);
      m.row_size.push_back(slides ? L : 1.0);
    }
    for (int32_t k = loop.path0; k < loop.path0 + loop.paths; ++k) {
      double& on_body = arm[static_cast<std::size_t>(m.loop_paths[k])];
      on_body = std::max(on_body, L);
    }
  }
  std::vector<double> way(static_cast<std::size_t>(m.u_size), 0.0);
  for (std::size_t i = 0; i < m.bodies.size(); ++i) {
    const BodyConst& b = m.bodies[i];
    for (int32_t k = 0; k < b.dofs; ++k) {
      way[static_cast<std::size_t>(b.u0 + k)] = k < b.translations ? 1.0 : arm[i];
    }
  }
  for (const NodeConst& node : m.nodes) {
    const BodyConst& b = m.bodies[node.body];
    for (int32_t j = 0; j < b.modes; ++j) {
      double& largest = way[static_cast<std::size_t>(b.u0 + b.dofs + j)];
      const double turn =
          arm[static_cast<std::size_t>(node.body)] * length(m.node_psi[node.psi0 + j]);
      largest = std::max(largest, length(m.node_phi[node.phi0 + j]) + turn);
    }
  }
  for (const double x : way) m.reach.push_back(x > 0.0 ? 1.0 / (x * x) : 1.0);
}

// How far the mass of each body and of what hangs on it can be from its head, and from that the
// largest inertia of every speed: by Minkowski, masses m_j with radii of gyration r_j about points
// at distances d_j have the radius of gyration max(d_j + r_j) at most.
void measure_inertia(Model& m) {
  const std::size_t count = m.bodies.size();
  std::vector<double> mass(count, 0.0), radius(count, 0.0), carried(count, 0.0), reach(count, 0.0);
  for (auto i = static_cast<int32_t>(count) - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    const BodyConst& b = m.bodies[i];
    m.mass += b.mass;
    mass[at] = carried[at] + b.mass;
    const double trace = b.inertia.c[0] + b.inertia.c[5] + b.inertia.c[10];
    radius[at] = std::max(reach[at], b.mass > 0.0 ? std::sqrt(std::max(trace, 0.0) / b.mass) : 0.0);
    m.extent = std::max(m.extent, radius[at]);
    if (b.parent < 0) continue;
    const auto parent = static_cast<std::size_t>(b.parent);
    double arm = length(b.p_PJ) + radius[at];
    for (int32_t k = 0; k < b.translations; ++k) arm += std::fabs(m.start_q[b.q0 + k]);
    if (b.parent_node >= 0) arm += length(m.nodes[b.parent_node].position);
    carried[parent] += mass[at];
    reach[parent] = std::max(reach[parent], arm);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const BodyConst& b = m.bodies[i];
    for (int32_t k = 0; k < b.dofs; ++k) {
      m.largest_inertia.push_back(k < b.translations ? mass[i] : mass[i] * radius[i] * radius[i]);
    }
    for (int32_t j = 0; j < b.modes; ++j) {
      m.largest_inertia.push_back(m.matrices[b.matrix0 + j * b.modes + j]);
    }
    // A wheel's spin is what its motor makes of it.
    for (int32_t w = 0; w < b.wheels; ++w) m.largest_inertia.push_back(0.0);
  }
  for (const BodyConst& b : m.bodies) {
    // What can move inside of a body, and freedoms along others, leave less of its inertia.
    constexpr double kLeft = 1e-3;
    const bool whole = b.modes + b.wheels == 0;
    const double* J = b.inertia.c;  // three columns of four
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 3; ++i) {
      double others = 0.0;
      for (int j = 0; j < 3; ++j) others += i == j ? 0.0 : std::fabs(J[4 * i + j]);
      least = std::min(least, std::max(J[4 * i + i] - others, 0.0));
    }
    for (int32_t k = 0; k < b.dofs; ++k) {
      const Vector3& a = m.dofs[b.dof0 + k].axis;
      double own = b.mass;
      if (k >= b.translations) own = least;
      if (k >= b.translations && b.rotations == 1) {
        own = 0.0;
        for (int i = 0; i < 3; ++i) {
          for (int j = 0; j < 3; ++j) own += a.x[i] * J[4 * i + j] * a.x[j];
        }
      }
      const bool alone = k >= b.translations || b.dofs == b.translations;
      m.own_inertia.push_back(whole && alone ? own : kLeft * own);
    }
  }
  for (const NodeConst& node : m.nodes) {
    const BodyConst& b = m.bodies[node.body];
    const auto body = static_cast<std::size_t>(node.body);
    for (int32_t j = 0; j < b.modes; ++j) {
      const double way =
          length(m.node_phi[node.phi0 + j]) + length(m.node_psi[node.psi0 + j]) * reach[body];
      double& largest = m.largest_inertia[b.u0 + b.dofs + j];
      const double own = m.matrices[b.matrix0 + j * b.modes + j];
      largest = std::max(largest, own + carried[body] * way * way);
    }
  }
  const auto is_free = [&](const BodyConst& b) {
    return b.parent >= 0 || (b.translations == 3 && b.quaternion && !b.passive &&
                             m.dofs[b.dof0].drive == kFreeDrive);
  };
  const auto holds_no_ground = [](const LoopConst& loop) { return loop.node_a >= 0; };
  m.floats = std::all_of(m.bodies.begin(), m.bodies.end(), is_free) &&
             std::all_of(m.loops.begin(), m.loops.end(), holds_no_ground);
  for (const BodyConst& b : m.bodies) {
    if (!m.floats || b.parent >= 0) continue;
    for (int32_t k = 0; k < b.translations; ++k) m.largest_inertia[b.u0 + k] = 0.0;
  }
}

// The constants of pairs of a body's fields, of which there are `fields`: `count` more of them.
bool add_field_pairs(Array<FieldPair>& pairs, int32_t count, int32_t fields,
                     const std::vector<int32_t>& index, const std::vector<double>& value) {
  for (int32_t k = 0; k < count; ++k) {
    const std::size_t at = pairs.size();
    if (!within(index[2 * at], 0, fields) || !within(index[2 * at + 1], 0, fields)) return false;
    pairs.push_back({vector3(&value[3 * at]), index[2 * at], index[2 * at + 1]});
  }
  return true;
}

std::string too_large(double bytes) {
  return "kernel data file: an instance of this model would take " +
         std::to_string(static_cast<int64_t>(bytes / 1e6)) + " MB; " +
         std::to_string(static_cast<int64_t>(kMostBytes / 1e6)) + " MB is the most";
}

// Attachments that close loops; needs nodes and bodies.
void read_loops(DataFile& file, Model& m, int64_t motions, Growth& growth) {
  const std::size_t count = file.count("loop.node_a");
  const auto node_a = file.ints("loop.node_a", count);
  const auto node_b = file.ints("loop.node_b", count);
  const auto rows = file.ints("loop.rows", count);
  const auto freedoms = file.ints("loop.freedoms", count);
  const auto translations = file.ints("loop.translations", count);
  const auto position = file.reals("loop.position", 3 * count);
  const auto rotation = file.rotations("loop.rotation", count);
  const auto axes = file.directions("loop.axes", 2 * count);
  const auto cosine = file.reals("loop.cosine", count);
  const std::size_t row_count = file.count("row.kind");
  const auto row_kind = file.ints("row.kind", row_count);
  const auto row_motion = file.ints("row.motion", row_count);
  const auto direction = file.directions("row.direction", row_count);
  const std::size_t freedom_count = file.count("freedom.kind");
  const auto freedom_kind = file.ints("freedom.kind", freedom_count);
  const auto freedom_axis = file.directions("freedom.axis", freedom_count);
  const auto freedom_passive = file.reals("freedom.passive", 9 * freedom_count);
  const auto reference = file.directions("freedom.reference", freedom_count);
  if (!file.ok()) return;

  const auto nodes = static_cast<int64_t>(m.nodes.size());
  std::size_t row = 0, freedom = 0;
  double holding = 0.0, meetings = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string here = "kernel data file: loop " + std::to_string(i);
    const bool sane = within(node_a[i], -1, nodes) && within(node_b[i], 0, nodes) &&
                      within(rows[i], 0, 7) && within(freedoms[i], 0, 7 - rows[i]) &&
                      static_cast<std::size_t>(rows[i]) <= row_count - row &&
                      static_cast<std::size_t>(freedoms[i]) <= freedom_count - freedom &&
                      within(translations[i], 0, freedoms[i] + 1);
    if (!sane) return file.fail(here + " is inconsistent");
    LoopConst loop{};
    loop.node_a = node_a[i];
    loop.node_b = node_b[i];
    loop.p_AJ = vector3(&position[3 * i]);
    loop.R_AJ = matrix3(&rotation[9 * i]);
    loop.axis1 = vector3(&axes[6 * i]);
    loop.axis2 = vector3(&axes[6 * i + 3]);
    loop.cosine = cosine[i];
    loop.row0 = static_cast<int32_t>(row);
    loop.rows = rows[i];
    loop.freedom0 = static_cast<int32_t>(freedom);
    loop.freedoms = freedoms[i];
    loop.translations = translations[i];
    for (int32_t k = 0; k < rows[i]; ++k, ++row) {
      if (!within(row_kind[row], 0, 4) || !within(row_motion[row], -1, motions)) {
        return file.fail(here + ": a held direction is inconsistent");
      }
      m.loop_rows.push_back({vector3(&direction[3 * row]),
                             static_cast<LoopRow::Kind>(row_kind[row]), row_motion[row]});
    }
    if (!in_order(freedom_kind.data() + freedom, freedoms[i], translations[i])) {
      return file.fail(here + ": its free directions are those of no joint");
    }
    for (int32_t k = 0; k < freedoms[i]; ++k, ++freedom) {
      LoopFreedom f{};
      f.dof.axis = vector3(&freedom_axis[3 * freedom]);
      f.reference = vector3(&reference[3 * freedom]);
      if (!set_passive(f.dof, &freedom_passive[9 * freedom])) {
        return file.fail(here + ": a free direction is inconsistent");
      }
      f.kind = static_cast<LoopFreedom::Kind>(freedom_kind[freedom]);
      m.loop_freedoms.push_back(f);
    }
    std::vector<int32_t> path;
    for (int32_t node : {node_a[i], node_b[i]}) {
      int32_t body = node < 0 ? -1 : m.nodes[node].body;
      for (; body >= 0; body = m.bodies[body].parent) path.push_back(body);
    }
    growth.paths += static_cast<int64_t>(path.size());
    if (growth.bytes() > kMostBytes) return file.fail(too_large(growth.bytes()));
    if (rows[i] > 0) {  // what it shares with each of the others that hold something
      holding += 1.0;
      meetings += holding * static_cast<double>(path.size());
    }
    if (meetings > kMostMeetings) {
      return file.fail(
          "kernel data file: its loops are too many and too long: every evaluation "
          "would follow more than " +
          std::to_string(static_cast<int64_t>(kMostMeetings)) + " bodies");
    }
    std::sort(path.begin(), path.end());
    path.erase(std::unique(path.begin(), path.end()), path.end());
    loop.path0 = static_cast<int32_t>(m.loop_paths.size());
    loop.paths = static_cast<int32_t>(path.size());
    m.loop_paths.insert(m.loop_paths.end(), path.begin(), path.end());
    m.loops.push_back(loop);
  }
}

}  // namespace

std::shared_ptr<const Model> Model::parse(DataFile& file, std::string& error) {
  std::shared_ptr<Model> model(new Model);
  Model& m = *model;
  const auto rejected = [&]() {
    error = file.error();
    return std::shared_ptr<const Model>();
  };

  const std::size_t body_count = file.count("body.parent");
  if (file.ok() && (body_count == 0 || body_count > 1000000)) {
    file.fail("kernel data file: no bodies, or too many");
  }
  const auto parent = file.ints("body.parent", body_count);
  const auto parent_node = file.ints("body.parent_node", body_count);
  const auto translations = file.ints("body.translations", body_count);
  const auto rotations = file.ints("body.rotations", body_count);
  const auto quaternion = file.ints("body.quaternion", body_count);
  const auto modes = file.ints("body.modes", body_count);
  const auto pair_counts = file.ints("body.pairs", body_count);
  const auto mass_pair_counts = file.ints("body.mass_pairs", body_count);
  const auto slot_counts = file.ints("body.slots", body_count);
  const auto gyroscopic_counts = file.ints("body.gyroscopics", body_count);
  const auto turning_counts = file.ints("body.turnings", body_count);
  const auto point_counts = file.ints("body.points", body_count);
  const auto wheel_counts = file.ints("body.wheels", body_count);
  if (!file.ok()) return rejected();

  // Sizes first: everything else is checked against them.
  int64_t dofs = 0, qs = 0, us = 0, fields = 0, matrices = 0, hats = 0, slots = 0;
  int64_t gyroscopics = 0, turnings = 0, pairs = 0, points = 0, point_psis = 0, wheels = 0;
  Growth growth;
  for (std::size_t i = 0; i < body_count; ++i) {
    const bool sane =
        within(parent[i], -1, static_cast<int64_t>(i)) && within(translations[i], 0, 4) &&
        within(rotations[i], 0, 4) && within(quaternion[i], 0, 2) &&
        (quaternion[i] == 0 || rotations[i] == 0) && within(modes[i], 0, 1001) &&
        within(pair_counts[i], 0, 100001) && within(mass_pair_counts[i], 0, pair_counts[i] + 1) &&
        within(slot_counts[i], 0, 20000001) && within(gyroscopic_counts[i], 0, 20000001) &&
        within(turning_counts[i], 0, 2000001) && within(point_counts[i], 0, 100001) &&
        within(wheel_counts[i], 0, kMostWheels + 1) && (modes[i] > 0 || pair_counts[i] == 0);
    if (!sane) {
      file.fail("kernel data file: body " + std::to_string(i) + " is inconsistent");
      return rejected();
    }
    const int64_t n = modes[i], p = mass_pair_counts[i];
    const int64_t joint = translations[i] + rotations[i] + 3 * quaternion[i];
    dofs += joint;
    qs += joint + quaternion[i] + n;
    us += joint + n + wheel_counts[i];
    fields += n + p;
    matrices += 3 * n * n;
    hats += p > 0 ? (n + p) * (n + p) : 0;
    slots += slot_counts[i];
    gyroscopics += gyroscopic_counts[i];
    turnings += turning_counts[i];
    pairs += pair_counts[i];
    points += point_counts[i];
    point_psis += point_counts[i] * n;
    wheels += wheel_counts[i];
    const auto internals = static_cast<int32_t>(n + wheel_counts[i]);
    growth.couplings += static_cast<int64_t>(internals) * padded(internals);
  }
  growth.speeds = us;
  growth.loops = static_cast<int64_t>(file.count("loop.node_a"));
  growth.rows = static_cast<int64_t>(file.count("row.kind"));
  if (growth.bytes() > kMostBytes) file.fail(too_large(growth.bytes()));
  if (!file.ok()) return rejected();
  const auto count = [](int64_t x) { return static_cast<std::size_t>(x); };

  const auto joint_position = file.reals("joint.position", 3 * body_count);
  const auto joint_rotation = file.rotations("joint.rotation", body_count);
  const auto mass = file.reals("body.mass", body_count);
  const auto first_moment = file.reals("body.first_moment", 3 * body_count);
  const auto inertia = file.reals("body.inertia", 9 * body_count);
  const auto dof_axis = file.directions("dof.axis", count(dofs));
  const auto dof_passive = file.reals("dof.passive", count(9 * dofs));
  const auto dof_drive = file.ints("dof.drive", count(dofs));
  const auto start_q = file.reals("start.q", count(qs));
  const auto start_u = file.reals("start.u", count(us));
  const auto gravity = file.reals("gravity", 3);

  const auto field_moment = file.reals("field.moment", count(3 * fields));
  const auto matrix_values = file.reals("mode.matrices", count(matrices));
  const auto hat_values = file.reals("field.mass", count(hats));
  const auto slot_field = file.ints("slot.field", count(slots));
  const auto slot_component = file.ints("slot.component", count(slots));
  const auto slot_entries = file.ints("slot.entries", count(slots));
  const auto slot_constant = file.reals("slot.constant", count(slots));
  const std::size_t entry_count = file.count("entry.field");
  const auto entry_field = file.ints("entry.field", entry_count);
  const auto entry_value = file.reals("entry.value", entry_count);
  const auto gyroscopic_fields = file.ints("gyroscopic.fields", count(2 * gyroscopics));
  const auto gyroscopic_value = file.reals("gyroscopic.value", count(3 * gyroscopics));
  const auto turning_fields = file.ints("turning.fields", count(2 * turnings));
  const auto turning_value = file.reals("turning.value", count(3 * turnings));
  const auto pair_modes = file.ints("pair.modes", count(2 * pairs));
  const auto point_inertia = file.reals("point.inertia", count(9 * points));
  const auto point_psi = file.reals("point.psi", count(3 * point_psis));

  const std::size_t node_count = file.count("node.body");
  const auto node_body = file.ints("node.body", node_count);
  const auto node_position = file.reals("node.position", 3 * node_count);
  const auto node_rotation = file.rotations("node.rotation", node_count);
  if (!file.ok()) return rejected();
  for (std::size_t i = 0; i < body_count; ++i) {
    const double* J = &inertia[9 * i];
    const bool sane = mass[i] >= 0.0 && J[0] >= 0.0 && J[4] >= 0.0 && J[8] >= 0.0;
    if (!sane) {
      file.fail("kernel data file: body " + std::to_string(i) + " has less than no mass");
      return rejected();
    }
  }
  int64_t node_phis = 0, node_psis = 0;
  for (std::size_t k = 0; k < node_count; ++k) {
    if (!within(node_body[k], 0, static_cast<int64_t>(body_count))) {
      file.fail("kernel data file: node " + std::to_string(k) + " is on no body");
      return rejected();
    }
    const auto b = static_cast<std::size_t>(node_body[k]);
    node_phis += modes[b] + pair_counts[b];
    node_psis += modes[b];
  }
  growth.shapes = node_psis;
  if (growth.bytes() > kMostBytes) {
    file.fail(too_large(growth.bytes()));
    return rejected();
  }
  const auto node_phi = file.reals("node.phi", count(3 * node_phis));
  const auto node_psi = file.reals("node.psi", count(3 * node_psis));

  const auto wheel_node = file.ints("wheel.node", count(wheels));
  const auto wheel_axis = file.directions("wheel.axis", count(wheels));
  const auto wheel_inertia = file.reals("wheel.inertia", count(wheels));

  const std::size_t motion_count = file.count("motion.rows");
  const auto motion_rows = file.ints("motion.rows", motion_count);
  const std::size_t motion_values = file.count("motion.values");
  const auto motion_value = file.reals("motion.values", motion_values);
  const std::size_t load_count = file.count("load.input");
  const auto load_input = file.ints("load.input", load_count);
  const auto load_hold = file.ints("load.hold", load_count);
  const auto load_rows = file.ints("load.rows", load_count);
  const std::size_t load_values = file.count("load.values");
  const auto load_value = file.reals("load.values", load_values);
  if (!file.ok()) return rejected();

  m.q_size = static_cast<int32_t>(qs);
  m.u_size = static_cast<int32_t>(us);
  m.dof_count = static_cast<int32_t>(dofs);
  m.node_input0 = m.dof_count;
  m.wheel_input0 = m.node_input0 + 6 * static_cast<int32_t>(node_count);
  m.loop_input0 = m.wheel_input0 + static_cast<int32_t>(wheels);
  m.input_size = m.loop_input0 + static_cast<int32_t>(file.count("freedom.kind"));
  m.gravity = vector3(gravity.data());

  // Nodes before bodies, because joints are placed on them.
  int32_t phi0 = 0, psi0 = 0, jacobian_columns = 0;
  for (std::size_t k = 0; k < node_count; ++k) {
    const auto b = static_cast<std::size_t>(node_body[k]);
    NodeConst node{};
    node.body = node_body[k];
    node.position = vector3(&node_position[3 * k]);
    node.rotation = matrix3(&node_rotation[9 * k]);
    node.phi0 = phi0;
    node.psi0 = psi0;
    node.work0 = modes[b] > 0 ? jacobian_columns : -1;
    jacobian_columns += modes[b];
    phi0 += modes[b] + pair_counts[b];
    psi0 += modes[b];
    m.nodes.push_back(node);
  }
  m.jacobian_columns = jacobian_columns;
  for (std::size_t j = 0; j < count(node_phis); ++j)
    m.node_phi.push_back(vector3(&node_phi[3 * j]));
  for (std::size_t j = 0; j < count(node_psis); ++j)
    m.node_psi.push_back(vector3(&node_psi[3 * j]));

  std::size_t dof = 0, wheel = 0, slot = 0, entry = 0, pair = 0, point = 0;
  int32_t q = 0, u = 0, internal = 0, coupling = 0, field = 0, matrix = 0, hat = 0, point_psi0 = 0;
  std::vector<std::vector<int32_t>> active(body_count);
  std::vector<bool> is_active(node_count);
  const auto activate = [&](int32_t node) {
    if (is_active[static_cast<std::size_t>(node)]) return;
    is_active[static_cast<std::size_t>(node)] = true;
    active[static_cast<std::size_t>(m.nodes[node].body)].push_back(node);
  };

  for (std::size_t i = 0; i < body_count; ++i) {
    BodyConst b{};
    const std::string here = "kernel data file: body " + std::to_string(i);
    b.parent = parent[i];
    b.parent_node = -1;
    b.R_PJ = matrix3(&joint_rotation[9 * i]);
    b.p_PJ = vector3(&joint_position[3 * i]);
    if (b.parent >= 0) {
      const int32_t k = parent_node[i];
      if (!within(k, 0, static_cast<int64_t>(node_count)) || m.nodes[k].body != b.parent) {
        file.fail(here + " hangs on a node that is not its parent's");
        return rejected();
      }
      if (modes[static_cast<std::size_t>(b.parent)] > 0) {
        b.parent_node = k;
        activate(k);
      } else {
        const NodeConst& node = m.nodes[k];
        Vector3 p = product(node.rotation, b.p_PJ);
        for (int c = 0; c < 3; ++c) p.x[c] += node.position.x[c];
        b.p_PJ = p;
        b.R_PJ = product(node.rotation, b.R_PJ);
      }
    }
    b.mass = mass[i];
    b.first_moment = vector3(&first_moment[3 * i]);
    b.inertia = matrix3(&inertia[9 * i]);
    b.q0 = q;
    b.u0 = u;
    b.dof0 = static_cast<int32_t>(dof);
    b.translations = translations[i];
    b.rotations = rotations[i];
    b.quaternion = quaternion[i] == 1;
    b.dofs = b.translations + b.rotations + (b.quaternion ? 3 : 0);
    b.joint_qs = b.dofs + (b.quaternion ? 1 : 0);
    b.modes = modes[i];
    b.pairs = pair_counts[i];
    b.mass_pairs = mass_pair_counts[i];
    b.fields = b.modes + b.mass_pairs;
    b.wheels = wheel_counts[i];
    b.wheel0 = static_cast<int32_t>(wheel);
    b.internals = b.modes + b.wheels;
    b.internal0 = internal;
    b.stride = padded(b.internals);
    b.coupling0 = coupling;
    internal += b.internals;
    coupling += b.internals * b.stride;

    for (int32_t d = 0; d < b.dofs; ++d, ++dof) {
      DofConst c{};
      c.axis = vector3(&dof_axis[3 * dof]);
      if (!set_passive(c, &dof_passive[9 * dof])) {
        file.fail(here + ": Coulomb friction needs a transition speed > 0");
      }
      b.passive = b.passive || c.passive;
      c.drive = dof_drive[dof];
      if (!within(c.drive, kFreeDrive, static_cast<int64_t>(motion_count)) ||
          (c.drive != kFreeDrive && b.quaternion && d >= b.translations)) {
        file.fail(here + ": its joint is moved by an unknown motion");
        return rejected();
      }
      c.axis_parent = product(b.R_PJ, c.axis);
      if (d >= b.translations && !b.quaternion) {
        set_rotation(c, d == b.translations ? b.R_PJ : identity());
      }
      if (c.drive != kFreeDrive) {
        m.driven.push_back(u + d);
        m.driven_dof.push_back(static_cast<int32_t>(dof));
        m.driven_q.push_back(q + d);
        m.driven_live.push_back(c.drive == kLiveDrive ? m.live_count++ : -1);
      }
      m.dofs.push_back(c);
    }

    const int32_t n = b.modes;
    b.field0 = field;
    b.matrix0 = matrix;
    b.hat0 = hat;
    field += b.fields;
    matrix += 3 * n * n;
    hat += b.mass_pairs > 0 ? b.fields * b.fields : 0;
    b.diagonal = true;
    for (int32_t r = 0; r < n; ++r) {
      for (int32_t c = 0; c < n; ++c) {
        const auto at = count(b.matrix0 + n * n + r * n + c);
        if (r != c && (matrix_values[at] != 0.0 || matrix_values[at + count(n * n)] != 0.0)) {
          b.diagonal = false;
        }
      }
    }
    int32_t last_row = -1;
    std::vector<int32_t> place(count(b.fields), -1);  // of a field's value, if in the last slot
    for (int32_t s = 0; s < slot_counts[i]; ++s, ++slot) {
      const int32_t f = slot_field[slot], component = slot_component[slot];
      // The file has single components, row by row, those of a field one after another.
      const int32_t row = component / 3, column = component % 3;
      if (!within(f, 0, b.fields) || !within(component, 0, 9) || row < last_row ||
          !within(slot_entries[slot], 0, static_cast<int64_t>(entry_count - entry) + 1)) {
        file.fail(here + ": bad modal integrals");
        return rejected();
      }
      if (row > last_row || m.slots.back().field != f) {
        while (last_row < row) b.slot0[++last_row] = static_cast<int32_t>(m.slots.size());
        m.slots.push_back({{}, f, static_cast<int32_t>(m.slot_values.size()), 0});
      }
      Slot& last = m.slots.back();
      last.constant.x[column] = slot_constant[slot];
      for (int32_t e = 0; e < slot_entries[slot]; ++e, ++entry) {
        const int32_t g = entry_field[entry];
        if (!within(g, 0, b.fields)) {
          file.fail(here + ": bad modal integrals");
          return rejected();
        }
        int32_t& at = place[count(g)];
        if (at < last.value0) {
          at = last.value0 + last.values++;
          m.slot_values.push_back({});
          m.slot_fields.push_back(g);
        }
        m.slot_values[at].x[column] = entry_value[entry];
      }
    }
    while (last_row < 3) b.slot0[++last_row] = static_cast<int32_t>(m.slots.size());
    b.gyroscopic0 = static_cast<int32_t>(m.gyroscopics.size());
    b.gyroscopics = gyroscopic_counts[i];
    b.turning0 = static_cast<int32_t>(m.turnings.size());
    b.turnings = turning_counts[i];
    if (!add_field_pairs(m.gyroscopics, b.gyroscopics, b.fields, gyroscopic_fields,
                         gyroscopic_value) ||
        !add_field_pairs(m.turnings, b.turnings, n, turning_fields, turning_value)) {
      file.fail(here + ": bad modal integrals");
      return rejected();
    }
    b.pair0 = static_cast<int32_t>(pair);
    for (int32_t p = 0; p < b.pairs; ++p, ++pair) {
      const int32_t first = pair_modes[2 * pair], second = pair_modes[2 * pair + 1];
      if (!within(first, 0, n) || !within(second, first, n)) {
        file.fail(here + ": bad second-order pair");
        return rejected();
      }
      m.pairs.push_back({first, second, first == second ? 0.5 : 1.0});
    }
    b.point0 = static_cast<int32_t>(point);
    b.points = point_counts[i];
    for (int32_t p = 0; p < b.points; ++p, ++point) {
      m.points.push_back({matrix3(&point_inertia[9 * point]), point_psi0});
      point_psi0 += n;
    }
    for (int32_t w = 0; w < b.wheels; ++w, ++wheel) {
      const int32_t k = wheel_node[wheel];
      if (!within(k, 0, static_cast<int64_t>(node_count)) ||
          m.nodes[k].body != static_cast<int32_t>(i) || !(wheel_inertia[wheel] > 0.0)) {
        file.fail(here + ": bad wheel");
        return rejected();
      }
      WheelConst c{};
      c.inertia = wheel_inertia[wheel];
      c.body = static_cast<int32_t>(i);
      c.node = k;
      c.u = u + b.dofs + n + w;
      c.axis = vector3(&wheel_axis[3 * wheel]);
      if (n == 0) {
        c.axis = product(m.nodes[k].rotation, c.axis);
      } else {
        activate(k);
      }
      m.wheels.push_back(c);
    }

    // Coordinates that add up, merged over body borders where both indices run on.
    const auto add_run = [&](int32_t q_first, int32_t u_first, int32_t length) {
      if (length == 0) return;
      if (!m.linear_runs.empty()) {
        LinearRun& last = m.linear_runs.back();
        if (last.q0 + last.count == q_first && last.u0 + last.count == u_first) {
          last.count += length;
          return;
        }
      }
      m.linear_runs.push_back({q_first, u_first, length});
    };
    add_run(q, u, b.translations + b.rotations);
    if (b.quaternion) m.quaternion_runs.push_back({q + b.translations, u + b.translations});
    add_run(q + b.joint_qs, u + b.dofs, n);
    q += b.joint_qs + n;
    u += b.dofs + b.internals;
    m.largest_fields = b.fields > m.largest_fields ? b.fields : m.largest_fields;
    m.largest_modes = n > m.largest_modes ? n : m.largest_modes;
    m.largest_internals = std::max(m.largest_internals, b.internals);
    if (b.rotations == 3) m.three_angles.push_back(static_cast<int32_t>(i));
    m.bodies.push_back(b);
  }
  m.internal_count = internal;
  m.coupling_size = coupling;
  for (std::size_t i = 0; i < body_count; ++i) {
    m.bodies[i].active0 = static_cast<int32_t>(m.active_nodes.size());
    m.bodies[i].actives = static_cast<int32_t>(active[i].size());
    m.active_nodes.insert(m.active_nodes.end(), active[i].begin(), active[i].end());
  }
  for (std::size_t j = 0; j < count(fields); ++j) m.fields.push_back(vector3(&field_moment[3 * j]));
  for (std::size_t j = 0; j < count(point_psis); ++j) {
    m.point_psi.push_back(vector3(&point_psi[3 * j]));
  }
  m.start_q.assign(start_q.begin(), start_q.end());
  m.start_u.assign(start_u.begin(), start_u.end());
  m.matrices.assign(matrix_values.begin(), matrix_values.end());
  m.hats.assign(hat_values.begin(), hat_values.end());

  read_loops(file, m, static_cast<int64_t>(motion_count), growth);
  if (!file.ok()) return rejected();
  measure_loops(m);
  measure_inertia(m);

  std::size_t row = 0;
  for (std::size_t t = 0; t < motion_count; ++t) {
    if (!within(motion_rows[t], 2, static_cast<int64_t>(motion_values / 7 - row) + 1)) {
      file.fail("kernel data file: bad motion table");
      return rejected();
    }
    m.motions.push_back({static_cast<int32_t>(row), motion_rows[t]});
    for (int32_t r = 0; r < motion_rows[t]; ++r, ++row) {
      const double* v = &motion_value[7 * row];
      if (!(std::fabs(v[0]) <= kLargestTime) || (r > 0 && !(v[0] > m.motion_rows.back().time))) {
        file.fail("kernel data file: the times of a motion table do not increase");
      }
      m.motion_rows.push_back({v[0], {v[1], v[2], v[3], v[4], v[5], v[6]}});
    }
  }
  row = 0;
  for (std::size_t t = 0; t < load_count; ++t) {
    if (!within(load_rows[t], 1, static_cast<int64_t>(load_values / 2 - row) + 1) ||
        !within(load_input[t], 0, m.input_size)) {
      file.fail("kernel data file: bad load table");
      return rejected();
    }
    if (within(load_input[t], m.node_input0, m.wheel_input0)) {
      m.nodes[(load_input[t] - m.node_input0) / 6].has_table = true;
    }
    m.loads.push_back({load_input[t], load_hold[t] != 0, static_cast<int32_t>(row), load_rows[t]});
    for (int32_t r = 0; r < load_rows[t]; ++r, ++row) {
      const double* v = &load_value[2 * row];
      if (!(std::fabs(v[0]) <= kLargestTime) || (r > 0 && !(v[0] >= m.load_rows.back().time))) {
        file.fail("kernel data file: the times of a load table decrease");
      }
      m.load_rows.push_back({v[0], v[1]});
    }
  }
  if (!file.ok()) return rejected();
  return model;
}

}  // namespace pliant
