#include "assets/inside.hpp"

#include "gpuadm/base/text.hpp"

#include <algorithm>

namespace assets {

bool is_inside(std::string_view path) {
  return std::ranges::all_of(base::split(path, '/'), [](std::string_view part) {
    return !part.empty() && part != "." && part != ".." && std::ranges::none_of(part, [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
  });
}

}  // namespace assets
