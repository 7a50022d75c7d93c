// Sequences of allowed calls with numbers that no engineer would give, held against a twin.
//
//   wild SEED SEQUENCES MODEL...
//
// Sequence n of seed s is sequence 0 of seed s + n; one alone is run with the messages shown.
// A call that is refused must say why and change nothing: the twin, which never gets such a call,
// goes on bitwise the same, and so do the bytes of the state. After a step that is good, everything
// can be read and is finite; so is what a discarded step leaves. What any call gives with fmi2OK is
// finite. A state that can be saved is taken back, and the instance that takes it, the mirror, goes
// on bitwise the same from there.
#include <map>
#include <memory>

#include "hard_values.h"
#include "sections.h"

namespace fuzz {
namespace {

struct Counts {
  std::size_t calls = 0, refused = 0, compared = 0, twins_compared = 0, mirrored = 0, steps = 0,
              discarded = 0, values = 0, unreadable = 0, not_finite = 0, wrong = 0;
};

enum class Expect { either, works, refused };

// Instances that are kept for all sequences of a model, since reset() leaves nothing behind.
struct Trio {
  explicit Trio(const std::string& path) : model(path) {
    internal_step =
        DataSections::of_file(model.folder + "/model.pliant").real("setting.default", 0);
    for (fmi2Component& c : components) renew(c);
  }
  ~Trio() {
    for (fmi2Component c : components) model.fmu.FreeInstance(c);
  }
  Trio(const Trio&) = delete;
  Trio& operator=(const Trio&) = delete;

  void renew(fmi2Component& c) {
    if (c != nullptr) model.fmu.FreeInstance(c);
    c = model.instantiate();
    if (c == nullptr) std::exit(2);
  }

  Model model;
  double internal_step;
  fmi2Component components[3] = {};
};

class Sequence {
 public:
  Sequence(Trio& trio, Random random, Counts& counts)
      : trio_(trio), m_(trio.model), f_(trio.model.fmu), r_(random), n_(counts) {
    for (const References* list : {&m_.outputs, &m_.locals, &m_.states}) {
      readable_.insert(readable_.end(), list->begin(), list->end());
    }
    for (fmi2Component& c : trio_.components) {
      if (r_.chance(1.0 / 32)) {
        trio_.renew(c);
      } else if (f_.Reset(c) != fmi2OK) {
        wrong("fmi2Reset", "refused");
      }
    }
    c_ = trio_.components[0];
    followers_ = {trio_.components[1]};
    h_ = trio_.internal_step;
  }

  void run() {
    prepare();
    const std::size_t calls = 4 + r_.below(16);
    for (std::size_t i = 0; i < calls; ++i) call();
    compare();
    if (r_.chance(0.1) && stepping_) {
      apply("fmi2Terminate", Expect::works, [&](fmi2Component c) { return f_.Terminate(c); });
      compare();
    }
    for (fmi2FMUstate& state : saved_) f_.FreeFMUstate(c_, &state);
  }

 private:
  using References = std::vector<fmi2ValueReference>;

  void wrong(const char* function, const char* what) {
    ++n_.wrong;
    if (n_.wrong > 40) return;
    std::printf("WRONG sequence %llu (%s): %s: %s\n", watched_number, m_.folder.c_str(), function,
                what);
  }

  // Does a call on the instance and, unless it was refused, on all that follow it.
  template <class Call>
  fmi2Status apply(const char* function, Expect expect, Call&& call) {
    const bool compares = expect != Expect::works && r_.chance(0.4);
    const std::vector<char> before = compares ? m_.bytes(c_) : std::vector<char>();
    const std::size_t messages = m_.log.messages;
    const fmi2Status status = call(c_);
    ++n_.calls;
    if (m_.log.shown) std::fprintf(stderr, "%s: %d\n", function, static_cast<int>(status));
    if (status == fmi2Error) {
      ++n_.refused;
      if (expect == Expect::works) wrong(function, "refused");
      if (m_.log.messages == messages) wrong(function, "no message");
      if (compares) {
        ++n_.compared;
        if (m_.bytes(c_) != before) wrong(function, "changed the instance");
      }
      return status;
    }
    const bool is_step = std::strcmp(function, "fmi2DoStep") == 0;
    if (status != fmi2OK && status != fmi2Warning && !(status == fmi2Discard && is_step)) {
      wrong(function, "a status that it cannot have");
    }
    if (expect == Expect::refused) wrong(function, "accepted");
    for (fmi2Component other : followers_) {
      if (call(other) != status) wrong(function, "another status for the same instance");
    }
    return status;
  }

