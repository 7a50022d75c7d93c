// FMI 2.0 for co-simulation over Slave: which call is allowed when, null pointers, messages.
//
// A call that is refused answers fmi2Error, says why to the importer's logger and leaves the
// instance as it was. Nothing is thrown past this file.
#include "fmi2.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "resources.h"
#include "slave.h"

namespace {

using pliant::Result;
using pliant::Slave;
using pliant::Snapshot;

// ------------------------------------------------------------------------------------- legality

enum Phase : unsigned {
  instantiated = 1,
  initialization = 2,
  stepping = 4,   // a communication step was completed, or none was asked for yet
  discarded = 8,  // the last step failed inside
  terminated = 16,
};
constexpr unsigned kInitialized = stepping | discarded | terminated;
constexpr unsigned kAny = instantiated | initialization | kInitialized;

const char* name_of(unsigned phase) {
  switch (phase) {
    case instantiated:
      return "after fmi2Instantiate";
    case initialization:
      return "in initialization mode";
    case stepping:
      return "while stepping";
    case discarded:
      return "after a discarded step";
    default:
      return "after fmi2Terminate";
  }
}

// In which phases each call may come (FMI 2.0.4, section 4.2.4).
namespace allowed {
constexpr unsigned set_debug_logging = kAny;
constexpr unsigned setup_experiment = instantiated;
constexpr unsigned enter_initialization = instantiated;
constexpr unsigned exit_initialization = initialization;
constexpr unsigned terminate = stepping | discarded;
constexpr unsigned reset = kAny;
constexpr unsigned get = initialization | kInitialized;
constexpr unsigned set = instantiated | initialization | stepping;
constexpr unsigned state = kAny;
constexpr unsigned directional_derivative = initialization | kInitialized;
constexpr unsigned set_input_derivatives = instantiated | initialization | stepping;
constexpr unsigned get_output_derivatives = kInitialized;
constexpr unsigned do_step = stepping;
constexpr unsigned cancel_step = 0;  // no step is ever pending
constexpr unsigned get_status = kInitialized;
}  // namespace allowed

// ------------------------------------------------------------------------------------- instance

constexpr const char* kCategories[] = {"logStatusWarning", "logStatusDiscard", "logStatusError",
                                       "logStatusFatal",   "logEvents",        "logAll"};

class Logger {
 public:
  Logger(const fmi2CallbackFunctions* functions, const char* instance, bool on)
      : logger_(functions == nullptr ? nullptr : functions->logger),
        environment_(functions == nullptr ? nullptr : functions->componentEnvironment),
        instance_(instance == nullptr ? "" : instance),
        events_(on) {}

  void set_events(bool on) { events_ = on; }
  void event(const std::string& message) const {
    if (events_) send(fmi2OK, "logEvents", message);
  }
  void warning(const std::string& message) const { send(fmi2Warning, "logStatusWarning", message); }
  void failure(fmi2Status status, const std::string& message) const {
    send(status, status == fmi2Discard ? "logStatusDiscard" : "logStatusError", message);
  }

 private:
  // The text is complete: only the per cent sign, which a printf would read, is doubled.
  void send(fmi2Status status, const char* category, const std::string& message) const {
    if (logger_ == nullptr) return;
    std::string text;
    for (char c : message) text.append(c == '%' ? 2 : 1, c);
    logger_(environment_, instance_.c_str(), status, category, text.c_str());
  }

  void (*logger_)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
  fmi2ComponentEnvironment environment_;
  std::string instance_;
  bool events_;
};

struct Instance {
  std::unique_ptr<Slave> slave;
  Logger logger;
  Phase phase = instantiated;
  double stop_time = std::numeric_limits<double>::infinity();
  fmi2Status last_step = fmi2OK;

