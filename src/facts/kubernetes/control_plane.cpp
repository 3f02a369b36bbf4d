#include "gpuadm/facts/control_plane.hpp"

namespace facts {

bool is_control_plane(const Census& census, const std::string& host) {
  const auto place = census.find(host);
  return place != census.end() && place->second && place->second->kubernetes.admin_conf;
}

bool is_control_plane(const Node& node) {
  return node.labels.contains("node-role.kubernetes.io/control-plane") ||
         node.labels.contains("node-role.kubernetes.io/master");
}

bool is_ready(const Node& node) {
  const auto ready = node.conditions.find("Ready");
  return ready != node.conditions.end() && ready->second.status == "True";
}

}  // namespace facts
