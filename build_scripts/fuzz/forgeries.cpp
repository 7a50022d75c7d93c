// Saved states and data files with good checksums that no run and no export would have written.
//
//   forgeries SEED STATES FILES FOLDER MODEL...
//
// State or file n of seed s is number 0 of seed s + n; one alone is run with the messages shown.
// What is refused changes nothing: the instance goes on bitwise as its twin. What is accepted must
// bear being used: a step, a value, a derivative that is called good is finite, a state that is
// saved is taken back, and its parameters are ones that could have been set. FOLDER is for the
// files.
#include <cmath>
#include <cstdio>
#include <memory>

#include "hard_values.h"
#include "sections.h"

namespace fuzz {
namespace {

struct Counts {
  std::size_t states = 0, states_deserialized = 0, states_accepted = 0, files = 0,
              files_accepted = 0, files_initialized = 0, steps = 0, discarded = 0, values = 0,
              refusals_compared = 0, not_finite = 0, wrong = 0;
};

class Forger {
 public:
  Forger(Model& model, Random random, Counts& counts)
      : m_(model), f_(model.fmu), r_(random), n_(counts) {
    for (const auto* list : {&m_.outputs, &m_.locals, &m_.states}) {
      readable_.insert(readable_.end(), list->begin(), list->end());
    }
  }

 protected:
  using References = std::vector<fmi2ValueReference>;

  void wrong(const char* what) {
    ++n_.wrong;
    if (n_.wrong <= 40) {
      std::printf("WRONG %s %llu (%s): %s\n", watched_name, watched_number, m_.folder.c_str(),
                  what);
    }
  }

  // Counts and judges numbers that came with a status.
  void judge(const char* what, fmi2Status status, const std::vector<double>& values) {
    if (status != fmi2OK) {
      if (status != fmi2Error) wrong(what);
      return;
    }
    n_.values += values.size();
    if (all_finite(values)) return;
    ++n_.not_finite;
    wrong(what);
  }

  fmi2Status read(fmi2Component c, std::vector<double>& values) {
    values.assign(readable_.size(), 0.0);
    const fmi2Status status = f_.GetReal(c, readable_.data(), readable_.size(), values.data());
    judge("a value that is not finite", status, values);
    return status;
  }

  // Whatever it is: it must bear being used, from its own time on and in steps like its own.
  void use(fmi2Component c, double time, double h) {
    std::vector<double> values;
    // (a file may have signals that mean nothing)
    const bool readable = read(c, values) == fmi2OK;
    for (int i = 0; i < 3; ++i) {
      const double size = h * (i == 1 ? 0.7 : 1.0);
      const fmi2Status status = f_.DoStep(c, time, size, fmi2True);
      if (status == fmi2Error) break;
      double last = 0.0;
      if (f_.GetRealStatus(c, fmi2LastSuccessfulTime, &last) != fmi2OK || !std::isfinite(last)) {
        wrong("no last successful time");
      }
      ++(status == fmi2OK ? n_.steps : n_.discarded);
      if (read(c, values) != fmi2OK && readable) wrong("unreadable after a step");
      if (status != fmi2OK) break;
      time += size;
    }
    const std::vector<int> orders(m_.outputs.size(), 1);
    values.assign(m_.outputs.size(), 0.0);
    judge("an output derivative that is not finite",
          f_.GetRealOutputDerivatives(c, m_.outputs.data(), m_.outputs.size(), orders.data(),
                                      values.data()),
          values);
    const References* knowns = !m_.inputs.empty() && r_.chance(0.5) ? &m_.inputs : &m_.states;
    const std::vector<double> seed(knowns->size(), 1.0);
    values.assign(readable_.size(), 0.0);
    judge("a directional derivative that is not finite",
          f_.GetDirectionalDerivative(c, readable_.data(), readable_.size(), knowns->data(),
                                      knowns->size(), seed.data(), values.data()),
          values);
    const Bytes bytes = m_.bytes(c);
    if (bytes.empty()) return wrong("a state that cannot be saved");
    fmi2FMUstate state = nullptr;
    if (f_.DeSerializeFMUstate(c, bytes.data(), bytes.size(), &state) != fmi2OK ||
        f_.SetFMUstate(c, state) != fmi2OK) {
      wrong("a saved state is refused");
    } else if (m_.bytes(c) != bytes) {
      wrong("a saved state comes back as another");
    }
    f_.FreeFMUstate(c, &state);
  }

  Model& m_;
  const Fmu& f_;
  Random r_;
  Counts& n_;
  References readable_;
};

// --------------------------------------------------------------------------------------- states

// Where the numbers of a saved state are: a header of 32 bytes, then the phase and what
// slave_states.cpp lists.
constexpr std::size_t kStateHead = 32;
constexpr uint64_t kTogether = 50;
enum Head {
  phase,
  start_time,
  initialized,
  step,
  integrator,
  algorithm,
  step_in_use,
  input_time,
  clock
};

class States : Forger {
 public:
  States(Model& model, Random random, Counts& counts) : Forger(model, random, counts) {}

