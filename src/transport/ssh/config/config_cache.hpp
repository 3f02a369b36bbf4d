#pragma once

#include "transport/child.hpp"
#include "transport/ssh/config/config.hpp"
#include "transport/ssh/config/host_patterns.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace transport {

/// `ssh -G`, called once for all hosts that the operator's configuration does not distinguish (5 ms of CPU
/// per call).
class ConfigCache {
 public:
  /// `ssh_config`: as `ssh -F`, or empty.
  explicit ConfigCache(std::filesystem::path ssh_config) : file_(std::move(ssh_config)), patterns_(file_) {}

  /// The answer, or nothing while ssh is running: call again when a descriptor of interests() is ready.
  /// Fault::spec with ssh's message if it cannot read its configuration.
  [[nodiscard]] base::Result<std::optional<Config>> ask(const ConfigQuestion& question);
  void interests(const ConfigQuestion& question, std::vector<pollfd>& into) const;
  /// Whether ask() need not wait for a descriptor: another host may have received the answer that both waited
  /// for, or found that each needs its own.
  [[nodiscard]] bool ready(const ConfigQuestion& question) const;
  /// Number of calls of ssh.
  [[nodiscard]] std::size_t questions() const { return queries_.size(); }

 private:
  struct Query {
    Child child;
    std::string out, err;
    std::optional<base::Result<Config>> answer;
    std::string asked_host;
  };
  [[nodiscard]] std::vector<std::string> command(const ConfigQuestion& question) const;
  [[nodiscard]] std::string key_of(const ConfigQuestion& question) const;
  void proceed(Query& query);

  std::filesystem::path file_;
  HostPatterns patterns_;
  std::map<std::string, std::unique_ptr<Query>> queries_;
  std::map<std::string, bool>
      own_question_;  ///< classes whose answer contains another host: called for each host
};

}  // namespace transport
