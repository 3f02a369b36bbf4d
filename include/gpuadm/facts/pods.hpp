#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace facts {

/// The newest attempt of a container of a pod, as the container runtime has it.
struct PodContainer {
  std::string space, pod, name;
  int attempt = 0;  ///< 0: the container was started once
  /// "running", "exited", "created", "unknown"; "restarting": it runs, and failed again and again until less
  /// than a minute ago; what follows is then of the attempt before
  std::string state;
  std::optional<int> exit_code;
  std::string reason;            ///< of the runtime: "Error", "OOMKilled", "StartError"
  std::string message;           ///< of the runtime, where it could not start the container
  std::vector<std::string> log;  ///< the last lines, and errors before them, of one that ended
  /// "kube-system/etcd-gpu1", as the kubelet writes it.
  [[nodiscard]] std::string full() const { return space + "/" + pod; }
};

/// What the kubelet last said of a pod that it cannot start: "Error syncing pod".
struct PodError {
  std::string pod;        ///< "kube-system/coredns-5d78c9869d-abcde"
  std::string container;  ///< empty: the pod as a whole
  std::string operation;  ///< "StartContainer", "CreatePodSandbox"
  std::string reason;     ///< "ImagePullBackOff", "CreatePodSandboxError"
  std::string message;
};

/// What a host says of its pods and of the kubelet: docs/reference/probe.md, "reasons". The logs are read
/// only where something does not run.
struct PodStates {
  std::string source;  ///< "crictl", "ctr", "docker", "files"
  std::vector<PodContainer> containers;
  std::vector<PodError> errors;  ///< of the last minutes, the newest for each container
  bool kubelet_unread = false;   ///< something does not run, and the kubelet's journal could not be read
  std::string kubelet_fatal;     ///< the line with which a kubelet that does not run ended
  std::vector<std::string> kubelet_log, runtime_log;  ///< errors of the last minutes, the newest last
  bool inotify_refused = false;                       ///< no inotify instance could be opened
  std::optional<int> inotify_instances;               ///< in use by root, as far as /proc shows
};

/// The value of `key="…"` in a line of klog, without the backslashes of one level of quoting; empty where it
/// does not occur.
[[nodiscard]] std::string quoted_value(std::string_view line, std::string_view key);

}  // namespace facts
