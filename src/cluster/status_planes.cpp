#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/status.hpp"
#include "gpuadm/facts/control_plane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

/// Control planes, their certificates, and etcd.
namespace cluster {

namespace {

constexpr std::array part_names = {"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"};
constexpr std::string_view elsewhere = "is elsewhere";  ///< an etcd that gpuadm does not manage
constexpr double soon = 30;                             // days: as in the check cl.certs-expiry

/// The result for a component that was queried on its own machine.
Part heard(const facts::Component& component) {
  const auto mentions = [&](std::string_view word) {
    return component.message.find(word) != std::string::npos;
  };
  Part part{component.name, Health::ill, component.message};
  const bool well = component.status == 0 && (component.message == "ok" || mentions(R"("health":"true")"));
  // It is running, but restricts access to its health endpoint.
  if (well || mentions("Unauthorized") || mentions("Forbidden")) return {component.name, Health::well, {}};
  if (component.status != 0 &&
      (mentions("refused") || mentions("timed out") || mentions("timeout") || mentions("deadline")))
    part.message = "does not answer";
  if (component.status == 124 || component.status == 137) part.message = "does not answer";
  return part;
}

/// The API server's view of a component on a machine that could not be queried.
Part part_of(const std::optional<facts::ClusterFacts>& view, const facts::Node* node,
             const std::string& name) {
  if (!view || !node) return {name, Health::unknown, "could not be queried"};
  if (!facts::is_ready(*node)) return {name, Health::ill, "is on a node that is not ready"};
  if (!view->pods) return {name, Health::unknown, "could not be queried"};
  for (const facts::Pod& pod : *view->pods) {
    if (pod.ns != "kube-system" || pod.name != name + "-" + node->name) continue;
    if (pod.ready == "True") return {name, Health::well, {}};
    const std::string why = pod.waiting.empty() ? pod.phase : pod.waiting.front();
    return {name, Health::ill, "is not ready: " + why};
  }
  return {name, Health::unknown, "has no pod"};
}

/// A component as its own machine shows it; one that was not queried there, as the API server sees its pod.
Part part_on(const facts::Kubernetes& host, const std::optional<facts::ClusterFacts>& view,
             const facts::Node* node, const std::string& name) {
  if (host.components) {
    const auto place = std::ranges::find(*host.components, name, &facts::Component::name);
    if (place != host.components->end()) return heard(*place);
  }
  if (std::ranges::find(host.manifests, name + ".yaml") != host.manifests.end())
    return part_of(view, node, name);
  if (name == "etcd") return {name, Health::unknown, std::string(elsewhere)};
  return {name, Health::ill, "has no manifest in /etc/kubernetes/manifests"};
}

/// The first certificate to expire, of those that kubeadm renews.
void read_certificates(const facts::Facts& host, PlaneStatus& plane) {
  if (!host.kubernetes.certificates || !host.clock.probe_begin) return;
  for (const facts::Certificate& certificate : *host.kubernetes.certificates) {
    const double days = (certificate.ends - *host.clock.probe_begin) / 86400;
    if (plane.days && *plane.days <= days) continue;
    plane.days = days;
    plane.certificate = certificate.path;
  }
}

/// The checks that judge a component.
std::vector<std::string> checks_of(const std::string& part) {
  if (part == "kube-apiserver") return {"cl.apiserver.healthz"};
  return part == "etcd" ? std::vector<std::string>{"cl.etcd-health"} : std::vector<std::string>();
}

/// `described`: a control-plane node has described the cluster. Without it, that is the missing reading.
void complain(const PlaneStatus& plane, bool described, Status& status) {
  std::map<std::string, std::vector<std::string>> unknown;  // names by message
  for (const Part& part : plane.parts) {
    if (part.health == Health::ill)
      status.verdict.problems.push_back({plane.name, part.name + " " + part.message,
                                         fmt::format("gpuadm logs {} {}", part.name, plane.name),
                                         checks_of(part.name)});
    if (part.health == Health::unknown && part.message != elsewhere)
      unknown[part.message].push_back(part.name);
  }
  if (described)
    for (const auto& [message, names] : unknown)
      status.verdict.unread.push_back({plane.name, base::join(names, ", ") + " " + message, {}, {}});
  if (plane.days && *plane.days < soon)
    status.verdict.problems.push_back(
        {plane.name,
         *plane.days < 0 ? fmt::format("{} expired {:.0f} days ago", plane.certificate, -*plane.days)
                         : fmt::format("{} expires in {:.0f} days", plane.certificate, *plane.days),
         "gpuadm certs renew",
         {"cl.certs-expiry"}});
}

void add_etcd(const ClusterSurvey& survey, Status& status) {
  if (!survey.view || !survey.view->etcd_members) return;
  status.etcd = *survey.view->etcd_members;
  std::size_t well = 0;
  for (const facts::EtcdMember& member : status.etcd) {
    const std::string where = member.name.empty() ? member.url : member.name;
    std::string what;
    if (!member.answers)
      what = "does not answer";
    else if (!member.has_leader)
      what = "has no leader";
    else if (!member.errors.empty())
      what = "says: " + base::join(member.errors, "; ");
    if (what.empty())
      ++well;
    else
      status.verdict.problems.push_back({where,
                                         fmt::format("the etcd member {} {}", where, what),
                                         "gpuadm logs etcd " + where,
                                         {"cl.etcd-health"}});
  }
  const std::size_t needed = status.etcd.size() / 2 + 1;
  if (well < needed)
    status.verdict.problems.push_back(
        {"the cluster",
         fmt::format("etcd has {} of {} members and needs {}: the cluster is read-only", well,
                     status.etcd.size(), needed),
         "restore a control-plane node that still has its data",
         {"cl.etcd-health"}});
}

/// etcd's own member list takes precedence over the machine's.
void merge_etcd_health(PlaneStatus& plane, const std::string& node,
                       const std::vector<facts::EtcdMember>& members) {
  const auto member = std::ranges::find(members, node, &facts::EtcdMember::name);
  if (member == members.end()) return;
  for (Part& part : plane.parts) {
    if (part.name != "etcd") continue;
    if (!member->answers)
      part = {"etcd", Health::ill, "does not answer"};
    else if (part.health == Health::well && member->leads)
      part.message = "leads";
    else if (part.health == Health::unknown)
      part = {"etcd", Health::well, member->leads ? "leads" : ""};
  }
}

}  // namespace

const Part& PlaneStatus::part(std::string_view wanted) const {
  static const Part none;
  const auto place = std::ranges::find(parts, wanted, &Part::name);
  return place == parts.end() ? none : *place;
}

void add_planes(const ClusterSurvey& survey, Status& status) {
  add_etcd(survey, status);
  std::vector<const facts::Node*> found;
  const auto add = [&](PlaneStatus plane, const facts::Node* node) {
    merge_etcd_health(plane, node ? node->name : plane.name, status.etcd);
    complain(plane, survey.view.has_value(), status);
    status.planes.push_back(std::move(plane));
    found.push_back(node);
  };
  for (const spec::Host& host : survey.cluster.hosts) {
    const facts::Node* node = node_behind(survey, host);
    const auto place = survey.census.find(host.name);
    if (place == survey.census.end()) continue;
    const auto& facts = place->second;
    const bool is_plane =
        facts ? facts::is_control_plane(survey.census, host.name)
              : (node ? facts::is_control_plane(*node) : host.role == spec::Role::control_plane);
    if (!is_plane) continue;
    PlaneStatus plane{host.name, {}, {}, {}};
    for (const char* name : part_names)
      plane.parts.push_back(facts ? part_on(facts->kubernetes, survey.view, node, name)
                                  : part_of(survey.view, node, name));
    if (facts) read_certificates(*facts, plane);
    add(std::move(plane), node);
  }
  if (!survey.view || !survey.view->nodes) return;
  for (const facts::Node& node : *survey.view->nodes) {
    if (!facts::is_control_plane(node) || std::ranges::find(found, &node) != found.end()) continue;
    PlaneStatus plane{node.name, {}, {}, {}};
    for (const char* name : part_names) plane.parts.push_back(part_of(survey.view, &node, name));
    add(std::move(plane), &node);
  }
}

}  // namespace cluster
