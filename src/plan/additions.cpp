#include "gpuadm/plan/plan.hpp"

#include <fmt/format.h>

namespace plan {

namespace {

using Place = std::pair<std::string, std::string>;  // host, id of the step

/// By host and id.
std::map<Place, const Action*> actions_of(const Plan& plan) {
  std::map<Place, const Action*> all;
  for (const Stage& stage : plan.stages)
    for (const Walk& walk : stage.walks)
      for (const Action& action : walk.actions) all.emplace(Place(walk.host, action.id), &action);
  return all;
}

/// The content of a file; for other steps nothing: their variables are read again before they are applied.
std::string content_of(const Action& action) {
  const auto content = action.variables.find("content");
  return content == action.variables.end() ? std::string() : content->second;
}

/// Why the step differs, or nothing.
const char* difference(const Action& before, const Action& now) {
  if (before.title != now.title) return "it does something else";
  if (before.path != now.path || content_of(before) != content_of(now)) return "the content differs";
  if (before.effects.packages != now.effects.packages) return "the packages differ";
  if (before.effects.restarts != now.effects.restarts) return "the restarts differ";
  return before.effects.reboot != now.effects.reboot ? "the reboot differs" : nullptr;
}

}  // namespace

std::vector<std::string> additions(const Plan& before, const Plan& now) {
  const auto agreed = actions_of(before);
  std::vector<std::string> all;
  for (const auto& [place, action] : actions_of(now)) {
    if (action->drifts) continue;
    const auto same = agreed.find(place);
    const char* why = same == agreed.end() ? "a new step" : difference(*same->second, *action);
    if (why) all.push_back(fmt::format("{}: {} ({})", place.first, action->title, why));
  }
  return all;
}

}  // namespace plan
