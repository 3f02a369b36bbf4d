#pragma once

#include "gpuadm/facts/facts.hpp"
#include "gpuadm/facts/sections.hpp"

/// For readers. A subject has one, void read_X(const Sections&, Facts&): sections in, its part of the facts
/// out. Missing or invalid parts are left empty. src/facts/parse.cpp lists them.
namespace facts {

/// Whether timeout(1) ended the program (coreutils, `timeout --help`), or a signal did.
[[nodiscard]] bool was_stopped(int status);

}  // namespace facts
