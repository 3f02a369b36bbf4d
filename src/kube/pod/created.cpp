#include "gpuadm/base/text.hpp"

#include "kube/pod/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kube::pod {

namespace {

constexpr std::array<Pattern, 14> patterns = {
    {{{"exceeded quota"},
      "quota",
      "the quota {quota} of namespace {namespace} does not allow the pod: {requested}",
      "request less, or change the quota: kubectl -n {namespace} edit resourcequota {quota}"},
     {{"failed quota"},
      "quota-needs-limits",
      "the quota {quota} of namespace {namespace} requires values that the pod does not have: {must}",
      "set resources.requests and resources.limits of all containers"},
     {{"violates PodSecurity"},
      "pod-security",
      "the pod security level of namespace {namespace} does not allow the pod: {violation}",
      "change the securityContext of the pod, or kubectl label namespace {namespace} "
      "pod-security.kubernetes.io/enforce=privileged --overwrite"},
     {{"pod security policy", "PodSecurityPolicy"},
      "pod-security",
      "no PodSecurityPolicy allows the pod",
      "kubectl get podsecuritypolicies"},
     {{"serviceaccount \"", "service account"},
      "service-account-missing",
      "the ServiceAccount {object} does not exist in namespace {namespace}",
      "kubectl -n {namespace} create serviceaccount {object} || kubectl -n {namespace} get serviceaccounts"},
     {{"RuntimeClass"},
      "runtime-class-missing",
      "the RuntimeClass {object} does not exist",
      "kubectl get runtimeclasses; gpuadm runtime configure creates nvidia"},
     {{"PriorityClass"},
      "priority-class-missing",
      "the PriorityClass {object} does not exist",
      "kubectl get priorityclasses"},
     {{"ValidatingAdmissionPolicy"},
      "policy-denied",
      "the policy {policy} denies the pod: {denial}",
      "change the pod as the message says; kubectl describe validatingadmissionpolicy {policy} || change the "
      "pod "
      "as the message says; kubectl get validatingadmissionpolicies"},
     {{"denied the request"},
      "webhook-denied",
      "the admission webhook {webhook} denies the pod: {denial}",
      "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations"},
     {{"failed calling webhook", "failed to call webhook"},
      "webhook-unreachable",
      "the admission webhook {webhook} does not respond, so pods cannot be created",
      "gpuadm doctor --stage cluster --only cl.webhooks-blocking"},
     {{"maximum", "minimum"},
      "limit-range",
      "the LimitRange of namespace {namespace} does not allow the pod: {message}",
      "kubectl -n {namespace} describe limitrange"},
     {{"is being terminated"},
      "namespace-terminating",
      "namespace {namespace} is being deleted",
      "use another namespace"},
     {{"is invalid", "Invalid value"},
      "pod-invalid",
      "the pod template is invalid: {message}",
      "correct the pod template"},
     {{"is forbidden"},
      "forbidden",
      "the API server does not allow the pod: {message}",
      "change the pod as the message says, or the rights of its creator"}}};

Words words_in(const std::string& message, const std::string& ns) {
  Words words;
  words["namespace"] = ns;
  words["message"] = brief(message, 200);
  const auto part = [&](std::string_view before, std::string_view after) {
    return between(message + "\n", before, after);
  };
  const std::string quota = part("exceeded quota: ", "\n");
  words["quota"] = quota.substr(0, quota.find(','));
  words["requested"] =
      brief(part("requested: ", "\n").empty() ? message : "requested: " + part("requested: ", "\n"), 200);
  words["must"] = part("must specify ", "\n");
  if (words["quota"].empty()) words["quota"] = part("failed quota: ", ":");
  words["violation"] = brief(part("violates PodSecurity ", "\n"), 200);
  words["webhook"] = part("webhook \"", "\"");
  const std::string denial = part("denied the request: ", "\n");
  words["denial"] = brief(denial.empty() ? part("denied request: ", "\n") : denial, 160);
  words["policy"] = part("ValidatingAdmissionPolicy '", "'");
  for (const char* before :
       {"serviceaccount \"", "RuntimeClass \"", "PriorityClass with name ", "priorityclass \""})
    if (std::string object = part(before, before[std::string_view(before).size() - 1] == '"' ? "\"" : " ");
        !object.empty() && words["object"].empty())
      words["object"] = object;
  if (words["object"].empty()) words.known.erase("object");
  words.fillers["object"] = "that the pod names";
  return words;
}

bool is_of(const PodOwner& owner, const PodTarget& target) {
  return target.what == "workload" ? owner.workload == target.name
                                   : owner.kind == target.kind && owner.name == target.name;
}

const PodEvent* failed_create(const PodView& view, const std::vector<const PodOwner*>& owners) {
  const PodEvent* found = nullptr;
  if (view.events)
    for (const PodEvent& event : *view.events)
      if ((event.reason == "FailedCreate" || event.reason == "ReplicaSetCreateError") &&
          std::ranges::any_of(owners, [&](const PodOwner* owner) {
            return owner->kind == event.kind && owner->name == event.name;
          }))
        found = &event;
  return found;
}

/// A Job that Kueue has not admitted; why is the message of the last event of its Workload, "job-NAME-SUFFIX"
/// (https://kueue.sigs.k8s.io/docs/tasks/troubleshooting/troubleshooting_jobs/).
PodLink in_queue(const PodOwner& owner, const PodTarget& target, const PodView& view) {
  const PodEvent* last = workload_event(view, "job-" + owner.name + "-");
  const std::string why = last ? ": " + brief(last->message) : "";
  return broken(
      "created", "queued",
      fmt::format("{}/{} waits in the queue {}{}", base::lower(owner.kind), owner.name, owner.queue, why),
      last ? std::vector{evidence(*last, view)} : std::vector<std::string>(),
      fmt::format("gpuadm workload list -n {}", target.ns));
}

/// States of controllers that want no pods, or no further ones.
std::optional<PodLink> by_state(const PodOwner& owner, const PodTarget& target, const PodView& view) {
  const std::string name = base::lower(owner.kind) + "/" + owner.name;
  const auto condition = [&](const char* type) {
    const auto place = owner.conditions.find(type);
    return place != owner.conditions.end() && place->second.status == "True" ? &place->second : nullptr;
  };
  if (condition("Complete")) return passed("created", fmt::format("{} has completed", name));
  if (const auto* failed = condition("Failed"))
    return broken(
        "created", failed->reason == "DeadlineExceeded" ? "deadline-exceeded" : "job-failed",
        fmt::format("{} failed: {}", name, failed->message.empty() ? failed->reason : brief(failed->message)),
        {failed->reason}, fmt::format("kubectl -n {} describe {}", target.ns, name));
  if (const auto* failure = condition("ReplicaFailure"))
    return refused(failure->message, target.ns, {fmt::format("{}: {}", name, brief(failure->message))});
  if (owner.suspended && !owner.queue.empty()) return in_queue(owner, target, view);
  if (owner.suspended)
    return broken(
        "created", "suspended", fmt::format("{} is suspended", name), {},
        fmt::format("kubectl -n {} patch {} -p '{{\"spec\":{{\"suspend\":false}}}}'", target.ns, name));
  if (owner.count == 0 && target.what == "workload")
    return broken("created", "stopped", fmt::format("{} is stopped", target.name),
                  {name + " requests 0 pods"},
                  fmt::format("gpuadm {} {} -n {}",
                              owner.kind == "Job"      ? "train resume"
                              : owner.label == "serve" ? "serve start"
                                                       : "notebook start",
                              target.name, target.ns));
  if (owner.count == 0)
    return broken("created", "no-replicas", fmt::format("{} requests 0 pods", name), {},
                  fmt::format("kubectl -n {} scale {} --replicas=1", target.ns, name));
  return std::nullopt;
}

}  // namespace

