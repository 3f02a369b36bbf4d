#pragma once

#include "gpuadm/base/files.hpp"
#include "gpuadm/checks/checks.hpp"

#include <filesystem>

inline base::Result<std::string> repository_asset(std::string_view path) {
  return base::read_file(std::filesystem::path(GPUADM_SOURCE_DIR) / path);
}

/// The day of all tests.
inline const base::Day test_day = *base::parse_day("2026-11-29");

/// The data of this source tree, as they are on a day.
inline std::shared_ptr<const checks::Data> repository_data(base::Day day = test_day) {
  return checks::read_data(repository_asset, day).value();
}
