#pragma once

#include "gpuadm/facts/facts.hpp"

#include <string>
#include <string_view>

namespace checks {

/// A distribution of Kubernetes that does not use kubeadm's files: one name for the cluster on the host.
struct Distribution {
  std::string_view name, units, process, folder, removal;
};
/// What runs on a host, and what shows it.
struct Running {
  const Distribution* distribution = nullptr;
  std::string evidence;
};

/// The distribution that runs on the host, by its units or its listening processes; its member is nullptr if
/// none does.
[[nodiscard]] Running distribution_of(const facts::Facts& facts);

}  // namespace checks
