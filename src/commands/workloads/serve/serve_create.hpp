#pragma once

#include "commands/workloads/serve/serve.hpp"
#include "commands/workloads/serve/serve_plan.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace commands {

struct ServeCreateOptions {
  Common common;
  Hosts hosts;
  workload::ServeRequest request;
  std::string mig;                  ///< MIG instances, instead of --gpus
  std::filesystem::path hub_token;  ///< file
  std::string copy_to = "models";   ///< claim for a model of this machine
  std::string digest;               ///< of its files
  bool yaml = false;                ///< print the objects instead of creating them
  bool offline = false;             ///< with `yaml`: connect to no host
  bool unchecked = false;           ///< whether the model fits
  bool keep = false;                ///< keep the objects if it does not become ready
  bool tunnel = false;              ///< open a tunnel once it is ready
  Consent consent = Consent::ask;   ///< to an update, and to a storage for the first volume of the cluster
  std::chrono::seconds timeout{0};  ///< 0: as long as loading may take
};

/// Serves the model, or updates it, and proves that it answers.
[[nodiscard]] Result<Outcome> serve_model(const ServeCreateOptions& options, Io& io);

[[nodiscard]] inline NamedService service_of(const ServeCreateOptions& options) {
  return {options.common, options.hosts, options.request.pod.name, options.request.pod.ns,
          workload::serve_kind};
}
[[nodiscard]] std::chrono::seconds timeout_of(const ServeCreateOptions& options, const ServePlan& plan);

/// A new API key, if the engine takes one, and the token of the hub. Fault::usage for its file.
[[nodiscard]] Result<workload::ServeKeys> new_keys(const ServeCreateOptions& options,
                                                   const workload::Engine& engine);

/// The objects of an existing served model of this name. Nothing: there is none.
[[nodiscard]] Result<std::vector<base::Tree>> find_existing(ReachedCluster& cluster,
                                                            const NamedService& service);
/// What an update of it would change; nothing: it is as requested. Errors: see plan_serve.
[[nodiscard]] Result<std::vector<workload::ServeChange>> serve_changes(
    const ServeCreateOptions& options, const std::vector<base::Tree>& existing, ReachedCluster& cluster);
/// Replaces it: shows what changes, asks, and waits until its new pods are ready and answer. If they do not,
/// restores it.
[[nodiscard]] Result<Outcome> serve_update(const ServeCreateOptions& options,
                                           const std::vector<base::Tree>& existing, ReachedCluster& cluster,
                                           Io& io);

/// Why the pods of an existing served model, of `existing`, must end before those of the plan start: no GPU
/// is spare where its volumes are, or a volume cannot be mounted twice. Empty: they end afterwards.
/// `served`: what it is now.
[[nodiscard]] Result<std::string> why_not_rolling(const ServePlan& plan,
                                                  const std::vector<base::Tree>& existing,
                                                  const ServedModel& served, ReachedCluster& cluster);

/// One completion, if it has OpenAI's API. Returns the sentence about what was seen.
[[nodiscard]] Result<std::string> prove_plan(const ServePlan& plan, const NamedService& service,
                                             const base::Secret& key, ReachedCluster& cluster, Io& io);
/// Writes the key file, and prints the result and how it is used.
[[nodiscard]] Result<Outcome> show_ready(const ServeCreateOptions& options, const ServePlan& plan,
                                         const std::string& node, const std::string& proven,
                                         const base::Secret& key, ReachedCluster& cluster, Io& io);

}  // namespace commands
