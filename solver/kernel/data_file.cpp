#include "data_file.h"

#include <cmath>
#include <cstring>

namespace pliant {
namespace {

constexpr std::size_t kHeader = 32;
constexpr std::size_t kTableRow = 56;

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

DataFile::DataFile(const void* data, std::size_t size)
    : bytes_(static_cast<const unsigned char*>(data)) {
  read_table(size);
}

void DataFile::read_table(std::size_t size) {
  if (size < kHeader || std::memcmp(bytes_, "pliant\0\0", 8) != 0) {
    return fail("this is not a pliant kernel data file");
  }
  const uint32_t version = read<uint32_t>(bytes_ + 8);
  if (version != kDataFileVersion) {
    return fail("kernel data file of format " + std::to_string(version) + ", this kernel reads " +
                std::to_string(kDataFileVersion));
  }
  const uint64_t sections = read<uint32_t>(bytes_ + 12);
  const uint64_t stated = read<uint64_t>(bytes_ + 16);
  if (stated != size) {
    return fail("kernel data file is " + std::to_string(size) + " bytes long, it says " +
                std::to_string(stated) + ": truncated or appended to");
  }
  if (read<uint64_t>(bytes_ + 24) != fnv1a(bytes_ + kHeader, size - kHeader)) {
    return fail("kernel data file is damaged: its checksum does not match");
  }
  if (sections > (size - kHeader) / kTableRow) return fail("kernel data file: bad section table");
  for (uint64_t i = 0; i < sections; ++i) {
    const unsigned char* row = bytes_ + kHeader + i * kTableRow;
    Section s;
    s.name.assign(reinterpret_cast<const char*>(row),
                  strnlen(reinterpret_cast<const char*>(row), 32));
    s.type = read<uint32_t>(row + 32);
    s.offset = read<uint64_t>(row + 40);
    s.count = read<uint64_t>(row + 48);
    const uint64_t width = s.type == 0 ? 4 : 8;
    if (s.type > 1 || s.offset > size || s.offset % 8 != 0 || s.count > (size - s.offset) / width) {
      return fail("kernel data file: section '" + s.name + "' lies outside the file");
    }
    sections_.push_back(s);
  }
}

void DataFile::fail(const std::string& message) {
  if (error_.empty()) error_ = message;
}

std::size_t DataFile::count(const char* name) {
  for (const Section& s : sections_) {
    if (s.name == name) return s.count;
  }
  fail(std::string("kernel data file: section '") + name + "' is missing");
  return 0;
}

const DataFile::Section* DataFile::find(const char* name, uint32_t type, std::size_t count) {
  if (!ok()) return nullptr;
  for (const Section& s : sections_) {
    if (s.name != name) continue;
    if (s.type != type || s.count != count) {
      fail(std::string("kernel data file: section '") + name + "' holds " +
           std::to_string(s.count) + " values, " + std::to_string(count) + " expected");
      return nullptr;
    }
    return &s;
  }
  fail(std::string("kernel data file: section '") + name + "' is missing");
  return nullptr;
}

std::vector<int32_t> DataFile::ints(const char* name, std::size_t count) {
  const Section* s = find(name, 0, count);
  if (s == nullptr) return {};
  std::vector<int32_t> values(count);
  if (count > 0) std::memcpy(values.data(), bytes_ + s->offset, count * sizeof(int32_t));
  return values;
}

std::vector<double> DataFile::reals(const char* name, std::size_t count) {
  const Section* s = find(name, 1, count);
  if (s == nullptr) return {};
  std::vector<double> values(count);
  if (count > 0) std::memcpy(values.data(), bytes_ + s->offset, count * sizeof(double));
  for (double x : values) {
    if (!std::isfinite(x)) {
      fail(std::string("kernel data file: section '") + name +
           "' holds a value that is not finite");
      return {};
    }
  }
  return values;
}

}  // namespace pliant
