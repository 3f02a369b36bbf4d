#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/install/identity.hpp"
#include "commands/shared_options.hpp"

namespace commands {

namespace {

struct PlaybookOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path playbook;  ///< for run_user_playbook
  Consent consent = Consent::ask;
  Rebooting reboots = Rebooting::done;
  Format format = Format::text;
};

/// Runs a playbook on hosts, without checks first.
Result<Outcome> play(const PlaybookOptions& options, const assets::Store& assets,
                     const playbook::Library& library, Workers workers, Io& io) {
  spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  TRY(session::resolve_environment(cluster, assets));
  const session::RunContext session =
      TRY(session::RunContext::open(cluster, options.common.connection, options.consent, io));
  const session::Survey survey = TRY(session.survey_all(assets));
  cluster =
      TRY(identify(std::move(cluster), options.hosts.file, survey, *session.fleet, assets, workers)).cluster;
  TRY(session::resolve_environment(cluster, assets));

  session::PlaybookRun playbook_run{cluster, assets, library, nullptr, {}, options.consent};
  playbook_run.reboots = options.reboots;
  return session::run_and_report(playbook_run, survey, session, options.format, io);
}

Result<Outcome> run_user_playbook(const PlaybookOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  return play(options, assets, TRY(playbook::Library::load_file(assets, options.playbook)), Workers::accepted,
              io);
}

/// Configures only the container runtime of hosts: playbooks/runtime.yaml.
Result<Outcome> runtime_configure(const PlaybookOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  return play(options, assets, TRY(playbook::Library::load(assets, "runtime")), Workers::refused, io);
}

}  // namespace

Command playbook_run_command() {
  return CommandRow<PlaybookOptions>{
      .name = "playbook run",
      .group = Group::install,
      .summary = "Run a playbook",
      .options =
          [](Line& line, PlaybookOptions& options) {
            line.argument("PLAYBOOK", options.playbook, "Playbook file").required();
            add_hosts(line, options.hosts);
            add_consent(line, options.consent);
            add_reboots(line, options.reboots);
            add_format(line, options.format);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm playbook run motd.yaml -f cluster.yaml --dry-run", "run your own steps"}},
      .run = run_user_playbook};
}

Command runtime_configure_command() {
  return CommandRow<PlaybookOptions>{
      .name = "runtime configure",
      .group = Group::install,
      .summary = "Configure the container runtime for Kubernetes and GPUs, and nothing else",
      .options =
          [](Line& line, PlaybookOptions& options) {
            add_hosts(line, options.hosts);
            add_connection(line, options.common);
            add_consent(line, options.consent);
            add_format(line, options.format);
          },
      .examples = {{"gpuadm runtime configure root@192.0.2.10 --dry-run",
                    "show the new containerd configuration"}},
      .run = runtime_configure};
}

}  // namespace commands
