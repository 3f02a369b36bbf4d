#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/report/event.hpp"
#include "gpuadm/report/finding.hpp"
#include "gpuadm/session/run_folder.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <string>
#include <vector>

namespace session {

/// Passes every event on, and keeps the failures of steps that depend on what runs on the hosts: those of
/// kubeadm, and the waits for nodes and pods.
class FailureLog final : public report::Reporter {
 public:
  explicit FailureLog(report::Reporter& next) : next_(next) {}
  void on(const report::Event& event) override;
  void tick(base::Time now) override { next_.tick(now); }
  [[nodiscard]] const std::vector<report::Event>& all() const { return all_; }

 private:
  report::Reporter& next_;
  std::vector<report::Event> all_;
};

/// Asks every host of a failed run why something on it does not run, over the run's own connections and for
/// at most a minute; where the hosts say nothing, a control plane why a pod waits. Reports the first broken
/// link (Did::cause) for each failure and saves what was found as reasons.json. A host that does not answer
/// is left out.
void explain_failures(const std::vector<report::Event>& failures, const spec::Cluster& cluster,
                      const assets::Store& assets, transport::Fleet& fleet, const RunFolder& folder,
                      report::Reporter& reporter);

}  // namespace session
