#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/cluster/status.hpp"

namespace cluster {

enum class Width { terminal, any };  ///< as wide as the terminal; as wide as it is, with more in it

/// `screen`: columns of the terminal; 0: there is none, and 80 are taken.
[[nodiscard]] std::string to_text(const Status& status, Width width, std::size_t screen = 0);
[[nodiscard]] base::Tree to_tree(const Status& status);

}  // namespace cluster
