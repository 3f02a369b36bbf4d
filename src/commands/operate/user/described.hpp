#pragma once

#include "gpuadm/report/event.hpp"

#include "commands/operate/user/addition.hpp"

#include <string>
#include <vector>

/// The users of a cluster file: compared with the cluster, and made.
namespace commands {

/// One that differs.
struct DescribedUser {
  UserAsked asked;
  UserAddition addition;
};

struct DescribedUsers {
  std::vector<DescribedUser> changes;   ///< in the order of the file
  std::vector<std::string> not_listed;  ///< names of users that the cluster has and the file does not list
};

/// Compares the users of a cluster file, of which there is at least one. `target`: file, hosts and connection
/// of the command line, for hints. Fault::blocked or usage with the place in the file for each user who
/// cannot be made.
[[nodiscard]] Result<DescribedUsers> compare_users(const spec::Cluster& cluster, const UserTarget& target,
                                                   session::ClusterClient& client);

/// "Add the user anna", "Change the quota of the user anna", "Complete the user anna".
[[nodiscard]] std::string title_of(const UserAddition& addition);
/// What changes, as lines of a diff: entries of the quota, and objects that are created or changed.
[[nodiscard]] std::string diff_of(const UserAddition& addition);
/// What to know before the question; last, what is true of the whole cluster.
[[nodiscard]] std::vector<std::string> notes_of(const DescribedUsers& users);
/// "the cluster has the user carl, whom cluster.yaml does not list: gpuadm user remove carl -f cluster.yaml"
[[nodiscard]] std::string note_of_not_listed(const std::string& name, const UserTarget& target);

}  // namespace commands
