#pragma once

#include "gpuadm/base/problems.hpp"
#include "gpuadm/base/tree.hpp"

namespace spec {

/// Reports unsupported `extraArgs`, neither a map nor a list of name and value; and plain scalars that
/// Kubernetes types differently (base::yaml::kubernetes_scalar), such as 0400 and yes.
void judge_patches(const base::Tree& file, base::Problems& problems);

}  // namespace spec
