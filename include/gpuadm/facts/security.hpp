#pragma once

#include <optional>
#include <string>
#include <vector>

namespace facts {

/// What restricts programs on the host.
struct Security {
  std::optional<std::string> selinux;  ///< "enforcing", "permissive"; nothing: no SELinux in force
  std::optional<std::vector<std::string>> selinux_denials;  ///< of containers, the last few
  std::optional<bool> apparmor;
  std::optional<bool> secure_boot;
  std::string lockdown;  ///< of the kernel: "none", "integrity", "confidentiality"
};

}  // namespace facts
