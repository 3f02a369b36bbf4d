#include "report/live_lines.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/report/reporters.hpp"

#include "report/paint.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace report {
namespace {

constexpr std::size_t most_live_lines = 8;  // a terminal of 24 rows must hold them
constexpr std::size_t widest_live_host = 24;
constexpr std::string_view to_line_start = "\r\x1b[J";  // and erases what is below

/// "12s", in whole seconds; negative times are 0: the clock may have been set.
std::string elapsed(base::Time from, base::Time to) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(to - from).count();
  return seconds < 60 ? fmt::format("{}s", std::max<long long>(seconds, 0))
                      : base::human_seconds(static_cast<double>(seconds));
}

}  // namespace

void LiveLines::step_begins(const std::string& host, std::string title, base::Time at) {
  busy_[host] = {std::move(title), {}, at};
}

void LiveLines::step_waits(const std::string& host, std::string title, std::string detail, base::Time at) {
  const auto known = busy_.find(host);
  const bool continues = known != busy_.end() && known->second.title == title;
  busy_[host] = {std::move(title), std::move(detail), continues ? known->second.since : at};
}

std::string LiveLines::text_of(const std::string& host, const Busy& busy, std::size_t width,
                               base::Time now) const {
  std::string text = fmt::format("  {:<{}}  ", base::printable(host), width);
  if (phases_ > 0) text += fmt::format("phase {} of {}, ", phase_, phases_);
  if (began_ != base::Time{}) text += elapsed(began_, now) + "  ";
  text += fmt::format("{} ({})", busy.title, elapsed(busy.since, now));
  if (!busy.detail.empty()) text += ": " + busy.detail;
  return fit(text, style_.width > 1 ? style_.width - 1 : 79);
}

void LiveLines::draw(base::Time now) {
  if (style_.view != View::live || style_.verbosity == Verbosity::quiet) return;
  if (busy_.empty()) return erase();
  std::size_t width = 0;
  for (const auto& [host, busy] : busy_) width = std::max(width, std::min(widest_live_host, host.size()));
  const std::size_t shown = busy_.size() > most_live_lines ? most_live_lines - 1 : busy_.size();
  std::string text;
  for (auto at = busy_.begin(); at != std::next(busy_.begin(), static_cast<std::ptrdiff_t>(shown)); ++at)
    text += (text.empty() ? "" : "\n") + paint(style_, Ink::dim, text_of(at->first, at->second, width, now));
  if (shown < busy_.size())
    text += "\n" + paint(style_, Ink::dim, fmt::format("  and {} more hosts", busy_.size() - shown));
  if (text == drawn_) return;
  erase();
  const auto above = std::ranges::count(text, '\n');
  write_(text + "\r" + (above > 0 ? fmt::format("\x1b[{}A", above) : ""));
  drawn_ = text;
}

void LiveLines::erase() {
  if (!std::exchange(drawn_, {}).empty()) write_(std::string(to_line_start));
}

Write above_live_lines(Write write, const Style& style) {
  if (style.view != View::live) return write;
  return
      [write = std::move(write)](std::string_view text) { write(fmt::format("{}{}", to_line_start, text)); };
}

}  // namespace report
