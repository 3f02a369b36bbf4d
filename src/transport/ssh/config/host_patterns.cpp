#include "transport/ssh/config/host_patterns.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "transport/ssh/config/tokens.hpp"

#include <glob.h>

#include <algorithm>
#include <array>
#include <initializer_list>

namespace transport {

namespace {
constexpr int deepest = 16;  // ssh_config(5): nested Include

constexpr std::array lists_of_files =
    std::to_array<std::string_view>({"userknownhostsfile", "globalknownhostsfile"});

bool is_one_of(std::string_view keyword, std::initializer_list<std::string_view> keywords) {
  return std::ranges::find(keywords, keyword) != keywords.end();
}

/// Whether gpuadm replaces the tokens in a value itself, or does not use the value. `ssh -G` may have
/// replaced those in other values: which ones, depends on its version.
bool is_expanded_here(std::string_view keyword) {
  return is_one_of(keyword, {"controlpath", "forwardagent", "hostname", "localcommand", "localforward",
                             "proxycommand", "proxyjump", "remotecommand", "remoteforward", "setenv"});
}

/// Whether it has a token whose value is different for each host (ssh_config(5), TOKENS).
bool names_host(std::string_view value) {
  for (std::size_t at = value.find('%'); at != value.npos; at = value.find('%', at + 1))
    if (at + 1 < value.size() && std::string_view("Chjkn").find(value[at + 1]) != std::string_view::npos)
      return true;
  return false;
}

struct ConfigLine {
  std::string keyword;  ///< in lower case; empty: none
  std::string_view value;
};

/// ssh_config(5): a keyword, then blanks or one =.
ConfigLine config_line(std::string_view line) {
  static constexpr std::string_view blank = " \t\r\n\f";
  const auto trimmed = [](std::string_view text) {
    const std::size_t from = text.find_first_not_of(blank);
    if (from == text.npos) return std::string_view();
    return text.substr(from, text.find_last_not_of(blank) - from + 1);
  };
  line = trimmed(line);
  if (line.empty() || line.front() == '#') return {};
  const std::size_t end = std::min(line.find_first_of(" \t\r=\""), line.size());
  ConfigLine found{base::lower(line.substr(0, end)), trimmed(line.substr(end))};
  if (found.value.starts_with('=')) found.value = trimmed(found.value.substr(1));
  return found;
}
}  // namespace

bool matches(std::string_view text, std::string_view pattern) {
  std::size_t t = 0, p = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] != '*' && pattern[p] == text[t]))) {
      ++t, ++p;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool matches_list(std::string_view text, const std::vector<std::string>& patterns) {
  bool found = false;
  for (const std::string_view pattern : patterns) {
    if (pattern.starts_with('!')) {
      if (matches(text, pattern.substr(1))) return false;
    } else if (matches(text, pattern)) {
      found = true;
    }
  }
  return found;
}

HostPatterns::HostPatterns(const std::filesystem::path& file) {
  const auto home = login_home() / ".ssh";
  read(file.empty() ? home / "config" : file, home, 0);
  if (file.empty()) read("/etc/ssh/ssh_config", "/etc/ssh", 0);
}

void HostPatterns::scan_line(std::string_view line, Scan& scan) {
  const auto [keyword, value] = config_line(line);
  if (keyword.empty()) {
    // A keyword in quotes, or nothing.
    if (line.find('"') < line.find('#')) {
      scan.each_host_differs = true;
      scan.quoted.insert(std::begin(lists_of_files), std::end(lists_of_files));
    }
    return;
  }
  // Versions of OpenSSH read quotes, backslashes and comments behind values differently.
  const bool is_plain = value.find_first_of("\"'\\#=") == value.npos;
  if (keyword == "match" || keyword.starts_with("canonical") ||
      (!is_expanded_here(keyword) && names_host(value)) || (keyword == "host" && !is_plain) ||
      (keyword == "include" && value.find_first_of("%$") != value.npos))
    scan.each_host_differs = true;
  if (std::ranges::find(lists_of_files, keyword) != lists_of_files.end() &&
      (!is_plain || value.find('$') != value.npos))
    scan.quoted.insert(keyword);
  const auto words = base::words(value);
  if (keyword == "host") scan.hosts.emplace_back(words.begin(), words.end());
  if (keyword == "include") scan.includes.insert(scan.includes.end(), words.begin(), words.end());
}

const HostPatterns::Scan& HostPatterns::scan(const std::string& file) {
  const auto [at, is_new] = scans_.try_emplace(file);
  if (!is_new) return at->second;
  if (const auto text = base::read_file(file)) {
    at->second.is_readable = true;
    for (const auto line : base::lines(*text)) scan_line(line, at->second);
  }
  return at->second;
}

void HostPatterns::read(const std::filesystem::path& file, const std::filesystem::path& relative_to,
                        int depth) {
  const Scan& found = scan(file.string());
  if (!found.is_readable) return;
  files_.insert(file.string());
  each_host_differs_ = each_host_differs_ || found.each_host_differs;
  lines_.insert(lines_.end(), found.hosts.begin(), found.hosts.end());
  if (depth < deepest)
    for (const auto& pattern : found.includes) include(pattern, relative_to, depth + 1);
}

void HostPatterns::confirm(const std::set<std::string>& files) {
  if (files != files_) each_host_differs_ = true;
}

bool HostPatterns::may_have_blanks(const std::string& keyword, const std::set<std::string>& files) {
  const auto is_quoted_in = [&](const std::string& file) {
    const Scan& found = scan(file);
    return !found.is_readable || found.quoted.contains(keyword);
  };
  return login_home().string().find_first_of(" \t") != std::string::npos ||
         std::ranges::any_of(files, is_quoted_in) || std::ranges::any_of(files_, is_quoted_in);
}

void HostPatterns::include(std::string_view pattern, const std::filesystem::path& relative_to, int depth) {
  std::filesystem::path path(pattern);
  if (pattern.starts_with("~/"))
    path = login_home() / pattern.substr(2);
  else if (path.is_relative())
    path = relative_to / path;
  glob_t found{};
  if (::glob(path.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) read(found.gl_pathv[i], relative_to, depth);
  ::globfree(&found);
}

std::string HostPatterns::class_of(const std::string& host) const {
  if (each_host_differs_) return "host " + host;
  std::string bits;
  for (const auto& line : lines_) bits += matches_list(host, line) ? '1' : '0';
  return bits;
}

}  // namespace transport
