#include "gpuadm/base/text.hpp"

#include "kube/pod/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kube::pod {

namespace {

constexpr std::array<Pattern, 8> configuration_patterns = {
    {{{"failed to sync", "timed out waiting"},
      "configuration-not-read",
      "the kubelet of {node} has not read the ConfigMaps and Secrets of container {container} in time",
      "gpuadm doctor {node} --stage node"},
     {{"couldn't find key", "non-existent config key"},
      "key-missing",
      "container {container} needs a key that does not exist: {message}",
      "kubectl -n {namespace} get configmaps,secrets"},
     {{"configmap \"", "configmaps \""},
      "configmap-missing",
      "the ConfigMap {object} does not exist in namespace {namespace}",
      "kubectl -n {namespace} create configmap {object} --from-literal=KEY=VALUE"},
     {{"secret \"", "secrets \""},
      "secret-missing",
      "the Secret {object} does not exist in namespace {namespace}",
      "kubectl -n {namespace} create secret generic {object} --from-file=FILE"},
     {{"non-numeric user"},
      "runs-as-root",
      "the image of container {container} names its user, and Kubernetes can verify only a number that is "
      "not "
      "root's",
      "set securityContext.runAsUser to the number of that user"},
     {{"runAsNonRoot", "run as root"},
      "runs-as-root",
      "container {container} must not run as root, and its image does",
      "set securityContext.runAsUser, or use an image with a numeric user"},
     {{"subPath"},
      "sub-path",
      "a subPath of container {container} cannot be mounted: {message}",
      "create the directory on the volume"},
     {{"service account", "serviceaccount"},
      "service-account-missing",
      "the ServiceAccount of the pod does not exist in namespace {namespace}",
      "kubectl -n {namespace} get serviceaccounts"}}};

constexpr std::array<Pattern, 17> start_patterns = {
    {{{"unsatisfied condition: cuda", "requirement error"},
      "cuda-driver-too-old",
      "the image {image} requires a newer CUDA than the driver of node {node} supports",
      "gpuadm upgrade --driver {node}, or use an image for an older CUDA"},
     {{"driver not loaded", "driver rpc error", "nvml error", "libnvidia-ml.so",
       "couldn't communicate with the NVIDIA driver"},
      "nvidia-driver-missing",
      "the NVIDIA driver of node {node} does not work",
      "gpuadm doctor {node} --only gpu.driver"},
     {{"unresolvable CDI devices", "CDI device injection failed", "unknown device", "cdi"},
      "cdi-device-missing",
      "the container runtime of node {node} does not find the GPU that was allocated",
      "gpuadm doctor {node} --only nct"},
     {{"ldconfig*no such file"},
      "nvidia-toolkit-failed",
      "the NVIDIA Container Toolkit of node {node} does not find ldconfig: {message}",
      "on {node}, set ldconfig = \"@/sbin/ldconfig\" in /etc/nvidia-container-runtime/config.toml"},
     {{"nvidia-container-cli", "nvidia-container-runtime", "could not select device driver"},
      "nvidia-toolkit-failed",
      "the NVIDIA Container Toolkit of node {node} cannot start container {container}",
      "gpuadm doctor {node} --only nct"},
     {{"exec format error"},
      "exec-format",
      "container {container} has a program for another architecture than node {node} ({arch}), or a script "
      "without an interpreter",
      "use an image for {arch}"},
     {{"chdir"},
      "working-directory",
      "container {container} cannot use its working directory{directory}: {cause}",
      "correct workingDir or securityContext.runAsUser of container {container}"},
     {{"executable file not found"},
      "command-not-found",
      "the command {command} does not exist in the image {image}",
      "correct the command of container {container}"},
     {{"OOM-killed", "memory limit too low", "memory.max"},
      "memory-limit-too-low",
      "container {container} cannot start with its memory limit",
      "increase resources.limits.memory of container {container}"},
     {{"not a directory", "Are you trying to mount a directory onto a file"},
      "mount-path",
      "a volume of container {container} is mounted on a path of another type: {message}",
      "mount a file of the volume with subPath, or correct mountPath, in volumeMounts of container "
      "{container}"},
     {{"permission denied"},
      "command-not-executable",
      "the command {command} in the image {image} is not executable",
      "make the file executable in the image, or run it with its interpreter"},
     {{"exec: \"", "stat "},
      "command-not-found",
      "the command {command} does not exist in the image {image}, or cannot be executed",
      "correct the command of container {container}"},
     {{"seccomp*no such file"},
      "security-profile",
      "node {node} does not have the seccomp profile of container {container}: {message}",
      "put the profile below /var/lib/kubelet/seccomp of {node}, or change securityContext.seccompProfile"},
     {{"no such file or directory"},
      "file-missing",
      "container {container} needs a file that does not exist: {message}",
      "correct the command and volumeMounts of container {container}"},
     {{"no space left on device"},
      "no-space",
      "node {node} has no disk space left for container {container}",
      "free disk space on {node}: gpuadm doctor {node} --only host.disk"},
     {{"apparmor", "seccomp", "selinux"},
      "security-profile",
      "the security profile of container {container} cannot be loaded: {message}",
      "gpuadm doctor {node} --only sec"},
     {{"context deadline exceeded", "error while dialing"},
      "runtime-not-responding",
      "the container runtime of {node} does not respond",
      "gpuadm doctor {node} --only rt"}}};

bool is_one_of(const std::string& reason, std::initializer_list<std::string_view> reasons) {
  return std::ranges::find(reasons, reason) != reasons.end();
}

/// Whether the runtime could not start the container, in contrast to a program that ended.
bool could_not_start(const ContainerState& state) {
  return is_one_of(state.reason,
                   {"StartError", "ContainerCannotRun", "RunContainerError", "CreateContainerError"}) ||
         (state.kind == "terminated" && state.exit_code == 128 && state.reason != "Error");
}

Words words_with(const Context& context, const Container& container, const std::string& message) {
  Words words = words_of(context, &container);
  words["message"] = brief(message, 160);
  words["cause"] = mentions(message, "permission denied") ? "permission denied" : brief(message, 160);
  const std::string directory = "/" + between(base::replace_all(message, "\\\"", "\"") + "\"", "\"/", "\"");
  words["directory"] = directory.size() > 1 ? " " + directory : "";
  std::string command = between(message, "exec: \"", "\"");
  words["command"] = command.empty() ? container.command : command;
  for (const char* before : {"configmap \"", "configmaps \"", "secret \"", "secrets \""})
    if (const std::string object = between(message, before, "\""); !object.empty())
      words["object"] = object.substr(object.find('/') + 1);
  const facts::Node* node = node_named(context.view, context.pod.node);
  const auto arch =
      node ? node->labels.find("kubernetes.io/arch") : std::map<std::string, std::string>::const_iterator();
  words["arch"] = node && arch != node->labels.end() ? arch->second : "its architecture";
  return words;
}

/// The newest warning about the pod, which has no container yet, if no other link knows it and nothing has
/// been reported since.
std::optional<PodLink> unknown_warning(const Context& context) {
  constexpr double repeated_for = 60;  // seconds in which the kubelet repeats what it does
  const PodEvent* event = nullptr;
  for (const PodEvent* one : context.events) {
    if (one->type == "Warning")
      event = one;
    else if (event && one->last.value_or(0) > event->last.value_or(0))
      event = nullptr;
  }
  if (event && is_one_of(event->reason, {"FailedScheduling", "FailedMount", "FailedAttachVolume",
                                         "FailedMapVolume", "FailedCreatePodSandBox", "NetworkNotReady"}))
    return std::nullopt;
  if (!event) return std::nullopt;
  const bool is_claim = event->reason == "FailedPrepareDynamicResources";
  const std::string what =
      is_claim ? fmt::format("node {} cannot prepare a ResourceClaim of the pod: {}", context.pod.node,
                             brief(event->message, 200))
               : fmt::format("the containers are not created: {}", brief(event->message, 200));
  const auto clock = context.view.cluster.clock;
  const bool is_new = clock && event->first && *clock - *event->first < repeated_for;
  std::vector<std::string> seen = {evidence(*event, context.view)};
  if (is_new) return pending("start", what, std::move(seen));
  return broken("start", is_claim ? "resource-claim-not-prepared" : "not-created", what, std::move(seen),
                is_claim
                    ? fmt::format("kubectl -n {} describe resourceclaims; the log of the DRA driver on {}",
                                  context.pod.ns, context.pod.node)
                    : fmt::format("kubectl -n {} describe pod {}", context.pod.ns, context.pod.name));
}

/// What the runtime reported: the state, the state before, or the latest event.
std::string message_of(const Context& context, const Container& container) {
  for (const ContainerState* state : {&container.state, &container.last})
    if (could_not_start(*state) && !state->message.empty()) return state->message;
  if (const auto* event = latest(context, {"Failed"})) return event->message;
  return container.state.message;
}

}  // namespace

