#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace facts {

/// The newest attempt of a container of a pod, as reported by the container runtime.
struct PodContainer {
  std::string ns, pod, name;
  int attempt = 0;  ///< 0: the container was started once
  /// "running", "exited", "created", "unknown"; "restarting": it is running, and failed repeatedly until less
  /// than a minute ago; the members below are then of the previous attempt
  std::string state;
  std::optional<int> exit_code;
  std::string reason;            ///< of the runtime: "Error", "OOMKilled", "StartError"
  std::string message;           ///< of the runtime, if it could not start the container
  std::vector<std::string> log;  ///< the last lines, and earlier errors, of an ended container
  /// "kube-system/etcd-gpu1", in the kubelet's notation.
  [[nodiscard]] std::string full() const { return ns + "/" + pod; }
};

/// The kubelet's last error about a pod that it cannot start: "Error syncing pod".
struct PodError {
  std::string pod;        ///< "kube-system/coredns-5d78c9869d-abcde"
  std::string container;  ///< empty: the pod as a whole
  std::string operation;  ///< "StartContainer", "CreatePodSandbox"
  std::string reason;     ///< "CrashLoopBackOff", "CreatePodSandboxError"
  std::string message;
};

/// State of a host's pods and kubelet: docs/reference/probe.md, "reasons". Logs are read only if something is
/// not running.
struct PodStates {
  std::string source;  ///< "crictl", "ctr", "docker", "files"
  std::vector<PodContainer> containers;
  std::vector<PodError> errors;  ///< of the last minutes, the newest for each container
  bool kubelet_unread = false;   ///< something is not running, and the kubelet's journal could not be read
  std::string kubelet_fatal;     ///< the last line of a kubelet that is not running
  std::vector<std::string> kubelet_log, runtime_log;  ///< errors of the last minutes, the newest last
  bool inotify_refused = false;                       ///< no inotify instance could be created
  std::optional<int> inotify_instances;               ///< in use by root, as far as /proc shows
};

/// The value of `key="…"` in a line of klog, with one level of backslash quoting removed; empty if it does
/// not occur.
[[nodiscard]] std::string quoted_value(std::string_view line, std::string_view key);

}  // namespace facts
