#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace transport {

/// One pattern with * and ?.
[[nodiscard]] bool matches(std::string_view text, std::string_view pattern);
/// A list in the format of ssh_config(5) and sshd(8): any match, unless a pattern with ! matches. Case
/// matters, as in Host lines; names in known_hosts are compared in lower case, on both sides.
[[nodiscard]] bool matches_list(std::string_view text, const std::vector<std::string>& patterns);

/// The operator's ssh_config files, only to determine for which hosts `ssh -G` may return different answers,
/// and whether its lists of files can be split. Lines that are not understood count as different for each
/// host.
class HostPatterns {
 public:
  /// From one file (`ssh -F`), or if that is empty from ~/.ssh/config and /etc/ssh/ssh_config; with their
  /// includes.
  explicit HostPatterns(const std::filesystem::path& file);

  /// Hosts of the same class get the same answer, except for the host's own name. Each host is its own class
  /// if there is a Match line, or a file, command or user with a token for the host (`UserKnownHostsFile
  /// ~/.ssh/%k`).
  [[nodiscard]] std::string class_of(const std::string& host) const;
  /// The files that OpenSSH has read. If they are not those that were read here (an Include that was not
  /// understood, files in another directory), each host is its own class from now on.
  void confirm(const std::set<std::string>& files);
  /// Whether a name in a list of files, which one of these files sets with this keyword (in lower case), may
  /// contain a blank.
  [[nodiscard]] bool may_have_blanks(const std::string& keyword, const std::set<std::string>& files);
  /// Names of the files.
  [[nodiscard]] const std::set<std::string>& files() const { return files_; }

 private:
  struct Scan {
    std::vector<std::vector<std::string>> hosts;  ///< the patterns of each Host line
    std::vector<std::string> includes;
    std::set<std::string>
        quoted;  ///< keywords of lists of files, some of which may have blanks in their names
    bool each_host_differs = false, is_readable = false;
  };
  static void scan_line(std::string_view line, Scan& scan);
  const Scan& scan(const std::string& file);
  void read(const std::filesystem::path& file, const std::filesystem::path& relative_to, int depth);
  void include(std::string_view pattern, const std::filesystem::path& relative_to, int depth);

  std::map<std::string, Scan> scans_;
  std::set<std::string> files_;
  std::vector<std::vector<std::string>> lines_;
  bool each_host_differs_ = false;
};

}  // namespace transport
