#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/report/event.hpp"
#include "gpuadm/report/finding.hpp"
#include "gpuadm/session/run_folder.hpp"
#include "gpuadm/spec/decisions.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <string>
#include <vector>

namespace session {

/// Forwards all events, and records the failures of steps that depend on processes of the hosts: those of
/// kubeadm, and waits for nodes and pods.
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

/// Finds out why something is not running on the hosts of a failed run, over the run's connections and for at
/// most a minute; if the hosts show no cause, why pods are pending. Reports the first broken link
/// (Did::cause) of each failure and saves the findings as reasons.json. A host that does not respond is
/// ignored.
void explain_failures(const std::vector<report::Event>& failures, const spec::Cluster& cluster,
                      const spec::Decisions& decisions, const assets::Store& assets, transport::Fleet& fleet,
                      const RunFolder& folder, report::Reporter& reporter);

}  // namespace session
