/* Loads an FMU's library by name, as an importer does, with the official types of every function.
 */
#ifndef FMU_H
#define FMU_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "fmi2FunctionTypes.h"

/* All functions of a co-simulation slave. */
#define FOR_ALL_FUNCTIONS(X)  \
  X(GetTypesPlatform)         \
  X(GetVersion)               \
  X(SetDebugLogging)          \
  X(Instantiate)              \
  X(FreeInstance)             \
  X(SetupExperiment)          \
  X(EnterInitializationMode)  \
  X(ExitInitializationMode)   \
  X(Terminate)                \
  X(Reset)                    \
  X(GetReal)                  \
  X(GetInteger)               \
  X(GetBoolean)               \
  X(GetString)                \
  X(SetReal)                  \
  X(SetInteger)               \
  X(SetBoolean)               \
  X(SetString)                \
  X(GetFMUstate)              \
  X(SetFMUstate)              \
  X(FreeFMUstate)             \
  X(SerializedFMUstateSize)   \
  X(SerializeFMUstate)        \
  X(DeSerializeFMUstate)      \
  X(GetDirectionalDerivative) \
  X(SetRealInputDerivatives)  \
  X(GetRealOutputDerivatives) \
  X(DoStep)                   \
  X(CancelStep)               \
  X(GetStatus)                \
  X(GetRealStatus)            \
  X(GetIntegerStatus)         \
  X(GetBooleanStatus)         \
  X(GetStringStatus)

typedef struct {
#define MEMBER(name) fmi2##name##TYPE* name;
  FOR_ALL_FUNCTIONS(MEMBER)
#undef MEMBER
} Fmu;

static inline Fmu load_fmu(const char* library) {
  Fmu fmu;
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
#define LOAD(name)                                      \
  *(void**)&fmu.name = dlsym(handle, "fmi2" #name);     \
  if (fmu.name == NULL) {                               \
    fprintf(stderr, "fmi2" #name " is not exported\n"); \
    exit(2);                                            \
  }
  FOR_ALL_FUNCTIONS(LOAD)
#undef LOAD
  return fmu;
}

/* Messages go to standard error as they are: importers need not expand anything. */
static inline void log_message(fmi2ComponentEnvironment environment, fmi2String instance,
                               fmi2Status status, fmi2String category, fmi2String message, ...) {
  (void)environment;
  fprintf(stderr, "%s %d %s: %s\n", instance, (int)status, category, message);
}

/* Ends the program if a call did not work. */
#define CHECK(call)                                                     \
  do {                                                                  \
    if ((call) != fmi2OK) {                                             \
      fprintf(stderr, "%s:%d: %s failed\n", __FILE__, __LINE__, #call); \
      exit(1);                                                          \
    }                                                                   \
  } while (0)

/* Inputs that a test in another language can compute to the same bits: small whole numbers. */
static inline double input_value(int step, int input) { return (step * 7 + input * 13) % 101 - 50; }

static inline fmi2Component start_instance(const Fmu* fmu, const char* name, const char* guid,
                                           const char* resources,
                                           const fmi2CallbackFunctions* callbacks) {
  fmi2Component c =
      fmu->Instantiate(name, fmi2CoSimulation, guid, resources, callbacks, fmi2False, fmi2False);
  if (c == NULL) exit(1);
  CHECK(fmu->SetupExperiment(c, fmi2False, 0.0, 0.0, fmi2False, 0.0));
  CHECK(fmu->EnterInitializationMode(c));
  CHECK(fmu->ExitInitializationMode(c));
  return c;
}

#endif
