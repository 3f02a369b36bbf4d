#pragma once

#include "gpuadm/base/shared_text.hpp"
#include "gpuadm/base/tree.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace report {

enum class Severity { note, warning, blocker };

/// Result of a check. `unknown` (the probe could not run) and `timeout` are never shown as passed.
enum class Verdict { pass, fail, skip, unknown, timeout };

/// With many hosts there are hundreds of thousands, most of them with the same texts.
struct Finding {
  base::SharedText id;  ///< of the check, for example "host.disk.swap-on"
  Severity severity = Severity::note;
  Verdict verdict = Verdict::fail;
  base::SharedText host;                       ///< empty: the whole cluster
  base::SharedText message, evidence, remedy;  ///< remedy: a step id, or a sentence
  base::SharedText caused_by;  ///< id of the finding on the same host that explains this one, or empty
  bool fixable = false;        ///< `gpuadm doctor --fix` fixes it
};

/// An unexplained finding, and the findings that follow from it.
struct Chain {
  const Finding* first = nullptr;
  std::vector<const Finding*> follow;
};

/// Whether a finding requires attention: it neither passed nor was skipped.
[[nodiscard]] bool is_open(const Finding& finding);

/// Whether something is broken: not a note and not unknown.
[[nodiscard]] bool is_broken(const Finding& finding);

[[nodiscard]] std::string_view name_of(Severity severity);
[[nodiscard]] std::string_view name_of(Verdict verdict);
[[nodiscard]] base::Tree to_tree(const Finding& finding);

}  // namespace report
