#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/checks/chain.hpp"
#include "gpuadm/plan/plan.hpp"
#include "gpuadm/run/run.hpp"
#include "gpuadm/session/network_judge.hpp"
#include "gpuadm/session/run_folder.hpp"
#include "gpuadm/transport/fleet.hpp"

namespace session {

/// The inputs of PodTests, which must outlive it.
struct PodTestContext {
  const spec::Cluster& cluster;
  const facts::Census& census;
  const assets::Store& assets;
  const checks::Floors& floors;
  transport::Fleet& fleet;
  const RunFolder& folder;
  std::string control_plane;           ///< the host that is asked
  std::vector<checks::GpuNode> nodes;  ///< every node that may be tried, with GPUs or without
};

/// Pods of gpuadm's own, in a namespace of their own, with an image that gpuadm carries. Everything that is
/// made, on hosts and in the cluster, is gone after close().
class PodTests {
 public:
  /// Takes the locks of all hosts. Fault::blocked where another run holds one.
  [[nodiscard]] static Result<std::unique_ptr<PodTests>> open(const PodTestContext& context,
                                                              report::Reporter& reporter);
  /// Makes the pods that a link needs on these nodes, waits for what becomes of them, and judges that: a
  /// finding a node. Fault::interrupted after Ctrl-C.
  [[nodiscard]] Result<std::vector<report::Finding>> show(checks::Link link,
                                                          std::span<const checks::GpuNode> nodes);
  /// The links `network` and `dns` of these nodes: both are of one test, which is made once.
  [[nodiscard]] Result<std::vector<report::Finding>> show_network(checks::Link link,
                                                                  std::span<const checks::GpuNode> nodes);
  /// Takes everything away again, after Ctrl-C, too.
  void close();

 private:
  using Reasons = std::map<std::string, std::string>;  ///< by host: why it failed
  /// The tests of one link, each with its node.
  struct Batch {
    checks::Link link;
    std::vector<checks::PodTest> pod_tests;
    std::vector<checks::GpuNode> nodes;
  };

  PodTests(const PodTestContext& context, report::Reporter& reporter, playbook::Library library,
           ProofImage image);
  [[nodiscard]] Result<Reasons> execute(const std::string& phase, const std::vector<std::string>& hosts,
                                        const base::Variables& given = {});
  [[nodiscard]] Result<> bring_image(std::span<const checks::GpuNode> nodes);
  /// What is to be tried; findings of nodes where nothing can be are added.
  [[nodiscard]] Result<Batch> prepare(checks::Link link, std::span<const checks::GpuNode> nodes,
                                      std::vector<report::Finding>& findings);
  [[nodiscard]] Result<Reasons> make_pods(const Batch& batch);
  [[nodiscard]] Result<facts::Space> look(checks::Link link);
  [[nodiscard]] Result<facts::Space> wait(const Batch& batch, std::chrono::seconds patience);
  /// Has systemd read its units again under the pods of a batch, and waits until they have looked at their
  /// GPUs.
  [[nodiscard]] Result<facts::Space> reload(Batch& batch, const facts::Space& before);
  void heartbeat();
  [[nodiscard]] std::string program(const std::string& step, const std::string& body) const;
  void clean(const std::vector<std::string>& hosts, const std::string& label, const std::string& function);
  void note(const std::string& host, const std::string& text);

  const PodTestContext& context_;
  report::Reporter& reporter_;
  playbook::Library library_;
  run::Identity who_;
  run::Scripts scripts_;
  ProofImage image_;
  NetworkJudge network_{NetworkJudge::On::failure_is_shown};
  std::optional<Reasons> network_reasons_;  ///< of the network test, once it was made
  Reasons image_reasons_;                   ///< hosts that the image could not be brought to
  std::vector<std::string> hosts_;          ///< locked
  std::set<std::string> has_image_;         ///< hosts
  base::Instant next_heartbeat_;
  bool open_ = false;
};

}  // namespace session
