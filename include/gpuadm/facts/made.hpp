#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace facts {

/// How a cluster was made, as one of its control planes keeps it. What could not be read is null or missing.
struct Made {
  std::string intent;                ///< the cluster file that gpuadm keeps, without hosts; not judged yet
  base::Tree cluster_configuration;  ///< kubeadm's ClusterConfiguration
  base::Tree kube_proxy;             ///< KubeProxyConfiguration
  std::map<std::string, std::map<std::string, std::string>> flags;  ///< of static pods, by component
  std::vector<std::string> damaged;  ///< what is there and is no YAML, with the reason
};

/// Reads what playbooks/adopt.sh printed. As parse() of a host's facts.
[[nodiscard]] base::Result<Made> parse_made(std::string_view output);

}  // namespace facts
