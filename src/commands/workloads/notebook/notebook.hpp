#pragma once

#include "commands/shared_options.hpp"
#include "commands/workloads/reach.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// What commands for an existing notebook share.
namespace commands {

/// NAME, the hosts and the connection.
void add_notebook(Line& line, NotebookOptions& options);
[[nodiscard]] std::string selector_of_notebook(const NotebookOptions& options);
/// "NAMESPACE/NAME"
[[nodiscard]] std::string shown_notebook(const NotebookOptions& options);
/// "gpuadm notebook VERB NAME …" with the arguments that select the same notebook.
[[nodiscard]] std::string command_for(const char* verb, const NotebookOptions& options);
[[nodiscard]] Result<std::unique_ptr<ReachedCluster>> reach_notebook(const NotebookOptions& options,
                                                                     session::Access access, Io& io);

struct NotebookUrlOptions {
  NotebookOptions notebook;
  std::uint16_t port = 0;  ///< of the tunnel on this machine; 0: any that is free
  std::chrono::seconds timeout{600};
};
/// Prints its address with the token, and keeps a tunnel to it open until Ctrl-C, unless it is reachable
/// without one. Waits for a notebook that is starting.
[[nodiscard]] Result<Outcome> notebook_url(const NotebookUrlOptions& options, Io& io);

struct NotebookStartOptions {
  NotebookOptions notebook;
  std::chrono::seconds timeout{1800};
};
/// Starts a notebook, if it is stopped, and waits until it is ready. Outcome::failed, and stopped again, if
/// it does not start.
[[nodiscard]] Result<Outcome> notebook_start(const NotebookStartOptions& options, Io& io);

/// The volume that was created with the notebook, and those that it only mounts.
struct NotebookVolumes {
  std::string own, size, foreign;
};
[[nodiscard]] NotebookVolumes volumes_of(const std::vector<base::Tree>& objects);

}  // namespace commands
