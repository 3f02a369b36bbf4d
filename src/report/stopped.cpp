#include "gpuadm/base/text.hpp"
#include "gpuadm/report/findings.hpp"

#include "report/paint.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace report {

namespace {

/// A blocker and its hosts.
struct Blocker {
  std::string id, message;
  std::vector<std::string> hosts;
};

std::vector<Blocker> blockers_in(std::span<const Finding> findings) {
  std::vector<Blocker> all;
  for (const Finding& finding : findings) {
    if (!blocks(finding)) continue;
    const std::string message = first_line(finding.message);
    auto known = std::ranges::find_if(
        all, [&](const Blocker& one) { return one.id == finding.id && one.message == message; });
    if (known == all.end()) known = all.insert(all.end(), {finding.id, message, {}});
    if (!finding.host.empty()) known->hosts.push_back(base::printable(finding.host));
  }
  return all;
}

}  // namespace

std::string stopped(std::span<const Finding> findings, const Style& style) {
  const std::vector<Blocker> all = blockers_in(findings);
  if (all.empty()) return {};
  std::string text = fmt::format("stopped by {}; nothing was changed\n", count(all.size(), "blocker"));
  for (const Blocker& one : all) {
    std::string line = fmt::format("{}: {}", base::printable(one.id), one.message);
    if (!one.hosts.empty()) line += fmt::format(" ({})", base::join(one.hosts, ", "));
    text += "  " + hang(line, 4, style) + "\n";
  }
  const std::string next =
      fmt::format("correct {}, then run the same command again; `gpuadm explain {}` describes it",
                  all.size() == 1 ? "it" : "them", base::printable(all.front().id));
  return text + "  do: " + indent_typed(next, 6, style) + "\n";
}

}  // namespace report