  void tell_warnings() const {
    for (const std::string& warning : slave->warnings()) logger.warning(warning);
  }
  fmi2Status refuse(const char* call, const std::string& why) const {
    logger.failure(fmi2Error, std::string(call) + ": " + why);
    return fmi2Error;
  }
  fmi2Status answer(const char* call, Result result) const {
    if (result == Result::ok) return fmi2OK;
    const fmi2Status status = result == Result::discard ? fmi2Discard : fmi2Error;
    logger.failure(status, std::string(call) + ": " + slave->message());
    return status;
  }
};

// An importer's handle on a saved state; the mark tells it from other pointers of his.
struct SavedState {
  static constexpr unsigned long long kMark = 0x706c69616e742053ULL;
  unsigned long long mark = kMark;
  std::string guid;
  Snapshot snapshot;
};

// Runs a call on an instance if its phase allows it and no exception (out of memory) ends it.
template <class Call>
fmi2Status guarded(fmi2Component component, const char* name, unsigned phases, Call&& call) {
  auto* instance = static_cast<Instance*>(component);
  if (instance == nullptr) return fmi2Error;
  if ((instance->phase & phases) == 0) {
    try {
      return instance->refuse(name, std::string("not allowed ") + name_of(instance->phase));
    } catch (...) {
      return fmi2Error;
    }
  }
  try {
    return call(*instance);
  } catch (const std::bad_alloc&) {
    instance->logger.failure(fmi2Error, "out of memory");
    return fmi2Error;
  } catch (...) {
    return fmi2Error;
  }
}

// The same for calls with lists: `pointers` must be there if there is anything in them.
template <class Call>
fmi2Status guarded_list(fmi2Component component, const char* name, unsigned phases,
                        std::size_t count, std::initializer_list<const void*> pointers,
                        Call&& call) {
  return guarded(component, name, phases, [&](Instance& i) -> fmi2Status {
    for (const void* p : pointers) {
      if (count > 0 && p == nullptr) return i.refuse(name, "null pointer for a list of values");
    }
    return call(i);
  });
}

SavedState* saved(fmi2FMUstate state) {
  auto* s = static_cast<SavedState*>(state);
  return s != nullptr && s->mark == SavedState::kMark ? s : nullptr;
}

// A state of the instance's own model; null and a message if it is none.
const SavedState* own_state(const Instance& i, const char* call, fmi2FMUstate state) {
  const SavedState* s = saved(state);
  if (s == nullptr) {
    i.refuse(call, "the pointer is not a state of this FMU");
  } else if (s->guid != i.slave->guid()) {
    i.refuse(call, "this state belongs to another model");
    s = nullptr;
  }
  return s;
}

}  // namespace

extern "C" {

const char* fmi2GetTypesPlatform() { return "default"; }
const char* fmi2GetVersion() { return "2.0"; }

// ----------------------------------------------------------------------------------- life cycle

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions* functions, fmi2Boolean,
                              fmi2Boolean logging) {
  try {
    const Logger logger(functions, name, logging != 0);
    const auto refuse = [&](const std::string& why) -> fmi2Component {
      logger.failure(fmi2Error, "fmi2Instantiate: " + why);
      return nullptr;
    };
    if (name == nullptr || *name == '\0') return refuse("the instance needs a name");
    if (type != fmi2CoSimulation) return refuse("this FMU is for co-simulation only");
    if (guid == nullptr) return refuse("no GUID given");
    std::string error;
    const std::string folder = pliant::path_of_uri(resources, error);
    if (folder.empty()) return refuse(error);
    std::vector<unsigned char> data;
    if (!pliant::read_file(folder + "/model.pliant", data, error)) return refuse(error);
    std::unique_ptr<Slave> slave = Slave::make(std::move(data), error);
    if (!slave) return refuse("resources/model.pliant: " + error);
    if (slave->guid() != guid) {
      return refuse("GUID " + std::string(guid) + " is not that of the model in resources, " +
                    slave->guid() + ": description and data are of different exports");
    }
    logger.event("instantiated");
    return new Instance{std::move(slave), logger};
  } catch (...) {  // there is no memory for it, nor for a text of its own
    if (functions != nullptr && functions->logger != nullptr) {
      functions->logger(functions->componentEnvironment, name == nullptr ? "" : name, fmi2Error,
                        "logStatusError", "fmi2Instantiate: out of memory");
    }
    return nullptr;
  }
}

void fmi2FreeInstance(fmi2Component component) { delete static_cast<Instance*>(component); }

