#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/spec/values.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Users of a cluster, on a command line and in a cluster file: what their settings may be.
namespace spec {

/// The organization in the certificates of all users, which Kubernetes takes as a group.
inline constexpr std::string_view users_group = "gpuadm:users";

/// GPUs that a user may hold if nothing is said.
inline constexpr const char* usual_gpus = "1";

/// GPUs of one form in a quota, as typed: "2", "1/4:3", "1g.10gb:2".
struct GpuLimit {
  GpuRequest request;
  int count = 0;
};
/// Those of UserLimits::gpus. Fault::usage, with `option`.
[[nodiscard]] Result<std::vector<GpuLimit>> parse_gpu_limits(std::string_view option, std::string_view text);

/// Fault::usage for an invalid name, namespace, group or quantity.
[[nodiscard]] Result<> check_user(const User& user);
/// Whether the namespace is one of Kubernetes or of gpuadm, in which no user may be.
[[nodiscard]] bool is_system_namespace(std::string_view ns);
/// Whether it may be the name of a group of another authenticator; empty: no group.
[[nodiscard]] bool is_user_group(std::string_view group);
/// The address of an API server in a kubeconfig: it may be printed, and must not carry a login.
[[nodiscard]] bool is_api_server(const std::string& server);

/// Whether any limit is set: without one, the quota of a user who exists is not the cluster file's.
[[nodiscard]] bool has_limits(const UserLimits& limits);

/// The user of that name in a cluster file, or nullptr.
[[nodiscard]] const User* find_user(const Cluster& cluster, std::string_view name);

/// The user as an item of `users` in a cluster file.
[[nodiscard]] base::Tree to_tree(const User& user);

}  // namespace spec
