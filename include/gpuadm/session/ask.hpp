#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/error.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <chrono>
#include <string>

namespace session {

using base::Result;

/// A script that reads a host: an asset, and its variables.
struct Query {
  std::string label;  ///< what it does, for errors: "read the machine id"
  std::string asset;  ///< "playbooks/read/machine-id.sh"
  base::Variables variables = {};
  std::chrono::seconds timeout{60};
};

/// The text of a script, after the libraries whose functions it calls: playbooks/frame.sh, kubeconfig.sh,
/// gpu-users.sh, static-pods.sh, processes.sh, storage.sh and prelude.sh. Fault::bug if there is no such
/// asset.
[[nodiscard]] Result<std::string> script_of(const std::string& asset, const assets::Store& assets);

/// The program for it. Fault::bug if there is no such asset.
[[nodiscard]] Result<transport::Command> command_of(const Query& query, const assets::Store& assets);

/// Runs it on one host. A status other than 0 is an answer. Fault::interrupted after Ctrl-C.
[[nodiscard]] Result<transport::Exit> ask(const std::string& host, const Query& query,
                                          transport::Fleet& fleet, const assets::Store& assets);

/// The same for a program from another source. After Ctrl-C, the answer of a cleanup command is still
/// returned.
[[nodiscard]] Result<transport::Exit> ask(const std::string& host, transport::Command command,
                                          transport::Fleet& fleet);

}  // namespace session
