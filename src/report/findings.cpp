#include "gpuadm/report/findings.hpp"

#include "gpuadm/base/text.hpp"

#include "report/chains.hpp"
#include "report/one_finding.hpp"
#include "report/paint.hpp"
#include "report/tally.hpp"

#include <fmt/format.h>

#include <map>

namespace report {
namespace {

/// A pass or a skipped check: one line.
std::string closed(const Finding& finding, const Style& style) {
  return fmt::format("  {:<8} {}\n", name_of(finding.verdict), message(finding, style));
}

/// Checks that are unknown for the same reason: "unknown  nvidia-smi-xml could not be read: timed out
/// (gpu.health.ecc-mode and 31 more checks)"
std::string unknown_group(std::span<const Finding* const> alike, const Style& style) {
  Finding all = *alike.front();
  all.id += fmt::format(" and {}", count(alike.size() - 1, "more check"));
  if (style.verbosity >= Verbosity::verbose) {
    std::vector<std::string> ids;
    for (const Finding* finding : alike) ids.push_back(finding->id);
    all.id = base::join(ids, ", ");
  }
  return one(all, {}, style);
}

/// Everything about one host; hosts with the same body are shown together.
std::string body(std::span<const Finding* const> findings, const Style& style) {
  Tally all;
  for (const Finding* finding : findings) all.add(*finding);
  std::string text;
  std::map<std::string_view, std::vector<const Finding*>> unknown;  // by the reason
  const std::vector<Chain> all_chains = chains(findings);
  for (const Chain& chain : all_chains)
    if (chain.first->verdict == Verdict::unknown && chain.follow.empty())
      unknown[chain.first->message].push_back(chain.first);
  for (const Chain& chain : all_chains) {
    const auto alike = unknown.find(chain.first->message);
    if (chain.first->verdict != Verdict::unknown || alike == unknown.end() || alike->second.size() < 2)
      text += one(*chain.first, chain.follow, style);
    else if (alike->second.front() == chain.first)
      text += unknown_group(alike->second, style);
  }
  if (style.verbosity >= Verbosity::verbose)
    for (const Finding* finding : findings)
      if (!is_open(*finding)) text += closed(*finding, style);
  return text + fmt::format("  {}\n", to_text(all));
}

std::string heading(const std::vector<std::string>& hosts) {
  constexpr std::size_t most = 8;
  const std::vector<std::string> first(
      hosts.begin(), hosts.begin() + static_cast<std::ptrdiff_t>(std::min(most, hosts.size())));
  std::string text = base::printable(base::join(first, ", "), 1000);
  if (hosts.size() > most) text += fmt::format(" and {} more", hosts.size() - most);
  return text;
}

}  // namespace

std::string to_text(std::span<const Finding> findings, const Style& style) {
  return headline(findings, style) + "\n\n" + details(findings, style);
}

std::string details(std::span<const Finding> findings, const Style& style) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;  // body -> hosts
  for (const auto& [name, of_host] : by_host(findings)) {
    const std::string text = body(of_host, style);
    auto at = std::ranges::find(groups, text, [](const auto& group) { return group.first; });
    if (at == groups.end()) at = groups.insert(at, {text, {}});
    at->second.push_back(name);
  }
  std::string text;
  const Tally sum = tally(findings);
  if (style.verbosity != Verbosity::quiet || sum.blockers > 0)
    for (const auto& [shown, names] : groups)
      text += fmt::format("{}\n{}\n", paint(style, Ink::bold, heading(names)), shown);
  return text + fmt::format("{}: {}\n", subject_of(sum), to_text(sum));
}

}  // namespace report
