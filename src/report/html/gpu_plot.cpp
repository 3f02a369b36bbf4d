#include "gpuadm/report/gpu_plot.hpp"

#include "report/html/markup.hpp"
#include "report/html/page_style.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace report {

namespace {

// Inside of a plot, in units of its view box.
constexpr double width = 560, height = 132, left = 34, right = 6, top = 6, bottom = 20, strip = 4;

double x_of(std::size_t at, std::size_t count) {
  return left + (width - left - right) * (static_cast<double>(at) + 0.5) / static_cast<double>(count);
}

double y_of(double value, double end) {
  const double share = end > 0 ? std::clamp(value / end, 0.0, 1.0) : 0;
  return height - bottom - (height - bottom - top) * share;
}

/// Calls `of(first, last)` for each run of known values.
template <class Values, class Of>
void each_run(const Values& values, Of of) {
  for (std::size_t i = 0; i < values.size();) {
    if (std::isnan(values[i])) {
      ++i;
      continue;
    }
    const std::size_t first = i;
    while (i < values.size() && !std::isnan(values[i])) ++i;
    of(first, i);
  }
}

std::string point(std::size_t at, std::size_t count, double value, double end) {
  return fmt::format("{:.0f} {:.1f} ", x_of(at, count), y_of(value, end));
}

/// The mean as a line, and the space up to the maximum. A single value between gaps is a short line.
std::string curve(const PlotLine& line) {
  const std::size_t count = line.mean.size();
  std::string range, mean;
  each_run(line.mean, [&](std::size_t first, std::size_t last) {
    mean += "M" + point(first, count, line.mean[first], line.top);
    if (last - first == 1) mean += "h2";
    if (last - first > 1) mean += "L";
    for (std::size_t i = first + 1; i < last; ++i) mean += point(i, count, line.mean[i], line.top);
    if (last - first == 1) return;
    range += "M" + point(first, count, line.most[first], line.top) + "L";
    for (std::size_t i = first + 1; i < last; ++i) range += point(i, count, line.most[i], line.top);
    for (std::size_t i = last; i-- > first;) range += point(i, count, line.mean[i], line.top);
    range += "Z";
  });
  return fmt::format("<path class=\"range\" d=\"{}\"/><path class=\"mean\" d=\"{}\"/>", range, mean);
}

std::string axis(const PlotLine& line, const std::vector<std::string>& marks) {
  std::string text;
  for (const double share : {0.0, 0.5, 1.0}) {
    const double y = y_of(share * line.top, line.top);
    text += fmt::format(
        "<path class=\"grid\" d=\"M{:.0f} {:.1f}H{:.0f}\"/><text x=\"{:.0f}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{:.0f}</text>",
        left, y, width - right, left - 5, y + 4, share * line.top);
  }
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const double share =
        marks.size() > 1 ? static_cast<double>(i) / static_cast<double>(marks.size() - 1) : 0;
    text += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}</text>",
                        left + (width - left - right) * share, height - 4,
                        i == 0                  ? "start"
                        : i + 1 == marks.size() ? "end"
                                                : "middle",
                        escape(marks[i]));
  }
  return text;
}

/// A bar at the bottom while the clocks are throttled.
std::string slow_bar(const std::vector<float>& throttled) {
  std::string path;
  for (std::size_t i = 0; i < throttled.size(); ++i) {
    if (std::isnan(throttled[i]) || throttled[i] <= 0) continue;
    std::size_t end = i;
    while (end < throttled.size() && !std::isnan(throttled[end]) && throttled[end] > 0) ++end;
    const double step = (width - left - right) / static_cast<double>(throttled.size());
    path += fmt::format("M{:.1f} {:.0f}h{:.1f}v{:.0f}h-{:.1f}Z", left + step * static_cast<double>(i),
                        height - bottom, step * static_cast<double>(end - i), strip,
                        step * static_cast<double>(end - i));
    i = end;
  }
  return path.empty() ? "" : fmt::format("<path class=\"slow\" d=\"{}\"/>", path);
}

