#pragma once

#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/plan/plan.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/command.hpp"

#include <functional>
#include <string>

/// Changes to the GPUs of one host of a cluster.
namespace commands {

/// The cluster file, or the host as the whole cluster; `host` becomes its name there. Fault::usage if the
/// file has no such host.
[[nodiscard]] Result<spec::Cluster> cluster_with(const std::filesystem::path& file, std::string& host,
                                                 const session::Connection& connection);

/// The GPU with this index, UUID or PCI address. One that is in quarantine may have fallen off the bus since.
/// Fault::usage, with the GPUs of the host, if there is none.
[[nodiscard]] Result<facts::QuarantinedGpu> find_gpu(const facts::Nvidia& nvidia, const std::string& name,
                                                     const std::string& host);

/// What a command changes of a host's settings.
struct Changes {
  bool sharing = false, mig = false;
};
/// Ensures that a plan changes only this: as the node's labels say, gpuadm may have set up the host in a way
/// that the cluster file does not say, or without a file. Without a file, `cluster` gets the node's sharing
/// and MIG instances. Fault::blocked with what differs.
[[nodiscard]] Result<> keep_set_up(spec::Cluster& cluster, const std::string& host,
                                   const std::filesystem::path& file, const facts::Facts& facts,
                                   const facts::ClusterFacts& view, Changes changes);

/// A different setting keeps the device plugin's image: nodes that were installed from a bundle may have only
/// this one.
[[nodiscard]] Result<> keep_plugin_image(playbook::Library& library, const spec::Cluster& cluster,
                                         const facts::Census& census, transport::Fleet& fleet,
                                         const assets::Store& assets);

/// Previews, confirms and executes the library's playbook for one host: labels and settings are the host's,
/// manifests the control plane's. `given`: further variables of the steps. `adjust`: changes the facts before
/// the plan is made from them; may be empty.
[[nodiscard]] Result<Outcome> change_gpus_of(const std::string& host, const spec::Cluster& cluster,
                                             const playbook::Library& library, const assets::Store& assets,
                                             const session::RunContext& session,
                                             const session::Survey& survey, const base::Variables& given,
                                             const std::function<void(facts::Census&)>& adjust,
                                             Consent consent, Format format, Io& io);

}  // namespace commands
