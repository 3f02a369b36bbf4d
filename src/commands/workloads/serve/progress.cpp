#include "commands/workloads/serve/progress.hpp"

#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <memory>

namespace commands {

namespace {

using Kind = workload::ModelSource::Kind;

constexpr std::chrono::seconds between_readings{5};
constexpr std::chrono::seconds reading_timeout{10};
constexpr std::uint64_t kibibyte = 1024;

/// The folder to which a model of a hub is downloaded: Hugging Face's layout of its cache
/// (https://huggingface.co/docs/huggingface_hub/guides/manage-cache), or that of llama.cpp.
std::string folder_of(const workload::ModelServer& server) {
  const std::string cache(workload::cache_mount);
  if (server.engine.name == "llama.cpp") return cache + "/llama.cpp";
  return cache + "/huggingface/hub/models--" + base::replace_all(server.source.repository, "/", "--");
}

/// The bytes on the disk, also of files that are not complete. Nothing: unknown.
std::optional<std::uint64_t> read_size(const ServePlan& plan, const std::string& pod,
                                       ReachedCluster& cluster) {
  if (!base::is_dns_name(pod)) return std::nullopt;
  const auto exit = cluster.client().exec(plan.server.pod.ns, "pod/" + pod,
                                          {"du", "-sk", folder_of(plan.server)}, "", reading_timeout);
  if (!exit || exit->status != 0) return std::nullopt;
  const auto words = base::words(exit->out);
  const auto blocks = words.empty() ? std::nullopt : base::to_int(words.front());
  if (!blocks || *blocks < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*blocks) * kibibyte;
}

struct Reading {
  base::Instant next = base::Clock::now();
  std::string line;
};

}  // namespace

std::string loading_line(const std::string& node, Kind kind, std::optional<std::uint64_t> done,
                         std::uint64_t total) {
  const std::string where = node.empty() ? "" : " on " + node;
  // The cache also has a few small files.
  if (kind != Kind::hub || (total > 0 && done && *done >= total - total / 200))
    return "loading the model" + where;
  if (!done) return "downloading or loading the model" + where;
  return fmt::format("downloading the model{}: {}{}", where, base::human_bytes(*done),
                     total > 0 ? " of " + base::human_bytes(total) : "");
}

std::function<std::string(const kube::PodVerdict&)> loading_progress(const ServePlan& plan,
                                                                     ReachedCluster& cluster) {
  if (plan.server.engine.name.empty()) return {};
  return [&plan, &cluster, last = std::make_shared<Reading>()](const kube::PodVerdict& verdict) {
    if (base::Clock::now() < last->next) return last->line;
    const Kind kind = plan.server.source.kind;
    const auto done = kind == Kind::hub ? read_size(plan, verdict.pod, cluster) : std::nullopt;
    last->line = loading_line(verdict.node, kind, done, plan.model_bytes);
    last->next = base::Clock::now() + between_readings;
    return last->line;
  };
}

}  // namespace commands
