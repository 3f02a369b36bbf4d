#pragma once

#include "gpuadm/app/app.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include <functional>
#include <optional>
#include <string>

namespace app {

/// Whether a verb works on a cluster that another tool has made.
enum class Existing { refused, accepted };

/// How hosts become a cluster, or part of one.
struct BringUp {
  std::string playbook;   ///< init, join
  spec::Cluster cluster;  ///< with what the command line says laid over it
  /// Called once the hosts were asked: settles which of them take part, and may refuse. Empty: all do, and
  /// one that cannot be reached ends the run.
  std::function<Result<>(spec::Cluster& cluster, session::Survey& survey, transport::Fleet& fleet)> resolve;
  Outcome needed = Outcome::done;  ///< what a preview comes to where something is to be done
  Existing existing = Existing::refused;
  std::optional<Hosts> reached_by;  ///< how the command line names the cluster; nothing: as the hosts
};

/// Settles which driver each host with GPUs gets, where one is to be installed: by its GPUs. Fault::usage
/// where no one driver serves them.
[[nodiscard]] Result<> resolve_drivers(spec::Cluster& cluster, const facts::Census& census,
                                       const assets::Store& assets);

/// What --driver says: "use", "install" or "install=580"; empty: nothing. Fault::usage for anything else.
[[nodiscard]] Result<> ask_for_driver(const std::string& asked, spec::Gpu& gpu);

/// The cluster with what the command line says about versions and drivers laid over it.
[[nodiscard]] Result<> apply_options(const InitOptions& options, spec::Cluster& cluster);

/// Goes on without a host.
void exclude(spec::Cluster& cluster, session::Survey& survey, transport::Fleet& fleet,
             const std::string& host);

/// The hosts are asked and judged, the plan is shown, and its phases make them a cluster: what init, apply
/// and join do.
[[nodiscard]] Result<Outcome> bring_up(const InitOptions& options, BringUp setup, Io& io);

/// The same by playbooks/init.yaml with the hosts and the file of the command line: what init, apply and diff
/// do. `needed`: what a preview comes to where something is to be done.
[[nodiscard]] Result<Outcome> bring_up(const InitOptions& options, Existing existing, Outcome needed, Io& io);

}  // namespace app
