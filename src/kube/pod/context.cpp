#include "kube/pod/context.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace kube::pod {

PodLink passed(std::string link, std::string what) {
  return {std::move(link), LinkState::passed, {}, std::move(what), {}, {}};
}

PodLink pending(std::string link, std::string what, std::vector<std::string> seen) {
  return {std::move(link), LinkState::unknown, {}, std::move(what), std::move(seen), {}};
}

PodLink broken(std::string link, std::string reason, std::string what, std::vector<std::string> seen,
               std::string fix) {
  std::erase(seen, "");
  return {std::move(link), LinkState::broken, std::move(reason),
          std::move(what), std::move(seen),   std::move(fix)};
}

const PodEvent* latest(const Context& context, std::initializer_list<std::string_view> reasons) {
  const PodEvent* found = nullptr;
  for (const PodEvent* event : context.events)
    if (std::ranges::find(reasons, event->reason) != reasons.end()) found = event;
  return found;
}

std::string evidence(const PodEvent& event, const PodView& view) {
  std::string text = fmt::format("{}: {}", event.reason, brief(event.message));
  if (event.count > 1 && event.last)
    return fmt::format("{} ({} times, last at {})", text, event.count,
                       clock_text(*event.last, view.cluster.clock));
  if (event.last) text += fmt::format(" (at {})", clock_text(*event.last, view.cluster.clock));
  return text;
}

const PodEvent* workload_event(const PodView& view, const std::string& prefix) {
  const PodEvent* last = nullptr;
  if (view.events)
    for (const PodEvent& event : *view.events)
      if (event.kind == "Workload" && event.type == "Warning" && event.name.starts_with(prefix) &&
          event.name.find('-', prefix.size()) == std::string::npos)
        last = &event;
  return last;
}

bool has_started(const Pod& pod) {
  return std::ranges::any_of(pod.containers, [](const Container& container) {
    return container.state.kind == "running" || container.state.kind == "terminated" ||
           container.last.kind == "terminated" || container.restarts > 0;
  });
}

const Container* culprit(const Pod& pod) {
  const bool is_initializing = std::ranges::none_of(pod.containers, [](const Container& one) {
    return !one.is_init && (ending(one) || one.state.kind == "running");
  });
  for (const Container& one : pod.containers) {
    if (!one.is_init || !one.has_status) continue;
    // A sidecar has a startup probe, or counts as started when it runs.
    const bool is_past = one.restarts_always ? !is_initializing || one.is_started ||
                                                   (one.state.kind == "running" && one.startup.target.empty())
                                             : one.state.kind == "terminated" && one.state.exit_code == 0;
    if (!is_past) return &one;
  }
  // Sidecars end after the containers.
  std::vector<const Container*> all;
  for (const bool is_init : {false, true})
    for (const Container& one : pod.containers)
      if (one.is_init == is_init) all.push_back(&one);
  const auto find = [&](auto&& wanted) {
    const auto place = std::ranges::find_if(all, [&](const Container* one) { return wanted(*one); });
    return place == all.end() ? nullptr : *place;
  };
  // Of several that ended, the others often only lost the one that was killed.
  if (const auto* one = find([](const Container& each) {
        const ContainerState* ended = ending(each);
        return ended && ended->reason == "OOMKilled" && each.state.kind != "running";
      }))
    return one;
  if (const auto* one = find(
          [](const Container& each) { return each.state.kind == "terminated" && each.state.exit_code != 0; }))
    return one;
  if (const auto* one = find([](const Container& each) { return each.state.kind == "waiting"; })) return one;
  for (const Container& one : pod.containers)
    if (one.state.kind == "running" && !one.ready) return &one;
  return nullptr;
}

const ContainerState* ending(const Container& container) {
  if (container.state.kind == "terminated") return &container.state;
  return container.last.kind == "terminated" ? &container.last : nullptr;
}

std::optional<PodLink> other_wait(std::string link, const Pod& pod) {
  constexpr std::array<std::string_view, 4> known = {"", "ContainerCreating", "PodInitializing",
                                                     "CrashLoopBackOff"};
  for (const Container& one : pod.containers) {
    if (one.state.kind != "waiting" || std::ranges::find(known, one.state.reason) != known.end()) continue;
    PodLink waits = pending(std::move(link),
                            fmt::format("{} waits: {}{}{}", named(one), one.state.reason,
                                        one.state.message.empty() ? "" : ": ", brief(one.state.message)));
    waits.reason = "container-waits";
    return waits;
  }
  return std::nullopt;
}

