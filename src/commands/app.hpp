#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/report/finding.hpp"
#include "gpuadm/session/options.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// One function per command.
namespace commands {

using base::Result;

using session::Common;
using session::Connection;
using session::Consent;
using session::Format;
using session::Hosts;
using session::Io;
using session::Outcome;
using session::Rebooting;
using session::Waiting;

// --- gpuadm init, gpuadm playbook run ----------------------------------------------------------------

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
};
[[nodiscard]] Result<Outcome> init(const InitOptions& options, Io& io);

struct PlaybookOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path playbook;  ///< for run_user_playbook
  Consent consent = Consent::ask;
  Rebooting reboots = Rebooting::done;
  Format format = Format::text;
};
[[nodiscard]] Result<Outcome> run_user_playbook(const PlaybookOptions& options, Io& io);

// --- gpuadm doctor, facts ----------------------------------------------------------------------------

struct DoctorOptions {
  Common common;
  Hosts hosts;
  bool list = false;
  std::vector<std::string> only, skip;  ///< ids; a prefix ending in a dot means all below it
  std::string stage = "preflight";  ///< preflight, node, cluster, security; empty: what applies to each host
  /// The lowest severity that makes the outcome `blocked`; none: no finding does.
  std::optional<report::Severity> fail_on = report::Severity::blocker;
  bool fail_on_unknown = false;    ///< unknown results also block
  std::filesystem::path baseline;  ///< findings.json of an earlier run, whose open findings are not shown
  std::filesystem::path record;    ///< directory for the recording; see docs/reference/recordings.md
  std::filesystem::path from;      ///< a recording to check instead of hosts
  /// One of gpuadm's built-in recordings of faults to check instead of hosts; empty: list them.
  std::optional<std::string> demo;
  std::filesystem::path bundle;  ///< source of the installation; empty: repositories
  bool fix = false;              ///< apply safe fixes; `consent` applies to them
  Consent consent = Consent::ask;
  int watch = 0;  ///< seconds between two surveys; 0: one survey
  Format format = Format::text;
};
[[nodiscard]] Result<Outcome> doctor(const DoctorOptions& options, Io& io);

struct SupportOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path
      output;       ///< new .tar.gz file; empty: named by cluster and time, in the current directory
  int lines = 500;  ///< of each log
};
/// Creates the support archive: docs/reference/support.md.
[[nodiscard]] Result<Outcome> support(const SupportOptions& options, Io& io);

struct FactsOptions {
  Common common;
  Hosts hosts;
  Format format = Format::text;
};
[[nodiscard]] Result<Outcome> facts(const FactsOptions& options, Io& io);

// --- gpuadm verify -----------------------------------------------------------------------------------

struct VerifyOptions {
  Common common;
  Hosts hosts;
  std::vector<std::string> only;  ///< names of links; empty: all
  Format format = Format::text;
};
/// Tests the pod network and DNS on every node, and the chain from the driver to a pod that computes on every
/// node with GPUs (docs/reference/verify.md). Removes everything that it creates on hosts and in the cluster.
/// Outcome::failed if a link fails.
[[nodiscard]] Result<Outcome> verify(const VerifyOptions& options, Io& io);

// --- gpuadm undo -------------------------------------------------------------------------------------

struct UndoOptions {
  Common common;
  Hosts hosts;
  std::string run;     ///< empty: the last one that changed something
  bool all = false;    ///< every run in the host's journal
  bool force = false;  ///< also restore what others have changed since
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Undoes runs, as recorded in each host's journal. Outcome::failed if something could not be undone.
[[nodiscard]] Result<Outcome> undo(const UndoOptions& options, Io& io);

// --- gpuadm runtime ----------------------------------------------------------------------------------

struct RuntimePreviewOptions {
  Common common;
  std::string engine = "containerd";  ///< containerd, docker, crio
  std::filesystem::path config;       ///< the runtime's configuration; empty: none
  std::filesystem::path imports;      ///< stands for the directory that the configuration imports
  std::string engine_version;         ///< empty: the oldest known version
  std::filesystem::path cluster;      ///< a cluster file
  std::string kubernetes_version;
  Format format = Format::text;
};
/// Configures only the container runtime of hosts: playbooks/runtime.yaml.
[[nodiscard]] Result<Outcome> runtime_configure(const PlaybookOptions& options, Io& io);
/// Prints the files that would be written on a host with that configuration and the NVIDIA toolkit, and what
/// the runtime would read then. Connects to no host.
[[nodiscard]] Result<Outcome> runtime_preview(const RuntimePreviewOptions& options, Io& io);

// --- gpuadm reset ------------------------------------------------------------------------------------

struct ResetOptions {
  Common common;
  Hosts hosts;
  bool force = false;  ///< also a cluster that gpuadm did not create, and what others have changed since
  bool keep_images = false, keep_driver = false;
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Removes nodes from their cluster and undoes every run on them. Outcome::failed if something could not be
/// undone.
[[nodiscard]] Result<Outcome> reset(const ResetOptions& options, Io& io);

// --- gpuadm config, assets, explain, version: without connections -------------------------------------

/// Prints keys of the cluster file with type, default and meaning: those given and all below them; none: all.
[[nodiscard]] Result<Outcome> config_explain(const std::vector<std::string>& paths, Format format, Io& io);
/// Prints the cluster file as JSON Schema, for editors.
[[nodiscard]] Result<Outcome> config_schema(Io& io);
struct ConfigInitOptions {
  Common common;
  Hosts hosts;                   ///< only targets: there is no file yet
  std::filesystem::path from;    ///< a recording to read instead of hosts
  std::filesystem::path output;  ///< a new file; empty: standard output
  std::string name;              ///< of the cluster; empty: the default
};
/// Generates a commented cluster file from what is found on the hosts.
[[nodiscard]] Result<Outcome> config_init(const ConfigInitOptions& options, Io& io);
/// Validates the file, and lints gates and flags against its version.
[[nodiscard]] Result<Outcome> config_lint(const Common& common, const std::filesystem::path& file,
                                          Format format, Io& io);
enum class Writes { yes, no };
/// Converts the file to the current format, with the original in FILE.bak, and shows the difference; or only
/// shows it. A file in the current format is not changed.
[[nodiscard]] Result<Outcome> config_migrate(const std::filesystem::path& file, Writes writes, Io& io);
/// Prints the file with every default, as a cluster file.
[[nodiscard]] Result<Outcome> config_show(const std::filesystem::path& file, Format format, Io& io);

[[nodiscard]] Result<Outcome> assets_list(const Common& common, Io& io);
[[nodiscard]] Result<Outcome> assets_show(const Common& common, const std::string& path, Io& io);
/// Prints what the operator's overrides change, as unified diffs.
[[nodiscard]] Result<Outcome> assets_diff(const Common& common, Io& io);
/// Writes every asset in use to a directory, which must be empty or missing.
[[nodiscard]] Result<Outcome> assets_export(const Common& common, const std::filesystem::path& folder,
                                            Io& io);

struct ExplainOptions {
  Common common;
  std::vector<std::string> ids;  ///< of checks; a prefix ending in a dot means all below it
  Format format = Format::text;
};
/// Prints what checks inspect, why, and what fixes their findings.
[[nodiscard]] Result<Outcome> explain(const ExplainOptions& options, Io& io);
/// Prints the version; as JSON with what a bug report needs: build, libraries at run time, catalog, and
/// overridden assets.
[[nodiscard]] Result<Outcome> version(const Common& common, Format format, Io& io);

}  // namespace commands
