#pragma once

#include "model/gguf.hpp"

namespace model {

/// The model of a GGUF file, or of the first of several parts: everything but the sums of weights.
[[nodiscard]] Model model_of(const Gguf& gguf);

}  // namespace model
