#pragma once

#include "gpuadm/base/time.hpp"
#include "gpuadm/facts/gpu_sample.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace session {

/// Which pods must be named, and who was asked for them. A pod's name never changes, so that each is asked
/// for once; those that were not found are asked for again, less and less often.
class PodNaming {
 public:
  explicit PodNaming(std::map<std::string, facts::PodName, std::less<>>& pods) : pods_(pods) {}

  /// The pods of a sample of `host`.
  void note(const std::string& host, const facts::GpuSample& sample);
  /// UIDs to ask `host` for now.
  [[nodiscard]] std::vector<std::string> for_node(const std::string& host, base::Instant now) const;
  /// UIDs to ask a control-plane node for now.
  [[nodiscard]] std::vector<std::string> for_cluster(base::Instant now) const;
  /// A host, or a control-plane node, was asked.
  void asked_node(const std::vector<std::string>& uids, base::Instant now);
  void asked_cluster(const std::vector<std::string>& uids, base::Instant now);
  void answered_node(const facts::PodNames& names);
  void answered_cluster(const facts::PodNames& names);

 private:
  struct Asked {
    std::string host;
    base::Instant node_due, cluster_due;
    int node_times = 0, cluster_times = 0;
    bool described = false;  ///< named by the control plane, with its labels
  };
  std::map<std::string, facts::PodName, std::less<>>& pods_;
  std::map<std::string, Asked> asked_;
};

}  // namespace session
