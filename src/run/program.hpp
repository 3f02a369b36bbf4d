#pragma once

#include "gpuadm/run/run.hpp"

#include <span>
#include <string>

namespace run {

/// The variables that prelude.sh needs, at the head of every program.
[[nodiscard]] std::string head(const std::string& prelude, const Identity& who, const std::string& step,
                               std::chrono::seconds timeout);

/// check -> apply -> check of one action (of a wait: the check until it holds) as one program. Its exit
/// status is one of Status.
[[nodiscard]] std::string step_program(const plan::Action& action, const std::string& prelude,
                                       const Identity& who);
/// The check of one action alone; exits as the check does.
[[nodiscard]] std::string check_program(const plan::Action& action, const std::string& prelude,
                                        const Identity& who);
/// apply -> check of an upload, with the file on stdin.
[[nodiscard]] std::string upload_program(const plan::Action& action, const std::string& prelude,
                                         const Identity& who);

/// How a step's program ends; see playbooks/prelude.sh.
enum Status {
  satisfied = 100,
  changed = 101,
  apply_failed = 102,
  still_needed = 103,
  check_failed = 104,
  no_lock = 97
};

/// Every check of a host as one program. Its stdout has, for each action, what the check printed between
/// marks that carry `nonce`, so that nothing a check prints can pass for a mark.
[[nodiscard]] std::string preview_program(std::span<const plan::Action* const> actions,
                                          const std::string& prelude, const Identity& who,
                                          const std::string& nonce);

struct Checked {
  int status = -1;  ///< of the check; -1: it did not run
  std::string said;
};
/// Reads what preview_program() printed; one for each action.
[[nodiscard]] std::vector<Checked> read_preview(std::string_view output, std::size_t actions,
                                                const std::string& nonce);

}  // namespace run
