// Finding and reading the files of an FMU's resources folder.
#pragma once

#include <string>
#include <vector>

namespace pliant {

// The path behind a file URI (file:///x, file:/x, file://localhost/x, percent-encoded) or an
// absolute path; empty and a reason if it is neither.
std::string path_of_uri(const char* uri, std::string& error);

// The bytes of a file; false and a reason on failure. Paths are UTF-8.
bool read_file(const std::string& path, std::vector<unsigned char>& bytes, std::string& error);

}  // namespace pliant
