#include "gpuadm/kube/unready.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include "kube/pod/context.hpp"

#include <fmt/format.h>

namespace kube {

namespace {

using base::Tree;

constexpr std::string_view mark = "gpuadm-pod\t";

/// The columns of a line: name, node, status. A status that cannot be read is missing.
Pod pod_in(std::string_view line) {
  const auto columns = base::split(line.substr(mark.size()), '\t');
  const auto column = [&](std::size_t at) {
    return at < columns.size() ? base::printable(columns[at], 253) : std::string();
  };
  const auto status = columns.size() > 2 ? base::json::read(columns[2], "kubectl") : Tree();
  return read_pod(Tree::map_of({{"metadata", Tree::map_of({{"name", column(0)}})},
                                {"spec", Tree::map_of({{"nodeName", column(1)}})},
                                {"status", status ? *status : Tree()}}));
}

std::string sentence_on(const Pod& pod, const PodVerdict& verdict) {
  const std::string where = pod.node.empty() ? "" : " on " + pod.node;
  const std::string what = !verdict.text.empty()             ? verdict.text
                           : verdict.stage == Stage::running ? "not ready"
                                                             : base::printable(pod::status_of(pod), 100);
  return fmt::format("{}{}: {}", pod.name, where, what);
}

}  // namespace

WaitOutput read_unready(std::string_view output, const WaitRules& rules, WaitMemory& memory,
                        base::Instant now) {
  std::vector<std::string> lines, hopeless;
  for (const std::string_view line : base::lines(output)) {
    if (!line.starts_with(mark)) {
      lines.emplace_back(line);
      continue;
    }
    Pod pod = pod_in(line);
    for (Container& container : pod.containers)
      container.restarts -=
          memory.restarts.try_emplace(pod.name + "/" + container.name, container.restarts).first->second;
    const PodVerdict verdict = judge(pod, rules);
    lines.push_back(sentence_on(pod, verdict));
    if (verdict.outlook == Outlook::hopeless) hopeless.push_back(lines.back());
  }
  if (hopeless.empty())
    memory.hopeless_since.reset();
  else if (!memory.hopeless_since)
    memory.hopeless_since = now;
  if (!hopeless.empty() &&
      !ends_wait(rules, Outlook::hopeless,
                 std::chrono::duration_cast<std::chrono::seconds>(now - *memory.hopeless_since)))
    hopeless.clear();
  return {base::join(lines, "\n"), base::join(hopeless, "\n")};
}

}  // namespace kube
