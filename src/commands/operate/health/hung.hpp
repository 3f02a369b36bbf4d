#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace commands {

/// A program that hangs in the driver and cannot be killed.
struct HungProgram {
  long pid = 0;
  long long seconds = 0;  ///< since it started
};

/// The host's nvidia-smi, in the folders where scripts look for it. Empty: there is none.
[[nodiscard]] std::filesystem::path host_nvidia_smi();

/// An nvidia-smi that a former health run left behind, or any that was started more than a minute ago and
/// waits uninterruptibly, without using the processor for a second: another one would hang, too. Only root's
/// processes that run `program`, in no pod, in no container and in no slice of a user, count, as in
/// playbooks/processes.sh: any user can start a process with this name and let it wait. `proc`: /proc.
[[nodiscard]] std::optional<HungProgram> hung_nvidia_smi(const std::filesystem::path& proc,
                                                         const std::filesystem::path& program);

}  // namespace commands
