// Saving and restoring a slave, in memory and as bytes.
//
// A snapshot: start time, initialized, settings, the step in use, input time, the importer's clock;
// parameters; inputs; input rates; motions from outside, their
// rates, which of these were said; locks; the kernel's state block.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "slave.h"

namespace pliant {
namespace {

enum Head { start_time, initialized, step, integrator, algorithm, step_in_use, input_time, clock };
constexpr std::size_t kHead = Head::clock + 1;
constexpr std::size_t kBytesHead = 32;
constexpr double kShortestStepInUse = 1e-13;  // s: of the shortest communication step

uint64_t hash(const std::string& text) {
  return fnv1a(reinterpret_cast<const unsigned char*>(text.data()), text.size());
}

template <class T>
void append(std::vector<unsigned char>& bytes, T x) {
  const auto* p = reinterpret_cast<const unsigned char*>(&x);
  bytes.insert(bytes.end(), p, p + sizeof x);
}

}  // namespace

bool Snapshot::initialized() const { return values[Head::initialized] != 0.0; }

Result Slave::save(Snapshot& snapshot) {
  if (build() != Result::ok) return Result::error;
  std::vector<double>& x = snapshot.values;
  x = {now_.start_time,
       now_.initialized ? 1.0 : 0.0,
       now_.options.step,
       static_cast<double>(now_.options.integrator),
       static_cast<double>(now_.options.algorithm),
       stepper_->step_size(),
       *stepper_->input_time(),
       now_.clock};
  for (const std::vector<double>* part :
       {&now_.parameters, &now_.inputs, &now_.input_rates, &now_.motions, &now_.motion_rates,
        &now_.motion_rated, &now_.locks}) {
    x.insert(x.end(), part->begin(), part->end());
  }
  x.insert(x.end(), stepper_->state(), stepper_->state() + stepper_->state_size());
  return Result::ok;
}

Result Slave::read_condition(const std::vector<double>& x, Condition& next) {
  next = now_;
  std::size_t size = kHead + stepper_->state_size();
  const std::initializer_list<std::vector<double>*> parts = {
      &next.parameters,   &next.inputs,       &next.input_rates, &next.motions,
      &next.motion_rates, &next.motion_rated, &next.locks};
  for (const std::vector<double>* part : parts) size += part->size();
  if (x.size() != size) return refuse("this state belongs to another model");
  const auto is_choice = [](double number, double count) {
    return number >= 0.0 && number < count && number == std::floor(number);
  };
  const auto all_within = [](const std::vector<double>& values, double limit) {
    return std::all_of(values.begin(), values.end(),
                       [limit](double value) { return std::fabs(value) <= limit; });
  };
  const auto flags = [&](const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [&](double v) { return is_choice(v, 2.0); });
  };
  const double* block = x.data() + x.size() - stepper_->state_size();
  const double longest = 1.01 * kLargestTime;
  bool sane = std::fabs(x[Head::start_time]) <= kLargestTime &&
              is_choice(x[Head::initialized], 2.0) && x[Head::step] >= kShortestStep &&
              x[Head::step] <= kLongestStep && is_choice(x[Head::integrator], 3.0) &&
              is_choice(x[Head::algorithm], 2.0) && x[Head::step_in_use] >= kShortestStepInUse &&
              x[Head::step_in_use] <= kWithRounding * kLongestStep &&
              std::fabs(x[Head::input_time]) <= longest && std::fabs(x[Head::clock]) <= longest &&
              stepper_->accepts(block) &&
              std::fabs(block[0] + block[1] * x[Head::step_in_use]) <= longest;
  if (!sane) return refuse("this state is damaged: its settings make no sense");
  next.start_time = x[Head::start_time];
  next.initialized = x[Head::initialized] != 0.0;
  next.options.step = x[Head::step];
  next.options.integrator = static_cast<Integrator>(static_cast<int32_t>(x[Head::integrator]));
  next.options.algorithm = static_cast<Algorithm>(static_cast<int32_t>(x[Head::algorithm]));
  next.clock = x[Head::clock];
  const double* from = x.data() + kHead;
  for (std::vector<double>* part : parts) {
    std::copy(from, from + part->size(), part->begin());
    from += part->size();
  }
  sane = all_within(next.inputs, kLargestInput) && all_within(next.input_rates, kLargestInput) &&
         all_within(next.motion_rates, kLargestInput) && flags(next.motion_rated) &&
         flags(next.locks);
  for (std::size_t i = 0; i < next.motions.size(); ++i) {
    sane = sane && std::fabs(next.motions[i]) <= largest_motion(i);
  }
  if (!sane) return refuse("this state is damaged: its inputs are beyond their limits");
  for (std::size_t i = 0; i < next.parameters.size(); ++i) {
    if (!check_parameter(i, next.parameters[i])) {
      return refuse("this state is damaged: " + message_);
    }
  }
  return check_parameters(next.parameters);
}

