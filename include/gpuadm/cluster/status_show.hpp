#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/cluster/status.hpp"

namespace cluster {

enum class Width { terminal, any };  ///< the terminal's width; any width, with more details

/// `screen`: columns of the terminal; 0: no terminal, 80 columns.
[[nodiscard]] std::string to_text(const Status& status, Width width, std::size_t screen = 0);
[[nodiscard]] base::Tree to_tree(const Status& status);

}  // namespace cluster
