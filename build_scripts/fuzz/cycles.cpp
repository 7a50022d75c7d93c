// Instances made, run, reset, run and freed again, and the memory that is in use meanwhile.
//
//   cycles CYCLES MODEL
#include "model.h"

namespace fuzz {
namespace {

void run(const Model& m, fmi2Component c) {
  std::vector<double> values(std::max(m.inputs.size(), m.outputs.size()), 1.0);
  CHECK(m.fmu.SetupExperiment(c, fmi2False, 0.0, 0.0, fmi2False, 0.0));
  CHECK(m.fmu.EnterInitializationMode(c));
  CHECK(m.fmu.ExitInitializationMode(c));
  CHECK(m.fmu.SetReal(c, m.inputs.data(), m.inputs.size(), values.data()));
  CHECK(m.fmu.DoStep(c, 0.0, 2e-3, fmi2True));
  CHECK(m.fmu.GetReal(c, m.outputs.data(), m.outputs.size(), values.data()));
}

void cycle(Model& m) {
  fmi2Component c = m.instantiate();
  if (c == nullptr) std::exit(2);
  run(m, c);
  fmi2FMUstate state = nullptr;
  CHECK(m.fmu.GetFMUstate(c, &state));
  CHECK(m.fmu.SetFMUstate(c, state));
  CHECK(m.fmu.FreeFMUstate(c, &state));
  CHECK(m.fmu.Reset(c));
  run(m, c);
  CHECK(m.fmu.Terminate(c));
  m.fmu.FreeInstance(c);
}

}  // namespace
}  // namespace fuzz

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::size_t cycles = std::strtoull(arguments[1], nullptr, 10);
  fuzz::Model model(arguments[2]);
  for (std::size_t i = 0; i < cycles / 100; ++i) fuzz::cycle(model);
  const std::size_t before = fuzz::resident();
  for (std::size_t i = cycles / 100; i < cycles; ++i) fuzz::cycle(model);
  const std::size_t after = fuzz::resident();
  std::printf(
      "{\"cycles\": %zu, \"resident_after_1_percent\": %zu, \"resident_at_the_end\": %zu}\n",
      cycles, before, after);
  return 0;
}
