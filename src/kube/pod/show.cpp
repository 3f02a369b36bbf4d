#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/report/columns.hpp"
#include "gpuadm/report/wrap.hpp"

#include "kube/log/error_line.hpp"
#include "kube/log/logs.hpp"
#include "kube/pod/context.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kube {

namespace {

using base::Tree;

constexpr std::size_t shown_holders = 6, shown_lines = 8, shown_others = 3, shown_evidence = 4;

std::string line(std::string_view label, std::string_view text, std::size_t width, bool is_typed = false) {
  const std::string one = base::printable(text, 1000);
  return fmt::format("  {:<5} {}\n", label,
                     is_typed ? report::padded(one, 8, width) : report::wrapped(one, 8, width));
}

std::string holders_text(const PodExplanation& explanation, std::size_t width) {
  if (explanation.holders.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const GpuHolder& one : explanation.holders) {
    if (rows.size() == shown_holders) break;
    rows.push_back({"    " + base::printable(one.holder), base::printable(one.node),
                    pod::pieces(static_cast<double>(one.count), base::printable(one.resource)),
                    one.since ? "since " + pod::clock_text(*one.since, explanation.clock) : ""});
  }
  std::string text = "  held by:\n" + report::columns(rows, width, {0, 1});
  if (explanation.holders.size() > shown_holders)
    text += fmt::format("    and {} others\n", explanation.holders.size() - shown_holders);
  return text;
}

std::string logs_text(const PodExplanation& explanation) {
  std::string text;
  // One log, so that it fits on a screen.
  for (const LogExcerpt& log : explanation.logs) {
    text += "  " + log.title() + "\n";
    for (const std::string& one : log.shown(shown_lines))
      text += "    " + base::printable(pod::as_shown(one), 200) + "\n";
    break;
  }
  return text;
}

std::string others_text(const PodExplanation& explanation, std::size_t width) {
  std::string text;
  for (std::size_t i = 0; i < explanation.others.size() && i < shown_others; ++i) {
    const OtherPod& one = explanation.others[i];
    text +=
        line(i == 0 ? "also:" : "",
             fmt::format("{} is {}{}", one.name, one.status, one.what.empty() ? "" : ": " + one.what), width);
  }
  if (explanation.others.size() > shown_others)
    text += line("", fmt::format("and {} other pods", explanation.others.size() - shown_others), width);
  return text;
}

std::string_view name_of(LinkState state) {
  switch (state) {
    case LinkState::passed:
      return "passed";
    case LinkState::broken:
      return "broken";
    case LinkState::unknown:
      break;
  }
  return "unknown";
}

Tree time_tree(std::optional<double> seconds) {
  if (!seconds) return {};
  return base::iso8601(base::Time{std::chrono::seconds(static_cast<long long>(*seconds))});
}

Tree to_tree(const PodLink& link) {
  return Tree::map_of({{"link", link.link},
                       {"state", std::string(name_of(link.state))},
                       {"reason", link.reason},
                       {"what", link.what},
                       {"seen", Tree::list_of(link.seen)},
                       {"fix", link.fix}});
}

}  // namespace

std::span<const std::string> LogExcerpt::shown(std::size_t most) const {
  const std::size_t count = std::min(end > 0 ? end : lines.size(), lines.size());
  return std::span(lines).subspan(count > most ? count - most : 0, std::min(count, most));
}

std::string LogExcerpt::title() const {
  const std::string whose = base::printable(container, 80) + (is_previous ? " before its restart" : "");
  if (is_message) return fmt::format("termination message of container {}:", whose);
  return end > 0 && end < lines.size() ? fmt::format("log of container {} up to its error:", whose)
                                       : fmt::format("last log lines of container {}:", whose);
}

std::string node_to_inspect(const PodExplanation& explanation) {
  const PodLink* first = explanation.first();
  if (!first || explanation.node.empty() || first->state != LinkState::broken) return {};
  const bool is_exit = first->link == "run" && (first->reason == "exit-code" || first->reason == "aborted");
  return pod::is_about_gpus(first->reason) ||
                 (is_exit &&
                  std::ranges::any_of(explanation.logs,
                                      [](const LogExcerpt& log) {
                                        return std::ranges::any_of(log.lines, [](const std::string& one) {
                                          return pod::mentions_any(one, {"cuda", "nccl", "nvidia", "nvml"});
                                        });
                                      }))
             ? explanation.node
             : std::string();
}

std::string to_text(const PodExplanation& explanation, std::size_t width) {
  const PodLink* first = explanation.first();
  const std::string what = first                       ? first->what
                           : explanation.links.empty() ? ""
                                                       : explanation.links.back().what;
  std::string text =
      report::wrapped(base::printable(fmt::format("{}: {}", explanation.status, what), 1000), 2, width) +
      "\n";
  const std::string full =
      explanation.ns + "/" + (explanation.pod.empty() ? explanation.name : explanation.pod);
  text += line(explanation.pod.empty() ? "name:" : "pod:",
               full + (explanation.node.empty() ? "" : " on node " + explanation.node), width);
  if (first) {
    for (std::size_t i = 0; i < first->seen.size() && i < shown_evidence; ++i)
      if (!first->seen[i].empty()) text += line("seen:", first->seen[i], width);
    if (!first->fix.empty()) text += line("fix:", first->fix, width, true);
  } else {
    for (const PodLink& link : explanation.links)
      for (const std::string& seen : link.seen) text += line("seen:", seen, width);
  }
  return text + holders_text(explanation, width) + logs_text(explanation) + others_text(explanation, width);
}

Tree to_tree(const PodExplanation& explanation) {
  Tree links = Tree::list(), holders = Tree::list(), logs = Tree::list(), others = Tree::list();
  for (const PodLink& link : explanation.links) links.push(to_tree(link));
  for (const GpuHolder& one : explanation.holders)
    holders.push(Tree::map_of({{"holder", one.holder},
                               {"namespace", one.ns},
                               {"pod", one.pod},
                               {"node", one.node},
                               {"resource", one.resource},
                               {"count", static_cast<std::int64_t>(one.count)},
                               {"since", time_tree(one.since)}}));
  for (const LogExcerpt& log : explanation.logs)
    logs.push(Tree::map_of({{"container", log.container},
                            {"previous", log.is_previous},
                            {"message", log.is_message},
                            {"lines", Tree::list_of(log.lines)}}));
  for (const OtherPod& one : explanation.others)
    others.push(Tree::map_of({{"pod", one.name}, {"status", one.status}, {"what", one.what}}));
  const PodLink* first = explanation.first();
  return Tree::map_of({{"namespace", explanation.ns},
                       {"name", explanation.name},
                       {"kind", explanation.kind},
                       {"pod", explanation.pod},
                       {"node", explanation.node},
                       {"status", explanation.status},
                       {"runs", explanation.is_well()},
                       {"reason", first ? Tree(first->reason) : Tree()},
                       {"message", explanation.headline()},
                       {"fix", first ? Tree(first->fix) : Tree()},
                       {"links", links},
                       {"holders", holders},
                       {"logs", logs},
                       {"otherPods", others}});
}

}  // namespace kube
