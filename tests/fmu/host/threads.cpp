// Many instances at once, one a thread: each must do what it does alone.
//
//   threads LIBRARY RESOURCES GUID INPUTS INSTANCES STEPS
//
// Instances differ by which of four input histories they get. Prints how many ended with bitwise
// the state of a lone instance with the same inputs.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "fmu.h"

namespace {

constexpr int kHistories = 4;
constexpr double kStep = 1e-3;

struct Task {
  Fmu fmu;
  std::string resources, guid;
  int inputs, steps;
};

std::vector<char> state_of(const Fmu& fmu, fmi2Component c) {
  fmi2FMUstate state = nullptr;
  std::size_t size = 0;
  CHECK(fmu.GetFMUstate(c, &state));
  CHECK(fmu.SerializedFMUstateSize(c, state, &size));
  std::vector<char> bytes(size);
  CHECK(fmu.SerializeFMUstate(c, state, bytes.data(), size));
  CHECK(fmu.FreeFMUstate(c, &state));
  return bytes;
}

// The whole life of an instance; `ready` is waited for after its start.
template <class Ready>
std::vector<char> run(const Task& task, int history, Ready&& ready) {
  const fmi2CallbackFunctions callbacks = {log_message, calloc, free, nullptr, nullptr};
  const Fmu& fmu = task.fmu;
  fmi2Component c =
      start_instance(&fmu, "one", task.guid.c_str(), task.resources.c_str(), &callbacks);
  ready();
  std::vector<fmi2ValueReference> into;
  std::vector<double> values(static_cast<std::size_t>(task.inputs));
  for (int i = 0; i < task.inputs; ++i) into.push_back(static_cast<fmi2ValueReference>(i));
  for (int step = 0; step < task.steps; ++step) {
    for (int i = 0; i < task.inputs; ++i) {
      values[static_cast<std::size_t>(i)] = input_value(step + 29 * history, i);
    }
    CHECK(fmu.SetReal(c, into.data(), into.size(), values.data()));
    CHECK(fmu.DoStep(c, step * kStep, kStep, fmi2True));
  }
  std::vector<char> state = state_of(fmu, c);
  fmu.FreeInstance(c);
  return state;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 7) return 2;
  const Task task = {load_fmu(arguments[1]), arguments[2], arguments[3], atoi(arguments[4]),
                     atoi(arguments[6])};
  const int instances = atoi(arguments[5]);

  std::vector<std::vector<char>> alone, together(static_cast<std::size_t>(instances));
  for (int history = 0; history < kHistories; ++history) {
    alone.push_back(run(task, history, [] {}));
  }
  std::atomic<int> waiting{instances};
  std::vector<std::thread> threads;
  for (int i = 0; i < instances; ++i) {
    threads.emplace_back([&, i] {
      together[static_cast<std::size_t>(i)] = run(task, i % kHistories, [&] {
        --waiting;
        while (waiting > 0) std::this_thread::yield();
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  int equal = 0;
  for (int i = 0; i < instances; ++i) {
    equal +=
        together[static_cast<std::size_t>(i)] == alone[static_cast<std::size_t>(i % kHistories)];
  }
  std::printf("%d of %d equal, histories differ: %d\n", equal, instances, alone[0] != alone[1]);
  return 0;
}
