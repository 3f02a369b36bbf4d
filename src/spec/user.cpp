#include "gpuadm/spec/user.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace spec {

namespace {

using base::Fault;

/// With a prefix and a random part it is the name in a certificate, of at most 64 bytes (RFC 5280).
constexpr std::size_t longest_user = 40;
constexpr std::size_t longest_group = 200, longest_server = 300;

Result<GpuLimit> parse_gpu_limit(std::string_view option, std::string_view text) {
  const std::size_t colon = text.find(':');
  if (!text.starts_with("1/") || colon == std::string_view::npos) {
    GpuRequest request = TRY(parse_gpus(option, text));
    const int count = request.count;
    return GpuLimit{std::move(request), count};
  }
  GpuRequest request = TRY(parse_gpus(option, text.substr(0, colon)));
  const auto count = base::to_int(text.substr(colon + 1));
  if (!count || *count < 1 || *count > most_gpus)
    return base::fail(Fault::usage,
                      fmt::format("{}: not a number of shares: {}", option, base::printable(text, 50)),
                      fmt::format("for example {} 1/4:2, two shares of a quarter of a GPU", option));
  return GpuLimit{std::move(request), static_cast<int>(*count)};
}

}  // namespace

Result<std::vector<GpuLimit>> parse_gpu_limits(std::string_view option, std::string_view text) {
  std::vector<GpuLimit> limits;
  if (text.empty()) return limits;
  for (const std::string_view part : base::split(text, ','))
    limits.push_back(TRY(parse_gpu_limit(option, part)));
  return limits;
}

Result<> check_user(const User& user) {
  TRY(check_name("user", user.name));
  if (user.name.size() > longest_user)
    return base::fail(Fault::usage,
                      fmt::format("invalid name of a user: {}: longer than {} characters",
                                  base::printable(user.name, 80), longest_user),
                      "choose a shorter name");
  TRY(check_namespace(user.name_space()));
  if (is_system_namespace(user.name_space()))
    return base::fail(Fault::usage, fmt::format("the namespace {} belongs to the cluster", user.name_space()),
                      "choose another: --namespace NAME");
  TRY(parse_gpu_limits("--gpus", user.limits.gpus));
  if (!user.limits.cpus.empty()) TRY(millicpus_of("--cpus", user.limits.cpus));
  if (!user.limits.memory.empty()) TRY(size_of("--memory", user.limits.memory));
  if (!user.limits.storage.empty()) TRY(size_of("--storage", user.limits.storage));
  if (is_user_group(user.group)) return {};
  return base::fail(Fault::usage, fmt::format("--group: invalid group: {}", base::printable(user.group, 80)),
                    "the name of a group as the cluster's authenticator gives it, for example --group "
                    "oidc:vision");
}

bool is_system_namespace(std::string_view ns) {
  return ns == "default" || ns.starts_with("kube-") || ns.starts_with("gpuadm-");
}

bool is_user_group(std::string_view group) {
  return !group.starts_with("system:") && group != users_group && group.size() <= longest_group &&
         group == base::printable(group) && group.find_first_of(" \t\n") == std::string_view::npos;
}

bool is_api_server(const std::string& server) {
  return server.starts_with("https://") && server.size() < longest_server &&
         server == base::printable(server) && server.find_first_of(" @?#'\"\\") == std::string::npos;
}

bool has_limits(const UserLimits& limits) {
  return !limits.gpus.empty() || !limits.cpus.empty() || !limits.memory.empty() || !limits.storage.empty();
}

const User* find_user(const Cluster& cluster, std::string_view name) {
  const auto found = std::ranges::find(cluster.users, name, &User::name);
  return found == cluster.users.end() ? nullptr : &*found;
}

}  // namespace spec
