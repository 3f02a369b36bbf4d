#pragma once

#include "gpuadm/playbook/playbook.hpp"

#include <string>
#include <vector>

/// Mirrors and proxies of hosts (decision 14).
namespace playbook {

[[nodiscard]] bool has_proxy(const Context& context);
/// Destinations without the proxy: this machine, nodes, pods, services, the API server, and the operator's
/// own. Go, curl and others support such a list (golang.org/x/net/http/httpproxy): addresses, networks,
/// names, .domains.
[[nodiscard]] std::vector<std::string> no_proxy(const Context& context);
/// Environment variables, one NAME="VALUE" per line, as in EnvironmentFile of systemd.exec(5).
[[nodiscard]] std::string proxy_environment(const Context& context);
/// The proxy for apt (apt-transport-http(1)).
[[nodiscard]] std::string proxy_apt(const Context& context);
/// The proxy for dnf, one "key=value" per line (dnf.conf(5)).
[[nodiscard]] std::string proxy_dnf(const Context& context);
/// The mode of files with the proxy: readable by others only without a login.
[[nodiscard]] std::string proxy_mode(const Context& context);

/// "REGISTRY URL" a line.
[[nodiscard]] std::string registry_mirrors(const Context& context);
/// CRI-O's mirrors (containers-registries.conf(5)).
[[nodiscard]] Result<std::vector<Composed>> compose_crio_registries(const Context& context);
/// containerd's directory of hosts.toml files; empty if mirrors are in config.toml, in the old form, and if
/// containerd is not the runtime.
[[nodiscard]] std::string registry_hosts(const Context& context);

/// Fingerprints of the signing keys of the repository `name`: the cluster file's, otherwise the catalog's.
[[nodiscard]] std::string package_keys(const Context& context, const std::string& name,
                                       const std::string& key);
/// The package repository `name`: the cluster file's mirror, otherwise the catalog's.
[[nodiscard]] std::string package_repository(const Context& context, const std::string& name,
                                             const std::string& key);

}  // namespace playbook
