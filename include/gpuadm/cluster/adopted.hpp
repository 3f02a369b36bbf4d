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

/// A cluster as it was found. What a host did not say is missing.
struct Found {
  spec::Cluster asked;  ///< hosts, and how to log in
  facts::Census census;
  std::optional<facts::ClusterFacts> view;  ///< of the control plane that was asked
  std::optional<facts::Made> made;
  std::string plane;                        ///< the name of that host; empty: none is one
  std::map<std::string, std::string> gone;  ///< hosts that could not be reached, and why
};

/// The cluster file that would have made a cluster, and what is to be said of it: `path` is a key of the file
/// ("network.plugin", "hosts[1]"), empty for the file as a whole.
struct Adopted {
  struct Note {
    std::string path, says;
  };
  spec::Cluster cluster;
  std::vector<Note> notes;
};

/// The hosts of the cluster that the API server knows and nobody has named: by their node's name and address,
/// with the login of the first that was named.
[[nodiscard]] std::vector<spec::Host> other_nodes(const Found& found);

/// Reads the cluster back. `usual`: data/kubeadm-usual.yaml.
[[nodiscard]] Adopted read_back(const Found& found, const base::Tree& usual);

/// The file, with its notes as comments above the keys that they are about. Keys that say what holds without
/// them are left out, where nothing was read for them.
[[nodiscard]] std::string to_file(const Adopted& adopted);

/// The cluster file that gpuadm keeps on a control plane (/etc/kubernetes/gpuadm/cluster.yaml), with one host
/// that stands for all.
[[nodiscard]] Result<spec::Cluster> parse_intent(std::string_view text, const std::string& source);

/// What of a configuration is neither unset nor what is usual: maps by key, everything else whole. A list in
/// `usual` under the key of a scalar: any of these is.
[[nodiscard]] base::Tree beyond_usual(const base::Tree& found, const base::Tree& usual);

}  // namespace cluster
