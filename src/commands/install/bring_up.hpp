#pragma once

#include "gpuadm/session/run_playbook.hpp"

#include "commands/app.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>

namespace commands {

/// Whether a command works on a cluster that another tool created.
enum class Existing { refused, accepted };

/// How hosts become a cluster, or part of one.
struct BringUp {
  std::string playbook;   ///< init, join
  spec::Cluster cluster;  ///< with the command line's settings applied
  /// Called after the hosts were read: the cluster with only the participating hosts, of which survey and
  /// fleet keep only these; may refuse. Empty: all participate, and an unreachable one ends the run.
  std::function<Result<spec::Cluster>(const spec::Cluster& all, session::Survey& survey,
                                      transport::Fleet& fleet)>
      resolve;
  Outcome needed = Outcome::done;  ///< the outcome of a preview with changes
  Existing existing = Existing::refused;
  std::optional<Hosts> reached_by;  ///< selection of the cluster on the command line; nothing: the hosts
};

/// Parses --driver: "use", "install" or "install=580"; empty: unset. Fault::usage for anything else.
[[nodiscard]] Result<> ask_for_driver(const std::string& asked, spec::Gpu& gpu);

/// The cluster with the command line's versions and driver applied.
[[nodiscard]] Result<> apply_options(const InitOptions& options, spec::Cluster& cluster);

/// The cluster without these hosts, which survey and fleet lose too.
[[nodiscard]] spec::Cluster without(spec::Cluster cluster, const std::set<std::string>& hosts,
                                    session::Survey& survey, transport::Fleet& fleet);

/// Surveys and checks the hosts, shows the plan, and executes its phases: init, apply and join.
[[nodiscard]] Result<Outcome> bring_up(const InitOptions& options, BringUp setup, Io& io);

/// The same with playbooks/init.yaml and the hosts and the file of the command line: init, apply and diff.
/// `needed`: the outcome of a preview with changes.
[[nodiscard]] Result<Outcome> bring_up(const InitOptions& options, Existing existing, Outcome needed, Io& io);

}  // namespace commands
