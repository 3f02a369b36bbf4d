#include "gpuadm/cluster/verdict.hpp"

#include "gpuadm/report/findings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cluster {

namespace {

using base::Tree;
using report::Finding;

bool has_problem(const Verdict& verdict, std::string_view where) {
  return std::ranges::any_of(verdict.problems,
                             [&](const Problem& problem) { return problem.where == where; });
}

std::string place_of(const Finding& finding) {
  return finding.host.empty() ? std::string("the cluster") : finding.host.text();
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// A remedy is a sentence, or the id of a step.
std::string command_for(const Finding& finding) {
  const std::string remedy = first_line(finding.remedy);
  return remedy.starts_with("gpuadm ") ? remedy : "gpuadm explain " + finding.id.text();
}

/// Whether a problem that was seen is that of a finding. A finding of the whole cluster names its node only
/// in its sentence.
bool is_shown(std::span<const Problem> seen, const Finding& finding) {
  return std::ranges::any_of(seen, [&](const Problem& problem) {
    return (finding.host.empty() || problem.where == finding.host.text()) &&
           std::ranges::find(problem.checks, finding.id.text()) != problem.checks.end();
  });
}

void add_blockers(Verdict& verdict, std::span<const Finding> findings) {
  const std::vector<Problem> seen = verdict.problems;
  for (const report::Chain& chain : report::broken_chains(findings)) {
    const Finding& first = *chain.first;
    const bool blocks = report::blocks(first) || std::ranges::any_of(chain.follow, [](const Finding* one) {
                          return report::blocks(*one);
                        });
    const std::string where = place_of(first);
    if (!blocks || is_shown(seen, first)) continue;
    verdict.problems.push_back({where,
                                fmt::format("{} ({})", first_line(first.message), first.id.text()),
                                command_for(first),
                                {first.id.text()}});
  }
}

void add_links(Verdict& verdict, std::span<const GpuChain> chains) {
  for (const GpuChain& chain : chains) {
    if (chain.links.empty() || !report::is_open(chain.links.back())) continue;
    const Finding& link = chain.links.back();
    const std::string name = link.id.text().substr(link.id.text().find('.') + 1);
    const Problem problem{chain.host,
                          fmt::format("the link {} of its GPUs: {}", name, first_line(link.message)),
                          first_line(link.remedy),
                          {link.id.text()}};
    if (!report::is_broken(link))
      verdict.unread.push_back(problem);
    else if (!has_problem(verdict, chain.host))
      verdict.problems.push_back(problem);
  }
}

std::string counted(std::size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

}  // namespace

Health Verdict::health() const {
  if (!problems.empty()) return Health::ill;
  return unread.empty() ? Health::well : Health::unknown;
}

Verdict verdict_of(Verdict seen, std::span<const Finding> findings, std::span<const GpuChain> chains) {
  add_blockers(seen, findings);
  add_links(seen, chains);
  seen.unknown_checks +=
      static_cast<std::size_t>(std::ranges::count(findings, report::Verdict::unknown, &Finding::verdict));
  return seen;
}

std::string to_text(const Verdict& verdict) {
  const std::size_t unread = verdict.unread.size();
  std::string text = !verdict.problems.empty() ? counted(verdict.problems.size(), "problem") + " found"
                     : unread > 0              ? "the state is unknown"
                                               : "Cluster is healthy";
  if (unread > 0)
    text += fmt::format("; {} {} missing", counted(unread, "reading"), unread == 1 ? "is" : "are");
  if (verdict.unknown_checks > 0)
    text += fmt::format("; {} {} unknown", counted(verdict.unknown_checks, "check"),
                        verdict.unknown_checks == 1 ? "is" : "are");
  return text;
}

std::string to_text(const Verdict& verdict, const std::string& cluster) {
  const std::string text = to_text(verdict);
  constexpr std::string_view begin = "Cluster ";
  return text.starts_with(begin) ? fmt::format("Cluster {} {}", cluster, text.substr(begin.size()))
                                 : fmt::format("Cluster {}: {}", cluster, text);
}

Tree to_tree(const std::vector<Problem>& problems) {
  Tree list = Tree::list();
  for (const Problem& problem : problems)
    list.push(Tree::map_of({{"where", problem.where}, {"what", problem.what}, {"remedy", problem.remedy}}));
  return list;
}

Tree to_tree(const Verdict& verdict) {
  const Health health = verdict.health();
  return Tree::map_of({{"health", health == Health::well  ? "healthy"
                                  : health == Health::ill ? "problems"
                                                          : "unknown"},
                       {"text", to_text(verdict)},
                       {"problems", to_tree(verdict.problems)},
                       {"unread", to_tree(verdict.unread)}});
}

}  // namespace cluster
