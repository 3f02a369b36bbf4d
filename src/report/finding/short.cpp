#include "gpuadm/base/text.hpp"
#include "gpuadm/report/findings.hpp"

#include "report/finding/chains.hpp"
#include "report/finding/one_finding.hpp"
#include "report/finding/tally.hpp"
#include "report/paint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>

namespace report {
namespace {

constexpr std::size_t most_lines = 6, most_follow = 2, most_evidence = 3;
constexpr std::size_t most_findings = 14;  // of warnings and blockers: a screen has 24
constexpr std::size_t most_warnings = 2;   // before a plan, whose question is on the same screen

/// Chains that begin with the same check: the first of them, the check's other texts, and the hosts.
struct Group {
  Chain chain;
  std::vector<const Finding*> alike;
  std::vector<std::string> hosts;
};

void add(Group& group, const Chain& chain) {
  const auto is_first = [&](const Finding* other) { return other->message == chain.first->message; };
  if (!is_first(group.chain.first) && std::ranges::none_of(group.alike, is_first))
    group.alike.push_back(chain.first);
  const std::string host = base::printable(chain.first->host);
  if (!host.empty() && std::ranges::find(group.hosts, host) == group.hosts.end()) group.hosts.push_back(host);
}

/// Chains of all hosts whose highest severity has this rank, by their first check.
std::vector<Group> groups_of(std::span<const Finding> findings, int wanted) {
  std::vector<Group> all;
  for (const auto& [host, of_host] : by_host(findings))
    for (const Chain& chain : chains(of_host)) {
      int worst = rank(chain.first);
      for (const Finding* finding : chain.follow) worst = std::min(worst, rank(finding));
      if (worst != wanted) continue;
      auto known = std::ranges::find_if(
          all, [&](const Group& group) { return group.chain.first->id == chain.first->id; });
      if (known == all.end()) known = all.insert(all.end(), {chain, {}, {}});
      add(*known, chain);
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

/// "  warning  net.resolv-conf-valid: no name server is set (gpu1)", at most as wide as the terminal.
std::string line_of(const Group& group, bool names_hosts, const Style& style) {
  const Finding& finding = *group.chain.first;
  const std::string where =
      names_hosts && !group.hosts.empty() ? fmt::format(" ({})", listed(group.hosts)) : "";
  const std::string text =
      fmt::format("{}{}: {}", base::printable(finding.id), where, first_line(finding.message));
  const std::size_t margin = 11;
  return fmt::format("  {} {}\n", paint(style, finding, fmt::format("{:<8}", kind(finding))),
                     fit(text, style.width > margin ? style.width - margin : style.width));
}

/// One line each, and the number of omitted ones.
std::string lines_of(std::span<const Group> groups, std::size_t most, bool names_hosts, const Style& style) {
  std::string text;
  const std::size_t shown = groups.size() > most ? most - 1 : groups.size();
  for (const Group& group : groups.first(shown)) text += line_of(group, names_hosts, style);
  if (shown < groups.size()) text += fmt::format("           and {} more\n", groups.size() - shown);
  return text;
}

/// Warnings, except the one in the headline.
std::vector<Group> warnings_of(std::span<const Finding> findings) {
  std::vector<Group> groups = groups_of(findings, 1);
  if (const auto first = first_broken(findings))
    std::erase_if(groups, [&](const Group& group) {
      return group.chain.first->id == first->first->id && group.alike.empty();
    });
  return groups;
}

/// A blocker with its evidence and its fix; long evidence and many consequences are shortened.
std::string in_full(const Group& group, bool names_hosts, const Style& style) {
  Finding finding = *group.chain.first;
  if (names_hosts && !group.hosts.empty()) finding.message += " on " + listed(group.hosts);
  const auto rows = base::lines(finding.evidence.text());
  if (rows.size() > most_evidence) {
    std::string evidence;
    for (const std::string_view row : rows | std::views::take(most_evidence))
      evidence += fmt::format("{}\n", row);
    finding.evidence = evidence + fmt::format("and {} more", count(rows.size() - most_evidence, "line"));
  }
  std::vector<const Finding*> also = group.alike;
  also.insert(also.end(), group.chain.follow.begin(), group.chain.follow.end());
  const std::size_t more = also.size() > most_follow ? also.size() - most_follow : 0;
  also.resize(also.size() - more);
  std::string text = one(finding, also, style);
  if (more > 0) text += fmt::format("           also: {} more\n", more);
  return text;
}

/// The number of rows of a text without colors: text that may be copied is not wrapped.
std::size_t rows_of(std::string_view text, const Style& style) {
  const std::size_t width = style.width == 0 ? 80 : style.width;
  std::size_t rows = 0;
  for (const std::string_view line : base::lines(text))
    rows += std::max<std::size_t>(1, (line.size() + width - 1) / width);
  return rows;
}

/// Blockers, the first broken link last: that one in full, and as many of the others as fit; the rest in one
/// line each. `rows`: the remaining rows of the screen.
std::string blockers_of(std::span<const Finding> findings, std::size_t& rows, const Style& style) {
  const bool names_hosts = has_several_hosts(findings);
  Style plain = style;
  plain.color = Color::no;
  std::vector<Group> groups = groups_of(findings, 0);
  const auto first = first_broken(findings);
  std::ranges::stable_partition(
      groups, [&](const Group& group) { return group.chain.first->id != first->first->id; });
  std::string text;
  std::size_t left = groups.size();
  for (; left > 0; --left) {
    const std::size_t needs = rows_of(in_full(groups[left - 1], names_hosts, plain), style);
    if (!text.empty() && needs + std::min(left - 1, most_lines) > rows) break;
    text = in_full(groups[left - 1], names_hosts, style) + text;
    rows -= std::min(rows, needs);
  }
  rows -= std::min({rows, left, most_lines});
  return lines_of(std::span(groups).first(left), most_lines, names_hosts, style) + text;
}

bool has_blocker(std::span<const Finding> findings) {
  return std::ranges::any_of(findings, blocks);
}

/// "1 host: 1 warning, 7 notes, 75 passed", and how to list them.
std::string counts(std::span<const Finding> findings, const Style& style) {
  const Tally sum = tally(findings);
  return indent_rest(fmt::format("{}: {} (-v lists all)", subject_of(sum), to_text(sum)), 2, style) + "\n";
}

}  // namespace

std::string short_details(std::span<const Finding> findings, const Style& style) {
  std::size_t rows = most_findings;
  const std::string blockers = blockers_of(findings, rows, style);
  const std::size_t most = std::clamp<std::size_t>(rows, 2, most_lines);
  return lines_of(warnings_of(findings), most, has_several_hosts(findings), style) + blockers +
         counts(findings, style);
}

std::string short_text(std::span<const Finding> findings, const Style& style) {
  return headline(findings, style) + "\n" +
         lines_of(warnings_of(findings), has_blocker(findings) ? most_lines : most_warnings,
                  has_several_hosts(findings), style) +
         counts(findings, style);
}

}  // namespace report
