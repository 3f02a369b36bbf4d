#include "gpuadm/cluster/idle.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/time.hpp"

#include <algorithm>
#include <utility>

namespace cluster {

namespace {

using base::Tree;

constexpr std::size_t longest_annotation = 64u << 10, longest_uid = 64;
constexpr std::size_t length_to_seconds = 19;  // "2026-11-30T12:00:00"
enum class Use { idle, used, unknown };

/// Of a GPU, or of an instance of it, by one of its holders.
Use use_of(const UsageReadings& readings, const UsagePart& part, const std::string& pod) {
  if (part.utilization == 0) return Use::idle;
  const auto programs = readings.programs.find(part.gpu);
  const bool is_seen = programs != readings.programs.end();
  const bool computes = is_seen && programs->second.pods.contains(pod);
  // MIG instances have no utilization: only a pod without programs on the GPU is known to be idle.
  if (!part.mig.empty()) return computes ? Use::unknown : Use::idle;
  if (!part.utilization) return Use::unknown;
  // Busy, and nobody is seen on it: the programs may be hidden.
  if (!is_seen) return Use::used;
  if (!computes) return Use::idle;
  if (programs->second.pods.size() == 1 && !programs->second.others) return Use::used;
  const auto measured = readings.utilization.find(part.gpu);
  if (measured == readings.utilization.end()) return Use::used;
  const auto own = measured->second.find(pod);
  return own != measured->second.end() && own->second > 0 ? Use::used : Use::idle;
}

std::string moved(const std::string& since, long long seconds) {
  const auto at = base::parse_time(since);
  if (!at) return since;
  const std::chrono::duration<double> epoch(*at + static_cast<double>(seconds));
  return base::iso8601(base::Time(std::chrono::duration_cast<base::Time::duration>(epoch)))
             .substr(0, length_to_seconds) +
         "Z";
}

}  // namespace

IdlePods idle_pods(const IdlePods& before, const UsageReadings& readings, std::span<const UsagePart> parts,
                   const Moment& last, const Moment& now, double longest) {
  const bool same_boot = !now.boot_id.empty() && last.boot_id == now.boot_id;
  const double interval = now.uptime - last.uptime;
  const bool continues = same_boot && interval >= 0 && interval <= longest;
  std::map<std::string, Use> pods;
  for (const UsagePart& part : parts)
    for (const std::string& pod : part.pods) {
      Use& use = pods.try_emplace(pod, Use::idle).first->second;
      use = std::max(use, use_of(readings, part, pod));
    }
  const long long step = clock_step(last, now).value_or(0);
  IdlePods idle;
  for (const auto& [pod, use] : pods) {
    if (use != Use::idle || idle.size() == most_idle_pods) continue;
    const auto known = before.find(pod);
    idle[pod] = continues && known != before.end() ? moved(known->second, step) : now.at;
  }
  return idle;
}

std::vector<std::string> shared_gpus_in_use(const UsageReadings& readings) {
  std::vector<std::string> gpus;
  if (!readings.nvidia) return gpus;
  for (const facts::Gpu& gpu : readings.nvidia->gpus) {
    const auto programs = readings.programs.find(gpu.uuid);
    if (gpu.mig == "Enabled" || programs == readings.programs.end()) continue;
    const std::size_t users = programs->second.pods.size() + (programs->second.others ? 1 : 0);
    if (users > 1 && !programs->second.pods.empty()) gpus.push_back(gpu.uuid);
  }
  return gpus;
}

bool set_idle_pods(Tree& node, const IdlePods& pods) {
  if (idle_pods_of_node(node) == pods) return false;
  Tree* metadata = node.find("metadata");
  if (!metadata) return false;
  Tree* annotations = metadata->find("annotations");
  if (!annotations) annotations = &metadata->set("annotations", Tree::map());
  if (pods.empty()) {
    annotations->erase(idle_annotation);
    return true;
  }
  Tree map = Tree::map();
  for (const auto& [pod, since] : pods) map.set(pod, since);
  annotations->set(std::string(idle_annotation), base::json::write(map, 0));
  return true;
}

IdlePods idle_pods_of_node(const Tree& node) {
  const Tree* annotations = node.at({"metadata", "annotations"});
  const Tree* text = annotations ? annotations->find(idle_annotation) : nullptr;
  if (!text || text->text().size() > longest_annotation) return {};
  const auto map = base::json::read(text->text(), "annotation");
  if (!map) return {};
  IdlePods pods;
  for (const auto& [pod, since] : map->entries())
    if (pod.size() <= longest_uid && base::parse_time(since.text()) && pods.size() < most_idle_pods)
      pods.emplace(pod, since.text());
  return pods;
}

}  // namespace cluster
