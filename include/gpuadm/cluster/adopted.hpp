#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/facts/made.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cluster {

using base::Result;

/// An existing cluster. Unknown properties are missing.
struct Found {
  spec::Cluster asked;  ///< hosts, and login settings
  facts::Census census;
  std::optional<facts::ClusterFacts> view;  ///< of the control-plane node that was queried
  std::optional<facts::Made> made;
  std::string plane;                        ///< the name of that host; empty: none
  std::map<std::string, std::string> gone;  ///< unreachable hosts, with the reason
};

/// The cluster file for an existing cluster, and notes about it: `path` is a key of the file
/// ("network.plugin", "hosts[1]"), or empty for the whole file.
struct Adopted {
  struct Note {
    std::string path, message;
  };
  spec::Cluster cluster;
  std::vector<Note> notes;
};

/// The hosts of the cluster that the API server knows and the command line does not: by their node's name and
/// address, with the login settings of the first given host.
[[nodiscard]] std::vector<spec::Host> other_nodes(const Found& found);

/// Generates the cluster file. `usual`: data/kubeadm-usual.yaml.
[[nodiscard]] Adopted read_back(const Found& found, const base::Tree& usual);

/// The file, with its notes as comments above their keys. Keys with default values are omitted, unless they
/// were read from the cluster.
[[nodiscard]] std::string to_file(const Adopted& adopted);

/// The cluster file that gpuadm stores on a control-plane node (/etc/kubernetes/gpuadm/cluster.yaml), with
/// one placeholder host.
[[nodiscard]] Result<spec::Cluster> parse_intent(std::string_view text, const std::string& source);

/// The settings of a configuration that are neither unset nor usual: maps by key, everything else as a whole.
/// A list in `usual` under the key of a scalar means any of its items.
[[nodiscard]] base::Tree beyond_usual(const base::Tree& found, const base::Tree& usual);

}  // namespace cluster
