#pragma once

#include "gpuadm/base/files.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

/// The text of a file that a test needs; the test ends if it cannot be read.
inline std::string case_text(const std::filesystem::path& path) {
  const auto text = base::read_file(path);
  REQUIRE_MESSAGE(text.has_value(), path.string());
  return *text;
}
