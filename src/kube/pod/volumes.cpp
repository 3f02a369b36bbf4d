#include "gpuadm/base/text.hpp"

#include "kube/pod/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kube::pod {

namespace {

constexpr std::array<Pattern, 16> mount_patterns = {
    {{{"hostPath type check failed"},
      "directory-missing",
      "{path} does not exist on node {node} with the required type (volume {volume})",
      "mount the share on {node}, or create the directory: gpuadm exec {node} -- mkdir -p {path} || "
      "mount the share on {node}, or create the directory"},
     {{"references non-existent config key", "non-existent secret key"},
      "key-missing",
      "volume {volume} needs a key that the ConfigMap or Secret does not have",
      "kubectl -n {namespace} get configmaps,secrets"},
     {{"configmap \""},
      "configmap-missing",
      "the ConfigMap {object} does not exist in namespace {namespace}",
      "kubectl -n {namespace} create configmap {object} --from-file=FILE"},
     {{"secret \""},
      "secret-missing",
      "the Secret {object} does not exist in namespace {namespace}",
      "kubectl -n {namespace} create secret generic {object} --from-file=FILE"},
     {{"format of disk*executable file not found", "mkfs*not found"},
      "mkfs-missing",
      "{node} has no program that creates the file system{file_system} of volume {volume}",
      "install it where the CSI driver runs on {node}: xfsprogs or e2fsprogs, or use another fsType in the "
      "StorageClass"},
     {{"failed to sync"},
      "configuration-not-read",
      "the kubelet of {node} has not read the ConfigMaps and Secrets of the pod in time (volume {volume})",
      "gpuadm doctor {node} --stage node"},
     {{"transport endpoint is not connected", "stale file handle", "stale nfs"},
      "mount-dead",
      "the mount of volume {volume} on node {node} does not work any more: its program or its server has "
      "ended",
      "restart the pod of the CSI driver on {node}: kubectl get pods -A --field-selector "
      "spec.nodeName={node}"},
     {{"need a /sbin/mount", "mount program didn't pass", "bad option; for several filesystems",
       "executable file not found"},
      "mount-program-missing",
      "node {node} has no program that mounts {kind} (volume {volume})",
      "gpuadm doctor {node} --only st.nfs-client"},
     {{"access denied by server", "Permission denied", "Operation not permitted"},
      "mount-denied",
      "the server refuses node {node} to mount {source} (volume {volume})",
      "allow the node in the server's exports or keys"},
     {{"external-attacher"},
      "csi-attach-timeout",
      "the CSI driver has not attached volume {volume} to node {node}",
      "check the pods of its controller (external-attacher): kubectl get volumeattachments; kubectl get pods "
      "-A"},
     {{"Connection refused", "Connection timed out", "No route to host", "Network is unreachable",
       "Host is down", "timed out"},
      "mount-timeout",
      "node {node} cannot mount {source} in time (volume {volume})",
      "check that the server is reachable from {node}: gpuadm exec {node} -- df {path} || check that the "
      "server "
      "is reachable from {node}"},
     {{"No such file or directory", "does not exist"},
      "mount-source-missing",
      "{source} does not exist on its server or on node {node} (volume {volume})",
      "create the directory on the share"},
     {{"not found in the list of registered CSI drivers"},
      "csi-driver-missing",
      "the CSI driver of volume {volume} does not run on node {node}",
      "kubectl get csinode {node}"},
     {{"Multi-Attach error"},
      "volume-in-use",
      "volume {volume} is attached to another node, where {user} uses it",
      "kubectl -n {namespace} delete pod {user_pod}, or use a volume with access mode ReadWriteMany || "
      "delete "
      "the pod that uses it, or use a volume with access mode ReadWriteMany"},
     {{"No space left on device"},
      "no-space",
      "there is no space left for volume {volume} on node {node}",
      "free disk space on {node}"},
     {{"wrong fs type", "can't read superblock"},
      "file-system-damaged",
      "the file system of volume {volume} cannot be mounted on node {node}",
      "gpuadm exec {node} -- dmesg"}}};

/// Seconds in which a kubelet has read the ConfigMaps and Secrets of a new pod, with repetitions.
constexpr double sync_timeout = 60;

/// The latest event that names the failing operation; without one the latest that only reports that it waits.
const PodEvent* mount_event(const Context& context) {
  const PodEvent *found = nullptr, *general = nullptr;
  for (const PodEvent* event : context.events) {
    if (event->reason != "FailedMount" && event->reason != "FailedAttachVolume" &&
        event->reason != "FailedMapVolume")
      continue;
    (event->message.starts_with("Unable to attach or mount volumes") ? general : found) = event;
  }
  return found ? found : general;
}

/// The volume that a message is about: for volume "data" : …, unmounted volumes=[data], ….
const PodVolume* volume_in(const Context& context, const std::string& message) {
  std::string name = between(message, "for volume \"", "\"");
  if (name.empty()) {
    name = between(message, "unmounted volumes=[", "]");
    name = name.substr(0, name.find_first_of(", "));
  }
  for (const PodVolume& volume : context.pod.volumes)
    if (volume.name == name) return &volume;
  // The volume is named after its PersistentVolume.
  if (context.view.claims)
    for (const PodClaim& claim : *context.view.claims)
      if (claim.volume == name)
        for (const PodVolume& volume : context.pod.volumes)
          if (volume.kind == "persistentVolumeClaim" && volume.source == claim.name) return &volume;
  return nullptr;
}

const PodVolumeObject* object_of(const Context& context, const PodVolume& volume) {
  if (volume.kind != "persistentVolumeClaim" || !context.view.volumes) return nullptr;
  const auto place =
      std::ranges::find(*context.view.volumes, context.pod.ns + "/" + volume.source, &PodVolumeObject::claim);
  return place == context.view.volumes->end() ? nullptr : &*place;
}

Words mount_words(const Context& context, const std::string& message) {
  Words words = words_of(context, nullptr);
  const PodVolume* volume = volume_in(context, message);
  std::string name = volume ? volume->name : between(message, "for volume \"", "\"");
  if (name.empty())
    words.fillers["volume"] = "of the pod";
  else
    words["volume"] = name;
  if (volume) words["kind"] = volume->kind;
  if (volume && !volume->source.empty()) words["source"] = volume->source;
  words.fillers["kind"] = words.fillers["source"] = "the volume";
  const std::string type = between(message, "type:(\"", "\")");
  words["file_system"] = type.empty() ? "" : " " + type;
  const std::string user = between(message + "\n", "already used by pod(s) ", "\n");
  words.fillers["user"] = "a pod";
  if (!user.empty()) words["user"] = "pod " + user;
  if (user.find_first_of(", ") == std::string::npos) words["user_pod"] = user;
  if (volume)
    if (const PodVolumeObject* object = object_of(context, *volume)) {
      words["source"] = !object->nfs.empty()    ? object->nfs
                        : !object->path.empty() ? object->path
                                                : object->name;
      if (!object->nfs.empty()) words["kind"] = "nfs";
    }
  const std::string path = between(message, "type check failed: ", " is not");
  words.fillers["path"] = "the volume";
  if (const auto source = words.known.find("source"); !path.empty())
    words["path"] = path;
  else if (source != words.known.end() && source->second.contains('/'))
    words["path"] = source->second.substr(source->second.find(':') + 1);
  for (const char* before : {"configmap \"", "secret \""})
    if (const std::string object = between(message, before, "\""); !object.empty())
      words["object"] = object.substr(object.find('/') + 1);
  return words;
}

constexpr std::array<Pattern, 8> sandbox_patterns = {
    {{{"no runtime for", "runtime handler", "unknown runtime", "is not configured"},
      "runtime-handler-missing",
      "the container runtime of {node} has no runtime for RuntimeClass {runtime_class}",
      "gpuadm runtime configure {node}"},
     {{"no IP addresses available", "no free IP", "failed to allocate for range", "no available IP"},
      "no-pod-address",
      "node {node} has no free pod address",
      "gpuadm doctor {node} --only net"},
     {{"failed to find plugin", "cni plugin not initialized", "cni config uninitialized",
       "network plugin is not ready"},
      "cni-missing",
      "the network plugin of node {node} is missing or not configured",
      "gpuadm doctor {node} --only net"},
     {{"/run/flannel/subnet.env", "calico/node", "cilium-agent", "failed to set up pod network",
       "plugin type=", "failed (add)"},
      "cni-failed",
      "the network plugin of node {node} cannot connect the pod",
      "gpuadm verify --only network"},
     {{"setup network for sandbox", "NetworkPlugin"},
      "cni-failed",
      "the network plugin of node {node} cannot connect the pod",
      "gpuadm verify --only network"},
     {{"failed to get sandbox image", "failed to pull image", "pulling image"},
      "sandbox-image",
      "the container runtime of {node} cannot pull its sandbox image",
      "gpuadm doctor {node} --only rt"},
     {{"no space left on device"},
      "no-space",
      "node {node} has no disk space left for the pod",
      "free disk space on {node}: gpuadm doctor {node} --only host.disk"},
     {{"error while dialing", "connection refused", "DeadlineExceeded", "deadline exceeded"},
      "runtime-not-responding",
      "the container runtime of {node} does not respond",
      "gpuadm doctor {node} --only rt"}}};

}  // namespace

