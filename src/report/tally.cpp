#include "report/tally.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/report/findings.hpp"

#include "report/paint.hpp"

#include <fmt/format.h>

namespace report {

Tally tally(std::span<const Finding> findings) {
  Tally tally;
  for (const Finding& finding : findings) {
    if (!finding.host.empty()) tally.hosts.insert(finding.host);
    switch (finding.verdict) {
      case Verdict::pass:
        ++tally.passed;
        continue;
      case Verdict::skip:
        ++tally.skipped;
        continue;
      case Verdict::unknown:
        ++tally.unknown;
        continue;
      case Verdict::fail:
      case Verdict::timeout:
        break;
    }
    ++(finding.severity == Severity::blocker   ? tally.blockers
       : finding.severity == Severity::warning ? tally.warnings
                                               : tally.notes);
  }
  return tally;
}

std::string to_text(const Tally& tally) {
  std::vector<std::string> parts;
  if (tally.blockers) parts.push_back(count(tally.blockers, "blocker"));
  if (tally.warnings) parts.push_back(count(tally.warnings, "warning"));
  if (tally.notes) parts.push_back(count(tally.notes, "note"));
  if (tally.unknown) parts.push_back(fmt::format("{} unknown", tally.unknown));
  if (tally.passed) parts.push_back(fmt::format("{} passed", tally.passed));
  if (tally.skipped) parts.push_back(fmt::format("{} not applicable", tally.skipped));
  return parts.empty() ? "nothing checked" : base::join(parts, ", ");
}

base::Tree to_tree(std::span<const Finding> findings) {
  const Tally sum = tally(findings);
  const auto number = [](std::size_t n) { return base::Tree(static_cast<std::int64_t>(n)); };
  base::Tree list = base::Tree::list();
  for (const Finding& finding : findings) list.push(to_tree(finding));
  base::Tree first;
  if (const auto chain = first_broken(findings)) {
    std::vector<std::string> follow;
    for (const Finding* finding : chain->follow) follow.push_back(finding->id);
    first = base::Tree::map_of(
        {{"id", chain->first->id}, {"host", chain->first->host}, {"follow", base::Tree::list_of(follow)}});
  }
  return base::Tree::map_of({{"summary", base::Tree::map_of({{"hosts", number(sum.hosts.size())},
                                                             {"blockers", number(sum.blockers)},
                                                             {"warnings", number(sum.warnings)},
                                                             {"notes", number(sum.notes)},
                                                             {"unknown", number(sum.unknown)},
                                                             {"passed", number(sum.passed)},
                                                             {"skipped", number(sum.skipped)}})},
                             {"first", std::move(first)},
                             {"findings", std::move(list)}});
}

}  // namespace report
