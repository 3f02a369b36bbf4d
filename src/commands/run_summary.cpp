#include "commands/run_summary.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/runtime_version.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/spec/engines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace commands {

namespace {

/// "3: cp1 (control plane), gpu1, gpu2"; for many nodes the first ones.
std::string nodes_of(const RunSummary& of) {
  constexpr std::size_t most = 4;
  std::string text = fmt::format("{}: ", of.cluster.hosts.size());
  for (std::size_t i = 0; i < std::min(most, of.cluster.hosts.size()); ++i) {
    const spec::Host& host = of.cluster.hosts[i];
    text += fmt::format("{}{}{}", i == 0 ? "" : ", ", base::printable(host.name),
                        host.role == spec::Role::control_plane ? " (control plane)" : "");
  }
  if (of.cluster.hosts.size() > most) text += fmt::format(" and {} more", of.cluster.hosts.size() - most);
  return text;
}

const facts::Facts* facts_of(const RunSummary& of, const spec::Host& host) {
  const auto found = of.census.find(host.name);
  return found != of.census.end() && found->second ? &*found->second : nullptr;
}

std::size_t gpus_on(const facts::Facts& facts) {
  return std::max(facts.nvidia.gpus.size(), facts.nvidia.pci_gpus.size());
}

/// "; pods can use 15 of them", as the nodes offer them. Empty: it was not read.
std::string usable_of(const RunSummary& of) {
  if (!of.status) return {};
  long long usable = 0;
  for (const cluster::GpuUse& use : of.status->gpu_hosts) {
    if (!use.counts.allocatable) return "; how many pods can use is unknown";
    usable += *use.counts.allocatable;
  }
  return fmt::format("; pods can use {} of them", usable);
}

/// "16 on 2 nodes (NVIDIA H200); pods can use 16 of them"
std::string gpus_of(const RunSummary& of) {
  std::size_t gpus = 0, nodes = 0;
  std::set<std::string> models;
  for (const spec::Host& host : of.cluster.hosts) {
    const facts::Facts* facts = facts_of(of, host);
    if (!facts || gpus_on(*facts) == 0) continue;
    gpus += gpus_on(*facts);
    ++nodes;
    for (const facts::Gpu& gpu : facts->nvidia.gpus) models.insert(base::printable(gpu.name, 50));
  }
  if (gpus == 0) return "none";
  std::string text = fmt::format("{} on {} node{}", gpus, nodes, nodes == 1 ? "" : "s");
  if (!models.empty())
    text += fmt::format(" ({})", base::join(std::vector(models.begin(), models.end()), ", "));
  return text + usable_of(of);
}

/// "1.34.2, containerd 1.7.24": the version of a runtime that the run installed is unknown.
std::string versions_of(const RunSummary& of) {
  const spec::Cluster& cluster = of.cluster;
  std::string text = of.kubernetes ? of.kubernetes->text() : "unknown";
  const spec::Host* first = playbook::first_control_plane(cluster, of.census);
  const facts::Facts* facts = first ? facts_of(of, *first) : nullptr;
  const spec::EngineRow& engine = spec::row_of(cluster.runtime.engine);
  const std::string version = facts ? facts::version_of(facts->runtime, engine.name) : std::string();
  return fmt::format("{}, {}{}{}", text, engine.title, version.empty() ? "" : " ", version);
}

/// For a command line: "~/.local/state/gpuadm/lab/kubeconfig".
std::string typed_path(const std::filesystem::path& path) {
  const std::string home = base::home().string() + "/", text = path.string();
  const bool plain =
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") ==
      std::string::npos;
  if (!plain) return base::quote(text);
  return text.starts_with(home) ? "~/" + text.substr(home.size()) : text;
}

/// Whether templates/gpu-job.yaml works: pods request nvidia.com/gpu and use a runtime class.
bool has_gpu_jobs(const RunSummary& of) {
  return gpus_of(of) != "none" && of.cluster.gpu.allocator == spec::Allocator::device_plugin;
}

/// The verdict of `gpuadm status`, and how to see its problems.
std::string state_of(const RunSummary& of) {
  if (!of.status) return "not read: gpuadm status" + of.typed;
  const cluster::Verdict& verdict = of.status->verdict;
  const std::string text = verdict.health() == cluster::Health::well ? "healthy" : to_text(verdict);
  return verdict.health() == cluster::Health::well ? text : text + ": gpuadm status" + of.typed;
}

}  // namespace

std::string to_text(const RunSummary& of) {
  const std::string kubectl =
      of.kubeconfig.empty() ? "kubectl" : "kubectl --kubeconfig " + typed_path(of.kubeconfig);
  std::string text = fmt::format("Cluster {} is {}\n", base::printable(of.cluster.name),
                                 of.waited_for ? "ready" : "installed; gpuadm did not wait for it");
  const auto row = [&](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<11} {}\n", name, value);
  };
  row("Kubernetes", base::printable(versions_of(of)));
  row("nodes", nodes_of(of));
  row("GPUs", gpus_of(of));
  row("state", state_of(of));
  row("kubeconfig",
      of.kubeconfig.empty() ? "~/.kube/config of root and of the login user" : typed_path(of.kubeconfig));
  text += fmt::format("Next:\n  gpuadm verify{}\n", of.typed);
  if (!has_gpu_jobs(of)) return text + fmt::format("  {} get nodes\n", kubectl);
  return text + fmt::format("  gpuadm assets show templates/gpu-job.yaml |\n    {} apply -f -\n", kubectl);
}

std::string restored(const std::vector<std::string>& hosts, std::string_view before) {
  constexpr std::size_t most = 4;
  std::string names;
  for (std::size_t i = 0; i < std::min(most, hosts.size()); ++i)
    names += (i == 0 ? "" : ", ") + base::printable(hosts[i]);
  if (hosts.size() > most) names += fmt::format(" and {} more", hosts.size() - most);
  return hosts.size() == 1 ? fmt::format("{} is restored to its state before {}\n", names, before)
                           : fmt::format("{} are restored to their state before {}\n", names, before);
}

}  // namespace commands