PodLink configuration(const Context& context) {
  for (const Container& container : context.pod.containers) {
    if (container.state.reason != "CreateContainerConfigError") continue;
    const std::string& message = container.state.message;
    const Words words = words_with(context, container, message);
    std::vector<std::string> seen = {container.state.reason + ": " + brief(message)};
    if (const Pattern* pattern = match(configuration_patterns, message))
      return broken("configuration", *pattern, words, std::move(seen));
    return broken("configuration", "container-configuration",
                  fill("container {container} cannot be configured: {message}", words), std::move(seen),
                  fill("kubectl -n {namespace} describe pod {pod}", words));
  }
  return passed("configuration", "no ConfigMap or Secret is missing");
}

PodLink start(const Context& context) {
  for (const Container& container : context.pod.containers) {
    const ContainerState* ended = ending(container);
    const bool is_restarting = container.state.kind != "running";
    const bool failed =
        could_not_start(container.state) || (is_restarting && ended && could_not_start(*ended));
    if (!failed && container.state.reason != "PostStartHookError") continue;
    const std::string message = message_of(context, container);
    const Words words = words_with(context, container, message);
    std::vector<std::string> seen = {(failed && ended ? ended->reason : container.state.reason) + ": " +
                                     brief(message)};
    if (!failed)
      return broken("start", "post-start-hook",
                    fill("the postStart hook of container {container} failed", words), std::move(seen),
                    fill("correct lifecycle.postStart of container {container}", words));
    if (const Pattern* pattern = match(start_patterns, message))
      return broken("start", *pattern, words, std::move(seen));
    return broken("start", "start-failed",
                  fill("node {node} cannot start container {container}: {message}", words), std::move(seen),
                  fill("gpuadm logs kubelet {node}", words));
  }
  if (auto waits = other_wait("start", context.pod)) return std::move(*waits);
  if (has_started(context.pod)) return passed("start", "the containers were started");
  if (auto warning = unknown_warning(context)) return std::move(*warning);
  return pending("start", "the containers are being created");
}

}  // namespace kube::pod