  // The same for a call that fills in numbers; they must be finite, and the same for all.
  template <class Call>
  fmi2Status give(const char* function, Expect expect, std::vector<double>& values, Call&& call) {
    bool first = true;
    std::vector<double> own;
    const fmi2Status status = apply(function, expect, [&](fmi2Component c) {
      const fmi2Status s = call(c, values.data());
      if (first) own = values;
      if (!first && s == fmi2OK && !same_bits(own, values)) {
        wrong(function, "another value for the same instance");
        for (std::size_t i = 0; m_.log.shown && i < own.size(); ++i) {
          if (std::memcmp(&own[i], &values[i], sizeof own[i]) != 0) {
            std::fprintf(stderr, "  value %zu: %.17g is %.17g\n", i, own[i], values[i]);
          }
        }
      }
      first = false;
      return s;
    });
    if (status == fmi2Error) return status;
    values = own;
    n_.values += values.size();
    if (!all_finite(values)) {
      ++n_.not_finite;
      wrong(function, "fmi2OK with a value that is not finite");
    }
    return status;
  }

  // Reads all that there is.
  void read(Expect expect) {
    std::vector<double> values(readable_.size());
    if (give("fmi2GetReal", expect, values,
             [&](fmi2Component c, double* x) {
               return f_.GetReal(c, readable_.data(), readable_.size(), x);
             }) == fmi2Error &&
        expect == Expect::works) {
      ++n_.unreadable;
    }
  }

  // Whether all that follow the instance are what it is.
  void compare() {
    ++n_.twins_compared;
    const std::vector<char> own = m_.bytes(c_);
    for (fmi2Component other : followers_) {
      if (m_.bytes(other) != own) wrong("twin", "has another state");
    }
    if (initialized_) read(Expect::either);
  }

  // ------------------------------------------------------------------------------ before stepping

  void prepare() {
    for (std::size_t i = r_.below(4); i > 0; --i) set();
    double start = r_.chance(0.3) ? hard_number(r_, kMostTime) : r_.between(-10.0, 10.0);
    const bool has_stop = r_.chance(0.1);
    const double stop = r_.chance(0.5) ? hard_number(r_, kMostTime) : start + 1.0;
    const double tolerance = hard_number(r_, 1.0);
    const bool has_tolerance = r_.chance(0.5);
    const bool bad =
        !(std::fabs(start) <= kMostTime) || (has_stop && !(stop >= start && std::isfinite(stop)));
    if (apply("fmi2SetupExperiment", bad ? Expect::refused : Expect::works, [&](fmi2Component c) {
          return f_.SetupExperiment(c, has_tolerance, tolerance, start, has_stop, stop);
        }) == fmi2OK) {
      clock_ = start;
    }
    if (r_.chance(0.2)) compare();
    apply("fmi2EnterInitializationMode", Expect::works,
          [&](fmi2Component c) { return f_.EnterInitializationMode(c); });
    initialized_ = true;
    for (std::size_t i = r_.below(3); i > 0; --i) set();
    if (r_.chance(0.3)) direction();
    if (r_.chance(0.3)) read(Expect::either);
    if (apply("fmi2ExitInitializationMode", Expect::either,
              [&](fmi2Component c) { return f_.ExitInitializationMode(c); }) == fmi2OK) {
      stepping_ = true;
      read(Expect::works);
    }
  }

  // --------------------------------------------------------------------------------------- calls

  void call() {
    if (discarded_) return after_discard();
    switch (r_.below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return stepping_ ? step() : set();
      case 4:
      case 5:
      case 6:
        return set();
      case 7:
        return stepping_ && r_.chance(0.5) ? output_slopes() : input_slopes();
      case 8:
        return direction();
      case 9:
        return read(Expect::either);
      case 10:
        return r_.chance(0.5) ? save() : mirror();
      default:
        return restore();
    }
  }

