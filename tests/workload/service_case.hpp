#pragma once

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/service_pod.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

/// What cases of notebooks and of served models have in common: the request and the cluster in options.yaml.
namespace service_case {

/// The folders of tests/cases/NAME.
inline std::vector<std::filesystem::path> cases(const std::string& name) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(GPUADM_TESTS_DIR "/cases/" + name))
    found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

inline std::string text_of(const std::filesystem::path& path) {
  return base::read_file(path).value_or("cannot read " + path.string());
}

inline base::Tree catalog() {
  return *base::yaml::read(text_of(GPUADM_TESTS_DIR "/../playbooks/catalog.yaml"), "catalog.yaml");
}

inline workload::ServicePodRequest request_of(const base::Tree& tree) {
  workload::ServicePodRequest request;
  const auto set = [&](const char* name, std::string& value) {
    if (const base::Tree* found = tree.find(name)) value = found->text();
  };
  set("name", request.name);
  set("namespace", request.ns);
  set("gpus", request.gpus);
  set("image", request.image);
  set("storage", request.storage);
  set("size", request.size);
  set("mount", request.mount);
  set("cpus", request.cpus);
  set("memory", request.memory);
  set("shm", request.shm);
  set("stop_idle", request.stop_idle);
  if (tree.find("nodePort")) request.reach = workload::Reach::node_port;
  if (const base::Tree* command = tree.find("command"))
    for (const base::Tree& word : command->items()) request.command.push_back(word.text());
  return request;
}

/// With claims, a device for each GPU instead of a resource of the node.
inline void add_gpus_of(const base::Tree& given, bool claims, facts::Node& node, facts::ClusterFacts& facts) {
  const std::string count = given.find("gpus")->text();
  if (claims) {
    facts::ResourceSlice slice{"gpu.nvidia.com", node.name, node.name, {}};
    for (long long i = 0; i < base::to_int(count).value_or(0); ++i)
      slice.devices.push_back({fmt::format("gpu-{}", i), "gpu", fmt::format("GPU-{}", i), ""});
    facts.slices->push_back(slice);
    return;
  }
  const base::Tree* resource = given.find("resource");
  node.capacity[resource ? resource->text() : "nvidia.com/gpu"] = count;
}

inline facts::ClusterFacts cluster_of(const base::Tree& tree) {
  facts::ClusterFacts facts;
  facts.nodes.emplace();
  facts.pods.emplace();
  facts.slices.emplace();
  const bool claims = tree.find("claims") != nullptr;
  if (claims) facts.dra_versions = {"v1"};
  if (claims) facts.resource_claims.emplace();
  if (tree.find("runtimeClass"))
    facts.runtime_classes = std::map<std::string, std::string>{{"nvidia", "nvidia"}};
  for (const base::Tree& given : tree.find("nodes")->items()) {
    facts::Node node;
    node.name = given.find("name")->text();
    node.conditions["Ready"] = {"True", "KubeletReady"};
    node.capacity["memory"] = given.find("memory")->text();
    add_gpus_of(given, claims, node, facts);
    node.allocatable = node.capacity;
    if (const base::Tree* cuda = given.find("cuda"))
      node.labels["nvidia.com/cuda.runtime-version.full"] = cuda->text();
    if (const base::Tree* shares = given.find("shares"))
      node.labels["nvidia.com/gpu.replicas"] = shares->text();
    facts.nodes->push_back(node);
  }
  return facts;
}

}  // namespace service_case
