#include "gpuadm/base/text.hpp"

#include "checks/cluster/whole.hpp"
#include "checks/queries.hpp"

#include <algorithm>
#include <array>

/// Volumes: their provisioners, and claims that wait.
namespace checks {

namespace {

const facts::StorageClass* class_of(const std::vector<facts::StorageClass>& classes,
                                    const std::string& name) {
  const auto place = std::ranges::find(classes, name, &facts::StorageClass::name);
  return place == classes.end() ? nullptr : &*place;
}

void check_defaults(const std::vector<facts::StorageClass>& classes, Verdicts& out) {
  std::vector<std::string> defaults;
  for (const facts::StorageClass& one : classes)
    if (one.is_default) defaults.push_back(one.name);
  if (defaults.size() > 1)
    out.fail(
        Severity::note, "several StorageClasses are the default: a claim without a class gets the newest",
        list(defaults),
        fmt::format("kubectl annotate sc {} storageclass.kubernetes.io/is-default-class-", defaults.front()));
}

void csi_drivers(const Whole& w, Verdicts& out) {
  const auto* classes = given(w.facts.storage_classes, out, "the storage classes");
  const auto* drivers = classes ? given(w.facts.csi_drivers, out, "the CSI drivers") : nullptr;
  const auto* nodes = drivers ? given(w.facts.csi_nodes, out, "the nodes' CSI drivers") : nullptr;
  if (!nodes) return;
  if (classes->empty() && drivers->empty()) return out.skip("no CSI driver and no StorageClass");
  check_defaults(*classes, out);
  for (const std::string& driver : *drivers) {
    std::vector<std::string> without;
    for (const auto& [node, registered] : *nodes)
      if (!has(registered, driver)) without.push_back(node);
    const auto used = std::ranges::find(*classes, driver, &facts::StorageClass::provisioner);
    if (without.empty()) continue;
    if (without.size() < nodes->size())
      out.fail(Severity::note, "not every node can mount volumes of a CSI driver",
               fmt::format("{} is not registered on {}", driver, some(without)),
               "kubectl get pods -A -o wide, and run its node pods on these nodes if pods there use volumes");
    else if (used != classes->end())
      out.fail(Severity::warning, "no node can mount volumes of a StorageClass",
               fmt::format("{}: {} is registered on no node", used->name, driver),
               "kubectl get pods -A | grep csi, and read the log of its node pods (node-driver-registrar)");
  }
}

/// Time limit for binding a claim.
constexpr double timeout = 300;

/// What an unbound claim waits for; empty if the wait is expected.
std::string wait_of(const facts::Claim& claim, const std::vector<facts::StorageClass>& classes) {
  if (claim.phase == "Lost") return "its volume is lost";
  if (claim.storage_class.empty()) return "it has no StorageClass, and there is no default";
  const facts::StorageClass* one = class_of(classes, claim.storage_class);
  if (!one) return "there is no StorageClass " + claim.storage_class;
  // Until a pod that uses it is scheduled.
  if (one->binding == "WaitForFirstConsumer" && claim.node.empty()) return {};
  return fmt::format("{} ({}) has not created its volume", one->name, one->provisioner);
}

void claims(const Whole& w, Verdicts& out) {
  const auto* claims = given(w.facts.claims, out, "the volume claims");
  const auto* classes = claims ? given(w.facts.storage_classes, out, "the storage classes") : nullptr;
  if (!classes) return;
  if (claims->empty()) return out.skip("there are no volume claims");
  for (const facts::Claim& claim : *claims) {
    if (claim.phase == "Bound" || (w.facts.clock && *w.facts.clock - claim.made < timeout)) continue;
    const std::string why = wait_of(claim, *classes);
    if (why.empty()) continue;
    std::string event;
    if (w.facts.events)
      for (const facts::Event& one : *w.facts.events)
        if (one.kind == "PersistentVolumeClaim" && one.ns == claim.ns && one.name == claim.name)
          event = ": " + one.message;
    out.fail(Severity::warning, "a claim gets no volume: the pods that use it do not start",
             fmt::format("{}/{}: {}{}", claim.ns, claim.name, why, event),
             fmt::format("kubectl -n {} describe pvc {}", claim.ns, claim.name));
  }
}

constexpr std::array cluster_storage_rows = std::to_array<Check>({
    {.id = "st.csi-drivers",
     .title = "the nodes can mount the volumes of all StorageClasses",
     .why = "pods hang in ContainerCreating otherwise",
     .reads = "storageclasses csidrivers csinodes",
     .stages = in_cluster,
     .whole = csi_drivers},
    {.id = "st.pvc-pending",
     .title = "every claim gets its volume",
     .why = "its pods do not start without the volume",
     .reads = "pvcs storageclasses events",
     .stages = in_cluster,
     .whole = claims},
});

}  // namespace

std::span<const Check> cluster_storage_checks() {
  return cluster_storage_rows;
}

}  // namespace checks
