#pragma once

#include <span>
#include <string_view>

/// What a pod reaches: pods on other nodes, the cluster's DNS, the API server through its Service.
namespace network {

inline constexpr const char* usage =
    "--network (--listen SECONDS | [--peers ADDRESS,...] [--dns NAME] [--api] [--deadline SECONDS])";

/// The words behind --network; the exit status. 0: everything was reached; 1: something was not; 2: invalid
/// arguments, or the port is in use.
int run(std::span<char* const> words);

}  // namespace network
