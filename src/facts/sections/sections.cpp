#include "gpuadm/facts/sections.hpp"

#include "gpuadm/base/text.hpp"

#include <algorithm>

namespace facts {

namespace {

constexpr std::string_view first_line = "gpuadm-probe 1";

/// A byte that does not occur in text: control characters except tabs, carriage returns and escapes of
/// colors, and bytes that are invalid in UTF-8.
bool is_damage(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\r' && c != '\x1b') || byte == 0x7f || byte == 0xc0 ||
         byte == 0xc1 || byte > 0xf4;
}

/// Start of the first line, or npos.
std::size_t find_first_line(std::string_view text) {
  std::size_t at = text.find(first_line);
  while (at != std::string_view::npos && at != 0 && text[at - 1] != '\n') at = text.find(first_line, at + 1);
  return at;
}

}  // namespace

std::string Section::text() const {
  std::string all;
  for (const std::string_view line : lines) all.append(line).push_back('\n');
  return all;
}

std::string Section::first() const {
  return lines.empty() ? std::string() : std::string(base::trim(lines.front()));
}

base::Result<Sections> Sections::split(std::string_view text) {
  const std::size_t begin = find_first_line(text);
  if (begin == std::string_view::npos)
    return base::fail(base::Fault::parse,
                      "the host did not answer the probe: " + base::printable(text.substr(0, 200)),
                      "log in manually and run `sh -c 'echo ok'`: it must print nothing else");
  Sections all;
  all.noise = std::string(text.substr(0, std::min<std::size_t>(begin, 200)));
  Section* current = nullptr;
  Section dropped;
  for (const std::string_view line : base::lines(text.substr(begin))) {
    if (line == "=== end") return all;
    if (line.starts_with("=== ")) {
      all.torn = all.torn || std::ranges::any_of(line, is_damage);
      const auto [place, fresh] = all.sections_.try_emplace(std::string(line.substr(4)));
      current = fresh ? &place->second : &dropped;
    } else if (current == nullptr) {
      all.torn = all.torn || line != first_line;
    } else if (line.starts_with("| ")) {
      current->lines.push_back(line.substr(2));
      if (std::ranges::none_of(line, is_damage)) continue;
      current->damaged = true;
      all.torn = all.torn || line.find("=== ", 2) != std::string_view::npos;
    } else if (line.starts_with("? ")) {
      if (const auto status = base::to_int(line.substr(2)); status && *status >= 0 && *status < 256)
        current->status = static_cast<int>(*status);
      else
        current->damaged = all.torn = true;
    } else if (line == "! cut") {
      current->cut = true;
    } else if (!line.empty()) {
      current->damaged = all.torn = true;
    }
  }
  return base::fail(base::Fault::parse, "the output of the probe was truncated",
                    "run again; if it happens again, increase `ssh.commandTimeout` in the cluster file");
}

const Section* Sections::find(std::string_view name) const {
  const auto place = sections_.find(name);
  return place == sections_.end() ? nullptr : &place->second;
}

std::optional<std::string> Sections::first(std::string_view name) const {
  const Section* section = find(name);
  return section ? std::optional(section->first()) : std::nullopt;
}

std::optional<std::string> Sections::text(std::string_view name) const {
  const Section* section = find(name);
  return section ? std::optional(section->text()) : std::nullopt;
}

const std::vector<std::string_view>& Sections::lines(std::string_view name) const {
  static const std::vector<std::string_view> none;
  const Section* section = find(name);
  return section ? section->lines : none;
}

std::vector<std::pair<std::string_view, std::string_view>> Sections::values(std::string_view name) const {
  std::vector<std::pair<std::string_view, std::string_view>> values;
  for (const std::string_view line : lines(name))
    if (const std::size_t blank = line.find(' '); blank != std::string_view::npos)
      values.emplace_back(line.substr(0, blank), base::trim(line.substr(blank)));
  return values;
}

void Sections::each(std::string_view prefix, std::string_view suffix,
                    const std::function<void(const std::string& name, const Section&)>& visit) const {
  for (auto place = sections_.lower_bound(prefix); place != sections_.end(); ++place) {
    if (!place->first.starts_with(prefix)) break;
    if (place->first.ends_with(suffix)) visit(place->first, place->second);
  }
}

}  // namespace facts
