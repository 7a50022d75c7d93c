// Saved states and model files with bytes changed, cut off or added: all must be refused.
//
//   mutations SEED BLOBS FILES FOLDER MODEL...
//
// Every fourth one more, beside the counts, has its checksum made good again: a forger's work,
// which may be accepted if it makes sense, but must never end the program. FOLDER is for the files.
#include <cmath>
#include <cstdio>
#include <memory>

#include "model.h"

namespace fuzz {
namespace {

using Bytes = std::vector<char>;

uint64_t fnv1a(const char* bytes, std::size_t size, uint64_t hash = 14695981039346656037ULL) {
  for (std::size_t i = 0; i < size; ++i) {
    hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 1099511628211ULL;
  }
  return hash;
}

// Something else than before, always.
Bytes mutated(const Bytes& from, Random& random) {
  Bytes bytes = from;
  do {
    switch (random.below(7)) {
      case 0:  // a bit
        bytes[random.below(bytes.size())] ^= static_cast<char>(1 << random.below(8));
        break;
      case 1:  // some bytes
        for (std::size_t i = 0; i <= random.below(8); ++i) {
          bytes[random.below(bytes.size())] = static_cast<char>(random.bits());
        }
        break;
      case 2:  // the end
        bytes.resize(random.below(bytes.size()) + 1);
        break;
      case 3:  // more at the end
        bytes.resize(bytes.size() + 1 + random.below(64), static_cast<char>(random.bits()));
        break;
      case 4: {  // a stretch moved
        const std::size_t length = 1 + random.below(std::min<std::size_t>(64, bytes.size()));
        const std::size_t a = random.below(bytes.size() - length + 1);
        const std::size_t b = random.below(bytes.size() - length + 1);
        std::memmove(bytes.data() + a, bytes.data() + b, length);
        break;
      }
      case 5:  // the header
        bytes[random.below(std::min<std::size_t>(32, bytes.size()))] ^=
            static_cast<char>(1 + random.below(255));
        break;
      default: {  // a stretch cleared
        const std::size_t length = 1 + random.below(std::min<std::size_t>(256, bytes.size()));
        std::memset(bytes.data() + random.below(bytes.size() - length + 1), 0, length);
      }
    }
  } while (bytes == from);
  return bytes;
}

// A word of eight bytes, or four, replaced by a number that hurts.
Bytes forged(const Bytes& from, Random& random, std::size_t first) {
  Bytes bytes = from;
  // (no tiny number that would be a step: thousand million of them are done, and take their time)
  const double reals[] = {0.0,  -0.0, 1.0, -1.0, 1e300, -1e300, 5e-324, 1e9,
                          1e-6, 0.25, 0.5, 2.0,  3.0,   -7.0,   1e18,   4.0};
  const int32_t ints[] = {0, 1, -1, 2, 3, 7, 255, 65536, 1 << 30, -(1 << 30), 2147483647, 5, 6};
  for (std::size_t i = 0; i <= random.below(3); ++i) {
    if (random.chance(0.5)) {
      const double x = reals[random.below(16)];
      const std::size_t at = first + 8 * random.below((bytes.size() - first) / 8);
      std::memcpy(bytes.data() + at, &x, sizeof x);
    } else {
      const int32_t x = ints[random.below(13)];
      const std::size_t at = first + 4 * random.below((bytes.size() - first) / 4);
      std::memcpy(bytes.data() + at, &x, sizeof x);
    }
  }
  return bytes;
}

struct Counts {
  std::size_t blobs = 0, files = 0, accepted_blobs = 0, accepted_files = 0;
  std::size_t forged = 0, forged_accepted = 0, changed = 0;
};

// Whatever a forged model or state is: it must bear being used.
void use(const Model& m, fmi2Component c, double time) {
  std::vector<double> values(m.outputs.size());
  m.fmu.GetReal(c, m.outputs.data(), m.outputs.size(), values.data());
  for (int i = 0; i < 3; ++i) {
    if (m.fmu.DoStep(c, time + i * 1e-3, 1e-3, fmi2True) != fmi2OK) break;
  }
  std::vector<int> orders(m.outputs.size(), 1);
  m.fmu.GetRealOutputDerivatives(c, m.outputs.data(), m.outputs.size(), orders.data(),
                                 values.data());
}

// An instance some way into a motion.
fmi2Component moving(Model& m, Random& random, double& time) {
  fmi2Component c = m.instantiate();
  if (c == nullptr) std::exit(2);
  CHECK(m.fmu.SetupExperiment(c, fmi2False, 0.0, 0.0, fmi2False, 0.0));
  CHECK(m.fmu.EnterInitializationMode(c));
  CHECK(m.fmu.ExitInitializationMode(c));
  std::vector<double> values(m.inputs.size());
  for (double& x : values) x = random.between(-5.0, 5.0);
  CHECK(m.fmu.SetReal(c, m.inputs.data(), m.inputs.size(), values.data()));
  time = 1e-3 * static_cast<double>(1 + random.below(20));
  CHECK(m.fmu.DoStep(c, 0.0, time, fmi2True));
  return c;
}

void blobs(Model& m, std::size_t count, Random& random, Counts& counts) {
  double time = 0.0;
  fmi2Component c = moving(m, random, time);
  const Bytes blob = m.bytes(c);
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes bytes = mutated(blob, random);
    fmi2FMUstate state = nullptr;
    ++counts.blobs;
    if (m.fmu.DeSerializeFMUstate(c, bytes.data(), bytes.size(), &state) != fmi2Error ||
        state != nullptr) {
      ++counts.accepted_blobs;
    }
    if (i % 4 != 0) continue;
    Bytes false_one = forged(blob, random, 32);
    const uint64_t sum =
        fnv1a(false_one.data() + 32, false_one.size() - 32, fnv1a(false_one.data(), 24));
    std::memcpy(false_one.data() + 24, &sum, sizeof sum);
    ++counts.forged;
    if (m.fmu.DeSerializeFMUstate(c, false_one.data(), false_one.size(), &state) != fmi2OK)
      continue;
    ++counts.forged_accepted;
    if (m.fmu.SetFMUstate(c, state) == fmi2OK) use(m, c, time);
    CHECK(m.fmu.FreeFMUstate(c, &state));
    CHECK(m.fmu.DeSerializeFMUstate(c, blob.data(), blob.size(), &state));
    CHECK(m.fmu.SetFMUstate(c, state));
    CHECK(m.fmu.FreeFMUstate(c, &state));
  }
  if (m.bytes(c) != blob) ++counts.changed;
  m.fmu.FreeInstance(c);
}

Bytes read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

void files(Model& m, std::size_t count, const std::string& folder, Random& random, Counts& counts) {
  const Bytes original = read(m.folder + "/model.pliant");
  if (original.empty()) std::exit(2);
  const std::string path = folder + "/model.pliant", uri = "file://" + folder;
  const auto instantiated = [&](const Bytes& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return m.instantiate(uri);
  };
  for (std::size_t i = 0; i < count; ++i) {
    ++counts.files;
    if (fmi2Component c = instantiated(mutated(original, random))) {
      ++counts.accepted_files;
      m.fmu.FreeInstance(c);
    }
    if (i % 4 != 0) continue;
    Bytes false_one = forged(original, random, 32);
    const uint64_t sum = fnv1a(false_one.data() + 32, false_one.size() - 32);
    std::memcpy(false_one.data() + 24, &sum, sizeof sum);
    ++counts.forged;
    if (fmi2Component c = instantiated(false_one)) {
      ++counts.forged_accepted;
      m.fmu.EnterInitializationMode(c);
      if (m.fmu.ExitInitializationMode(c) == fmi2OK) use(m, c, 0.0);
      m.fmu.FreeInstance(c);
    }
  }
}

}  // namespace
}  // namespace fuzz

int main(int count, char** arguments) {
  using namespace fuzz;
  if (count < 6) return 2;
  const uint64_t seed = std::strtoull(arguments[1], nullptr, 10);
  const std::size_t models = static_cast<std::size_t>(count - 5);
  Counts counts;
  for (std::size_t i = 0; i < models; ++i) {
    Random random(seed + i);
    Model model(arguments[5 + i]);
    const auto share = [&](const char* text) {
      const std::size_t all = std::strtoull(text, nullptr, 10);
      return all / models + (i < all % models ? 1 : 0);
    };
    blobs(model, share(arguments[2]), random, counts);
    files(model, share(arguments[3]), arguments[4], random, counts);
  }
  std::printf(
      "{\"blobs\": %zu, \"blobs_accepted\": %zu, \"files\": %zu, \"files_accepted\": %zu, "
      "\"forged\": %zu, \"forged_accepted\": %zu, \"instances_changed\": %zu}\n",
      counts.blobs, counts.accepted_blobs, counts.files, counts.accepted_files, counts.forged,
      counts.forged_accepted, counts.changed);
  return counts.accepted_blobs + counts.accepted_files + counts.changed == 0 ? 0 : 1;
}