  ~States() {
    for (fmi2Component c : {c_, twin_, fresh_}) f_.FreeInstance(c);
  }

  void run(uint64_t number) {
    // some of them from one instance, to have the speed
    if (number / kTogether != block_) restart(number / kTogether);
    r_ = Random(number * 0x2545f4914f6cdd1dULL + 3);
    forge();
  }

 private:
  void restart(uint64_t block) {
    block_ = block;
    r_ = Random(block * 0x2545f4914f6cdd1dULL + 5);
    for (fmi2Component* c : {&c_, &twin_, &fresh_}) {
      if (*c != nullptr) f_.FreeInstance(*c);
      *c = m_.instantiate();
      if (*c == nullptr) std::exit(2);
    }
    const bool before = r_.chance(0.2);
    std::vector<double> values(m_.inputs.size());
    for (double& x : values) x = r_.between(-5.0, 5.0);
    const double size = 1e-3 * static_cast<double>(1 + r_.below(5));
    for (fmi2Component c : {c_, twin_}) {
      if (!m_.parameters.empty()) {
        const double start = m_.starts[m_.parameters[0]] * 1.01;
        if (f_.SetReal(c, &m_.parameters[0], 1, &start) == fmi2Fatal) std::exit(2);
      }
      CHECK(f_.SetupExperiment(c, fmi2False, 0.0, 0.0, fmi2False, 0.0));
      if (before) continue;
      CHECK(f_.EnterInitializationMode(c));
      CHECK(f_.ExitInitializationMode(c));
      CHECK(f_.SetReal(c, m_.inputs.data(), m_.inputs.size(), values.data()));
      if (f_.DoStep(c, 0.0, size, fmi2True) != fmi2OK) std::exit(2);
    }
    good_ = m_.bytes(c_);
  }

  void forge() {
    ++n_.states;
    Bytes bytes = good_;
    change(bytes);
    set_word<uint64_t>(bytes, 16, (bytes.size() - kStateHead) / 8);
    set_word<uint64_t>(bytes, 24,
                       fnv1a(bytes.data() + 32, bytes.size() - 32, fnv1a(bytes.data(), 24)));
    fmi2FMUstate state = nullptr;
    const std::size_t messages = m_.log.messages;
    if (f_.DeSerializeFMUstate(c_, bytes.data(), bytes.size(), &state) != fmi2OK) {
      if (state != nullptr) wrong("a state in spite of the error");
      if (m_.log.messages == messages) wrong("no message");
      return compare();
    }
    ++n_.states_deserialized;
    if (f_.SetFMUstate(c_, state) != fmi2OK) {
      compare();
    } else {
      ++n_.states_accepted;
      // what may come back differs in what it works out for itself only: locks of joints that
      // cannot be locked
      check_parameters();
      const double h = word_at<double>(bytes, kStateHead + 8 * step);
      use(c_, word_at<double>(bytes, kStateHead + 8 * clock), h);
    }
    CHECK(f_.FreeFMUstate(c_, &state));
    CHECK(f_.DeSerializeFMUstate(c_, good_.data(), good_.size(), &state));
    CHECK(f_.SetFMUstate(c_, state));
    CHECK(f_.FreeFMUstate(c_, &state));
  }

  void change(Bytes& bytes) {
    const std::size_t words = (bytes.size() - kStateHead) / 8;
    const auto number = [&](std::size_t at) { return word_at<double>(bytes, kStateHead + 8 * at); };
    const auto set = [&](std::size_t at, double x) { set_word(bytes, kStateHead + 8 * at, x); };
    for (std::size_t i = 0; i <= r_.below(3); ++i) {
      const std::size_t at = r_.chance(0.3) ? r_.below(9) : r_.below(words);
      const double x = number(at);
      switch (r_.below(8)) {
        case 0:
          set(at, hard_number(r_, kMostPosition));
          break;
        case 1:
          set(at, hard_number(r_, r_.chance(0.5) ? kMostRate : kMostAcceleration));
          break;
        case 2:
          set(at, x == 0.0 ? sign(r_) * std::pow(10.0, r_.between(-9.0, 9.0))
                           : x * r_.between(0.9, 1.1));
          break;
        case 3:
          set(at, -x);
          break;
        case 4:
          set(at, static_cast<double>(r_.below(70)) - 2.0);
          break;
        case 5:
          set(at, number(r_.below(words)));
          break;
        case 6:
          set(at, r_.between(-2.0, 2.0));
          break;
        default:
          if (r_.chance(0.1)) {
            bytes.resize(kStateHead + 8 * r_.below(2 * words));
          } else {
            bytes[kStateHead + r_.below(8 * words)] ^= static_cast<char>(1 << r_.below(8));
          }
          return;
      }
    }
  }

