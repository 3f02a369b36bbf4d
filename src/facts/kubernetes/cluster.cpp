#include "gpuadm/facts/cluster.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/facts/table.hpp"

#include "facts/gpu/devices.hpp"
#include "facts/kubernetes/etcd.hpp"
#include "facts/sections/section_forms.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace facts {

namespace {

using base::Tree;

template <class Value>
using Pair = std::pair<std::string, Value>;

template <class Value>
std::optional<std::map<std::string, Value>> by_name(std::optional<std::vector<Pair<Value>>> items) {
  if (!items) return std::nullopt;
  std::map<std::string, Value> map;
  for (auto& [name, value] : *items) map.insert_or_assign(std::move(name), std::move(value));
  return map;
}

Pair<std::string> two_texts(const Row& row) {
  return {row.text(0), row.text(1)};
}

/// 0: it is not a time.
double time_in(const std::string& text) {
  return base::parse_time(text).value_or(0);
}

Node read_node(const Row& row) {
  Node node;
  node.name = row.text(0);
  node.labels = row.map(1);
  const Tree taints = row.json(2);
  for (const Tree& taint : taints.items())
    node.taints.push_back({text_of(taint, "key"), text_of(taint, "value"), text_of(taint, "effect")});
  node.unschedulable = row.text(3) == "true";
  node.pod_cidr = row.text(4);
  for (const std::string& word : row.words(5)) {
    const std::size_t equals = word.find('='), colon = word.find(':');
    if (equals == std::string::npos || colon == std::string::npos || colon < equals) continue;
    node.conditions[word.substr(0, equals)] = {word.substr(equals + 1, colon - equals - 1),
                                               word.substr(colon + 1)};
  }
  node.capacity = row.map(6);
  node.allocatable = row.map(7);
  node.kubelet = row.text(8);
  node.runtime = row.text(9);
  node.os = row.text(10);
  node.kernel = row.text(11);
  node.address = row.text(12);
  node.message = row.text(13);
  node.upgrade = row.text(14);
  node.gpu_reset = row.text(15);
  return node;
}

Pod read_pod(const Row& row) {
  Pod pod;
  pod.ns = row.text(0);
  pod.name = row.text(1);
  pod.owner = row.text(2);
  pod.node = row.text(3);
  pod.phase = row.text(4);
  pod.runtime_class = row.text(5);
  // The limits of several containers are next to each other: {…} {…}
  const auto limits = base::json::read("[" + base::replace_all(row.text(6), "} {", "},{") + "]", "kubectl");
  if (limits) {
    for (const Tree& one : limits->items())
      for (const auto& [key, value] : one.entries()) {
        if (key.starts_with("nvidia.com/")) pod.gpus[key] += base::to_int(value.text()).value_or(0);
        if (key.starts_with("rdma/")) pod.rdma.push_back(key);
      }
  }
  pod.waiting = row.words(7);
  for (const std::string& count : row.words(8))
    pod.restarts = std::max(pod.restarts, static_cast<int>(base::to_int(count).value_or(0)));
  pod.ended = row.words(9);
  pod.visible_devices = row.text(10);
  pod.reason = row.text(11);
  pod.waits_for = row.text(12);
  pod.unscheduled = row.text(13);
  pod.crashed = row.words(14);
  std::erase(pod.crashed, "Completed");
  pod.ready = row.text(15);
  return pod;
}

DaemonSet read_daemon_set(const Row& row) {
  DaemonSet set{row.text(0), row.text(1), row.number(2), row.number(3), {}};
  const Tree tolerations = row.json(4);
  for (const Tree& one : tolerations.items())
    set.tolerations.push_back(
        {text_of(one, "key"), text_of(one, "operator"), text_of(one, "value"), text_of(one, "effect")});
  return set;
}

Webhook read_webhook(const Row& row) {
  Webhook webhook{row.text(0), {}};
  for (const std::string& word : row.words(1))
    if (word.starts_with("Fail/") && word != "Fail//") webhook.failing_services.push_back(word.substr(5));
  return webhook;
}

/// name{label="value",…} 1
std::string label_of(std::string_view line, std::string_view label) {
  const std::string key = std::string(label) + "=\"";
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + key.size());
  return std::string(line.substr(0, line.find('"')));
}

void read_metrics(const Sections& sections, ClusterFacts& facts) {
  if (const Section* section = sections.find("etcd-metrics");
      section && section->status == 0 && !section->lines.empty()) {
    auto& etcd = facts.etcd.emplace();
    for (const std::string_view line : section->lines)
      if (const auto words = base::words(line); words.size() == 2)
        etcd[std::string(words[0])] = base::to_real(words[1]).value_or(0);
  }
  if (const Section* section = sections.find("deprecated-apis"); section && section->status == 0) {
    auto& apis = facts.deprecated_apis.emplace();
    for (const std::string_view line : section->lines) {
      const std::string group = label_of(line, "group");
      if (const std::string gone = label_of(line, "removed_release"); !gone.empty())
        apis.push_back((group.empty() ? "" : group + "/") + label_of(line, "version") + " " +
                       label_of(line, "resource") + " " + gone);
    }
  }
}

