#pragma once

#include "commands/install/upgrade.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace commands {

/// A component below the pods of a host, from playbooks/stack.sh.
struct NewerPart {
  std::string name, package, installed, newest;  ///< installed: "-" if it is not
  bool work = false;                             ///< whether it must be upgraded
};

/// Parses lines "PART PACKAGE INSTALLED NEWEST yes|no". Fault::parse for anything else.
[[nodiscard]] Result<std::vector<NewerPart>> read_parts(std::string_view text);

/// `gpuadm upgrade --runtime|--toolkit|--driver`: each affected node is drained (except for the toolkit
/// alone, and if it is the only node), upgraded, Ready, and uncordoned.
[[nodiscard]] Result<Outcome> upgrade_stack(const UpgradeOptions& options, Io& io);

}  // namespace commands
