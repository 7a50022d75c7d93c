// Random sequences of FMI calls, right and wrong ones, held against what the standard says.
//
//   calls SEED SEQUENCES MODEL...
//
// Sequence n of seed s is sequence 0 of seed s + n, whatever was run before it; one alone is run
// with the messages of the instance shown. The program keeps its own account of the phase and the
// clock of an instance; a status that does not fit it, an error without a message and an error that
// changes the instance are wrong. Sanitizers, if it is built with them, find the rest.
#include <memory>

#include "judge.h"

extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace fuzz {
namespace {

class Sequence : Judge {
 public:
  Sequence(Model& model, fmi2FMUstate foreign, Random random, Counts& counts)
      : Judge(model, random, counts), foreign_(foreign) {}

  void run() {
    c_ = m_.instantiate();
    if (c_ == nullptr) return wrong("fmi2Instantiate", "no instance");
    const std::size_t calls = 5 + r_.below(30);
    for (std::size_t i = 0; i < calls; ++i) call();
    for (Saved& saved : saved_) {
      if (f_.FreeFMUstate(c_, &saved.handle) != fmi2OK) wrong("fmi2FreeFMUstate", "not freed");
    }
    f_.FreeInstance(c_);
  }

 private:
  void call() {
    static constexpr void (Sequence::* kCalls[])() = {
        &Sequence::go_on,     &Sequence::go_on,    &Sequence::do_step,  &Sequence::do_step,
        &Sequence::do_step,   &Sequence::set_real, &Sequence::set_real, &Sequence::set_other,
        &Sequence::get,       &Sequence::get,      &Sequence::save,     &Sequence::restore,
        &Sequence::serialize, &Sequence::slopes,   &Sequence::slopes,   &Sequence::direction,
        &Sequence::status,    &Sequence::logging,  &Sequence::life,     &Sequence::bad_pointers,
    };
    (this->*kCalls[r_.below(std::size(kCalls))])();
  }

  // The call that leads on from where the instance is.
  void go_on() {
    if (a_.phase == instantiated) {
      setup(true);
      enter();
      exit();
    } else if (a_.phase == initialization) {
      exit();
    } else if (a_.phase == stepping) {
      do_step();
    } else {
      reset();
    }
  }

  void setup(bool right) {
    double start = right ? r_.between(-10.0, 10.0) : wild_number();
    const bool has_stop = r_.chance(0.2);
    const double stop = right ? start + r_.between(0.0, 0.1) : start - 1.0;
    const fmi2Status status =
        judged("fmi2SetupExperiment", instantiated, right ? Expect::works : Expect::refused,
               [&] { return f_.SetupExperiment(c_, fmi2False, 0.0, start, has_stop, stop); });
    if (status == fmi2OK) {
      a_.clock = start;
      a_.stop = has_stop ? stop : kInfinity;
    }
  }

  void enter() {
    if (judged("fmi2EnterInitializationMode", instantiated, Expect::works,
               [&] { return f_.EnterInitializationMode(c_); }) == fmi2OK) {
      a_.phase = initialization;
    }
  }

  void exit() {
    if (judged("fmi2ExitInitializationMode", initialization, Expect::works,
               [&] { return f_.ExitInitializationMode(c_); }) == fmi2OK) {
      a_.phase = stepping;
    }
  }

  void reset() {
    if (judged("fmi2Reset", kEvery, Expect::works, [&] { return f_.Reset(c_); }) == fmi2OK) {
      a_ = Account();
    } else {
      wrong("fmi2Reset", "refused");
    }
  }

  void life() {
    switch (r_.below(6)) {
      case 0:
        return setup(r_.chance(0.5));
      case 1:
        return enter();
      case 2:
        return exit();
      case 3:
        if (r_.chance(0.3)) reset();
        return;
      case 4:
        judged("fmi2CancelStep", 0, Expect::refused, [&] { return f_.CancelStep(c_); });
        return;
      default:
        if (judged("fmi2Terminate", stepping | discarded, Expect::works,
                   [&] { return f_.Terminate(c_); }) == fmi2OK) {
          a_.phase = terminated;
        }
    }
  }

  void do_step() {
    double time = a_.clock, size = r_.chance(0.5) ? 1e-3 : r_.between(1e-4, 4e-3);
    Expect expect = Expect::works;
    if (r_.chance(0.25)) {
      const double sizes[] = {0.0, -1e-3, kNaN, kInfinity, 1e30, -kInfinity, -0.0, 1e7};
      const double times[] = {time + 1e-3, time - 1e-3, kNaN, kInfinity, 1e20, -time - 5.0};
      (r_.chance(0.5) ? size = sizes[r_.below(8)] : time = times[r_.below(6)]);
      expect = Expect::refused;
    }
    if (time + size > a_.stop + 2e-3 * std::fabs(size)) expect = Expect::refused;
    if (expect == Expect::works && time + size > a_.stop) expect = Expect::either;
    const fmi2Status status =
        judged("fmi2DoStep", stepping, expect, [&] { return f_.DoStep(c_, time, size, fmi2True); });
    if (status == fmi2OK && a_.phase == stepping) a_.clock = time + size;
    if (status == fmi2Discard) a_.phase = discarded;
  }

  void set_real() {
    References refs;
    Expect expect = Expect::works;
    int phases = kSet;
    bool parameters = false, wild = false;
    switch (r_.below(10)) {
      case 0:
        refs = some(m_.outputs);
        expect = Expect::refused;
        break;
      case 1:
        refs = {unknown()};
        expect = Expect::refused;
        break;
      case 2:
        refs = some(r_.chance(0.5) ? m_.enumerations : m_.locks);
        expect = refs.empty() ? Expect::works : Expect::refused;
        break;
      case 3:
        refs = some(m_.parameters, 3);
        phases = refs.empty() ? kSet : instantiated | initialization;
        expect = Expect::either;
        parameters = !refs.empty();
        break;
      case 4:
        refs = some(m_.steps);
        break;
      case 5:
        refs = some(m_.motions);
        break;
      default:
        refs = some(m_.inputs, 12);
    }
    std::vector<double> values;
    for (fmi2ValueReference ref : refs) values.push_back(sensible(ref, parameters));
    if (!values.empty() && r_.chance(0.1)) {
      values[r_.below(values.size())] = wild_number();
      expect = Expect::refused;
    } else if (expect == Expect::works && !values.empty() && refs != m_.steps && r_.chance(0.01)) {
      values[0] = 1e25;
      wild = true;
      if (refers_to(m_.motions, refs[0])) expect = Expect::refused;
    }
    if (!refs.empty() && r_.chance(0.05)) {
      refs.push_back(refs[0]);
      values.push_back(1.0);
      expect = Expect::refused;
    }
    if (refs.empty()) expect = Expect::works;
    const fmi2Status status = judged("fmi2SetReal", phases, expect, [&] {
      return f_.SetReal(c_, refs.data(), refs.size(), values.data());
    });
    if (status == fmi2OK && (parameters || wild)) a_.wild = true;
  }

  void set_other() {
    const bool locks = !m_.locks.empty() && r_.chance(0.6);
    References refs = some(locks ? m_.locks : m_.enumerations);
    std::vector<int> values;
    for (std::size_t i = 0; i < refs.size(); ++i)
      values.push_back(locks ? r_.chance(0.5) : 1 + static_cast<int>(r_.below(2)));
    Expect expect = Expect::works;
    int phases = locks || refs.empty() ? kSet : instantiated | initialization;
    if (r_.chance(0.3)) {
      expect = Expect::refused;
      switch (r_.below(3)) {
        case 0:
          refs = {unknown()};
          values = {1};
          break;
        case 1:
          refs = some(m_.outputs);
          values.assign(refs.size(), 1);
          break;
        default:
          if (refs.empty()) return;
          refs.push_back(refs[0]);
          values.push_back(1);
      }
    } else if (!locks && !refs.empty() && r_.chance(0.2)) {
      const int numbers[] = {0, -1, 99, std::numeric_limits<int>::min(),
                             std::numeric_limits<int>::max()};
      values[0] = numbers[r_.below(5)];
      expect = Expect::refused;
    }
    if (refs.empty()) expect = Expect::works;
    judged(locks ? "fmi2SetBoolean" : "fmi2SetInteger", phases, expect, [&] {
      return locks ? f_.SetBoolean(c_, refs.data(), refs.size(), values.data())
                   : f_.SetInteger(c_, refs.data(), refs.size(), values.data());
    });
    if (r_.chance(0.1)) {
      const fmi2String text = "x";
      const fmi2ValueReference any = static_cast<fmi2ValueReference>(r_.below(m_.starts.size()));
      judged("fmi2SetString", kSet, Expect::refused,
             [&] { return f_.SetString(c_, &any, 1, &text); });
    }
  }

  void get() {
    References refs = reals();
    Expect expect = Expect::works;
    if (r_.chance(0.2)) {
      refs.push_back(r_.chance(0.5) || m_.enumerations.empty() ? unknown() : m_.enumerations[0]);
      expect = Expect::refused;
    }
    std::vector<double> values(refs.size(), kNaN);
    const fmi2Status status = judged("fmi2GetReal", kGet, expect, [&] {
      return f_.GetReal(c_, refs.data(), refs.size(), values.data());
    });
    if (status == fmi2OK) {
      for (double x : values) {
        if (!std::isfinite(x)) wrong("fmi2GetReal", "a value that is not finite");
      }
    }
    References others = some(r_.chance(0.5) ? m_.enumerations : m_.locks);
    const bool locks = !others.empty() && refers_to(m_.locks, others[0]);
    std::vector<int> numbers(others.size());
    const bool swapped = r_.chance(0.2) && !others.empty();
    judged(locks != swapped ? "fmi2GetBoolean" : "fmi2GetInteger", kGet,
           swapped ? Expect::refused : Expect::works, [&] {
             return locks != swapped
                        ? f_.GetBoolean(c_, others.data(), others.size(), numbers.data())
                        : f_.GetInteger(c_, others.data(), others.size(), numbers.data());
           });
    if (r_.chance(0.1)) {
      fmi2String text;
      const fmi2ValueReference any = static_cast<fmi2ValueReference>(r_.below(m_.starts.size()));
      judged("fmi2GetString", kGet, Expect::refused,
             [&] { return f_.GetString(c_, &any, 1, &text); });
    }
  }

  void save() {
    const bool again = !saved_.empty() && r_.chance(0.3);
    if (!again && saved_.size() > 3) return;
    Saved fresh;
    Saved& target = again ? saved_[r_.below(saved_.size())] : fresh;
    const fmi2Status status = judged("fmi2GetFMUstate", kEvery, Expect::works,
                                     [&] { return f_.GetFMUstate(c_, &target.handle); });
    if (status != fmi2OK) return;
    target.account = a_;
    if (!again) saved_.push_back(fresh);
  }

  void restore() {
    if (saved_.empty()) return;
    const std::size_t which = r_.below(saved_.size());
    const bool foreign = r_.chance(0.2);
    const fmi2FMUstate state = foreign ? foreign_ : saved_[which].handle;
    const fmi2Status status =
        judged("fmi2SetFMUstate", kEvery, foreign ? Expect::refused : Expect::works,
               [&] { return f_.SetFMUstate(c_, state); });
    if (status == fmi2OK && !foreign) {
      const double stop = a_.stop;  // belongs to the experiment, not to the state
      a_ = saved_[which].account;
      a_.stop = stop;
    }
    if (r_.chance(0.2)) {
      judged("fmi2FreeFMUstate", kEvery, Expect::works,
             [&] { return f_.FreeFMUstate(c_, &saved_[which].handle); });
      saved_.erase(saved_.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }

  void serialize() {
    if (saved_.empty() || saved_.size() > 3) return;
    const Saved& from = r_.among(saved_);
    std::size_t size = 0;
    if (judged("fmi2SerializedFMUstateSize", kEvery, Expect::works,
               [&] { return f_.SerializedFMUstateSize(c_, from.handle, &size); }) != fmi2OK) {
      return;
    }
    std::vector<char> bytes(size);
    const std::size_t room = r_.chance(0.1) ? r_.below(size) : size;
    const fmi2Status written =
        judged("fmi2SerializeFMUstate", kEvery, room < size ? Expect::refused : Expect::works,
               [&] { return f_.SerializeFMUstate(c_, from.handle, bytes.data(), room); });
    if (written != fmi2OK) return;
    Expect expect = Expect::works;
    if (r_.chance(0.5)) {
      expect = Expect::refused;
      if (r_.chance(0.5)) {
        bytes[r_.below(size)] ^= static_cast<char>(1 << r_.below(8));
      } else {
        bytes.resize(r_.below(size));
      }
    }
    Saved copy;
    copy.account = from.account;
    // never null, so that an empty list is one
    const char* data = bytes.empty() ? "" : bytes.data();
    if (judged("fmi2DeSerializeFMUstate", kEvery, expect, [&] {
          return f_.DeSerializeFMUstate(c_, data, bytes.size(), &copy.handle);
        }) == fmi2OK) {
      saved_.push_back(copy);
    } else if (copy.handle != nullptr) {
      wrong("fmi2DeSerializeFMUstate", "a state in spite of the error");
    }
  }

  void slopes() {
    const bool into = r_.chance(0.5);
    References refs = some(into ? m_.inputs : m_.outputs);
    std::vector<int> orders(refs.size(), 1);
    std::vector<double> values(refs.size(), 1.0);
    Expect expect = Expect::works;
    if (!refs.empty() && r_.chance(0.3)) {
      expect = Expect::refused;
      switch (r_.below(4)) {
        case 0:
          orders[0] = r_.chance(0.5) ? 0 : 2;
          break;
        case 1:
          refs[0] = unknown();
          break;
        case 2:
          refs = some(into ? m_.outputs : m_.inputs);
          orders.assign(refs.size(), 1);
          values.assign(refs.size(), 1.0);
          break;
        default:
          if (!into) return;
          values[0] = wild_number();
      }
    }
    if (refs.empty()) expect = Expect::works;
    judged(into ? "fmi2SetRealInputDerivatives" : "fmi2GetRealOutputDerivatives",
           into ? kSet : kAfter, expect, [&] {
             return into ? f_.SetRealInputDerivatives(c_, refs.data(), refs.size(), orders.data(),
                                                      values.data())
                         : f_.GetRealOutputDerivatives(c_, refs.data(), refs.size(), orders.data(),
                                                       values.data());
           });
  }

  void direction() {
    References unknowns = some(r_.chance(0.5) ? m_.outputs : m_.locals);
    References knowns = some(r_.chance(0.5) || m_.states.empty() ? m_.inputs : m_.states, 3);
    std::vector<double> seed(knowns.size(), 1.0), answer(unknowns.size());
    Expect expect = Expect::works;
    if (!knowns.empty() && !unknowns.empty() && r_.chance(0.3)) {
      expect = Expect::refused;
      switch (r_.below(4)) {
        case 0:
          knowns[0] = unknown();
          break;
        case 1:
          unknowns[0] = unknown();
          break;
        case 2:
          seed[0] = wild_number();
          break;
        default:
          if (m_.parameters.empty()) return;
          knowns[0] = m_.parameters[0];
      }
    }
    judged("fmi2GetDirectionalDerivative", kGet, expect, [&] {
      return f_.GetDirectionalDerivative(c_, unknowns.data(), unknowns.size(), knowns.data(),
                                         knowns.size(), seed.data(), answer.data());
    });
  }

  void status() {
    const auto kind = static_cast<fmi2StatusKind>(r_.chance(0.8) ? r_.below(4) : r_.bits() & 0xff);
    const auto ask = [&](const char* function, int right, auto* call, auto* value) {
      judged(function, kAfter, static_cast<int>(kind) == right ? Expect::works : Expect::refused,
             [&] { return call(c_, kind, value); });
    };
    fmi2Status step;
    double real;
    int number;
    fmi2String text;
    ask("fmi2GetStatus", 0, f_.GetStatus, &step);
    ask("fmi2GetRealStatus", 2, f_.GetRealStatus, &real);
    ask("fmi2GetIntegerStatus", -1, f_.GetIntegerStatus, &number);
    ask("fmi2GetBooleanStatus", 3, f_.GetBooleanStatus, &number);
    ask("fmi2GetStringStatus", 1, f_.GetStringStatus, &text);
  }

  void logging() {
    const fmi2String categories[] = {"logEvents", r_.chance(0.5) ? "logAll" : "nonsense"};
    const bool known = std::strcmp(categories[1], "logAll") == 0;
    judged("fmi2SetDebugLogging", kEvery, known ? Expect::works : Expect::refused,
           [&] { return f_.SetDebugLogging(c_, r_.chance(0.5), 2, categories); });
  }

  void bad_pointers() {
    const fmi2ValueReference input = 0;
    double garbage[32] = {}, value = 0.0;
    fmi2FMUstate not_a_state = garbage;
    std::size_t size = 0;
    const bool other = r_.chance(0.5);
    const auto bad = [&](const char* function, auto* call, auto... arguments) {
      judged(function, kEvery, Expect::refused, [&] { return call(c_, arguments...); });
    };
    constexpr std::nullptr_t null = nullptr;
    switch (r_.below(12)) {
      case 0:
        return bad("fmi2GetReal", f_.GetReal, null, 3, &value);
      case 1:
        return bad("fmi2GetReal", f_.GetReal, &input, ~std::size_t{0}, null);
      case 2:
        return bad("fmi2SetReal", f_.SetReal, &input, 1, null);
      case 3:
        return bad("fmi2SetFMUstate", f_.SetFMUstate, other ? not_a_state : null);
      case 4:
        return bad("fmi2FreeFMUstate", f_.FreeFMUstate, &not_a_state);
      case 5:
        return bad("fmi2GetFMUstate", f_.GetFMUstate, other ? &not_a_state : null);
      case 6:
        return bad("fmi2SerializedFMUstateSize", f_.SerializedFMUstateSize,
                   other ? foreign_ : not_a_state, &size);
      case 7:
        return bad("fmi2DeSerializeFMUstate", f_.DeSerializeFMUstate, null, 100, &not_a_state);
      case 8:
        return bad("fmi2GetDirectionalDerivative", f_.GetDirectionalDerivative, &input, 1, null, 1,
                   &value, &value);
      case 9:
        return bad("fmi2SetDebugLogging", f_.SetDebugLogging, fmi2True, 1, null);
      case 10:
        return bad("fmi2SetRealInputDerivatives", f_.SetRealInputDerivatives, &input, 1, null,
                   &value);
      default:
        if (f_.DoStep(nullptr, 0.0, 1e-3, fmi2True) != fmi2Error) {
          wrong("fmi2DoStep", "of no instance");
        }
    }
  }

  fmi2FMUstate foreign_;
  std::vector<Saved> saved_;
};

int run(uint64_t seed, uint64_t sequences, int models, char** paths) {
  std::vector<std::unique_ptr<Model>> all;
  std::vector<fmi2Component> owners;
  std::vector<fmi2FMUstate> states;
  for (int i = 0; i < models; ++i) {
    all.push_back(std::make_unique<Model>(paths[i]));
    owners.push_back(all.back()->instantiate());
    states.push_back(nullptr);
    if (owners.back() == nullptr) return 2;
    all.back()->log.shown = sequences == 1;  // to look at it
    CHECK(all.back()->fmu.GetFMUstate(owners.back(), &states.back()));
  }
  Counts counts;
  for (uint64_t n = 0; n < sequences; ++n) {
    current_sequence = seed + n;
    Random random(current_sequence * 0x2545f4914f6cdd1dULL + 1);
    // small models more often: what is looked for are calls, not motions
    std::size_t which = 0;
    while (which + 1 < all.size() && random.chance(0.25)) ++which;
    Sequence(*all[which], states[(which + 1) % all.size()], random, counts).run();
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i]->fmu.FreeFMUstate(owners[i], &states[i]));
    all[i]->fmu.FreeInstance(owners[i]);
  }
  std::printf(
      "{\"sequences\": %llu, \"calls\": %zu, \"refused\": %zu, \"discarded\": %zu, "
      "\"states_compared\": %zu, \"wrong\": %zu}\n",
      static_cast<unsigned long long>(sequences), counts.calls, counts.refused, counts.discarded,
      counts.compared, counts.wrong);
  return counts.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fuzz

int main(int count, char** arguments) {
  if (count < 5) return 2;  // two models at least: each is a stranger to the other
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback([] {
      std::fprintf(stderr, "in sequence %llu\n",
                   static_cast<unsigned long long>(fuzz::current_sequence));
    });
  }
  return fuzz::run(std::strtoull(arguments[1], nullptr, 10),
                   std::strtoull(arguments[2], nullptr, 10), count - 3, arguments + 3);
}
