#pragma once

#include "gpuadm/playbook/playbook.hpp"

#include <string>
#include <vector>

/// Mirrors and proxies as hosts need them (decision 14).
namespace playbook {

[[nodiscard]] bool has_proxy(const Context& context);
/// What is reached without the proxy: this machine, nodes, pods, services, the API server, and what the
/// operator names. Go, curl and others read such a list (golang.org/x/net/http/httpproxy): addresses,
/// networks, names, .domains.
[[nodiscard]] std::vector<std::string> no_proxy(const Context& context);
/// Variables of programs, NAME="VALUE" a line, as EnvironmentFile of systemd.exec(5) reads them.
[[nodiscard]] std::string proxy_environment(const Context& context);
/// The proxy for apt (apt-transport-http(1)).
[[nodiscard]] std::string proxy_apt(const Context& context);
/// The proxy for dnf, "key=value" a line (dnf.conf(5)).
[[nodiscard]] std::string proxy_dnf(const Context& context);
/// The mode of files that hold it: others may read them only where there is no login.
[[nodiscard]] std::string proxy_mode(const Context& context);

/// "REGISTRY URL" a line.
[[nodiscard]] std::string registry_mirrors(const Context& context);
/// CRI-O's mirrors (containers-registries.conf(5)).
[[nodiscard]] Result<std::vector<Composed>> compose_crio_registries(const Context& context);
/// Where containerd looks for hosts.toml; empty where mirrors stand in config.toml, in the old form, and
/// where containerd is not the runtime.
[[nodiscard]] std::string registry_hosts(const Context& context);

/// Fingerprints of the keys that may sign the repository called `name`: the cluster file's, else the
/// catalog's.
[[nodiscard]] std::string package_keys(const Context& context, const std::string& name,
                                       const std::string& key);
/// The repository of packages called `name`: the cluster file's mirror, else the catalog's.
[[nodiscard]] std::string package_repository(const Context& context, const std::string& name,
                                             const std::string& key);

}  // namespace playbook
