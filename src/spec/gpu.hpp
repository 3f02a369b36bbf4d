#pragma once

#include "spec/field.hpp"

namespace spec {

/// What the keys about GPUs, each good by itself, get wrong together. `file` is what they were read from.
void judge_gpus(const Cluster& cluster, const Tree& file, Problems& problems);

}  // namespace spec
