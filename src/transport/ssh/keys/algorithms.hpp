#pragma once

#include "transport/ssh/config/config.hpp"

#include <string>
#include <vector>

namespace transport {

/// What libssh2 offers a server: the cheapest of what it has first, and of it only what the operator's
/// OpenSSH configuration allows (KexAlgorithms, HostKeyAlgorithms, Ciphers, MACs, RequiredRSASize).
/// Comma-separated, as SSH names them (RFC 4253, 7.1); an empty one means that libssh2 has nothing that is
/// allowed.
struct Algorithms {
  std::string key_exchange, host_keys, ciphers, macs;
};

/// `known`: types of the keys that are known of the host; they come first, so that a known host shows a known
/// key.
[[nodiscard]] Algorithms algorithms_for(const Config& config, const std::vector<std::string>& known);

}  // namespace transport
