#pragma once

#include "gpuadm/workload/user.hpp"

#include "commands/operate/user/user.hpp"

#include <string>
#include <vector>

namespace commands {

/// What the objects of a user lack.
struct UserChanges {
  std::vector<base::Tree> missing;            ///< to create, in this order
  std::vector<base::Tree> changed, existing;  ///< as desired and as read; of the same length
  std::optional<base::Tree> cluster_role;     ///< that of all users, to apply
  [[nodiscard]] bool empty() const { return missing.empty() && changed.empty() && !cluster_role; }
};

/// Compares the objects of a user with the cluster. Fault::blocked if an object of another has the name.
[[nodiscard]] Result<UserChanges> compare_user(const workload::UserPlan& plan,
                                               session::ClusterClient& client);
/// "create Namespace anna", "change ResourceQuota anna/gpuadm-user-anna"
[[nodiscard]] std::vector<std::string> lines_of(const UserChanges& changes);
/// Changes what differs, and creates what is missing, in its order; a repetition completes it. Fault::blocked
/// if another administrator was faster: one of the two runs completes.
[[nodiscard]] Result<> apply_changes(const UserChanges& changes, const std::string& ns,
                                     session::ClusterClient& client);

}  // namespace commands
