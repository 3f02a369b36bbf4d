#include "commands/undo/undo_plan.hpp"

#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

constexpr std::chrono::seconds read_timeout{
    120};  // it computes checksums of every file that gpuadm has written

}  // namespace

Result<Journals> read_journals(transport::Fleet& fleet, const std::vector<std::string>& hosts,
                               const std::string& functions) {
  for (const std::string& host : hosts)
    fleet.submit(host, {.label = "read the journal",
                        .script = functions + "undo_read\n",
                        .timeout = read_timeout,
                        .output_limit = 64u << 20});
  Journals journals;
  std::map<std::string, base::Error> errors;
  while (auto completion = fleet.next()) {
    const auto& host = completion->host;
    const auto& result = completion->result;
    if (!result) {
      errors.emplace(host, result.error());
      continue;
    }
    auto journal = plan::read_journal(result->out);
    if (journal)
      journals.emplace(host, std::move(*journal));
    else
      errors.emplace(
          host, base::Error{journal.error().fault,
                            fmt::format("{}: {}: {}", host, journal.error().what, base::tail(result->err, 3)),
                            {}});
  }
  if (fleet.interrupted()) return base::fail(base::Fault::interrupted, "interrupted while reading journals");
  if (!errors.empty()) return std::unexpected(base::joined(errors));
  return journals;
}

bool undoes_cluster(const plan::Journal& journal, const plan::Undo& undo) {
  return undo.run.empty() && plan::has_unfinished_cluster(journal);
}

Result<UndoPlans> make_undo_plans(const Journals& journals, const plan::Undo& asked) {
  UndoPlans undo_plans;
  for (const auto& [host, journal] : journals) {
    plan::Undo undo = asked;
    undo.after_reset = undo.after_reset || undoes_cluster(journal, undo);
    auto way = plan::undo_plan(journal, undo);
    if (!way)
      return base::fail(way.error().fault, fmt::format("{}: {}", host, way.error().what), way.error().hint);
    undo_plans.emplace(host, std::move(*way));
  }
  return undo_plans;
}

void notify(report::Reporter& reporter, report::Did did, const std::string& host, const std::string& text) {
  report::Event event;
  event.did = did;
  event.host = host;
  event.detail = text;
  reporter.on(event);
}

bool report_kept(report::Reporter& reporter, const UndoPlans& undo_plans) {
  bool any = false;
  for (const auto& [host, way] : undo_plans) {
    for (const std::string& line : way.unreadable) {
      any = true;
      notify(reporter, report::Did::note, host,
             fmt::format("a line of the journal is truncated or damaged, and its change is not undone: {} "
                         "(--force deletes the line)",
                         base::printable(base::replace_all(line, "\t", " "), 300)));
    }
    for (const plan::Kept& kept : way.kept) {
      any = true;
      notify(reporter, report::Did::note, host,
             fmt::format("{} is kept: {}", base::printable(kept.thing.second), kept.why));
    }
    if (!way.upgraded.empty())
      notify(reporter, report::Did::note, host,
             fmt::format("stay upgraded, because packages that gpuadm installed needed it: {}",
                         base::printable(base::join(way.upgraded, ", "), 1000)));
  }
  return any;
}

}  // namespace commands
