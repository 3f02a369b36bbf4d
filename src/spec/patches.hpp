#pragma once

#include "gpuadm/base/problems.hpp"
#include "gpuadm/base/tree.hpp"

namespace spec {

/// Reports unsupported `extraArgs`: neither a map nor a list of name and value.
void judge_patches(const base::Tree& file, base::Problems& problems);

}  // namespace spec
