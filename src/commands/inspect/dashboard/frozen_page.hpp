#pragma once

#include "gpuadm/base/error.hpp"

#include <string>

namespace commands {

/// The files of the page, as served.
struct PageFiles {
  std::string page, style, script;
};

/// The page as one file that loads nothing and sends nothing: style, script and both texts of JSON are in it.
/// Its policy allows this style and this script only, so that no text of a host can become a script. Fault::
/// usage if the page does not refer to style and script.
[[nodiscard]] base::Result<std::string> frozen_page(const PageFiles& files, const std::string& live,
                                                    const std::string& cluster);

}  // namespace commands
