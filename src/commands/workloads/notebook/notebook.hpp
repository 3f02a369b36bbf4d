#pragma once

#include "commands/workloads/service/named.hpp"

#include <chrono>
#include <cstdint>

namespace commands {

struct NotebookUrlOptions {
  NamedService notebook;
  std::uint16_t port = 0;  ///< of the tunnel on this machine; 0: any that is free
  std::chrono::seconds timeout{600};
};
/// Prints its address with the token, and keeps a tunnel to it open until Ctrl-C, unless it is reachable
/// without one. Waits for a notebook that is starting.
[[nodiscard]] Result<Outcome> notebook_url(const NotebookUrlOptions& options, Io& io);
/// The same for a notebook that is ready.
[[nodiscard]] Result<Outcome> open_notebook(ReachedCluster& cluster, const NamedService& notebook,
                                            std::uint16_t port, Io& io);

struct NotebookStartOptions {
  NamedService notebook;
  std::chrono::seconds timeout{1800};
};
/// Starts a notebook, if it is stopped, and waits until it is ready. Outcome::failed, and stopped again, if
/// it does not start.
[[nodiscard]] Result<Outcome> notebook_start(const NotebookStartOptions& options, Io& io);

}  // namespace commands
