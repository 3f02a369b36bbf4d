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

}  // namespace session
