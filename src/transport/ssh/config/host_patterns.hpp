#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace transport {

/// One pattern with * and ?.
[[nodiscard]] bool matches(std::string_view text, std::string_view pattern);
/// A list in the format of ssh_config(5) and sshd(8): any match, unless a pattern with ! matches. Case
/// matters, as in Host lines; names in known_hosts are compared in lower case, on both sides.
[[nodiscard]] bool matches_list(std::string_view text, const std::vector<std::string>& patterns);

/// The Host lines of the operator's ssh_config files, only to determine for which hosts `ssh -G` may return
/// different answers.
class HostPatterns {
 public:
  /// From one file (`ssh -F`), or if that is empty from ~/.ssh/config and /etc/ssh/ssh_config; with their
  /// includes.
  explicit HostPatterns(const std::filesystem::path& file);

  /// Hosts of the same class get the same answer, except for the host's own name. Each host is its own class
  /// if there is a Match line, or a file, command or user with a token for the host (`UserKnownHostsFile
  /// ~/.ssh/%k`).
  [[nodiscard]] std::string class_of(const std::string& host) const;

 private:
  void read(const std::filesystem::path& file, const std::filesystem::path& relative_to, int depth);
  void include(std::string_view pattern, const std::filesystem::path& relative_to, int depth);
  std::vector<std::vector<std::string>> lines_;
  bool each_host_differs_ = false;
};

}  // namespace transport
