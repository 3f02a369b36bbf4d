#pragma once

#include "checks/see.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Questions about GPUs that several checks ask.
namespace checks {

/// A host whose nvidia-smi lists GPUs; says why not otherwise.
[[nodiscard]] bool lists_gpus(const Subject& subject, Verdicts& out);
/// A host with GPUs whose kernel log could be read; says why not otherwise.
[[nodiscard]] bool has_log(const Subject& subject, Verdicts& out);

/// The word of a reading, or nothing where the GPU does not report it.
[[nodiscard]] std::optional<std::string> word(const facts::Gpu& gpu, const std::string& path);
/// The number that a reading begins with: "35 C" is 35.
[[nodiscard]] std::optional<double> number(const facts::Gpu& gpu, const std::string& path);
/// Unknown for each GPU that answers one of these readings with something else than a number: "Unknown
/// Error".
void report_unread(const Subject& subject, Verdicts& out, std::initializer_list<const char*> paths);
/// "GPU 3 (NVIDIA H200)"
[[nodiscard]] std::string name_of(const facts::Gpu& gpu);

/// A reading and what to call it.
struct Reading {
  const char* path;
  const char* name;
};

/// How a check judges readings: one finding for each GPU where any of them is bad.
struct Rule {
  std::span<const Reading> readings;
  std::optional<bool> (*bad)(std::string_view value) = nullptr;  ///< nothing: such a value is not known
  std::string says;                                              ///< "{}" is the GPU's name
  std::string remedy;
};
/// Skips where no GPU has any of the readings; unknown where one has a value that is not known.
void judge(const Subject& subject, Verdicts& out, Severity severity, const Rule& rule);

/// Lines of the kernel's log with one of these words, the newest last.
[[nodiscard]] std::vector<std::string> log_lines(const facts::Facts& facts,
                                                 std::span<const std::string_view> words);
/// "12 lines, the last: …"
[[nodiscard]] std::string last_of(const std::vector<std::string>& lines);

}  // namespace checks
