#include "gpuadm/cluster/health.hpp"

namespace cluster {

base::Tree event_of(const HealthEvent& event, const std::string& node) {
  // The UID is the node's name, as in the kubelet's events: `kubectl describe node` looks for it.
  return base::Tree::map_of(
      {{"apiVersion", "v1"},
       {"kind", "Event"},
       {"metadata", base::Tree::map_of({{"name", event.name}, {"namespace", "default"}})},
       {"involvedObject",
        base::Tree::map_of({{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}, {"uid", node}})},
       {"reason", event.reason},
       {"message", event.message},
       {"type", event.warning ? "Warning" : "Normal"},
       {"source", base::Tree::map_of({{"component", "gpuadm-health"}, {"host", node}})},
       {"firstTimestamp", event.at},
       {"lastTimestamp", event.at},
       {"count", 1}});
}

}  // namespace cluster
