#include "facts/host/proc_net.hpp"

#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include "facts/text/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <set>

namespace facts {

namespace {

std::optional<std::uint32_t> hex(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Addresses are printed as numbers of a little-endian machine.
std::string dotted(std::uint32_t value) {
  return fmt::format("{}.{}.{}.{}", value & 255, value >> 8 & 255, value >> 16 & 255, value >> 24);
}

}  // namespace

std::vector<Route> read_proc_routes(const std::vector<std::string_view>& lines) {
  std::vector<Route> routes;
  for (const std::string_view line : lines) {
    const auto words = base::words(line);
    if (words.size() < 8) continue;
    const auto destination = hex(words[1]), gateway = hex(words[2]), mask = hex(words[7]);
    if (!destination || !gateway || !mask) continue;
    Route route{.destination = fmt::format("{}/{}", dotted(*destination), std::popcount(*mask)),
                .link = std::string(words[0])};
    if (*gateway != 0) route.gateway = dotted(*gateway);
    route.metric = static_cast<int>(std::min<std::uint64_t>(count(words[6]).value_or(0), 1u << 30));
    routes.push_back(std::move(route));
  }
  return routes;
}

std::vector<Address> read_fib_trie(const std::vector<std::string_view>& lines,
                                   const std::vector<Route>& routes) {
  std::vector<Address> addresses;
  std::set<std::string> seen;
  std::string last;
  for (const std::string_view line : lines) {
    const auto words = base::words(line);
    if (words.size() == 2 && words[0] == "|--") last = std::string(words[1]);
    const bool local = words.size() == 3 && words[0] == "/32" && words[1] == "host" && words[2] == "LOCAL";
    if (!local || last.starts_with("127.") || !seen.insert(last).second) continue;
    const auto address = base::Cidr::parse(last);
    if (!address) continue;
    Address found{.cidr = last + "/32", .global = true};
    int best = 0;
    for (const Route& route : routes) {
      const auto net = base::Cidr::parse(route.destination);
      if (!net || net->prefix <= best || !net->contains(*address)) continue;
      best = net->prefix;
      found.link = route.link;
      found.cidr = fmt::format("{}/{}", last, best);
    }
    addresses.push_back(std::move(found));
  }
  return addresses;
}

std::vector<Listener> read_proc_listeners(const std::vector<std::string_view>& lines) {
  std::vector<Listener> listeners;
  for (const std::string_view line : lines) {
    const auto words = base::words(line);
    if (words.size() < 4 || words[3] != "0A") continue;
    const std::size_t colon = words[1].rfind(':');
    if (colon == std::string_view::npos) continue;
    const auto port = hex(words[1].substr(colon + 1));
    if (!port || *port > 65535) continue;
    Listener listener{.port = static_cast<int>(*port)};
    const auto address = words[1].substr(0, colon);
    if (const auto v4 = hex(address); address.size() == 8 && v4)
      listener.address = dotted(*v4);
    else
      listener.address = address.find_first_not_of('0') == std::string_view::npos ? "[::]" : "[…]";
    listeners.push_back(std::move(listener));
  }
  return listeners;
}

}  // namespace facts
