#pragma once

#include "commands/app.hpp"

/// `gpuadm exec`, `logs`, `cp`: one operation on many hosts.
namespace commands {

struct ExecOptions {
  Common common;
  Hosts hosts;
  /// One word: a line of sh. Several: a program and its arguments, unchanged.
  std::vector<std::string> command;
  bool raw = false;  ///< do not escape control characters
  Format format = Format::text;
};
/// Runs a command on every host as root and prints its output as `host| text`. Outcome::failed if an exit
/// status is not 0 or a host is unreachable, ::unreachable if all are.
[[nodiscard]] Result<Outcome> exec(const ExecOptions& options, Io& io);

struct LogsOptions {
  Common common;
  Hosts hosts;
  std::string what;   ///< a unit, or a component of the control plane
  std::string since;  ///< "10m", "2h", "1d"; empty: no limit
  int lines = 100;
  bool raw = false;
  Format format = Format::text;
};
/// Prints the last lines of a log on every host, as exec does.
[[nodiscard]] Result<Outcome> logs(const LogsOptions& options, Io& io);

struct CopyOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path file;
  std::string to;  ///< a path on the hosts; with a '/' at its end, the directory for the file
  Consent consent = Consent::given;
  Format format = Format::text;
};
/// Copies a file to every host: streamed, verified, journaled, renamed into place atomically, with its local
/// mode. Hosts that already have it are not changed. Writes nothing if a host is unreachable.
[[nodiscard]] Result<Outcome> copy(const CopyOptions& options, Io& io);

}  // namespace commands
