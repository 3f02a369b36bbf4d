#pragma once

#include "gpuadm/run/run.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include <string>

/// A run on a machine that must itself be rebooted goes on by itself at the next boot.
namespace session {

/// Gives `who` the program that does so: the same command, agreed to, which reboots nothing a second time;
/// what it says goes to resumed.log of the run's folder. It gives none where the command could not be
/// repeated: its program would not be there after a boot, or has a command for hosts behind it.
[[nodiscard]] Result<> resume_at_boot(const assets::Store& assets, const RunFolder& folder, const Io& io,
                                      run::Identity& who);

/// Says so, and reboots the machine, once its lock is free. At a terminal half a minute later: Ctrl-C leaves
/// it to the operator.
void reboot_own_host(const std::string& host, const Session& session, report::Reporter& reporter,
                     const Io& io);

}  // namespace session
