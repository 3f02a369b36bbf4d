#include "gpuadm/base/text.hpp"

#include "transport/tunnel_state.hpp"

#include <fmt/format.h>

namespace transport {

namespace {

using base::Fault;

constexpr std::chrono::seconds forward_timeout{30};

/// kubectl prints this once the port accepts connections.
constexpr std::string_view forward_opened = "Forwarding from ";

Result<> wait_until_forwarded(TunnelState& state, base::Instant deadline, base::Interrupt& interrupt) {
  std::string out;
  while (true) {
    while (state.child.out.is_open() && Child::read(state.child.out, out) == Child::Read::some) {
    }
    state.read_words();
    if (out.find(forward_opened) != std::string::npos) return {};
    if (state.child.status())
      return base::fail(Fault::unreachable,
                        fmt::format("{}: kubectl port-forward: {}", state.peer.host, state.last_words()));
    if (base::Clock::now() >= deadline)
      return base::fail(
          Fault::unreachable,
          fmt::format("{}: kubectl port-forward did not open the port within {}: {}", state.peer.host,
                      base::human_seconds(static_cast<double>(forward_timeout.count())), state.last_words()));
    std::vector<pollfd> fds;
    state.child.interests(fds, Child::Writes::no);
    TRY(wait_for(std::move(fds), deadline, interrupt));
  }
}

}  // namespace

bool has_lost_pod(const TunnelState& state) {
  return state.program == TunnelState::Program::kubectl &&
         (state.words.find("lost connection to pod") != std::string::npos ||
          state.words.find("an error occurred forwarding") != std::string::npos);
}

Result<TunnelStatePtr> forward_port(const spec::Endpoint& endpoint, const TunnelEnd& end, std::uint16_t port,
                                    base::Interrupt& interrupt) {
  auto state = std::make_unique<TunnelState>();
  state->program = TunnelState::Program::kubectl;
  state->peer.host = end.object;
  state->port = TRY(free_port(port));
  state->child =
      TRY(Child::spawn({"kubectl", "--kubeconfig", endpoint.kubeconfig, "-n", end.ns, "port-forward",
                        "--address", "127.0.0.1", end.object, fmt::format("{}:{}", state->port, end.port)},
                       Child::Wiring::pipes));
  TRY(wait_until_forwarded(*state, base::Clock::now() + forward_timeout, interrupt));
  return state;
}

}  // namespace transport
