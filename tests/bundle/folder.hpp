#pragma once

#include "gpuadm/base/files.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

/// A temporary folder that goes with the test.
struct Place {
  std::filesystem::path path;
  Place() {
    std::string name = (std::filesystem::temp_directory_path() / "gpuadm-test-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Place() { std::filesystem::remove_all(path); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  [[nodiscard]] std::filesystem::path write(const std::filesystem::path& name, std::string_view text) const {
    REQUIRE(base::write_file(path / name, text));
    return path / name;
  }
};
