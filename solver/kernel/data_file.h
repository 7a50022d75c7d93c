// Reading the kernel data file: a header, a table of named sections, the sections.
//
//   offset 0   char[8]  "pliant\0\0"
//          8   u32      format version
//         12   u32      number of sections
//         16   u64      size of the whole file
//         24   u64      FNV-1a checksum of everything from byte 32 on
//         32   table:   per section char[32] name, u32 type (0: int32, 1: float64, 2: bytes),
//                       u32 zero, u64 offset, u64 count
// Little endian. Sections stand one behind the other in the order of the table, each at the next
// multiple of 8: no byte belongs to two of them, so that numbers that are changed later,
// parameters, change nothing that was checked. pliant/data_file.py is the writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pliant {

constexpr uint32_t kDataFileVersion = 1;
constexpr std::size_t kMostSections = 256;
// So that every count in a file fits 32 bits; models of thousands of flexible bodies take some MB.
constexpr std::size_t kLargestDataFile = std::size_t{1} << 30;
// Products of mass, shapes and lengths within an author's limits are smaller; what the kernel makes
// of them with coordinates and speeds within theirs is within range then.
constexpr double kLargestConstant = 1e70;

uint64_t fnv1a(const unsigned char* bytes, std::size_t size);

// Gives out sections by name; the first failure is kept in `error` and every later call answers
// with nothing, so that a caller checks once at the end.
class DataFile {
 public:
  explicit DataFile(std::vector<unsigned char> bytes);
  DataFile(const void* data, std::size_t size);

  std::vector<int32_t> ints(const char* name, std::size_t count);
  std::vector<double> reals(const char* name, std::size_t count, double most = kLargestConstant);
  std::vector<double> directions(const char* name, std::size_t count);  // 3 each: of length 1 or 0
  std::vector<double> rotations(const char* name, std::size_t count);   // 9 each, row by row
  std::string text(const char* name);                                   // bytes
  std::size_t count(const char* name);                                  // of any type

  // A number of a float64 section, to read and to change.
  struct Place {
    std::size_t offset = 0;
  };
  // False if there is none.
  bool find_real(const std::string& section, std::size_t index, Place& place) const;
  double real_at(Place place) const;
  void set_real(Place place, double value);

  void fail(const std::string& message);
  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }

 private:
  struct Section {
    std::string name;
    uint32_t type;
    uint64_t offset, count;
  };
  void read_table();
  const Section* named(const std::string& name) const;
  const Section* find(const char* name, uint32_t type, std::size_t count);

  std::vector<unsigned char> bytes_;
  std::vector<Section> sections_;
  std::string error_;
};

}  // namespace pliant
