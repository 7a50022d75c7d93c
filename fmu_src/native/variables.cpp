#include "variables.h"

#include <algorithm>
#include <cmath>

namespace pliant {
namespace {

// Lines of a text; `most` as the rest of the file has it, since a line takes more memory than its
// byte in the file.
std::vector<std::string> lines(DataFile& file, const char* name, std::size_t most) {
  const std::string text = file.text(name);
  std::vector<std::string> result;
  const auto ends = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  if (ends > most) {
    file.fail(std::string("kernel data file: section '") + name + "' has more lines than the " +
              std::to_string(most) + " that belong there");
    return result;
  }
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    result.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

bool within(int32_t x, std::size_t count) { return x >= 0 && static_cast<std::size_t>(x) < count; }

}  // namespace

VariableTable VariableTable::read(DataFile& file) {
  VariableTable t;
  t.guid = file.text("fmu.guid");
  const std::size_t count = file.count("variable.type");
  const std::size_t dofs = file.count("dof.drive");
  const auto names = lines(file, "fmu.names", count);
  const auto sections = lines(file, "fmu.sections", kMostSections);
  t.body_names = lines(file, "names.body", file.count("body.parent"));
  t.speed_names = lines(file, "names.speed", file.count("start.u"));
  t.dof_names = lines(file, "names.dof", dofs);
  t.input_names = lines(
      file, "names.input",
      dofs + 6 * file.count("node.body") + file.count("wheel.node") + file.count("freedom.kind"));
  t.row_names = lines(file, "names.row", file.count("row.kind"));
  if (file.ok() && names.size() != count) {
    file.fail("variable table: " + std::to_string(names.size()) + " names for " +
              std::to_string(count) + " variables");
  }

  const auto type = file.ints("variable.type", count);
  const auto role = file.ints("variable.role", count);
  const auto output = file.ints("variable.output", count);
  const auto tunable = file.ints("variable.tunable", count);
  const auto quantity = file.ints("variable.quantity", count);
  const auto element = file.ints("variable.element", count);
  const auto index = file.ints("variable.index", count);
  const std::size_t parameters = file.count("parameter.start");
  const auto start = file.reals("parameter.start", parameters);
  const auto least = file.reals("parameter.min", parameters);
  const auto most = file.reals("parameter.max", parameters);
  const auto term_counts = file.ints("parameter.terms", parameters);
  const std::size_t terms = file.count("term.index");
  const auto term_section = file.ints("term.section", terms);
  const auto term_index = file.ints("term.index", terms);
  const auto term_slope = file.reals("term.slope", terms);
  const std::size_t checks = file.count("check.kind");
  const auto check_kind = file.ints("check.kind", checks);
  const auto check_parameter = file.ints("check.parameter", checks);
  const std::size_t constants = file.count("constant.value");
  t.constants = file.reals("constant.value", constants);
  t.motions = file.reals("motion.start", file.count("motion.start"));
  const auto setting = file.reals("setting.default", 4);
  const auto limit = file.reals("limit.step", 3);
  const auto cause = lines(file, "limit.cause", limit.size());
  if (!file.ok()) return t;

  const auto reject = [&](const std::string& what) {
    file.fail("variable table: " + what);
    return VariableTable();
  };
  for (std::size_t i = 0; i < count; ++i) {
    // Settings but the step are enumerations, locks Boolean, all else Real.
    const Role is = static_cast<Role>(role[i]);
    const Type fitting = is == Role::lock                       ? Type::boolean
                         : is == Role::setting && index[i] != 0 ? Type::integer
                                                                : Type::real;
    // Between steps the step alone may be set; the state would be lost if the model were built
    // anew.
    const bool may_change = tunable[i] == 0 || (is == Role::setting && index[i] == 0);
    const bool sane = within(role[i], 7) && type[i] == static_cast<int32_t>(fitting) && may_change;
    if (!sane) return reject("'" + names[i] + "' is of no known kind");
    Variable v{names[i],
               fitting,
               is,
               output[i] != 0,
               tunable[i] != 0,
               {static_cast<Quantity>(quantity[i]), element[i], index[i]}};
    const bool exists = v.role == Role::parameter  ? within(index[i], parameters)
                        : v.role == Role::constant ? within(index[i], constants)
                        : v.role == Role::setting  ? within(index[i], 3)
                        : v.role == Role::input    ? within(index[i], t.input_names.size())
                                                   : true;
    if (!exists) return reject("'" + names[i] + "' stands for nothing");
    t.variables.push_back(std::move(v));
  }

  std::size_t term = 0;
  for (std::size_t p = 0; p < parameters; ++p) {
    Parameter parameter{start[p], least[p], most[p], {}};
    if (!(start[p] >= least[p] && start[p] <= most[p])) {
      return reject("a parameter starts outside its limits");
    }
    if (term_counts[p] < 0 || static_cast<std::size_t>(term_counts[p]) > terms - term) {
      return reject("bad parameter terms");
    }
    for (int32_t k = 0; k < term_counts[p]; ++k, ++term) {
      DataFile::Place place;
      if (!within(term_section[term], sections.size()) || term_index[term] < 0 ||
          !file.find_real(sections[static_cast<std::size_t>(term_section[term])],
                          static_cast<std::size_t>(term_index[term]), place)) {
        return reject("a parameter points outside the data");
      }
      parameter.terms.push_back({place, term_slope[term]});
    }
    t.parameters.push_back(std::move(parameter));
  }
  for (std::size_t i = 0; i < checks; ++i) {
    const std::size_t needs = check_kind[i] == 0 ? 4 : 6;
    if (!within(check_kind[i], 2) || check_parameter[i] < 0 ||
        static_cast<std::size_t>(check_parameter[i]) + needs > parameters) {
      return reject("bad parameter check");
    }
    t.checks.push_back(
        {static_cast<Check::Kind>(check_kind[i]), static_cast<std::size_t>(check_parameter[i])});
  }
  for (std::size_t i = 0; i < t.motions.size(); ++i) {
    if (!(std::fabs(t.motions[i]) <= largest_motion(i))) return reject("bad start of a motion");
  }
  const auto choice = [&](double x, int32_t count) {
    return x >= 0.0 && x < count && x == static_cast<double>(static_cast<int32_t>(x));
  };
  const bool sane = setting[0] >= kShortestStep && setting[0] <= kLongestStep &&
                    choice(setting[1], 3) && choice(setting[2], 2) && choice(setting[3], 2);
  if (!sane) return reject("bad settings");
  if (cause.size() != limit.size()) return reject("bad step limits");
  for (std::size_t i = 0; i < limit.size(); ++i) t.step_limits.push_back({limit[i], cause[i]});
  t.options.step = setting[0];
  t.options.integrator = static_cast<Integrator>(static_cast<int32_t>(setting[1]));
  t.options.algorithm = static_cast<Algorithm>(static_cast<int32_t>(setting[2]));
  t.options.node_rotation = static_cast<NodeRotation>(static_cast<int32_t>(setting[3]));
  return t;
}

}  // namespace pliant
