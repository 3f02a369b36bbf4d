#pragma once

#include "gpuadm/base/problems.hpp"
#include "gpuadm/base/tree.hpp"

namespace spec {

/// Adds what kubeadm could not read: `extraArgs` that are neither a map nor a list of name and value.
void judge_patches(const base::Tree& file, base::Problems& problems);

}  // namespace spec
