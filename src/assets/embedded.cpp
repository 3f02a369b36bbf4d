#include "assets/embedded.hpp"

#include <cstddef>

namespace {

struct Entry {
  const char* path;
  const char* begin;
  const char* end;
};

}  // namespace

// Made by cmake/assets.cmake.
extern "C" const Entry gpuadm_assets_table[];      // NOLINT
extern "C" const std::size_t gpuadm_assets_count;  // NOLINT

namespace assets {

const std::map<std::string_view, std::string_view>& embedded() {
  static const std::map<std::string_view, std::string_view> files = [] {
    std::map<std::string_view, std::string_view> all;
    for (std::size_t i = 0; i < gpuadm_assets_count; ++i) {
      const Entry& entry = gpuadm_assets_table[i];
      all.emplace(entry.path, std::string_view(entry.begin, entry.end));
    }
    return all;
  }();
  return files;
}

}  // namespace assets
