#pragma once

#include "gpuadm/playbook/playbook.hpp"

#include <string>
#include <vector>

/// What the composers of the container runtimes' configurations share.
namespace playbook {

/// Keys from the root of a configuration.
using Path = std::vector<std::string>;
[[nodiscard]] Path operator/(Path path, const std::string& key);
[[nodiscard]] Path operator/(Path path, const Path& rest);

/// The NVIDIA Container Runtime on the host; empty: there is none.
[[nodiscard]] std::string nvidia_runtime(const Context& context);
/// Whether containers that name no runtime shall run on `nvidia`: asked for, or because pods of this
/// Kubernetes cannot name one. RuntimeClass is on from 1.14; dockershim knows no runtime but its own.
[[nodiscard]] bool defaults_to_nvidia(const Context& context);
/// The version of a runtime, or `fallback` where the host does not say.
[[nodiscard]] base::Version engine_version(const std::string& text, const base::Version& fallback);

[[nodiscard]] Result<std::vector<Composed>> compose_containerd_config(const Context& context);
[[nodiscard]] Result<std::vector<Composed>> compose_docker_daemon(const Context& context);
[[nodiscard]] Result<std::vector<Composed>> compose_crio_config(const Context& context);

}  // namespace playbook
