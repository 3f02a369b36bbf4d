#include "checks/cluster/whole.hpp"

#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <algorithm>

namespace checks {

const facts::Facts* host_of(const Whole& whole, const std::string& wanted) {
  const auto place = whole.hosts.find(wanted);
  return place == whole.hosts.end() ? nullptr : place->second;
}

long long amount(const std::map<std::string, std::string>& resources, std::string_view name) {
  const auto place = resources.find(std::string(name));
  return place == resources.end() ? 0 : base::to_int(place->second).value_or(0);
}

long long gpu_amount(const std::map<std::string, std::string>& resources) {
  long long all = 0;
  for (const auto& [name, value] : resources)
    if (name.starts_with("nvidia.com/gpu") || name.starts_with("nvidia.com/mig-"))
      all += base::to_int(value).value_or(0);
  return all;
}

std::string label(const facts::Node& of, const std::string& name) {
  const auto place = of.labels.find(name);
  return place == of.labels.end() ? std::string() : place->second;
}

bool has_gpus(const Whole& whole, const facts::Node& one) {
  const facts::Facts* host = host_of(whole, one.name);
  return gpu_amount(one.capacity) > 0 || label(one, "nvidia.com/gpu.present") == "true" ||
         (host && has_gpu(*host));
}

std::vector<const facts::Node*> gpu_nodes(const Whole& whole, Verdicts& out) {
  std::vector<const facts::Node*> found;
  const auto* nodes = given(whole.facts.nodes, out, "the nodes");
  if (!nodes) return found;
  for (const facts::Node& one : *nodes)
    if (has_gpus(whole, one)) found.push_back(&one);
  if (found.empty()) out.skip("no node has a GPU");
  return found;
}

bool is_well(const facts::Pod& pod) {
  return pod.phase == "Succeeded" || (pod.phase == "Running" && pod.waiting.empty() && pod.crashed.empty());
}

std::string trouble_of(const facts::Pod& pod) {
  if (!pod.waiting.empty()) return pod.waiting.front();
  if (pod.phase == "Running" && !pod.crashed.empty()) return pod.crashed.front();
  return pod.reason.empty() ? pod.phase : pod.reason;
}

bool is_dra_driver_pod(const facts::Pod& pod) {
  return pod.owner == "DaemonSet" && contains(pod.name, "dra-driver") && contains(pod.name, "nvidia");
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string some(const std::vector<std::string>& names) {
  constexpr std::size_t most = 5;
  if (names.size() <= most) return list(names);
  return list({names.begin(), names.begin() + most}) + fmt::format(" and {} more", names.size() - most);
}

}  // namespace checks