  // The instance is what its twin is that nothing was forged for.
  void compare() {
    ++n_.refusals_compared;
    if (m_.bytes(c_) != good_) return wrong("a refused state changed the instance");
    if (!r_.chance(0.2)) return;
    std::vector<double> own, other;
    const fmi2Status status = read(c_, own);
    if (read(twin_, other) != status || (status == fmi2OK && !same_bits(own, other))) {
      wrong("a refused state changed what the instance gives");
    }
  }

  // Parameters of an accepted state are ones that could have been set.
  void check_parameters() {
    std::vector<double> values(m_.parameters.size());
    if (f_.GetReal(c_, m_.parameters.data(), values.size(), values.data()) != fmi2OK) return;
    if (f_.SetReal(fresh_, m_.parameters.data(), values.size(), values.data()) != fmi2OK) {
      wrong("accepted with parameters that cannot be set");
    }
  }

  uint64_t block_ = ~uint64_t{0};
  fmi2Component c_ = nullptr, twin_ = nullptr, fresh_ = nullptr;
  Bytes good_;
};

// ---------------------------------------------------------------------------------------- files

class Files : Forger {
 public:
  Files(Model& model, Random random, Counts& counts, std::string folder)
      : Forger(model, random, counts),
        path_(folder + "/model.pliant"),
        uri_("file://" + folder),
        original_(DataSections::of_file(m_.folder + "/model.pliant")) {
    for (const DataSections::Section& s : original_.sections) {
      if (s.name == "fmu.guid") continue;
      names_.push_back(s.name);
      const bool counts_something = s.type == 0 && s.name.compare(0, 9, "variable.") != 0;
      if (counts_something) count_names_.push_back(s.name);
    }
  }

  void run(uint64_t number) {
    r_ = Random(number * 0x2545f4914f6cdd1dULL + 4);
    forge();
  }

