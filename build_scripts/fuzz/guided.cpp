// Targets of libFuzzer: bytes from outside, with the checksums made good so that they get past
// them.
//
//   guided_data_file   an FMU's data file: parsed, then started, stepped and read
//   guided_state       a saved state of the model in PLIANT_FUZZ_MODEL: taken back, stepped, read
//   guided_uri         fmuResourceLocation
//
// A number that is not finite in an answer that is called good ends the program like a crash.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "resources.h"
#include "sections.h"
#include "slave.h"

namespace {

using pliant::Result;
using pliant::Slave;

void demand(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "WRONG: %s\n", what);
  std::abort();
}

void read_all(Slave& slave) {
  for (std::size_t i = 0; i < slave.variables().size(); ++i) {
    const auto reference = static_cast<pliant::Reference>(i);
    double value = 0.0, slope = 0.0;
    const int32_t first = 1;
    if (slave.get_real(&reference, 1, &value) == Result::ok) {
      demand(std::isfinite(value), "a value that is not finite");
    }
    if (slave.get_output_derivatives(&reference, 1, &first, &slope) == Result::ok) {
      demand(std::isfinite(slope), "a derivative that is not finite");
    }
  }
}

// Two steps of its own length.
void run(Slave& slave) {
  read_all(slave);
  double time = slave.time();
  for (int i = 0; i < 2; ++i) {
    if (slave.step(time, slave.internal_step()) != Result::ok) break;
    time += slave.internal_step();
  }
  read_all(slave);
  pliant::Snapshot saved, back;
  if (slave.save(saved) != Result::ok) return;
  const auto bytes = slave.serialize(saved);
  demand(slave.deserialize(bytes.data(), bytes.size(), back) == Result::ok &&
             slave.restore(back) == Result::ok,
         "a saved state is refused");
}

[[maybe_unused]] void use_data_file(const uint8_t* data, std::size_t size) {
  fuzz::Bytes file(data, data + size);
  fuzz::make_good(file);
  std::string error;
  const auto slave = Slave::make({file.begin(), file.end()}, error);
  demand(slave != nullptr || !error.empty(), "refused without a reason");
  if (slave != nullptr && slave->initialize() == Result::ok) run(*slave);
}

std::unique_ptr<Slave> started() {
  const char* path = std::getenv("PLIANT_FUZZ_MODEL");
  std::ifstream file(path == nullptr ? "" : path, std::ios::binary);
  std::vector<unsigned char> bytes(std::istreambuf_iterator<char>(file), {});
  std::string error;
  auto slave = Slave::make(std::move(bytes), error);
  if (slave == nullptr || slave->initialize() != Result::ok) {
    std::fprintf(stderr, "PLIANT_FUZZ_MODEL: %s\n", error.c_str());
    std::exit(2);
  }
  return slave;
}

[[maybe_unused]] void use_state(const uint8_t* data, std::size_t size) {
  static const std::unique_ptr<Slave> slave = started();
  static const pliant::Snapshot start = [] {
    pliant::Snapshot snapshot;
    demand(slave->save(snapshot) == Result::ok, "cannot be saved");
    return snapshot;
  }();
  static const auto head = slave->serialize(start);
  // the header is ours: magic, hash of the model, count, checksum
  constexpr std::size_t kHead = 32;
  fuzz::Bytes bytes(head.begin(), head.begin() + kHead);
  if (size > kHead) bytes.insert(bytes.end(), data + kHead, data + size);
  fuzz::set_word<uint64_t>(bytes, 16, (bytes.size() - kHead) / 8);
  fuzz::set_word<uint64_t>(
      bytes, 24,
      fuzz::fnv1a(bytes.data() + kHead, bytes.size() - kHead, fuzz::fnv1a(bytes.data(), 24)));
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
  pliant::Snapshot snapshot;
  if (slave->deserialize(p, bytes.size(), snapshot) != Result::ok) {
    demand(!slave->message().empty(), "refused without a reason");
    return;
  }
  if (slave->restore(snapshot) == Result::ok && snapshot.initialized()) run(*slave);
  demand(slave->restore(start) == Result::ok, "does not go back to its start");
}

[[maybe_unused]] void use_uri(const uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::string error;
  const std::string path = pliant::path_of_uri(text.c_str(), error);
  demand(path.empty() != error.empty(), "neither a path nor a reason, or both");
  demand(path.find('\0') == std::string::npos, "a path with an end inside");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  PLIANT_TARGET(data, size);
  return 0;
}
