// An instance together with an account of where it is by the standard: what every call of a random
// sequence is held against.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "model.h"

namespace fuzz {

inline uint64_t current_sequence = 0;

enum Phase { instantiated = 1, initialization = 2, stepping = 4, discarded = 8, terminated = 16 };
constexpr int kEvery = 31, kAfter = stepping | discarded | terminated;
constexpr int kGet = kAfter | initialization, kSet = instantiated | initialization | stepping;

const double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

// What a call must answer: `works` also allows a step to be discarded where inputs are wild.
enum class Expect { works, refused, either };

struct Counts {
  std::size_t calls = 0, refused = 0, discarded = 0, compared = 0, wrong = 0;
};

// Where an instance is, by this program's account.
struct Account {
  int phase = instantiated;
  double clock = 0.0, stop = kInfinity;
  // Something extreme was set: what needs the model may be refused.
  bool wild = false;
};

struct Saved {
  fmi2FMUstate handle = nullptr;
  Account account;
};

class Judge {
 public:
  Judge(Model& model, Random random, Counts& counts)
      : m_(model), f_(model.fmu), r_(random), counts_(counts) {}

 protected:
  using References = std::vector<fmi2ValueReference>;

  void wrong(const char* function, const char* what) {
    ++counts_.wrong;
    std::printf("WRONG sequence %llu: %s in phase %d: %s\n",
                static_cast<unsigned long long>(current_sequence), function, a_.phase, what);
  }

  // Does a call and holds its status against what is expected of it in this phase.
  template <class Call>
  fmi2Status judged(const char* function, int phases, Expect expect, Call&& call) {
    if ((a_.phase & phases) == 0) expect = Expect::refused;
    const bool compares = expect != Expect::works && !a_.wild && r_.chance(0.25);
    const std::vector<char> before = compares ? m_.bytes(c_) : std::vector<char>();
    const std::size_t messages = m_.log.messages;
    const fmi2Status status = call();
    ++counts_.calls;
    if (status == fmi2OK) {
      if (expect == Expect::refused) wrong(function, "accepted");
      return status;
    }
    if (status == fmi2Discard && std::strcmp(function, "fmi2DoStep") == 0 &&
        expect != Expect::refused) {
      ++counts_.discarded;
      if (!a_.wild) wrong(function, "discarded");
      return status;
    }
    ++counts_.refused;
    if (status != fmi2Error) wrong(function, "neither OK nor Error");
    if (expect == Expect::works && !a_.wild) wrong(function, "refused");
    if (m_.log.messages == messages) wrong(function, "no message");
    if (compares) {
      ++counts_.compared;
      if (before.empty() || m_.bytes(c_) != before) wrong(function, "changed the instance");
    }
    return status;
  }

  // ------------------------------------------------------------------------------ ingredients

  References some(const References& from, std::size_t most = 6) {
    References result;
    if (from.empty()) return result;
    const std::size_t first = r_.below(from.size());
    const std::size_t count = 1 + r_.below(std::min(most, from.size()));
    for (std::size_t i = 0; i < count; ++i) result.push_back(from[(first + i) % from.size()]);
    return result;
  }

  References reals() {
    const References* lists[] = {&m_.inputs, &m_.outputs,    &m_.locals,   &m_.states,
                                 &m_.steps,  &m_.parameters, &m_.constants};
    const References& list = *lists[r_.below(7)];
    return list.empty() ? some(m_.inputs) : some(list);
  }

  fmi2ValueReference unknown() {
    const fmi2ValueReference past = static_cast<fmi2ValueReference>(m_.starts.size());
    const fmi2ValueReference numbers[] = {past, past + 1, 1u << 20, 1u << 31, ~0u};
    return numbers[r_.below(5)];
  }

  double wild_number() {
    const double numbers[] = {kNaN, kInfinity, -kInfinity};
    return numbers[r_.below(3)];
  }

  // A value that a variable may well be given. Parameters stay near their starts; quaternions and
  // inertias among them may still come out as none.
  double sensible(fmi2ValueReference ref, bool parameter) {
    const double start = ref < m_.starts.size() ? m_.starts[ref] : 0.0;
    if (parameter) return start * r_.between(0.9, 1.1) + (r_.chance(0.1) ? 0.3 : 0.0);
    if (refers_to(m_.steps, ref)) return r_.between(2e-4, 2e-3);
    if (refers_to(m_.motions, ref)) return start + r_.between(-0.01, 0.01);
    return r_.between(-5.0, 5.0);
  }

  static bool refers_to(const References& list, fmi2ValueReference ref) {
    return std::find(list.begin(), list.end(), ref) != list.end();
  }

  Model& m_;
  const Fmu& f_;
  Random r_;
  Counts& counts_;
  fmi2Component c_ = nullptr;
  Account a_;
};

}  // namespace fuzz
