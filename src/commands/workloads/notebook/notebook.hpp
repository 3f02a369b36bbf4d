#pragma once

#include "commands/shared_options.hpp"
#include "commands/workloads/reach.hpp"

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

/// The volume that was created with the notebook, and those that it only mounts.
struct NotebookVolumes {
  std::string own, size, foreign;
};
[[nodiscard]] NotebookVolumes volumes_of(const std::vector<base::Tree>& objects);

}  // namespace commands