fmi2Status fmi2SetDebugLogging(fmi2Component component, fmi2Boolean on, std::size_t count,
                               const fmi2String categories[]) {
  return guarded_list(component, "fmi2SetDebugLogging", allowed::set_debug_logging, count,
                      {categories}, [&](Instance& i) -> fmi2Status {
                        bool events = count == 0;
                        for (std::size_t k = 0; k < count; ++k) {
                          const char* category = categories[k] == nullptr ? "" : categories[k];
                          const bool known = std::any_of(
                              std::begin(kCategories), std::end(kCategories),
                              [&](const char* known) { return std::strcmp(known, category) == 0; });
                          if (!known) {
                            return i.refuse("fmi2SetDebugLogging",
                                            "unknown category '" + std::string(category) + "'");
                          }
                          events = events || std::strcmp(category, "logEvents") == 0 ||
                                   std::strcmp(category, "logAll") == 0;
                        }
                        if (events) i.logger.set_events(on != 0);
                        return fmi2OK;
                      });
}

fmi2Status fmi2SetupExperiment(fmi2Component component, fmi2Boolean, fmi2Real, fmi2Real start,
                               fmi2Boolean stop_defined, fmi2Real stop) {
  return guarded(
      component, "fmi2SetupExperiment", allowed::setup_experiment, [&](Instance& i) -> fmi2Status {
        if (stop_defined != 0 && !(stop >= start && std::isfinite(stop))) {
          return i.refuse("fmi2SetupExperiment", "the stop time is before the start");
        }
        const fmi2Status status = i.answer("fmi2SetupExperiment", i.slave->set_start_time(start));
        if (status == fmi2OK) {
          i.stop_time = stop_defined != 0 ? stop : std::numeric_limits<double>::infinity();
        }
        return status;
      });
}

fmi2Status fmi2EnterInitializationMode(fmi2Component component) {
  return guarded(component, "fmi2EnterInitializationMode", allowed::enter_initialization,
                 [](Instance& i) -> fmi2Status {
                   i.phase = initialization;
                   return fmi2OK;
                 });
}

fmi2Status fmi2ExitInitializationMode(fmi2Component component) {
  return guarded(component, "fmi2ExitInitializationMode", allowed::exit_initialization,
                 [](Instance& i) -> fmi2Status {
                   const fmi2Status status =
                       i.answer("fmi2ExitInitializationMode", i.slave->initialize());
                   if (status == fmi2OK) {
                     i.phase = stepping;
                     i.logger.event("initialized");
                     i.tell_warnings();
                   }
                   return status;
                 });
}

fmi2Status fmi2Terminate(fmi2Component component) {
  return guarded(component, "fmi2Terminate", allowed::terminate, [](Instance& i) -> fmi2Status {
    i.phase = terminated;
    i.logger.event("terminated");
    return fmi2OK;
  });
}

fmi2Status fmi2Reset(fmi2Component component) {
  return guarded(component, "fmi2Reset", allowed::reset, [](Instance& i) -> fmi2Status {
    i.slave->reset();
    i.phase = instantiated;
    i.stop_time = std::numeric_limits<double>::infinity();
    i.last_step = fmi2OK;
    i.logger.event("reset");
    return fmi2OK;
  });
}

// -------------------------------------------------------------------------------------- values

fmi2Status fmi2GetReal(fmi2Component component, const fmi2ValueReference references[],
                       std::size_t count, fmi2Real values[]) {
  return guarded_list(
      component, "fmi2GetReal", allowed::get, count, {references, values}, [&](Instance& i) {
        return i.answer("fmi2GetReal", i.slave->get_real(references, count, values));
      });
}

fmi2Status fmi2GetInteger(fmi2Component component, const fmi2ValueReference references[],
                          std::size_t count, fmi2Integer values[]) {
  return guarded_list(
      component, "fmi2GetInteger", allowed::get, count, {references, values}, [&](Instance& i) {
        return i.answer("fmi2GetInteger", i.slave->get_integer(references, count, values));
      });
}

