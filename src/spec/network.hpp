#pragma once

#include "spec/types.hpp"

namespace spec {

/// What the two networks get wrong, alone and together. `file` is the cluster file.
void judge_networks(const Cluster& cluster, const Tree& file, Problems& problems);

}  // namespace spec
