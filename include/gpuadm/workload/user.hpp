#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/base/version.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/spec/user.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Users of a cluster: a namespace, quotas, rights and a client certificate for a person who has neither SSH
/// nor an administrator's kubeconfig. All of it is plain objects with gpuadm's labels.
namespace workload {

using base::Result;

/// Value of the label `gpuadm.io/kind` of all objects of a user.
inline constexpr std::string_view user_kind = "user";
/// Annotation of the RoleBinding: when the newest certificate ends, as RFC 3339.
inline constexpr std::string_view certificate_ends_annotation = "gpuadm.io/certificate-ends";
/// The ClusterRole of all users.
inline constexpr std::string_view user_cluster_role = "gpuadm-user";

using spec::UserLimits;

/// Entries of a ResourceQuota with their quantities, and what to know of them.
struct UserQuota {
  std::map<std::string, std::string> hard;
  std::vector<std::string> notes;  ///< "the quota of 4 nvidia.com/gpu is above the 2 that the nodes have"
};
/// The quota for these limits on this cluster. Every resource of GPUs that a node has gets an entry, those
/// that are not requested 0; so do device classes of NVIDIA's DRA driver
/// (https://kubernetes.io/docs/concepts/policy/resource-quotas/). Services that open ports of nodes, or take
/// addresses from outside, are 0. Fault::remote if the nodes or the device classes could not be read,
/// Fault::usage for invalid limits, and for shares into which no node divides its GPUs.
[[nodiscard]] Result<UserQuota> quota_of(const UserLimits& limits, const facts::ClusterFacts& cluster);
/// NVIDIA's device classes that give GPUs to claims. Nothing: they could not be read, although the cluster
/// may have some.
[[nodiscard]] std::optional<std::vector<std::string>> gpu_classes_of(const facts::ClusterFacts& cluster);
/// Whether an entry of a ResourceQuota is one of GPUs, cpu, memory or storage as gpuadm writes it. Other
/// entries stay as an administrator has set them.
[[nodiscard]] bool is_limited_by_gpuadm(std::string_view entry);
/// The quota of a user who has one, with the limits that are given; those that are empty stay as they are,
/// and so do entries that is_limited_by_gpuadm does not name. Errors as of quota_of. `limits` becomes
/// complete, except its GPUs.
[[nodiscard]] Result<UserQuota> changed_quota(const std::map<std::string, std::string>& hard,
                                              UserLimits& limits, const facts::ClusterFacts& cluster);
/// Entries of which the user holds more than this quota allows: they stay until they are deleted.
[[nodiscard]] std::vector<std::string> exceeded_by(const std::map<std::string, std::string>& used,
                                                   const UserQuota& quota);
/// Resources of GPUs that nodes have and the quota does not name: they are not limited.
[[nodiscard]] std::vector<std::string> unlimited_gpus(const std::map<std::string, std::string>& hard,
                                                      const facts::ClusterFacts& cluster);

/// Fault::blocked, with the binding, if service accounts of the namespace have rights by one that is not of a
/// user of gpuadm: a pod can use every service account of its namespace. `bindings`: all RoleBindings and
/// ClusterRoleBindings of the cluster.
[[nodiscard]] Result<> check_accounts(const std::string& ns, std::span<const base::Tree> bindings);

/// What the objects of a user are made from.
struct UserPlan {
  spec::User request;
  std::string identity;  ///< the user's name for Kubernetes: see new_identity
  UserQuota quota;
  bool makes_namespace = true;  ///< false: it exists, and gpuadm did not create it
};
/// A name for Kubernetes, "gpuadm:anna:3f2a9c41d0". No other program gives rights to it, and a user who is
/// removed and added again has another one, so that an old certificate has no rights.
[[nodiscard]] Result<std::string> new_identity(const std::string& name);
/// The user's name in an identity; empty: it is not one of gpuadm.
[[nodiscard]] std::string user_in_identity(std::string_view identity);

/// Name of the user's Role, RoleBinding, ClusterRoleBinding, ResourceQuota and LimitRange.
[[nodiscard]] std::string user_object_name(const std::string& name);
/// The objects of a user in the order of creation: the Namespace, the ResourceQuota and one for the
/// priorities of the cluster's own pods, LimitRange, Role and ClusterRoleBinding, and last the RoleBinding.
/// `roles`: the documents of templates/user-role.yaml.
[[nodiscard]] std::vector<base::Tree> objects_of(const UserPlan& plan, std::span<const base::Tree> roles);
/// The ClusterRole of all users.
[[nodiscard]] base::Tree user_cluster_role_of(std::span<const base::Tree> roles);

/// Whether an object has what the desired one sets: spec, rules, subjects and labels. Quantities are compared
/// as numbers.
[[nodiscard]] bool has_all_of(const base::Tree& existing, const base::Tree& desired);
/// A JSON merge patch that makes the existing object the desired one; with other subjects, the annotation of
/// the certificate's end is removed. It has the resourceVersion, so that the
/// API server refuses it if the object was changed meanwhile.
[[nodiscard]] base::Tree patch_to(const base::Tree& existing, const base::Tree& desired);

/// A user, as the cluster has it.
struct UserState {
  std::string name, ns, identity, group;
  bool owns_namespace = false;  ///< gpuadm has made the namespace for this user
  bool has_rights = false;      ///< there is a RoleBinding
  std::optional<double> ends;   ///< of the newest certificate, in seconds since the epoch
  std::string pod_security;     ///< label of the namespace; empty: none
  bool has_quota = false;
  std::map<std::string, std::string> hard, used;
  bool is_being_deleted = false;  ///< its namespace is
};
/// The kinds of objects that users_in needs, with the selector of user_kind; namespaces without it.
[[nodiscard]] std::vector<std::string> user_kinds();
/// The users among objects, by their labels; sorted by name.
[[nodiscard]] std::vector<UserState> users_in(std::span<const base::Tree> objects);
[[nodiscard]] base::Tree to_tree(std::span<const UserState> users, base::Time now);
/// "nvidia.com/gpu 1 of 2, cpu 500m of 8": what is used of the quota; entries of GPUs that are 0 are left
/// out.
[[nodiscard]] std::string usage_of(const UserState& user);
/// "in 89 days", "ended 3 days ago", "unknown".
[[nodiscard]] std::string end_of(const std::optional<double>& ends, base::Time now);

/// Pod Security as a version of Kubernetes enforces it by the label of a namespace: stable from 1.25, on by
/// default from 1.23 (https://kubernetes.io/docs/concepts/security/pod-security-admission/). Empty: it does;
/// otherwise what to know.
[[nodiscard]] std::string pod_security_note(const base::Version& kubernetes);

/// A CertificateSigningRequest of a user; its name is `name`. `lifetime` is sent if this version of
/// Kubernetes accepts it: from 1.22.
[[nodiscard]] base::Tree signing_request(const std::string& name, const std::string& user,
                                         const std::string& request_pem, std::chrono::days lifetime,
                                         const base::Version& kubernetes);
/// What became of it.
struct SigningState {
  std::string certificate;  ///< PEM; empty: not yet
  std::string refusal;      ///< why it will not be signed; empty: it may be
};
[[nodiscard]] SigningState signing_state(const base::Tree& request);
/// Why a request that was approved is not signed, from the pods of the controller manager; empty: unknown.
[[nodiscard]] std::string why_not_signed(std::span<const base::Tree> controller_managers);

/// The API server of a cluster, for a kubeconfig.
struct ApiServer {
  std::string server;     ///< "https://192.0.2.10:6443"
  std::string authority;  ///< PEM
};
/// From the ConfigMaps kube-public/cluster-info and kube-system/kube-root-ca.crt. `server`: that of an option
/// instead; empty: none. Fault::remote with what to type.
[[nodiscard]] Result<ApiServer> api_server_of(std::span<const base::Tree> config_maps,
                                              const std::string& server);
/// A kubeconfig with one context, whose namespace is the user's.
[[nodiscard]] base::Tree kubeconfig_of(const std::string& cluster, const std::string& user,
                                       const std::string& ns, const ApiServer& api,
                                       const std::string& certificate, const std::string& key);
/// The client certificate in a kubeconfig, for its current context: PEM; empty: none.
[[nodiscard]] std::string certificate_in_kubeconfig(const base::Tree& kubeconfig);
/// The certificate of the cluster's authority, in the same way.
[[nodiscard]] std::string authority_in_kubeconfig(const base::Tree& kubeconfig);

}  // namespace workload
