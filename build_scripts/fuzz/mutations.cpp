// Saved states and model files with bytes changed, cut off or added: all must be refused.
//
//   mutations SEED BLOBS FILES FOLDER MODEL...
//
// FOLDER is for the files. Those with good checksums are in forgeries.cpp.
#include <cmath>
#include <cstdio>
#include <memory>

#include "hard_values.h"
#include "sections.h"

namespace fuzz {
namespace {

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

struct Counts {
  std::size_t blobs = 0, files = 0, accepted_blobs = 0, accepted_files = 0, changed = 0;
};

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
    watch("mutated state", i);
    ++counts.blobs;
    if (m.fmu.DeSerializeFMUstate(c, bytes.data(), bytes.size(), &state) != fmi2Error ||
        state != nullptr) {
      ++counts.accepted_blobs;
    }
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
    watch("mutated file", i);
    ++counts.files;
    if (fmi2Component c = instantiated(mutated(original, random))) {
      ++counts.accepted_files;
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
      "\"instances_changed\": %zu}\n",
      counts.blobs, counts.accepted_blobs, counts.files, counts.accepted_files, counts.changed);
  return counts.accepted_blobs + counts.accepted_files + counts.changed == 0 ? 0 : 1;
}
