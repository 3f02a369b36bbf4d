#include "gpuadm/base/text.hpp"
#include "gpuadm/report/findings.hpp"

#include "report/chains.hpp"
#include "report/markup.hpp"
#include "report/paint.hpp"
#include "report/tally.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace report {

namespace {

using OfHost = std::pair<std::string, std::vector<const Finding*>>;

// Nothing is loaded from anywhere; light and dark as the reader's system has it; state is never shown by
// colour alone.
constexpr const char* style = R"(
:root { --paper: #fff; --ink: #1c2330; --dim: #5b6472; --line: #d8dde5; --card: #f6f7f9;
  --blocker: #b3261e; --warning: #8a5a00; --note: #1f5fa8; --unknown: #5b6472; --pass: #1d6b3a; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171c; --ink: #e6e9ee; --dim: #9aa4b2; --line: #2f3641;
  --card: #1b2027; --blocker: #ff8a80; --warning: #f0b94b; --note: #82b4f5; --unknown: #9aa4b2; --pass: #6fcf97; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.6rem; } h2 { margin: 2rem 0 .5rem; font-size: 1.2rem; } h3 { margin: 0; font-size: 1rem; }
p.when { margin: .2rem 0 1rem; color: var(--dim); }
p.first { margin: 0 0 1rem; font-weight: 600; }
ul.tiles { display: flex; flex-wrap: wrap; gap: .6rem; margin: 0; padding: 0; list-style: none; }
ul.tiles li { min-width: 7rem; padding: .5rem .9rem; border: 1px solid var(--line); border-radius: .5rem;
  background: var(--card); color: var(--dim); }
ul.tiles b { display: block; color: var(--ink); font-size: 1.5rem; line-height: 1.2; }
.blocker b, .blocker > h3, td.blocker { color: var(--blocker); } .warning b, .warning > h3, td.warning { color: var(--warning); }
.note b, .note > h3, td.note { color: var(--note); } .unknown b, .unknown > h3, td.unknown { color: var(--unknown); }
.pass b, td.pass { color: var(--pass); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap; }
thead th { color: var(--dim); font-weight: 600; } td { font-weight: 600; } td.none { color: var(--dim); font-weight: 400; }
article { margin: .7rem 0; padding: .7rem 1rem; border: 1px solid var(--line); border-left: 4px solid var(--unknown);
  border-radius: .4rem; background: var(--card); }
article.blocker { border-left-color: var(--blocker); } article.warning { border-left-color: var(--warning); }
article.note { border-left-color: var(--note); }
article h3 span { margin-right: .5rem; font-size: .8rem; text-transform: uppercase; letter-spacing: .04em; }
code { color: var(--dim); font-size: .85rem; } summary { cursor: pointer; color: var(--dim); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem; margin: .4rem 0 0; }
dt { color: var(--dim); } dd { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
@media print { body { max-width: none; } article { break-inside: avoid; } }
)";

/// The class and word of a finding: its severity, or "unknown".
std::string_view kind(const Finding& finding) {
  return finding.verdict == Verdict::unknown ? "unknown" : name_of(finding.severity);
}

std::string tiles(const Tally& sum) {
  std::string text = "<ul class=\"tiles\">\n";
  for (const auto& [kind, word, number] : {std::tuple{"", "hosts", sum.hosts.size()},
                                           {"blocker", "blockers", sum.blockers},
                                           {"warning", "warnings", sum.warnings},
                                           {"note", "notes", sum.notes},
                                           {"unknown", "unknown", sum.unknown},
                                           {"pass", "passed", sum.passed},
                                           {"", "not applicable", sum.skipped}})
    text += fmt::format("<li class=\"{}\"><b>{}</b>{}</li>\n", kind, number, word);
  return text + "</ul>\n";
}

/// "gpu" of "gpu.driver.installed".
std::string area_of(const Finding& finding) {
  return finding.id.substr(0, finding.id.find('.'));
}

/// What a host is like in one area: its worst word, and how many findings say so.
std::string cell(const std::vector<const Finding*>& of_area) {
  if (std::ranges::all_of(of_area, [](const Finding* f) { return f->verdict == Verdict::skip; }))
    return "<td class=\"none\">–</td>";
  std::vector<const Finding*> shown;
  std::ranges::copy_if(of_area, std::back_inserter(shown), [](const Finding* f) { return open(*f); });
  if (shown.empty()) return "<td class=\"pass\">ok</td>";
  const int worst = rank(*std::ranges::min_element(shown, {}, rank));
  const auto same = std::ranges::count(shown, worst, rank);
  const auto word = kind(**std::ranges::find(shown, worst, rank));
  return fmt::format(
      "<td class=\"{}\">{}</td>", word,
      word == "unknown" ? fmt::format("{} unknown", same) : count(static_cast<std::size_t>(same), word));
}

std::string matrix(std::span<const OfHost> hosts) {
  std::vector<std::string> areas;
  for (const auto& [host, findings] : hosts)
    for (const Finding* finding : findings)
      if (std::ranges::find(areas, area_of(*finding)) == areas.end()) areas.push_back(area_of(*finding));
  std::string text = "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">host</th>";
  for (const std::string& area : areas) text += fmt::format("<th scope=\"col\">{}</th>", escape(area));
  text += "</tr></thead>\n<tbody>\n";
  for (const auto& [host, findings] : hosts) {
    std::map<std::string, std::vector<const Finding*>> by_area;
    for (const Finding* finding : findings) by_area[area_of(*finding)].push_back(finding);
    text += fmt::format("<tr><th scope=\"row\">{}</th>", escape(host));
    for (const std::string& area : areas) text += cell(by_area[area]);
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string term(std::string_view word, std::string_view text) {
  return text.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>", word, escape(text));
}

std::string article(const Chain& chain) {
  const Finding& finding = *chain.first;
  std::string text =
      fmt::format("<article class=\"{0}\"><h3><span>{0}</span>{1}</h3><code>{2}</code>\n<dl>{3}{4}</dl>",
                  kind(finding), escape(finding.says), escape(finding.id), term("seen", finding.evidence),
                  term("do", remedy_text(finding)));
  if (!chain.follow.empty()) {
    text += fmt::format("<details><summary>{} more that follow from it</summary><ul>", chain.follow.size());
    for (const Finding* other : chain.follow)
      text += fmt::format("<li>{} <code>{}</code></li>", escape(other->says), escape(other->id));
    text += "</ul></details>";
  }
  return text + "</article>\n";
}

/// Hosts that say the same are shown together, as in the text.
std::string bodies(std::span<const OfHost> hosts) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const auto& [host, findings] : hosts) {
    std::string body;
    for (const Chain& chain : chains(findings)) body += article(chain);
    auto at = std::ranges::find(groups, body, [](const auto& group) { return group.first; });
    if (at == groups.end()) at = groups.insert(at, {body, {}});
    at->second.push_back(host);
  }
  std::string text;
  for (const auto& [body, names] : groups)
    text += fmt::format("<h2>{}</h2>\n{}", escape(base::join(names, ", ")),
                        body.empty() ? "<p>Nothing stands out.</p>\n" : body);
  return text;
}

}  // namespace

std::string to_html(std::span<const Finding> findings, std::string_view cluster, base::Time at) {
  const auto hosts = by_host(findings);
  const std::string title = fmt::format("gpuadm doctor: {}", escape(cluster));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{0}</title>\n<style>{1}</style>\n"
      "</head>\n<body>\n<h1>{0}</h1>\n<p class=\"when\">{2}</p>\n<p class=\"first\">{3}</p>\n"
      "{4}<h2>Hosts and areas</h2>\n{5}{6}</body>\n</html>\n",
      title, style, base::iso8601(at), escape(headline(findings, {})), tiles(tally(findings)), matrix(hosts),
      bodies(hosts));
}

}  // namespace report
