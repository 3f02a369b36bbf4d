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

/// A command that has ended, successfully or not.
struct Completion {
  std::string host;
  Result<Exit> result;
  base::Time ended = base::now();  ///< local time of the end, also if next() returns it later
};

/// Something else that runs in the poll loop of a fleet, such as a server: passive, like a transport.
struct Service {
  std::function<void(std::vector<pollfd>& into)> interests;  ///< appends the descriptors to poll for
  std::function<std::optional<base::Instant>()> wake;        ///< when `advance` must be called anyway
  std::function<void()> advance;
};

/// The poll loop: the transports of all hosts, a window of active hosts, deadlines, Ctrl-C.
class Fleet {
 public:
  /// `window`: maximum number of hosts with a running command. `interrupt` may be null; it must outlive the
  /// fleet.
  Fleet(int window, base::Interrupt* interrupt);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  /// Adds a host. Names are unique.
  void add(std::string host, std::unique_ptr<Transport> transport);
  /// Closes the connection of a host without queued or running commands.
  void remove(const std::string& host);
  [[nodiscard]] std::vector<std::string> hosts() const;
  [[nodiscard]] Transport& at(const std::string& host);

  /// Maximum number of hosts with a running command.
  [[nodiscard]] std::size_t window() const { return window_; }
  /// Queues a command; it starts when the host is idle and the window has a free slot. With
  /// Purpose::keep_alive it starts immediately, whether there is a slot or not, and its end is not reported;
  /// on a host with a running command it is dropped.
  void submit(const std::string& host, Command command);
  /// Calls a function at this interval while next() or next_until() waits; an empty one: no longer.
  void every(std::chrono::seconds interval, std::function<void()> call);
  /// Waits for the next command to end. Nothing: none is queued or running. After the first Ctrl-C, queued
  /// commands end with Fault::interrupted and running ones finish; after the second, every connection is
  /// closed immediately.
  [[nodiscard]] std::optional<Completion> next();
  /// Also returns (nothing) at `deadline`, whether commands are running or not, so that a caller can sleep
  /// between polls; the first Ctrl-C ends the sleep once nothing is running.
  [[nodiscard]] std::optional<Completion> next_until(base::Instant deadline);
  /// Start time of the command that is running on a host. Nothing: none is.
  [[nodiscard]] std::optional<base::Instant> begun(const std::string& host) const;
  /// Commands queued, running, or ended and not yet fetched.
  [[nodiscard]] std::size_t pending() const;
  [[nodiscard]] bool interrupted() const;
  /// Called once, at the first Ctrl-C while commands are running.
  void on_interrupt(std::function<void()> call) { on_interrupt_ = std::move(call); }
  /// Advances a service whenever next() or next_until() waits, so that everything that uses the fleet serves
  /// it too. The functions must stay valid as long as the fleet waits.
  void attend(Service service) { service_ = std::move(service); }

 private:
  struct Lane;
  void start(Lane& lane, Command command);
  void start_queued();
  void refuse_queued();
  void turn(base::Instant deadline);
  void advance(Lane& lane);
  void serve(std::size_t first_fd);
  void finish(Lane& lane, Result<Exit> result);
  void on_signal();

  std::map<std::string, std::unique_ptr<Lane>> lanes_;
  std::deque<std::string> queue_;  ///< hosts whose command waits for the window
  std::vector<Lane*> running_;     ///< in start order
  std::vector<pollfd> fds_;        ///< of the current turn
  std::size_t window_;
  int signals_ = 0;
  base::Interrupt* interrupt_;
  std::function<void()> on_interrupt_;
  std::optional<Service> service_;
  struct Regular {
    std::function<void()> call;
    std::chrono::seconds interval{0};
    base::Instant next = base::Instant::max();
  } regular_;
  std::deque<Completion> done_;
};

}  // namespace transport
