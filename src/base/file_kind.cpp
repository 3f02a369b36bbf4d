#include "gpuadm/base/file_kind.hpp"

#include <system_error>

namespace base {

namespace {

namespace fs = std::filesystem;

std::string why_not(const fs::path& path, fs::file_type wanted, const char* missing, const char* other) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (type == wanted) return "";
  if (type == fs::file_type::not_found) return missing;
  return type == fs::file_type::none ? error.message() : other;
}

}  // namespace

std::string why_no_file(const fs::path& path) {
  std::error_code ignored;
  return why_not(path, fs::file_type::regular, "no such file",
                 fs::is_directory(path, ignored) ? "is a directory" : "not a regular file");
}

std::string why_no_directory(const fs::path& path) {
  return why_not(path, fs::file_type::directory, "no such directory", "not a directory");
}

}  // namespace base
