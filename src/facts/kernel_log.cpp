#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"
#include "facts/words.hpp"

namespace facts {

namespace {

/// "[   12.345678] text" of dmesg, "[   12.345678] host kernel: text" of journalctl -o short-monotonic.
std::optional<LogLine> read_line(std::string_view line) {
  const std::size_t end = line.find(']');
  if (!line.starts_with('[') || end == std::string_view::npos) return std::nullopt;
  const auto seconds = base::to_real(base::trim(line.substr(1, end - 1)));
  if (!seconds) return std::nullopt;
  std::string_view text = base::trim(line.substr(end + 1));
  if (const std::size_t at = text.find(" kernel: "); at < text.find(' ') + 1) text.remove_prefix(at + 9);
  return LogLine{*seconds, base::printable(text, 400)};
}

/// "…Xid (PCI:0000:2a:00): 79, pid=1234, …": slot, number and what follows.
std::optional<Xid> read_xid(const LogLine& line, std::string_view word) {
  const std::string_view text = line.text;
  const std::size_t at = text.find(word), end = text.find("): ", at);
  if (at == std::string_view::npos || end == std::string_view::npos) return std::nullopt;
  std::string slot = slot_of(text.substr(at + word.size(), end - at - word.size()));
  if (slot.find('.') == std::string::npos) slot += ".0";
  const std::string_view rest = text.substr(end + 3);
  const std::size_t comma = rest.find(',');
  const auto code = count(rest.substr(0, comma));
  if (!code || *code > 99999) return std::nullopt;
  const std::string_view more =
      comma == std::string_view::npos ? std::string_view() : base::trim(rest.substr(comma + 1));
  return Xid{line.seconds, slot, static_cast<int>(*code), std::string(more)};
}

}  // namespace

void read_kernel_log(const Sections& sections, Facts& facts) {
  if (const auto uptime = sections.first("/proc/uptime"))
    facts.uptime = base::to_real(uptime->substr(0, uptime->find(' ')));
  facts.numa_nodes = sections.first("/sys/devices/system/node/online").value_or("");
  if (!sections.find("kernel-log")) return;
  facts.kernel_log.emplace();
  for (const std::string_view text : sections.lines("kernel-log")) {
    auto line = read_line(text);
    if (!line) continue;
    if (auto sxid = read_xid(*line, "SXid (PCI:"))
      facts.sxids.push_back(std::move(*sxid));
    else if (auto xid = read_xid(*line, "NVRM: Xid (PCI:"))
      facts.xids.push_back(std::move(*xid));
    facts.kernel_log->push_back(std::move(*line));
  }
}

}  // namespace facts
