#pragma once

#include "gpuadm/base/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace spec {

/// A cluster file in the current format.
struct Migrated {
  std::string text;                  ///< unchanged if there is nothing to convert
  std::vector<std::string> changes;  ///< one sentence each; empty: the file is in the current format
};

/// Converts a cluster file of any earlier format, line by line: comments, order and spelling are kept.
/// Fault::spec for an unknown version, or if a key cannot be moved without changing the text around it. Does
/// not validate the settings; parse() does.
[[nodiscard]] base::Result<Migrated> migrate(std::string_view yaml, std::string_view source);

}  // namespace spec
