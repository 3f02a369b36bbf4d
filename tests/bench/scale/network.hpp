#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace scale {

/// Speeds in bytes per second, times in seconds.
struct Speeds {
  double uplink = 0;        ///< of the client, shared by all that it sends to
  double stream = 0;        ///< at most for one connection from the client
  double host = 0;          ///< what a host receives, sums and writes, and what it sends to all its guests
  double look_again = 0.2;  ///< how often a relay looks for more, once it has sent all (playbooks/depot.sh)
};

/// A file that spreads over hosts: bytes as a fluid, in steps of simulated time.
class Network {
 public:
  static constexpr int client = -1, nobody = -2;
  static constexpr double step = 0.02;  ///< seconds

  Network(const Speeds& speeds, int hosts, double size);

  /// The host receives the rest of the file from the client, or from another host.
  void receive(int host, int source);
  void stop(int host);
  /// Moves bytes until `now`.
  void advance(double now);

  /// Bytes that the host has.
  [[nodiscard]] double has(int host) const { return hosts_[at(host)].has; }
  [[nodiscard]] bool is_whole(int host) const { return has(host) >= size_; }
  /// When the last byte came, or the transfer started.
  [[nodiscard]] double last_byte(int host) const { return hosts_[at(host)].last_byte; }
  [[nodiscard]] int source(int host) const { return hosts_[at(host)].source; }
  /// The host's speed is that much of the others'.
  void slow_down(int host, double factor) { hosts_[at(host)].factor = factor; }
  /// Once it has half of the file, it sends and receives nothing.
  void dies_half_way(int host) { hosts_[at(host)].dies_with = size_ / 2; }
  [[nodiscard]] bool is_dead(int host) const { return has(host) >= hosts_[at(host)].dies_with; }
  [[nodiscard]] double sent_by_client() const { return sent_by_client_; }
  /// The most hosts that the client sent to at the same time.
  [[nodiscard]] int most_from_client() const { return most_from_client_; }

 private:
  struct Host {
    double has = 0, last_byte = 0, factor = 1;
    double dies_with = std::numeric_limits<double>::infinity();  ///< bytes
    double offered = 0;                                          ///< what its source had when it last looked
    double next_look = 0;                                        ///< of the source for more
    int source = nobody;
    int guests = 0;  ///< that receive from it
  };
  static std::size_t at(int host) { return static_cast<std::size_t>(host); }
  void move(Host& host, double bytes);
  void from_client();
  void from_hosts();

  Speeds speeds_;
  double size_, now_ = 0, sent_by_client_ = 0;
  int most_from_client_ = 0;
  std::vector<Host> hosts_;
  std::vector<int> receiving_;  ///< in the order in which they started, so mostly a source before its guests
};

}  // namespace scale
