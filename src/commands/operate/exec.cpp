
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/spec/values.hpp"

#include "commands/shared_options.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

struct ExecOptions {
  Common common;
  Hosts hosts;
  /// One word: a line of sh. Several: a program and its arguments, unchanged.
  std::vector<std::string> command;
  bool raw = false;  ///< do not escape control characters
  Format format = Format::text;
};

struct LogsOptions {
  Common common;
  Hosts hosts;
  std::string what;   ///< a unit, or a component of the control plane
  std::string since;  ///< "10m", "2h", "1d"; empty: no limit
  int lines = 100;
  bool raw = false;
  Format format = Format::text;
};

using base::Fault;

/// A name that no program mistakes for an option or a path.
bool is_unit_name(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name.front() != '-' &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@._:-\\") ==
             std::string::npos;
}

std::string program_of(const std::vector<std::string>& words) {
  if (words.size() == 1) return words.front();
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + base::quote(word);
  return line;
}

/// Runs a command on every host as root and prints its output as `host| text`. Outcome::failed if an exit
/// status is not 0 or a host is unreachable, ::unreachable if all are.
Result<Outcome> exec(const ExecOptions& options, Io& io) {
  if (options.command.empty())
    return base::fail(Fault::usage, "no command is given",
                      "write it after two dashes: gpuadm exec HOST -- uptime");
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const auto connections = TRY(session::Connections::open(cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::full);
  return session::run_on_all({.label = "run the command",
                              .script = program_of(options.command),
                              .effect = transport::Effect::changes,
                              .timeout = std::chrono::seconds(cluster.ssh.command_timeout)},
                             *fleet, options.format,
                             options.raw ? session::Shown::raw : session::Shown::printable, io);
}

/// Prints the last lines of a log on every host, as exec does.
Result<Outcome> logs(const LogsOptions& options, Io& io) {
  if (!is_unit_name(options.what))
    return base::fail(Fault::usage, fmt::format("invalid unit: '{}'", base::printable(options.what, 50)),
                      "for example: gpuadm logs kubelet, or gpuadm logs etcd");
  std::string since;
  if (!options.since.empty()) {
    const auto ago = std::chrono::seconds(TRY(spec::seconds_in("--since", options.since)));
    since = std::to_string(std::chrono::system_clock::to_time_t(base::now() - ago));
  }
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const std::string script =
      base::assignments(
          {{"what", options.what}, {"since", since}, {"log_lines", std::to_string(options.lines)}}) +
      TRY(session::reading_script(assets, "playbooks/logs.sh"));
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const auto connections = TRY(session::Connections::open(cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  return session::run_on_all({.label = "read the log", .script = script}, *fleet, options.format,
                             options.raw ? session::Shown::raw : session::Shown::printable, io);
}

}  // namespace

Command exec_command() {
  return CommandRow<ExecOptions>{
      .name = "exec",
      .group = Group::operate,
      .summary = "Run a command on hosts as root: gpuadm exec [HOST...] -- COMMAND",
      .options =
          [](Line& line, ExecOptions& options) {
            add_hosts(line, options.hosts);
            line.command(options.command);
            line.flag("--raw", options.raw, "Do not escape control characters");
            add_format(line, options.format);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm exec -f cluster.yaml -- uptime", "on all hosts"}},
      .run = exec};
}

Command logs_command() {
  return CommandRow<LogsOptions>{
      .name = "logs",
      .group = Group::operate,
      .summary = "Show the last lines of a log on hosts",
      .options =
          [](Line& line, LogsOptions& options) {
            line.argument("WHAT", options.what,
                          "systemd unit (kubelet, containerd, ...), or kube-apiserver, "
                          "kube-controller-manager, kube-scheduler, kube-proxy, etcd")
                .required();
            add_hosts(line, options.hosts);
            line.value("--since", options.since, "TIME", "Only newer entries: 10m, 2h, 1d");
            line.value("-n,--lines", options.lines, "NUMBER", "Lines per host (default 100)")
                .range(1, 100'000);
            line.flag("--raw", options.raw, "Do not escape control characters");
            add_format(line, options.format);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm logs kubelet gpu1 -f cluster.yaml --since 10m", "the last ten minutes"}},
      .run = logs};
}

}  // namespace commands
