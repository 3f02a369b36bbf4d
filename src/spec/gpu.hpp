#pragma once

#include "spec/field.hpp"

namespace spec {

/// Conflicts between valid keys about GPUs. `file` is their source.
void judge_gpus(const Cluster& cluster, const Tree& file, Problems& problems);

}  // namespace spec
