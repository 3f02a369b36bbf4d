#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"
#include "gpuadm/report/style.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// One run against hosts: its options and its outcome.
namespace session {

using base::Result;

/// Outcome of a command with valid options. `commands` maps it, and every Fault, to an exit code.
enum class Outcome {
  done,
  failed,       ///< a step failed; hosts may have changed
  blocked,      ///< findings block the run; nothing was changed
  unreachable,  ///< no host is reachable, or an essential one is not; nothing was changed
  interrupted   ///< Ctrl-C
};

enum class Format { text, json, probe, markdown, junit, html, prometheus, csv };

/// Input and output of a command. Results go to `out`, progress and questions to `err` or the terminal.
struct Io {
  std::vector<std::string> command;  ///< the command line, starting with the program's name
  report::Write out, err;
  report::Style out_style, err_style;
  /// A secret, without echo. Nothing: no terminal, or no input.
  std::function<std::optional<base::Secret>(const std::string& prompt)> ask_secret;
  /// Yes or no. Nothing: no terminal.
  std::function<std::optional<bool>(const std::string& question)> confirm;
  /// Shows a text on the whole terminal in place of the previous one; lines that do not fit are counted.
  /// Empty if `out` is not a terminal. end_page() restores the terminal, and so does a signal that ends the
  /// program.
  std::function<void(std::string_view text)> page;
  std::function<void()> end_page;
  /// Receives the events of a run as JSON lines. Empty: only the terminal and the run directory get them.
  report::Write log;
};

/// Connection settings of the command line. Empty ones come from the cluster file, then from `ssh -G`.
struct Connection {
  std::string user;
  std::uint16_t port = 0;
  std::filesystem::path identity;
  std::string client;                                   ///< auto, libssh2, openssh
  std::string host_key_checking;                        ///< accept-new, strict
  std::filesystem::path sudo_password_file;             ///< must be owned by the user, mode 0600
  std::optional<int> window, connect_timeout, timeout;  ///< hosts; seconds; seconds a command
  /// Instead of hosts: the API server of this kubeconfig, with its rights and nothing else; empty: hosts.
  std::filesystem::path kubeconfig;
};

/// Selected hosts. Without a file and targets: this machine. With both, targets are names of hosts in the
/// file.
struct Hosts {
  std::filesystem::path file;
  std::vector<std::string> targets;
};

struct Common {
  std::filesystem::path assets;  ///< --assets; empty: none
  Connection connection;
};

/// Consent to changes: preview only, ask on the terminal, or given in advance (-y).
enum class Consent { preview, ask, given };

/// Hosts that must be rebooted for a step: the run reboots them and continues, or stops with the command to
/// type.
enum class Rebooting { done, left };

/// When a run ends: when the cluster works, after waiting for network plugin, DNS and GPUs and testing the
/// pod network; or after its last change.
enum class Waiting { until_it_works, none };

}  // namespace session
