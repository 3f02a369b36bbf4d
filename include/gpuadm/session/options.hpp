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

/// One run against hosts: how it is asked for, and how it ends.
namespace session {

using base::Result;

/// How a verb ended where nothing was wrong with the question. `cli` maps it, and every Fault, to an exit
/// code.
enum class Outcome {
  done,
  failed,       ///< a step failed; hosts may have changed
  blocked,      ///< findings forbid going on; nothing was changed
  unreachable,  ///< no host could be reached, or one that everything depends on; nothing was changed
  interrupted   ///< Ctrl-C
};

enum class Format { text, json, probe, markdown, junit, html, prometheus };

/// Where a verb speaks and whom it may ask. Results go to `out`, narration and questions to `err` or the
/// terminal.
struct Io {
  std::vector<std::string> command;  ///< how gpuadm was called, its own name first
  report::Write out, err;
  report::Style out_style, err_style;
  /// Something secret, without echo. Nothing: there is no terminal, or the operator gave none.
  std::function<std::optional<base::Secret>(const std::string& prompt)> ask_secret;
  /// Yes or no. Nothing: there is no terminal to ask on.
  std::function<std::optional<bool>(const std::string& question)> confirm;
  /// Shows a text on the whole terminal in place of the last one; what does not fit is counted. Empty where
  /// `out` is no terminal. end_page() gives the terminal back as it was, and so does a signal that ends the
  /// program.
  std::function<void(std::string_view text)> page;
  std::function<void()> end_page;
  /// Where the events of a run go as JSON, a line each, as they happen. Empty: to nobody but the terminal and
  /// the run folder.
  report::Write log;
};

/// How to log in, from the command line. What is empty comes from the cluster file, then from `ssh -G`.
struct Connection {
  std::string user;
  std::uint16_t port = 0;
  std::filesystem::path identity;
  std::string client;                                   ///< auto, libssh2, openssh
  std::string host_key_checking;                        ///< accept-new, strict
  std::filesystem::path sudo_password_file;             ///< must be ours and 0600
  std::optional<int> window, connect_timeout, timeout;  ///< hosts; seconds; seconds a command
};

/// Which hosts. Without a file and targets: this machine. With both, targets are names of hosts in the file.
struct Hosts {
  std::filesystem::path file;
  std::vector<std::string> targets;
};

struct Common {
  std::filesystem::path assets;  ///< --assets; empty: none
  Connection connection;
};

/// What shall be done: shown only, asked for (a question on the terminal), or agreed to beforehand (-y).
enum class Consent { preview, ask, given };

/// Hosts that must be rebooted for a step to hold: the run does it and goes on, or stops and says what to
/// type.
enum class Rebooting { done, left };

/// Whether a run ends when the cluster works: network plugin, DNS and GPUs are waited for, and the pod
/// network is tested; or as soon as its last change is made.
enum class Waiting { until_it_works, none };

}  // namespace session
