#include "report/finding/chains.hpp"

#include <algorithm>
#include <map>

namespace report {

int rank(const Finding* finding) {
  if (finding->verdict == Verdict::unknown) return 3;
  return 2 - static_cast<int>(finding->severity);
}

namespace {

/// The root cause of a finding among those shown: the finding itself if nothing explains it, or if the causes
/// are cyclic. A note, and what is unknown, explain nothing that is worse.
const Finding* root(const Finding* finding, std::span<const Finding* const> shown) {
  const Finding* at = finding;
  for (std::size_t hop = 0; hop <= shown.size(); ++hop) {
    const auto cause = std::ranges::find(shown, at->caused_by, &Finding::id);
    const bool explains = cause != shown.end() && (rank(*cause) < 2 || rank(*cause) <= rank(at));
    if (!explains) return at;
    at = *cause;
  }
  return finding;
}

}  // namespace

std::string_view kind(const Finding& finding) {
  return finding.verdict == Verdict::unknown ? "unknown" : name_of(finding.severity);
}

std::vector<Chain> chains(std::span<const Finding* const> of_host) {
  std::vector<const Finding*> shown;
  for (const Finding* finding : of_host)
    if (is_open(*finding)) shown.push_back(finding);
  std::ranges::stable_sort(shown, {}, rank);
  std::vector<Chain> found;
  for (const Finding* finding : shown)
    if (root(finding, shown) == finding) found.push_back({finding, {}});
  for (const Finding* finding : shown)
    if (const Finding* first = root(finding, shown); first != finding)
      std::ranges::find(found, first, &Chain::first)->follow.push_back(finding);
  return found;
}

std::vector<std::pair<std::string, std::vector<const Finding*>>> by_host(std::span<const Finding> findings) {
  std::vector<std::pair<std::string, std::vector<const Finding*>>> hosts;
  std::map<std::string_view, std::size_t> places;
  for (const Finding& finding : findings) {
    const std::string_view name = finding.host.empty() ? "the whole cluster" : std::string_view(finding.host);
    const auto [place, fresh] = places.try_emplace(name, hosts.size());
    if (fresh) hosts.push_back({std::string(name), {}});
    hosts[place->second].second.push_back(&finding);
  }
  return hosts;
}

}  // namespace report
