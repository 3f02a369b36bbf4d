#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/report/finding.hpp"
#include "gpuadm/session/options.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// One function per verb: a table of contents that strings the rooms together.
namespace app {

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
  std::vector<std::string> ignore;               ///< ids of findings that shall not block
  Consent consent = Consent::ask;
  Rebooting reboots = Rebooting::done;
  Waiting waiting = Waiting::until_it_works;
  std::filesystem::path bundle, bundle_signers;  ///< a folder or an archive; BundleOptions::signers
  std::string kubernetes_version;
  std::string region;   ///< empty: as the cluster file says
  std::string profile;  ///< standard, hardened; empty: as the cluster file says
  std::string driver;   ///< use, install, install=BRANCH; empty: as the cluster file says
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
  std::string stage = "preflight";      ///< preflight, node, cluster, security; empty: what fits each host
  /// The lightest severity that makes the outcome `blocked`; nothing: none does.
  std::optional<report::Severity> fail_on = report::Severity::blocker;
  bool fail_on_unknown = false;  ///< so does a check that could not tell
  std::filesystem::path
      baseline;                  ///< findings.json of an earlier run, whose open findings are not shown again
  std::filesystem::path record;  ///< where to save what was read, see docs/reference/recordings.md
  std::filesystem::path from;    ///< a recording to judge instead of hosts
  /// One of gpuadm's own recordings of broken machines to judge instead of hosts; empty: they are listed.
  std::optional<std::string> demo;
  std::filesystem::path bundle;  ///< what the installation is to come from; empty: repositories
  bool fix = false;              ///< mend what has a safe fix; `consent` is for that
  Consent consent = Consent::ask;
  int watch = 0;  ///< seconds between two looks; 0: one look
  Format format = Format::text;
};
[[nodiscard]] Result<Outcome> doctor(const DoctorOptions& options, Io& io);

struct SupportOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path output;  ///< a .tar.gz that is not there yet; empty: named by cluster and time, here
  int lines = 500;               ///< of each log
};
/// One archive for somebody who is to help: docs/reference/support.md.
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
  bool allow_none = false;        ///< a cluster without a GPU is no failure
  Format format = Format::text;
};
/// Tests the pod network and DNS on every node, and walks the chain from the driver to a pod that computes
/// on every node with GPUs
/// (docs/reference/verify.md). What it makes on hosts and in the cluster is gone afterwards. Outcome::failed
/// where a link does not hold.
[[nodiscard]] Result<Outcome> verify(const VerifyOptions& options, Io& io);

// --- gpuadm undo -------------------------------------------------------------------------------------

struct UndoOptions {
  Common common;
  Hosts hosts;
  std::string run;     ///< empty: the last one that changed something
  bool all = false;    ///< every run that the host's journal knows
  bool force = false;  ///< what somebody else has changed since is put back, too
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Takes back what runs did, as the journal on each host tells. Outcome::failed where something had to stay.
[[nodiscard]] Result<Outcome> undo(const UndoOptions& options, Io& io);

// --- gpuadm runtime ----------------------------------------------------------------------------------

struct RuntimePreviewOptions {
  Common common;
  std::string engine = "containerd";  ///< containerd, docker, crio
  std::filesystem::path config;       ///< the runtime's configuration; empty: there is none
  std::filesystem::path imports;      ///< a folder that stands for the one that the configuration imports
  std::string engine_version;         ///< empty: the oldest that is known
  std::filesystem::path cluster;      ///< a cluster file
  std::string kubernetes_version;
  Format format = Format::text;
};
/// Configures the container runtime of hosts, and nothing else: playbooks/runtime.yaml.
[[nodiscard]] Result<Outcome> runtime_configure(const PlaybookOptions& options, Io& io);
/// The files that would be written on a host with that configuration and the NVIDIA toolkit, and what the
/// runtime would read then. Connects to nothing.
[[nodiscard]] Result<Outcome> runtime_preview(const RuntimePreviewOptions& options, Io& io);

// --- gpuadm reset ------------------------------------------------------------------------------------

struct ResetOptions {
  Common common;
  Hosts hosts;
  bool force = false;  ///< also a cluster that gpuadm did not make, and what somebody else has changed since
  bool keep_images = false, keep_driver = false;
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Takes nodes out of their cluster, and back what every run did to them. Outcome::failed where something had
/// to stay.
[[nodiscard]] Result<Outcome> reset(const ResetOptions& options, Io& io);

// --- gpuadm config, assets, explain, version: nothing is connected to ---------------------------------

/// Keys of the cluster file with type, default and meaning: those named and all below them; none: all.
[[nodiscard]] Result<Outcome> config_explain(const std::vector<std::string>& paths, Format format, Io& io);
/// The cluster file as JSON Schema, for editors.
[[nodiscard]] Result<Outcome> config_schema(Io& io);
struct ConfigInitOptions {
  Common common;
  Hosts hosts;                   ///< targets alone: there is no file yet
  std::filesystem::path from;    ///< a recording to read instead of hosts
  std::filesystem::path output;  ///< a file that is not there yet; empty: standard output
  std::string name;              ///< of the cluster; empty: the default
};
/// A cluster file with comments, which says what was found on the hosts.
[[nodiscard]] Result<Outcome> config_init(const ConfigInitOptions& options, Io& io);
/// Reads the file and lints gates and flags against its version.
[[nodiscard]] Result<Outcome> config_lint(const Common& common, const std::filesystem::path& file,
                                          Format format, Io& io);
enum class Writes { yes, no };
/// Brings the file into the current format, beside a copy of it as it was, FILE.bak, and shows the
/// difference; or shows it only. A file that is in that format is left alone.
[[nodiscard]] Result<Outcome> config_migrate(const std::filesystem::path& file, Writes writes, Io& io);
/// The file completed with every default, as a cluster file.
[[nodiscard]] Result<Outcome> config_show(const std::filesystem::path& file, Format format, Io& io);

[[nodiscard]] Result<Outcome> assets_list(const Common& common, Io& io);
[[nodiscard]] Result<Outcome> assets_show(const Common& common, const std::string& path, Io& io);
/// What the operator's overrides change, as unified diffs.
[[nodiscard]] Result<Outcome> assets_diff(const Common& common, Io& io);
/// Writes every asset in force below a folder, which must be empty or missing.
[[nodiscard]] Result<Outcome> assets_export(const Common& common, const std::filesystem::path& folder,
                                            Io& io);

struct ExplainOptions {
  Common common;
  std::vector<std::string> ids;  ///< of checks; a prefix ending in a dot means all below it
  Format format = Format::text;
};
/// What checks look at, why, and what mends it.
[[nodiscard]] Result<Outcome> explain(const ExplainOptions& options, Io& io);
/// Which gpuadm this is; as JSON with what a bug report needs: what it was made of and with, its libraries as
/// they run, its catalog, which assets are overridden.
[[nodiscard]] Result<Outcome> version(const Common& common, Format format, Io& io);

}  // namespace app
