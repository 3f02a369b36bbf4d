#include "gpuadm/cluster/status_show.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/report/columns.hpp"
#include "gpuadm/report/wrap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cluster {

namespace {

using base::Tree;
using Lines = std::vector<std::vector<std::string>>;

constexpr std::size_t usual = 80;

std::string shown(const std::string& text) {
  return base::printable(base::replace_all(text, "\n", " "), 400);
}

std::string age(const std::optional<double>& seconds) {
  if (!seconds) return "unknown";
  if (*seconds < 120) return fmt::format("{:.0f} s", *seconds);
  if (*seconds < 7200) return fmt::format("{:.0f} min", *seconds / 60);
  if (*seconds < 172800) return fmt::format("{:.0f} h", *seconds / 3600);
  return fmt::format("{:.0f} d", *seconds / 86400);
}

std::string days(const PlaneStatus& plane) {
  return plane.days ? fmt::format("{:.0f} days", std::floor(*plane.days)) : "unknown";
}

std::string word(const Part& part) {
  if (part.health == Health::well) return part.message.empty() ? "ok" : "ok, " + part.message;
  return part.health == Health::ill ? "DOWN" : "unknown";
}

/// "containerd 1.6.20", without the distribution's suffix.
std::string short_version(const std::string& runtime) {
  return runtime.substr(0, runtime.find_first_of("~+-"));
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] -= 'a' - 'A';
  return text;
}

class Text {
 public:
  Text(const Status& status, Width width, std::size_t screen)
      : status_(status),
        wide_(width == Width::any),
        screen_(screen),
        width_(wide_    ? 0
               : screen ? screen
                        : usual) {}

  std::string all() {
    head();
    nodes();
    planes();
    members();
    network();
    gpus();
    problems();
    return std::move(text_);
  }

 private:
  void table(const Lines& lines, const std::vector<std::size_t>& may_shrink) {
    if (lines.size() > 1) text_ += "\n" + report::columns(lines, width_, may_shrink);
  }

  void head() {
    std::string line = "Cluster " + status_.cluster;
    if (!status_.version.empty()) line += ": Kubernetes " + status_.version;
    if (!status_.endpoint.empty()) line += " at " + status_.endpoint;
    line += status_.api.health == Health::well  ? ", ready"
            : status_.api.health == Health::ill ? ", the API server " + status_.api.message
                                                : ": the state is unknown: " + status_.api.message;
    text_ += report::wrapped(shown(line), 2, width_) + "\n";
  }

  void nodes() {
    Lines lines = {{"NODE", "ROLE", "STATUS", "KUBELET", "RUNTIME", "LEASE"}};
    if (wide_) lines.front().insert(lines.front().end(), {"ADDRESS", "OS", "KERNEL"});
    for (const NodeStatus& node : status_.nodes) {
      lines.push_back({shown(node.name), node.role, node.ready + (node.cordoned ? ",cordoned" : ""),
                       shown(node.kubelet), shown(wide_ ? node.runtime : short_version(node.runtime)),
                       age(node.lease_age)});
      if (wide_)
        lines.back().insert(lines.back().end(), {shown(node.address), shown(node.os), shown(node.kernel)});
    }
    table(lines, {4, 0});
  }

  void planes() {
    Lines lines = {{"CONTROL PLANE", "API SERVER", "CONTROLLERS", "SCHEDULER", "ETCD", "CERTIFICATES"}};
    for (const PlaneStatus& plane : status_.planes) {
      std::string ends = days(plane);
      if (wide_ && plane.days) ends += ", " + shown(plane.certificate);
      lines.push_back({shown(plane.name), word(plane.part("kube-apiserver")),
                       word(plane.part("kube-controller-manager")), word(plane.part("kube-scheduler")),
                       word(plane.part("etcd")), ends});
    }
    table(lines, {0});
  }

  void members() {
    if (!wide_) return;
    Lines lines = {{"ETCD MEMBER", "ADDRESS", "STATE", "VERSION", "SIZE"}};
    for (const facts::EtcdMember& member : status_.etcd)
      lines.push_back({shown(member.name), shown(member.url),
                       !member.answers      ? "DOWN"
                       : !member.has_leader ? "no leader"
                       : member.leads       ? "leads"
                                            : "follows",
                       shown(member.version),
                       base::human_bytes(static_cast<unsigned long long>(std::max(0LL, member.bytes)))});
    table(lines, {});
  }

  void network() {
    std::string line = "Network: " + (status_.network.empty() ? "unknown" : status_.network);
    if (!status_.proxy.empty()) line += "; kube-proxy: " + status_.proxy;
    text_ += "\n" + report::wrapped(shown(line), 2, width_) + "\n";
  }

