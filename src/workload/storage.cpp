#include "gpuadm/workload/storage.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/storage.hpp"
#include "gpuadm/workload/objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

Tree labels_on(const spec::Storage& storage, const StorageClaim& claim) {
  Tree labels = claim.labels.is_null() ? labels_of(storage_claim_kind, claim.name) : claim.labels;
  labels.set(storage_label, storage.name);
  return labels;
}

/// Only this node has the folder.
Tree affinity_to(const std::string& node) {
  Tree expression = Tree::map_of({{"key", "kubernetes.io/hostname"}, {"operator", "In"}});
  expression.set("values", Tree::list_of({node}));
  Tree expressions = Tree::list();
  expressions.push(std::move(expression));
  Tree terms = Tree::list();
  terms.push(Tree::map_of({{"matchExpressions", std::move(expressions)}}));
  return Tree::map_of({{"required", Tree::map_of({{"nodeSelectorTerms", std::move(terms)}})}});
}

bool is_id(std::string_view text) {
  const auto number = base::to_int(text);
  return number && *number >= 0 && *number <= 0xfffffffell && text.front() != '+';
}

}  // namespace

Result<> check_claim(const StorageClaim& claim) {
  TRY(check_name("storage claim", claim.name));
  TRY(check_namespace(claim.ns));
  TRY(bytes_of("--size", claim.size));
  if (claim.owner.empty()) return {};
  const auto ids = base::split(claim.owner, ':');
  if (ids.size() == 2 && is_id(ids[0]) && is_id(ids[1])) return {};
  return base::fail(Fault::usage, fmt::format("--owner: not UID:GID: {}", base::printable(claim.owner, 50)),
                    "two numbers, for example --owner 1000:1000");
}

std::string folder_of(const spec::Storage& storage, const StorageClaim& claim) {
  return fmt::format("{}/claims/{}/{}", spec::marker_of(storage), claim.ns, claim.name);
}

std::string mode_of(const StorageClaim& claim) {
  return claim.owner.empty() ? "0777" : "0770";
}

std::string volume_of(const spec::Storage& storage, const StorageClaim& claim) {
  return fmt::format("gpuadm-{}.{}.{}", storage.name, claim.ns, claim.name);
}

Tree claim_of_class(const StorageClaim& claim, const std::string& storage_class, const std::string& mode) {
  Tree labels = claim.labels.is_null() ? labels_of(storage_claim_kind, claim.name) : claim.labels;
  return Tree::map_of(
      {{"apiVersion", "v1"},
       {"kind", "PersistentVolumeClaim"},
       {"metadata",
        Tree::map_of({{"name", claim.name}, {"namespace", claim.ns}, {"labels", std::move(labels)}})},
       {"spec",
        Tree::map_of({{"accessModes", Tree::list_of({mode})},
                      {"resources", Tree::map_of({{"requests", Tree::map_of({{"storage", claim.size}})}})},
                      {"storageClassName", storage_class}})}});
}

std::vector<Tree> objects_of(const spec::Storage& storage, const StorageClaim& claim,
                             const std::string& node) {
  const bool local = storage.kind == spec::StorageKind::local;
  const Tree modes = Tree::list_of({local ? "ReadWriteOnce" : "ReadWriteMany"});
  Tree volume_spec = Tree::map_of(
      {{"capacity", Tree::map_of({{"storage", claim.size}})},
       {"accessModes", modes},
       {"persistentVolumeReclaimPolicy", "Retain"},
       {"storageClassName", ""},
       {"claimRef", Tree::map_of({{"apiVersion", "v1"},
                                  {"kind", "PersistentVolumeClaim"},
                                  {"namespace", claim.ns},
                                  {"name", claim.name}})},
       {"hostPath", Tree::map_of({{"path", folder_of(storage, claim)}, {"type", "Directory"}})}});
  if (local) volume_spec.set("nodeAffinity", affinity_to(node));
  Tree made = claim_of_class(claim, "", modes.items().front().text());
  made["metadata"].set("labels", labels_on(storage, claim));
  made["spec"].set("volumeName", volume_of(storage, claim));
  std::vector<Tree> objects;
  objects.push_back(Tree::map_of({{"apiVersion", "v1"},
                                  {"kind", "PersistentVolume"},
                                  {"metadata", Tree::map_of({{"name", volume_of(storage, claim)},
                                                             {"labels", labels_on(storage, claim)}})},
                                  {"spec", std::move(volume_spec)}}));
  objects.push_back(std::move(made));
  return objects;
}

std::vector<ClaimOnStorage> claims_in(const std::vector<Tree>& objects) {
  std::vector<ClaimOnStorage> claims;
  for (const Tree& object : objects) {
    if (text_at(object, {"kind"}) != "PersistentVolumeClaim") continue;
    const Tree* labels = object.at({"metadata", "labels"});
    const Tree* storage = labels ? labels->find(storage_label) : nullptr;
    if (!storage) continue;
    claims.push_back({text_at(object, {"metadata", "name"}), text_at(object, {"metadata", "namespace"}),
                      storage->text(), text_at(object, {"spec", "resources", "requests", "storage"}),
                      text_at(object, {"status", "phase"})});
  }
  return claims;
}

std::vector<std::string> pods_with(const std::vector<Tree>& pods, const ClaimOnStorage& claim) {
  std::vector<std::string> names;
  for (const Tree& pod : pods) {
    const std::string phase = text_at(pod, {"status", "phase"});
    if (text_at(pod, {"metadata", "namespace"}) != claim.ns || phase == "Succeeded" || phase == "Failed")
      continue;
    const Tree* volumes = pod.at({"spec", "volumes"});
    if (volumes && std::ranges::any_of(volumes->items(), [&](const Tree& volume) {
          return text_at(volume, {"persistentVolumeClaim", "claimName"}) == claim.name;
        }))
      names.push_back(fmt::format("{}/{}", claim.ns, text_at(pod, {"metadata", "name"})));
  }
  return names;
}

std::optional<std::string> node_label_of(const spec::Host& host, const std::vector<Tree>& nodes) {
  std::set<std::string> found;
  const std::vector<std::string> known = {base::lower(host.name), base::lower(host.endpoint.address)};
  const auto is_known = [&](const std::string& text) {
    return !text.empty() && std::ranges::find(known, base::lower(text)) != known.end();
  };
  for (const Tree& node : nodes) {
    const std::string name = text_at(node, {"metadata", "name"});
    bool same = is_known(name) || (host.endpoint.local && nodes.size() == 1);
    if (const Tree* addresses = node.at({"status", "addresses"}))
      for (const Tree& address : addresses->items()) same = same || is_known(text_at(address, {"address"}));
    if (!same) continue;
    const Tree* labels = node.at({"metadata", "labels"});
    const Tree* label = labels ? labels->find("kubernetes.io/hostname") : nullptr;
    found.insert(label ? label->text() : name);
  }
  return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
}

std::vector<std::string> nodes_without(const std::vector<std::string>& machine_ids,
                                       const std::vector<Tree>& nodes) {
  std::vector<std::string> names;
  for (const Tree& node : nodes) {
    const std::string id = text_at(node, {"status", "nodeInfo", "machineID"});
    if (std::ranges::find(machine_ids, id) == machine_ids.end())
      names.push_back(text_at(node, {"metadata", "name"}));
  }
  return names;
}

}  // namespace workload
