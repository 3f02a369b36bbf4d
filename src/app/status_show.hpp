#pragma once

#include "gpuadm/base/tree.hpp"

#include "app/status.hpp"

namespace app {

enum class Width { terminal, any };  ///< at most 80 columns; as wide as it is, with more in it

[[nodiscard]] std::string to_text(const Status& status, Width width);
[[nodiscard]] base::Tree to_tree(const Status& status);

}  // namespace app
