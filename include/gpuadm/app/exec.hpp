#pragma once

#include "gpuadm/app/app.hpp"

/// `gpuadm exec`, `logs`, `cp`: one thing on many hosts.
namespace app {

struct ExecOptions {
  Common common;
  Hosts hosts;
  /// One word: a line of sh. Several: a program and its arguments, each as it is.
  std::vector<std::string> command;
  bool raw = false;  ///< output as it is, control characters too
  Format format = Format::text;
};
/// Runs a command on every host as root and prints what it says as `host| text`. Outcome::failed where it
/// ended with a status other than 0 or a host could not be reached, ::unreachable where none could.
[[nodiscard]] Result<Outcome> exec(const ExecOptions& options, Io& io);

struct LogsOptions {
  Common common;
  Hosts hosts;
  std::string what;   ///< a unit, or a part of the control plane
  std::string since;  ///< "10m", "2h", "1d"; empty: however old
  int lines = 100;
  bool raw = false;
  Format format = Format::text;
};
/// The last lines of a log on every host, printed as exec does.
[[nodiscard]] Result<Outcome> logs(const LogsOptions& options, Io& io);

struct CopyOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path file;
  std::string to;  ///< a path on the hosts; one that ends with '/' is the folder for it
  Consent consent = Consent::given;
  Format format = Format::text;
};
/// Brings a file to every host: streamed, summed as it arrives, journaled, put in its place at once with the
/// mode that it has here. Hosts that have it are left alone. Nothing is written where a host cannot be
/// reached.
[[nodiscard]] Result<Outcome> copy(const CopyOptions& options, Io& io);

}  // namespace app
