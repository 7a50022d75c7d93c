/* Steps of an FMU in a loop, as a compiled importer takes them; driven by bench_fmu.py. */
#include "fmu.h" /* of the test hosts */

static Fmu fmu;
static fmi2CallbackFunctions callbacks;
static fmi2Component instance;
static long steps;
static const double kStep = 1e-3;

enum { kMost = 1024 };
static fmi2ValueReference into[kMost], out[kMost];
static fmi2Real values[kMost];
static size_t inputs, outputs;

/* `starts` are parameters set before initialization. 0 if all went well. */
int host_open(const char* library, const char* resources, const char* guid,
              const fmi2ValueReference* starts, const fmi2Real* numbers, size_t count,
              const fmi2ValueReference* in, size_t ins, const fmi2ValueReference* outs,
              size_t outs_count) {
  if (ins > kMost || outs_count > kMost) return 1;
  fmu = load_fmu(library);
  callbacks.logger = log_message;
  instance = fmu.Instantiate("bench", fmi2CoSimulation, guid, resources, &callbacks, 0, 0);
  if (instance == NULL) return 1;
  CHECK(fmu.SetReal(instance, starts, count, numbers));
  CHECK(fmu.SetupExperiment(instance, fmi2False, 0.0, 0.0, fmi2False, 0.0));
  CHECK(fmu.EnterInitializationMode(instance));
  CHECK(fmu.ExitInitializationMode(instance));
  for (inputs = 0; inputs < ins; ++inputs) into[inputs] = in[inputs];
  for (outputs = 0; outputs < outs_count; ++outputs) out[outputs] = outs[outputs];
  return 0;
}

void host_step(int count) {
  for (int i = 0; i < count; ++i, ++steps) {
    CHECK(fmu.DoStep(instance, (double)steps * kStep, kStep, fmi2True));
  }
}

/* With all inputs set before a step and all outputs read after it. */
void host_exchange(int count) {
  for (int i = 0; i < count; ++i, ++steps) {
    for (size_t k = 0; k < inputs; ++k) values[k] = 0.0;
    CHECK(fmu.SetReal(instance, into, inputs, values));
    CHECK(fmu.DoStep(instance, (double)steps * kStep, kStep, fmi2True));
    CHECK(fmu.GetReal(instance, out, outputs, values));
  }
}
