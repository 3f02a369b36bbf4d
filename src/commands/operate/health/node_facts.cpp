#include "commands/operate/health/node_facts.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/connections.hpp"

#include <fmt/format.h>

#include <sys/stat.h>

#include <map>
#include <optional>

namespace commands {

namespace {

using base::Result;

constexpr double longest = 295;  // seconds; a run that starts five minutes later reads again
constexpr std::string_view last_line = "=== end\n";

/// Files and folders that decide what the slow half prints: configurations, and programs that were installed.
constexpr const char* sources[] = {"/etc",
                                   "/etc/containerd",
                                   "/etc/containerd/config.toml",
                                   "/etc/containerd/conf.d",
                                   "/etc/docker",
                                   "/etc/docker/daemon.json",
                                   "/etc/crio",
                                   "/etc/kubernetes",
                                   "/etc/kubernetes/manifests",
                                   "/etc/kubernetes/pki",
                                   "/run/containerd/containerd.sock",
                                   "/usr/bin",
                                   "/usr/local/bin",
                                   "/usr/local/libexec/gpuadm/gpuadm",
                                   "/var/lib/dpkg/status",
                                   "/var/lib/kubelet/config.yaml",
                                   "/var/lib/kubelet/kubeadm-flags.env",
                                   "/var/lib/kubelet/pki"};

/// Their times, by which a change is noticed, also if the clock was set.
std::string times_of_sources() {
  std::string times;
  for (const char* path : sources) {
    struct stat status{};
    if (::stat(path, &status) == 0)
      times += fmt::format("{}.{} ", status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
    else
      times += "- ";
  }
  return times;
}

/// The text of an earlier run, after a line with its boot, its uptime, the times of the sources and the GPUs.
struct Kept {
  std::string boot_id, times, text;
  double uptime = 0;
};

std::optional<Kept> read_kept(const std::filesystem::path& file) {
  const auto all = base::read_file(file, 8u << 20);
  if (!all) return std::nullopt;
  const std::size_t end = all->find('\n');
  if (end == std::string::npos) return std::nullopt;
  const auto words = base::words(std::string_view(*all).substr(0, end));
  const auto uptime = words.size() > 1 ? base::to_real(words[1]) : std::nullopt;
  if (!uptime) return std::nullopt;
  Kept kept{std::string(words[0]), {}, all->substr(end + 1), *uptime};
  for (std::size_t i = 2; i < words.size(); ++i) kept.times += std::string(words[i]) + " ";
  return kept;
}

Result<transport::Exit> probe(const std::string& host, const base::Variables& given, transport::Fleet& fleet,
                              const assets::Store& assets) {
  transport::Command command = TRY(session::probe_command(assets));
  command.script = base::assignments(given) + command.script.text();
  return session::ask(host, std::move(command), fleet);
}

/// The output of the slow half, of an earlier run if that is still valid. `gpus`: as listed_gpus.
Result<std::string> slow_half(const std::string& host, const std::string& gpus, transport::Fleet& fleet,
                              const assets::Store& assets, const cluster::Moment& now,
                              const std::filesystem::path& folder) {
  const auto file = folder / "facts.txt";
  const std::string times = times_of_sources() + (gpus.empty() ? "-" : gpus) + " ";
  const auto kept = read_kept(file);
  if (kept && kept->boot_id == now.boot_id && kept->times == times && now.uptime >= kept->uptime &&
      now.uptime - kept->uptime < longest)
    return kept->text;
  transport::Exit exit =
      TRY(probe(host, {{"purpose", "slow"}, {"gpus", gpus.empty() ? "no" : "yes"}}, fleet, assets));
  if (exit.status != 0 || !exit.out.ends_with(last_line)) return std::move(exit.out);
  // If the disk is full, the next run reads again.
  (void)base::write_file(file, fmt::format("{} {} {}\n", now.boot_id, now.uptime, times) + exit.out);
  return std::move(exit.out);
}

constexpr std::size_t most_entries = 20000;

struct NodeNames {
  std::string ns, pod, container;
};

/// "NAMESPACE_POD_UID" in /var/log/pods, and "POD_NAMESPACE_CONTAINER-ID.log" in /var/log/containers. None of
/// the names has an underscore.
NodeNames names_of(const facts::CgroupOwner& owner, const std::filesystem::path& root) {
  NodeNames names;
  for (const std::string& name : names_in(root / "var/log/pods")) {
    const auto part = base::split(name, '_');
    if (part.size() != 3 || part[2] != owner.pod_uid) continue;
    names.ns = part[0];
    names.pod = part[1];
  }
  if (owner.container.empty() || names.pod.empty()) return names;
  for (const std::string& name : names_in(root / "var/log/containers")) {
    const std::string end = "-" + owner.container + ".log";
    const auto part = base::split(name, '_');
    if (part.size() == 3 && part[2].ends_with(end))
      names.container = part[2].substr(0, part[2].size() - end.size());
  }
  return names;
}

}  // namespace

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator() && names.size() < most_entries;
       entry.increment(error))
    names.push_back(entry->path().filename().string());
  return names;
}