PodLink volumes(const Context& context) {
  const PodEvent* event = mount_event(context);
  if (has_started(context.pod) || !event) return passed("volumes", "no volume failed");
  // A sandbox is created after the volumes were mounted.
  if (const auto* later = latest(context, {"FailedCreatePodSandBox", "Pulling", "Pulled"});
      later && later->last.value_or(0) > event->last.value_or(0))
    return passed("volumes", "the volumes were mounted");
  const Words words = mount_words(context, event->message);
  // The kubelet reads what it does not have yet, and repeats the mount.
  if (const auto clock = context.view.cluster.clock; mentions(event->message, "failed to sync") && clock &&
                                                     event->first && *clock - *event->first < sync_timeout)
    return pending(
        "volumes",
        fmt::format("the kubelet of {} is reading the ConfigMaps and Secrets of the pod", context.pod.node),
        {evidence(*event, context.view)});
  if (const Pattern* pattern = match(mount_patterns, event->message))
    return broken("volumes", *pattern, words, {evidence(*event, context.view)});
  return broken(
      "volumes", "mount-failed",
      fill("volume {volume} cannot be mounted on node {node}", words) + ": " + brief(event->message, 160),
      {evidence(*event, context.view)}, fill("kubectl -n {namespace} describe pod {pod}", words));
}

PodLink sandbox(const Context& context) {
  const PodEvent* event =
      latest(context, {"FailedCreatePodSandBox", "NetworkNotReady", "FailedCreatePodContainer"});
  if (has_started(context.pod) || !event) return passed("sandbox", "no sandbox failed");
  if (const auto* later = latest(context, {"Pulling", "Pulled", "Created", "Started"});
      later && later->last.value_or(0) > event->last.value_or(0))
    return passed("sandbox", "the sandbox was created");
  Words words = words_of(context, nullptr);
  words["runtime_class"] = context.pod.runtime_class.empty() ? "(none)" : context.pod.runtime_class;
  if (const Pattern* pattern = match(sandbox_patterns, event->message))
    return broken("sandbox", *pattern, words, {evidence(*event, context.view)});
  return broken("sandbox", "sandbox-failed", fill("node {node} cannot create the pod's sandbox", words),
                {evidence(*event, context.view)}, fill("gpuadm logs kubelet {node}", words));
}

}  // namespace kube::pod
