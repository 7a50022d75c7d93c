// Choosing among the builds of the kernel when an instance is made.
#include <cstring>

#include "stepper.h"

namespace pliant {

namespace baseline {
Stepper* make_instance(const Model& model);
}
#ifdef PLIANT_X86_64_LEVELS
namespace v3 {
Stepper* make_instance(const Model& model);
}
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
#ifdef PLIANT_X86_64_LEVELS
    {"v4", v4::make_instance,
     [] {
       return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
     }},
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

}  // namespace pliant
