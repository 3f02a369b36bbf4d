#pragma once

#include "gpuadm/base/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace spec {

/// A cluster file in the current format.
struct Migrated {
  std::string text;                  ///< as it was where nothing changed
  std::vector<std::string> changes;  ///< a sentence each; none: it was in the current format
};

/// Rewrites a cluster file of any format that was ever read, line by line: comments, order and spelling stay.
/// Fault::spec where it is of no known version, or where a key cannot be moved without touching what stands
/// around it. Does not judge what the file says; that is parse().
[[nodiscard]] base::Result<Migrated> migrate(std::string_view yaml, std::string_view source);

}  // namespace spec
