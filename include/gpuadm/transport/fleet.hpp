#pragma once

#include "gpuadm/base/interrupt.hpp"
#include "gpuadm/transport/transport.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace transport {

/// A command that has ended, one way or the other.
struct Completion {
  std::string host;
  Result<Exit> result;
};

/// The one poll loop: every host's transport, a window of hosts in flight, deadlines, Ctrl-C.
class Fleet {
 public:
  /// `window`: how many hosts may have a command running at once. `interrupt` may be null; it must outlive
  /// the fleet.
  Fleet(int window, base::Interrupt* interrupt);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  /// Adds a host. Names are unique.
  void add(std::string host, std::unique_ptr<Transport> transport);
  /// Closes the connection of a host, for which no command may be queued or running.
  void remove(const std::string& host);
  [[nodiscard]] std::vector<std::string> hosts() const;
  [[nodiscard]] Transport& at(const std::string& host);

  /// Queues a command; it starts as soon as the host is idle and the window has room.
  void submit(const std::string& host, Command command);
  /// Waits for the next command to end. Nothing: none is queued or running. After a first Ctrl-C queued
  /// commands end with Fault::interrupted and running ones finish; after a second every connection is closed
  /// at once.
  [[nodiscard]] std::optional<Completion> next();
  /// Also returns (nothing) when `deadline` passes, whether commands run or not: a wait between polls sleeps
  /// here, and a first Ctrl-C ends the sleep once nothing runs.
  [[nodiscard]] std::optional<Completion> next_until(base::Instant deadline);
  /// When the command began that runs on a host. Nothing: none runs.
  [[nodiscard]] std::optional<base::Instant> begun(const std::string& host) const;
  /// Commands queued, running, or ended and not yet fetched.
  [[nodiscard]] std::size_t pending() const;
  [[nodiscard]] bool interrupted() const;
  /// Called once, when a first Ctrl-C comes while commands run.
  void on_interrupt(std::function<void()> call) { on_interrupt_ = std::move(call); }

 private:
  struct Lane;
  void start_queued();
  void refuse_queued();
  void turn(base::Instant deadline);
  void advance(Lane& lane);
  void finish(Lane& lane, Result<Exit> result);
  void on_signal();

  std::map<std::string, std::unique_ptr<Lane>> lanes_;
  std::deque<std::string> queue_;  ///< hosts with a command that waits for the window
  std::vector<Lane*> running_;     ///< in the order they began
  std::vector<pollfd> fds_;        ///< of the current turn
  std::size_t window_;
  int signals_ = 0;
  base::Interrupt* interrupt_;
  std::function<void()> on_interrupt_;
  std::deque<Completion> done_;
};

}  // namespace transport
