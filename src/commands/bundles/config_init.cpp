#include "gpuadm/base/files.hpp"
#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/recording.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace commands {
namespace {

struct ConfigInitOptions {
  Common common;
  Hosts hosts;                   ///< only targets: there is no file yet
  std::filesystem::path from;    ///< a recording to read instead of hosts
  std::filesystem::path output;  ///< a new file; empty: standard output
  std::string name;              ///< of the cluster; empty: the default
};

/// A value as written after a key.
std::string scalar(const std::string& text) {
  return std::string(base::trim(base::yaml::write(base::Tree(text))));
}

/// One line of a comment about a host.
std::string remark(std::string_view text) {
  return base::replace_all(base::printable(text, 200), "\n", " ");
}

/// "8 x NVIDIA H200, driver 570.86.15", or the GPUs without a driver.
std::string gpus_of(const facts::Facts& facts) {
  if (facts.nvidia.gpus.empty())
    return facts.nvidia.pci_gpus.empty()
               ? "no GPU"
               : fmt::format("{} NVIDIA GPUs on the PCI bus, without a driver", facts.nvidia.pci_gpus.size());
  std::map<std::string, int> models;
  for (const facts::Gpu& gpu : facts.nvidia.gpus) ++models[gpu.name];
  std::vector<std::string> parts;
  for (const auto& [name, count] : models) parts.push_back(fmt::format("{} x {}", count, name));
  return base::join(parts, ", ") + (facts.nvidia.driver ? ", driver " + facts.nvidia.driver->version : "");
}

std::string runtimes_of(const facts::Facts& facts) {
  std::vector<std::string> parts;
  if (facts.runtime.containerd) parts.push_back("containerd " + facts.runtime.containerd->version);
  if (facts.runtime.docker) parts.push_back("Docker " + facts.runtime.docker->version);
  if (facts.runtime.crio) parts.push_back("CRI-O " + *facts.runtime.crio);
  return parts.empty() ? "no container runtime" : base::join(parts, ", ");
}

std::string memory_of(const facts::Facts& facts) {
  return facts.machine.memory_kib ? ", " + base::human_bytes(*facts.machine.memory_kib * 1024) : "";
}

/// The first of some networks that overlaps with no route of a host.
template <std::size_t N>
std::string free_network(const std::array<const char*, N>& candidates, const facts::Census& census) {
  for (const char* candidate : candidates) {
    const auto network = base::Cidr::parse(candidate);
    const bool taken = std::ranges::any_of(census, [&](const auto& host) {
      return host.second && std::ranges::any_of(host.second->network.routes, [&](const std::string& route) {
               const auto cidr = base::Cidr::parse(route);
               return cidr && cidr->prefix > 0 && cidr->overlaps(*network);
             });
    });
    if (!taken) return candidate;
  }
  return candidates.front();
}

bool is_ip_address(const std::string& text) {
  return base::Cidr::parse(text + "/32") || base::Cidr::parse(text + "/128");
}

/// The first label of a host name in lower case; empty if it is not a valid node name.
std::string label_of(const std::string& hostname) {
  const std::string label = base::lower(hostname.substr(0, hostname.find('.')));
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  const bool good = !label.empty() && label.size() <= 63 && std::ranges::all_of(label, fits) &&
                    label.front() != '-' && label.back() != '-' && label != "localhost";
  return good ? label : "";
}

/// The name of a host in the file: from the command line, but a host that was given by its address gets its
/// own host name, unless two hosts have the same.
std::map<std::string, std::string> names_of(const spec::Cluster& cluster, const facts::Census& census) {
  std::map<std::string, std::string> names;
  std::map<std::string, int> uses;
  for (const spec::Host& host : cluster.hosts) {
    const auto found = census.find(host.name);
    const bool unnamed = host.endpoint.local || is_ip_address(host.endpoint.address);
    const std::string label =
        unnamed && found != census.end() && found->second ? label_of(found->second->machine.hostname) : "";
    ++uses[names[host.name] = label.empty() ? host.name : label];
  }
  for (auto& [host, name] : names)
    if (uses[name] > 1) name = host;
  return names;
}

class Draft {
 public:
  Draft(const spec::Cluster& cluster, const facts::Census& census, std::string name)
      : cluster_(cluster), census_(census), names_(names_of(cluster, census)), name_(std::move(name)) {}

