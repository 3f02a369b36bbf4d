#include "gpuadm/workload/addon_hub.hpp"
#include "gpuadm/workload/addon_proof.hpp"

#include "commands/install/addon/prove.hpp"

#include <fmt/format.h>

namespace commands {

Result<std::string> prove_jupyterhub(const workload::Addon& addon, ReachedCluster& cluster,
                                     std::chrono::seconds timeout, Io& io) {
  using base::Fault;
  // Login, kernel and stop have limits of their own: playbooks/workload/hub-proof.py.
  constexpr std::chrono::seconds rest{480};
  session::ClusterClient& client = cluster.client();
  const auto supply = TRY(workload::supply_of(TRY(client.read_nodes_and_pods())));
  const std::string choice = workload::proof_choice(supply);
  if (io.err_style.verbosity != report::Verbosity::quiet)
    io.err(fmt::format("waiting for a notebook of the user {} (at most {})\n", workload::proof_user,
                       base::human_seconds(static_cast<double>(timeout.count()))));
  const std::string program = TRY(cluster.assets().read("playbooks/workload/hub-proof.py"));
  const transport::Exit exit =
      TRY(client.exec(std::string(addon.ns), "deployment/hub",
                      {"python3", "-", choice, std::to_string(timeout.count())}, program, timeout + rest));
  const auto proof = workload::read_hub_proof(exit.out);
  if (!proof)
    return base::fail(Fault::remote, fmt::format("{}{}", proof.error().what,
                                                 exit.err.empty() ? "" : ": " + base::tail(exit.err, 3)));
  if (!proof->failure.empty())
    return base::fail(Fault::remote, "the proof of JupyterHub: " + proof->failure,
                      fmt::format("kubectl -n {} logs deployment/hub", addon.ns));
  if (choice != "0" && proof->gpus.empty() && supply.claims.empty())
    return base::fail(Fault::remote, "the notebook of the proof has no GPU, which it requested");
  const std::string gpus = choice == "0" ? (supply.offers.empty() ? "without a GPU, which the cluster has not"
                                                                  : "without a GPU: none is free now")
                                         : "with GPUs: " + (proof->gpus.empty() ? choice : proof->gpus);
  return fmt::format(
      "{}, and a notebook ran a program on {} ({})",
      proof->login ? "a user logged in" : "the login is at your identity provider, and was not tested",
      proof->node, gpus);
}

}  // namespace commands
