#include "transport/ssh/config/host_patterns.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "transport/ssh/config/config.hpp"

#include <glob.h>

#include <algorithm>
#include <array>

namespace transport {

namespace {
constexpr int deepest = 16;  // ssh_config(5): nested Include

/// Whether a value that gpuadm uses may contain tokens that `ssh -G` has already replaced (which ones,
/// depends on its version). HostName and ProxyJump are not among them: ConfigCache and expand() replace their
/// tokens.
bool is_expanded(std::string_view keyword) {
  static constexpr std::array<std::string_view, 8> keywords{
      "certificatefile",   "globalknownhostsfile", "identityagent", "identityfile",
      "knownhostscommand", "revokedhostkeys",      "user",          "userknownhostsfile"};
  return std::ranges::find(keywords, keyword) != keywords.end();
}

/// Whether it has a token whose value is different for each host (ssh_config(5), TOKENS).
bool names_host(std::string_view value) {
  for (std::size_t at = value.find('%'); at != value.npos; at = value.find('%', at + 1))
    if (at + 1 < value.size() && std::string_view("Chjkn").find(value[at + 1]) != std::string_view::npos)
      return true;
  return false;
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

void HostPatterns::read(const std::filesystem::path& file, const std::filesystem::path& relative_to,
                        int depth) {
  const auto text = base::read_file(file);
  if (!text) return;
  for (auto line : base::lines(*text)) {
    std::string plain(base::trim(line));
    for (char& c : plain)
      if (c == '=' || c == '"' || c == '\t') c = ' ';
    const auto words = base::words(plain);
    if (words.empty()) continue;
    const std::string keyword = base::lower(words[0]);
    if (keyword == "match" || keyword == "canonicalizehostname" ||
        (is_expanded(keyword) && names_host(plain)) ||
        (keyword == "include" && plain.find_first_of("%$") != plain.npos))
      each_host_differs_ = true;
    if (keyword == "host") lines_.emplace_back(words.begin() + 1, words.end());
    if (keyword == "include" && depth < deepest)
      for (std::size_t i = 1; i < words.size(); ++i) include(words[i], relative_to, depth + 1);
  }
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
