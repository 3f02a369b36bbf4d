#include "gpuadm/kube/log_line.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include "kube/log/traceback.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace kube {

namespace {

constexpr std::size_t longest_record = 65536, longest_head = 400, most_words = 8;

struct LevelName {
  std::string_view name;
  Level level;
};
constexpr std::array<LevelName, 34> level_names = {{
    {"trace", Level::info},      {"debug", Level::info},
    {"info", Level::info},       {"notice", Level::info},
    {"note", Level::info},       {"information", Level::info},
    {"信息", Level::info},       {"调试", Level::info},
    {"hinweis", Level::info},    {"warn", Level::warning},
    {"warning", Level::warning}, {"警告", Level::warning},
    {"warnung", Level::warning}, {"avertissement", Level::warning},
    {"error", Level::error},     {"err", Level::error},
    {"severe", Level::error},    {"fehler", Level::error},
    {"erreur", Level::error},    {"错误", Level::error},
    {"异常", Level::error},      {"失败", Level::error},
    {"出错", Level::error},      {"エラー", Level::error},
    {"오류", Level::error},      {"ошибка", Level::error},
    {"fatal", Level::fatal},     {"critical", Level::fatal},
    {"crit", Level::fatal},      {"panic", Level::fatal},
    {"emerg", Level::fatal},     {"alert", Level::fatal},
    {"严重", Level::fatal},      {"致命", Level::fatal},
}};

Level level_named(std::string_view word) {
  const std::string lower = base::lower(word);
  for (const LevelName& one : level_names)
    if (one.name == lower) return one.level;
  // JSON of Go's slog: "ERROR+2"; of pino and bunyan: 30 is info, 50 error.
  if (const auto number = base::to_int(lower))
    return *number >= 60   ? Level::fatal
           : *number >= 50 ? Level::error
           : *number >= 40 ? Level::warning
           : *number >= 10 ? Level::info
                           : Level::none;
  return Level::none;
}

Level level_of_letter(char letter) {
  switch (letter) {
    case 'I':
    case 'D':
      return Level::info;
    case 'W':
      return Level::warning;
    case 'E':
      return Level::error;
    case 'F':
      return Level::fatal;
    default:
      return Level::none;
  }
}

bool is_digit_at(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

/// The first of these fields that has a text.
std::string field_of(const base::Tree& record, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const base::Tree* field = record.find(name); field && !field->is_map() && !field->text().empty())
      return field->text();
  return {};
}

std::optional<LogLine> read_json(std::string_view line) {
  if (line.size() > longest_record || !line.starts_with('{') || !line.ends_with('}')) return std::nullopt;
  const auto record = base::json::read(line, "log");
  if (!record || !record->is_map()) return std::nullopt;
  LogLine read{level_named(field_of(
                   *record, {"level", "levelname", "severity", "lvl", "log.level", "loglevel", "@level"})),
               field_of(*record, {"msg", "message", "event", "@message"})};
  std::string error = field_of(*record, {"error", "err", "exception"});
  for (const char* name : {"error", "err"})
    if (const base::Tree* field = record->find(name); field && field->is_map() && error.empty())
      error = field_of(*field, {"message", "msg"});
  if (!error.empty() && !read.text.contains(error)) read.text += (read.text.empty() ? "" : ": ") + error;
  if (read.text.empty()) read.text = std::string(line);
  return read;
}

/// The value of a field of logfmt, with or without quotes.
std::string_view logfmt_value(std::string_view line, std::string_view name) {
  for (std::size_t at = line.find(name); at != std::string_view::npos; at = line.find(name, at + 1)) {
    const std::size_t begin = at + name.size();
    if (begin >= line.size() || line[begin] != '=' || (at > 0 && line[at - 1] != ' ')) continue;
    const std::string_view value = line.substr(begin + 1);
    if (!value.starts_with('"')) return value.substr(0, value.find(' '));
    std::size_t end = 1;
    while (end < value.size() && value[end] != '"') end += value[end] == '\\' ? 2 : 1;
    return value.substr(1, std::min(end, value.size()) - 1);
  }
  return {};
}

std::optional<LogLine> read_logfmt(std::string_view line) {
  Level level = Level::none;
  for (const std::string_view name : {"level", "lvl", "severity"})
    if (level == Level::none) level = level_named(logfmt_value(line, name));
  if (level == Level::none) return std::nullopt;
  LogLine read{level, std::string(logfmt_value(line, "msg"))};
  for (const std::string_view name : {"err", "error"})
    if (const std::string_view error = logfmt_value(line, name); !error.empty())
      read.text += (read.text.empty() ? "" : ": ") + std::string(error);
  if (read.text.empty()) read.text = std::string(line);
  return read;
}

/// "E1126", "[E321", "[E:onnxruntime:": a letter as glog, klog, PyTorch and ONNX Runtime write it; "E" alone
/// after a time.
Level level_of_glog(std::string_view word, bool is_after_time) {
  const bool has_bracket = word.starts_with('[');
  if (has_bracket) word.remove_prefix(1);
  if (word.empty()) return Level::none;
  const bool is_alone = word.size() == 1 && is_after_time;
  const bool has_date = is_digit_at(word, 1) && is_digit_at(word, 2) && is_digit_at(word, 3) &&
                        (word.size() == 4 || word.size() == 5 || word.size() == 9);
  const bool has_colon = has_bracket && word.size() > 2 && word[1] == ':';
  return is_alone || has_date || has_colon ? level_of_letter(word.front()) : Level::none;
}

/// Without what glog, klog and TensorFlow write before a message: "E1126 14:51:06.33 1 server.cc:305] ",
/// "2026-11-26 14:51:20.2: E external/xla/dnn.cc:473] ".
std::string_view without_head(std::string_view line) {
  constexpr std::size_t longest = 200;
  const std::size_t end = line.substr(0, longest).find("] ");
  const std::size_t begin = end == std::string_view::npos ? end : line.substr(0, end).rfind(' ');
  if (begin == std::string_view::npos) return line;
  const std::string_view place = line.substr(begin + 1, end - begin - 1);
  const std::size_t colon = place.rfind(':');
  if (colon == std::string_view::npos || !base::to_int(place.substr(colon + 1))) return line;
  const auto words = base::words(line.substr(0, begin));
  const bool has_time = is_digit_at(line, 0) && level_of_glog(words.back(), true) != Level::none;
  return has_time || level_of_glog(words.front(), false) != Level::none ? line.substr(end + 2) : line;
}

Level level_of_word(std::string_view word, bool is_first, bool is_after_place) {
  constexpr std::string_view around = "[](){}<>|:;,!*- ";
  const std::size_t begin = word.find_first_not_of(around);
  if (begin == std::string_view::npos) return Level::none;
  const std::string_view name = word.substr(begin, word.find_last_not_of(around) - begin + 1);
  // "x.py:129: UserWarning: ..."
  if (name.ends_with("Warning") && word.ends_with(':')) return Level::warning;
  // "error[E0433]:" of rustc
  const Level level = level_named(name.substr(0, name.find('[')));
  if (level == Level::none || is_digit_at(name, 0)) return Level::none;
  const bool is_upper = std::ranges::none_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
  const bool is_marked = word.find_first_of("[]|<>") != std::string_view::npos || word.ends_with(':');
  return is_upper || (is_marked && (is_first || is_after_place)) ? level : Level::none;
}

Level level_of_words(std::string_view line) {
  bool is_first = true, is_after_place = true, is_after_time = false;
  std::size_t read = 0;
  std::string_view previous;
  for (std::string_view rest = line.substr(0, longest_head); read < most_words; ++read) {
    const std::size_t begin = rest.find_first_not_of(" \t");
    if (begin == std::string_view::npos) break;
    rest.remove_prefix(begin);
    std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
    if (rest.substr(end).starts_with(" :")) end += 2;  // French has a space before a colon
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(word.size());
    // NCCL reports what fails as a warning.
    if (previous == "NCCL" && word == "WARN") return Level::error;
    if (const Level level = level_of_glog(word, is_after_time); level != Level::none) return level;
    if (const Level level = level_of_word(word, is_first, is_after_place); level != Level::none) return level;
    const bool has_digit = std::ranges::any_of(word, [](char c) { return c >= '0' && c <= '9'; });
    is_after_place = is_after_place && (has_digit || word.ends_with(':') || word.starts_with('['));
    is_after_time = has_digit;
    is_first = false;
    previous = word;
  }
  return Level::none;
}

}  // namespace

LogLine read_log_line(std::string_view line) {
  const std::string_view trimmed = base::trim(line);
  if (auto record = read_json(trimmed)) return *record;
  if (auto record = read_logfmt(trimmed)) return *record;
  const std::string_view process = pod::process_of(trimmed);
  // "[rank1]:" is not part of the message; "[2025-03-29 18:18:34 TP0]" and "[ERROR]" are.
  const bool is_rank = process.starts_with("[rank") || process.starts_with("[default");
  const std::string_view text = is_rank ? base::trim(trimmed.substr(process.size())) : trimmed;
  return {level_of_words(text), std::string(without_head(text))};
}

}  // namespace kube
