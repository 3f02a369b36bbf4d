#pragma once

#include "gpuadm/playbook/playbook.hpp"

#include <string>
#include <vector>

/// Shared by the composers of the container runtimes' configurations.
namespace playbook {

/// Keys from the root of a configuration.
using Path = std::vector<std::string>;
[[nodiscard]] Path operator/(Path path, const std::string& key);
[[nodiscard]] Path operator/(Path path, const Path& rest);

/// The NVIDIA Container Runtime on the host; empty: not installed.
[[nodiscard]] std::string nvidia_runtime(const Context& context);
/// Whether `nvidia` must be the default runtime: requested, or because pods of this Kubernetes version cannot
/// select one. RuntimeClass is on since 1.14; dockershim supports only its own runtime.
[[nodiscard]] bool defaults_to_nvidia(const Context& context);
/// The words of a unit's command line; none if it is unknown.
[[nodiscard]] std::vector<std::string> command_of(const Context& context, const std::string& unit);
/// Fault::spec if the unit is started with another file than `path`, by `flags`.
[[nodiscard]] Result<> reads(const Context& context, const std::string& unit,
                             const std::vector<std::string>& flags, const std::string& path);
/// The version of a runtime, or `fallback` if it is unknown.
[[nodiscard]] base::Version engine_version(const std::string& text, const base::Version& fallback);

[[nodiscard]] Result<std::vector<Composed>> compose_containerd_config(const Context& context);
[[nodiscard]] Result<std::vector<Composed>> compose_docker_daemon(const Context& context);
[[nodiscard]] Result<std::vector<Composed>> compose_crio_config(const Context& context);

}  // namespace playbook
