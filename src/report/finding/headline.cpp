#include "gpuadm/base/text.hpp"
#include "gpuadm/report/findings.hpp"

#include "report/finding/chains.hpp"
#include "report/paint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace report {
namespace {

bool any_broken(const Chain& chain) {
  return is_broken(*chain.first) ||
         std::ranges::any_of(chain.follow, [](const Finding* finding) { return is_broken(*finding); });
}

int gravest(const Chain& chain) {
  int worst = rank(chain.first);
  for (const Finding* finding : chain.follow) worst = std::min(worst, rank(finding));
  return worst;
}

/// " on gpu1 and 2 more hosts", or empty if there is only one host.
std::string where(const std::vector<std::string>& hosts, std::span<const Finding> findings) {
  std::set<std::string_view> all;
  for (const Finding& finding : findings)
    if (!finding.host.empty()) all.insert(finding.host);
  if (all.size() < 2 || hosts.front().empty()) return {};
  std::string text = " on " + base::printable(hosts.front());
  if (hosts.size() > 1) text += " and " + count(hosts.size() - 1, "more host");
  return text;
}

/// "; 3 checks are unknown", or empty.
std::string unknown_text(std::span<const Finding> findings) {
  const auto unknown = std::ranges::count(findings, Verdict::unknown, &Finding::verdict);
  return unknown == 0 ? ""
                      : fmt::format("; {} {} unknown", count(static_cast<std::size_t>(unknown), "check"),
                                    unknown == 1 ? "is" : "are");
}

std::string nothing_broken(std::span<const Finding> findings) {
  if (findings.empty()) return "Nothing was checked";
  const std::string rest = unknown_text(findings);
  return rest.empty() ? "Nothing is broken" : "No problem was found" + rest;
}

}  // namespace

std::vector<Chain> broken_chains(std::span<const Finding> findings) {
  std::map<std::string_view, std::size_t> order;  // of the checks: every host has the table's order
  for (const Finding& finding : findings) order.emplace(finding.id, order.size());
  std::vector<Chain> all;
  for (const auto& [host, of_host] : by_host(findings))
    std::ranges::copy_if(chains(of_host), std::back_inserter(all), any_broken);
  std::ranges::stable_sort(all, {}, [&](const Chain& chain) {
    return std::tuple(gravest(chain), rank(chain.first), order.at(chain.first->id));
  });
  return all;
}

std::optional<Chain> first_broken(std::span<const Finding> findings) {
  const std::vector<Chain> all = broken_chains(findings);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

std::string headline(std::span<const Finding> findings, const Style& style) {
  const std::vector<Chain> all = broken_chains(findings);
  if (all.empty()) return paint(style, Ink::bold, nothing_broken(findings));
  const Finding& first = *all.front().first;
  std::vector<std::string> hosts;
  std::set<const Finding*> follow;
  for (const Chain& chain : all) {
    if (chain.first->id != first.id) continue;
    if (std::ranges::find(hosts, chain.first->host.text()) == hosts.end()) hosts.push_back(chain.first->host);
    follow.insert(chain.follow.begin(), chain.follow.end());
  }
  const bool blocks = gravest(all.front()) == 0;
  std::string text =
      fmt::format("{}: {} ({}){}", blocks ? "First broken link" : "Warning", first_line(first.message),
                  base::printable(first.id), where(hosts, findings));
  if (!follow.empty())
    text += fmt::format("; {} {} from it", count(follow.size(), "finding"),
                        follow.size() == 1 ? "follows" : "follow");
  text = indent_rest(text + unknown_text(findings), 0, style);
  return paint(style, blocks ? Ink::red : Ink::yellow, text);
}

}  // namespace report
