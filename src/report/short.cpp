#include "gpuadm/base/text.hpp"
#include "gpuadm/report/findings.hpp"

#include "report/chains.hpp"
#include "report/one_finding.hpp"
#include "report/paint.hpp"
#include "report/tally.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>

namespace report {
namespace {

constexpr std::size_t most_warnings = 6, most_follow = 2, most_evidence = 3;  // lines

/// A chain, and the hosts that have it.
struct Group {
  Chain chain;
  std::vector<std::string> hosts;
};

/// Chains of all hosts whose first finding has this rank, those that say the same together.
std::vector<Group> groups_of(std::span<const Finding> findings, int wanted) {
  std::vector<Group> all;
  for (const auto& [host, of_host] : by_host(findings))
    for (const Chain& chain : chains(of_host)) {
      int worst = rank(chain.first);
      for (const Finding* finding : chain.follow) worst = std::min(worst, rank(finding));
      if (worst != wanted) continue;
      auto known = std::ranges::find_if(all, [&](const Group& group) {
        return group.chain.first->id == chain.first->id && group.chain.first->says == chain.first->says;
      });
      if (known == all.end()) known = all.insert(all.end(), {chain, {}});
      if (!chain.first->host.empty()) known->hosts.push_back(base::printable(chain.first->host));
    }
  return all;
}

bool has_several_hosts(std::span<const Finding> findings) {
  std::set<std::string_view> hosts;
  for (const Finding& finding : findings)
    if (!finding.host.empty()) hosts.insert(finding.host);
  return hosts.size() > 1;
}

/// "gpu1, gpu2 and 3 more"
std::string listed(const std::vector<std::string>& hosts) {
  constexpr std::size_t most = 2;
  std::string text = base::join(
      std::vector(hosts.begin(), hosts.begin() + static_cast<std::ptrdiff_t>(std::min(most, hosts.size()))),
      ", ");
  return hosts.size() > most ? text + fmt::format(" and {} more", hosts.size() - most) : text;
}

/// "  warning  net.resolv-conf-valid: no name server is set (gpu1)", no wider than the terminal.
std::string line_of(const Group& group, bool names_hosts, const Style& style) {
  const Finding& finding = *group.chain.first;
  const std::string where =
      names_hosts && !group.hosts.empty() ? fmt::format(" ({})", listed(group.hosts)) : "";
  const std::string text =
      fmt::format("{}{}: {}", base::printable(finding.id), where, first_line(finding.says));
  const std::size_t margin = 11;
  return fmt::format("  {} {}\n", paint(style, finding, fmt::format("{:<8}", kind(finding))),
                     fit(text, style.width > margin ? style.width - margin : style.width));
}

/// Warnings in a line each, but for the one that the headline is about.
std::string warnings_of(std::span<const Finding> findings, const Style& style) {
  const bool names_hosts = has_several_hosts(findings);
  std::vector<Group> groups = groups_of(findings, 1);
  if (const auto first = first_broken(findings))
    std::erase_if(groups, [&](const Group& group) {
      return group.chain.first->id == first->first->id && group.chain.first->says == first->first->says;
    });
  std::string text;
  for (const Group& group : groups | std::views::take(most_warnings))
    text += line_of(group, names_hosts, style);
  if (groups.size() > most_warnings)
    text += fmt::format("           and {} more\n", groups.size() - most_warnings);
  return text;
}

/// A blocker with its evidence and its fix; of much evidence and many consequences the first.
std::string in_full(const Group& group, bool names_hosts, const Style& style) {
  Finding finding = *group.chain.first;
  if (names_hosts && !group.hosts.empty()) finding.says += " on " + listed(group.hosts);
  const auto rows = base::lines(finding.evidence);
  if (rows.size() > most_evidence) {
    std::string evidence;
    for (const std::string_view row : rows | std::views::take(most_evidence))
      evidence += fmt::format("{}\n", row);
    finding.evidence = evidence + fmt::format("and {} more", count(rows.size() - most_evidence, "line"));
  }
  std::vector<const Finding*> follow = group.chain.follow;
  const std::size_t more = follow.size() > most_follow ? follow.size() - most_follow : 0;
  follow.resize(follow.size() - more);
  std::string text = one(finding, follow, style);
  if (more > 0) text += fmt::format("           also: {} more\n", more);
  return text;
}

/// "1 host: 1 warning, 7 notes, 75 passed", and how to see them.
std::string counts(std::span<const Finding> findings, const Style& style) {
  const Tally sum = tally(findings);
  return hang(fmt::format("{}: {} (-v lists all)", subject_of(sum), to_text(sum)), 2, style) + "\n";
}

}  // namespace

std::string short_details(std::span<const Finding> findings, const Style& style) {
  std::string text = warnings_of(findings, style);
  std::vector<Group> blockers = groups_of(findings, 0);
  const auto first = first_broken(findings);
  std::ranges::stable_partition(
      blockers, [&](const Group& group) { return group.chain.first->id != first->first->id; });
  for (const Group& group : blockers) text += in_full(group, has_several_hosts(findings), style);
  return text + counts(findings, style);
}

std::string short_text(std::span<const Finding> findings, const Style& style) {
  return headline(findings, style) + "\n" + warnings_of(findings, style) + counts(findings, style);
}

}  // namespace report
