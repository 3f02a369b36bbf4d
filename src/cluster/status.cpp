#include "gpuadm/cluster/status.hpp"

#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/gpu_reset.hpp"
#include "gpuadm/facts/control_plane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace cluster {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> plugins = {
    {{"kube-flannel", "flannel"},
     {"calico-node", "Calico"},
     {"cilium", "Cilium"},
     {"weave-net", "Weave Net"},
     {"antrea-agent", "Antrea"},
     {"kube-router", "kube-router"},
     {"ovnkube", "OVN-Kubernetes"},
     {"kindnet", "kindnet"}}};

class StatusBuilder {
 public:
  StatusBuilder(const ClusterSurvey& survey, const std::vector<report::Finding>& findings)
      : survey_(survey), findings_(findings) {}

  Status take() && {
    status_.cluster = survey_.cluster.name;
    status_.asked = survey_.asked;
    api();
    nodes();
    hosts();
    add_planes(survey_, status_);
    network();
    add_gpus(survey_, findings_, status_);
    unread_objects();
    return std::move(status_);
  }

 private:
  /// `checks`: those that judge the same.
  void problem(std::string where, std::string what, std::string remedy,
               std::vector<std::string> checks = {}) {
    status_.verdict.problems.push_back(
        {std::move(where), std::move(what), std::move(remedy), std::move(checks)});
  }

  void unread(std::string where, std::string what) {
    status_.verdict.unread.push_back({std::move(where), std::move(what), {}, {}});
  }

  /// What the API server did not give. An API server that lists no nodes is a problem of its own.
  void unread_objects() {
    if (!survey_.view || !survey_.view->nodes) return;
    const auto& view = *survey_.view;
    const auto check = [&](bool read, const std::string& section) {
      const auto why = view.unread.find(section);
      if (read && why == view.unread.end()) return;
      unread("the cluster", fmt::format("{} could not be read from the API server{}", section,
                                        why == view.unread.end() ? "" : ": " + why->second));
    };
    check(view.pods.has_value(), "pods");
    check(view.daemon_sets.has_value(), "daemonsets");
    check(true, "leases");
    const bool by_claims = std::ranges::any_of(
        *view.nodes, [&](const facts::Node& node) { return allocates_by_claims(view, node); });
    check(view.resource_claims.has_value() || !by_claims, "resourceclaims");
    check(true, "resourceslices");
  }

  [[nodiscard]] const facts::Facts* facts_of(const std::string& host) const {
    const auto place = survey_.census.find(host);
    return place != survey_.census.end() && place->second ? &*place->second : nullptr;
  }

  void api() {
    for (const spec::Host& host : survey_.cluster.hosts)
      if (const facts::Facts* facts = facts_of(host.name);
          facts && !facts->kubernetes.admin_server.empty() &&
          (survey_.asked.empty() || survey_.asked == host.name) && status_.endpoint.empty())
        status_.endpoint = facts->kubernetes.admin_server;
    status_.api.name = "API server";
    if (!survey_.view) {
      const bool reached = std::ranges::any_of(survey_.cluster.hosts, [&](const spec::Host& host) {
        return facts::is_control_plane(survey_.census, host.name);
      });
      status_.api.message =
          reached ? "no control-plane node has described the cluster" : "no control-plane node is reachable";
      unread("the cluster", status_.api.message);
      return;
    }
    status_.version = survey_.view->version;
    status_.api.health = Health::ill;
    if (!survey_.view->not_ready.empty())
      status_.api.message = "is not ready: " + base::join(survey_.view->not_ready, ", ");
    else if (survey_.view->ready_status != 0)
      status_.api.message = "does not answer";
    else if (!survey_.view->nodes)
      status_.api.message = "does not list the nodes";
    else
      status_.api.health = Health::well;
    if (status_.api.health == Health::ill)
      problem("the cluster",
              fmt::format("the API server at {} {}",
                          status_.endpoint.empty() ? "an unknown address" : status_.endpoint,
                          status_.api.message),
              "gpuadm logs kube-apiserver " + survey_.asked, {"cl.apiserver.healthz"});
  }

