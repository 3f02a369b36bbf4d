#include "gpuadm/base/files.hpp"
#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/recording.hpp"

#include "commands/inspect/archive.hpp"
#include "commands/inspect/support_runs.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace commands {

namespace {

struct SupportOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path
      output;       ///< new .tar.gz file; empty: named by cluster and time, in the current directory
  int lines = 500;  ///< of each log
};

namespace fs = std::filesystem;
using base::Fault;

constexpr std::chrono::seconds support_timeout{240};  // each command in it has a shorter limit
constexpr std::size_t answer_limit = 16u << 20;

constexpr std::string_view readme =
    R"(Collected by gpuadm {} from {} on {}.

doctor.txt    findings of gpuadm doctor
recording/    facts of the hosts: gpuadm doctor --from recording [--stage node|cluster]
hosts/        logs, units, containers and logs of pods of each host; of control planes also events
runs/         logs of gpuadm's last runs on these hosts

Names of hosts, people and domains, addresses, ids and secrets are replaced consistently.
{}
{})";

/// Output of other programs: automatic redaction is incomplete.
constexpr std::string_view review_note =
    "Review hosts/*/journal, hosts/*/pods and hosts/*/cluster before you share it: programs may log what "
    "no "
    "rule detects, such as names of customers, images, namespaces and paths.";

class Support {
 public:
  Support(const SupportOptions& options, const assets::Store& assets, transport::Fleet& fleet,
          session::ClusterSurvey& recording, Archive& archive, Io& io)
      : options_(options),
        assets_(assets),
        fleet_(fleet),
        recording_(recording),
        archive_(archive),
        io_(io) {}

  Result<Outcome> collect() {
    recording_.survey = TRY(session::take_census(fleet_, assets_, session::Afterwards::keep_connection,
                                                 session::Texts::kept, session::Reasons::read));
    TRY(survey_cluster());
    facts::Redactor redact = session::redactor_for(recording_);
    redact.learn(base::home().filename().string(), "user");
    const std::vector<EarlierRun> runs = find_earlier_runs(recording_.cluster);
    for (const EarlierRun& earlier : runs) learn_names(earlier, redact);
    TRY(add_hosts(redact));
    TRY(add_runs(runs, redact));
    TRY(session::save_recording(archive_.folder() / "recording", recording_, redact));
    TRY(archive_.add("doctor.txt", TRY(report())));
    replaced_ = redact.replaced();
    for (const auto& [host, facts] : recording_.survey.census)
      if (const std::string name = redact.name(host); name != host)
        renamed_ += fmt::format("  {} is {}\n", name, host);
    return recording_.survey.none_reached() ? Outcome::unreachable : Outcome::done;
  }

  std::string replaced() const {
    return fmt::format("Replaced: {} names, {} addresses, {} ids, {} secrets.", replaced_.names,
                       replaced_.addresses, replaced_.ids, replaced_.secrets);
  }
  /// The mapping of names to hosts: only for the person who creates the archive.
  const std::string& renamed() const { return renamed_; }

 private:
  void narrate(const std::string& line) {
    if (io_.err_style.verbosity != report::Verbosity::quiet) io_.err(base::printable(line) + "\n");
  }

  /// An unreachable cluster does not prevent the rest.
  Result<> survey_cluster() {
    const auto& hosts = recording_.cluster.hosts;
    const auto place = std::ranges::find_if(hosts, [&](const auto& host) {
      return facts::is_control_plane(recording_.survey.census, host.name);
    });
    if (place == hosts.end()) return {};
    control_plane_ = place->name;
    auto view = session::view_cluster(recording_.cluster, recording_.survey.census, fleet_, assets_);
    if (view)
      recording_.view = std::move(*view);
    else if (view.error().fault == Fault::interrupted)
      return std::unexpected(view.error());
    else
      narrate("the cluster could not be read: " + view.error().what);
    return {};
  }

