#include "gpuadm/checks/upgrade.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/control_plane.hpp"

#include "checks/cluster/whole.hpp"
#include "checks/data.hpp"

#include <algorithm>
#include <set>

namespace checks {

namespace {

using base::Version;
using report::Finding;
using report::Severity;

class Judge {
 public:
  Judge(const Upgrade& upgrade, const Data& data)
      : u_(upgrade), minor_(minor_of(data.minors, upgrade.to)), lag_(kubelet_lag(data.minors, upgrade.to)) {}

  std::vector<Finding> judge() {
    const auto server = Version::parse(u_.facts.version);
    if (!server || !u_.facts.nodes || !u_.facts.pods) {
      refuse("upgrade.ready", "", "the cluster's state could not be read from the API server",
             u_.facts.version, "gpuadm doctor --stage cluster");
      return std::move(findings_);
    }
    server_ = *server;
    if (u_.only) return judge_nodes();
    step();
    hosts();
    for (const facts::Node& node : *u_.facts.nodes) {
      skew(node);
      ready(node);
      dockershim(node);
    }
    quorum();
    etcd();
    if (drains(u_.facts)) pods();
    taint_rules();
    apis();
    return std::move(findings_);
  }

 private:
  /// For an upgrade that does not change Kubernetes.
  std::vector<Finding> judge_nodes() {
    here_ = *u_.only;
    for (const facts::Node& node : *u_.facts.nodes)
      if (here_.contains(node.name)) ready(node);
    quorum();
    if (drains(u_.facts)) pods();
    return std::move(findings_);
  }

  [[nodiscard]] bool is_touched(const facts::Node& node) const {
    return u_.only ? u_.only->contains(node.name) : node.kubelet != "v" + u_.to.text();
  }

  Finding& refuse(const std::string& id, const std::string& host, const std::string& message,
                  const std::string& evidence, const std::string& remedy) {
    Finding finding;
    finding.id = id;
    finding.severity = Severity::blocker;
    finding.host = host;
    finding.message = message;
    finding.evidence = base::printable(evidence, 1000);
    finding.remedy = remedy;
    return findings_.emplace_back(std::move(finding));
  }

  void step() {
    const auto from = server_.text();
    if (u_.to < server_)
      refuse("upgrade.downgrade", "",
             fmt::format("Kubernetes {} is older than the running version", u_.to.text()),
             fmt::format("the API server is {}", from),
             fmt::format("a cluster cannot be downgraded: use {} or newer", from));
    else if (u_.to.major != server_.major || u_.to.minor > server_.minor + 1)
      refuse(
          "upgrade.minor", "", "the upgrade skips a minor version of Kubernetes",
          fmt::format("from {} to {}", from, u_.to.text()),
          fmt::format("first: gpuadm upgrade --kubernetes-version {}.{}", server_.major, server_.minor + 1));
  }

  /// Every control-plane node is upgraded, and every host is a node of this cluster.
  void hosts() {
    std::set<std::string> here;
    for (const spec::Host& host : u_.cluster.hosts) {
      if (const facts::Node* node = node_of(u_, host.name))
        here.insert(node->name);
      else
        refuse("upgrade.hosts", host.name, "the host is not a node of the cluster", "",
               "omit the host, or join it to the cluster first");
    }
    for (const facts::Node& node : *u_.facts.nodes)
      if (facts::is_control_plane(node) && !here.contains(node.name))
        refuse("upgrade.hosts", "", fmt::format("control plane {} is not among the hosts", node.name),
               "all control planes are upgraded before any other node",
               "name it too, or add it to the cluster file");
    here_ = std::move(here);
  }

  void skew(const facts::Node& node) {
    const auto kubelet = Version::parse(node.kubelet);
    if (!kubelet) return;
    // A control-plane node's kubelet may be newer than another one's API server during the upgrade.
    const bool ahead =
        kubelet->minor > server_.minor && !(facts::is_control_plane(node) && *kubelet <= u_.to);
    const std::string evidence =
        fmt::format("{}: kubelet {}, API server {}", node.name, kubelet->text(), server_.text());
    if (ahead)
      refuse("upgrade.skew", "", "a kubelet is newer than the API server", evidence,
             fmt::format("install kubelet {} on {}, then run again", server_.text(), node.name));
    else if (*kubelet > u_.to && server_ <= u_.to)
      refuse("upgrade.downgrade", "", fmt::format("a kubelet is newer than Kubernetes {}", u_.to.text()),
             evidence, fmt::format("use {} or newer", kubelet->text()));
    else if (kubelet->minor < u_.to.minor - lag_)
      refuse("upgrade.skew", "", fmt::format("a kubelet is too old for an API server {}", u_.to.text()),
             evidence,
             here_.contains(node.name)
                 ? fmt::format("upgrade {} to {}.{} first: gpuadm upgrade --kubernetes-version {}", node.name,
                               server_.major, server_.minor, server_.text())
                 : fmt::format("upgrade {} too, or remove it", node.name));
  }