void read_storage(const Sections& sections, ClusterFacts& facts) {
  facts.storage_classes = table<StorageClass>(sections, "storageclasses", [](const Row& row) {
    return StorageClass{row.text(0), row.text(1), row.text(2), row.text(3) == "true"};
  });
  facts.claims = table<Claim>(sections, "pvcs", [](const Row& row) {
    return Claim{row.text(0), row.text(1), row.text(2), row.text(3), row.text(4), time_in(row.text(5))};
  });
  facts.csi_drivers = table<std::string>(sections, "csidrivers", [](const Row& row) { return row.text(0); });
  facts.csi_nodes = by_name(table<Pair<std::vector<std::string>>>(sections, "csinodes", [](const Row& row) {
    return Pair<std::vector<std::string>>{row.text(0), row.words(1)};
  }));
}

void read_server(const Sections& sections, ClusterFacts& facts) {
  facts.clock = base::to_real(sections.first("clock").value_or(""));
  facts.pods_of = sections.first("pods-of").value_or("");
  if (const Section* ready = sections.find("readyz")) {
    facts.ready_status = ready->status;
    for (const std::string_view line : ready->lines)
      if (line.starts_with("[-]")) facts.not_ready.emplace_back(line.substr(3));
  }
  const auto text = sections.text("version");
  const auto json = text ? base::json::read(*text, "version") : base::fail(base::Fault::parse, "");
  if (json) facts.version = text_of(*json, "gitVersion");
}

}  // namespace

base::Result<> require_nodes_and_pods(const ClusterFacts& cluster) {
  if (cluster.nodes && cluster.pods) return {};
  return base::fail(base::Fault::remote,
                    fmt::format("the cluster's {} could not be read", cluster.nodes ? "pods" : "nodes"),
                    "gpuadm doctor --stage cluster");
}

std::string node_name_of(const Facts& host) {
  return host.kubernetes.node_name.empty() ? base::lower(host.machine.hostname) : host.kubernetes.node_name;
}

const Node* node_of(const ClusterFacts& cluster, const Facts& host) {
  if (!cluster.nodes) return nullptr;
  const std::string name = node_name_of(host);
  const bool exact = !host.kubernetes.node_name.empty();
  const Node* alike = nullptr;
  int count = 0;
  for (const Node& node : *cluster.nodes) {
    if (node.name == name) return &node;
    if (exact || (!node.name.starts_with(name + ".") && !name.starts_with(node.name + "."))) continue;
    alike = &node;
    ++count;
  }
  return count == 1 ? alike : nullptr;
}

base::Result<ClusterFacts> parse_cluster(std::string_view output) {
  const Sections sections = TRY(Sections::split(output));
  ClusterFacts facts;
  read_server(sections, facts);
  read_metrics(sections, facts);
  read_storage(sections, facts);
  facts.etcd_members = read_etcd_members(sections);
  facts.nodes = table<Node>(sections, "nodes", read_node);
  facts.pods = table<Pod>(sections, "pods", read_pod);
  facts.images = by_name(table<Pair<int>>(
      sections, "images", [](const Row& row) { return Pair<int>{row.text(0), row.number(1)}; }));
  facts.daemon_sets = table<DaemonSet>(sections, "daemonsets", read_daemon_set);
  facts.deployments = table<Deployment>(sections, "deployments", [](const Row& row) {
    return Deployment{row.text(0), row.text(1), row.number(2), row.number(3)};
  });
  facts.events = table<Event>(sections, "events", [](const Row& row) {
    return Event{row.text(0), row.text(1), row.text(2), row.text(3), row.text(5), std::max(1, row.number(4))};
  });
  facts.quotas = table<Quota>(sections, "quotas", [](const Row& row) {
    return Quota{row.text(0), row.text(1), row.map(2), row.map(3)};
  });
  facts.webhooks = table<Webhook>(sections, "webhooks", read_webhook);
  facts.api_services = table<ApiService>(sections, "apiservices", [](const Row& row) {
    return ApiService{row.text(0), row.text(1), row.text(2)};
  });
  read_devices(sections, facts);
  facts.runtime_classes = by_name(table<Pair<std::string>>(sections, "runtimeclasses", two_texts));
  facts.namespaces = by_name(table<Pair<std::string>>(sections, "namespaces", two_texts));
  facts.policies = by_name(table<Pair<std::string>>(sections, "clusterpolicies", two_texts));
  facts.endpoints = by_name(table<Pair<bool>>(
      sections, "endpoints", [](const Row& row) { return Pair<bool>{row.text(0), !row.text(1).empty()}; }));
  facts.leases = by_name(table<Pair<double>>(
      sections, "leases", [](const Row& row) { return Pair<double>{row.text(0), time_in(row.text(1))}; }));
  facts.unread = unread_of(sections, cluster_forms());
  sections.each("device-plugin-log/", "", [&](const std::string& name, const Section& section) {
    auto& lines = facts.plugin_logs[name.substr(name.find('/') + 1)];
    for (const std::string_view line : section.lines) lines.emplace_back(line);
  });
  sections.each("pod-log/", "", [&](const std::string& name, const Section& section) {
    auto& lines = facts.pod_logs[name.substr(name.find('/') + 1)];
    for (const std::string_view line : section.lines) lines.emplace_back(line);
  });
  return facts;
}

}  // namespace facts
