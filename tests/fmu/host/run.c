/* A host without Python: every function once, then a run whose outputs are printed.
 *
 *   run LIBRARY RESOURCES GUID INPUTS FIRST_OUTPUT OUTPUTS STEPS
 *
 * Inputs have the value references 0 to INPUTS - 1. Numbers are printed in hexadecimal, so that no
 * digit is lost. The libraries that were loaded are listed too. */
#define _GNU_SOURCE
#include <link.h>
#include <string.h>

#include "fmu.h"

enum { kMost = 512 };
static const double kStep = 1e-3;

static int list_library(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  (void)data;
  if (info->dlpi_name[0] != '\0') printf("loaded %s\n", info->dlpi_name);
  return 0;
}

/* The calls that a run does not need. */
static void call_the_rest(const Fmu* fmu, fmi2Component c, fmi2ValueReference output) {
  const fmi2ValueReference input = 0;
  const fmi2Integer order = 1;
  const fmi2Real one = 1.0;
  fmi2Real real;
  fmi2Status status;
  fmi2Integer integer;
  fmi2Boolean boolean;
  fmi2String text = NULL;
  fmi2FMUstate state = NULL, copy = NULL;
  size_t size;
  printf("version %s %s\n", fmu->GetVersion(), fmu->GetTypesPlatform());
  CHECK(fmu->SetDebugLogging(c, fmi2False, 0, NULL));
  CHECK(fmu->GetInteger(c, NULL, 0, NULL));
  CHECK(fmu->GetBoolean(c, NULL, 0, NULL));
  CHECK(fmu->GetString(c, NULL, 0, NULL));
  CHECK(fmu->SetInteger(c, NULL, 0, NULL));
  CHECK(fmu->SetBoolean(c, NULL, 0, NULL));
  CHECK(fmu->SetString(c, NULL, 0, NULL));
  CHECK(fmu->GetDirectionalDerivative(c, &output, 1, &input, 1, &one, &real));
  CHECK(fmu->SetRealInputDerivatives(c, &input, 1, &order, &one));
  CHECK(fmu->GetRealOutputDerivatives(c, &output, 1, &order, &real));
  CHECK(fmu->GetStatus(c, fmi2DoStepStatus, &status));
  CHECK(fmu->GetRealStatus(c, fmi2LastSuccessfulTime, &real));
  CHECK(fmu->GetBooleanStatus(c, fmi2Terminated, &boolean));
  CHECK(fmu->GetStringStatus(c, fmi2PendingStatus, &text));
  if (fmu->GetIntegerStatus(c, fmi2DoStepStatus, &integer) != fmi2Error) exit(1);
  if (fmu->CancelStep(c) != fmi2Error) exit(1);
  CHECK(fmu->GetFMUstate(c, &state));
  CHECK(fmu->SerializedFMUstateSize(c, state, &size));
  char* bytes = malloc(size);
  CHECK(fmu->SerializeFMUstate(c, state, bytes, size));
  CHECK(fmu->DeSerializeFMUstate(c, bytes, size, &copy));
  CHECK(fmu->SetFMUstate(c, copy));
  CHECK(fmu->FreeFMUstate(c, &state));
  CHECK(fmu->FreeFMUstate(c, &copy));
  free(bytes);
  CHECK(fmu->Terminate(c));
  CHECK(fmu->Reset(c));
}

int main(int count, char** arguments) {
  if (count != 8) return 2;
  const Fmu fmu = load_fmu(arguments[1]);
  const int inputs = atoi(arguments[4]), first = atoi(arguments[5]), outputs = atoi(arguments[6]);
  const int steps = atoi(arguments[7]);
  const fmi2CallbackFunctions callbacks = {log_message, calloc, free, NULL, NULL};
  fmi2ValueReference into[kMost], out[kMost];
  fmi2Real values[kMost];
  if (inputs > kMost || outputs > kMost) return 2;
  for (int i = 0; i < inputs; ++i) into[i] = (fmi2ValueReference)i;
  for (int i = 0; i < outputs; ++i) out[i] = (fmi2ValueReference)(first + i);

  fmi2Component c = start_instance(&fmu, "rest", arguments[3], arguments[2], &callbacks);
  call_the_rest(&fmu, c, out[0]);
  fmu.FreeInstance(c);

  c = start_instance(&fmu, "run", arguments[3], arguments[2], &callbacks);
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < inputs; ++i) values[i] = input_value(step, i);
    CHECK(fmu.SetReal(c, into, (size_t)inputs, values));
    CHECK(fmu.DoStep(c, step * kStep, kStep, fmi2True));
    CHECK(fmu.GetReal(c, out, (size_t)outputs, values));
    printf("row");
    for (int i = 0; i < outputs; ++i) printf(" %a", values[i]);
    printf("\n");
  }
  CHECK(fmu.Terminate(c));
  fmu.FreeInstance(c);
  dl_iterate_phdr(list_library, NULL);
  return 0;
}
