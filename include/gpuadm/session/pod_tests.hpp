#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/error.hpp"
#include "gpuadm/bundle/bundle.hpp"
#include "gpuadm/checks/chain.hpp"
#include "gpuadm/plan/plan.hpp"
#include "gpuadm/run/run.hpp"
#include "gpuadm/session/run_folder.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace session {

using base::Result;

/// The gpuadm-proof image as a bundle of one file, which exists in the run directory during this object's
/// lifetime.
class ProofImage {
 public:
  [[nodiscard]] static Result<ProofImage> write(const assets::Store& assets, const RunFolder& folder);
  ProofImage(ProofImage&& other) noexcept;
  ProofImage& operator=(ProofImage&&) = delete;
  ~ProofImage();
  [[nodiscard]] const bundle::Bundle& bundle() const { return bundle_; }

 private:
  explicit ProofImage(bundle::Bundle bundle) : bundle_(std::move(bundle)) {}
  bundle::Bundle bundle_;
};

/// Judges the output of the steps of verify/routes.yaml and verify/network.yaml: for `gpuadm verify`, which
/// shows one finding per node, and for the last phase of init, join and upgrade, which fails.
class NetworkJudge {
 public:
  enum class On { failure_fails, failure_is_shown };
  explicit NetworkJudge(On on) : on_(on) {}
  /// As run::Judge. Empty output means that those nodes were tested by an earlier run.
  [[nodiscard]] std::optional<base::Error> operator()(const std::string& judge, const std::string& host,
                                                      const std::string& output);
  [[nodiscard]] bool tested() const { return proof_.complete; }
  /// Link::network or Link::dns, after the test.
  [[nodiscard]] report::Finding finding(checks::Link link, const checks::GpuNode& node) const;

 private:
  [[nodiscard]] std::optional<base::Error> error() const;
  On on_;
  facts::NetworkProof proof_;
  std::vector<facts::PodRoutes> routes_;
  std::map<std::string, std::string> hosts_;  ///< by node
};

/// The inputs of PodTests, which must outlive it.
struct PodTestContext {
  const spec::Cluster& cluster;
  const facts::Census& census;
  const assets::Store& assets;
  const checks::Floors& floors;
  transport::Fleet& fleet;
  const RunFolder& folder;
  std::string control_plane;           ///< the control-plane node that is queried
  std::vector<checks::GpuNode> nodes;  ///< every node that may be tested, with or without GPUs
};

/// Test pods, in their own namespace, with an image that gpuadm contains. close() removes everything that was
/// created on hosts and in the cluster.
class PodTests {
 public:
  /// Locks all hosts. Fault::blocked if another run holds a lock.
  [[nodiscard]] static Result<std::unique_ptr<PodTests>> open(const PodTestContext& context,
                                                              report::Reporter& reporter);
  /// Creates the pods for a link on these nodes, waits for their results, and judges them: one finding per
  /// node. Fault::interrupted after Ctrl-C.
  [[nodiscard]] Result<std::vector<report::Finding>> show(checks::Link link,
                                                          std::span<const checks::GpuNode> nodes);
  /// The links `network` and `dns` of these nodes: both use one test, which runs once.
  [[nodiscard]] Result<std::vector<report::Finding>> show_network(checks::Link link,
                                                                  std::span<const checks::GpuNode> nodes);
  /// Removes everything, also after Ctrl-C.
  void close();

 private:
  using Reasons = std::map<std::string, std::string>;  ///< by host: why it failed
  /// The tests of one link with their nodes.
  struct Batch {
    checks::Link link;
    std::vector<checks::PodTest> pod_tests;
    std::vector<checks::GpuNode> nodes;
  };

  PodTests(const PodTestContext& context, report::Reporter& reporter, playbook::Library library,
           ProofImage image);
  [[nodiscard]] Result<Reasons> execute(const std::string& phase, const std::vector<std::string>& hosts,
                                        const base::Variables& given = {});
  [[nodiscard]] Result<> import_image(std::span<const checks::GpuNode> nodes);
  /// The tests to run; adds findings for nodes that cannot be tested.
  [[nodiscard]] Result<Batch> prepare(checks::Link link, std::span<const checks::GpuNode> nodes,
                                      std::vector<report::Finding>& findings);
  [[nodiscard]] Result<Reasons> make_pods(const Batch& batch);
  [[nodiscard]] Result<facts::Space> read_pods(checks::Link link);
  [[nodiscard]] Result<facts::Space> wait(const Batch& batch, std::chrono::seconds timeout);
  /// Runs systemctl daemon-reload while the pods of a batch are running, and waits until they have opened
  /// their GPUs again.
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
  std::optional<Reasons> network_reasons_;  ///< of the network test, after it ran
  Reasons image_reasons_;                   ///< hosts on which the image could not be imported
  std::vector<std::string> hosts_;          ///< locked
  std::set<std::string> has_image_;         ///< hosts
  base::Instant next_heartbeat_;
  bool open_ = false;
};

}  // namespace session
