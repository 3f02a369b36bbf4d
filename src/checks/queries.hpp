#pragma once

#include "gpuadm/spec/engines.hpp"
#include "gpuadm/spec/network_plugins.hpp"

#include "checks/check.hpp"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

/// Queries on a host that several checks share.
namespace checks {

[[nodiscard]] bool has(const std::vector<std::string>& names, std::string_view name);
[[nodiscard]] std::string list(const std::vector<std::string>& names);
/// The version for a command line: "1.36" or "1.36.4"; "the chosen version" if it is unknown.
[[nodiscard]] std::string kubernetes_text(const Subject& subject);
/// The same without its patch, which only the repository knows before an installation from packages.
[[nodiscard]] std::string minor_text(const Subject& subject);
/// Whether the Kubernetes version is known and at least / before this minor of 1.
[[nodiscard]] bool kubernetes_from(const Subject& subject, int minor);
[[nodiscard]] bool kubernetes_before(const Subject& subject, int minor);

[[nodiscard]] bool is_control_plane(const Subject& subject);
[[nodiscard]] bool uses(const Subject& subject, spec::Engine engine);
/// A unit that is loaded and active (or activating).
[[nodiscard]] bool is_active(const facts::Facts& facts, const std::string& unit);
/// A unit that has failed, or that systemd starts again and again.
[[nodiscard]] bool is_failing(const facts::Unit& unit);
/// A unit that is active and is not failing.
[[nodiscard]] bool is_running(const facts::Facts& facts, const std::string& unit);
/// A kernel module that is loaded, built in, or loadable.
[[nodiscard]] bool is_loaded(const facts::Facts& facts, std::string_view module);
[[nodiscard]] bool is_loadable(const facts::Facts& facts, std::string_view module);
/// The cgroup driver that the kubelet uses, or will use.
[[nodiscard]] std::string cgroup_driver(const Subject& subject);
/// Whether the kubelet runs with swap enabled: from the cluster file before the installation, from the host's
/// own file afterwards.
[[nodiscard]] bool kubelet_accepts_swap(const Subject& subject);

/// containerd if it is the runtime and is installed; skipped with the reason otherwise.
[[nodiscard]] const facts::Containerd* containerd_of(const Subject& subject, Verdicts& out);
/// The folder of the container runtime's images: as the runtime is configured, otherwise its default.
[[nodiscard]] std::string images_root(const Subject& subject);
/// The file system of a path, or nullptr.
[[nodiscard]] const facts::Disk* disk_of(const facts::Facts& facts, std::string_view path);
/// An existing node; skipped with the reason otherwise.
[[nodiscard]] bool is_node(const Subject& subject, Verdicts& out);
/// A host with a GPU that containers could use; skipped with the reason otherwise.
[[nodiscard]] bool is_ready_for_toolkit(const Subject& subject, Verdicts& out);

/// Kubernetes state of a host.
enum class Standing {
  none,        ///< nothing
  running,     ///< a running kubelet that belongs to this cluster
  unfinished,  ///< left by an interrupted run of gpuadm; running it again continues
  leftovers,   ///< files of an earlier cluster, and no running kubelet
  foreign      ///< a running kubelet that belongs to another cluster
};
[[nodiscard]] Standing standing_of(const Subject& subject);
/// Whether the host is a node, and neither its journal nor `gpuadm adopt --record` shows that gpuadm manages
/// its cluster.
[[nodiscard]] bool has_foreign_cluster(const facts::Facts& facts);
/// The cluster of a node: "cluster kubernetes at https://192.0.2.11:6443, Kubernetes v1.36.2, node one",
/// according to its files.
[[nodiscard]] std::string cluster_text(const facts::Facts& facts);
/// Where the run installs a container runtime or the NVIDIA Container Toolkit from; `open` if that depends on
/// a bundle that is not given.
[[nodiscard]] spec::Supply supply_of(const Subject& subject, spec::Supply resolved);

/// "https://192.0.2.1:6443" and "https://[fd00::1]:6443" to the host part.
[[nodiscard]] std::string host_of(std::string_view server);

/// The number of a kernel parameter, the first where it has several.
[[nodiscard]] std::optional<long long> sysctl_of(const facts::Facts& facts, const std::string& key);
[[nodiscard]] const facts::Mount* mount_of(const facts::Facts& facts, std::string_view path);
/// Whether a network plugin with this name is configured.
[[nodiscard]] bool has_cni(const facts::Facts& facts, std::string_view name);
/// A physical machine; false for virtual machines, and if it is unknown.
[[nodiscard]] bool is_bare_metal(const facts::Facts& facts);
/// Whether devices may read each other's memory: several GPUs, or a GPU and an RDMA card.
[[nodiscard]] bool has_peers(const facts::Facts& facts);

/// A host with RDMA devices; skipped with the reason otherwise.
[[nodiscard]] bool has_rdma(const Subject& subject, Verdicts& out);

[[nodiscard]] bool has_gpu(const facts::Facts& facts);
/// A host with NVIDIA GPUs; skipped with the reason otherwise.
[[nodiscard]] bool is_gpu_host(const Subject& subject, Verdicts& out);
/// Severity of a problem that affects GPUs but not Kubernetes: a warning before the installation, a blocker
/// on a node.
[[nodiscard]] Severity gpu_severity(const Subject& subject);

/// Links that network plugins create.
[[nodiscard]] bool is_cni_link(std::string_view name);

}  // namespace checks
