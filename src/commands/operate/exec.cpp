#include "commands/operate/exec.hpp"

#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/run_on_all.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

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

}  // namespace

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

Result<Outcome> logs(const LogsOptions& options, Io& io) {
  if (!is_unit_name(options.what))
    return base::fail(Fault::usage, fmt::format("invalid unit: '{}'", base::printable(options.what, 50)),
                      "for example: gpuadm logs kubelet, or gpuadm logs etcd");
  std::string since;
  if (!options.since.empty()) {
    const auto ago = std::chrono::seconds(TRY(session::seconds_in("--since", options.since)));
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

}  // namespace commands
