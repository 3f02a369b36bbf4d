#pragma once

#include "playbook/runtime.hpp"

#include <cstdint>
#include <optional>
#include <span>

/// containerd's configuration as it lies on a host: config.toml and the files it imports.
namespace playbook {

inline const std::string containerd_config_path = "/etc/containerd/config.toml";

/// gpuadm's choice where no config_path says where hosts.toml lies.
inline const std::string containerd_certs = "/etc/containerd/certs.d";

/// Where containerd keeps a setting, by the version of the file (containerd docs/PLUGINS.md and
/// docs/cri/config.md of the respective release). The second key is the plugin's name.
struct ContainerdLayout {
  Path cri, runtimes, default_runtime, sandbox_image, cni, registry;
};
[[nodiscard]] ContainerdLayout containerd_layout(std::int64_t version);

struct ContainerdPart {
  std::string path;
  std::optional<std::string> text;  ///< nothing: there is no such file
  base::Tree tree;
  std::int64_t version = 1;  ///< of the names in it
};

/// config.toml and what it imports, in the order in which containerd reads them. Fault::parse with the place
/// for what containerd would refuse.
[[nodiscard]] Result<std::vector<ContainerdPart>> containerd_parts(const facts::Containerd& containerd,
                                                                   const std::string& host);

/// Whether plugin tables of several files are laid over each other key by key. Before 2.1 the last file that
/// names a plugin replaces all that others say of it (containerd/containerd#5837).
[[nodiscard]] bool merges_tables(const base::Version& engine);

/// The parts as one.
[[nodiscard]] base::Tree effective_containerd(std::span<const ContainerdPart> parts,
                                              const base::Version& engine);

}  // namespace playbook