  std::string text() {
    line(
        "# Desired state of these hosts. `gpuadm config explain` describes all keys; omitted keys "
        "have their defaults.");
    line("# yaml-language-server: $schema=cluster.schema.json   (gpuadm config schema >cluster.schema.json)");
    line("apiVersion: gpuadm/v1alpha1\nkind: GpuCluster");
    line("name: " + scalar(name_));
    add_kubernetes();
    add_network();
    add_machine();
    add_control_plane();
    add_hosts();
    return text_;
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }

  /// Calls the function with every reachable host.
  template <class Call>
  void all(Call call) const {
    for (const spec::Host& host : cluster_.hosts)
      if (const auto found = census_.find(host.name); found != census_.end() && found->second)
        call(host.name, *found->second);
  }

  void add_kubernetes() {
    line("\nkubernetes:");
    std::set<std::string> minors;
    all([&](const std::string& host, const facts::Facts& facts) {
      if (!facts.kubernetes.kubelet) return;
      line(fmt::format("  # {}: the kubelet is {}", remark(host), remark(*facts.kubernetes.kubelet)));
      std::string text = *facts.kubernetes.kubelet;
      if (text.starts_with('v')) text.erase(0, 1);
      if (const auto version = base::Version::parse(text))
        minors.insert(fmt::format("{}.{}", version->major, version->minor));
    });
    if (minors.size() == 1)
      line(fmt::format("  version: \"{}\"", *minors.begin()));
    else
      line("  # version: \"1.36\"          # default: the newest that gpuadm knows");
  }

  void add_network() {
    line("\nnetwork:");
    line("  plugin: flannel              # bridge: routes, without an overlay; none: install your own");
    line("  # Networks that no host has a route to.");
    line("  podCIDR: " +
         free_network<4>({"10.244.0.0/16", "10.245.0.0/16", "172.28.0.0/16", "192.168.128.0/17"}, census_));
    line("  serviceCIDR: " + free_network<3>({"10.96.0.0/12", "10.112.0.0/12", "172.29.0.0/16"}, census_));
  }

  void add_machine() {
    bool undriven = false, gpus = false;
    line("");
    all([&](const std::string& host, const facts::Facts& facts) {
      if (facts.kernel.swap && !facts.kernel.swap->empty()) line(fmt::format("# {} has swap", remark(host)));
      gpus = gpus || !facts.nvidia.pci_gpus.empty() || !facts.nvidia.gpus.empty();
      undriven = undriven || (!facts.nvidia.pci_gpus.empty() && !facts.nvidia.driver);
    });
    line("swap: keep                     # pods use none; limited: they may; off");
    if (!gpus) return;
    line("\ngpu:");
    line(undriven ? "  driver: install              # not every host with GPUs has one"
                  : "  driver: use                  # the installed one; install: install one");
    line("  sharing: exclusive           # or { timeSlicing: 4 }, { mps: 2 }");
  }

  /// The first host becomes the control plane. Of several hosts, control planes are tainted by default: the
  /// GPUs of this one would have no pods.
  void add_control_plane() {
    if (cluster_.hosts.size() < 2) return;
    const auto first = census_.find(cluster_.hosts.front().name);
    if (first == census_.end() || !first->second) return;
    const facts::Nvidia& nvidia = first->second->nvidia;
    if (nvidia.pci_gpus.empty() && nvidia.gpus.empty()) return;
    line("\ncontrolPlane:");
    line(fmt::format("  schedulable: yes             # {} has GPUs; no: pods cannot use them",
                     remark(names_.at(cluster_.hosts.front().name))));
  }