  /// A node that gpuadm is upgrading may be unavailable.
  void ready(const facts::Node& node) {
    const auto condition = node.conditions.find("Ready");
    if (!node.upgrade.empty() || (condition != node.conditions.end() && condition->second.status == "True"))
      return;
    refuse("upgrade.ready", "", fmt::format("node {} is not Ready", node.name), node.message,
           fmt::format("gpuadm doctor --stage node on {}; or remove it from the cluster first", node.name));
  }

  void dockershim(const facts::Node& node) {
    if (u_.to.minor < 24 || server_.minor >= 24 || !node.runtime.starts_with("docker://")) return;
    refuse("upgrade.runtime", "", "Kubernetes 1.24 and newer do not support Docker",
           fmt::format("{}: {}", node.name, node.runtime),
           "move the node to containerd first, or to cri-dockerd: "
           "https://kubernetes.io/blog/2022/02/17/dockershim-faq/");
  }

  /// For etcd on control-plane nodes. Of two members, one is not a majority while the other is unavailable:
  /// https://etcd.io/docs/v3.5/faq/#what-is-failure-tolerance
  void quorum() {
    int count = 0, well = 0;
    for (const facts::Node& node : *u_.facts.nodes) {
      if (!facts::is_control_plane(node)) continue;
      ++count;
      const auto condition = node.conditions.find("Ready");
      if (condition != node.conditions.end() && condition->second.status == "True") ++well;
    }
    const std::string evidence = fmt::format("{} of {} control planes are Ready", well, count);
    if (count > 2 && well < count / 2 + 1)
      refuse("upgrade.quorum", "", "etcd has no majority", evidence,
             "restore the other control planes first");
    else if (count == 2)
      refuse("upgrade.quorum", "",
             "the API server is unavailable during the upgrade of each of the two control planes",
             "etcd of two members has no majority without one of them",
             "continue (pods keep running), or join a third control plane first")
          .severity = Severity::warning;
  }

  /// The members' versions are those that they report themselves. Within a minor version, etcd stays in its
  /// line.
  void etcd() {
    // kubeadm does not upgrade an etcd outside of the cluster.
    const bool is_inside = std::ranges::any_of(*u_.facts.pods, [](const facts::Pod& pod) {
      return pod.ns == "kube-system" && pod.name.starts_with("etcd-");
    });
    if (!minor_ || !minor_->etcd_before || (!is_inside && !u_.facts.etcd_members)) return;
    std::vector<std::string> old, unread;
    if (!u_.facts.etcd_members || u_.facts.etcd_members->empty()) unread.emplace_back("the list of members");
    for (const facts::EtcdMember& member : u_.facts.etcd_members.value_or(std::vector<facts::EtcdMember>())) {
      const std::string name = member.name.empty() ? member.url : member.name;
      const auto version = Version::parse(member.version);
      if (!member.answers || !version)
        unread.push_back(name);
      else if (*version < *minor_->etcd_before)
        old.push_back(fmt::format("{} {}", name, version->text()));
    }
    const std::string wants = fmt::format(
        "etcd {} of Kubernetes {} {} members of {} or newer", minor_->etcd.text(), u_.to.minor_text(),
        minor_->is_strict ? "requires" : "recommends", minor_->etcd_before->text());
    const Severity severity = minor_->is_strict ? Severity::blocker : Severity::warning;
    if (!old.empty())
      refuse(
          "upgrade.etcd", "", wants, base::join(old, ", "),
          fmt::format("first upgrade to a patch of {0}.{1} with such an etcd, which replaces one member at a "
                      "time: gpuadm upgrade --kubernetes-version {0}.{1}",
                      u_.to.major, u_.to.minor - 1))
          .severity = severity;
    if (!unread.empty() && u_.to.minor > server_.minor)
      refuse("upgrade.etcd", "", wants + ", and not all of their versions could be read", some(unread),
             "gpuadm status -o wide shows the members; repair those that do not respond")
          .severity = severity;
  }

