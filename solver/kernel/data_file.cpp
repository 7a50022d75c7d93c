#include "data_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace pliant {
namespace {

constexpr std::size_t kHeader = 32;
constexpr std::size_t kTableRow = 56;
constexpr double kRoundingOfUnits =
    1e-6;  // of directions and rotations, as an author may give them

template <class T>
T read(const unsigned char* p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

}  // namespace

uint64_t fnv1a(const unsigned char* bytes, std::size_t size) {
  uint64_t hash = 14695981039346656037ULL;
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
  return hash;
}

DataFile::DataFile(std::vector<unsigned char> bytes) : bytes_(std::move(bytes)) { read_table(); }

DataFile::DataFile(const void* data, std::size_t size)
    : DataFile(std::vector<unsigned char>(static_cast<const unsigned char*>(data),
                                          static_cast<const unsigned char*>(data) + size)) {}

void DataFile::read_table() {
  const std::size_t size = bytes_.size();
  const unsigned char* bytes = bytes_.data();
  if (size < kHeader || std::memcmp(bytes, "pliant\0\0", 8) != 0) {
    return fail("this is not a pliant kernel data file");
  }
  if (size > kLargestDataFile) {
    return fail("kernel data file is " + std::to_string(size) + " bytes long; " +
                std::to_string(kLargestDataFile) + " is the most");
  }
  const uint32_t version = read<uint32_t>(bytes + 8);
  if (version != kDataFileVersion) {
    return fail("kernel data file of format " + std::to_string(version) + ", this kernel reads " +
                std::to_string(kDataFileVersion));
  }
  const uint64_t sections = read<uint32_t>(bytes + 12);
  const uint64_t stated = read<uint64_t>(bytes + 16);
  if (stated != size) {
    return fail("kernel data file is " + std::to_string(size) + " bytes long, it says " +
                std::to_string(stated) + ": truncated or appended to");
  }
  if (read<uint64_t>(bytes + 24) != fnv1a(bytes + kHeader, size - kHeader)) {
    return fail("kernel data file is damaged: its checksum does not match");
  }
  if (sections > std::min(kMostSections, (size - kHeader) / kTableRow)) {
    return fail("kernel data file: bad section table");
  }
  std::size_t next = kHeader + sections * kTableRow;
  for (uint64_t i = 0; i < sections; ++i) {
    const unsigned char* row = bytes + kHeader + i * kTableRow;
    Section s;
    s.name.assign(reinterpret_cast<const char*>(row),
                  strnlen(reinterpret_cast<const char*>(row), 32));
    s.type = read<uint32_t>(row + 32);
    s.offset = read<uint64_t>(row + 40);
    s.count = read<uint64_t>(row + 48);
    const uint64_t width = s.type == 0 ? 4 : s.type == 1 ? 8 : 1;
    if (s.type > 2 || s.offset > size || s.offset % 8 != 0 || s.count > (size - s.offset) / width) {
      return fail("kernel data file: section '" + s.name + "' lies outside the file");
    }
    if (s.offset != next) {
      return fail("kernel data file: section '" + s.name + "' does not begin where " +
                  (i == 0 ? "the table" : "the one before it") + " ends");
    }
    if (named(s.name) != nullptr) {
      return fail("kernel data file: section '" + s.name + "' is there twice");
    }
    next = s.offset + (s.count * width + 7) / 8 * 8;
    sections_.push_back(s);
  }
}

void DataFile::fail(const std::string& message) {
  if (error_.empty()) error_ = message;
}

const DataFile::Section* DataFile::named(const std::string& name) const {
  for (const Section& s : sections_) {
    if (s.name == name) return &s;
  }
  return nullptr;
}

std::size_t DataFile::count(const char* name) {
  if (const Section* s = named(name)) return s->count;
  fail(std::string("kernel data file: section '") + name + "' is missing");
  return 0;
}

const DataFile::Section* DataFile::find(const char* name, uint32_t type, std::size_t count) {
  const std::size_t held = this->count(name);
  if (!ok()) return nullptr;
  const Section* s = named(name);
  if (s->type == type && held == count) return s;
  fail(std::string("kernel data file: section '") + name + "' holds " + std::to_string(held) +
       " values, " + std::to_string(count) + " expected");
  return nullptr;
}

std::vector<int32_t> DataFile::ints(const char* name, std::size_t count) {
  const Section* s = find(name, 0, count);
  if (s == nullptr) return {};
  std::vector<int32_t> values(count);
  if (count > 0) std::memcpy(values.data(), bytes_.data() + s->offset, count * sizeof(int32_t));
  return values;
}

std::vector<double> DataFile::reals(const char* name, std::size_t count, double most) {
  const Section* s = find(name, 1, count);
  if (s == nullptr) return {};
  std::vector<double> values(count);
  if (count > 0) std::memcpy(values.data(), bytes_.data() + s->offset, count * sizeof(double));
  for (double x : values) {
    if (std::fabs(x) <= most) continue;
    fail(std::string("kernel data file: section '") + name + "' holds a value that is " +
         (std::isfinite(x) ? "beyond mechanics" : "not finite"));
    return {};
  }
  return values;
}

std::vector<double> DataFile::directions(const char* name, std::size_t count) {
  const std::vector<double> values = reals(name, 3 * count, 2.0);
  for (std::size_t i = 0; i + 2 < values.size(); i += 3) {
    const double length = std::hypot(values[i], values[i + 1], values[i + 2]);
    if (length == 0.0 || std::fabs(length - 1.0) <= kRoundingOfUnits) continue;
    fail(std::string("kernel data file: section '") + name + "' holds a direction of length " +
         std::to_string(length));
    return {};
  }
  return values;
}

std::vector<double> DataFile::rotations(const char* name, std::size_t count) {
  const std::vector<double> values = reals(name, 9 * count, 2.0);
  for (std::size_t i = 0; i + 8 < values.size(); i += 9) {
    const double* r = &values[i];
    double off = 0.0;
    for (int a = 0; a < 3; ++a) {
      const double *x = r + 3 * a, *y = r + 3 * ((a + 1) % 3), *z = r + 3 * ((a + 2) % 3);
      // rows of unit length, each the cross product of the next two
      off = std::max(off, std::fabs(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] - 1.0));
      for (int k = 0; k < 3; ++k) {
        const int l = (k + 1) % 3, m = (k + 2) % 3;
        off = std::max(off, std::fabs(y[l] * z[m] - y[m] * z[l] - x[k]));
      }
    }
    if (off <= kRoundingOfUnits) continue;
    fail(std::string("kernel data file: section '") + name +
         "' holds a matrix that is no rotation");
    return {};
  }
  return values;
}

std::string DataFile::text(const char* name) {
  const Section* s = find(name, 2, count(name));
  if (s == nullptr) return {};
  return std::string(reinterpret_cast<const char*>(bytes_.data()) + s->offset, s->count);
}

bool DataFile::find_real(const std::string& section, std::size_t index, Place& place) const {
  const Section* s = named(section);
  if (s == nullptr || s->type != 1 || index >= s->count) return false;
  place.offset = s->offset + index * sizeof(double);
  return true;
}

double DataFile::real_at(Place place) const { return read<double>(bytes_.data() + place.offset); }

void DataFile::set_real(Place place, double value) {
  std::memcpy(bytes_.data() + place.offset, &value, sizeof value);
}

}  // namespace pliant
