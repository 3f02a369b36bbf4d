#pragma once

#include "commands/shared_options.hpp"
#include "commands/workloads/reach.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

/// What commands for an existing notebook or served model share.
namespace commands {

/// NAME, the hosts and the connection.
void add_named(Line& line, NamedService& service);
[[nodiscard]] std::string selector_of(const NamedService& service);
/// "NAMESPACE/NAME"
[[nodiscard]] std::string shown(const NamedService& service);
/// "notebook NAMESPACE/NAME"
[[nodiscard]] std::string with_noun(const NamedService& service);
/// "gpuadm notebook VERB NAME …" with the arguments that select the same notebook.
[[nodiscard]] std::string command_for(const char* verb, const NamedService& service);
[[nodiscard]] Result<std::unique_ptr<ReachedCluster>> reach_service(const NamedService& service,
                                                                    session::Access access, Io& io);

/// The volume that was created with it, and the one that it only mounts.
struct ServiceVolumes {
  std::string own, size, foreign;
};
[[nodiscard]] ServiceVolumes service_volumes(const std::vector<base::Tree>& objects);

}  // namespace commands
