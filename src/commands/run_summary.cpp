#include "commands/run_summary.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/report/wrap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

namespace commands {

namespace {

constexpr std::size_t most_problems = 2, next_commands = 3;

/// GPUs of the hosts, and those that pods can use.
struct GpuSums {
  long long present = 0;
  std::optional<long long> usable = 0;  ///< nothing: unknown for a host
};

GpuSums gpus_of(const cluster::Status& status) {
  GpuSums sums;
  for (const cluster::GpuUse& use : status.gpu_hosts) {
    sums.present += static_cast<long long>(std::max(use.counts.pci, use.counts.driver));
    if (!use.counts.allocatable)
      sums.usable.reset();
    else if (sums.usable)
      *sums.usable += *use.counts.allocatable;
  }
  return sums;
}

/// "Cluster lab: 3 of 4 nodes Ready, Kubernetes 1.36.4"
std::string nodes_of(const RunSummary& of, const cluster::Status& status) {
  const auto ready = std::ranges::count(status.nodes, "Ready", &cluster::NodeStatus::ready);
  const auto all = static_cast<std::ptrdiff_t>(status.nodes.size());
  std::string nodes = ready == all ? fmt::format("{}", all) : fmt::format("{} of {}", ready, all);
  nodes += all == 1 && ready == all ? " node Ready" : " nodes Ready";
  std::string version = status.version.starts_with('v') ? status.version.substr(1) : status.version;
  if (version.empty() && of.kubernetes) version = of.kubernetes->text();
  return fmt::format("Cluster {}: {}, Kubernetes {}", base::printable(of.cluster.name), nodes,
                     version.empty() ? "unknown" : base::printable(version, 30));
}

/// "H100 80GB HBM3, 79.6 GiB each": the model without its manufacturer.
std::string models_of(const RunSummary& of) {
  constexpr unsigned long long mib = 1ULL << 20;
  std::set<std::string> models;
  std::set<std::uint64_t> memory;
  std::size_t gpus = 0;
  for (const auto& [host, facts] : *of.census) {
    if (!facts) continue;
    for (const facts::Gpu& gpu : facts->nvidia.gpus) {
      std::string model = base::printable(gpu.name, 50);
      if (model.starts_with("NVIDIA ")) model.erase(0, 7);
      models.insert(std::move(model));
      memory.insert(gpu.memory_mib.value_or(0));
      ++gpus;
    }
  }
  std::string text = base::join(std::vector(models.begin(), models.end()), ", ");
  if (memory.size() == 1 && *memory.begin() > 0)
    text += fmt::format(", {}{}", base::human_bytes(*memory.begin() * mib), gpus > 1 ? " each" : "");
  return text;
}

/// "a pod computed on it 12 s ago". Empty: no pod has. `usable`: nothing if unknown.
std::string computed_on(const RunSummary& of, std::optional<long long> usable, base::Time now) {
  if (!of.computed || of.computed->gpus <= 0) return {};
  const double ago = std::max(0.0, std::chrono::duration<double>(now - of.computed->at).count());
  const std::string when = base::human_seconds(std::max(1.0, ago));
  if (!usable || of.computed->gpus < *usable)
    return fmt::format("pods computed on {} of them {} ago", of.computed->gpus, when);
  return fmt::format("{} {} ago", usable == 1 ? "a pod computed on it" : "pods computed on each", when);
}

/// "Pods can use 1 of 1 GPUs (H100 80GB HBM3, 79.6 GiB; a pod computed on it 12s ago)"
std::string gpu_line(const RunSummary& of, const cluster::Status& status, base::Time now) {
  const GpuSums sums = gpus_of(status);
  const auto silent = std::ranges::count_if(*of.census, [](const auto& host) { return !host.second; });
  const std::string not_read =
      silent == 0 ? "" : fmt::format("; {} host{} could not be read", silent, silent == 1 ? "" : "s");
  if (sums.present == 0) return "No NVIDIA GPU was found on its hosts" + not_read;
  std::string text = sums.usable ? fmt::format("Pods can use {} of {} GPUs", *sums.usable, sums.present)
                                 : fmt::format("How many of {} GPUs pods can use is unknown", sums.present);
  std::string detail = models_of(of);
  if (const std::string computed = computed_on(of, sums.usable, now); !computed.empty())
    detail += (detail.empty() ? "" : "; ") + computed;
  else if (sums.usable > 0)
    detail += std::string(detail.empty() ? "" : "; ") + "no pod computed on them in this run";
  if (sums.usable == 0 && of.cluster.gpu.allocator == spec::Allocator::none)
    detail += std::string(detail.empty() ? "" : "; ") + "the cluster file has gpu.allocator: none";
  return (detail.empty() ? text : fmt::format("{} ({})", text, detail)) + not_read;
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

std::string typed_with(const report::Style& style, const std::string& command) {
  return style.complete ? style.complete(command) : command;
}

/// The verdict of `gpuadm status` with its first problems and their remedies. Empty: healthy.
std::string verdict_of(const cluster::Verdict& verdict, const report::Style& style) {
  if (verdict.health() == cluster::Health::well) return {};
  std::string text = to_text(verdict) + ":\n";
  const auto& problems = verdict.problems.empty() ? verdict.unread : verdict.problems;
  for (std::size_t i = 0; i < std::min(most_problems, problems.size()); ++i) {
    const cluster::Problem& problem = problems[i];
    text += "  " +
            report::wrapped(base::printable(problem.where + ": " + problem.what, 140), 4, style.width) + "\n";
    if (!problem.remedy.empty())
      text += "    " + base::printable(typed_with(style, problem.remedy), 300) + "\n";
  }
  if (problems.size() > most_problems)
    text += fmt::format("  and {} more: {}\n", problems.size() - most_problems,
                        typed_with(style, "gpuadm status"));
  return problems.empty() ? to_text(verdict) + ": " + typed_with(style, "gpuadm doctor") + "\n" : text;
}

/// For this user: first what repairs the cluster, then what uses it.
std::vector<std::string> next_of(const RunSummary& of) {
  const std::string kubectl =
      of.kubeconfig ? "kubectl --kubeconfig " + typed_path(*of.kubeconfig) : std::string("kubectl");
  std::vector<std::string> next;
  const bool is_well = of.status && of.status->verdict.health() == cluster::Health::well;
  const bool has_gpus = of.status && gpus_of(*of.status).usable.value_or(0) > 0;
  if (!is_well) next.emplace_back("gpuadm status");
  if (!of.notebook.empty()) next.emplace_back("gpuadm notebook url " + of.notebook);
  if (!of.computed || !is_well) next.emplace_back("gpuadm verify");
  if (has_gpus && of.notebook.empty())
    next.emplace_back("gpuadm notebook create nb1 --gpus 1 --size 10Gi --tunnel");
  next.emplace_back("gpuadm dashboard");
  next.emplace_back(kubectl + " get nodes");
  next.resize(std::min(next.size(), next_commands));
  return next;
}

}  // namespace

std::string to_text(const RunSummary& of, base::Time now, const report::Style& style) {
  std::string text;
  const auto row = [&](const std::string& line) { text += report::wrapped(line, 2, style.width) + "\n"; };
  if (of.status) {
    row(nodes_of(of, *of.status));
    row(gpu_line(of, *of.status, now));
  } else {
    row(fmt::format("Cluster {}: Kubernetes {} is installed; {}", base::printable(of.cluster.name),
                    of.kubernetes ? of.kubernetes->text() : "of an unknown version",
                    !of.waited_for      ? "gpuadm did not wait for it"
                    : of.unread.empty() ? "its state could not be read"
                                        : "its state could not be read: " + base::printable(of.unread, 300)));
  }
  row("kubeconfig: " +
      (of.kubeconfig ? typed_path(*of.kubeconfig) : "~/.kube/config of root and of the login user"));
  if (of.status) text += verdict_of(of.status->verdict, style);
  text += "Next:\n";
  for (const std::string& command : next_of(of))
    text += "  " + report::padded(base::printable(typed_with(style, command), 500), 2, style.width) + "\n";
  return text;
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