  void nodes() {
    if (!survey_.view || !survey_.view->nodes) return;
    for (const facts::Node& node : *survey_.view->nodes) {
      NodeStatus row;
      row.name = node.name;
      for (const spec::Host& host : survey_.cluster.hosts)
        if (node_behind(survey_, host) == &node) row.host = host.name;
      row.role = facts::is_control_plane(node) ? "control-plane" : "worker";
      const auto ready = node.conditions.find("Ready");
      const std::string word = ready == node.conditions.end() ? "Unknown" : ready->second.status;
      row.ready = word == "True" ? "Ready" : word == "False" ? "NotReady" : "Unknown";
      if (row.ready != "Ready")
        row.why = ready == node.conditions.end() ? node.message : ready->second.reason + ": " + node.message;
      row.cordoned = node.unschedulable;
      row.kubelet = node.kubelet;
      row.runtime = base::replace_all(node.runtime, "://", " ");
      row.address = node.address;
      row.os = node.os;
      row.kernel = node.kernel;
      if (survey_.view->leases && survey_.view->clock)
        if (const auto lease = survey_.view->leases->find(node.name); lease != survey_.view->leases->end())
          row.lease_age = std::max(0.0, *survey_.view->clock - lease->second);
      judge(node, row);
      status_.nodes.push_back(std::move(row));
    }
  }

  /// Problems that the host explains better are reported by hosts().
  void judge(const facts::Node& node, const NodeStatus& row) {
    const std::string& where = row.host.empty() ? row.name : row.host;
    if (row.ready != "Ready" && trouble_of(row.host).empty())
      problem(where, "the node is not ready: " + row.why,
              row.host.empty() ? "kubectl describe node " + row.name
                               : fmt::format("gpuadm doctor {} --stage node", row.host),
              {"cl.nodes-ready"});
    for (const auto& [type, condition] : node.conditions)
      if (condition.status == "True" && (type.ends_with("Pressure") || type == "NetworkUnavailable"))
        problem(where, fmt::format("the node reports {}: {}", type, condition.reason),
                "kubectl describe node " + row.name, {"cl.nodes-ready"});
    incomplete(node, where);
  }

  /// What gpuadm has begun on the node, by its annotations: the node stays cordoned until it is complete.
  void incomplete(const facts::Node& node, const std::string& where) {
    if (!node.upgrade.empty()) problem(where, "the upgrade of the node is not complete", "gpuadm upgrade");
    if (node.gpu_reset.empty()) return;
    if (const auto reset = pending_reset(node))
      problem(where, fmt::format("the reset of GPU {} is not complete", reset->slot),
              fmt::format("gpuadm gpu reset {} {}, or with --cancel to return the node without a reset",
                          where, reset->slot));
    else
      problem(where, "the annotation gpuadm.io/gpu-reset of the node is not one that gpuadm writes",
              "kubectl describe node " + node.name);
  }

  /// Why a host's node is not ready, from the host's facts.
  [[nodiscard]] std::string trouble_of(const std::string& host) const {
    const auto place = survey_.census.find(host);
    if (place == survey_.census.end()) return {};
    if (!place->second) return base::without_host(place->second.error().what, host);
    const facts::Facts& facts = *place->second;
    for (const char* section : {"/etc/kubernetes/kubelet.conf", "units"})
      if (const auto unread = facts.unread.find(section); unread != facts.unread.end())
        return fmt::format("{} could not be read: {}", section, unread->second);
    if (!facts.kubernetes.kubelet_conf) return {};
    const auto unit = facts.software.units.find("kubelet.service");
    if (unit == facts.software.units.end()) return "kubelet.service does not exist";
    if (unit->second.active == "active") return {};
    return fmt::format("the kubelet is not running ({}, {})", unit->second.active, unit->second.sub);
  }

