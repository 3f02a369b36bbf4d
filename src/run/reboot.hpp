#pragma once

#include "gpuadm/run/run.hpp"

#include <optional>
#include <string>

namespace run {

/// A host on its way through a reboot: it is told to, then asked until another boot answers. Pure but for the
/// clock, which its caller reads.
class Reboot {
 public:
  /// For a step; its id is in the programs.
  explicit Reboot(std::string step) : step_(std::move(step)) {}
  /// Whether the host was told.
  [[nodiscard]] bool begun() const { return begun_; }
  /// When next() may have a command.
  [[nodiscard]] base::Instant wake() const { return wake_; }
  /// The next command for the host. Nothing: one runs, or it is not its time.
  [[nodiscard]] std::optional<transport::Command> next(const std::string& prelude, const Identity& who,
                                                       base::Instant now);
  /// What an answer comes to: whether the host is back. An error: it is given up.
  [[nodiscard]] Result<bool> heard(const transport::Completion& completion, base::Instant now);

 private:
  [[nodiscard]] Result<bool> answered(const std::string& host, const transport::Exit& exit,
                                      base::Instant now);

  std::string step_, boot_, last_;
  bool begun_ = false, asked_ = false;
  base::Instant wake_{}, until_{};
};

}  // namespace run
