#pragma once

#include "gpuadm/app/app.hpp"
#include "gpuadm/plan/plan.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "app/undo/undo_plan.hpp"

#include <set>
#include <string>
#include <vector>

namespace app {

/// What shall stay of a node that is taken apart, and what is taken apart all the same.
struct Spared {
  bool force = false;  ///< as ResetOptions::force
  bool images = false, driver = false;
};

/// The steps of playbooks/reset.yaml for the hosts of `cluster`, with the functions of undo.
[[nodiscard]] Result<plan::Plan> reset_steps(spec::Cluster cluster, const assets::Store& assets,
                                             transport::Fleet& fleet);

/// A node's way out: the steps of playbooks/reset.yaml, then the undo of every run that its journal knows.
class Teardown {
 public:
  /// Of the hosts of `cluster`. They look for themselves what is there: no facts are needed, which a broken
  /// host might not give. The fleet and the assets must outlive it.
  [[nodiscard]] static Result<Teardown> of(spec::Cluster cluster, Spared spared, const assets::Store& assets,
                                           transport::Fleet& fleet);
  /// The steps, then what the journals say of now; those of lost hosts are not read again. Fault::blocked
  /// where there is a cluster that gpuadm did not make, unless forced.
  Result<plan::Plan> plan(const std::set<std::string>& lost = {});
  /// As the last plan has them.
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

}  // namespace app
