#pragma once

#include "gpuadm/transport/transport.hpp"

#include "network.hpp"

#include <memory>

namespace scale {

/// What commands cost. Seconds.
struct Costs {
  double connect = 0.15;      ///< to log in
  double program = 0.05;      ///< a short program, and its round trip
  double client_cpu = 0.002;  ///< of the client for each command
  double connect_timeout = 15;
  /// 0: hosts have their own processors. Otherwise they share this many (as addresses of one machine do), and
  /// each command takes `host_cpu` of them.
  int shared_cores = 0;
  double host_cpu = 0;
};

/// What hosts share.
struct World {
  Costs costs;
  Network network;
  std::vector<double> cores;  ///< until when each of the shared cores is busy
  std::vector<bool> busy;     ///< by host: a program runs there
  int connections = 0;
};

/// A host that answers as playbooks/depot.sh does, in simulated time. Everything else ends with status 0
/// after Costs::program, or after N seconds if it is "sleep N".
class Host final : public transport::Transport {
 public:
  Host(World& world, int number) : world_(world), number_(number) {}

  transport::Result<void> start(transport::Command command) override;
  void interests(std::vector<pollfd>&) const override {}
  [[nodiscard]] std::optional<base::Instant> wake() const override;
  transport::Result<std::optional<transport::Exit>> advance() override;
  void close() override { connected_ = false; }
  [[nodiscard]] std::string kind() const override { return "simulated"; }

  /// Never answers.
  void is_down() { down_ = true; }

 private:
  [[nodiscard]] bool is_cut_off() const;
  void end_after(double seconds, int status, std::string out);
  transport::Exit end(int status, std::string out);
  [[nodiscard]] std::optional<transport::Exit> transfer();

  World& world_;
  int number_;
  bool connected_ = false, down_ = false, transfers_ = false;
  double until_ = 0;      ///< when the command ends, if it transfers nothing
  double last_look_ = 0;  ///< of a transfer
  transport::Exit exit_;
};

}  // namespace scale