struct Range {
  double mean = 0, most = 0;
  std::size_t known = 0;
};

Range range_of(const PlotLine& line) {
  Range range;
  for (std::size_t i = 0; i < line.mean.size(); ++i) {
    if (std::isnan(line.mean[i])) continue;
    range.mean += line.mean[i];
    range.most = std::max<double>(range.most, line.most[i]);
    ++range.known;
  }
  if (range.known > 0) range.mean /= static_cast<double>(range.known);
  return range;
}

std::string figure(const GpuPlot& gpu, const PlotLine& line, const PlotPage& page, const std::string& bar) {
  const Range range = range_of(line);
  const std::string summary =
      range.known > 0 ? fmt::format("mean {:.1f}, highest {:.1f} {}", range.mean, range.most, line.unit)
                      : "unknown";
  return fmt::format(
      "<figure><figcaption><b>{0}, {1}</b><span>{2}</span></figcaption>"
      "<svg viewBox=\"0 0 {3:.0f} {4:.0f}\" role=\"img\" aria-label=\"{0} of GPU {5} of {6}: "
      "{2}\">{7}{8}{9}</svg></figure>\n",
      escape(line.title), escape(line.unit), escape(summary), width, height, escape(gpu.gpu),
      escape(gpu.host), axis(line, page.time_marks), curve(line), bar);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string uses(const GpuPlot& gpu) {
  if (gpu.uses.empty()) return "<p>No process was seen.</p>\n";
  std::string text =
      "<table><thead><tr><th>Used by</th><th>from</th><th>to</th><th>memory at "
      "most</th></tr></thead><tbody>\n";
  for (const PlotUse& use : gpu.uses)
    text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", escape(use.label),
                        escape(use.from), escape(use.to),
                        use.most_mib < 0 ? "unknown" : fmt::format("{:.1f} GiB", use.most_mib / 1024));
  text += "</tbody></table>\n";
  if (gpu.more_uses > 0) text += fmt::format("<p>{} more are not listed.</p>\n", gpu.more_uses);
  return text;
}

std::string section(const GpuPlot& gpu, std::size_t number, const PlotPage& page) {
  std::string text = fmt::format("<section id=\"gpu-{}\"><h2>{} GPU {}</h2>\n<p>{} <code>{}</code></p>\n",
                                 number, escape(gpu.host), escape(gpu.gpu),
                                 escape(gpu.model.empty() ? "unknown" : gpu.model), escape(gpu.uuid));
  if (!gpu.reasons.empty())
    text += fmt::format("<p><span class=\"key\"></span>clocks were throttled: {}</p>\n",
                        escape(joined(gpu.reasons)));
  text += "<div class=\"plots\">\n";
  for (const PlotLine& line : gpu.lines)
    text += figure(gpu, line, page, &line == &gpu.lines.front() ? slow_bar(gpu.throttled) : "");
  return text + "</div>\n" + uses(gpu) + "</section>\n";
}

}  // namespace

std::string to_html(const PlotPage& page) {
  std::string body;
  if (page.gpus.size() > 1) {
    body += "<nav>\n";
    for (std::size_t i = 0; i < page.gpus.size(); ++i)
      body += fmt::format("<a href=\"#gpu-{}\">{} GPU {}</a>\n", i + 1, escape(page.gpus[i].host),
                          escape(page.gpus[i].gpu));
    body += "</nav>\n";
  }
  for (const std::string& note : page.notes) body += "<p>" + escape(note) + "</p>\n";
  for (std::size_t i = 0; i < page.gpus.size(); ++i) body += section(page.gpus[i], i + 1, page);
  return page_of(
      "gpuadm gpu top: " + page.title, std::string(page_style) + gpu_plot_style,
      fmt::format("<header><h1>{}</h1>\n<p>gpuadm gpu top, {} to {} UTC, {}. The line is the mean of a "
                  "point, the area above it reaches to its maximum; where it is interrupted, nothing "
                  "was read.</p></header>\n{}",
                  escape(page.title), escape(page.from), escape(page.to), escape(page.resolution), body));
}

}  // namespace report
