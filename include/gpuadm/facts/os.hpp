#pragma once

#include <optional>
#include <string>

namespace facts {

enum class Family { debian, redhat, suse, other };

struct Os {
  std::string id, version_id, codename, pretty;  ///< /etc/os-release
  /// The distribution whose packages it has: of Linux Mint 22 "ubuntu", "24.04", "noble"; the same as above
  /// where it is built from no other.
  std::string parent_id, parent_version_id, parent_codename;
  Family family = Family::other;
  std::string architecture;                   ///< uname -m
  std::string init;                           ///< name of process 1
  std::optional<std::string> container;       ///< systemd-detect-virt -c, "none" where there is none
  std::optional<std::string> virtualization;  ///< systemd-detect-virt, "none" on bare metal
};

}  // namespace facts
