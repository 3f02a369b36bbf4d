#pragma once

#include "gpuadm/run/run.hpp"

#include <span>
#include <string>

namespace run {

/// The variables that prelude.sh needs, at the head of every program.
[[nodiscard]] std::string head(const std::string& prelude, const Identity& who, const std::string& step,
                               std::chrono::seconds timeout);

/// check -> apply -> check of one action, which is no wait, as one program. Its exit status is one of Status.
[[nodiscard]] std::string step_program(const plan::Action& action, const std::string& prelude,
                                       const Identity& who);
/// One round of a wait: how long, whether it is the last, and how long the earlier ones took.
struct Round {
  std::chrono::seconds length{5};
  bool last = false;
  std::chrono::seconds waited{0};
};
/// Polls the check of a wait for one round.
[[nodiscard]] std::string wait_program(const plan::Action& action, const std::string& prelude,
                                       const Identity& who, const Round& round);
/// The check of one action alone; exits as the check does.
[[nodiscard]] std::string check_program(const plan::Action& action, const std::string& prelude,
                                        const Identity& who);
/// The same for an upload, and what the depot holds of its file where it is needed: read_held() reads that.
[[nodiscard]] std::string upload_check_program(const plan::Action& action, const std::string& prelude,
                                               const std::string& depot, const Identity& who);
/// One of the depot's functions as a step: "depot_receive" with the rest of the file on stdin, "depot_pull",
/// "depot_serve", "depot_clear", "depot_relay_end". Read_offer() reads what the first three print.
[[nodiscard]] std::string depot_program(const char* function, const plan::Action& action,
                                        const std::string& prelude, const std::string& depot,
                                        const base::Variables& further, const Identity& who);
/// Whether a host passes a file on to others.
enum class Passing { on, no };
/// apply -> check of an upload, with the file that the depot holds; it may leave the depot where it is not
/// passed on.
[[nodiscard]] std::string depot_upload_program(const plan::Action& action, const std::string& prelude,
                                               const std::string& depot, Passing passing,
                                               const Identity& who);
/// apply -> check of an upload, with the file on stdin.
[[nodiscard]] std::string upload_program(const plan::Action& action, const std::string& prelude,
                                         const Identity& who);

/// Reboots the host, and prints the id of the boot that ends. `patience`: for how long its lock counts as
/// alive.
[[nodiscard]] std::string reboot_program(const std::string& step, const std::string& prelude,
                                         const Identity& who, std::chrono::seconds patience);
/// Prints the id of the boot that is now; where that is not `boot`, once the host has come up.
[[nodiscard]] std::string rebooted_program(const std::string& step, const std::string& prelude,
                                           const Identity& who, const std::string& boot);
/// For the services of a host that answers again, its API server among them.
inline constexpr std::chrono::seconds boot_patience{300};

/// How a step's program ends; see playbooks/prelude.sh.
enum Status {
  satisfied = 100,
  changed = 101,
  apply_failed = 102,
  still_needed = 103,
  check_failed = 104,
  reboot_needed = 105,
  own_host = 106,
  own_host_resumes = 107,
  not_yet = 108,   ///< of a wait
  hopeless = 109,  ///< of a wait: its condition cannot become true
  no_lock = 97,
  cannot_fetch = 98  ///< of depot_pull
};

/// What a script printed, without what the shell itself says of its place in the script: "kubectl is not
/// installed (not in PATH)" rather than "/bin/sh: 512: eval: kubectl: not found".
[[nodiscard]] std::string without_shell_noise(std::string_view text);
/// The program that the shell did not find, by the last line that says so; empty: it found them all.
[[nodiscard]] std::string missing_program(std::string_view text);

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
