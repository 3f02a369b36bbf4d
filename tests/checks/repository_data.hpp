#pragma once

#include "gpuadm/base/files.hpp"
#include "gpuadm/checks/checks.hpp"

#include <filesystem>

/// The data of this source tree.
inline std::shared_ptr<const checks::Data> repository_data() {
  return checks::read_data([](std::string_view path) {
           return base::read_file(std::filesystem::path(GPUADM_SOURCE_DIR) / path);
         })
      .value();
}
