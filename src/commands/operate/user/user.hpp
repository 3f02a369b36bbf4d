#pragma once

#include "gpuadm/base/certificate.hpp"
#include "gpuadm/base/version.hpp"
#include "gpuadm/workload/user.hpp"

#include "commands/line.hpp"
#include "commands/workloads/reach.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace commands {

/// What all commands about users share.
struct UserTarget {
  Common common;
  Hosts hosts;
  std::string name;  ///< of the user
};
void add_user_target(Line& line, UserTarget& target);
/// `--gpus`, `--cpus`, `--memory` and `--storage`.
void add_user_limits(Line& line, workload::UserLimits& limits, const char* gpus_summary);

/// All users of the cluster.
[[nodiscard]] Result<std::vector<workload::UserState>> read_users(session::ClusterClient& client);
/// One of them. Fault::usage with the nearest name.
[[nodiscard]] Result<workload::UserState> find_user(session::ClusterClient& client, const std::string& name);
/// Version of the API server.
[[nodiscard]] Result<base::Version> api_version_of(session::ClusterClient& client);
/// "the user holds more: nvidia.com/gpu 2 of 1. Running pods stay; new ones are refused"
[[nodiscard]] std::string note_of_exceeded(const std::vector<std::string>& exceeded);
/// "gpuadm user quota anna -f cluster.yaml": a command for the same hosts.
[[nodiscard]] std::string user_command(const char* verb, const UserTarget& target);

/// ~/.local/state/gpuadm/CLUSTER/users/NAME.kubeconfig
[[nodiscard]] std::filesystem::path kubeconfig_file_of(const spec::Cluster& cluster, const std::string& user);
/// Fault::usage if the file exists and is not a kubeconfig of this user, written by gpuadm: of the identity,
/// or of an earlier one in the cluster of this API server.
[[nodiscard]] Result<> check_kubeconfig_file(const std::filesystem::path& file, const std::string& user,
                                             const std::string& identity, const workload::ApiServer& api);
/// The identity in a kubeconfig file; empty: there is none.
[[nodiscard]] std::string identity_in(const std::filesystem::path& file);
/// The certificate of the identity in the file. Nothing: there is none, or it has ended.
[[nodiscard]] std::optional<base::CertificateSubject> valid_certificate_in(const std::filesystem::path& file,
                                                                           const std::string& identity);

/// A certificate and a kubeconfig to make.
struct UserCredentials {
  std::string cluster;  ///< its name in the kubeconfig
  std::string user, ns, identity;
  std::chrono::days lifetime{0};
  workload::ApiServer api;
  base::Version kubernetes;
  std::filesystem::path file;
};
/// The API server for kubeconfigs; `server`: of an option.
[[nodiscard]] Result<workload::ApiServer> read_api_server(session::ClusterClient& client,
                                                          const std::string& server);
/// Generates a key on this machine, has the cluster sign a certificate of it, verifies it, writes the
/// kubeconfig (0600), and records the end of the certificate in the RoleBinding. The key is sent nowhere. A
/// certificate request that could not be deleted is noted.
/// Fault::timeout with the reason if the cluster does not sign within a minute.
[[nodiscard]] Result<base::CertificateSubject> issue_credentials(const UserCredentials& credentials,
                                                                 session::ClusterClient& client, Io& io);
/// The same, unless the file has a valid certificate of the identity, whose end is then recorded.
[[nodiscard]] Result<base::CertificateSubject> complete_credentials(const UserCredentials& credentials,
                                                                    session::ClusterClient& client, Io& io);
/// "the certificate is valid for 90 days, until 2027-02-28"; and if the cluster gave fewer or more days, why.
[[nodiscard]] std::string describe_end(const base::CertificateSubject& certificate, std::chrono::days asked);

/// The documents of templates/user-role.yaml.
[[nodiscard]] Result<std::vector<base::Tree>> read_roles(const assets::Store& assets);

}  // namespace commands
