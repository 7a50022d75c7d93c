#include "resources.h"

#include <cstdio>
#include <cstring>
#include <memory>

#include "data_file.h"

#ifdef _WIN32
#include <windows.h>
#endif

namespace pliant {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool has_drive(const std::string& path, std::size_t at) {
  const bool letter = path.size() > at + 1 && ((path[at] >= 'A' && path[at] <= 'Z') ||
                                               (path[at] >= 'a' && path[at] <= 'z'));
  return letter && path[at + 1] == ':';
}

std::FILE* open_to_read(const std::string& path) {
#ifdef _WIN32
  std::wstring wide(path.size() + 1, L'\0');
  MultiByteToWideChar(CP_UTF8, 0, path.c_str(), -1, wide.data(), static_cast<int>(wide.size()));
  return _wfopen(wide.c_str(), L"rb");
#else
  return std::fopen(path.c_str(), "rb");
#endif
}

}  // namespace

std::string path_of_uri(const char* uri, std::string& error) {
  if (uri == nullptr || *uri == '\0') {
    error =
        "the importer gave no fmuResourceLocation; it must be the URI of the unzipped "
        "resources folder";
    return {};
  }
  std::string text(uri);
  const bool plain = text[0] == '/' || has_drive(text, 0);
  if (plain) return text;
  if (text.compare(0, 5, "file:") != 0) {
    error = "fmuResourceLocation '" + text + "' is not a file URI such as file:///tmp/x/resources";
    return {};
  }
  text.erase(0, 5);
  if (text.compare(0, 2, "//") == 0) {  // an authority follows: empty, localhost, or a host
    const std::size_t slash = text.find('/', 2);
    const std::string host = text.substr(2, slash == std::string::npos ? slash : slash - 2);
    if (slash == std::string::npos || (!host.empty() && host != "localhost")) {
      error = "fmuResourceLocation '" + std::string(uri) + "' is not on this machine";
      return {};
    }
    text.erase(0, slash);
  }
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      path += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0 || (high == 0 && low == 0)) {
      error = "fmuResourceLocation '" + std::string(uri) + "' has a bad percent-encoding";
      return {};
    }
    path += static_cast<char>(16 * high + low);
    i += 2;
  }
  if (path.empty() || path[0] != '/') {
    error = "fmuResourceLocation '" + std::string(uri) + "' is not an absolute path";
    return {};
  }
  return has_drive(path, 1) ? path.substr(1) : path;  // file:///C:/x
}

bool read_file(const std::string& path, std::vector<unsigned char>& bytes, std::string& error) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(open_to_read(path), std::fclose);
  if (!file) {
    error = "cannot open " + path + ": " + std::strerror(errno);
    return false;
  }
  bytes.clear();
  unsigned char chunk[65536];
  std::size_t got;
  while ((got = std::fread(chunk, 1, sizeof chunk, file.get())) > 0) {
    bytes.insert(bytes.end(), chunk, chunk + got);
    if (bytes.size() > kLargestDataFile) {
      error = path + " is longer than " + std::to_string(kLargestDataFile) + " bytes";
      return false;
    }
  }
  if (std::ferror(file.get()) != 0) {
    error = "cannot read " + path + ": " + std::strerror(errno);
    return false;
  }
  return true;
}

}  // namespace pliant
