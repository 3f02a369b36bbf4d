#include "gpuadm/base/text.hpp"

#include "commands/workloads/service/open.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using base::Fault;

constexpr std::chrono::seconds between_attempts{2};
/// A tunnel that was open for so long has worked.
constexpr std::chrono::seconds steady{30};
/// A node that reboots takes minutes.
constexpr std::chrono::seconds longest_outage{600};

std::string limit() {
  return base::human_seconds(static_cast<double>(longest_outage.count()));
}

bool passes(Fault fault) {
  return fault == Fault::unreachable || fault == Fault::timeout;
}

/// Opens the tunnel again.
Result<> reconnect(ReachedCluster& cluster, const ServiceEndpoint& endpoint, base::Instant deadline,
                   OpenService& open) {
  open.tunnel.reset();  // its program still has the port
  while (true) {
    auto tunnel = cluster.connections().open_tunnel(cluster.host(), tunnel_end(endpoint), open.port);
    if (tunnel) {
      open.tunnel.emplace(std::move(*tunnel));
      return {};
    }
    if (!passes(tunnel.error().fault)) return std::unexpected(tunnel.error());
    if (base::Clock::now() >= deadline) {
      base::Error error = tunnel.error();
      error.what += fmt::format(" (not within {})", limit());
      return std::unexpected(std::move(error));
    }
    TRY(cluster.pause(between_attempts));
  }
}

}  // namespace

Result<> keep_open(ReachedCluster& cluster, const ServiceEndpoint& endpoint, OpenService& open, Io& io) {
  base::Instant deadline = base::Clock::now() + longest_outage;
  while (true) {
    const base::Instant opened = base::Clock::now();
    const auto held = cluster.connections().hold(*open.tunnel);
    if (held || cluster.connections().interrupt().count() > 0) return {};
    if (!passes(held.error().fault)) return std::unexpected(held.error());
    io.err(fmt::format("the tunnel is closed: {}\nopening it again (at most {})\n",
                       base::printable(held.error().what, 300), limit()));
    // One that is closed again and again is one outage.
    if (base::Clock::now() - opened >= steady) deadline = base::Clock::now() + longest_outage;
    if (!cluster.pause(between_attempts)) return {};  // Ctrl-C
    if (base::Clock::now() >= deadline) return std::unexpected(held.error());
    const auto again = reconnect(cluster, endpoint, deadline, open);
    if (!again && again.error().fault == Fault::interrupted) return {};
    TRY(again);
    io.err(fmt::format("{} is open again\n", tunnel_name(cluster)));
  }
}

}  // namespace commands
