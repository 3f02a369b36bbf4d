#include "report/finding/tally.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/report/findings.hpp"

#include "report/paint.hpp"

#include <fmt/format.h>

namespace report {

void Tally::add(const Finding& finding) {
  if (finding.host.empty())
    cluster = true;
  else
    hosts.insert(finding.host);
  switch (finding.verdict) {
    case Verdict::pass:
      ++passed;
      return;
    case Verdict::skip:
      ++skipped;
      return;
    case Verdict::unknown:
      ++unknown;
      return;
    case Verdict::fail:
    case Verdict::timeout:
      break;
  }
  ++(finding.severity == Severity::blocker   ? blockers
     : finding.severity == Severity::warning ? warnings
                                             : notes);
}

Tally tally(std::span<const Finding> findings) {
  Tally tally;
  for (const Finding& finding : findings) tally.add(finding);
  return tally;
}

std::string subject_of(const Tally& tally) {
  return tally.hosts.empty() && tally.cluster ? "the whole cluster" : count(tally.hosts.size(), "host");
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

namespace {

base::Tree summary(std::span<const Finding> findings) {
  const Tally sum = tally(findings);
  const auto number = [](std::size_t n) { return base::Tree(static_cast<std::int64_t>(n)); };
  return base::Tree::map_of({{"hosts", number(sum.hosts.size())},
                             {"blockers", number(sum.blockers)},
                             {"warnings", number(sum.warnings)},
                             {"notes", number(sum.notes)},
                             {"unknown", number(sum.unknown)},
                             {"passed", number(sum.passed)},
                             {"skipped", number(sum.skipped)}});
}

/// The first broken link and its consequences; null if nothing is broken.
base::Tree first(std::span<const Finding> findings) {
  const auto chain = first_broken(findings);
  if (!chain) return {};
  std::vector<std::string> follow;
  for (const Finding* finding : chain->follow) follow.push_back(finding->id);
  return base::Tree::map_of(
      {{"id", chain->first->id}, {"host", chain->first->host}, {"follow", base::Tree::list_of(follow)}});
}

}  // namespace

base::Tree to_tree(std::span<const Finding> findings) {
  base::Tree list = base::Tree::list();
  for (const Finding& finding : findings) list.push(to_tree(finding));
  return base::Tree::map_of(
      {{"summary", summary(findings)}, {"first", first(findings)}, {"findings", std::move(list)}});
}

void write_json(std::span<const Finding> findings, const Write& write,
                const std::map<std::string, std::string>& stages) {
  constexpr std::size_t block = 64u << 10;
  std::string held =
      fmt::format("{{\n\"summary\": {},\n\"first\": {},\n", base::json::write(summary(findings), 0),
                  base::json::write(first(findings), 0));
  base::Tree by_host = base::Tree::map();
  for (const auto& [host, checked] : stages) by_host.set(host, checked);
  if (!stages.empty()) held += fmt::format("\"stages\": {},\n", base::json::write(by_host, 0));
  held += "\"findings\": [";
  std::string_view before = "\n";
  for (const Finding& finding : findings) {
    held += std::exchange(before, ",\n");
    held += base::json::write(to_tree(finding), 0);
    if (held.size() > block) write(std::exchange(held, {}));
  }
  write(held + "\n]\n}\n");
}

}  // namespace report
