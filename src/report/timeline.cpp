#include "gpuadm/report/timeline.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"

#include "report/markup.hpp"
#include "report/page_style.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace report {

namespace {

// A bar, in units of its view box.
constexpr double bar_width = 1000, bar_height = 20;

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
        std::max(1.0, (span.to - span.from) * unit), look.height, escape(span.message), time_text(span.from),
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
    text += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", escape(change.at), escape(change.message));
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
  return page_of("gpuadm health: " + page.title, std::string(page_style) + timeline_style,
                 fmt::format("<header><h1>{}</h1>\n<p>gpuadm health history, {} to {} UTC. Where a bar is "
                             "interrupted, nothing is known.</p><p>{}</p></header>\n<main>\n{}</main>\n",
                             escape(page.title), time_text(page.from), time_text(page.to), legend, body));
}

}  // namespace report
