#pragma once

#include "gpuadm/run/run.hpp"

#include <optional>
#include <string>

namespace run {

/// The reboot of a host: sends the command, then polls until another boot answers. Pure, except for the
/// clock, which its caller reads.
class Reboot {
 public:
  /// For a step; its id is in the programs.
  explicit Reboot(std::string step) : step_(std::move(step)) {}
  /// Whether the command was sent.
  [[nodiscard]] bool begun() const { return begun_; }
  /// When next() may return a command.
  [[nodiscard]] base::Instant wake() const { return wake_; }
  /// The next command for the host. Nothing: one is running, or it is too early.
  [[nodiscard]] std::optional<transport::Command> next(const std::string& prelude, const Identity& who,
                                                       base::Instant now);
  /// Evaluates an answer: whether the host is up. An error: it has failed.
  [[nodiscard]] Result<bool> heard(const transport::Completion& completion, base::Instant now);

 private:
  [[nodiscard]] Result<bool> answered(const std::string& host, const transport::Exit& exit,
                                      base::Instant now);

  std::string step_, boot_, last_;
  bool begun_ = false, asked_ = false;
  base::Instant wake_{}, until_{};
};

}  // namespace run
