#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/bundle/bundle.hpp"
#include "gpuadm/checks/chain.hpp"
#include "gpuadm/run/run.hpp"
#include "gpuadm/session/run_folder.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace session {

/// The image of gpuadm-proof as a bundle of one file, which lies in the run folder as long as this lives.
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

/// Judges what the steps of verify/routes.yaml and verify/network.yaml print. The same for `gpuadm verify`,
/// which shows a finding a node, and for the last phase of init, join and upgrade, which fails.
class NetworkJudge {
 public:
  enum class On { failure_fails, failure_is_shown };
  explicit NetworkJudge(On on) : on_(on) {}
  /// As run::Judge. An output that is empty was not tested: an earlier run has proven those nodes.
  [[nodiscard]] std::optional<base::Error> operator()(const std::string& judge, const std::string& host,
                                                      const std::string& output);
  [[nodiscard]] bool tested() const { return proof_.complete; }
  /// Link::network or Link::dns, once it is tested.
  [[nodiscard]] report::Finding finding(checks::Link link, const checks::GpuNode& node) const;

 private:
  [[nodiscard]] std::optional<base::Error> error() const;
  On on_;
  facts::NetworkProof proof_;
  std::vector<facts::PodRoutes> routes_;
  std::map<std::string, std::string> hosts_;  ///< by node
};

}  // namespace session
