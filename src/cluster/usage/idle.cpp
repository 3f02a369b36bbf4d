#include "gpuadm/cluster/idle.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/time.hpp"

#include <algorithm>
#include <utility>

namespace cluster {

namespace {

using base::Tree;

constexpr std::size_t longest_annotation = 64u << 10, longest_uid = 64;
/// A node sends its health at least every heartbeat_seconds; clocks of nodes may differ by some minutes.
constexpr double oldest_heartbeat = 3.0 * heartbeat_seconds;

/// Whether it is known that one of the holders of a GPU, or of an instance of it, does not use it.
bool is_idle(const UsageReadings& readings, const UsagePart& part, const std::string& pod) {
  if (part.utilization == 0) return true;
  const auto programs = readings.programs.find(part.gpu);
  const bool is_seen = programs != readings.programs.end();
  const bool computes = is_seen && programs->second.pods.contains(pod);
  // MIG instances have no utilization: only a pod without programs on the GPU is known to be idle.
  if (!part.mig.empty()) return !computes;
  // Busy, and nobody is seen on it: the programs may be hidden.
  if (!part.utilization || !is_seen) return false;
  if (!computes) return true;
  const auto measured = readings.utilization.find(part.gpu);
  if (measured == readings.utilization.end()) return false;
  const auto own = measured->second.find(pod);
  return own != measured->second.end() && own->second == 0;
}

}  // namespace

IdlePods idle_pods(const IdlePods& before, const UsageReadings& readings, std::span<const UsagePart> parts,
                   const Moment& last, const Moment& now, double longest) {
  const bool same_boot = !now.boot_id.empty() && last.boot_id == now.boot_id;
  const double interval = now.uptime - last.uptime;
  const bool continues = same_boot && interval >= 0 && interval <= longest && !clock_step(last, now);
  std::map<std::string, bool> pods;  // whether all that they hold is idle
  for (const UsagePart& part : parts)
    for (const std::string& pod : part.pods) {
      bool& idle = pods.try_emplace(pod, true).first->second;
      idle = idle && is_idle(readings, part, pod);
    }
  IdlePods idle;
  for (const auto& [pod, is_idle] : pods) {
    if (!is_idle || idle.size() == most_idle_pods) continue;
    const auto known = before.find(pod);
    idle[pod] = continues && known != before.end() ? known->second : now.at;
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

bool reports_health(const Tree& node, base::Time now) {
  const Tree* conditions = node.at({"status", "conditions"});
  return conditions && std::ranges::any_of(conditions->items(), [&](const Tree& one) {
           const auto at = base::parse_time(base::text_of(one, "lastHeartbeatTime"));
           return at &&
                  std::chrono::duration<double>(now.time_since_epoch()).count() - *at <= oldest_heartbeat &&
                  std::ranges::find(health_types, base::text_of(one, "type")) != health_types.end();
         });
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
