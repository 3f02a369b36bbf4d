#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/hardening.hpp"
#include "gpuadm/facts/sections.hpp"

namespace facts {

[[nodiscard]] Hardening read_hardening(const Sections& sections);
[[nodiscard]] base::Tree hardening_tree(const Hardening& hardening);

}  // namespace facts
