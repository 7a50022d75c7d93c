// Saving and restoring a slave, in memory and as bytes.
//
// A snapshot: start time, initialized, settings, the step in use, input time, the importer's clock;
// parameters; inputs; input rates; motions from outside; locks; the kernel's state block.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "slave.h"

namespace pliant {
namespace {

constexpr std::size_t kSnapshotHead = 8;

uint64_t hash(const std::string& text) {
  return fnv1a(reinterpret_cast<const unsigned char*>(text.data()), text.size());
}

template <class T>
void append(std::vector<unsigned char>& bytes, T x) {
  const auto* p = reinterpret_cast<const unsigned char*>(&x);
  bytes.insert(bytes.end(), p, p + sizeof x);
}

}  // namespace

Result Slave::save(Snapshot& snapshot) {
  if (build() != Result::ok) return Result::error;
  std::vector<double>& x = snapshot.values;
  x.clear();
  x.reserve(kSnapshotHead + parameters_.size() + 2 * inputs_.size() + motions_.size() +
            locks_.size() + stepper_->state_size());
  x.insert(x.end(),
           {start_time_, initialized_ ? 1.0 : 0.0, options_.step,
            static_cast<double>(options_.integrator), static_cast<double>(options_.algorithm),
            stepper_->step_size(), *stepper_->input_time(), clock_});
  x.insert(x.end(), parameters_.begin(), parameters_.end());
  x.insert(x.end(), inputs_.begin(), inputs_.end());
  x.insert(x.end(), input_rates_.begin(), input_rates_.end());
  x.insert(x.end(), motions_.begin(), motions_.end());
  x.insert(x.end(), locks_.begin(), locks_.end());
  x.insert(x.end(), stepper_->state(), stepper_->state() + stepper_->state_size());
  return Result::ok;
}

Result Slave::restore(const Snapshot& snapshot) {
  const std::vector<double>& x = snapshot.values;
  const std::size_t np = parameters_.size(), ni = inputs_.size();
  if (x.size() !=
      kSnapshotHead + np + 2 * ni + motions_.size() + locks_.size() + stepper_->state_size()) {
    return refuse("this state belongs to another model");
  }
  const auto parameters = x.begin() + kSnapshotHead;
  const auto inputs = parameters + static_cast<std::ptrdiff_t>(np);
  const auto rates = inputs + static_cast<std::ptrdiff_t>(ni);
  const auto motions = rates + static_cast<std::ptrdiff_t>(ni);
  const auto locks = motions + static_cast<std::ptrdiff_t>(motions_.size());
  const auto block = locks + static_cast<std::ptrdiff_t>(locks_.size());
  const bool same_model = built_ && std::equal(parameters, inputs, parameters_.begin()) &&
                          static_cast<double>(options_.integrator) == x[3] &&
                          static_cast<double>(options_.algorithm) == x[4];
  parameters_.assign(parameters, inputs);
  inputs_.assign(inputs, rates);
  input_rates_.assign(rates, motions);
  std::copy(motions, locks, motions_.begin());
  std::transform(locks, block, locks_.begin(),
                 [](double x) { return static_cast<unsigned char>(x != 0.0 ? 1 : 0); });
  start_time_ = x[0];
  initialized_ = x[1] != 0.0;
  options_.step = x[2];
  options_.integrator = static_cast<Integrator>(static_cast<int32_t>(x[3]));
  options_.algorithm = static_cast<Algorithm>(static_cast<int32_t>(x[4]));
  if (!same_model) {
    built_ = false;
    if (build() != Result::ok) return Result::error;
  }
  stepper_->set_step(x[5], x[2]);
  *stepper_->input_time() = x[6];
  clock_ = x[7];
  std::copy(inputs_.begin(), inputs_.end(), stepper_->input());
  std::copy(input_rates_.begin(), input_rates_.end(), stepper_->input_rate());
  stepper_->restore(&*block);
  return Result::ok;
}

// Bytes: "pliant S", hash of the GUID, number of values, checksum of all but itself, the phase and
// the values.
std::vector<unsigned char> Slave::serialize(const Snapshot& snapshot) const {
  std::vector<unsigned char> values;
  append(values, static_cast<double>(snapshot.phase));
  for (double x : snapshot.values) append(values, x);
  std::vector<unsigned char> bytes = {'p', 'l', 'i', 'a', 'n', 't', ' ', 'S'};
  append(bytes, hash(table_.guid));
  append(bytes, static_cast<uint64_t>(values.size() / sizeof(double)));
  std::vector<unsigned char> covered = bytes;
  covered.insert(covered.end(), values.begin(), values.end());
  append(bytes, fnv1a(covered.data(), covered.size()));
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

Result Slave::deserialize(const unsigned char* data, std::size_t size, Snapshot& snapshot) {
  constexpr std::size_t kHead = 32;
  const auto word = [&](std::size_t at) {
    uint64_t x;
    std::memcpy(&x, data + at, sizeof x);
    return x;
  };
  if (size < kHead || std::memcmp(data, "pliant S", 8) != 0) {
    return refuse("this is not a saved state of pliant");
  }
  if (word(8) != hash(table_.guid)) return refuse("this state belongs to another model");
  if ((size - kHead) % sizeof(double) != 0 || word(16) != (size - kHead) / sizeof(double)) {
    return refuse("this state is cut off or was appended to");
  }
  std::vector<unsigned char> covered(data, data + 24);
  covered.insert(covered.end(), data + kHead, data + size);
  if (word(24) != fnv1a(covered.data(), covered.size())) {
    return refuse("this state is damaged: its checksum does not match");
  }
  std::vector<double> x((size - kHead) / sizeof(double));
  std::memcpy(x.data(), data + kHead, size - kHead);
  for (double value : x) {
    if (!std::isfinite(value)) return refuse("this state holds a value that is not finite");
  }
  if (x.size() <= kSnapshotHead) return refuse("this state is cut off");
  const auto among = [](double number, double count) {
    return number >= 0.0 && number < count && number == std::floor(number);
  };
  const double phase = x[0];
  x.erase(x.begin());
  const bool sane =
      among(phase, 64.0) && x[2] > 0.0 && x[5] > 0.0 && among(x[3], 3.0) && among(x[4], 2.0);
  if (!sane) return refuse("this state is damaged: its settings make no sense");
  snapshot.phase = static_cast<int32_t>(phase);
  snapshot.values = std::move(x);
  return Result::ok;
}

}  // namespace pliant
