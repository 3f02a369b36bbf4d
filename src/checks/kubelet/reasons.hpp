#pragma once

#include "gpuadm/facts/pods.hpp"

#include <string>
#include <string_view>
#include <vector>

/// What the lines of kubelets, container runtimes and containers mean.
namespace checks {

/// "kube-system/etcd-gpu1" and its like: pods that kubeadm writes manifests for.
[[nodiscard]] bool is_static_pod(std::string_view pod);
/// Pods of the namespaces kube-system, kube-flannel and kube-node-lease.
[[nodiscard]] bool is_system_pod(std::string_view pod);

/// A line without what the program writes before each: klog's header, the keys of a structured line, etcd's
/// JSON. At most 300 characters.
[[nodiscard]] std::string plain_line(std::string_view line);
/// The text between the quotes that follow `before`; empty where it does not occur.
[[nodiscard]] std::string quoted_after(std::string_view text, std::string_view before);
/// What stands behind the last `": `, at most 300 characters: of an error that wraps others, the innermost.
[[nodiscard]] std::string last_clause(std::string_view text);
/// The registry's or runtime's answer in an error about an image, without the image's own name.
[[nodiscard]] std::string answer_in(std::string_view text, std::string_view image);

/// The line of a container's log, or the runtime's message, that says why it ended; empty where there is
/// none.
[[nodiscard]] std::string why_it_ended(const facts::PodContainer& container);

/// Containers that ended and should run: static pods' in the order in which they depend on each other, then
/// those that the kubelet has an error for.
[[nodiscard]] std::vector<facts::PodContainer> broken_containers(const facts::PodStates& states);
/// Errors of pods whose containers have not been started since.
[[nodiscard]] std::vector<facts::PodError> current_errors(const facts::PodStates& states);

}  // namespace checks
