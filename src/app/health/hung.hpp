#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace app {

/// A program that hangs in the driver and cannot be killed.
struct HungProgram {
  long pid = 0;
  long long seconds = 0;  ///< since it started
};

/// An nvidia-smi that a former health run left behind, or any that was started more than a minute ago and
/// waits uninterruptibly, without using the processor for a second: another one would hang, too. `proc`:
/// /proc.
[[nodiscard]] std::optional<HungProgram> hung_nvidia_smi(const std::filesystem::path& proc);

}  // namespace app