  void step() {
    if (!m_.steps.empty()) {
      std::vector<double> h(1);
      give("fmi2GetReal", Expect::works, h,
           [&](fmi2Component c, double* x) { return f_.GetReal(c, &m_.steps[0], 1, x); });
      h_ = h[0];
    }
    double size = h_ * r_.between(0.5, 3.0), time = clock_;
    if (r_.chance(0.4)) {
      const double sizes[] = {
          hard_number(r_, h_), hard_number(r_, 1e-12), h_ * std::pow(10.0, r_.between(-6.0, 2.5)),
          h_ * static_cast<double>(1 + r_.below(5)), std::pow(10.0, r_.between(-13.0, 7.0))};
      size = sizes[r_.below(5)];
    } else if (r_.chance(0.1)) {
      const double times[] = {hard_number(r_, clock_), hard_number(r_, kMostTime),
                              std::nextafter(clock_, 1e300), clock_ + 1e-7 * size, clock_ + size};
      time = times[r_.below(5)];
    }
    // as many steps as are worth their time, or more than there may be
    const double steps = size / h_;
    if (steps > 100.0 && steps <= 1.1e9) size = h_ * r_.between(1.0, 100.0);
    const bool bad = !(size > 0.0) || !std::isfinite(size) || !std::isfinite(time) ||
                     !(clock_ + size <= 1.1 * kMostTime) || size / h_ > 1.1e9;
    const fmi2Status status =
        apply("fmi2DoStep", bad ? Expect::refused : Expect::either,
              [&](fmi2Component c) { return f_.DoStep(c, time, size, fmi2True); });
    if (status == fmi2Error) return;
    const double target = clock_ + size;
    std::vector<double> last(1);
    give("fmi2GetRealStatus", Expect::works, last, [&](fmi2Component c, double* x) {
      return f_.GetRealStatus(c, fmi2LastSuccessfulTime, x);
    });
    // an importer's clock may part from the model's, by very little a step
    drift_ += std::fabs(time - clock_);
    const double slack = 1e-3 * size + 1e-12 * std::fabs(target) + 1.001 * drift_;
    if (m_.log.shown) {
      std::fprintf(stderr, "  from %.17g, size %.17g, internal step %.17g, now %.17g\n", time, size,
                   h_, last[0]);
    }
    if (status == fmi2Discard) {
      ++n_.discarded;
      discarded_ = true;
      if (!(last[0] >= clock_ - slack && last[0] <= target + slack)) {
        wrong("fmi2GetRealStatus", "the last good time is outside the step");
      }
    } else {
      ++n_.steps;
      clock_ = time + size;
      if (!(std::fabs(last[0] - target) <= slack)) {
        wrong("fmi2GetRealStatus", "the last good time is not the step's end");
      }
    }
    if (status == fmi2Discard || r_.chance(0.7)) read(Expect::works);
  }

  void after_discard() {
    if (r_.chance(0.3)) output_slopes();
    if (r_.chance(0.3)) direction();
    if (r_.chance(0.3)) compare();
    if (saved_.empty() || r_.chance(0.2)) {
      apply("fmi2Reset", Expect::works, [&](fmi2Component c) { return f_.Reset(c); });
      for (fmi2FMUstate& state : saved_) f_.FreeFMUstate(c_, &state);
      saved_.clear();
      discarded_ = initialized_ = stepping_ = false;
      clock_ = 0.0;
      prepare();
    } else {
      restore();
    }
  }

  double value(fmi2ValueReference ref, double limit, double near) {
    const double start = ref < m_.starts.size() ? m_.starts[ref] : 0.0;
    if (r_.chance(0.3)) return hard_number(r_, limit);
    if (r_.chance(0.1)) return start * std::pow(10.0, r_.between(-8.0, 8.0));
    return start + r_.between(-near, near);
  }

  void set() {
    References refs;
    double limit = kMostInput, near = 5.0, most = kMostInput;
    switch (r_.below(8)) {
      case 0:
      case 1:
      case 2:
        refs = some(m_.inputs, 6);
        break;
      case 3:
        refs = some(m_.motions, 3);
        limit = r_.chance(0.3) ? kMostPosition : r_.chance(0.5) ? kMostRate : kMostAcceleration;
        most = kMostAcceleration;
        near = 0.01;
        break;
      case 4:
        return set_steps();
      case 5:
        return set_numbers();
      default:
        if (stepping_) return set_steps();
        return set_parameters();
    }
    std::vector<double> values;
    for (const fmi2ValueReference ref : refs) values.push_back(value(ref, limit, near));
    set_reals(refs, values, [most](double x) { return !(std::fabs(x) <= most); });
  }

