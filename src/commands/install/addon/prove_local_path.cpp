#include "gpuadm/base/yaml.hpp"
#include "gpuadm/kube/verdict.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/inspect/explain_pod.hpp"
#include "commands/install/addon/prove.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

constexpr std::chrono::seconds volume_timeout{60};

Result<std::vector<Tree>> proof_objects(const workload::Addon& addon, const assets::Store& assets) {
  return workload::addon_objects(addon, TRY(assets.read("templates/addons/local-path-proof.yaml")),
                                 TRY(images_of_addon(addon, TRY(read_catalog(assets)))));
}

/// Whether the pod has written; nothing while it runs.
Result<std::optional<std::string>> read_writer(const Tree& reference, ReachedCluster& cluster,
                                               std::string& reason) {
  const auto found = TRY(cluster.client().find({reference}));
  if (found.empty()) return base::fail(Fault::remote, "the pod of the proof was deleted by others");
  const kube::PodVerdict verdict = kube::judge(kube::read_pod(found.front()));
  if (verdict.stage == kube::Stage::succeeded)
    return fmt::format("a claim was bound, and a pod on {} wrote to it", verdict.node);
  reason = verdict.text.empty() ? kube::describe(verdict) : verdict.text;
  if (verdict.stage != kube::Stage::failed && verdict.outlook != kube::Outlook::hopeless) return std::nullopt;
  const auto why = reason_of(cluster.spec(), {text_at(reference, {"metadata", "namespace"}), verdict.pod},
                             cluster.client());
  return base::fail(Fault::remote, "the pod of the proof cannot write: " + (why ? why->what : reason),
                    why ? why->fix : "");
}

/// The volume is deleted by the provisioner, after the claim.
Result<> wait_for_no_volume(const Tree& claim, ReachedCluster& cluster) {
  const std::string ns = text_at(claim, {"metadata", "namespace"}),
                    name = text_at(claim, {"metadata", "name"});
  const auto gone = prove_within(volume_timeout, cluster, "the volume of the proof is not deleted",
                                 [&](std::string&) -> Result<std::optional<std::string>> {
                                   const auto volumes =
                                       TRY(cluster.client().get({{"persistentvolumes"}, {}, {}}));
                                   const bool left = std::ranges::any_of(volumes, [&](const Tree& volume) {
                                     return text_at(volume, {"spec", "claimRef", "namespace"}) == ns &&
                                            text_at(volume, {"spec", "claimRef", "name"}) == name;
                                   });
                                   return left ? std::nullopt : std::optional<std::string>("deleted");
                                 });
  if (!gone) return std::unexpected(gone.error());
  return {};
}

}  // namespace

Result<std::string> prove_local_path(const workload::Addon& addon, ReachedCluster& cluster,
                                     std::chrono::seconds timeout) {
  const std::vector<Tree> objects = TRY(proof_objects(addon, cluster.assets()));
  std::vector<Tree> references;
  for (const Tree& object : objects) references.push_back(workload::reference_to(workload::name_of(object)));
  std::ranges::reverse(references);  // the pod first
  const auto remove = [&]() -> Result<> {
    const auto found = TRY(cluster.client().find(references, transport::Purpose::clean_up));
    if (const auto foreign = workload::foreign_objects(found, addon); !foreign.empty())
      return base::fail(Fault::blocked,
                        "others have an object with the name of the proof: " + foreign.front(),
                        "rename or delete it");
    return cluster.client().remove_objects(found);
  };
  TRY(remove());
  auto seen = [&]() -> Result<std::string> {
    TRY(cluster.client().apply(objects));
    return prove_within(timeout, cluster, "the pod of the proof has not written", [&](std::string& reason) {
      return read_writer(references.front(), cluster, reason);
    });
  }();
  auto removed = remove();
  if (!seen) return seen;
  TRY(std::move(removed));
  TRY(wait_for_no_volume(objects.front(), cluster));
  return seen;
}

}  // namespace commands
