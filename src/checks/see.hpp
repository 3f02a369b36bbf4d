#pragma once

#include "checks/check.hpp"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

/// Questions about a host that several checks ask.
namespace checks {

[[nodiscard]] bool has(const std::vector<std::string>& names, std::string_view name);
[[nodiscard]] std::string list(const std::vector<std::string>& names);
/// The version as somebody would type it: "1.36" or "1.36.4"; "the chosen version" where it is not known.
[[nodiscard]] std::string kubernetes_text(const Subject& subject);
/// The same without its patch, which before an installation from packages only the repository knows.
[[nodiscard]] std::string minor_text(const Subject& subject);
/// Whether the Kubernetes version is known and at least / before this minor of 1.
[[nodiscard]] bool kubernetes_from(const Subject& subject, int minor);
[[nodiscard]] bool kubernetes_before(const Subject& subject, int minor);

[[nodiscard]] bool is_control_plane(const Subject& subject);
[[nodiscard]] bool uses(const Subject& subject, spec::Engine engine);
/// A unit that is loaded and active (or activating).
[[nodiscard]] bool is_active(const facts::Facts& facts, const std::string& unit);
/// A kernel module that is loaded, built in, or there to be loaded.
[[nodiscard]] bool is_loaded(const facts::Facts& facts, std::string_view module);
[[nodiscard]] bool is_loadable(const facts::Facts& facts, std::string_view module);
/// The cgroup driver that the kubelet uses, or will use.
[[nodiscard]] std::string cgroup_driver(const Subject& subject);
/// Whether the kubelet keeps running with swap on: of the cluster file before, of the host's own file
/// afterwards.
[[nodiscard]] bool kubelet_accepts_swap(const Subject& subject);

/// containerd where it is the runtime and is installed; says why not otherwise.
[[nodiscard]] const facts::Containerd* containerd_of(const Subject& subject, Verdicts& out);
/// The file system that a path lies on, or nullptr.
[[nodiscard]] const facts::Disk* disk_of(const facts::Facts& facts, std::string_view path);
/// A node that is one already; says why not otherwise.
[[nodiscard]] bool is_node(const Subject& subject, Verdicts& out);
/// A host with a GPU where containers could have it; says why not otherwise.
[[nodiscard]] bool is_ready_for_toolkit(const Subject& subject, Verdicts& out);

/// What of Kubernetes a host has already.
enum class Standing {
  none,        ///< nothing
  running,     ///< a kubelet that runs and belongs to the cluster meant here
  unfinished,  ///< what an interrupted run of gpuadm left: running it again goes on from there
  leftovers,   ///< files of an earlier cluster, and no kubelet that runs
  foreign      ///< a kubelet that runs and belongs to another cluster
};
[[nodiscard]] Standing standing_of(const Subject& subject);
/// Whether the host is a node, and nothing on it says that gpuadm made its cluster (the journal) or was told
/// to manage it (`gpuadm adopt --record`).
[[nodiscard]] bool has_foreign_cluster(const facts::Facts& facts);
/// The cluster that a host is a node of: "cluster kubernetes at https://192.0.2.11:6443, Kubernetes v1.36.2,
/// node one", as far as its files say.
[[nodiscard]] std::string cluster_text(const facts::Facts& facts);
/// Where the run gets a container runtime or the NVIDIA Container Toolkit from; `open` where only a bundle
/// that is not named here can tell.
[[nodiscard]] spec::Supply supply_of(const Subject& subject, spec::Supply resolved);

/// "https://192.0.2.1:6443" and "https://[fd00::1]:6443" to the host part.
[[nodiscard]] std::string host_of(std::string_view server);

/// The number of a kernel parameter, the first where it has several.
[[nodiscard]] std::optional<long long> sysctl_of(const facts::Facts& facts, const std::string& key);
[[nodiscard]] const facts::Mount* mount_of(const facts::Facts& facts, std::string_view path);
/// Whether a network plugin of this name is configured here.
[[nodiscard]] bool has_cni(const facts::Facts& facts, std::string_view name);
/// A machine of its own; false for virtual machines, and where it is not known.
[[nodiscard]] bool is_bare_metal(const facts::Facts& facts);
/// Whether devices have reason to read each other's memory: several GPUs, or a GPU and a card for RDMA.
[[nodiscard]] bool has_peers(const facts::Facts& facts);

/// A host with RDMA devices; says why not otherwise.
[[nodiscard]] bool has_rdma(const Subject& subject, Verdicts& out);

[[nodiscard]] bool has_gpu(const facts::Facts& facts);
/// A host with GPUs of NVIDIA; says why not otherwise.
[[nodiscard]] bool is_gpu_host(const Subject& subject, Verdicts& out);
/// Severity of something that keeps GPUs from working but not Kubernetes: a warning before, a blocker on a
/// live node.
[[nodiscard]] Severity gpu_severity(const Subject& subject);

}  // namespace checks