std::string status_of(const Pod& pod) {
  if (pod.deleted) return "Terminating";
  if (!pod.reason.empty()) return pod.reason;
  const Container* one = culprit(pod);
  if (one) {
    const std::string prefix = one->is_init ? "Init:" : "";
    if (one->state.kind == "terminated" && one->state.exit_code != 0)
      return prefix + (one->state.reason.empty() ? "Error" : one->state.reason);
    if (one->state.kind == "waiting" && !one->state.reason.empty() && one->state.reason != "PodInitializing")
      return prefix + one->state.reason;
    if (one->is_init) return "Init";
  }
  if (pod.phase == "Succeeded") return "Completed";
  if (pod.phase == "Failed") return "Error";
  return pod.phase.empty() ? "Unknown" : pod.phase;
}

std::string named(const Container& container) {
  if (container.name.empty()) return container.is_init ? "an init container" : "the container";
  return (container.is_init ? "init container " : "container ") + container.name;
}

const facts::Node* node_named(const PodView& view, std::string_view name) {
  if (!view.cluster.nodes) return nullptr;
  const auto place = std::ranges::find(*view.cluster.nodes, name, &facts::Node::name);
  return place == view.cluster.nodes->end() ? nullptr : &*place;
}

bool mentions(std::string_view text, std::string_view part) {
  return base::lower(text).find(base::lower(part)) != std::string::npos;
}

bool mentions_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return mentions(text, part); });
}

std::string between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + before.size());
  const std::size_t end = text.find(after);
  return end == std::string_view::npos ? std::string() : std::string(text.substr(0, end));
}

std::string brief(std::string_view text, std::size_t limit) {
  std::string line;
  for (const char c : base::trim(text)) line += c == '\n' || c == '\t' || c == '\r' ? ' ' : c;
  if (line.size() <= limit) return line;
  // The cause is at the end of an error, unless it begins with a sentence. A character of several bytes is
  // not split.
  const auto boundary = [&](std::size_t at) {
    while (at > 0 && (static_cast<unsigned char>(line[at]) & 0xC0) == 0x80) --at;
    return at;
  };
  const std::size_t sentence = line.find(". ");
  const bool has_sentence = sentence != std::string::npos && sentence > limit / 3 &&
                            sentence < limit * 2 / 3 && line[sentence - 1] != '.';
  const std::size_t head = has_sentence ? sentence + 1 : limit / 3;
  const std::size_t tail = has_sentence ? limit - head : limit * 2 / 3;
  return line.substr(0, boundary(head)) + " ... " + line.substr(boundary(line.size() - tail));
}

std::string clock_text(double seconds, std::optional<double> now) {
  const base::Time time{std::chrono::seconds(static_cast<long long>(seconds))};
  const std::string text = base::iso8601(time);
  const bool is_recent = now && *now - seconds < 86400;
  return fmt::format("{}{} UTC", is_recent ? "" : text.substr(0, 10) + " ", text.substr(11, 5));
}

std::string pieces(double count, std::string_view resource) {
  const auto number = static_cast<long long>(std::llround(count));
  const char* plural = number == 1 ? "" : "s";
  if (resource == "nvidia.com/gpu") return fmt::format("{} GPU{}", number, plural);
  if (resource == "nvidia.com/gpu.shared") return fmt::format("{} GPU share{}", number, plural);
  if (resource.starts_with("nvidia.com/mig-"))
    return fmt::format("{} MIG device{} {}", number, plural, resource.substr(15));
  if (resource == "pods") return fmt::format("{} pod{}", number, plural);
  return fmt::format("{} of {}", number, resource);
}

std::string amount_text(double amount, std::string_view resource) {
  amount = std::max(0.0, amount);
  const auto bytes = [&] { return base::human_bytes(static_cast<unsigned long long>(amount)); };
  if (resource == "cpu")
    return fmt::format("{:g} CPU{}", std::round(amount / 100) / 10, amount == 1000 ? "" : "s");
  if (resource == "memory") return bytes() + " of memory";
  if (resource == "ephemeral-storage") return bytes() + " of ephemeral storage";
  if (resource.starts_with("hugepages-")) return bytes() + " of " + std::string(resource);
  return pieces(amount, resource);
}

std::string_view is_are(double count) {
  return count == 1 ? "is" : "are";
}

}  // namespace kube::pod
