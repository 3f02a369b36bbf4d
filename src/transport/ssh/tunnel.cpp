#include "gpuadm/base/random.hpp"
#include "gpuadm/base/text.hpp"

#include "transport/ssh/keys/host_key.hpp"
#include "transport/ssh/openssh_client.hpp"
#include "transport/ssh/state.hpp"
#include "transport/tunnel_state.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace transport {

namespace {

using namespace std::chrono_literals;
using base::Fault;
using Argv = std::vector<std::string>;

constexpr auto between_tries = 200ms;

Result<Config> config_of(Session& session, const std::string& host, const spec::Endpoint& endpoint,
                         base::Interrupt& interrupt) {
  const ConfigQuestion question{endpoint.address, endpoint.user, endpoint.port};
  const base::Instant deadline = base::Clock::now() + session.options.connect_timeout;
  while (true) {
    if (auto config = TRY(session.ssh->configs.ask(question))) return std::move(*config);
    if (base::Clock::now() >= deadline)
      return base::fail(Fault::unreachable, host + ": `ssh -G` did not answer in time",
                        "try: ssh -G " + endpoint.address);
    std::vector<pollfd> fds;
    session.ssh->configs.interests(question, fds);
    TRY(wait_for(std::move(fds), std::min(deadline, base::Clock::now() + between_tries), interrupt));
  }
}

/// The remote command returns what is written to it: the tunnel is open once the mark has returned, as
/// forwardings are established before a command. It ends, and ssh with it, when gpuadm ends.
Argv command_of(const Options& options, spec::HostKeys policy, const spec::Endpoint& endpoint,
                const TunnelEnd& end, std::uint16_t port) {
  Argv argv = openssh_client(options, policy, endpoint);
  const bool is_v6 = end.address.find(':') != std::string::npos;
  const std::string forward =
      fmt::format("127.0.0.1:{}:{}:{}", port, is_v6 ? "[" + end.address + "]" : end.address, end.port);
  argv.insert(argv.end(), {"-oControlMaster=no", "-oControlPath=none", "-oExitOnForwardFailure=yes", "-L",
                           forward, "--", endpoint.address, "cat"});
  return argv;
}

/// Until what is written to the tunnel's command comes back.
Result<> wait_until_open(TunnelState& state, base::Instant deadline, base::Interrupt& interrupt) {
  const std::string mark = TRY(base::random_secret(16)).reveal();
  std::string_view unsent = mark;
  std::string echoed;
  while (echoed.find(mark) == std::string::npos) {
    if (!unsent.empty()) {
      const ssize_t written = state.child.write(unsent);
      unsent.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
    while (state.child.out.is_open() && Child::read(state.child.out, echoed) == Child::Read::some) {
    }
    if (echoed.size() > tunnel_most_words) echoed.erase(0, echoed.size() - tunnel_most_words);
    state.read_words();
    if (echoed.find(mark) != std::string::npos) break;
    if (state.child.status() || !state.child.out.is_open())
      return std::unexpected(openssh_failure(state.peer, state.last_words(), false));
    if (base::Clock::now() >= deadline)
      return base::fail(
          Fault::unreachable,
          fmt::format("{}: the tunnel did not open in time: {}", state.peer.host, state.last_words()),
          "try to log in manually: " + state.peer.login);
    std::vector<pollfd> fds;
    state.child.interests(fds, unsent.empty() ? Child::Writes::no : Child::Writes::yes);
    TRY(wait_for(std::move(fds), deadline, interrupt));
  }
  return {};
}

}  // namespace

Result<TunnelStatePtr> open_ssh_tunnel(Session& session, const std::string& host,
                                       const spec::Endpoint& endpoint, const TunnelEnd& end,
                                       std::uint16_t port, base::Interrupt& interrupt) {
  const Config config = TRY(config_of(session, host, endpoint, interrupt));
  const HostKeyCheck check(session, host, config, endpoint.address, endpoint.host_key);
  TRY(check.pinned_is_not_revoked());
  auto state = std::make_unique<TunnelState>();
  state->peer = openssh_peer(host, endpoint);
  state->port = TRY(free_port(port));
  state->child = TRY(Child::spawn(command_of(session.options, check.policy(), endpoint, end, state->port),
                                  Child::Wiring::pipes));
  TRY(wait_until_open(*state, base::Clock::now() + session.options.connect_timeout, interrupt));
  return state;
}

}  // namespace transport
