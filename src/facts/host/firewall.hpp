#pragma once

#include "gpuadm/facts/network.hpp"

#include "facts/sections/sections.hpp"

namespace facts {

[[nodiscard]] Firewall read_firewall(const Sections& sections);

}  // namespace facts
