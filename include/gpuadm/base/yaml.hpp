#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/problems.hpp"
#include "gpuadm/base/tree.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace base::yaml {

/// How plain scalars are typed. Quoted ones are strings.
enum class Dialect {
  core,  ///< YAML 1.2, core schema: gpuadm's own files
  /// As Kubernetes types them (kubernetes_scalar): manifests, and files of its programs. What Kubernetes does
  /// not read, or reads as another key than is written, is refused: numbers without a form in JSON, keys such
  /// as `on` and `0400`, tags other than !!str. Merge keys (`<<`) are replaced by the entries that they add.
  kubernetes
};

/// Reads one document. Every value has its Mark. Duplicate keys, anchors' cycles and syntax errors:
/// Fault::spec with `source:line:column: …`.
[[nodiscard]] Result<Tree> read(std::string_view text, std::string_view source,
                                Dialect dialect = Dialect::core);

/// The same for a reader that reports all problems at once: duplicate keys are added to `duplicates`, and the
/// first value of each is used.
[[nodiscard]] Result<Tree> read(std::string_view text, std::string_view source, Problems& duplicates);

/// Reads every document of a stream.
[[nodiscard]] Result<std::vector<Tree>> read_all(std::string_view text, std::string_view source,
                                                 Dialect dialect = Dialect::core);

/// A plain scalar as Kubernetes types it (sigs.k8s.io/yaml, goyaml.v2/resolve.go): mostly YAML 1.1. `yes`,
/// `on` and `y` are true, `no`, `off` and `n` false; integers are octal with `0` or `0o` before them,
/// hexadecimal with `0x`, binary with `0b`; underscores in numbers do not count; whole numbers with a point
/// or an exponent are integers, as in JSON; 08 is 8; 1:20 and dates are strings. Its `written` is set only if
/// YAML 1.2 reads the same value. Nothing: a number without a form in JSON, such as .inf.
[[nodiscard]] std::optional<Tree> kubernetes_scalar(const std::string& plain);

/// Block style; strings that would be parsed as another type are quoted.
[[nodiscard]] std::string write(const Tree& tree);

}  // namespace base::yaml
