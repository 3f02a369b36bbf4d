#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/install/addon/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

constexpr const char* default_size = "20Gi";
constexpr const char* default_retention = "15d";
/// Without a storage: below the limit of the emptyDir in plan.cpp, so that the pod is not evicted.
constexpr long long size_without_storage = 4LL << 30;

/// Empty if the option is not there, or nothing follows it.
std::string_view word_after(const std::vector<std::string_view>& words, std::string_view option) {
  const auto at = std::ranges::find(words, option);
  return at == words.end() || std::next(at) == words.end() ? std::string_view() : *std::next(at);
}

/// The port of the metrics of `gpuadm health enable --metrics node` on the control-plane node; empty: they
/// are not served to other machines.
Result<std::string> health_port(session::ClusterClient& client) {
  const transport::Exit exit = TRY(client.ask({.label = "read the settings of the health checks",
                                               .asset = "playbooks/read/health.sh",
                                               .variables = {{"what", "settings"}}}));
  for (const std::string_view line : base::lines(exit.out)) {
    const auto words = base::words(line);
    if (words.empty() || words.front() != "serve") continue;
    if (word_after(words, "--listen") != "node") return "";
    const auto number = base::to_int(word_after(words, "--port"));
    return number && *number > 0 && *number <= 65535 ? std::to_string(*number) : std::string();
  }
  return "";
}

Result<std::string> configuration(const AddonContext& context, AddonPlan& plan) {
  std::string text = TRY(context.cluster.assets().read("templates/addons/prometheus.yml"));
  const std::string port = TRY(health_port(context.cluster.client()));
  if (port.empty()) {
    plan.notes.emplace_back(
        "the health metrics of nodes are not served, and so not scraped: gpuadm health enable --metrics "
        "node, then gpuadm addon enable prometheus again");
    return text;
  }
  text += TRY(context.cluster.assets().read("templates/addons/prometheus-health.yml"));
  return base::replace_all(std::move(text), "${health_port}", port);
}

}  // namespace

Result<workload::AddonValues> prometheus_values(const AddonContext& context, AddonPlan& plan) {
  const std::string size = context.setting("size", default_size);
  plan.volume = TRY(plan_addon_claim(context, *plan.addon, "metrics", size));
  if (!plan.volume)
    plan.notes.emplace_back(
        "without --set storage=NAME, the metrics are lost when the pod ends, and take at most 4 GiB");
  const long long bytes = plan.volume ? TRY(workload::bytes_of("--set size", size)) : size_without_storage;
  const std::string config = TRY(configuration(context, plan));
  return workload::AddonValues{{"prometheus_config", config},
                               {"prometheus_config_sum", base::sha256(config)},
                               {"retention", context.setting("retention", default_retention)},
                               {"retention_size", fmt::format("{}B", bytes)}};
}

}  // namespace commands
