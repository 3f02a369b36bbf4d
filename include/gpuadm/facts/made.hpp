#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace facts {

/// How a cluster was created, as stored on a control-plane node. Unreadable parts are null or missing.
struct Made {
  std::string intent;                ///< the stored cluster file, without hosts; not validated
  base::Tree cluster_configuration;  ///< kubeadm's ClusterConfiguration
  base::Tree kube_proxy;             ///< KubeProxyConfiguration
  std::map<std::string, std::map<std::string, std::string>> flags;  ///< of static pods, by component
  std::vector<std::string> damaged;                                 ///< invalid YAML files, with the reason
};

/// Parses the output of playbooks/adopt.sh, like parse() for a host's facts.
[[nodiscard]] base::Result<Made> parse_made(std::string_view output);

}  // namespace facts
