#pragma once

#include "gpuadm/facts/facts.hpp"

#include <string_view>
#include <vector>

/// The kernel's own tables, for hosts without iproute2.
namespace facts {

[[nodiscard]] std::vector<Route> read_proc_routes(const std::vector<std::string_view>& lines);

/// Local IPv4 addresses other than loopback; their links and prefixes are those of the matching routes.
[[nodiscard]] std::vector<Address> read_fib_trie(const std::vector<std::string_view>& lines,
                                                 const std::vector<Route>& routes);

/// Listening lines of /proc/net/tcp or tcp6; without the process.
[[nodiscard]] std::vector<Listener> read_proc_listeners(const std::vector<std::string_view>& lines);

}  // namespace facts
