#pragma once

#include "spec/types.hpp"

#include <string>

/// Mirrors and proxies.
namespace spec {

/// http(s)://host[:port][/path], without a login, a query or a fragment.
[[nodiscard]] bool is_url(const std::string& text);
/// The same without a path.
[[nodiscard]] bool is_proxy_url(const std::string& text);
/// host[:port]: the registry of an image's name.
[[nodiscard]] bool is_registry_host(const std::string& text);
[[nodiscard]] bool is_package_repository(const std::string& text);
/// Fingerprints of OpenPGP version 4 keys: words of 40 hexadecimal digits.
[[nodiscard]] bool is_fingerprints(const std::string& text);
[[nodiscard]] bool lacks_proxy(const std::string& text);
/// A URL that `good` accepts. One with a login is rejected without being printed.
[[nodiscard]] Type<std::string> url(std::function<bool(const std::string&)> good);
[[nodiscard]] bool is_region(const std::string& text);

/// Reports settings that the runtime does not support, and a login without a proxy.
void check_environment(const Cluster& cluster, const Tree& file, Problems& problems);

}  // namespace spec
