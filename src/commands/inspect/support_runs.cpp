#include "commands/inspect/support_runs.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/session/recording.hpp"
#include "gpuadm/spec/selected.hpp"

#include <algorithm>
#include <optional>

namespace commands {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t run_file_limit = 16u << 20;
constexpr const char* changes_file = "events.jsonl";

bool is_same(const spec::Endpoint& a, const spec::Endpoint& b) {
  return a.local == b.local && a.address == b.address && a.port == b.port;
}

bool has_all_hosts_of(const spec::Cluster& cluster, const spec::Cluster& of) {
  return std::ranges::all_of(of.hosts, [&](const spec::Host& host) {
    return std::ranges::any_of(
        cluster.hosts, [&](const spec::Host& other) { return is_same(host.endpoint, other.endpoint); });
  });
}

/// Nothing if the run has hosts that `cluster` does not have, or if its hosts are unknown.
std::optional<EarlierRun> read_run(const fs::path& folder, const spec::Cluster& cluster) {
  const auto text = base::read_file(folder / "cluster.yaml", run_file_limit);
  if (!text) return std::nullopt;
  auto of_run = spec::parse_selected(*text, "cluster.yaml");
  if (!of_run || !has_all_hosts_of(cluster, *of_run)) return std::nullopt;
  EarlierRun earlier{folder.filename().string(), std::move(*of_run), {}};
  for (const char* name : {"cluster.yaml", "facts.json", "decisions.json", "findings.json", "plan.json",
                           changes_file, "report.json"})
    if (auto file = base::read_file(folder / name, run_file_limit))
      earlier.files.emplace_back(name, std::move(*file));
  return earlier;
}

}  // namespace

std::vector<EarlierRun> find_earlier_runs(const spec::Cluster& cluster) {
  std::error_code error;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(base::state_directory() / cluster.name, error))
    if (entry.is_directory(error)) folders.push_back(entry.path());
  std::ranges::sort(folders, std::greater());
  std::vector<EarlierRun> found;
  for (const fs::path& folder : folders) {
    const bool has_changes = fs::exists(folder / changes_file, error);
    if (!found.empty() && !has_changes) continue;
    auto earlier = read_run(folder, cluster);
    if (!earlier) continue;
    found.push_back(std::move(*earlier));
    if (has_changes) break;
  }
  return found;
}

void learn_names(const EarlierRun& earlier, facts::Redactor& redact) {
  session::learn_names(earlier.cluster, redact);
  for (const auto& [name, text] : earlier.files) {
    if (name == "facts.json") session::learn_names_in_facts(text, redact);
    redact.learn_people(text);
  }
}

}  // namespace commands
