#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/facts.hpp"

namespace facts {

/// The facts that decide which packages a host needs, from facts in the format of to_tree(): `os`, PCI GPUs,
/// NVSwitches, NVLink managers, the paths of programs, and whether there is a containerd. The tree may be
/// from another version of gpuadm or another program: missing values are empty.
[[nodiscard]] Facts read_package_facts(const base::Tree& tree);

}  // namespace facts
