#pragma once

#include "checks/queries.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Queries on GPUs that several checks share.
namespace checks {

/// A host whose nvidia-smi lists GPUs; skipped with the reason otherwise.
[[nodiscard]] bool lists_gpus(const Subject& subject, Verdicts& out);
/// A host with GPUs whose kernel log could be read; skipped with the reason otherwise.
[[nodiscard]] bool has_log(const Subject& subject, Verdicts& out);

/// Whether the driver's programs and libraries are in a container: the GPU Operator's, at /run/nvidia/driver.
[[nodiscard]] bool runs_in_container(const facts::Facts& facts);
/// Whether the container runtime uses a toolkit in a container's folder: /usr/local/nvidia/toolkit.
[[nodiscard]] bool has_toolkit_of_container(const facts::Facts& facts);
/// Whether the host is the Windows Subsystem for Linux: GPUs are at /dev/dxg, and Windows has the driver.
[[nodiscard]] bool is_wsl(const facts::Facts& facts);

/// The text of a reading, or nothing if the GPU does not report it.
[[nodiscard]] std::optional<std::string> word(const facts::Gpu& gpu, const std::string& path);
/// The number at the beginning of a reading: "35 C" is 35.
[[nodiscard]] std::optional<double> number(const facts::Gpu& gpu, const std::string& path);
/// Unknown for each GPU with one of these readings that is not a number: "Unknown Error".
void report_unread(const Subject& subject, Verdicts& out, std::initializer_list<const char*> paths);
/// "NVIDIA H200 (0000:00:06.0)"
[[nodiscard]] std::string model_name(const Subject& subject, const facts::PciGpu& gpu);
/// "GPU 3 (NVIDIA H200)"
[[nodiscard]] std::string name_of(const facts::Gpu& gpu);

/// A reading and its name.
struct Reading {
  const char* path;
  const char* name;
};

/// How a check judges readings: one finding for each GPU with a bad reading.
struct Rule {
  std::span<const Reading> readings;
  std::optional<bool> (*bad)(std::string_view value) = nullptr;  ///< nothing: unknown value
  std::string message;                                           ///< "{}" is the GPU's name
  std::string remedy;
};
/// Skipped if no GPU has any of the readings; unknown if one has an unknown value.
void judge(const Subject& subject, Verdicts& out, Severity severity, const Rule& rule);

/// What gives pods also this GPU in quarantine: single GPUs can be kept only from gpuadm's device plugin and,
/// by a DeviceTaintRule, from the DRA driver. Empty: nothing.
[[nodiscard]] std::string ignores_quarantine(const Subject& subject, const facts::QuarantinedGpu& entry);

/// Lines of the kernel log with one of these words, the newest last.
[[nodiscard]] std::vector<std::string> log_lines(const facts::Facts& facts,
                                                 std::span<const std::string_view> words);
/// "12 lines, the last: …"
[[nodiscard]] std::string last_of(const std::vector<std::string>& lines);

/// The time span of the kernel log, for "no such line since boot".
[[nodiscard]] std::string since(const Subject& s);

}  // namespace checks
