#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "spec/types.hpp"

#include <algorithm>

namespace spec {

namespace {

std::unexpected<base::Error> refuse(std::string_view target, std::string_view why) {
  return base::fail(base::Fault::usage,
                    fmt::format("invalid host '{}': {}", base::printable(target, 100), why),
                    "write [user@]host[:port], an IPv6 address with a port in brackets: [2001:db8::1]:22");
}

/// A word that the cluster file accepts as a host's name.
std::string name_for(std::string address) {
  if (base::Cidr::parse(address) || address.find(':') != std::string::npos) return address;
  return base::replace_all(base::lower(address), "_", "-");
}

}  // namespace

Result<Endpoint> parse_target(std::string_view target) {
  Endpoint endpoint;
  endpoint.local = target.empty();
  if (endpoint.local) return endpoint;

  std::string_view rest = target;
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    endpoint.user = rest.substr(0, at);
    rest.remove_prefix(at + 1);
    if (!is_user_name(endpoint.user)) return refuse(target, "invalid user name before '@'");
  }
  std::optional<std::string_view> port;
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return refuse(target, "'[' without ']'");
    endpoint.address = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    if (!rest.empty() && rest.front() != ':') return refuse(target, "only a port can follow ']'");
    if (!rest.empty()) port = rest.substr(1);
    if (endpoint.address.find(':') == std::string::npos)
      return refuse(target, "brackets are for IPv6 addresses");
  } else if (std::ranges::count(rest, ':') == 1) {
    const std::size_t colon = rest.find(':');
    endpoint.address = rest.substr(0, colon);
    port = rest.substr(colon + 1);
  } else {
    endpoint.address = rest;
  }
  if (base::is_partial_ipv4(endpoint.address)) return refuse(target, "an incomplete IPv4 address");
  if (!is_address(endpoint.address)) return refuse(target, "neither an IP address nor a host name");
  if (port) {
    const auto number = to_port(*port);
    if (!number) return refuse(target, "the port must be a number from 1 to 65535");
    endpoint.port = *number;
  }
  return endpoint;
}

Result<Cluster> single(std::string_view target) {
  Cluster cluster;
  Host host;
  host.endpoint = TRY(parse_target(target));
  host.name = host.endpoint.local ? "localhost" : name_for(host.endpoint.address);
  cluster.hosts.push_back(std::move(host));
  return cluster;
}

}  // namespace spec
