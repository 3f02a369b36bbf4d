#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/facts/gpu_sample.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// `gpuadm gpu top`: all GPUs at one time.
namespace cluster {

/// A program on a GPU, with its pod.
struct TopProgram {
  std::uint64_t pid = 0;
  std::string name;  ///< empty: unknown
  std::optional<double> used_mib;
  std::string pod;             ///< namespace/name; "pod UID" if it is not named yet; empty: not in a pod
  std::string kind, workload;  ///< the labels gpuadm.io/kind and gpuadm.io/name
  std::string container;       ///< id; empty: none, or unknown
  /// "notebook/anna", "default/train-0", "container 0a1b2c3d4e5f", "python3 (pid 4711)".
  [[nodiscard]] std::string label() const;
};

/// A GPU; its reading has no programs.
struct TopGpu {
  std::string host;
  facts::GpuReading reading;
  bool programs_read = false;
  std::vector<TopProgram> programs;
  /// Pods to which the kubelet has allocated it, also if they do not use it: "notebook/anna",
  /// "default/train-0".
  std::vector<std::string> reserved;
};

/// A host without current readings, or with a GPU that has none.
struct TopHost {
  enum class State { silent, failed, no_smi, partial };
  std::string host;
  State state = State::silent;
  double seconds = 0;  ///< since its last readings
  std::string why;
};

struct TopFrame {
  std::string time;  ///< as base::iso8601
  int every = 0;     ///< seconds between two frames
  std::vector<TopGpu> gpus;
  std::vector<TopHost> hosts;
};

/// The state of one host as input of a frame.
struct TopSource {
  std::string host;
  const facts::GpuSample* sample = nullptr;  ///< may be null
  std::optional<double> silent_seconds;      ///< set: it does not answer, or has no readings
  std::string problem;
};
void add(TopFrame& frame, const TopSource& source,
         const std::map<std::string, facts::PodName, std::less<>>& pods);

enum class TopSort { node, utilization, memory, power, temperature };
/// By host and index, or in descending order; unknown values last.
void sort(TopFrame& frame, TopSort by);

/// A summary, a line for each GPU and MIG instance, a line for each GPU in quarantine and each host without
/// readings. `width`: of the terminal; narrow ones omit columns; 0: complete.
[[nodiscard]] std::string to_text(const TopFrame& frame, std::size_t width);

/// One line of JSON. Unknown values are null.
[[nodiscard]] std::string to_json_line(const TopFrame& frame);
/// Reads it. Fault::parse, with `source` in front.
[[nodiscard]] base::Result<TopFrame> frame_of_json(std::string_view line, const std::string& source);

}  // namespace cluster
