#pragma once

#include "gpuadm/run/run.hpp"

#include <span>
#include <string>

namespace run {

/// The variables that prelude.sh needs, at the beginning of every program.
[[nodiscard]] std::string head(const std::string& prelude, const Identity& who, const std::string& step,
                               std::chrono::seconds timeout);

/// check -> apply -> check of one action (not a wait) as one program. Its exit status is a Status.
[[nodiscard]] std::string step_program(const plan::Action& action, const std::string& prelude,
                                       const Identity& who);
/// One round of a wait: its duration, whether it is the last, and the duration of the earlier ones.
struct Round {
  std::chrono::seconds length{5};
  bool last = false;
  std::chrono::seconds waited{0};
};
/// Polls the check of a wait for one round.
[[nodiscard]] std::string wait_program(const plan::Action& action, const std::string& prelude,
                                       const Identity& who, const Round& round);
/// Only the check of one action; exits with its status.
[[nodiscard]] std::string check_program(const plan::Action& action, const std::string& prelude,
                                        const Identity& who);
/// The same for an upload, and the depot's part of its file if it is needed: read_held() parses that.
[[nodiscard]] std::string upload_check_program(const plan::Action& action, const std::string& prelude,
                                               const std::string& depot, const Identity& who);
/// One of the depot's functions as a step: "depot_receive" with the rest of the file on stdin, "depot_pull",
/// "depot_serve", "depot_clear", "depot_relay_end". read_offer() parses the output of the first three.
[[nodiscard]] std::string depot_program(const char* function, const plan::Action& action,
                                        const std::string& prelude, const std::string& depot,
                                        const base::Variables& further, const Identity& who);
/// Whether a host passes a file on to others.
enum class Passing { on, no };
/// apply -> check of an upload, with the depot's file; it may move the file out of the depot if it is not
/// passed on.
[[nodiscard]] std::string depot_upload_program(const plan::Action& action, const std::string& prelude,
                                               const std::string& depot, Passing passing,
                                               const Identity& who);
/// An upload whose file is in the host's depot.
struct InDepot {
  const plan::Action* action = nullptr;
  Passing passing = Passing::no;
};
/// The same for several uploads, a few at a time. read_together() parses its output, in which the marks
/// contain `nonce`, so that no output can imitate a mark.
[[nodiscard]] std::string together_program(std::span<const InDepot> uploads, const std::string& prelude,
                                           const std::string& depot, const Identity& who,
                                           const std::string& nonce);
/// One result for each upload; status -1: it was not run.
[[nodiscard]] std::vector<transport::Exit> read_together(std::string_view output, std::size_t uploads,
                                                         const std::string& nonce);
/// apply -> check of an upload, with the file on stdin.
[[nodiscard]] std::string upload_program(const plan::Action& action, const std::string& prelude,
                                         const Identity& who);

/// Reboots the host, and prints the current boot id. `timeout`: how long its lock remains valid.
[[nodiscard]] std::string reboot_program(const std::string& step, const std::string& prelude,
                                         const Identity& who, std::chrono::seconds timeout);
/// Prints the current boot id; if it is not `boot`, only once the host is up.
[[nodiscard]] std::string rebooted_program(const std::string& step, const std::string& prelude,
                                           const Identity& who, const std::string& boot);
/// For the services of a rebooted host, including its API server.
inline constexpr std::chrono::seconds boot_timeout{300};

/// Exit statuses of a step's program; see playbooks/prelude.sh.
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
  hopeless = 109,  ///< of a wait: its condition cannot be fulfilled
  no_lock = 97,
  cannot_fetch = 98  ///< of depot_pull
};

/// A script's error output without the shell's position in the script: "kubectl is not installed (not in
/// PATH)" instead of "/bin/sh: 512: eval: kubectl: not found".
[[nodiscard]] std::string without_shell_noise(std::string_view text);
/// The program that the shell did not find, according to the last such line; empty: none.
[[nodiscard]] std::string missing_program(std::string_view text);

/// A random word.
[[nodiscard]] std::string nonce();
/// All checks of a host as one program. Its stdout has the output of each action's check between marks that
/// contain `nonce`, so that no output can imitate a mark.
[[nodiscard]] std::string preview_program(std::span<const plan::Action* const> actions,
                                          const std::string& prelude, const Identity& who,
                                          const std::string& nonce);

struct Checked {
  int status = -1;  ///< of the check; -1: it did not run
  std::string said;
};
/// Parses the output of preview_program(); one result per action.
[[nodiscard]] std::vector<Checked> read_preview(std::string_view output, std::size_t actions,
                                                const std::string& nonce);

}  // namespace run
