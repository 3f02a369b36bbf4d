#include "gpuadm/plan/undo.hpp"

#include "gpuadm/base/text.hpp"

#include "app/conduct.hpp"

#include <fmt/format.h>

namespace app {

namespace {

using Ways = std::map<std::string, plan::WayBack>;

constexpr std::chrono::seconds read_timeout{120};  // it sums every file that gpuadm has written

/// The journals of all hosts; an error names its host.
Result<std::map<std::string, plan::Journal>> read_journals(transport::Fleet& fleet,
                                                           const std::string& functions) {
  for (const std::string& host : fleet.hosts())
    fleet.submit(host, {.label = "read the journal",
                        .script = functions + "undo_read\n",
                        .timeout = read_timeout,
                        .output_limit = 64u << 20});
  std::map<std::string, plan::Journal> journals;
  while (auto completion = fleet.next()) {
    const auto& [host, result] = *completion;
    if (!result) return std::unexpected(result.error());
    auto journal = plan::read_journal(result->out);
    if (!journal)
      return base::fail(journal.error().fault,
                        fmt::format("{}: {}: {}", host, journal.error().what, base::tail(result->err, 3)));
    journals.emplace(host, std::move(*journal));
  }
  if (fleet.interrupted())
    return base::fail(base::Fault::interrupted, "interrupted while the journals were read");
  return journals;
}

Result<Ways> ways_back(const std::map<std::string, plan::Journal>& journals, const UndoOptions& options) {
  Ways ways;
  for (const auto& [host, journal] : journals) {
    auto way = plan::way_back(journal, {options.run, options.all, options.force});
    if (!way)
      return base::fail(way.error().fault, fmt::format("{}: {}", host, way.error().what), way.error().hint);
    ways.emplace(host, std::move(*way));
  }
  return ways;
}

void tell(report::Reporter& reporter, report::Did did, const std::string& host, const std::string& text) {
  report::Event event;
  event.did = did;
  event.host = host;
  event.detail = text;
  reporter.on(event);
}

/// Says what stays; whether anything does.
bool tell_kept(report::Reporter& reporter, const Ways& ways) {
  bool any = false;
  for (const auto& [host, way] : ways)
    for (const plan::Kept& kept : way.kept) {
      any = true;
      tell(reporter, report::Did::note, host,
           fmt::format("{} stays: {} (--force puts it back)", base::printable(kept.thing.second), kept.why));
    }
  return any;
}

Result<Outcome> take_back(const Ways& ways, const assets::Store& assets, const std::string& functions,
                          const UndoOptions& options, const Visit& visit, report::Reporter& reporter,
                          Io& io) {
  Performance performance{assets, plan::to_plan(ways, functions), {}, options.consent, {}};
  for (const auto& [host, way] : ways)
    if (!way.stages.empty()) performance.hosts.push_back(host);
  const bool kept = tell_kept(reporter, ways);
  if (performance.hosts.empty()) {
    tell(reporter, report::Did::finished, "", kept ? "nothing was changed" : "there is nothing to undo");
    return kept ? Outcome::failed : Outcome::done;
  }
  const Outcome outcome = TRY(perform(performance, visit, reporter, io));
  if (outcome != Outcome::done || !kept || options.consent == Consent::preview) return outcome;
  tell_kept(reporter, ways);
  return Outcome::failed;
}

}  // namespace

Result<Outcome> undo(const UndoOptions& options, Io& io) {
  if (options.all && !options.run.empty())
    return base::fail(base::Fault::usage, "--all and --run are one too many", "--all undoes every run");
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const std::string functions =
      TRY(assets.read("playbooks/prelude.sh")) + TRY(assets.read("playbooks/undo.sh"));
  const spec::Cluster cluster = TRY(read_cluster(options.hosts, options.common.connection));
  const Visit visit = TRY(Visit::open(cluster, options.common.connection, options.consent, io));
  const Ways ways = TRY(ways_back(TRY(read_journals(*visit.fleet, functions)), options));
  return telling(visit.folder, options.format, io, [&](report::Reporter& reporter) {
    return take_back(ways, assets, functions, options, visit, reporter, io);
  });
}

}  // namespace app
