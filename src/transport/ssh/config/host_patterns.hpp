#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace transport {

/// One pattern with * and ?.
[[nodiscard]] bool matches(std::string_view text, std::string_view pattern);
/// A list as ssh_config(5) and sshd(8) have it: any match, unless a pattern with ! matches. Case is ignored.
[[nodiscard]] bool matches_list(std::string_view text, const std::vector<std::string>& patterns);

/// The Host lines of the operator's ssh_config files, only to know which hosts `ssh -G` may answer
/// differently for.
class HostPatterns {
 public:
  /// Of one file (`ssh -F`), or where that is empty of ~/.ssh/config and /etc/ssh/ssh_config; and what they
  /// include.
  explicit HostPatterns(const std::filesystem::path& file);

  /// Hosts with an equal class get an equal answer but for the host's own name. A Match line makes each host
  /// its own class.
  [[nodiscard]] std::string class_of(const std::string& host) const;

 private:
  void read(const std::filesystem::path& file, const std::filesystem::path& relative_to, int depth);
  void include(std::string_view pattern, const std::filesystem::path& relative_to, int depth);
  std::vector<std::vector<std::string>> lines_;
  bool has_match_ = false;
};

}  // namespace transport
