#pragma once

#include "transport/ssh/config/config.hpp"

#include <string>
#include <vector>

namespace transport {

/// The algorithms that libssh2 offers a server: the cheapest first, and only those that the operator's
/// OpenSSH configuration allows (KexAlgorithms, HostKeyAlgorithms, Ciphers, MACs, RequiredRSASize).
/// Comma-separated SSH names (RFC 4253, 7.1); an empty list means that libssh2 supports none of the allowed
/// ones.
struct Algorithms {
  std::string key_exchange, host_keys, ciphers, macs;
};

/// `known`: types of the host's known keys; they are first, so that the server uses a known key.
[[nodiscard]] Algorithms algorithms_for(const Config& config, const std::vector<std::string>& known);

/// Whether a host key of this type can be verified with one of them.
[[nodiscard]] bool can_verify(const Algorithms& algorithms, const std::string& type);

/// For the OpenSSH client: the ciphers that the operator allows, AES-GCM first, which takes half of the
/// processor time of OpenSSH's first choice. Empty if the configuration names none, or not AES-GCM.
[[nodiscard]] std::string openssh_ciphers(const Config& config);

}  // namespace transport
