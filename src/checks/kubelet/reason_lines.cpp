#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include "checks/cluster/whole.hpp"
#include "checks/kubelet/reasons.hpp"
#include "checks/last_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace checks {

namespace {

constexpr std::size_t longest = 300;

/// `"msg":"…","error":"…"` of a JSON line as "msg: error". A line without an error says it in another key
/// ("alarm", "reason", "output").
std::string from_json(std::string_view line) {
  const auto tree = base::json::read(std::string(line), "log");
  if (!tree || !tree->is_map()) return {};
  std::string text;
  for (const char* key : {"msg", "message", "error", "err"})
    if (const base::Tree* value = tree->find(key); value && !value->text().empty())
      text += (text.empty() ? "" : ": ") + value->text();
  if (tree->find("error") || tree->find("err")) return text;
  constexpr std::string_view others[] = {"msg",  "message",   "level",  "severity", "ts",
                                         "time", "timestamp", "caller", "logger"};
  for (const auto& [key, value] : tree->entries())
    if (value.as_string() && std::ranges::find(others, key) == std::end(others) && !value.text().empty())
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key, value.text());
  return text;
}

/// Of a wrapped error the cause is at the end, and what failed at the beginning: both are kept.
std::string shortened(std::string_view text) {
  constexpr std::size_t at_the_beginning = 100, longest_word = 40;
  if (text.size() <= longest) return base::printable(text, longest);
  // At blanks, so that no word and no character is cut; a text without blanks has neither.
  std::string_view begin = text.substr(0, at_the_beginning),
                   end = text.substr(text.size() - (longest - at_the_beginning));
  if (const std::size_t blank = begin.rfind(' '); blank != begin.npos && begin.size() - blank < longest_word)
    begin = begin.substr(0, blank);
  if (const std::size_t blank = end.find(' '); blank < longest_word) end.remove_prefix(blank);
  return base::printable(begin) + " …" + base::printable(end);
}

/// klog's `E1124 16:35:40.123456    4711 pod_workers.go:191] `.
std::string_view without_header(std::string_view line) {
  if (line.size() < 6 || !std::isupper(static_cast<unsigned char>(line[0])) ||
      !std::isdigit(static_cast<unsigned char>(line[1])))
    return line;
  const std::size_t end = line.find("] ");
  return end == std::string_view::npos || end > 120 ? line : line.substr(end + 2);
}

/// Where the clause after the quotation mark at `at` begins. What is quoted is the subject of the error
/// before it (`pull image "NAME": not found`), or the error's own: `exec: "PROGRAM": executable file not
/// found`.
std::size_t begin_of_clause(std::string_view text, std::size_t at) {
  const std::size_t quote = text.rfind('"', at - (at > 0 ? 1 : 0));
  constexpr std::string_view own = "exec: ";
  if (at > 0 && quote != std::string_view::npos && quote >= own.size() &&
      text.substr(quote - own.size(), own.size()) == own)
    return quote - own.size();
  return at + 3;
}

}  // namespace

std::string plain_line(std::string_view line) {
  line = base::trim(line);
  std::string text;
  if (line.starts_with('{')) text = from_json(line);
  if (text.empty()) {
    line = without_header(line);
    const std::string message = facts::quoted_value(line, "msg"), error = facts::quoted_value(line, "err"),
                      other = facts::quoted_value(line, "error");
    text = !error.empty() ? error : !other.empty() ? other : !message.empty() ? message : std::string(line);
  }
  std::string_view plain = base::trim(text);
  for (const std::string_view prefix : {"Error: ", "error: "})
    if (plain.starts_with(prefix)) plain.remove_prefix(prefix.size());
  return shortened(plain);
}

std::string quoted_after(std::string_view text, std::string_view before) {
  const std::string plain = base::replace_all(std::string(text), "\\", "");
  const std::size_t at = plain.find(std::string(before) + '"');
  if (at == std::string::npos) return {};
  const std::size_t begin = at + before.size() + 1;
  return base::printable(plain.substr(begin, plain.find('"', begin) - begin), longest);
}

std::string last_clause(std::string_view text) {
  const std::string plain = base::replace_all(std::string(text), "\\", "");
  std::string_view clause = plain;
  if (const std::size_t at = clause.rfind("desc = "); at != std::string_view::npos)
    clause.remove_prefix(at + 7);
  if (const std::size_t at = clause.rfind("\": "); at != std::string_view::npos)
    clause.remove_prefix(begin_of_clause(clause, at));
  while (!clause.empty() && (clause.back() == '"' || clause.back() == ' ')) clause.remove_suffix(1);
  return shortened(clause);
}

std::string answer_in(std::string_view text, std::string_view image) {
  std::string clause = last_clause(text);
  if (!image.empty() && clause.starts_with(std::string(image) + ": ")) clause.erase(0, image.size() + 2);
  return clause;
}

}  // namespace checks
