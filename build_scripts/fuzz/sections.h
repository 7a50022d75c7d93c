// The FMU's data file as a list of sections, to change it as a forger would: counts together with
// all that depends on them, and the checksum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace fuzz {

using Bytes = std::vector<char>;

inline uint64_t fnv1a(const char* bytes, std::size_t size,
                      uint64_t hash = 14695981039346656037ULL) {
  for (std::size_t i = 0; i < size; ++i) {
    hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 1099511628211ULL;
  }
  return hash;
}

// Forged indices lead anywhere, also below zero.
inline bool has_word(const Bytes& bytes, std::size_t at, std::size_t size) {
  return size <= bytes.size() && at <= bytes.size() - size;
}

template <class T>
T word_at(const Bytes& bytes, std::size_t at) {
  T x{};
  if (has_word(bytes, at, sizeof x)) std::memcpy(&x, bytes.data() + at, sizeof x);
  return x;
}

template <class T>
void set_word(Bytes& bytes, std::size_t at, T x) {
  if (has_word(bytes, at, sizeof x)) std::memcpy(bytes.data() + at, &x, sizeof x);
}

// Makes the size and the checksum of a data file what they ought to be.
inline void make_good(Bytes& file) {
  if (file.size() < 32) return;
  std::memcpy(file.data(), "pliant\0\0", 8);
  set_word<uint32_t>(file, 8, 1);
  set_word<uint64_t>(file, 16, file.size());
  set_word<uint64_t>(file, 24, fnv1a(file.data() + 32, file.size() - 32));
}

class DataSections {
 public:
  struct Section {
    std::string name;
    uint32_t type;  // 0: int32, 1: float64, 2: bytes
    Bytes data;
    std::size_t width() const { return type == 0 ? 4 : type == 1 ? 8 : 1; }
    std::size_t count() const { return data.size() / width(); }
  };
  std::vector<Section> sections;

  // What can be read of it; a damaged file gives what stands before the damage.
  static DataSections of_bytes(const Bytes& file) {
    DataSections result;
    const std::size_t count = word_at<uint32_t>(file, 12);
    for (std::size_t i = 0; i < count && 32 + 56 * (i + 1) <= file.size(); ++i) {
      const char* row = file.data() + 32 + 56 * i;
      Section s{std::string(row, strnlen(row, 32)), word_at<uint32_t>(file, 32 + 56 * i + 32), {}};
      const auto offset = word_at<uint64_t>(file, 32 + 56 * i + 40);
      const auto size = word_at<uint64_t>(file, 32 + 56 * i + 48);
      if (s.type > 2 || offset > file.size() || size > (file.size() - offset) / s.width()) break;
      const char* begin = file.data() + offset;
      s.data.assign(begin, begin + size * s.width());
      result.sections.push_back(std::move(s));
    }
    return result;
  }

