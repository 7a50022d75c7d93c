// Steps of the bare kernel in a loop, one a call, as the slave takes them; driven by bench_fmu.py.
#include <algorithm>
#include <string>

#include "data_file.h"
#include "stepper.h"

namespace {
std::shared_ptr<const pliant::Model> model;
std::unique_ptr<pliant::Stepper> stepper;
}  // namespace

#define VISIBLE extern "C" __attribute__((visibility("default")))

// 0 if the model could be read; speeds are those to start with.
VISIBLE int host_open(const void* data, std::size_t size, const double* speeds, double step) {
  pliant::DataFile file(data, size);
  std::string error;
  model = pliant::Model::parse(file, error);
  if (!model) return 1;
  stepper = pliant::make_stepper(*model, "");
  pliant::Options options;
  options.step = step;
  stepper->configure(options);
  std::copy(speeds, speeds + model->u_size, stepper->u());
  stepper->state_written();
  return 0;
}

VISIBLE int host_step(int count) {
  for (int i = 0; i < count; ++i) {
    if (stepper->step(1).code != pliant::Code::ok) return 1;
  }
  return 0;
}