  void add_hosts() {
    line("\nhosts:");
    for (const spec::Host& host : cluster_.hosts) {
      const auto found = census_.find(host.name);
      if (found != census_.end() && found->second) {
        const facts::Facts& facts = *found->second;
        line(fmt::format("  # {}; {} CPUs{}; {}", remark(facts.os.pretty), facts.machine.cpus,
                         memory_of(facts), remark(runtimes_of(facts))));
        line("  # " + remark(gpus_of(facts)));
      } else {
        line("  # could not be reached");
      }
      add_host(host);
    }
  }

  void add_host(const spec::Host& host) {
    const spec::Endpoint& at = host.endpoint;
    line("  - name: " + scalar(names_.at(host.name)));
    if (at.local) line("    local: true                # this machine, without SSH");
    if (!at.local) line("    address: " + scalar(at.address));
    if (!at.user.empty()) line("    user: " + scalar(at.user));
    if (at.port != 0) line(fmt::format("    port: {}", at.port));
    if (!at.identity_file.empty()) line("    identityFile: " + scalar(at.identity_file));
    line(&host == &cluster_.hosts.front() ? "    role: controlPlane" : "    role: worker");
  }

  const spec::Cluster& cluster_;
  const facts::Census& census_;
  std::map<std::string, std::string> names_;  ///< by the host's name in the file
  std::string name_, text_;
};

Result<session::ClusterSurvey> survey_hosts(const ConfigInitOptions& options, const assets::Store& assets,
                                            Io& io) {
  if (!options.from.empty() && !options.hosts.targets.empty())
    return base::fail(base::Fault::usage, "--from cannot be combined with hosts");
  if (!options.from.empty()) return session::load_recording(options.from);
  session::ClusterSurvey recording{
      TRY(session::read_cluster(options.hosts, options.common.connection)), {}, {}};
  const auto connections = TRY(session::Connections::open(recording.cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  recording.survey = TRY(
      session::take_census(*fleet, assets, session::Afterwards::close_connection, session::Texts::dropped));
  return recording;
}

/// Generates a commented cluster file from what is found on the hosts.
Result<Outcome> config_init(const ConfigInitOptions& options, Io& io) {
  if (!options.output.empty())
    TRY(base::is_new(options.output, "specify a file that does not exist, or omit -o to print it"));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const session::ClusterSurvey recording = TRY(survey_hosts(options, assets, io));
  for (const auto& [host, facts] : recording.survey.census)
    if (!facts) io.err(fmt::format("{}\n", base::printable(facts.error().what)));
  if (recording.survey.none_reached()) return Outcome::unreachable;
  if (options.from.empty())
    for (const auto& [host, facts] : recording.survey.census)
      if (facts && facts->kubernetes.kubelet_conf)
        return base::fail(base::Fault::usage, fmt::format("{} is already a node of a cluster", host),
                          "generate its cluster file with gpuadm adopt HOST");

  const std::string text = Draft(recording.cluster, recording.survey.census,
                                 options.name.empty() ? recording.cluster.name : options.name)
                               .text();
  TRY(spec::parse(text, options.output.empty() ? "the cluster file" : options.output.string()));
  if (options.output.empty()) {
    io.out(text);
    return Outcome::done;
  }
  TRY(base::write_file(options.output, text, 0644));
  io.err(fmt::format("wrote {0}; review it, then: gpuadm config lint {0}\n", options.output.string()));
  return Outcome::done;
}

}  // namespace

Command config_init_command() {
  return CommandRow<ConfigInitOptions>{
      .name = "config init",
      .group = Group::bundles,
      .summary = "Generate a commented cluster file from existing hosts",
      .options =
          [](Line& line, ConfigInitOptions& options) {
            line.argument("TARGET", options.hosts.targets, "[user@]host[:port] (default: this machine)");
            line.value("--from", options.from, "DIR", "Read a recording instead of connecting to hosts");
            line.value("--name", options.name, "NAME", "Name of the cluster (default gpuadm)");
            line.value("-o,--output", options.output, "FILE",
                       "File to create; must not exist (default: print)");
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm config init root@192.0.2.10 root@192.0.2.21 -o cluster.yaml", "two hosts"},
                   {"gpuadm config init --name lab", "this machine"}},
      .run = config_init};
}

}  // namespace commands
