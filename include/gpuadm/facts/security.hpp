#pragma once

#include <optional>
#include <string>
#include <vector>

namespace facts {

/// Mandatory access control, Secure Boot and kernel lockdown.
struct Security {
  std::optional<std::string> selinux;  ///< "enforcing", "permissive"; nothing: SELinux is not active
  std::optional<std::vector<std::string>> selinux_denials;  ///< of containers, the last few
  std::optional<bool> apparmor;
  std::optional<bool> secure_boot;
  std::string lockdown;  ///< of the kernel: "none", "integrity", "confidentiality"
};

}  // namespace facts
