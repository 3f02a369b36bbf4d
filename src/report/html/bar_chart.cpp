#include "gpuadm/report/bar_chart.hpp"

#include "report/html/markup.hpp"
#include "report/html/page_style.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace report {

namespace {

// A chart, in units of its view box.
constexpr double chart_width = 1000, chart_height = 90, gap = 0.15, least_width = 0.8;

std::string bar(const char* name, double x, double width, double height) {
  return fmt::format("<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"/>",
                     name, x, chart_height - height, width, height);
}

double height_of(double value, const BarPage& page) {
  return chart_height * std::clamp(value / std::max(page.top, 1e-9), 0.0, 1.0);
}

std::string section_of(const BarChart& chart, const BarPage& page) {
  std::string bars;
  const double step = chart_width / static_cast<double>(std::max<std::size_t>(page.steps.size(), 1));
  const double width = std::max(step * (1 - gap), std::min(step, least_width));
  for (std::size_t i = 0; i < std::min(chart.whole.size(), page.steps.size()); ++i) {
    const double part = i < chart.part.size() ? chart.part[i] : 0;
    if (chart.whole[i] <= 0) continue;
    const double x = static_cast<double>(i) * step;
    bars += fmt::format("<g><title>{}: {:.2f} {} {}, {:.2f} {}</title>{}{}</g>", escape(page.steps[i]),
                        chart.whole[i], escape(page.unit), escape(page.whole), part, escape(page.part),
                        bar("whole", x, width, height_of(chart.whole[i], page)),
                        bar("part", x, width, height_of(part, page)));
  }
  return fmt::format(
      "<section><h2>{0}</h2><p>{1}</p>\n<div class=\"chart\"><span>{2:.4g} {3}</span><svg viewBox=\"0 0 "
      "{4:.0f} {5:.0f}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{0}: {1}\">{6}</svg></div>\n"
      "<div class=\"axis\" aria-hidden=\"true\"><span>{7}</span><span>{8}</span></div></section>\n",
      escape(chart.title), escape(chart.summary), page.top, escape(page.unit), chart_width, chart_height,
      bars, page.steps.empty() ? "" : escape(page.steps.front()),
      page.steps.empty() ? "" : escape(page.steps.back()));
}

std::string table_of(const BarPage& page) {
  std::string head, rows;
  for (const std::string& cell : page.head) head += fmt::format("<th scope=\"col\">{}</th>", escape(cell));
  for (const auto& row : page.rows) {
    rows += "<tr>";
    for (const std::string& cell : row) rows += fmt::format("<td>{}</td>", escape(cell));
    rows += "</tr>\n";
  }
  return fmt::format("<table><thead><tr>{}</tr></thead><tbody>\n{}</tbody></table>\n", head, rows);
}

}  // namespace

std::string to_html(const BarPage& page) {
  std::string charts, notes;
  for (const BarChart& chart : page.charts) charts += section_of(chart, page);
  for (const std::string& note : page.notes) notes += fmt::format("<p>{}</p>\n", escape(note));
  const std::string legend =
      fmt::format("<p class=\"legend\"><i class=\"whole\"></i>{} <i class=\"part\"></i>{}</p>",
                  escape(page.whole), escape(page.part));
  return page_of(
      "gpuadm: " + page.title, std::string(page_style) + bar_chart_style,
      fmt::format("<header><h1>{}</h1>\n<p>{}</p></header>\n<main>\n{}{}{}{}</main>\n", escape(page.title),
                  escape(page.subtitle), table_of(page), notes, page.charts.empty() ? "" : legend, charts));
}

}  // namespace report
