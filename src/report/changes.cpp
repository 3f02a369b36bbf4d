#include "gpuadm/report/changes.hpp"

#include "gpuadm/base/text.hpp"

#include "report/chains.hpp"
#include "report/paint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace report {

namespace {

/// Identity of a finding: for several of one check on one host, includes their order.
using Key = std::tuple<std::string, std::string, int>;

std::vector<std::pair<Key, const Finding*>> keyed(std::span<const Finding> findings) {
  std::map<std::pair<std::string, std::string>, int> seen;
  std::vector<std::pair<Key, const Finding*>> found;
  for (const Finding& finding : findings)
    if (is_open(finding))
      found.push_back({{finding.host, finding.id, seen[{finding.host, finding.id}]++}, &finding});
  return found;
}

std::string without_numbers(std::string_view text) {
  std::string kept;
  for (const char c : text)
    if ((c < '0' || c > '9') && c != '.') kept += c;
  return kept;
}

bool differ(const Finding& a, const Finding& b) {
  return a.severity != b.severity || a.verdict != b.verdict || a.message != b.message ||
         without_numbers(a.evidence) != without_numbers(b.evidence);
}

/// To the second: 2026-11-21T10:00:00Z.
std::string clock_of(base::Time at) {
  return base::iso8601(at).substr(0, 19) + "Z";
}

}  // namespace

std::vector<Change> changes(std::span<const Finding> before, std::span<const Finding> now, base::Time at) {
  std::map<Key, const Finding*> old;
  for (const auto& [key, finding] : keyed(before)) old.emplace(key, finding);
  std::vector<Change> found;
  for (const auto& [key, finding] : keyed(now)) {
    const auto known = old.find(key);
    if (known == old.end())
      found.push_back({Turn::appeared, at, *finding});
    else if (differ(*known->second, *finding))
      found.push_back({Turn::changed, at, *finding});
    if (known != old.end()) old.erase(known);
  }
  for (const auto& [key, finding] : old) found.push_back({Turn::gone, at, *finding});
  return found;
}

std::string_view name_of(Turn turn) {
  switch (turn) {
    case Turn::appeared:
      return "new";
    case Turn::gone:
      return "gone";
    case Turn::changed:
      return "changed";
  }
  return "?";
}

std::string to_text(const Change& change, const Style& style) {
  const Finding& finding = change.finding;
  const bool gone = change.turn == Turn::gone;
  return fmt::format("{} {} {} {} {}: {}", clock_of(change.at),
                     paint(style, gone ? Ink::green : Ink::bold, fmt::format("{:<7}", name_of(change.turn))),
                     base::printable(finding.host.empty() ? "cluster" : finding.host.text()),
                     gone ? paint(style, Ink::dim, kind(finding)) : paint(style, finding, kind(finding)),
                     finding.id, first_line(finding.message));
}

base::Tree to_tree(const Change& change) {
  base::Tree tree = base::Tree::map_of({{"at", base::iso8601(change.at)}, {"change", name_of(change.turn)}});
  const base::Tree finding = to_tree(change.finding);
  for (const auto& [key, value] : finding.entries()) tree.set(key, value);
  return tree;
}

}  // namespace report
