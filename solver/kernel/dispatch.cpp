// Choosing among the builds of the kernel when an instance is made, and what belongs to none.
#include <cstring>

#include "stepper.h"

namespace pliant {

namespace baseline {
Stepper* make_instance(const Model& model);
}
#ifdef PLIANT_HAS_v3
namespace v3 {
Stepper* make_instance(const Model& model);
}
#endif
#ifdef PLIANT_HAS_v4
namespace v4 {
Stepper* make_instance(const Model& model);
}
#endif

namespace {

struct Build {
  const char* name;
  Stepper* (*make)(const Model&);
  bool (*runs_here)();
};

// Best first.
const Build kBuilds[] = {
#ifdef PLIANT_HAS_v4
    {"v4", v4::make_instance,
     [] {
       return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
     }},
#endif
#ifdef PLIANT_HAS_v3
    {"v3", v3::make_instance,
     [] {
       return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
     }},
#endif
    {"baseline", baseline::make_instance, [] { return true; }},
};

}  // namespace

std::unique_ptr<Stepper> make_stepper(const Model& model, const char* instruction_set) {
  for (const Build& build : kBuilds) {
    const bool wanted = *instruction_set == '\0' || std::strcmp(instruction_set, build.name) == 0;
    if (wanted && build.runs_here()) return std::unique_ptr<Stepper>(build.make(model));
  }
  return nullptr;
}

void Needs::add(const Signal& signal) {
  switch (signal.quantity) {
    case Quantity::q:
    case Quantity::u:
    case Quantity::quaternion_rate:
      break;
    case Quantity::energy:
    case Quantity::momentum:
    case Quantity::loop_gap:
    case Quantity::loop_rate:
    case Quantity::loop_position:
    case Quantity::loop_speed:
      totals = true;
      break;
    default:
      accelerations = true;
  }
}

bool fits(const Model& m, Algorithm algorithm) {
  if (algorithm != Algorithm::dense) return true;
  const double speeds = m.u_size, rows = static_cast<double>(m.loop_rows.size());
  return sizeof(double) * speeds * (speeds + rows) <= kMostBytes;
}

bool exists(const Model& m, const Signal& s) {
  const auto among = [](int32_t i, std::size_t count) {
    return i >= 0 && static_cast<std::size_t>(i) < count;
  };
  const auto size = [](int32_t count) { return static_cast<std::size_t>(count); };
  switch (s.quantity) {
    case Quantity::q:
      return s.element == 0 && among(s.index, size(m.q_size));
    case Quantity::u:
    case Quantity::udot:
      return s.element == 0 && among(s.index, size(m.u_size));
    case Quantity::quaternion_rate:
      return among(s.element, m.quaternion_runs.size()) && among(s.index, 4);
    case Quantity::energy:
      return s.element == 0 && among(s.index, 8);
    case Quantity::momentum:
      return s.element == 0 && among(s.index, 6);
    case Quantity::effort:
      return among(s.element, m.bodies.size()) && among(s.index, size(m.bodies[s.element].dofs));
    case Quantity::reaction:
      return among(s.element, m.bodies.size()) && among(s.index, 6);
    case Quantity::node:
      return among(s.element, m.nodes.size()) && among(s.index, 19);
    case Quantity::inverse_inertia:
      return among(s.element, m.nodes.size()) && among(s.index, 21);
    case Quantity::loop_gap:
    case Quantity::loop_rate:
    case Quantity::loop_force:
      return s.element == 0 && among(s.index, m.loop_rows.size());
    case Quantity::loop_reaction:
      return among(s.element, m.loops.size()) && among(s.index, 6);
    case Quantity::loop_position:
    case Quantity::loop_speed:
      return s.element == 0 && among(s.index, m.loop_freedoms.size());
  }
  return false;
}

}  // namespace pliant