  void hosts() {
    for (const spec::Host& host : survey_.cluster.hosts) {
      const facts::Node* node = node_behind(survey_, host);
      const std::string also = node && !facts::is_ready(*node) ? "; its node is not ready" : "";
      const facts::Facts* facts = facts_of(host.name);
      if (const std::string trouble = trouble_of(host.name); !trouble.empty())
        problem(host.name, trouble + also,
                facts ? "gpuadm logs kubelet " + host.name : survey_.census.at(host.name).error().hint,
                {facts ? "kubelet.service-active" : "host.ssh.reachable", "cl.nodes-ready"});
      else if (survey_.view && survey_.view->nodes && !node)
        problem(host.name, "it is not a node of this cluster", "gpuadm join " + host.name);
      if (!facts || !facts->kubernetes.kubelet_conf) continue;
      if (const auto unread = facts->unread.find("/etc/cni/net.d/"); unread != facts->unread.end())
        this->unread(host.name, "/etc/cni/net.d could not be read: " + unread->second);
      else if (facts->kubernetes.cni_configs.empty())
        problem(host.name, "no network plugin is configured in /etc/cni/net.d",
                "gpuadm explain net.cni-plugin", {"net.cni-plugin"});
      expired(host.name, *facts);
    }
  }

  /// The kubelet's own certificate is checked on every host.
  void expired(const std::string& host, const facts::Facts& facts) {
    if (!facts.kubernetes.certificates || !facts.clock.probe_begin ||
        facts::is_control_plane(survey_.census, host))
      return;
    for (const facts::Certificate& certificate : *facts.kubernetes.certificates)
      if (certificate.ends < *facts.clock.probe_begin)
        problem(host, certificate.path + " has expired", "gpuadm logs kubelet " + host, {"cl.certs-expiry"});
  }

  void network() {
    const auto has = [&](const facts::DaemonSet& set) {
      const auto known = std::ranges::find_if(
          plugins, [&](const auto& plugin) { return set.name.starts_with(plugin.first); });
      return known == plugins.end() ? std::string() : std::string(known->second);
    };
    const auto ready = [](const facts::DaemonSet& set) {
      return fmt::format("{} of {} ready", set.ready, set.desired);
    };
    if (survey_.view && survey_.view->daemon_sets)
      for (const facts::DaemonSet& set : *survey_.view->daemon_sets) {
        const std::string plugin = has(set);
        const bool is_proxy = set.name == "kube-proxy" && set.ns == "kube-system";
        if (!plugin.empty() && status_.network.empty())
          status_.network = plugin + ", " + ready(set);
        else if (is_proxy)
          status_.proxy = ready(set);
        if ((is_proxy || !plugin.empty()) && set.ready < set.desired)
          problem("the cluster", fmt::format("{}: {}", set.name, ready(set)),
                  fmt::format("kubectl -n {} get pods -o wide", set.ns));
      }
    if (!status_.network.empty()) return;
    // A plugin without its own pods is detected by its file.
    std::set<std::string> files;
    for (const auto& [host, facts] : survey_.census)
      if (facts && !facts->kubernetes.cni_configs.empty())
        files.insert(facts->kubernetes.cni_configs.front());
    const std::vector<std::string> names(files.begin(), files.end());
    status_.network = files.contains("10-gpuadm.conflist") && files.size() == 1
                          ? "bridge on each node (10-gpuadm.conflist)"
                          : base::join(names, ", ");
  }

  const ClusterSurvey& survey_;
  const std::vector<report::Finding>& findings_;
  Status status_;
};

}  // namespace

const facts::Node* node_behind(const ClusterSurvey& survey, const spec::Host& host) {
  if (!survey.view || !survey.view->nodes) return nullptr;
  const auto facts = survey.census.find(host.name);
  if (facts != survey.census.end() && facts->second) return node_of(*survey.view, *facts->second);
  const auto& nodes = *survey.view->nodes;
  const auto place = std::ranges::find_if(nodes, [&](const facts::Node& node) {
    return node.name == host.name ||
           (!host.endpoint.address.empty() && node.address == host.endpoint.address);
  });
  return place == nodes.end() ? nullptr : &*place;
}

Status status_of(const ClusterSurvey& survey, const std::vector<report::Finding>& findings) {
  return StatusBuilder(survey, findings).take();
}

}  // namespace cluster