fmi2Status fmi2GetBoolean(fmi2Component component, const fmi2ValueReference references[],
                          std::size_t count, fmi2Boolean values[]) {
  return guarded_list(
      component, "fmi2GetBoolean", allowed::get, count, {references, values}, [&](Instance& i) {
        return i.answer("fmi2GetBoolean", i.slave->get_boolean(references, count, values));
      });
}

fmi2Status fmi2GetString(fmi2Component component, const fmi2ValueReference references[],
                         std::size_t count, fmi2String values[]) {
  return guarded_list(component, "fmi2GetString", allowed::get, count, {references, values},
                      [&](Instance& i) {
                        return i.answer("fmi2GetString", i.slave->refuse_text(references, count));
                      });
}

fmi2Status fmi2SetReal(fmi2Component component, const fmi2ValueReference references[],
                       std::size_t count, const fmi2Real values[]) {
  return guarded_list(
      component, "fmi2SetReal", allowed::set, count, {references, values}, [&](Instance& i) {
        return i.answer("fmi2SetReal", i.slave->set_real(references, count, values));
      });
}

fmi2Status fmi2SetInteger(fmi2Component component, const fmi2ValueReference references[],
                          std::size_t count, const fmi2Integer values[]) {
  return guarded_list(
      component, "fmi2SetInteger", allowed::set, count, {references, values}, [&](Instance& i) {
        return i.answer("fmi2SetInteger", i.slave->set_integer(references, count, values));
      });
}

fmi2Status fmi2SetBoolean(fmi2Component component, const fmi2ValueReference references[],
                          std::size_t count, const fmi2Boolean values[]) {
  return guarded_list(
      component, "fmi2SetBoolean", allowed::set, count, {references, values}, [&](Instance& i) {
        return i.answer("fmi2SetBoolean", i.slave->set_boolean(references, count, values));
      });
}

fmi2Status fmi2SetString(fmi2Component component, const fmi2ValueReference references[],
                         std::size_t count, const fmi2String values[]) {
  return guarded_list(component, "fmi2SetString", allowed::set, count, {references, values},
                      [&](Instance& i) {
                        return i.answer("fmi2SetString", i.slave->refuse_text(references, count));
                      });
}

// --------------------------------------------------------------------------------------- states

fmi2Status fmi2GetFMUstate(fmi2Component component, fmi2FMUstate* state) {
  return guarded(component, "fmi2GetFMUstate", allowed::state, [&](Instance& i) -> fmi2Status {
    if (state == nullptr) return i.refuse("fmi2GetFMUstate", "null pointer for the state");
    if (*state != nullptr && saved(*state) == nullptr) {
      return i.refuse("fmi2GetFMUstate", "the pointer to reuse is not a state of this FMU");
    }
    auto fresh = std::make_unique<SavedState>();
    fresh->guid = i.slave->guid();
    fresh->snapshot.phase = static_cast<int32_t>(i.phase);
    const fmi2Status status = i.answer("fmi2GetFMUstate", i.slave->save(fresh->snapshot));
    if (status != fmi2OK) return status;
    if (*state == nullptr) {
      *state = fresh.release();
    } else {
      *saved(*state) = std::move(*fresh);
    }
    return fmi2OK;
  });
}

fmi2Status fmi2SetFMUstate(fmi2Component component, fmi2FMUstate state) {
  return guarded(component, "fmi2SetFMUstate", allowed::state, [&](Instance& i) -> fmi2Status {
    const SavedState* s = own_state(i, "fmi2SetFMUstate", state);
    if (s == nullptr) return fmi2Error;
    const fmi2Status status = i.answer("fmi2SetFMUstate", i.slave->restore(s->snapshot));
    if (status == fmi2OK) {
      i.phase = static_cast<Phase>(s->snapshot.phase);
      i.last_step = i.phase == discarded ? fmi2Discard : fmi2OK;
    }
    return status;
  });
}

