#pragma once

#include "gpuadm/base/tree.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace report {

enum class Severity { note, warning, blocker };

/// What a check says. `unknown` (the probe could not run) and `timeout` are never shown as pass.
enum class Verdict { pass, fail, skip, unknown, timeout };

struct Finding {
  std::string id;  ///< of the check, for example "host.disk.swap-on"
  Severity severity = Severity::note;
  Verdict verdict = Verdict::fail;
  std::string host;                    ///< empty: the whole cluster
  std::string says, evidence, remedy;  ///< remedy: a step id, or a sentence
  std::string caused_by;  ///< id of the finding on the same host that explains this one, or empty
  bool fixable = false;   ///< `gpuadm doctor --fix` mends it
};

/// A finding that nothing explains, and what follows from it.
struct Chain {
  const Finding* first = nullptr;
  std::vector<const Finding*> follow;
};

/// Whether a finding asks for attention: it neither passed nor was skipped.
[[nodiscard]] bool is_open(const Finding& finding);

/// Whether something is broken, rather than worth a note or impossible to tell.
[[nodiscard]] bool is_broken(const Finding& finding);

[[nodiscard]] std::string_view name_of(Severity severity);
[[nodiscard]] std::string_view name_of(Verdict verdict);
[[nodiscard]] base::Tree to_tree(const Finding& finding);

}  // namespace report
