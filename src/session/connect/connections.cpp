#include "gpuadm/session/connections.hpp"

#include "gpuadm/base/secret_file.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

namespace session {

namespace {

transport::Options options_of(const spec::Cluster& cluster) {
  transport::Options options;
  options.host_keys = cluster.ssh.host_keys;
  options.client = cluster.ssh.client;
  options.sudo = cluster.ssh.sudo;
  options.connect_timeout = std::chrono::seconds(cluster.ssh.connect_timeout);
  return options;
}

}  // namespace

Result<std::unique_ptr<Connections>> Connections::open(const spec::Cluster& cluster,
                                                       const Connection& connection, Io& io) {
  transport::Options options = options_of(cluster);
  if (!connection.sudo_password_file.empty())
    options.sudo_password = TRY(base::read_secret_file(connection.sudo_password_file));
  return std::unique_ptr<Connections>(new Connections(cluster, std::move(options), io));
}

Connections::Connections(const spec::Cluster& cluster, transport::Options options, Io& io)
    : cluster_(cluster) {
  transport::Operator person;
  person.ask_secret = io.ask_secret;
  print_ = report::above_live_lines(io.err, io.err_style);
  person.notify = [this, &io](const std::string& host, const std::string& line) {
    if (io.err_style.verbosity != report::Verbosity::quiet)
      print_(fmt::format("{}: {}\n", base::printable(host), base::printable(line)));
  };
  session_ = transport::make_session(std::move(options), std::move(person));
}

std::unique_ptr<transport::Fleet> Connections::fleet(Access access) {
  auto fleet = std::make_unique<transport::Fleet>(cluster_.ssh.window, &interrupt_);
  fleet->on_interrupt([this] { print_("finishing the running step; press Ctrl-C again to stop now\n"); });
  for (const spec::Host& host : cluster_.hosts) {
    auto opened = transport::open(*session_, host.name, host.endpoint);
    fleet->add(host.name,
               access == Access::read_only ? transport::read_only(std::move(opened)) : std::move(opened));
  }
  return fleet;
}

Result<transport::Tunnel> Connections::open_tunnel(const spec::Host& host, const transport::TunnelEnd& end,
                                                   std::uint16_t port) {
  return transport::open_tunnel(*session_, host.name, host.endpoint, end, port, interrupt_);
}

std::vector<std::string> terminal_argv(const spec::Cluster& cluster, const spec::Host& host,
                                       const transport::TerminalProgram& program) {
  return transport::terminal_argv(options_of(cluster), host.endpoint, program);
}

}  // namespace session
