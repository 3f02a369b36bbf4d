#include "gpuadm/spec/decisions.hpp"

namespace spec {

namespace {

base::Tree to_tree(Supply supply) {
  switch (supply) {
    case Supply::open:
      break;
    case Supply::repositories:
      return "repositories";
    case Supply::bundle:
      return "bundle";
    case Supply::skipped:
      return "skipped";
    case Supply::none:
      return "none";
  }
  return "open";
}

base::Tree to_tree(const HostDecisions& host) {
  base::Tree tree = base::Tree::map_of({{"programsInBundle", host.programs_in_bundle},
                                        {"runtime", to_tree(host.runtime)},
                                        {"toolkit", to_tree(host.toolkit)}});
  if (host.driver_branch != 0)
    tree.set("driver",
             base::Tree::map_of({{"branch", host.driver_branch}, {"modules", host.driver_modules}}));
  return tree;
}

}  // namespace

const HostDecisions& Decisions::of(const std::string& host) const {
  static const HostDecisions none;
  const auto place = hosts.find(host);
  return place == hosts.end() ? none : place->second;
}

std::optional<base::Version> kubernetes_of(const Cluster& cluster, const Decisions& decisions) {
  return decisions.kubernetes ? decisions.kubernetes : cluster.kubernetes.version;
}

Cluster completed(Cluster cluster, const Decisions& decisions) {
  cluster.kubernetes.version = kubernetes_of(cluster, decisions);
  return cluster;
}

base::Tree to_tree(const Decisions& decisions) {
  base::Tree hosts = base::Tree::map();
  for (const auto& [name, host] : decisions.hosts) hosts.set(name, to_tree(host));
  base::Tree tree = base::Tree::map();
  if (decisions.kubernetes) tree.set("kubernetes", decisions.kubernetes->text());
  tree.set("withoutDns", decisions.without_dns);
  tree.set("mayExist", decisions.may_exist);
  tree.set("hosts", std::move(hosts));
  return tree;
}

}  // namespace spec