  /// No controller would restart them.
  void pods() {
    for (const facts::Pod& pod : *u_.facts.pods) {
      if (!pod.owner.empty() || pod.phase == "Succeeded" || pod.phase == "Failed" ||
          !here_.contains(pod.node))
        continue;
      const auto* node = node_named(pod.node);
      if (!node || !is_touched(*node)) continue;
      refuse("upgrade.pods", "", fmt::format("pod {} has no controller that starts it elsewhere", pod.full()),
             fmt::format("it runs on {}, which is drained", pod.node),
             fmt::format("kubectl -n {} delete pod {}, when it is no longer needed", pod.ns, pod.name));
    }
  }

  [[nodiscard]] const facts::Node* node_named(const std::string& name) const {
    const auto place = std::ranges::find(*u_.facts.nodes, name, &facts::Node::name);
    return place != u_.facts.nodes->end() ? &*place : nullptr;
  }

  void taint_rules() {
    if (!is_broken_by_taint_rules(u_.to) || !u_.facts.taint_rules || u_.facts.taint_rules->empty()) return;
    std::vector<std::string> names;
    for (const facts::TaintRule& rule : *u_.facts.taint_rules) names.push_back(rule.name);
    refuse(
        "upgrade.taint-rules", "",
        fmt::format("the kube-scheduler of Kubernetes {} cannot start while a DeviceTaintRule exists",
                    u_.to.text()),
        some(names),
        "use 1.36.3 or newer; or first release the GPUs in quarantine (gpuadm gpu release), and delete the "
        "DeviceTaintRules of others");
  }

  /// "policy/v1beta1 podsecuritypolicies 1.25": requests for it fail from that version on.
  void apis() {
    if (!u_.facts.deprecated_apis) return;
    std::vector<std::string> gone;
    for (const std::string& api : *u_.facts.deprecated_apis) {
      const auto from = Version::parse(api.substr(api.rfind(' ') + 1));
      if (from && from->minor > server_.minor && from->minor <= u_.to.minor) gone.push_back(api);
    }
    if (gone.empty()) return;
    refuse("upgrade.apis", "", fmt::format("a client uses APIs that {} removes", u_.to.minor_text()),
           some(gone),
           "kubectl get --raw /metrics | grep apiserver_requested_deprecated_apis; the audit log shows the "
           "client")
        .severity = Severity::warning;
  }

  const Upgrade& u_;
  const Minor* minor_;  ///< of the version to install; nullptr: not known
  int lag_;             ///< by how many minor versions its kubelets may be older
  Version server_;
  std::set<std::string> here_;  ///< nodes of the hosts
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> examine_upgrade(const Upgrade& upgrade, const Data& data) {
  return Judge(upgrade, data).judge();
}

const facts::Node* node_of(const Upgrade& upgrade, const std::string& host) {
  const std::string& own = upgrade.cluster.kubernetes.node_name;
  if (upgrade.facts.nodes && upgrade.cluster.hosts.size() == 1 && !own.empty()) {
    const auto place = std::ranges::find(*upgrade.facts.nodes, own, &facts::Node::name);
    return place != upgrade.facts.nodes->end() ? &*place : nullptr;
  }
  const auto facts = upgrade.census.find(host);
  return facts != upgrade.census.end() && facts->second ? facts::node_of(upgrade.facts, *facts->second)
                                                        : nullptr;
}

bool drains(const facts::ClusterFacts& facts) {
  return facts.nodes && facts.nodes->size() > 1;
}

std::vector<std::vector<std::string>> upgrade_order(const spec::Cluster& cluster, int unavailable) {
  std::vector<std::vector<std::string>> order;
  for (const spec::Host& host : cluster.hosts)
    if (host.role == spec::Role::control_plane) order.push_back({host.name});
  std::vector<std::string> batch;
  for (const spec::Host& host : cluster.hosts) {
    if (host.role == spec::Role::control_plane) continue;
    batch.push_back(host.name);
    if (static_cast<int>(batch.size()) < unavailable) continue;
    order.push_back(std::move(batch));
    batch.clear();
  }
  if (!batch.empty()) order.push_back(std::move(batch));
  return order;
}

}  // namespace checks
