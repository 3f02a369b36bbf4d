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
/// The words that a unit is started with; none where the host does not say.
[[nodiscard]] std::vector<std::string> command_of(const Context& context, const std::string& unit);
/// Fault::spec where the unit is started with another file than `path`: `flags` name it.
[[nodiscard]] Result<> reads(const Context& context, const std::string& unit,
                             const std::vector<std::string>& flags, const std::string& path);
/// The version of a runtime, or `fallback` where the host does not say.
[[nodiscard]] base::Version engine_version(const std::string& text, const base::Version& fallback);

[[nodiscard]] Result<std::vector<Composed>> compose_containerd_config(const Context& context);
[[nodiscard]] Result<std::vector<Composed>> compose_docker_daemon(const Context& context);
[[nodiscard]] Result<std::vector<Composed>> compose_crio_config(const Context& context);

}  // namespace playbook