  void gpus() {
    Lines lines = {{"GPUS OF", "PCI", "DRIVER", "ALLOCATABLE", "USED", "BY"}};
    for (const GpuUse& use : status_.gpu_hosts) {
      std::string pods = !use.used ? "unknown" : use.pods.empty() ? "nobody" : shown(use.pods.front());
      if (use.pods.size() > 1) pods += fmt::format(" and {} more", use.pods.size() - 1);
      if (wide_ && !use.pods.empty()) pods = shown(base::join(use.pods, ", "));
      lines.push_back({shown(use.counts.host), fmt::format("{}", use.counts.pci),
                       fmt::format("{}", use.counts.driver),
                       use.counts.allocatable ? fmt::format("{}", *use.counts.allocatable) : "unknown",
                       use.used ? fmt::format("{}", *use.used) : "unknown", pods});
    }
    table(lines, {5, 0});
    if (!wide_) return;
    lines = {{"GPU", "PCI SLOT", "MODEL", "DRIVER", "SHARING", "HEALTH", "ALLOCATABLE"}};
    for (const GpuRow& row : status_.gpus)
      lines.push_back(
          {shown(row.host), shown(row.slot), shown(row.model), shown(row.driver), shown(row.sharing),
           shown(row.health),
           row.allocatable == true ? "yes" : shown((row.allocatable ? "no: " : "unknown: ") + row.why)});
    table(lines, {});
  }

  void problems() {
    const Verdict& verdict = status_.verdict;
    text_ += "\n" + report::wrapped(capital(to_text(verdict)), 2, width_) +
             (verdict.problems.empty() && verdict.unread.empty() ? "\n" : ":\n");
    for (const Problem& problem : verdict.problems) {
      text_ += "  " + report::wrapped(shown(problem.where + ": " + problem.what), 4, width_) + "\n";
      if (!problem.remedy.empty())
        text_ += "    do: " + report::padded(shown(problem.remedy), 8, screen_) + "\n";
    }
    for (const Problem& problem : verdict.unread)
      text_ += "  " + report::wrapped(shown(problem.where + ": not read: " + problem.what), 4, width_) + "\n";
  }

  const Status& status_;
  bool wide_;
  std::size_t screen_, width_;
  std::string text_;
};

std::string_view name_of(Health health) {
  return health == Health::well ? "ok" : health == Health::ill ? "down" : "unknown";
}

template <class Items, class Each>
Tree list_of(const Items& items, Each each) {
  Tree list = Tree::list();
  for (const auto& item : items) list.push(each(item));
  return list;
}

template <class T>
Tree tree_of(const std::optional<T>& value) {
  return value ? Tree(*value) : Tree();
}

Tree part_tree(const Part& part) {
  return Tree::map_of({{"state", name_of(part.health)}, {"message", part.message}});
}

Tree node_tree(const NodeStatus& node) {
  return Tree::map_of({{"name", node.name},
                       {"host", node.host},
                       {"role", node.role},
                       {"status", node.ready},
                       {"cordoned", node.cordoned},
                       {"why", node.why},
                       {"kubelet", node.kubelet},
                       {"runtime", node.runtime},
                       {"address", node.address},
                       {"os", node.os},
                       {"kernel", node.kernel},
                       {"leaseAge", tree_of(node.lease_age)}});
}

Tree plane_tree(const PlaneStatus& plane) {
  Tree parts = Tree::map();
  for (const Part& part : plane.parts) parts.set(part.name, part_tree(part));
  return Tree::map_of({{"name", plane.name},
                       {"components", parts},
                       {"certificate", plane.certificate},
                       {"certificateDays", tree_of(plane.days)}});
}

Tree member_tree(const facts::EtcdMember& member) {
  return Tree::map_of({{"name", member.name},
                       {"address", member.url},
                       {"answers", member.answers},
                       {"hasLeader", member.has_leader},
                       {"leads", member.leads},
                       {"version", member.version},
                       {"bytes", std::int64_t{member.bytes}},
                       {"errors", Tree::list_of(member.errors)}});
}

Tree use_tree(const GpuUse& use) {
  Tree tree = to_tree(use.counts);
  tree.set("used", use.used ? Tree(std::int64_t{*use.used}) : Tree());
  tree.set("pods", Tree::list_of(use.pods));
  return tree;
}

}  // namespace

std::string to_text(const Status& status, Width width, std::size_t screen) {
  return Text(status, width, screen).all();
}

Tree to_tree(const Status& status) {
  return Tree::map_of({{"cluster", status.cluster},
                       {"well", status.verdict.health() == Health::well},
                       {"askedHost", status.asked},
                       {"version", status.version},
                       {"endpoint", status.endpoint},
                       {"apiServer", part_tree(status.api)},
                       {"nodes", list_of(status.nodes, node_tree)},
                       {"controlPlanes", list_of(status.planes, plane_tree)},
                       {"etcdMembers", list_of(status.etcd, member_tree)},
                       {"network", status.network},
                       {"kubeProxy", status.proxy},
                       {"gpuHosts", list_of(status.gpu_hosts, use_tree)},
                       {"gpus", list_of(status.gpus, [](const GpuRow& row) { return to_tree(row); })},
                       {"verdict", to_text(status.verdict)},
                       {"problems", to_tree(status.verdict.problems)},
                       {"unread", to_tree(status.verdict.unread)}});
}

}  // namespace cluster
