#pragma once

#include "gpuadm/facts/facts.hpp"
#include "gpuadm/facts/pods.hpp"

#include "checks/last_lines.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Meaning of log lines of kubelets, container runtimes and containers.
namespace checks {

/// "kube-system/etcd-gpu1" and similar: pods whose manifests kubeadm writes.
[[nodiscard]] bool is_static_pod(std::string_view pod);
/// Pods of the namespaces kube-system, kube-flannel and kube-node-lease.
[[nodiscard]] bool is_system_pod(std::string_view pod);

/// A line without its prefix: klog's header, the keys of a structured line, etcd's JSON. At most 300
/// characters.
[[nodiscard]] std::string plain_line(std::string_view line);
/// The quoted text that follows `before`; empty if it does not occur.
[[nodiscard]] std::string quoted_after(std::string_view text, std::string_view before);
/// The text after the last `": `, at most 300 characters: the innermost error of a wrapped one.
[[nodiscard]] std::string last_clause(std::string_view text);
/// The registry's or runtime's answer in an error about an image, without the image's own name.
[[nodiscard]] std::string answer_in(std::string_view text, std::string_view image);

/// The runtime's message, or the line of a container's log, with the reason why it ended; nothing: there is
/// neither.
[[nodiscard]] std::optional<LastLine> last_words_of(const facts::PodContainer& container);

/// "etcd exits with status 1: …"
[[nodiscard]] std::string how_it_ended(const facts::PodContainer& container);
[[nodiscard]] std::string remedy_of(const facts::PodContainer& container);
/// Whether the kernel has killed the container's program because the machine ran out of memory. The kernel
/// keeps 15 characters of a program's name.
[[nodiscard]] bool ran_out_of_memory(const facts::Facts& facts, const facts::PodContainer& container);

/// Containers that ended and should be running: static pods' in the order of their dependencies, then those
/// with an error of the kubelet.
[[nodiscard]] std::vector<facts::PodContainer> broken_containers(const facts::PodStates& states);
/// Errors of pods whose containers were not started later.
[[nodiscard]] std::vector<facts::PodError> current_errors(const facts::PodStates& states);

}  // namespace checks
