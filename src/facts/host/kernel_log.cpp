#include "gpuadm/base/text.hpp"

#include "facts/host/log_time.hpp"
#include "facts/read.hpp"
#include "facts/text/words.hpp"

namespace facts {

namespace {

/// The message after the time: without "node1 kernel: ", and without the kernel's own prefixes, the time "[
/// 12.345678] " that syslog keeps and the caller "[ T1234] ".
std::string_view message_of(std::string_view text) {
  text = base::trim(text);
  if (const std::size_t at = text.find("kernel: ");
      at == 0 || (at != std::string_view::npos && text[at - 1] == ' ' && text.find(' ') == at - 1))
    text.remove_prefix(at + 8);
  while (text.starts_with('[')) {
    const std::size_t end = text.find("] ");
    if (end == std::string_view::npos) break;
    const std::string_view inside = base::trim(text.substr(1, end - 1));
    const bool caller =
        inside.size() > 1 && (inside[0] == 'T' || inside[0] == 'C') && count(inside.substr(1));
    if (!caller && !base::to_real(inside)) break;
    text = base::trim(text.substr(end + 2));
  }
  return text;
}

/// "<3>": the priority is err or above.
bool is_severe(std::string_view raw) {
  raw = base::trim(raw);
  return raw.size() > 2 && raw[0] == '<' && raw[1] >= '0' && raw[1] <= '3' && raw[2] == '>';
}

/// "…Xid (PCI:0000:2a:00): 79, pid=1234, …", for old drivers without "PCI:": slot, number and the rest. With
/// MIG the slot is followed by the instances, "(PCI:0000:2a:00 GPU-I:06 GPU-CI:00)": open-gpu-kernel-modules,
/// kernel_rc.c.
std::optional<Xid> read_xid(const LogLine& line, std::string_view word) {
  const std::string_view text = line.text;
  const std::size_t at = text.find(word), end = text.find("): ", at);
  if (at == std::string_view::npos || end == std::string_view::npos) return std::nullopt;
  std::string_view place = text.substr(at + word.size(), end - at - word.size());
  if (place.starts_with("PCI:")) place.remove_prefix(4);
  std::string slot = slot_of(place.substr(0, place.find(' ')));
  if (slot.find('.') == std::string::npos) slot += ".0";
  const std::string_view rest = text.substr(end + 3);
  const std::size_t comma = rest.find(',');
  const auto code = count(rest.substr(0, std::min(rest.find_first_not_of("0123456789"), rest.size())));
  if (!code || *code > 99999) return std::nullopt;
  const std::string_view more =
      comma == std::string_view::npos ? std::string_view() : base::trim(rest.substr(comma + 1));
  return Xid{line.seconds, slot, static_cast<int>(*code), std::string(more)};
}

/// Other messages of the kernel contain texts of users, such as the path of a program that one has started
/// without arguments.
bool is_of_driver(std::string_view message) {
  return message.starts_with("NVRM: ") || message.starts_with("nvidia-nvswitch");
}

}  // namespace

void read_kernel_log(const Sections& sections, Facts& facts) {
  const Section* section = sections.find("kernel-log");
  if (!section) return;
  std::vector<LogLine> log;
  for (const std::string_view raw : section->lines) {
    const auto line = timed_text(raw, facts);
    // A line without a time has the time of the line before.
    if (!line && !log.empty())
      log.push_back({log.back().seconds, base::printable(message_of(raw), 400), is_severe(raw)});
    if (!line) continue;
    // A line with a date, on a host whose boot time is unknown, is considered new.
    double seconds = line->seconds.value_or(facts.kernel.uptime.value_or(0));
    if (line->relative) seconds += log.empty() ? 0 : log.back().seconds;
    log.push_back({seconds, base::printable(message_of(line->text), 400), is_severe(raw)});
  }
  if (log.empty() && !section->lines.empty()) {
    facts.unread.emplace("kernel-log", "unexpected time format");
    return;
  }
  constexpr std::string_view sxid_word = "SXid (", xid_word = "NVRM: Xid (";
  for (const LogLine& line : log) {
    if (!is_of_driver(line.text)) continue;
    if (auto sxid = read_xid(line, sxid_word))
      facts.nvidia.sxids.push_back(std::move(*sxid));
    else if (auto xid = read_xid(line, xid_word))
      facts.nvidia.xids.push_back(std::move(*xid));
    else if (line.text.contains(sxid_word) || line.text.contains(xid_word))
      facts.unread.emplace("kernel-log", "an Xid in an unexpected format");
  }
  facts.kernel.log = std::move(log);
}

}  // namespace facts
