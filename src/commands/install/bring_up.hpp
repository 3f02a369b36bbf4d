#pragma once

#include "gpuadm/session/run_playbook.hpp"

#include "commands/shared_options.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>

namespace commands {

/// How a run ends: with what stands now, or only with the report of its steps, because `gpuadm up` continues.
enum class Ending { closing, report };

struct InitOptions {
  Common common;
  Hosts hosts;
  bool list_phases = false;
  std::vector<std::string> phases, skip_phases;  ///< empty `phases`: all
  std::vector<std::string> ignore;               ///< ids of findings that do not block
  Consent consent = Consent::ask;
  Rebooting reboots = Rebooting::done;
  Waiting waiting = Waiting::until_it_works;
  bool change_network = false;  ///< confirms a change of the pod network of a running cluster
  std::filesystem::path bundle, bundle_signers;  ///< directory or archive; BundleOptions::signers
  std::string kubernetes_version;
  std::string region;   ///< empty: from the cluster file
  std::string profile;  ///< standard, hardened; empty: from the cluster file
  std::string driver;   ///< use, install, install=BRANCH; empty: from the cluster file
  Format format = Format::text;
  Ending ending = Ending::closing;
};

/// The options of init, apply and join, except for hosts and connection.
void add_bring_up(Line& line, InitOptions& options);

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