fmi2Status fmi2FreeFMUstate(fmi2Component component, fmi2FMUstate* state) {
  return guarded(component, "fmi2FreeFMUstate", allowed::state, [&](Instance& i) -> fmi2Status {
    if (state == nullptr || *state == nullptr) return fmi2OK;
    SavedState* s = saved(*state);
    if (s == nullptr) {
      return i.refuse("fmi2FreeFMUstate", "the pointer is not a state of this FMU");
    }
    delete s;
    *state = nullptr;
    return fmi2OK;
  });
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component component, fmi2FMUstate state,
                                      std::size_t* size) {
  return guarded(component, "fmi2SerializedFMUstateSize", allowed::state,
                 [&](Instance& i) -> fmi2Status {
                   const SavedState* s = own_state(i, "fmi2SerializedFMUstateSize", state);
                   if (s == nullptr) return fmi2Error;
                   if (size == nullptr) {
                     return i.refuse("fmi2SerializedFMUstateSize", "null pointer for the size");
                   }
                   *size = i.slave->serialize(s->snapshot).size();
                   return fmi2OK;
                 });
}

fmi2Status fmi2SerializeFMUstate(fmi2Component component, fmi2FMUstate state, fmi2Byte bytes[],
                                 std::size_t size) {
  return guarded(
      component, "fmi2SerializeFMUstate", allowed::state, [&](Instance& i) -> fmi2Status {
        const SavedState* s = own_state(i, "fmi2SerializeFMUstate", state);
        if (s == nullptr) return fmi2Error;
        if (bytes == nullptr) {
          return i.refuse("fmi2SerializeFMUstate", "null pointer for the bytes");
        }
        const auto data = i.slave->serialize(s->snapshot);
        if (size < data.size()) {
          return i.refuse(
              "fmi2SerializeFMUstate",
              std::to_string(size) + " bytes are too few; it takes " + std::to_string(data.size()));
        }
        std::memcpy(bytes, data.data(), data.size());
        return fmi2OK;
      });
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component component, const fmi2Byte bytes[],
                                   std::size_t size, fmi2FMUstate* state) {
  return guarded(
      component, "fmi2DeSerializeFMUstate", allowed::state, [&](Instance& i) -> fmi2Status {
        if (bytes == nullptr || state == nullptr) {
          return i.refuse("fmi2DeSerializeFMUstate", "null pointer for the state or its bytes");
        }
        auto fresh = std::make_unique<SavedState>();
        fresh->guid = i.slave->guid();
        const fmi2Status status =
            i.answer("fmi2DeSerializeFMUstate",
                     i.slave->deserialize(reinterpret_cast<const unsigned char*>(bytes), size,
                                          fresh->snapshot));
        if (status != fmi2OK) return status;
        const auto phase = static_cast<unsigned>(fresh->snapshot.phase);
        const bool one_phase = (phase & kAny) != 0 && (phase & (phase - 1)) == 0;
        if (!one_phase || ((phase & kInitialized) != 0) != fresh->snapshot.initialized()) {
          return i.refuse("fmi2DeSerializeFMUstate", "this state is damaged: unknown phase");
        }
        *state = fresh.release();
        return fmi2OK;
      });
}

// ---------------------------------------------------------------------------------- derivatives

fmi2Status fmi2GetDirectionalDerivative(fmi2Component component, const fmi2ValueReference unknown[],
                                        std::size_t unknowns, const fmi2ValueReference known[],
                                        std::size_t knowns, const fmi2Real seed[],
                                        fmi2Real derivative[]) {
  return guarded(
      component, "fmi2GetDirectionalDerivative", allowed::directional_derivative,
      [&](Instance& i) -> fmi2Status {
        const bool missing = (unknowns > 0 && (unknown == nullptr || derivative == nullptr)) ||
                             (knowns > 0 && (known == nullptr || seed == nullptr));
        if (missing) {
          return i.refuse("fmi2GetDirectionalDerivative", "null pointer for a list of values");
        }
        return i.answer(
            "fmi2GetDirectionalDerivative",
            i.slave->directional_derivative(unknown, unknowns, known, knowns, seed, derivative));
      });
}

