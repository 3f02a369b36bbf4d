#include "gpuadm/base/text.hpp"

#include "kube/pod/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kube::pod {

namespace {

using facts::Claim;

const PodEvent* event_about(const PodView& view, std::string_view name,
                            std::initializer_list<std::string_view> reasons) {
  const PodEvent* found = nullptr;
  if (view.events)
    for (const PodEvent& event : *view.events)
      if (event.kind == "PersistentVolumeClaim" && event.name == name &&
          std::ranges::find(reasons, event.reason) != reasons.end())
        found = &event;
  return found;
}

std::string names_of(const std::vector<std::string>& names) {
  return names.empty() ? "there are none" : base::join(names, ", ");
}

PodLink missing(const PodView& view, const Pod& pod, const std::string& name) {
  std::vector<std::string> names;
  for (const Claim& claim : *view.cluster.claims)
    if (claim.ns == pod.ns) names.push_back(claim.name);
  std::string what = fmt::format("the PersistentVolumeClaim {} does not exist in namespace {}", name, pod.ns);
  const auto near = base::nearest(name, names);
  return broken("scheduled", "claim-missing", std::move(what),
                {"PersistentVolumeClaims: " + names_of(names) + (near ? "; nearest: " + *near : "")},
                fmt::format("gpuadm storage claim {} --size 10Gi --on STORAGE -n {}", name, pod.ns));
}

/// Why a claim is not bound; nothing: the scheduler can go ahead.
std::optional<PodLink> unbound(const PodView& view, const Claim& claim) {
  const std::string what = fmt::format("the PersistentVolumeClaim {} is not bound", claim.name);
  const auto* failed = event_about(view, claim.name, {"ProvisioningFailed", "FailedBinding"});
  const std::string describe =
      fmt::format("kubectl -n {} describe persistentvolumeclaim {}", claim.ns, claim.name);
  std::vector<std::string> seen;
  if (failed) seen.push_back(evidence(*failed, view));
  const auto* classes = view.cluster.storage_classes ? &*view.cluster.storage_classes : nullptr;
  std::vector<std::string> names;
  if (classes)
    for (const auto& one : *classes) names.push_back(one.name);
  if (claim.storage_class.empty()) {
    seen.push_back("StorageClasses: " + names_of(names) + "; none is the default for this claim");
    return broken("scheduled", "no-storage-class",
                  what + ": it names no StorageClass, and no PersistentVolume fits", seen,
                  fmt::format("gpuadm storage claim {} --size SIZE --on STORAGE -n {}, or gpuadm storage add "
                              "NAME local --host HOST --path PATH --default-class",
                              claim.name, claim.ns));
  }
  const auto place = classes ? std::ranges::find(*classes, claim.storage_class, &facts::StorageClass::name)
                             : decltype(classes->end()){};
  if (classes && place == classes->end()) {
    const auto near = base::nearest(claim.storage_class, names);
    seen.push_back("StorageClasses: " + names_of(names) + (near ? "; nearest: " + *near : ""));
    return broken("scheduled", "storage-class-missing",
                  fmt::format("{}: the StorageClass {} does not exist", what, claim.storage_class), seen,
                  describe);
  }
  if (failed && failed->reason == "ProvisioningFailed")
    return broken("scheduled", "provisioning-failed", what + ": " + brief(failed->message, 160), seen,
                  describe);
  if (classes && place->binding == "WaitForFirstConsumer" && claim.node.empty()) return std::nullopt;
  return broken("scheduled", "claim-pending",
                classes
                    ? fmt::format("{}: the provisioner {} has not created a volume", what, place->provisioner)
                    : what,
                seen, describe);
}

}  // namespace

