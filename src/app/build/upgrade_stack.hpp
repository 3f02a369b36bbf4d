#pragma once

#include "gpuadm/app/upgrade.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace app {

/// A part of what a host runs pods with, as playbooks/stack.sh tells it.
struct NewerPart {
  std::string name, package, installed, newest;  ///< installed: "-" where it is not
  bool work = false;                             ///< something is to be done for it
};

/// "PART PACKAGE INSTALLED NEWEST yes|no" a line. Fault::parse for anything else.
[[nodiscard]] Result<std::vector<NewerPart>> read_parts(std::string_view text);

/// `gpuadm upgrade --runtime|--toolkit|--driver`: nodes that have something to be done are drained (but for
/// the toolkit alone, and where there is only one), changed, Ready, and taking pods again.
[[nodiscard]] Result<Outcome> upgrade_stack(const UpgradeOptions& options, Io& io);

}  // namespace app
