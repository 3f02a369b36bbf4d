#pragma once

#include "gpuadm/run/run.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include <string>

/// Continuation of a run on a machine that must be rebooted itself, at its next boot.
namespace session {

/// Sets the program for that in `who`: the same command with --yes, which does not reboot a second time; its
/// output is appended to resumed.log in the run directory. Sets none if the command cannot be repeated: its
/// program would not exist after a boot, or it is a command for hosts.
[[nodiscard]] Result<> resume_at_boot(const assets::Store& assets, const RunFolder& folder, const Io& io,
                                      run::Identity& who);

/// Reports it, and reboots the machine once its lock is released. On a terminal after half a minute: Ctrl-C
/// leaves the reboot to the operator.
void reboot_own_host(const std::string& host, const RunContext& session, report::Reporter& reporter,
                     const Io& io);

}  // namespace session
