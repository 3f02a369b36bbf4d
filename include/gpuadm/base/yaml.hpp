#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/problems.hpp"
#include "gpuadm/base/tree.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace base::yaml {

/// Reads one document. Plain scalars get YAML 1.2 core types, quoted ones are strings; every value has its
/// Mark. Duplicate keys, anchors' cycles and syntax errors: Fault::spec with `source:line:column: …`.
[[nodiscard]] Result<Tree> read(std::string_view text, std::string_view source);

/// The same for a reader that reports all problems at once: duplicate keys are added to `duplicates`, and the
/// first value of each is used.
[[nodiscard]] Result<Tree> read(std::string_view text, std::string_view source, Problems& duplicates);

/// Reads every document of a stream.
[[nodiscard]] Result<std::vector<Tree>> read_all(std::string_view text, std::string_view source);

/// Block style; strings that would be parsed as another type are quoted.
[[nodiscard]] std::string write(const Tree& tree);

}  // namespace base::yaml
