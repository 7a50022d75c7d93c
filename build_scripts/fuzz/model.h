// What the fuzzers know of an FMU: its variables, and how to make an instance and a copy of it.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "fmu.h"  // of the test hosts

namespace fuzz {

// Random numbers that are the same everywhere (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t count) { return count == 0 ? 0 : bits() % count; }
  bool chance(double p) { return uniform() < p; }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  double between(double a, double b) { return a + (b - a) * uniform(); }
  template <class T>
  const T& among(const std::vector<T>& items) {
    return items[below(items.size())];
  }

 private:
  uint64_t state_;
};

// Counts what the instances say, and prints it if asked to.
struct Log {
  std::size_t messages = 0;
  bool shown = false;
};

inline void count_message(fmi2ComponentEnvironment environment, fmi2String, fmi2Status status,
                          fmi2String, fmi2String message, ...) {
  auto* log = static_cast<Log*>(environment);
  if (message != nullptr && *message != '\0') ++log->messages;
  if (log->shown) std::fprintf(stderr, "  (%d) %s\n", static_cast<int>(status), message);
}

// An FMU as build_scripts/fuzz_fmu.py lists it: library, resources, GUID, then its variables, one
// a line: value reference, kind, start.
struct Model {
  std::string library, folder, guid;
  std::vector<fmi2ValueReference> inputs, motions, outputs, locals, parameters, steps, enumerations,
      locks, constants, states;
  std::vector<double> starts;  // of all variables
  Log log;
  fmi2CallbackFunctions callbacks{};
  Fmu fmu{};

  explicit Model(const std::string& path) {
    std::ifstream file(path);
    std::getline(file, library);
    std::getline(file, folder);
    std::getline(file, guid);
    std::string line;
    while (std::getline(file, line)) {
      std::istringstream words(line);
      fmi2ValueReference reference;
      std::string kind;
      double start;
      words >> reference >> kind >> start;
      if (words.fail()) std::exit(2);
      if (starts.size() <= reference) starts.resize(reference + 1);
      starts[reference] = start;
      list(kind).push_back(reference);
    }
    fmu = load_fmu(library.c_str());
    callbacks = {count_message, std::calloc, std::free, nullptr, &log};
  }
  Model(const Model&) = delete;

  std::vector<fmi2ValueReference>& list(const std::string& kind) {
    if (kind == "input") return inputs;
    if (kind == "motion") return motions;
    if (kind == "output") return outputs;
    if (kind == "local") return locals;
    if (kind == "parameter") return parameters;
    if (kind == "step") return steps;
    if (kind == "enumeration") return enumerations;
    if (kind == "lock") return locks;
    if (kind == "state") return states;
    if (kind == "constant") return constants;
    std::exit(2);
  }

  std::string uri() const { return "file://" + folder; }
  fmi2Component instantiate(const std::string& at) {
    return fmu.Instantiate("fuzzed", fmi2CoSimulation, guid.c_str(), at.c_str(), &callbacks,
                           fmi2False, fmi2False);
  }
  fmi2Component instantiate() { return instantiate(uri()); }

  // A complete copy of an instance, empty if it gives none.
  std::vector<char> bytes(fmi2Component c) const {
    fmi2FMUstate state = nullptr;
    if (fmu.GetFMUstate(c, &state) != fmi2OK) return {};
    std::size_t size = 0;
    CHECK(fmu.SerializedFMUstateSize(c, state, &size));
    std::vector<char> copy(size);
    CHECK(fmu.SerializeFMUstate(c, state, copy.data(), size));
    CHECK(fmu.FreeFMUstate(c, &state));
    return copy;
  }
};

// Memory of this process that is in use, in bytes.
inline std::size_t resident() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0, pages = 0;
  file >> total >> pages;
  return pages * 4096;
}

}  // namespace fuzz
