#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"

#include <string>
#include <string_view>

namespace facts {

/// The output of a probe, edited to simulate another state of its host; without edits unchanged. `edits` may
/// have
///   change: { FROM: TO }         the first place of FROM in the whole text
///   everywhere: { FROM: TO }     every place of it
///   without: [SECTION]           sections taken out
///   probe: { SECTION: TEXT }     a section replaced or made; `SECTION+`: lines put at its end
/// A line "? N" of TEXT is the program's exit status. Fault::parse names an edit whose target does not exist.
[[nodiscard]] base::Result<std::string> edited(std::string_view probe, const base::Tree& edits);

}  // namespace facts
