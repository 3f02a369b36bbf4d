#pragma once

#include <optional>
#include <string>

namespace facts {

enum class Family { debian, redhat, suse, other };

struct Os {
  std::string id, version_id, codename, pretty;  ///< /etc/os-release
  /// The distribution whose packages it uses: of Linux Mint 22 "ubuntu", "24.04", "noble"; otherwise the same
  /// as above.
  std::string parent_id, parent_version_id, parent_codename;
  Family family = Family::other;
  std::string architecture;                   ///< uname -m
  std::string init;                           ///< name of process 1
  std::optional<std::string> container;       ///< systemd-detect-virt -c, "none" outside containers
  std::optional<std::string> virtualization;  ///< systemd-detect-virt, "none" on bare metal
};

}  // namespace facts
