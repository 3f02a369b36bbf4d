#pragma once

#include "playbook/runtime.hpp"

#include <cstdint>
#include <optional>
#include <span>

/// containerd's configuration on a host: config.toml and the files that it imports.
namespace playbook {

inline const std::string containerd_config_path = "/etc/containerd/config.toml";

/// gpuadm's default if no config_path is set.
inline const std::string containerd_certs = "/etc/containerd/certs.d";

/// Keys of containerd's settings, by the version of the file (containerd docs/PLUGINS.md and
/// docs/cri/config.md of the respective release). The second key is the plugin's name.
struct ContainerdLayout {
  Path cri, runtimes, default_runtime, sandbox_image, cni, registry;
};
[[nodiscard]] ContainerdLayout containerd_layout(std::int64_t version);

struct ContainerdPart {
  std::string path;
  std::optional<std::string> text;  ///< nothing: the file does not exist
  base::Tree tree;
  std::int64_t version = 1;  ///< of the names in it
};

/// config.toml and its imports, in the order in which containerd reads them. Fault::parse with the position
/// for configurations that containerd would reject.
[[nodiscard]] Result<std::vector<ContainerdPart>> containerd_parts(const facts::Containerd& containerd,
                                                                   const std::string& host);

/// Whether plugin tables of several files are merged key by key. Before 2.1, the last file with a plugin
/// replaces all earlier settings of it (containerd/containerd#5837).
[[nodiscard]] bool merges_tables(const base::Version& engine);

/// The merged parts.
[[nodiscard]] base::Tree effective_containerd(std::span<const ContainerdPart> parts,
                                              const base::Version& engine);

}  // namespace playbook