PodLink refused(const std::string& message, const std::string& ns, std::vector<std::string> seen) {
  const Words words = words_in(message, ns);
  if (const Pattern* pattern = match(patterns, message))
    return broken("created", *pattern, words, std::move(seen));
  return broken("created", "create-failed", fill("the pod cannot be created: {message}", words),
                std::move(seen), fill("kubectl -n {namespace} get events", words));
}

std::vector<const PodOwner*> owners_of(const PodView& view, const PodTarget& target) {
  std::vector<const PodOwner*> found;
  if (!view.owners) return found;
  for (const PodOwner& owner : *view.owners)
    if (is_of(owner, target)) found.push_back(&owner);
  // ReplicaSets of Deployments.
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const PodOwner& owner : *view.owners)
      if (owner.owner_kind == found[i]->kind && owner.owner == found[i]->name &&
          std::ranges::find(found, &owner) == found.end())
        found.push_back(&owner);
  return found;
}

PodLink created(const PodView& view, const PodTarget& target) {
  if (!view.owners) return pending("created", "the controllers of the namespace could not be read");
  const auto owners = owners_of(view, target);
  if (const auto* event = failed_create(view, owners))
    return refused(event->message, target.ns, {evidence(*event, view)});
  for (const PodOwner* owner : owners)
    if (auto link = by_state(*owner, target, view)) return std::move(*link);
  std::vector<std::string> seen;
  if (view.uses)
    for (const PodUse& use : *view.uses)
      if (use.ns == "kube-system" && use.name.starts_with("kube-controller-manager") && use.ready != "True")
        seen.push_back(fmt::format("pod {} is not ready", use.name));
  if (!seen.empty())
    return broken("created", "controller-manager-not-running",
                  "the controller manager has not created the pod", seen,
                  "gpuadm logs kube-controller-manager");
  return pending("created", "no pod was created yet");
}

}  // namespace kube::pod