  void set_steps() {
    const References refs = some(m_.steps, 1);
    std::vector<double> values;
    for (std::size_t i = 0; i < refs.size(); ++i) {
      values.push_back(r_.chance(0.4) ? hard_number(r_, r_.chance(0.5) ? kLeastStep : kMostStep)
                                      : std::pow(10.0, r_.between(-9.0, 1.0)));
    }
    set_reals(refs, values, [](double x) { return !(x >= kLeastStep && x <= kMostStep); });
  }

  void set_parameters() {
    const References refs = some(m_.parameters, 4);
    std::vector<double> values;
    for (const fmi2ValueReference ref : refs) {
      const double start = m_.starts[ref];
      values.push_back(r_.chance(0.6) ? start * r_.between(0.9, 1.1)
                                      : value(ref, start == 0.0 ? 1.0 : std::fabs(start), 1.0));
    }
    set_reals(refs, values, [](double x) { return !std::isfinite(x); });
  }

  template <class IsBad>
  void set_reals(const References& refs, const std::vector<double>& values, IsBad is_bad) {
    const bool bad = std::any_of(values.begin(), values.end(), is_bad);
    apply("fmi2SetReal", bad ? Expect::refused : Expect::either,
          [&](fmi2Component c) { return f_.SetReal(c, refs.data(), refs.size(), values.data()); });
  }

  void set_numbers() {
    const int hard[] = {0, -1, 7, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()};
    const bool locks = r_.chance(0.5);
    const References refs = some(locks ? m_.locks : m_.enumerations, 3);
    std::vector<int> values;
    for (std::size_t i = 0; i < refs.size(); ++i) {
      values.push_back(r_.chance(0.2) ? hard[r_.below(5)]
                                      : static_cast<int>(locks ? r_.below(2) : 1 + r_.below(3)));
    }
    apply(locks ? "fmi2SetBoolean" : "fmi2SetInteger", Expect::either, [&](fmi2Component c) {
      return locks ? f_.SetBoolean(c, refs.data(), refs.size(), values.data())
                   : f_.SetInteger(c, refs.data(), refs.size(), values.data());
    });
  }

  void input_slopes() {
    const References refs = some(r_.chance(0.7) ? m_.inputs : m_.motions, 4);
    std::vector<int> orders(refs.size(), 1);
    std::vector<double> values;
    bool bad = false;
    for (std::size_t i = 0; i < refs.size(); ++i) {
      values.push_back(r_.chance(0.4) ? hard_number(r_, kMostInput) : r_.between(-5.0, 5.0));
      bad = bad || !(std::fabs(values[i]) <= kMostInput);
    }
    if (!orders.empty() && r_.chance(0.1)) {
      orders[0] = static_cast<int>(r_.bits());
      bad = bad || orders[0] != 1;
    }
    apply("fmi2SetRealInputDerivatives", bad ? Expect::refused : Expect::either,
          [&](fmi2Component c) {
            return f_.SetRealInputDerivatives(c, refs.data(), refs.size(), orders.data(),
                                              values.data());
          });
  }

  void output_slopes() {
    const References refs = r_.chance(0.5) ? m_.outputs : some(m_.outputs, 6);
    const std::vector<int> orders(refs.size(), 1);
    std::vector<double> values(refs.size());
    give("fmi2GetRealOutputDerivatives", Expect::either, values, [&](fmi2Component c, double* x) {
      return f_.GetRealOutputDerivatives(c, refs.data(), refs.size(), orders.data(), x);
    });
  }

  void direction() {
    const References unknowns = some(r_.chance(0.5) ? m_.outputs : m_.locals, 8);
    const References* lists[] = {&m_.inputs, &m_.states, &m_.motions};
    const References knowns = some(*lists[r_.below(3)], 4);
    std::vector<double> seed, answer(unknowns.size());
    bool bad = false;
    for (std::size_t i = 0; i < knowns.size(); ++i) {
      seed.push_back(r_.chance(0.3) ? hard_number(r_, kMostInput) : r_.between(-2.0, 2.0));
      bad = bad || !(std::fabs(seed[i]) <= kMostInput);
    }
    give("fmi2GetDirectionalDerivative", bad ? Expect::refused : Expect::either, answer,
         [&](fmi2Component c, double* x) {
           return f_.GetDirectionalDerivative(c, unknowns.data(), unknowns.size(), knowns.data(),
                                              knowns.size(), seed.data(), x);
         });
  }

