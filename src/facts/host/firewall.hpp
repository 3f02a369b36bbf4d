#pragma once

#include "gpuadm/facts/network.hpp"
#include "gpuadm/facts/sections.hpp"

namespace facts {

[[nodiscard]] Firewall read_firewall(const Sections& sections);

}  // namespace facts
