#include "gpuadm/report/timeline.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"

#include "report/markup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace report {

namespace {

// A bar, in units of its view box.
constexpr double bar_width = 1000, bar_height = 20;

constexpr const char* timeline_style = R"(
:root { --paper: #fff; --ink: #1c2330; --dim: #5b6472; --line: #d8dde5; --card: #f6f7f9;
  --good: #2e7d4f; --warning: #b26a00; --bad: #b3261e; --excluded: #6b5b95; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171c; --ink: #e6e9ee; --dim: #9aa4b2; --line: #2f3641;
  --card: #1b2027; --good: #6fcf97; --warning: #f2b84b; --bad: #ff8a80; --excluded: #b9a7e6; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 82rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.7rem; overflow-wrap: anywhere; } h2 { margin: 0 0 .5rem; font-size: 1.1rem; overflow-wrap: anywhere; }
p { margin: .2rem 0 1rem; color: var(--dim); }
section { margin: 1rem 0; padding: .9rem 1rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--card); }
.bar { display: grid; grid-template-columns: 22rem 1fr; gap: .8rem; align-items: center; }
.bar span { font-size: .85rem; overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: 1.25rem; }
.base { stroke: var(--line); stroke-width: 1; } .good { fill: var(--good); } .warning { fill: var(--warning); }
.bad { fill: var(--bad); } .excluded { fill: var(--excluded); }
.axis { display: flex; justify-content: space-between; margin-left: 22.8rem; font-size: .8rem; color: var(--dim);
  font-variant-numeric: tabular-nums; }
.key { display: inline-block; width: .8rem; margin: 0 .3rem 0 .9rem; }
table { margin-top: .8rem; border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--dim); } th, td { padding: .15rem 1.2rem .15rem 0; text-align: left;
  vertical-align: top; overflow-wrap: anywhere; } th { color: var(--dim); font-weight: 600; } td:first-child { white-space: nowrap; }
@media (max-width: 50rem) { body { padding: .8rem; } .bar { grid-template-columns: 1fr; gap: 0; } .axis { margin-left: 0; } }
@media print { section { break-inside: avoid; } }
)";

struct Look {
  const char* name;
  double height;
};
constexpr std::array looks = {Look{"good", 6}, Look{"warning", 12}, Look{"bad", 20}, Look{"excluded", 3}};
constexpr std::array words = {"no finding", "warning", "broken", "in quarantine"};

const Look& look_of(Condition condition) {
  return looks.at(static_cast<std::size_t>(condition));
}

std::string time_text(double seconds) {
  constexpr std::size_t to_minutes = 16;
  const auto since =
      std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::duration<double>(seconds));
  return base::replace_all(base::iso8601(base::Time(since)).substr(0, to_minutes), "T", " ");
}

/// "broken 2m 5s of 3h"
std::string summary_of(const TimelineBar& bar, const TimelinePage& page) {
  std::array<double, looks.size()> times = {};
  for (const TimelineSpan& span : bar.spans)
    times.at(static_cast<std::size_t>(span.condition)) += span.to - span.from;
  std::string text;
  for (std::size_t i = times.size(); i-- > 0;)
    if (times.at(i) > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", words.at(i), base::human_seconds(times.at(i)));
  return text.empty() ? "unknown" : fmt::format("{} of {}", text, base::human_seconds(page.to - page.from));
}

std::string drawn(const TimelineBar& bar, const TimelinePage& page) {
  const double unit = bar_width / std::max(1.0, page.to - page.from);
  std::string rectangles;
  for (const TimelineSpan& span : bar.spans) {
    const Look& look = look_of(span.condition);
    rectangles += fmt::format(
        "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\"><title>{}: {} to {} "
        "UTC</title></rect>",
        look.name, (span.from - page.from) * unit, bar_height - look.height,
        std::max(1.0, (span.to - span.from) * unit), look.height, escape(span.says), time_text(span.from),
        time_text(span.to));
  }
  return fmt::format(
      "<div class=\"bar\"><span>{0}</span><svg viewBox=\"0 0 {1:.0f} {2:.0f}\" preserveAspectRatio=\"none\" "
      "role=\"img\" aria-label=\"{0}: {3}\"><path class=\"base\" d=\"M0 {2:.0f}H{1:.0f}\"/>{4}</svg></div>\n",
      escape(bar.label), bar_width, bar_height, escape(summary_of(bar, page)), rectangles);
}

std::string section_of(const TimelineHost& host, const TimelinePage& page) {
  std::string text = fmt::format("<section><h2>{}</h2>\n", escape(host.host));
  if (host.bars.empty()) text += "<p>It has no history.</p>\n";
  for (const TimelineBar& bar : host.bars) text += drawn(bar, page);
  if (!host.bars.empty())
    text += fmt::format("<div class=\"axis\" aria-hidden=\"true\"><span>{}</span><span>{}</span></div>\n",
                        time_text(page.from), time_text(page.to));
  if (host.changes.empty()) return text + "</section>\n";
  text +=
      "<table><caption>Changes, the newest first</caption><thead><tr><th scope=\"col\">Time</th><th "
      "scope=\"col\">What</th></tr></thead><tbody>\n";
  for (const TimelineChange& change : host.changes)
    text += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", escape(change.at), escape(change.says));
  return text + "</tbody></table></section>\n";
}

}  // namespace

std::string to_html(const TimelinePage& page) {
  std::string body, legend;
  for (const TimelineHost& host : page.hosts) body += section_of(host, page);
  for (std::size_t i = 0; i < looks.size(); ++i)
    legend += fmt::format(
        "<svg class=\"key\" viewBox=\"0 0 12 {0:.0f}\" aria-hidden=\"true\"><rect class=\"{1}\" "
        "y=\"{2:.0f}\" width=\"12\" height=\"{3:.0f}\"/></svg>{4}",
        bar_height, looks.at(i).name, bar_height - looks.at(i).height, looks.at(i).height, words.at(i));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>gpuadm health: {0}</title>\n<style>{1}</style>\n</head>\n<body>\n<header><h1>{0}</h1>\n"
      "<p>gpuadm health history, {2} to {3} UTC. Where a bar is interrupted, nothing is "
      "known.</p><p>{4}</p></header>\n<main>\n{5}</main>\n</body>\n</html>\n",
      escape(page.title), timeline_style, time_text(page.from), time_text(page.to), legend, body);
}

}  // namespace report