  static DataSections of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return of_bytes(Bytes(std::istreambuf_iterator<char>(file), {}));
  }

  Bytes pack() const {
    Bytes file(32 + 56 * sections.size());
    set_word<uint32_t>(file, 12, static_cast<uint32_t>(sections.size()));
    for (std::size_t i = 0; i < sections.size(); ++i) {
      const Section& s = sections[i];
      const std::size_t row = 32 + 56 * i;
      std::memcpy(file.data() + row, s.name.data(), std::min<std::size_t>(32, s.name.size()));
      set_word<uint32_t>(file, row + 32, s.type);
      set_word<uint64_t>(file, row + 40, file.size());
      set_word<uint64_t>(file, row + 48, s.count());
      file.insert(file.end(), s.data.begin(), s.data.end());
      file.resize((file.size() + 7) / 8 * 8);
    }
    make_good(file);
    return file;
  }

  Section* find(const std::string& name) {
    for (Section& s : sections) {
      if (s.name == name) return &s;
    }
    return nullptr;
  }
  std::size_t count(const std::string& name) {
    const Section* s = find(name);
    return s == nullptr ? 0 : s->count();
  }
  int64_t integer(const std::string& name, std::size_t i) {
    const Section* s = find(name);
    return s == nullptr ? 0 : word_at<int32_t>(s->data, 4 * i);
  }
  void set_integer(const std::string& name, std::size_t i, int64_t x) {
    Section* s = find(name);
    if (s != nullptr) set_word<int32_t>(s->data, 4 * i, static_cast<int32_t>(x));
  }
  double real(const std::string& name, std::size_t i) {
    const Section* s = find(name);
    return s == nullptr ? 0.0 : word_at<double>(s->data, 8 * i);
  }
  int64_t sum(const std::string& name) {
    int64_t total = 0;
    for (std::size_t i = 0; i < count(name); ++i) total += integer(name, i);
    return total;
  }

  // As many numbers as wanted; new ones are those that are there, over again.
  void resize(const std::string& name, int64_t wanted) {
    Section* s = find(name);
    if (s == nullptr) return;
    const std::size_t size = static_cast<std::size_t>(wanted) * s->width();
    const std::size_t had = s->data.size();
    s->data.resize(size);
    for (std::size_t i = had; had > 0 && i < size; ++i) s->data[i] = s->data[i - had];
  }
  // A text of as many lines.
  void resize_lines(const std::string& name, int64_t wanted) {
    Section* s = find(name);
    if (s == nullptr) return;
    Bytes lines;
    std::size_t at = 0;
    for (int64_t i = 0; i < wanted; ++i) {
      if (i > 0) lines.push_back('\n');
      const std::size_t begin = lines.size();
      for (; at < s->data.size() && s->data[at] != '\n'; ++at) lines.push_back(s->data[at]);
      ++at;
      if (lines.size() == begin) lines.push_back('x');
    }
    s->data = lines;
  }

  // Gives every section the size that the counts ask for; false, and nothing done, if that is more
  // than `most` numbers or the counts are no counts.
  bool fit(int64_t most = 200000) {
    struct Need {
      const char* name;
      int64_t count;
    };
    const auto bodies = static_cast<int64_t>(count("body.parent"));
    std::vector<Need> needs;
    const auto need = [&](int64_t size, std::initializer_list<Need> list) {
      for (const Need& n : list) needs.push_back({n.name, n.count * size});
    };
    need(bodies, {{"body.parent_node", 1},
                  {"body.translations", 1},
                  {"body.rotations", 1},
                  {"body.quaternion", 1},
                  {"body.modes", 1},
                  {"body.pairs", 1},
                  {"body.mass_pairs", 1},
                  {"body.slots", 1},
                  {"body.gyroscopics", 1},
                  {"body.turnings", 1},
                  {"body.points", 1},
                  {"body.wheels", 1},
                  {"joint.position", 3},
                  {"joint.rotation", 9},
                  {"body.mass", 1},
                  {"body.first_moment", 3},
                  {"body.inertia", 9}});
    const auto resize_all = [&] {
      for (const Need& n : needs) {
        if (n.count < 0 || n.count > most) return false;
      }
      for (const Need& n : needs) resize(n.name, n.count);
      needs.clear();
      return true;
    };
    if (!resize_all()) return false;
    for (const char* name : {"body.translations", "body.rotations", "body.quaternion", "body.modes",
                             "body.pairs", "body.mass_pairs", "body.points"}) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(bodies); ++i) {
        if (integer(name, i) < 0 || integer(name, i) > most) return false;
      }
    }
    int64_t dofs = 0, quaternions = 0, modes = 0, fields = 0, matrices = 0, hats = 0, psis = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(bodies); ++i) {
      const int64_t n = integer("body.modes", i), p = integer("body.mass_pairs", i);
      dofs += integer("body.translations", i) + integer("body.rotations", i) +
              3 * integer("body.quaternion", i);
      quaternions += integer("body.quaternion", i);
      modes += n;
      fields += n + p;
      matrices += 3 * n * n;
      hats += p > 0 ? (n + p) * (n + p) : 0;
      psis += integer("body.points", i) * n;
    }
    const int64_t wheels = sum("body.wheels"), slots = sum("body.slots");
    need(dofs, {{"dof.axis", 3}, {"dof.passive", 9}, {"dof.drive", 1}});
    need(dofs + quaternions + modes, {{"start.q", 1}});
    need(dofs + modes + wheels, {{"start.u", 1}});
    need(fields, {{"field.moment", 3}});
    need(matrices, {{"mode.matrices", 1}});
    need(hats, {{"field.mass", 1}});
    need(slots,
         {{"slot.field", 1}, {"slot.component", 1}, {"slot.entries", 1}, {"slot.constant", 1}});
    need(sum("body.gyroscopics"), {{"gyroscopic.fields", 2}, {"gyroscopic.value", 3}});
    need(sum("body.turnings"), {{"turning.fields", 2}, {"turning.value", 3}});
    need(sum("body.pairs"), {{"pair.modes", 2}});
    need(sum("body.points"), {{"point.inertia", 9}});
    need(psis, {{"point.psi", 3}});
    need(wheels, {{"wheel.node", 1}, {"wheel.axis", 3}, {"wheel.inertia", 1}});
    const auto nodes = static_cast<int64_t>(count("node.body"));
    need(nodes, {{"node.position", 3}, {"node.rotation", 9}});
    const auto loops = static_cast<int64_t>(count("loop.node_a"));
    need(loops, {{"loop.node_b", 1},
                 {"loop.rows", 1},
                 {"loop.freedoms", 1},
                 {"loop.translations", 1},
                 {"loop.position", 3},
                 {"loop.rotation", 9},
                 {"loop.axes", 6},
                 {"loop.cosine", 1}});
    const auto loads = static_cast<int64_t>(count("load.input"));
    need(loads, {{"load.hold", 1}, {"load.rows", 1}});
    const auto parameters = static_cast<int64_t>(count("parameter.start"));
    need(parameters, {{"parameter.min", 1}, {"parameter.max", 1}, {"parameter.terms", 1}});
    need(static_cast<int64_t>(count("check.kind")), {{"check.parameter", 1}});
    if (!resize_all()) return false;
    int64_t phis = 0, node_psis = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(nodes); ++k) {
      const auto b = static_cast<std::size_t>(integer("node.body", k));
      phis += integer("body.modes", b) + integer("body.pairs", b);
      node_psis += integer("body.modes", b);
    }
    need(phis, {{"node.phi", 3}});
    need(node_psis, {{"node.psi", 3}});
    need(sum("slot.entries"), {{"entry.field", 1}, {"entry.value", 1}});
    const int64_t rows = sum("loop.rows"), freedoms = sum("loop.freedoms");
    need(rows, {{"row.kind", 1}, {"row.motion", 1}, {"row.direction", 3}});
    need(freedoms, {{"freedom.kind", 1},
                    {"freedom.axis", 3},
                    {"freedom.passive", 9},
                    {"freedom.reference", 3}});
    need(sum("motion.rows"), {{"motion.values", 7}});
    need(sum("load.rows"), {{"load.values", 2}});
    need(sum("parameter.terms"), {{"term.section", 1}, {"term.index", 1}, {"term.slope", 1}});
    int64_t live = 0;
    for (std::size_t i = 0; i < count("dof.drive"); ++i) live += integer("dof.drive", i) == -1;
    need(live, {{"motion.start", 3}});
    if (!resize_all()) return false;
    resize_lines("names.body", bodies);
    resize_lines("names.speed", dofs + modes + wheels);
    resize_lines("names.dof", dofs);
    resize_lines("names.input", dofs + 6 * nodes + wheels + freedoms);
    resize_lines("names.row", rows);
    return true;
  }

  // Lets every index point at something; what has nothing to point at stays.
  void aim() {
    const auto bodies = count("body.parent"), nodes = count("node.body");
    const auto into = [](int64_t x, int64_t low, int64_t high) {
      return high <= low ? low : low + ((x - low) % (high - low) + (high - low)) % (high - low);
    };
    const auto all = [&](const char* name, int64_t low, int64_t high) {
      for (std::size_t i = 0; i < count(name); ++i)
        set_integer(name, i, into(integer(name, i), low, high));
    };
    const auto number = [](std::size_t x) { return static_cast<int64_t>(x); };
    all("node.body", 0, number(bodies));
    const auto node_on = [&](int64_t body, int64_t otherwise) {
      for (std::size_t k = 0; k < nodes; ++k) {
        const std::size_t at =
            (k + static_cast<std::size_t>(otherwise < 0 ? 0 : otherwise)) % nodes;
        if (integer("node.body", at) == body) return number(at);
      }
      return otherwise;
    };
    std::size_t wheel = 0, dof = 0, pair = 0, gyroscopic = 0, turning = 0, slot = 0, entry = 0;
    for (std::size_t i = 0; i < bodies; ++i) {
      int64_t parent = into(integer("body.parent", i), -1, number(i));
      const int64_t node = integer("body.parent_node", i);
      if (parent >= 0 &&
          integer("node.body", static_cast<std::size_t>(node_on(parent, node))) != parent) {
        parent = -1;
      }
      set_integer("body.parent", i, parent);
      if (parent >= 0) set_integer("body.parent_node", i, node_on(parent, node));
      for (int64_t w = 0; w < integer("body.wheels", i); ++w, ++wheel) {
        set_integer("wheel.node", wheel, node_on(number(i), integer("wheel.node", wheel)));
      }
      const int64_t translations = integer("body.translations", i);
      const bool quaternion = integer("body.quaternion", i) != 0;
      const int64_t dofs = translations + integer("body.rotations", i) + (quaternion ? 3 : 0);
      for (int64_t k = 0; k < dofs; ++k, ++dof) {
        if (quaternion && k >= translations) set_integer("dof.drive", dof, -2);
      }
      const int64_t n = integer("body.modes", i), f = n + integer("body.mass_pairs", i);
      for (int64_t k = 0; k < integer("body.pairs", i); ++k, ++pair) {
        const int64_t first = into(integer("pair.modes", 2 * pair), 0, n);
        set_integer("pair.modes", 2 * pair, first);
        set_integer("pair.modes", 2 * pair + 1,
                    into(integer("pair.modes", 2 * pair + 1), first, n));
      }
      for (int64_t k = 0; k < 2 * integer("body.gyroscopics", i); ++k, ++gyroscopic) {
        set_integer("gyroscopic.fields", gyroscopic,
                    into(integer("gyroscopic.fields", gyroscopic), 0, f));
      }
      for (int64_t k = 0; k < 2 * integer("body.turnings", i); ++k, ++turning) {
        set_integer("turning.fields", turning, into(integer("turning.fields", turning), 0, n));
      }
      int64_t row = 0;
      for (int64_t k = 0; k < integer("body.slots", i); ++k, ++slot) {
        set_integer("slot.field", slot, into(integer("slot.field", slot), 0, f));
        const int64_t component = std::max(into(integer("slot.component", slot), 0, 9), 3 * row);
        row = component / 3;
        set_integer("slot.component", slot, component);
        for (int64_t e = 0; e < integer("slot.entries", slot); ++e, ++entry) {
          set_integer("entry.field", entry, into(integer("entry.field", entry), 0, f));
        }
      }
    }
    all("dof.drive", -2, number(count("motion.rows")));
    all("loop.node_a", -1, number(nodes));
    all("loop.node_b", 0, number(nodes));
    all("row.kind", 0, 4);
    all("row.motion", -1, number(count("motion.rows")));
    all("freedom.kind", 0, 4);
    const auto inputs = dof + 6 * nodes + count("wheel.node") + count("freedom.kind");
    all("load.input", 0, number(inputs));
    aim_variables(inputs);
  }

 private:
  // Variables of the kernel's signals become energies, of which every model has the same.
  void aim_variables(std::size_t inputs) {
    enum { signal, input, parameter, setting, constant, lock, motion };
    const auto into = [](int64_t x, std::size_t count) {
      return count == 0 ? 0
                        : static_cast<int64_t>(static_cast<std::size_t>(x < 0 ? -x : x) % count);
    };
    for (std::size_t i = 0; i < count("variable.role"); ++i) {
      const int64_t role = integer("variable.role", i), index = integer("variable.index", i);
      if (role == signal) {
        set_integer("variable.quantity", i, 3);
        set_integer("variable.element", i, 0);
        set_integer("variable.index", i, into(index, 8));
      } else if (role == input) {
        set_integer("variable.index", i, into(index, inputs));
      } else if (role == lock) {
        set_integer("variable.index", i, into(index, count("body.parent")));
      } else if (role == motion) {
        set_integer("variable.index", i, into(index, count("motion.start")));
      }
    }
  }
};

}  // namespace fuzz
