#include "commands/install/up/stage_lines.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

constexpr std::size_t largest_file = 1U << 16, widest_name = 8;
constexpr double longest = 86400, between_lines = 60;  // seconds

/// The beginning of a line of at most `width` characters; 0: all of it.
std::string fitted_line(std::string text, std::size_t width) {
  if (width == 0) return text;
  std::size_t end = 0, shown = 0;
  while (end < text.size()) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U;
    if (begins && ++shown >= width) break;
    ++end;
  }
  text.resize(end);
  return text;
}

}  // namespace

StageTimes StageTimes::read(std::filesystem::path file) {
  StageTimes times;
  times.file_ = std::move(file);
  const auto text = base::read_file(times.file_, largest_file);
  const auto tree =
      text ? base::json::read(*text, times.file_.string()) : base::Result<base::Tree>(base::Tree());
  if (!tree) return times;
  for (const auto& [stage, value] : tree->entries())
    if (const auto seconds = base::to_real(value.text()); seconds && *seconds > 0 && *seconds < longest)
      times.seconds_[stage] = *seconds;
  return times;
}

std::optional<double> StageTimes::of(const std::string& stage) const {
  const auto found = seconds_.find(stage);
  return found == seconds_.end() ? std::nullopt : std::optional(found->second);
}

void StageTimes::save(const std::string& stage, double seconds) {
  seconds_[stage] = seconds;
  base::Tree tree = base::Tree::map_of({});
  for (const auto& [name, value] : seconds_) tree.set(name, fmt::format("{:.1f}", value));
  (void)base::write_file(file_, base::json::write(tree) + "\n");
}

std::string StageLines::head() const {
  if (number_ == 0) return {};
  return fmt::format("[{}/{}] {:<{}}  ", number_, stages_, stage_, widest_name);
}

std::string StageLines::time(double now) const {
  if (number_ == 0) return {};
  const std::string elapsed = base::human_seconds(std::max(0.0, now - began_));
  return expected_ ? fmt::format("({}; last time {})", elapsed, base::human_seconds(*expected_))
                   : fmt::format("({})", elapsed);
}

void StageLines::begin(const std::string& stage, std::optional<double> expected, double now) {
  stage_ = stage;
  expected_ = expected;
  began_ = written_ = now;
  ++number_;
  progress("", now);
}

void StageLines::progress(const std::string& what, double now) {
  if (style_.verbosity == report::Verbosity::quiet) return;
  const bool live = style_.view == report::View::live;
  if (!live && (number_ == 0 || now - written_ < between_lines)) return;
  written_ = now;
  const std::string shown = base::printable(what.substr(0, what.find('\n')), 200);
  const std::string line = head() + time(now) + (number_ == 0 ? "" : " ") + shown;
  write_(live ? "\r\033[K" + fitted_line(line, style_.width) : line + "\n");
  drawn_ = live;
}

void StageLines::end(const std::string& detail, double now) {
  erase();
  if (style_.verbosity == report::Verbosity::quiet) return;
  write_(head() + base::printable(detail, 300) + " " + time(now) + "\n");
}

void StageLines::erase() {
  if (drawn_) write_("\r\033[K");
  drawn_ = false;
}

}  // namespace commands
