#pragma once

#include "kube/pod/patterns.hpp"

namespace kube::pod {

/// The lines of the run that failed: of the previous run, if the container was restarted since; without a
/// log, those of its termination message.
[[nodiscard]] std::vector<std::string> failed_log(const Container& container);
/// Its last line that is not empty, shortened.
[[nodiscard]] std::string last_line(const Container& container);

/// A reason that the log names, and the line.
struct LogReason {
  const Pattern* pattern = nullptr;
  std::string line;
};
/// Shared memory, GPU and disk problems in the log; the last line that matches counts.
[[nodiscard]] LogReason reason_in_log(const Container& container);

/// What to do if the memory of the pod's GPUs is too small: it may have a share of one.
[[nodiscard]] std::string less_gpu_memory(const Context& context);
/// "64 MiB, the default of container runtimes", or the size of the volume at /dev/shm.
[[nodiscard]] std::string shared_memory(const Pod& pod, const Container& container);

/// What the facts of the node's host add: driver, CUDA, Xids while the container ran. Replaces a reason by an
/// Xid of the hardware.
void add_host_facts(const Context& context, const Container& container, PodLink& link);

/// Whether a reason is about GPUs, so that the node's host has facts about it.
[[nodiscard]] bool is_about_gpus(std::string_view reason);

}  // namespace kube::pod
