// The slave as a Python object, for the pythonfmu flavour and the tests.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "slave.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using pliant::Reference;
using pliant::Result;
using pliant::Slave;
using References = std::vector<Reference>;

std::unique_ptr<Slave> make(nb::bytes data) {
  const auto* first = reinterpret_cast<const unsigned char*>(data.c_str());
  std::string error;
  auto slave = Slave::make(std::vector<unsigned char>(first, first + data.size()), error);
  if (!slave) throw nb::value_error(error.c_str());
  return slave;
}

void check(const Slave& slave, Result result) {
  if (result != Result::ok) throw nb::value_error(slave.message().c_str());
}

template <class T>
void check_sizes(const References& references, const std::vector<T>& values) {
  if (references.size() != values.size()) {
    throw nb::value_error("one value for each value reference");
  }
}

}  // namespace

NB_MODULE(_slave, module) {
  // An importer that stops at an error frees nothing; that is not this module's leak to report.
  nb::set_leak_warnings(false);
  nb::class_<Slave>(module, "Slave")
      .def(nb::new_(&make), "data"_a)
      .def_prop_ro("guid", &Slave::guid)
      .def_prop_ro("time", &Slave::time)
      .def_prop_ro("message", &Slave::message)
      .def_prop_ro("internal_step", &Slave::internal_step)
      .def("warnings", &Slave::warnings)
      .def_prop_ro("names",
                   [](const Slave& s) {
                     std::vector<std::string> names;
                     for (const pliant::Variable& v : s.variables()) names.push_back(v.name);
                     return names;
                   })
      .def("get_real",
           [](Slave& s, const References& references) {
             std::vector<double> values(references.size());
             check(s, s.get_real(references.data(), references.size(), values.data()));
             return values;
           })
      .def("set_real",
           [](Slave& s, const References& references, const std::vector<double>& values) {
             check_sizes(references, values);
             check(s, s.set_real(references.data(), references.size(), values.data()));
           })
      .def("get_integer",
           [](Slave& s, const References& references) {
             std::vector<int32_t> values(references.size());
             check(s, s.get_integer(references.data(), references.size(), values.data()));
             return values;
           })
      .def("set_integer",
           [](Slave& s, const References& references, const std::vector<int32_t>& values) {
             check_sizes(references, values);
             check(s, s.set_integer(references.data(), references.size(), values.data()));
           })
      .def("get_boolean",
           [](Slave& s, const References& references) {
             std::vector<int32_t> values(references.size());
             check(s, s.get_boolean(references.data(), references.size(), values.data()));
             return values;
           })
      .def("set_boolean",
           [](Slave& s, const References& references, const std::vector<int32_t>& values) {
             check_sizes(references, values);
             check(s, s.set_boolean(references.data(), references.size(), values.data()));
           })
      .def("set_start_time", [](Slave& s, double time) { check(s, s.set_start_time(time)); })
      .def("initialize", [](Slave& s) { check(s, s.initialize()); })
      .def("reset", &Slave::reset)
      .def("step",
           [](Slave& s, double time, double size) {
             const Result result = s.step(time, size);
             if (result == Result::error) check(s, result);
             return result == Result::ok;
           })
      .def("save",
           [](Slave& s) {
             pliant::Snapshot snapshot;
             check(s, s.save(snapshot));
             const auto bytes = s.serialize(snapshot);
             return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
           })
      .def("restore", [](Slave& s, nb::bytes data) {
        pliant::Snapshot snapshot;
        check(s, s.deserialize(reinterpret_cast<const unsigned char*>(data.c_str()), data.size(),
                               snapshot));
        check(s, s.restore(snapshot));
      });
}
