#pragma once

#include "gpuadm/spec/user.hpp"

#include "commands/operate/user/ensure.hpp"

#include <optional>
#include <string>
#include <vector>

/// One user, compared with the cluster and made: for `gpuadm user add` and for `users` of a cluster file.
namespace commands {

/// Where a user is described, which is what hints name.
enum class WrittenIn { options, cluster_file };

/// What a user is to be.
struct UserAsked {
  spec::User user;
  UserTarget target;  ///< for commands in hints
  WrittenIn written = WrittenIn::options;
  std::string cluster;               ///< name, in the kubeconfig
  std::filesystem::path kubeconfig;  ///< the file to write for a new user
};

/// What is read of the cluster once for all users.
struct UsersSurvey {
  std::vector<workload::UserState> users;
  facts::ClusterFacts cluster;
  base::Version kubernetes;
};
/// Fault::blocked if this version of Kubernetes does not sign certificates of users.
[[nodiscard]] Result<UsersSurvey> survey_users(session::ClusterClient& client);

/// What a user lacks.
struct UserAddition {
  workload::UserPlan plan;
  std::optional<workload::UserState> existing;  ///< the user as it is
  UserChanges changes;
  UserCredentials credentials;
  bool needs_certificate = true;
  std::optional<base::Tree> foreign_namespace;  ///< to get the label of Pod Security
  std::vector<std::string> notes;               ///< about this user
  std::string cluster_note;                     ///< the same for all users; empty: none
  [[nodiscard]] bool empty() const { return changes.empty() && !needs_certificate && !foreign_namespace; }
};

/// Compares a user with the cluster. A user who exists with another namespace or group is refused, and one
/// with another quota unless a cluster file says so. A user of a cluster file that has no limits keeps the
/// quota that it has, or none. Fault::blocked, usage and remote, with what to type.
[[nodiscard]] Result<UserAddition> plan_addition(const UserAsked& asked, const UsersSurvey& survey,
                                                 session::ClusterClient& client);
/// Whether an object limits what a user may hold: a ResourceQuota or a LimitRange.
[[nodiscard]] bool is_limit(const base::Tree& object);
/// "label the namespace theirs: …", "create Namespace anna"
[[nodiscard]] std::vector<std::string> lines_of(const UserAddition& addition);
/// Makes it; a repetition completes it. The new certificate, or nothing if none was needed. A kubeconfig with
/// a valid certificate of the user stays as it is.
[[nodiscard]] Result<std::optional<base::CertificateSubject>> make_addition(const UserAddition& addition,
                                                                            const UserAsked& asked,
                                                                            session::ClusterClient& client,
                                                                            Io& io);

enum class UserIs { present, removed };
/// What a cluster file says otherwise about a user who was added or removed, with what to do; empty: nothing.
/// A file without users says nothing. `file`: its name.
[[nodiscard]] std::string note_of_file(const spec::Cluster& described, const std::string& file,
                                       const spec::User& user, UserIs is);
/// The same for the file of the command line, or without one that which the cluster has stored.
[[nodiscard]] std::string note_of_file(const UserTarget& target, const spec::User& user, UserIs is,
                                       ReachedCluster& cluster);

}  // namespace commands