std::optional<PodLink> waits_for_claim(const Context& context) {
  const PodView& view = context.view;
  const Pod& pod = context.pod;
  if (view.cluster.claims)
    for (const PodVolume& volume : pod.volumes) {
      if (volume.kind != "persistentVolumeClaim") continue;
      const auto place = std::ranges::find_if(*view.cluster.claims, [&](const Claim& claim) {
        return claim.ns == pod.ns && claim.name == volume.source;
      });
      if (place == view.cluster.claims->end()) return missing(view, pod, volume.source);
      if (place->phase == "Lost")
        return broken("scheduled", "claim-lost",
                      fmt::format("the volume of PersistentVolumeClaim {} was deleted", place->name), {},
                      fmt::format("kubectl -n {} describe persistentvolumeclaim {}", place->ns, place->name));
      if (place->phase == "Pending")
        if (auto why = unbound(view, *place)) return why;
    }
  if (!view.cluster.resource_claims) return std::nullopt;
  for (const std::string& name : pod.claims) {
    const auto place = std::ranges::find_if(
        *view.cluster.resource_claims,
        [&](const facts::ResourceClaim& claim) { return claim.ns == pod.ns && claim.name == name; });
    const auto* creation = latest(context, {"FailedResourceClaimCreation"});
    const auto* scheduling = creation ? creation : latest(context, {"FailedScheduling"});
    std::vector<std::string> seen;
    if (scheduling) seen.push_back(evidence(*scheduling, view));
    const std::string list = fmt::format("kubectl -n {} get resourceclaims", pod.ns);
    if (name.empty()) {
      const auto at = static_cast<std::size_t>(&name - pod.claims.data());
      const std::string from = at < pod.claim_templates.size() ? pod.claim_templates[at] : std::string();
      if (creation && !from.empty() && mentions(creation->message, "not found"))
        return broken(
            "scheduled", "resource-claim-template-missing",
            fmt::format("the ResourceClaimTemplate {} does not exist in namespace {}", from, pod.ns), seen,
            fmt::format("kubectl -n {} get resourceclaimtemplates", pod.ns));
      return broken(
          "scheduled", "resource-claim-missing",
          fmt::format("a ResourceClaim of the pod was not created from its template{}{}",
                      from.empty() ? "" : " " + from, creation ? ": " + brief(creation->message, 160) : ""),
          seen, list);
    }
    if (place == view.cluster.resource_claims->end())
      return broken("scheduled", "resource-claim-missing",
                    fmt::format("the ResourceClaim {} does not exist in namespace {}", name, pod.ns), seen,
                    list);
    if (!place->allocations.empty()) continue;
    std::size_t devices = 0, free = 0;
    if (view.cluster.nodes)
      for (const facts::Node& node : *view.cluster.nodes) {
        std::size_t free_here = 0;
        const auto all = facts::gpu_devices(view.cluster, node.name);
        for (const auto& device : all) free_here += device.claim.empty() ? 1u : 0u;
        devices += all.size();
        free += free_here;
        if (!all.empty())
          seen.push_back(
              fmt::format("node {}: {} of {} GPU devices are free", node.name, free_here, all.size()));
      }
    if (devices == 0)
      return broken("scheduled", "dra-driver-missing",
                    fmt::format("the ResourceClaim {} is not allocated: no ResourceSlice offers a GPU", name),
                    seen, "gpuadm verify");
    if (free == devices)
      return broken(
          "scheduled", "resource-claim-pending",
          fmt::format("the ResourceClaim {} is not allocated: the free GPU devices, {} of {}, do not "
                      "satisfy its request",
                      name, free, devices),
          seen,
          fmt::format("compare its count, DeviceClass and selectors with the devices: kubectl -n {} "
                      "describe resourceclaim {}; kubectl get resourceslices -o yaml",
                      pod.ns, name));
    return broken("scheduled", "resource-claim-pending",
                  fmt::format("the ResourceClaim {} is not allocated: {} of {} GPU devices {} free", name,
                              free, devices, is_are(static_cast<double>(free))),
                  seen, fmt::format("kubectl -n {} describe resourceclaim {}", pod.ns, name));
  }
  return std::nullopt;
}

}  // namespace kube::pod