std::optional<facts::CgroupOwner> process_owner(const std::string& pid, const std::filesystem::path& root) {
  if (!base::to_int(pid)) return std::nullopt;
  const auto text = base::read_file(root / "proc" / pid / "cgroup", 1u << 20);
  if (!text) return std::nullopt;
  facts::CgroupOwner owner;
  for (const std::string_view line : base::lines(*text))
    if (owner.pod_uid.empty() && line.contains("kubepods")) owner = facts::cgroup_owner(line);
  return owner;
}

int gpus_on_bus(const std::filesystem::path& devices) {
  int count = 0;
  for (const std::string& name : names_in(devices)) {
    const auto is = [&](const char* file, std::string_view start) {
      return base::read_file(devices / name / file).value_or("").starts_with(start);
    };
    if (is("vendor", "0x10de") && is("class", "0x03")) ++count;  // display controllers: 0300, 0302
  }
  return count;
}

std::string listed_gpus(std::string_view fast) {
  constexpr std::string_view list = "\n=== nvidia-smi\n", details = "\n=== nvidia-smi-xml\n";
  const std::size_t begin = fast.find(list);
  if (begin == std::string_view::npos || !fast.contains(details)) return {};
  return base::sha256(fast.substr(begin, fast.find("\n=== ", begin + 1) - begin));
}

std::string joined_probes(std::string_view fast, std::string_view slow) {
  if (!fast.ends_with(last_line)) return std::string(fast);
  // Of two sections with one name, the reader uses the first. Without the last line of the slow half, it
  // refuses the whole.
  const std::size_t body = slow.find('\n');
  return std::string(fast.substr(0, fast.size() - last_line.size())) +
         std::string(body == std::string_view::npos ? std::string_view() : slow.substr(body + 1));
}

Result<facts::Facts> read_node(const std::string& host, transport::Fleet& fleet, const assets::Store& assets,
                               const cluster::Moment& now, const std::filesystem::path& folder) {
  transport::Exit exit = TRY(probe(host, {{"purpose", "fast"}}, fleet, assets));
  const base::Time answered = base::now();
  const std::string slow = TRY(slow_half(host, listed_gpus(exit.out), fleet, assets, now, folder));
  exit.out = joined_probes(exit.out, slow);
  return session::read_probe(host, exit, answered);
}

std::vector<cluster::GpuUser> gpu_users(const facts::Nvidia& nvidia, const std::filesystem::path& root) {
  std::vector<cluster::GpuUser> users;
  std::map<std::string, NodeNames> known;  // by the container, or by the pod
  for (const facts::Gpu& gpu : nvidia.gpus)
    for (const facts::GpuProcess& process : gpu.processes) {
      const auto owner = process_owner(process.pid, root);
      if (!owner || owner->pod_uid.empty()) continue;
      const std::string key = owner->pod_uid + "/" + owner->container;
      if (!known.contains(key)) known[key] = names_of(*owner, root);
      const NodeNames& names = known[key];
      if (names.pod.empty()) continue;
      users.push_back({gpu.uuid, names.ns, names.pod, names.container, process.used_mib});
    }
  return users;
}

}  // namespace commands
