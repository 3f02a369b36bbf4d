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

  /// Time without the time that the operator took to answer: deadlines run on it.
  [[nodiscard]] base::Instant now() const { return base::Clock::now() - asked_for_; }
  /// A deadline of now()'s as poll sees it.
  [[nodiscard]] base::Instant real(base::Instant deadline) const { return deadline + asked_for_; }

  /// Asks the operator once for what `key` names; later calls get the same answer. Nothing: nobody to ask, or
  /// refused.
  [[nodiscard]] std::optional<base::Secret> ask(const std::string& key, const std::string& prompt);
  /// The answer was wrong: the next ask() asks again.
  void forget(const std::string& key) { answers_.erase(key); }
  /// As above, unless another host has had the operator type a new one since.
  void forget(const std::string& key, const base::Secret& wrong);
  /// The host's key was accepted in this run: nobody has compared it yet, so it gets no password that was
  /// typed for others.
  void note_new_key(const std::string& host) { new_keys_.insert(host); }
  [[nodiscard]] bool has_new_key(const std::string& host) const { return new_keys_.contains(host); }
  /// A host that may be connected to, for prompts that name those who get what is typed.
  void add_host(const std::string& host);
  /// A password of `user`, for `what` ("", " for sudo"): asked once for all hosts whose key was known before,
  /// and once more for each host that was of which the key was accepted in this run. The prompt names the
  /// hosts that get it.
  [[nodiscard]] std::optional<base::Secret> ask_password(const std::string& user, const std::string& host,
                                                         std::string_view what);
  /// That password was wrong: as forget().
  void forget_password(const std::string& user, const std::string& host, std::string_view what,
                       const base::Secret& wrong);
  void notify(const std::string& host, const std::string& line) const;
  /// A path on a host where two channels of one file meet; another each time.
  [[nodiscard]] std::string meeting();
  /// A line that concerns no single host, told once.
  void notify_once(const std::string& line);
  /// Runs what may block on a person (an agent that asks to confirm): its time is the operator's.
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