  Result<> add_hosts(facts::Redactor& redact) {
    const std::string script = TRY(session::reading_script(assets_, "playbooks/support.sh"));
    for (const auto& [host, facts] : recording_.survey.census) {
      if (!facts) {
        narrate(fmt::format("{}: {}", host, base::without_host(facts.error().what, host)));
        continue;
      }
      fleet_.submit(host,
                    {.label = "collect the logs",
                     .script = base::assignments({{"log_lines", std::to_string(options_.lines)},
                                                  {"ask_cluster", host == control_plane_ ? "yes" : "no"}}) +
                               script,
                     .timeout = support_timeout,
                     .output_limit = answer_limit});
    }
    std::map<std::string, std::string> answers;
    while (auto completion = fleet_.next()) {
      fleet_.at(completion->host).close();
      if (fleet_.interrupted()) return base::fail(Fault::interrupted, "interrupted while reading logs");
      if (!completion->result) {
        narrate(completion->result.error().what);
        continue;
      }
      answers.emplace(completion->host, std::move(completion->result->out));
    }
    // Names that any of them contains are replaced in all.
    for (const auto& [host, answer] : answers) redact.learn_from(answer);
    for (const auto& [host, answer] : answers)
      if (const std::size_t left_out =
              archive_.add_sections(fs::path("hosts") / redact.name(host), redact(answer)))
        narrate(fmt::format("{}: {} sections are not in the archive: too many, or with an invalid file name",
                            host, left_out));
    return {};
  }

  Result<> add_runs(const std::vector<EarlierRun>& runs, facts::Redactor& redact) {
    for (const EarlierRun& earlier : runs)
      for (const auto& [name, text] : earlier.files)
        TRY(archive_.add(fs::path("runs") / earlier.name / name, redact(text)));
    return {};
  }

  /// The doctor's findings on the recording, with names replaced.
  Result<std::string> report() {
    const session::ClusterSurvey recorded = TRY(session::load_recording(archive_.folder() / "recording"));
    auto findings =
        TRY(session::find(recorded.cluster, {}, recorded.survey.census, assets_, checks::Stage::node));
    if (recorded.view) {
      auto more =
          TRY(session::find_in_cluster(recorded.cluster, recorded.survey.census, recorded.view, assets_));
      std::erase_if(more, [](const report::Finding& finding) { return finding.id == session::reachable; });
      std::ranges::move(more, std::back_inserter(findings));
    }
    return report::to_text(findings, {});
  }

  const SupportOptions& options_;
  const assets::Store& assets_;
  transport::Fleet& fleet_;
  session::ClusterSurvey& recording_;
  Archive& archive_;
  Io& io_;
  std::string control_plane_, renamed_;
  facts::Replaced replaced_;
};

/// Creates the support archive: docs/reference/support.md.
Result<Outcome> support(const SupportOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  session::ClusterSurvey recording{
      TRY(session::read_cluster(options.hosts, options.common.connection)), {}, {}};
  const std::string name = fmt::format("gpuadm-support-{}", base::stamp(base::now()));
  const fs::path file = options.output.empty() ? fs::path(name + ".tar.gz") : options.output;
  if (std::error_code error; fs::exists(file, error))
    return base::fail(Fault::usage, fmt::format("{}: already exists", file.string()),
                      "specify a new file: --output FILE");
  Archive archive = TRY(Archive::make(name));
  const auto connections = TRY(session::Connections::open(recording.cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  Support support(options, assets, *fleet, recording, archive, io);
  const Outcome outcome = TRY(support.collect());
  const auto& hosts = recording.survey.census;
  TRY(archive.add("README.txt",
                  fmt::format(readme, GPUADM_VERSION,
                              hosts.size() == 1 ? "1 host" : fmt::format("{} hosts", hosts.size()),
                              base::iso8601(base::now()), support.replaced(), review_note)));
  const std::string contents = archive.contents();
  TRY(archive.pack(file));
  std::error_code error;
  io.out(fmt::format("{} ({}, mode 0600)\n{}{}\n{}{}\n", base::printable(file.string()),
                     base::human_bytes(fs::file_size(file, error)), contents, support.replaced(),
                     base::printable(support.renamed(), 1u << 16), review_note));
  return outcome;
}

}  // namespace

Command support_command() {
  return CommandRow<SupportOptions>{
      .name = "support",
      .group = Group::inspect,
      .summary = "Collect logs, facts and findings in one archive, without secrets",
      .options =
          [](Line& line, SupportOptions& options) {
            add_hosts(line, options.hosts);
            add_connection(line, options.common);
            line.value("-o,--output", options.output, "FILE", "Archive to create (.tar.gz); must not exist");
            line.value("--lines", options.lines, "NUMBER", "Lines of each log (default 500)").range(1, 5000);
          },
      .examples = {{"gpuadm support -f cluster.yaml -o help.tar.gz",
                    "logs and facts, without secrets and names"}},
      .run = support};
}

}  // namespace commands
