#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/report/style.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace commands {

/// How long each stage took when it last changed something: a file below the state directory.
class StageTimes {
 public:
  [[nodiscard]] static StageTimes read(std::filesystem::path file);
  [[nodiscard]] std::optional<double> of(const std::string& stage) const;
  /// Writes the file; a failure is ignored.
  void save(const std::string& stage, double seconds);

 private:
  std::filesystem::path file_;
  std::map<std::string, double> seconds_;
};

/// One line a stage, with the elapsed time and that of the last run. On a terminal the line of the current
/// stage is rewritten.
class StageLines {
 public:
  StageLines(report::Write write, report::Style style, std::size_t stages)
      : write_(std::move(write)), style_(std::move(style)), stages_(stages) {}
  void begin(const std::string& stage, std::optional<double> expected, double now);
  /// What the stage does now.
  void progress(const std::string& what, double now);
  /// The line ends: "[2/6] init      31 steps changed (1m 16s; last time 1m 10s)".
  void end(const std::string& detail, double now);
  /// Removes an unfinished line from a terminal before other output.
  void erase();

 private:
  [[nodiscard]] std::string head() const;
  [[nodiscard]] std::string time(double now) const;
  report::Write write_;
  report::Style style_;
  std::size_t stages_, number_ = 0;
  std::string stage_;
  std::optional<double> expected_;
  double began_ = 0, written_ = 0;
  bool drawn_ = false;
};

}  // namespace commands