Result Slave::restore(const Snapshot& snapshot) {
  const std::vector<double>& x = snapshot.values;
  Condition next;
  if (read_condition(x, next) != Result::ok) return Result::error;
  const bool same_model = built_ && same_bits(next.parameters, now_.parameters) &&
                          next.options.integrator == now_.options.integrator &&
                          next.options.algorithm == now_.options.algorithm;
  if (!same_model) {
    std::shared_ptr<const Model> model;
    std::unique_ptr<Stepper> stepper;
    if (make_model(next, model, stepper) != Result::ok) return Result::error;
    const std::size_t size = stepper->state_size();
    if (size != stepper_->state_size() || !stepper->accepts(x.data() + x.size() - size)) {
      return refuse("this state is damaged: its parameters make another model");
    }
    stepper_ = std::move(stepper);  // before the model that it looks at
    model_ = std::move(model);
    built_ = true;
  }
  now_ = std::move(next);
  stepper_->set_step(x[Head::step_in_use], x[Head::step]);
  *stepper_->input_time() = x[Head::input_time];
  std::copy(now_.inputs.begin(), now_.inputs.end(), stepper_->input());
  std::copy(now_.input_rates.begin(), now_.input_rates.end(), stepper_->input_rate());
  stepper_->restore(x.data() + x.size() - stepper_->state_size());
  for (std::size_t body = 0; body < now_.locks.size(); ++body) {
    now_.locks[body] = stepper_->is_locked(static_cast<int32_t>(body)) ? 1.0 : 0.0;
  }
  read_ = Needs();
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
  const auto word = [&](std::size_t at) {
    uint64_t x;
    std::memcpy(&x, data + at, sizeof x);
    return x;
  };
  if (size < kBytesHead || std::memcmp(data, "pliant S", 8) != 0) {
    return refuse("this is not a saved state of pliant");
  }
  if (word(8) != hash(table_.guid)) return refuse("this state belongs to another model");
  if ((size - kBytesHead) % sizeof(double) != 0 ||
      word(16) != (size - kBytesHead) / sizeof(double)) {
    return refuse("this state is cut off or was appended to");
  }
  if (size == kBytesHead) return refuse("this state is cut off");
  std::vector<unsigned char> covered(data, data + 24);
  covered.insert(covered.end(), data + kBytesHead, data + size);
  if (word(24) != fnv1a(covered.data(), covered.size())) {
    return refuse("this state is damaged: its checksum does not match");
  }
  std::vector<double> x((size - kBytesHead) / sizeof(double));
  std::memcpy(x.data(), data + kBytesHead, size - kBytesHead);
  for (double value : x) {
    if (!std::isfinite(value)) return refuse("this state holds a value that is not finite");
  }
  const double phase = x[0];
  x.erase(x.begin());
  if (!(phase >= 0.0 && phase < 64.0 && phase == std::floor(phase))) {
    return refuse("this state is damaged: its settings make no sense");
  }
  Condition condition;
  if (read_condition(x, condition) != Result::ok) return Result::error;
  snapshot.phase = static_cast<int32_t>(phase);
  snapshot.values = std::move(x);
  return Result::ok;
}

}  // namespace pliant
