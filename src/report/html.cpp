#include "gpuadm/base/text.hpp"
#include "gpuadm/report/findings.hpp"

#include "report/chains.hpp"
#include "report/html_style.hpp"
#include "report/markup.hpp"
#include "report/paint.hpp"
#include "report/tally.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace report {

namespace {

using OfHost = std::pair<std::string, std::vector<const Finding*>>;

/// Titles of the first components of ids.
constexpr std::pair<std::string_view, std::string_view> areas[] = {
    {"host", "system"},     {"kernel", "kernel"}, {"sec", "security"}, {"gpu", "GPU"},
    {"rdma", "RDMA"},       {"rt", "runtime"},    {"nct", "toolkit"},  {"kubeadm", "kubeadm"},
    {"kubelet", "kubelet"}, {"net", "network"},   {"st", "storage"},   {"cl", "control plane"},
    {"gk", "GPU in pods"}};

std::string tiles(const Tally& sum) {
  std::string text = "<ul class=\"tiles\">\n";
  for (const auto& [kind, word, number] : {std::tuple{"", std::string_view("hosts"), sum.hosts.size()},
                                           {"blocker", "blockers", sum.blockers},
                                           {"warning", "warnings", sum.warnings},
                                           {"note", "notes", sum.notes},
                                           {"unknown", "unknown", sum.unknown},
                                           {"pass", "passed", sum.passed},
                                           {"", "not applicable", sum.skipped}})
    if (number > 0)
      text += fmt::format("<li class=\"{}\"><b>{}</b>{}</li>\n", kind, number,
                          number == 1 && word.ends_with('s') ? word.substr(0, word.size() - 1) : word);
  return text + "</ul>\n";
}

/// A one-sentence summary.
std::string in_short(std::span<const Finding> findings) {
  return fmt::format("<p class=\"short\">{}</p>\n", escape(headline(findings, {})));
}

/// "gpu" of "gpu.driver.installed".
std::string area_of(const Finding& finding) {
  return finding.id.substr(0, finding.id.find('.'));
}

/// The anchor of a host's findings on the page.
std::string anchor_of(std::size_t group) {
  return fmt::format("group-{}", group + 1);
}

/// The state of a host in one area: the symbol of the highest severity, and the number of such findings.
/// Symbols and words, not only colors.
std::string cell(const std::vector<const Finding*>& of_area) {
  if (of_area.empty()) return "<td class=\"none\" title=\"not checked\"></td>";
  if (std::ranges::all_of(of_area, [](const Finding* f) { return f->verdict == Verdict::skip; }))
    return "<td class=\"none\" title=\"not applicable\">–</td>";
  std::vector<const Finding*> shown;
  std::ranges::copy_if(of_area, std::back_inserter(shown), [](const Finding* f) { return is_open(*f); });
  if (shown.empty()) return "<td class=\"pass\">ok</td>";
  const int worst = rank(*std::ranges::min_element(shown, {}, rank));
  const auto same = std::ranges::count(shown, worst, rank);
  constexpr std::string_view signs[] = {"✕", "!", "i", "?"};
  const auto word = kind(**std::ranges::find(shown, worst, rank));
  return fmt::format("<td class=\"{0}\" title=\"{1} {0}\">{2} {1}</td>", word, same, signs[worst]);
}

/// Hosts with the same findings are shown together, as in the text.
struct HostGroup {
  std::string body;
  std::vector<std::string> hosts;
};

/// The checked areas, in the order above; unknown ones are last, with their own names.
std::vector<std::pair<std::string, std::string>> columns_of(std::span<const OfHost> hosts) {
  std::set<std::string> seen;
  for (const auto& [host, findings] : hosts)
    for (const Finding* finding : findings) seen.insert(area_of(*finding));
  std::vector<std::pair<std::string, std::string>> columns;
  for (const auto& [area, name] : areas)
    if (seen.erase(std::string(area)) > 0) columns.emplace_back(area, name);
  for (const std::string& area : seen) columns.emplace_back(area, escape(area));
  return columns;
}

std::string matrix(std::span<const OfHost> hosts, std::span<const HostGroup> groups) {
  const auto columns = columns_of(hosts);
  std::string text = "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">host</th>";
  for (const auto& [area, name] : columns) text += fmt::format("<th scope=\"col\">{}</th>", name);
  text += "</tr></thead>\n<tbody>\n";
  for (const auto& [host, findings] : hosts) {
    std::map<std::string, std::vector<const Finding*>> by_area;
    for (const Finding* finding : findings) by_area[area_of(*finding)].push_back(finding);
    const auto group = std::ranges::find_if(
        groups, [&](const HostGroup& g) { return std::ranges::find(g.hosts, host) != g.hosts.end(); });
    text += fmt::format("<tr><th scope=\"row\"><a href=\"#{}\">{}</a></th>",
                        anchor_of(static_cast<std::size_t>(group - groups.begin())), escape(host));
    for (const auto& [area, name] : columns) text += cell(by_area[area]);
    text += "</tr>\n";
  }
  return text +
         "</tbody></table></div>\n<p class=\"legend\">✕ blocker, ! warning, i note, ? unknown, "
         "– not applicable, empty: not checked; the number is the count.</p>\n";
}

std::string term(std::string_view word, std::string_view text) {
  return text.empty() ? "" : fmt::format("<dt>{0}</dt><dd class=\"{0}\">{1}</dd>", word, escape(text));
}

std::string article(const Chain& chain) {
  const Finding& finding = *chain.first;
  std::string text = fmt::format("<article class=\"{0}\"><h3><span>{0}</span>{1}</h3><code>{2}</code>\n",
                                 kind(finding), escape(finding.message), escape(finding.id));
  const std::string terms = term("seen", finding.evidence) + term("fix", remedy_text(finding));
  if (!terms.empty()) text += fmt::format("<dl>{}</dl>", terms);
  if (!chain.follow.empty()) {
    text += fmt::format("<details{}><summary>{} more {} from it</summary><ul>",
                        chain.follow.size() <= 3 ? " open" : "", chain.follow.size(),
                        chain.follow.size() == 1 ? "follows" : "follow");
    for (const Finding* other : chain.follow)
      text += fmt::format("<li>{} <code>{}</code></li>", escape(other->message), escape(other->id));
    text += "</ul></details>";
  }
  return text + "</article>\n";
}

std::vector<HostGroup> grouped(std::span<const OfHost> hosts) {
  std::vector<HostGroup> groups;
  for (const auto& [host, findings] : hosts) {
    std::string body;
    for (const Chain& chain : chains(findings)) body += article(chain);
    auto at = std::ranges::find(groups, body, &HostGroup::body);
    if (at == groups.end()) at = groups.insert(at, {std::move(body), {}});
    at->hosts.push_back(host);
  }
  return groups;
}

std::string bodies(std::span<const HostGroup> groups) {
  std::string text;
  for (std::size_t i = 0; i < groups.size(); ++i)
    text += fmt::format("<section id=\"{}\"><h2>{}</h2>\n{}</section>\n", anchor_of(i),
                        escape(base::join(groups[i].hosts, ", ")),
                        groups[i].body.empty() ? "<p>No problems found.</p>\n" : groups[i].body);
  return text;
}

}  // namespace

std::string to_html(std::span<const Finding> findings, std::string_view cluster, base::Time at) {
  const auto hosts = by_host(findings);
  const auto groups = grouped(hosts);
  const Tally sum = tally(findings);
  const std::string name = escape(cluster), when = base::iso8601(at);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>gpuadm doctor: {0}</title>\n"
      "<style>{1}</style>\n</head>\n<body>\n<header><h1>{0}</h1>\n"
      "<p class=\"when\">gpuadm doctor, {2} UTC</p></header>\n{3}{4}<h2>Hosts and "
      "areas</h2>\n{5}{6}</body>\n</html>\n",
      name, html_style, when.substr(0, 10) + " " + when.substr(11, 5), in_short(findings), tiles(sum),
      matrix(hosts, groups), bodies(groups));
}

}  // namespace report