  // -------------------------------------------------------------------------------------- states

  void save() {
    if (saved_.size() > 2 || !stepping_) return;
    fmi2FMUstate state = nullptr;
    if (f_.GetFMUstate(c_, &state) != fmi2OK) return wrong("fmi2GetFMUstate", "refused");
    saved_.push_back(state);
    clocks_[state] = clock_;
  }

  void restore() {
    if (saved_.empty()) return;
    fmi2FMUstate state = saved_[r_.below(saved_.size())];
    apply("fmi2SetFMUstate", Expect::works,
          [&](fmi2Component c) { return f_.SetFMUstate(c, state); });
    clock_ = clocks_[state];
    discarded_ = false;
  }

  // An instance that is made from the bytes of this one, and follows it from now on.
  void mirror() {
    if (followers_.size() > 1 || !initialized_) return;
    const std::vector<char> bytes = m_.bytes(c_);
    if (bytes.empty()) return;  // its parameters make no model
    ++n_.mirrored;
    fmi2Component other = trio_.components[2];
    fmi2FMUstate state = nullptr;
    if (f_.DeSerializeFMUstate(other, bytes.data(), bytes.size(), &state) != fmi2OK) {
      return wrong("fmi2DeSerializeFMUstate", "refuses what was saved");
    }
    if (f_.SetFMUstate(other, state) != fmi2OK) {
      wrong("fmi2SetFMUstate", "refuses what was saved");
    } else {
      if (m_.bytes(other) != bytes) wrong("fmi2SetFMUstate", "makes another state of it");
      followers_.push_back(other);
      compare();
    }
    f_.FreeFMUstate(other, &state);
  }

  References some(const References& from, std::size_t most) {
    References result;
    if (from.empty()) return result;
    const std::size_t first = r_.below(from.size());
    const std::size_t count = 1 + r_.below(std::min(most, from.size()));
    for (std::size_t i = 0; i < count; ++i) result.push_back(from[(first + i) % from.size()]);
    return result;
  }

  Trio& trio_;
  Model& m_;
  const Fmu& f_;
  Random r_;
  Counts& n_;
  fmi2Component c_ = nullptr;
  std::vector<fmi2Component> followers_;
  References readable_;
  std::vector<fmi2FMUstate> saved_;
  std::map<fmi2FMUstate, double> clocks_;
  double clock_ = 0.0, drift_ = 0.0, h_ = 1e-3;
  bool initialized_ = false, stepping_ = false, discarded_ = false;
};

int run(uint64_t seed, uint64_t sequences, int models, char** paths) {
  std::vector<std::unique_ptr<Trio>> all;
  for (int i = 0; i < models; ++i) {
    all.push_back(std::make_unique<Trio>(paths[i]));
    all.back()->model.log.shown = sequences == 1;  // to look at it
  }
  Counts n;
  for (uint64_t k = 0; k < sequences; ++k) {
    watch("sequence", seed + k);
    Random random((seed + k) * 0x2545f4914f6cdd1dULL + 2);
    std::size_t which = 0;  // small models more often
    while (which + 1 < all.size() && random.chance(0.4)) ++which;
    Sequence(*all[which], random, n).run();
  }
  std::printf(
      "{\"sequences\": %llu, \"calls\": %zu, \"refused\": %zu, \"refusals_compared\": %zu, "
      "\"twins_compared\": %zu, \"states_mirrored\": %zu, \"steps\": %zu, \"steps_discarded\": "
      "%zu, \"values_read\": %zu, \"unreadable_after_good\": %zu, \"not_finite_with_ok\": %zu, "
      "\"wrong\": %zu}\n",
      static_cast<unsigned long long>(sequences), n.calls, n.refused, n.compared, n.twins_compared,
      n.mirrored, n.steps, n.discarded, n.values, n.unreadable, n.not_finite, n.wrong);
  return n.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fuzz

int main(int count, char** arguments) {
  if (count < 4) return 2;
  return fuzz::run(std::strtoull(arguments[1], nullptr, 10),
                   std::strtoull(arguments[2], nullptr, 10), count - 3, arguments + 3);
}
