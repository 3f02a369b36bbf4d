#pragma once

#include "gpuadm/transport/transport.hpp"

#include "transport/wire.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace transport {

struct SshState;

class Session {
 public:
  Session(Options options, Operator the_operator);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Options options;
  const Marks marks;
  const std::unique_ptr<SshState> ssh;

  /// Time without the operator's response times: for deadlines.
  [[nodiscard]] base::Instant now() const { return base::Clock::now() - asked_for_; }
  /// A deadline of now() in the clock of poll.
  [[nodiscard]] base::Instant real(base::Instant deadline) const { return deadline + asked_for_; }

  /// Prompts the operator once for `key`; later calls return the same answer. Nothing: no operator, or
  /// refused.
  [[nodiscard]] std::optional<base::Secret> ask(const std::string& key, const std::string& prompt);
  /// The answer was wrong: the next ask() prompts again.
  void forget(const std::string& key) { answers_.erase(key); }
  /// The same, unless the operator has entered a new one for another host since.
  void forget(const std::string& key, const base::Secret& wrong);
  /// The host's key was accepted in this run without verification: it gets no password that was entered for
  /// other hosts.
  void note_new_key(const std::string& host) { new_keys_.insert(host); }
  [[nodiscard]] bool has_new_key(const std::string& host) const { return new_keys_.contains(host); }
  /// A host of the run, for prompts that list the recipients of a password.
  void add_host(const std::string& host);
  /// A password of `user`, for `what` ("", " for sudo"): prompted for once for all hosts with a known key,
  /// and once for each host whose key was accepted in this run. The prompt lists the hosts that get it.
  [[nodiscard]] std::optional<base::Secret> ask_password(const std::string& user, const std::string& host,
                                                         std::string_view what);
  /// That password was wrong: see forget().
  void forget_password(const std::string& user, const std::string& host, std::string_view what,
                       const base::Secret& wrong);
  void notify(const std::string& host, const std::string& line) const;
  /// A path on a host where two channels of one file meet; different each time.
  [[nodiscard]] std::string meeting();
  /// A notice that is not about a single host, shown once.
  void notify_once(const std::string& line);
  /// Runs an operation that may wait for a person (an agent's confirmation), without counting its time.
  template <class Work>
  auto waiting(Work&& work) {
    const base::Instant from = base::Clock::now();
    auto result = work();
    asked_for_ += base::Clock::now() - from;
    return result;
  }

 private:
  Operator operator_;
  std::map<std::string, std::optional<base::Secret>> answers_;
  std::set<std::string> notified_, new_keys_;
  std::vector<std::string> hosts_;
  base::Clock::duration asked_for_{};
  int meetings_ = 0;
};

}  // namespace transport
