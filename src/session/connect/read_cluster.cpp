#include "gpuadm/base/files.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/connections.hpp"

#include "session/connect/kubeconfig.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace session {
namespace {

using base::Fault;

constexpr std::size_t largest_file = 1u << 20;

Result<spec::Cluster> of_targets(const std::vector<std::string>& targets) {
  spec::Cluster cluster = TRY(spec::single(targets.empty() ? std::string() : targets.front()));
  for (std::size_t i = 1; i < targets.size(); ++i) {
    const spec::Cluster other = TRY(spec::single(targets[i]));
    const spec::Host& host = other.hosts.front();
    if (std::ranges::find(cluster.hosts, host.name, &spec::Host::name) != cluster.hosts.end())
      return base::fail(Fault::usage, fmt::format("{} is given twice", base::printable(host.name)));
    cluster.hosts.push_back(host);
  }
  return cluster;
}

/// Keeps the selected hosts, in the file's order.
Result<> select(spec::Cluster& cluster, const std::vector<std::string>& targets, const std::string& file) {
  std::vector<std::string> names;
  for (const spec::Host& host : cluster.hosts) names.push_back(host.name);
  for (const std::string& target : targets) {
    if (std::ranges::find(names, target) != names.end()) continue;
    const auto near = base::nearest(target, names);
    return base::fail(
        Fault::usage, fmt::format("{} has no host named {}", file, base::printable(target)),
        near ? fmt::format("did you mean {}?", *near) : "its hosts: " + base::join(names, ", "));
  }
  std::erase_if(cluster.hosts, [&](const spec::Host& host) {
    return std::ranges::find(targets, host.name) == targets.end();
  });
  return {};
}

/// What to type if a cluster file cannot be read.
std::string hint_for(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found)
    return "use -f FILE, or create one with gpuadm config init";
  if (std::filesystem::is_directory(status))
    return fmt::format("name the file in it: -f {}", base::quote((file / "cluster.yaml").string()));
  if (std::filesystem::file_size(file, error) > largest_file && !error)
    return "a cluster file is smaller: use -f with the cluster file";
  return "";
}

Result<spec::Cluster> of_file(const Hosts& hosts) {
  const auto text = base::read_file(hosts.file, largest_file);
  if (!text)
    return base::fail(Fault::usage, text.error().what,
                      text.error().hint.empty() ? hint_for(hosts.file) : text.error().hint);
  spec::Cluster cluster = TRY(spec::parse(*text, hosts.file.string()));
  if (!hosts.targets.empty()) TRY(select(cluster, hosts.targets, hosts.file.string()));
  return cluster;
}

void apply_options(spec::Cluster& cluster, const Connection& connection) {
  if (connection.client == "auto") cluster.ssh.client = spec::SshClient::automatic;
  if (connection.client == "libssh2") cluster.ssh.client = spec::SshClient::libssh2;
  if (connection.client == "openssh") cluster.ssh.client = spec::SshClient::openssh;
  if (connection.host_key_checking == "accept-new") cluster.ssh.host_keys = spec::HostKeys::accept_new;
  if (connection.host_key_checking == "strict") cluster.ssh.host_keys = spec::HostKeys::strict;
  cluster.ssh.window = connection.window.value_or(cluster.ssh.window);
  cluster.ssh.connect_timeout = connection.connect_timeout.value_or(cluster.ssh.connect_timeout);
  cluster.ssh.command_timeout = connection.timeout.value_or(cluster.ssh.command_timeout);
  for (spec::Host& host : cluster.hosts) {
    if (host.endpoint.local) continue;
    if (!connection.user.empty()) host.endpoint.user = connection.user;
    if (connection.port != 0) host.endpoint.port = connection.port;
    if (!connection.identity.empty()) host.endpoint.identity_file = connection.identity.string();
  }
}

}  // namespace

Result<spec::Cluster> read_cluster(const Hosts& hosts, const Connection& connection) {
  if (!connection.kubeconfig.empty()) return of_kubeconfig(hosts, connection.kubeconfig);
  spec::Cluster cluster = TRY(hosts.file.empty() ? of_targets(hosts.targets) : of_file(hosts));
  apply_options(cluster, connection);
  return cluster;
}

}  // namespace session
