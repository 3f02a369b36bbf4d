#pragma once

#include "gpuadm/transport/transport.hpp"

#include "transport/dialogue.hpp"

#include <string>
#include <vector>

/// The command line and the messages of the system's OpenSSH client.
namespace transport {

/// ssh with the options of an endpoint and of the operator's policy, without prompts; the options of one use
/// of it, `--` and the address follow.
[[nodiscard]] std::vector<std::string> openssh_client(const Options& options, spec::HostKeys policy,
                                                      const spec::Endpoint& endpoint);
/// The same for a person who types: with prompts, and the operator's own policy of host keys unless a
/// stricter one is set.
[[nodiscard]] std::vector<std::string> openssh_terminal(const Options& options,
                                                        const spec::Endpoint& endpoint);
/// Why it failed, by its messages. `begun`: the connection was established.
[[nodiscard]] base::Error openssh_failure(const Peer& peer, const std::string& words, bool begun);
[[nodiscard]] Peer openssh_peer(const std::string& host, const spec::Endpoint& endpoint);

}  // namespace transport
