#include "gpuadm/workload/pod_log.hpp"

#include "gpuadm/base/text.hpp"

namespace workload {

namespace {

/// "2026-11-26T11:40:07.123456789Z text": the time; empty if it is none.
std::string_view time_of(std::string_view line) {
  const std::string_view word = line.substr(0, line.find(' '));
  return word.size() >= 20 && word[10] == 'T' ? word : std::string_view();
}

/// Times with a zone other than UTC are kept as they are, except for the fraction.
std::string second_of(std::string_view time) {
  const std::size_t zone = time.find_first_of("Z+-", 19);
  return std::string(time.substr(0, 19)) +
         std::string(zone == std::string_view::npos ? "Z" : time.substr(zone));
}

std::string_view text_of(std::string_view line) {
  const std::size_t blank = line.find(' ');
  return blank == std::string_view::npos ? std::string_view() : line.substr(blank + 1);
}

}  // namespace

std::vector<std::string> PodLog::take(std::string_view answer, Writer writer, End end) {
  std::vector<std::string_view> lines = base::lines(answer);
  const bool open_end = !answer.empty() && answer.back() != '\n';
  if (open_end && !lines.empty() && (writer == Writer::runs || end == End::cut)) lines.pop_back();
  if (lines.empty()) return {};
  std::vector<std::string> fresh;
  const bool same = lines_ > 0 && lines.front() == first_ && lines.size() >= lines_;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view time = time_of(lines[i]);
    // A log that was rotated begins with another line: then times decide.
    const bool old = lines_ == 0 ? false : same ? i < lines_ : !time.empty() && time <= last_;
    if (!old) fresh.emplace_back(text_of(lines[i]));
  }
  // An answer without new lines may have been limited before the last known one.
  if (fresh.empty()) return fresh;
  std::string_view last;
  for (const std::string_view line : lines)
    if (!time_of(line).empty()) last = time_of(line);
  if (last.empty()) return fresh;
  last_ = last;
  since_ = second_of(last);
  lines_ = 0;
  first_.clear();
  for (const std::string_view line : lines) {
    const std::string_view time = time_of(line);
    if (lines_ == 0 && (time.empty() || time.substr(0, 19) < std::string_view(since_).substr(0, 19)))
      continue;
    if (lines_++ == 0) first_ = line;
  }
  return fresh;
}

}  // namespace workload