 private:
  void forge() {
    ++n_.files;
    DataSections s = original_;
    const bool counted = r_.chance(0.6);
    for (std::size_t i = 0; i <= r_.below(3); ++i) counted ? change_count(s) : change_value(s);
    if (counted && r_.chance(0.9) && s.fit() && r_.chance(0.8)) {
      s.aim();
      s.fit();  // drives may have changed
    }
    if (counted && r_.chance(0.3)) change_value(s);
    if (r_.chance(0.1)) change_table(s);
    Bytes bytes = s.pack();
    if (r_.chance(0.05)) {  // the table of sections itself
      set_word<uint32_t>(bytes, 32 + 4 * r_.below(14 * s.sections.size()),
                         static_cast<uint32_t>(r_.chance(0.5) ? r_.below(300) : r_.bits()));
      make_good(bytes);
    }
    // (that may have hit the step by which the length of the run is chosen)
    const double h = DataSections::of_bytes(bytes).real("setting.default", 0);
    std::ofstream(path_, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const std::size_t messages = m_.log.messages;
    fmi2Component c = m_.instantiate(uri_);
    if (c == nullptr) {
      if (m_.log.messages == messages) wrong("no message");
      return;
    }
    ++n_.files_accepted;
    f_.SetupExperiment(c, fmi2False, 0.0, 0.0, fmi2False, 0.0);
    if (r_.chance(0.3) && !m_.inputs.empty()) {
      const std::vector<double> values(m_.inputs.size(), 1.5);
      f_.SetReal(c, m_.inputs.data(), values.size(), values.data());
    }
    f_.EnterInitializationMode(c);
    if (f_.ExitInitializationMode(c) == fmi2OK) {
      ++n_.files_initialized;
      use(c, 0.0, h);
    }
    f_.FreeInstance(c);
  }

  // A count, by a little or by much; what depends on it is made to fit by the caller.
  void change_count(DataSections& s) {
    if (r_.chance(0.35)) {  // elements more or less: bodies, nodes, loops, parameters, tables
      const char* lists[] = {"body.parent", "node.body",  "loop.node_a", "parameter.start",
                             "check.kind",  "load.input", "motion.rows"};
      const std::string name = lists[r_.below(7)];
      const auto count = static_cast<int64_t>(s.count(name));
      const int64_t wanted = r_.chance(0.1) ? static_cast<int64_t>(r_.below(300))
                                            : count + static_cast<int64_t>(r_.below(5)) - 2;
      return s.resize(name, std::max<int64_t>(wanted, 0));
    }
    const char* counts[] = {"body.modes",  "body.wheels",     "body.translations",
                            "body.pairs",  "body.rotations",  "body.mass_pairs",
                            "body.slots",  "body.quaternion", "body.gyroscopics",
                            "body.points", "body.turnings",   "slot.entries",
                            "loop.rows",   "loop.freedoms",   "loop.translations",
                            "motion.rows", "load.rows",       "parameter.terms",
                            "body.parent", "dof.drive",       "variable.role"};
    const std::string name = r_.chance(0.8) ? counts[r_.below(21)] : r_.among(count_names_);
    const std::size_t size = s.count(name);
    if (size == 0) return;
    const std::size_t at = r_.below(size);
    const int64_t hard[] = {0,  -1,  1,    2,    3,     4,       7,          64,
                            65, 255, 1000, 1001, 65536, 1 << 30, 2147483647, -2147483647};
    s.set_integer(name, at,
                  r_.chance(0.5) ? s.integer(name, at) + static_cast<int64_t>(r_.below(5)) - 2
                                 : hard[r_.below(16)]);
  }

  void change_value(DataSections& s) {
    DataSections::Section& section = *s.find(r_.among(names_));
    if (section.data.empty()) return;
    const std::size_t at = r_.below(section.count());
    if (section.type == 1) {
      const double x = word_at<double>(section.data, 8 * at);
      const double values[] = {hard_number(r_, 1e12), x * r_.between(0.5, 2.0), -x, x + 1.0,
                               std::pow(10.0, r_.between(-30.0, 30.0))};
      set_word(section.data, 8 * at, values[r_.below(5)]);
    } else if (section.type == 0) {
      const int32_t x = word_at<int32_t>(section.data, 4 * at);
      const int32_t values[] = {0,
                                -1,
                                1,
                                x ^ (1 << r_.below(31)),
                                static_cast<int32_t>(r_.bits()),
                                static_cast<int32_t>(r_.below(10))};
      set_word(section.data, 4 * at, values[r_.below(6)]);
    } else {
      section.data[at] = static_cast<char>(r_.chance(0.3) ? '\n' : r_.bits());
    }
  }

  // Sections gone, doubled, of another type or size.
  void change_table(DataSections& s) {
    const std::size_t at = r_.below(s.sections.size());
    DataSections::Section& section = s.sections[at];
    switch (r_.below(5)) {
      case 0:
        s.sections.erase(s.sections.begin() + static_cast<std::ptrdiff_t>(at));
        return;
      case 1: {
        const DataSections::Section copy = section;
        s.sections.push_back(copy);
        return;
      }
      case 2:
        section.type = static_cast<uint32_t>(r_.below(3));
        section.data.resize(section.count() * section.width());
        return;
      case 3:
        return s.resize(section.name, static_cast<int64_t>(r_.below(section.count() + 4)));
      default:
        section.name = r_.among(names_);
    }
  }

  const std::string path_, uri_;
  const DataSections original_;
  std::vector<std::string> names_, count_names_;
};

int run(uint64_t seed, uint64_t states, uint64_t files, const std::string& folder, int models,
        char** paths) {
  Counts n;
  std::vector<std::unique_ptr<Model>> all;
  std::vector<std::unique_ptr<States>> of_states;
  std::vector<std::unique_ptr<Files>> of_files;
  for (int i = 0; i < models; ++i) {
    all.push_back(std::make_unique<Model>(paths[i]));
    all.back()->log.shown = states + files == 1;
    of_states.push_back(std::make_unique<States>(*all.back(), Random(0), n));
    of_files.push_back(std::make_unique<Files>(*all.back(), Random(0), n, folder));
  }
  for (uint64_t i = seed; i < seed + states; ++i) {
    watch("state", i);
    of_states[i / kTogether % all.size()]->run(i);
  }
  for (uint64_t i = seed; i < seed + files; ++i) {
    watch("file", i);
    of_files[i % all.size()]->run(i);
  }
  of_states.clear();
  std::printf(
      "{\"forged_states\": %zu, \"states_deserialized\": %zu, \"states_accepted\": %zu, "
      "\"forged_files\": %zu, \"files_accepted\": %zu, \"files_initialized\": %zu, \"steps\": %zu, "
      "\"steps_discarded\": %zu, \"values_read\": %zu, \"refusals_compared\": %zu, "
      "\"not_finite_with_ok\": %zu, \"wrong\": %zu}\n",
      n.states, n.states_deserialized, n.states_accepted, n.files, n.files_accepted,
      n.files_initialized, n.steps, n.discarded, n.values, n.refusals_compared, n.not_finite,
      n.wrong);
  return n.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fuzz

int main(int count, char** arguments) {
  if (count < 6) return 2;
  const auto number = [&](int i) { return std::strtoull(arguments[i], nullptr, 10); };
  return fuzz::run(number(1), number(2), number(3), arguments[4], count - 5, arguments + 5);
}
