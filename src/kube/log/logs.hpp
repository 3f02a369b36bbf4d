#pragma once

#include "gpuadm/kube/last_error.hpp"

#include "kube/pod/patterns.hpp"

namespace kube::pod {

/// The lines of the run that failed: of the previous run, if the container was restarted since; without a
/// log, those of its termination message.
[[nodiscard]] std::vector<std::string> failed_log(const Container& container);

enum class LogPart { error, lines_before };
/// The known reasons in any part of a log, the first that matches counts; some only apply to a container that
/// requests a GPU.
[[nodiscard]] std::vector<const Pattern*> patterns_of(bool has_gpu);
/// Failures of programs, of their packages and of what they download: of the error itself only.
[[nodiscard]] std::span<const Pattern> error_patterns();
/// Failures that NCCL, or PyTorch's part around it, reports.
[[nodiscard]] std::span<const Pattern> nccl_patterns();
/// Which memory could not be allocated, according to a message; nullptr: it is about something else.
[[nodiscard]] const Pattern* memory_pattern(std::string_view message, bool has_gpu);

/// A reason that the log names, and the line.
struct LogReason {
  const Pattern* pattern = nullptr;
  std::string line;
  bool is_of_error = false;  ///< the error itself names it, and not a line before
};
/// A known reason in the error that ended the program or in its cause; then, if the error is only the
/// consequence of another one, in the lines before it.
[[nodiscard]] LogReason reason_in_log(const Context& context, const Container& container,
                                      std::span<const std::string> log, const LastError& error);

/// Whether a container requests a GPU, by a resource or by a claim of its pod.
[[nodiscard]] bool requests_gpu(const Pod& pod, const Container& container);

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