fmi2Status fmi2SetRealInputDerivatives(fmi2Component component,
                                       const fmi2ValueReference references[], std::size_t count,
                                       const fmi2Integer orders[], const fmi2Real values[]) {
  return guarded_list(component, "fmi2SetRealInputDerivatives", allowed::set_input_derivatives,
                      count, {references, orders, values}, [&](Instance& i) {
                        return i.answer(
                            "fmi2SetRealInputDerivatives",
                            i.slave->set_input_derivatives(references, count, orders, values));
                      });
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component component,
                                        const fmi2ValueReference references[], std::size_t count,
                                        const fmi2Integer orders[], fmi2Real values[]) {
  return guarded_list(component, "fmi2GetRealOutputDerivatives", allowed::get_output_derivatives,
                      count, {references, orders, values}, [&](Instance& i) {
                        return i.answer(
                            "fmi2GetRealOutputDerivatives",
                            i.slave->get_output_derivatives(references, count, orders, values));
                      });
}

// ------------------------------------------------------------------------------------- stepping

fmi2Status fmi2DoStep(fmi2Component component, fmi2Real time, fmi2Real size, fmi2Boolean) {
  return guarded(component, "fmi2DoStep", allowed::do_step, [&](Instance& i) -> fmi2Status {
    // A step may end at the stop time as a clock that adds up millions of steps sees it.
    const double slack = 1e-3 * std::fabs(size);
    if (time + size > i.stop_time + slack) {
      return i.refuse("fmi2DoStep", "the step goes past the stop time " +
                                        std::to_string(i.stop_time) +
                                        " s that fmi2SetupExperiment was given");
    }
    const Result result = i.slave->step(time, size);
    i.tell_warnings();
    const fmi2Status status = i.answer("fmi2DoStep", result);
    if (status != fmi2Error) i.last_step = status;
    if (status == fmi2Discard) i.phase = discarded;
    return status;
  });
}

fmi2Status fmi2CancelStep(fmi2Component component) {
  return guarded(component, "fmi2CancelStep", allowed::cancel_step,
                 [](Instance&) { return fmi2Error; });
}

fmi2Status fmi2GetStatus(fmi2Component component, const fmi2StatusKind kind, fmi2Status* value) {
  return guarded(component, "fmi2GetStatus", allowed::get_status, [&](Instance& i) -> fmi2Status {
    if (kind != fmi2DoStepStatus || value == nullptr) {
      return i.refuse("fmi2GetStatus", "only fmi2DoStepStatus is a status");
    }
    *value = i.last_step;
    return fmi2OK;
  });
}

fmi2Status fmi2GetRealStatus(fmi2Component component, const fmi2StatusKind kind, fmi2Real* value) {
  return guarded(component, "fmi2GetRealStatus", allowed::get_status,
                 [&](Instance& i) -> fmi2Status {
                   if (kind != fmi2LastSuccessfulTime || value == nullptr) {
                     return i.refuse("fmi2GetRealStatus", "only fmi2LastSuccessfulTime is Real");
                   }
                   *value = i.slave->time();
                   return fmi2OK;
                 });
}

fmi2Status fmi2GetIntegerStatus(fmi2Component component, const fmi2StatusKind, fmi2Integer*) {
  return guarded(component, "fmi2GetIntegerStatus", allowed::get_status, [](Instance& i) {
    return i.refuse("fmi2GetIntegerStatus", "no status is an Integer");
  });
}

fmi2Status fmi2GetBooleanStatus(fmi2Component component, const fmi2StatusKind kind,
                                fmi2Boolean* value) {
  return guarded(component, "fmi2GetBooleanStatus", allowed::get_status,
                 [&](Instance& i) -> fmi2Status {
                   if (kind != fmi2Terminated || value == nullptr) {
                     return i.refuse("fmi2GetBooleanStatus", "only fmi2Terminated is Boolean");
                   }
                   *value = 0;  // the model never asks to end the simulation
                   return fmi2OK;
                 });
}

fmi2Status fmi2GetStringStatus(fmi2Component component, const fmi2StatusKind kind,
                               fmi2String* value) {
  return guarded(component, "fmi2GetStringStatus", allowed::get_status,
                 [&](Instance& i) -> fmi2Status {
                   if (kind != fmi2PendingStatus || value == nullptr) {
                     return i.refuse("fmi2GetStringStatus", "only fmi2PendingStatus is a String");
                   }
                   *value = "";
                   return fmi2OK;
                 });
}

}  // extern "C"
