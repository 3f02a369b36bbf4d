#pragma once

#include "gpuadm/base/interrupt.hpp"
#include "gpuadm/transport/tunnel.hpp"

#include "transport/child.hpp"
#include "transport/dialogue.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace transport {

inline constexpr std::size_t tunnel_most_words = 8u << 10;

/// A tunnel's program.
struct TunnelState {
  enum class Program { ssh, kubectl };
  Program program = Program::ssh;
  Child child;
  Peer peer;  ///< of kubectl: the object
  std::uint16_t port = 0;
  std::string words;  ///< its messages, the last ones

  void read_words();
  [[nodiscard]] std::string last_words() const;
};
using TunnelStatePtr = std::unique_ptr<TunnelState>;

/// A port that is free now. The program binds it later, and reports it if another program was faster.
[[nodiscard]] Result<std::uint16_t> free_port(std::uint16_t requested);
/// Waits for the descriptors, at most until the deadline. Fault::interrupted if Ctrl-C was pressed.
[[nodiscard]] Result<> wait_for(std::vector<pollfd> fds, base::Instant deadline, base::Interrupt& interrupt);

/// The tunnel of the OpenSSH client. Faults as of open_tunnel.
[[nodiscard]] Result<TunnelStatePtr> open_ssh_tunnel(Session& session, const std::string& host,
                                                     const spec::Endpoint& endpoint, const TunnelEnd& end,
                                                     std::uint16_t port, base::Interrupt& interrupt);
/// The same of `kubectl port-forward`. Fault::unreachable with its message.
[[nodiscard]] Result<TunnelStatePtr> forward_port(const spec::Endpoint& endpoint, const TunnelEnd& end,
                                                  std::uint16_t port, base::Interrupt& interrupt);
/// Whether kubectl still forwards: versions before 1.23 stay after their pod has ended, and fail every
/// connection.
[[nodiscard]] bool has_lost_pod(const TunnelState& state);

}  // namespace transport
