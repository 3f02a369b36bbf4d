#pragma once

#include "commands/workloads/service/named.hpp"
#include "commands/workloads/wait_ready.hpp"

#include <chrono>
#include <string>
#include <vector>

/// The verbs that notebooks and served models share.
namespace commands {

/// Its Deployment among its objects. Fault::usage if only its volume is left.
[[nodiscard]] Result<const base::Tree*> deployment_of(const std::vector<base::Tree>& objects,
                                                      const NamedService& service);
[[nodiscard]] bool is_stopped(const base::Tree& deployment);
/// The names of its pods.
[[nodiscard]] std::vector<std::string> pod_names(const std::vector<base::Tree>& objects);

/// Ends its pods, so that their GPUs are free. `kept`: what is kept, for the result, "its files are kept".
[[nodiscard]] Result<Outcome> stop_service(const NamedService& service,
                                           std::string (*kept)(const ServiceVolumes&), Io& io);
/// Starts it, if it is stopped, and waits until it is ready. Stops it again if it does not start. Returns its
/// node.
[[nodiscard]] Result<std::string> start_service(const NamedService& service, std::chrono::seconds timeout,
                                                ReachedCluster& cluster, Io& io);
/// Waits until it is ready, if it is starting. Fault::blocked if it is stopped.
[[nodiscard]] Result<std::string> await_service(const NamedService& service, std::chrono::seconds timeout,
                                                ReachedCluster& cluster, Io& io);

/// The volume of a notebook or served model that is deleted.
enum class VolumeFate { ask, keep, purge };
struct ServiceDeleteOptions {
  NamedService service;
  VolumeFate volume = VolumeFate::ask;
};
void add_service_delete(Line& line, ServiceDeleteOptions& options);
/// Deletes it. Fault::usage, with nothing deleted, if the volume needs a decision and there is no terminal.
[[nodiscard]] Result<Outcome> delete_service(const ServiceDeleteOptions& options, Io& io);

}  // namespace commands
