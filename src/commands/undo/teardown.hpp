#pragma once

#include "gpuadm/plan/plan.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "commands/command.hpp"
#include "commands/undo/undo_plan.hpp"

#include <set>
#include <string>
#include <vector>

namespace commands {

/// What is kept on a node that is torn down, and what is forced.
struct Spared {
  bool force = false;  ///< as ResetOptions::force
  bool images = false, driver = false;
  bool left = false;  ///< another control plane has removed the nodes from the cluster
};

/// The steps of playbooks/reset.yaml for the hosts of `cluster`, with the functions of undo.
[[nodiscard]] Result<plan::Plan> reset_steps(spec::Cluster cluster, Spared spared,
                                             const assets::Store& assets, transport::Fleet& fleet);

/// Tears down nodes: the steps of playbooks/reset.yaml, then the undo of every run in the journal.
class Teardown {
 public:
  /// For the hosts of `cluster`. The steps inspect the hosts themselves: facts are not required, because a
  /// broken host might not provide them. The fleet and the assets must outlive it.
  [[nodiscard]] static Result<Teardown> of(spec::Cluster cluster, Spared spared, const assets::Store& assets,
                                           transport::Fleet& fleet);
  /// The steps, then the current journals; those of lost hosts are not read again. Fault::blocked for a
  /// cluster that gpuadm did not create, unless forced.
  Result<plan::Plan> plan(const std::set<std::string>& lost = {});
  /// From the last plan.
  [[nodiscard]] const UndoPlans& undo_plans() const { return undo_plans_; }
  [[nodiscard]] const std::vector<std::string>& nodes() const { return nodes_; }
  [[nodiscard]] std::vector<std::string> hosts() const;

 private:
  Teardown(spec::Cluster cluster, Spared spared, transport::Fleet& fleet)
      : cluster_(std::move(cluster)), spared_(spared), fleet_(&fleet) {}
  spec::Cluster cluster_;
  Spared spared_;
  transport::Fleet* fleet_;
  plan::Plan steps_;
  UndoPlans undo_plans_;
  std::vector<std::string> nodes_;  ///< hosts that are nodes
};

}  // namespace commands
