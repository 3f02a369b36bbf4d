#include "checks/evidence.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/checks/checks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace checks {

bool rests_on(std::string_view reads, std::string_view section) {
  return std::ranges::any_of(base::words(reads), [&](std::string_view pattern) {
    return pattern.ends_with('*') ? section.starts_with(pattern.substr(0, pattern.size() - 1))
                                  : section == pattern;
  });
}

std::optional<std::string> unread_evidence(std::string_view reads,
                                           const std::map<std::string, std::string>& unread) {
  for (const auto& [name, why] : unread)
    if (rests_on(reads, name)) return fmt::format("{} could not be read: {}", name, why);
  return std::nullopt;
}

std::optional<std::string> unread_for_plan(const facts::Facts& facts) {
  return unread_evidence(plan_reads, facts.unread);
}

}  // namespace checks
