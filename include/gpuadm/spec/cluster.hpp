#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/base/version.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The operator's cluster file, completed with defaults.
namespace spec {

using base::Result;

enum class Role { control_plane, worker };
enum class Source { packages, installed, bundle };  ///< where Kubernetes comes from
enum class Swap { keep, limited, off };             ///< keep: failSwapOn=false, NoSwap
enum class Engine { containerd, docker, crio };
enum class Ownership { adopt, install };                ///< adopt a healthy installation, or install
enum class DefaultRuntime { automatic, runc, nvidia };  ///< automatic: nvidia if pods could not select it
enum class NetworkPlugin { flannel, bridge, none };
enum class Schedulable { automatic, yes, no };  ///< automatic: untaint when there is one node
enum class HostKeys { accept_new, strict, pinned };
enum class SshClient { automatic, libssh2, openssh };
enum class SudoPolicy { automatic, never, password };
enum class DriverPolicy { use, install };
enum class SecurityProfile { standard, hardened };
enum class Allocator { device_plugin, dra, none };
enum class Sharing { exclusive, time_slicing, mps };
enum class MigStrategy { single, mixed };      ///< one resource for all instances, or one for each profile
enum class GpuStack { native, gpu_operator };  ///< who runs what Kubernetes needs for GPUs
enum class StorageKind { local, path, nfs, cephfs };
enum class DeviceStrategy { runtime_class, cdi };  ///< how GPUs get into containers

/// Connection settings. Empty ones or 0 come from the operator's OpenSSH configuration (`ssh -G`).
struct Endpoint {
  bool local = false;  ///< this machine, without SSH
  std::string address;
  std::uint16_t port = 0;
  std::string user;
  std::string identity_file;
  std::string host_key;  ///< pinned: "SHA256:…"
  /// Not a host, but the API server of a kubeconfig, through kubectl on this machine; empty: a host.
  std::string kubeconfig;
  std::string kube_namespace;  ///< of the current context of the kubeconfig
};

struct GpuProfile {
  Sharing sharing = Sharing::exclusive;
  int replicas = 1;
  bool operator==(const GpuProfile&) const = default;
};

/// MIG instances of each GPU.
struct Mig {
  MigStrategy strategy = MigStrategy::single;
  std::map<std::string, int> devices;  ///< "1g.18gb" -> how many; empty: MIG is off
  bool operator==(const Mig&) const = default;
};

/// Settings that override the default for hosts, or for a GPU model.
struct GpuOverrides {
  std::optional<GpuProfile> sharing;
  std::optional<Mig> mig;
  base::Mark mark;  ///< of the model; the host has its own
};

/// Settings of the GPUs of one host.
struct GpuLayout {
  GpuProfile sharing;
  Mig mig;
  /// UUIDs of the GPUs that pods may get; nothing: all. Not in the cluster file: see playbook::layout_of.
  std::optional<std::vector<std::string>> visible;
  bool operator==(const GpuLayout&) const = default;
};

struct Host {
  std::string name;  ///< unique; the label in every report. Empty node name: the host's own host name
  Role role = Role::control_plane;
  Endpoint endpoint;
  std::map<std::string, std::string> labels;
  GpuOverrides gpu;
  base::Mark mark;
};

struct Kubernetes {
  std::optional<base::Version> version;  ///< nothing: the installed version, the bundle's, or the catalog's
  Source source = Source::packages;
  std::string node_name;
  std::string image_repository;  ///< empty: kubeadm's default for the version
};

struct Network {
  NetworkPlugin plugin = NetworkPlugin::flannel;
  std::string pod_cidr = "10.244.0.0/16";
  std::string service_cidr = "10.96.0.0/12";
  std::string dns_domain = "cluster.local";
};

struct ControlPlane {
  std::string endpoint;           ///< host:port for several control planes; empty: the first host's address
  std::string advertise_address;  ///< empty: the address of the default route
  std::string virtual_address;    ///< virtual IP address of the control planes; empty: none
  Schedulable schedulable = Schedulable::automatic;
};

struct Runtime {
  Engine engine = Engine::containerd;
  Ownership ownership = Ownership::adopt;
  DefaultRuntime default_runtime = DefaultRuntime::automatic;  ///< of containers without a runtime class
};

struct Gpu {
  DriverPolicy driver = DriverPolicy::use;
  int driver_branch = 0;  ///< 580; 0: selected by the GPUs
  Allocator allocator = Allocator::device_plugin;
  GpuStack stack = GpuStack::native;
  DeviceStrategy strategy = DeviceStrategy::runtime_class;
  GpuProfile defaults;
  Mig mig;
  std::map<std::string, GpuOverrides> models;  ///< by the model name of nvidia-smi
};

struct Ssh {
  std::string user;
  std::uint16_t port = 0;
  std::string identity_file;
  SudoPolicy sudo = SudoPolicy::automatic;
  SshClient client = SshClient::automatic;
  HostKeys host_keys = HostKeys::accept_new;
  int window = 64;            ///< hosts processed in parallel
  int connect_timeout = 15;   ///< seconds
  int command_timeout = 600;  ///< seconds, for steps without their own limit
};

/// Mirrors of public sources.
struct Mirrors {
  std::map<std::string, std::string> registries;  ///< "docker.io" -> URL
  std::map<std::string, std::string> packages;    ///< "kubernetes", "nvidiaContainerToolkit", "nvidiaDriver"
  /// Fingerprints of the trusted signing keys, separated by spaces, instead of those in the catalog.
  std::map<std::string, std::string> package_keys;
};

/// HTTP proxy of the hosts.
struct Proxy {
  std::string http, https;            ///< URLs without a login; empty: none
  std::vector<std::string> no_proxy;  ///< in addition to the computed ones
  std::string login_file;             ///< a local file
  base::Secret login;                 ///< "USER:PASSWORD", read from the file; written only to hosts
};

/// Additional settings that are passed through unchanged, as trees.
struct Patches {
  base::Tree kubelet;                ///< KubeletConfiguration
  base::Tree kube_proxy;             ///< KubeProxyConfiguration
  base::Tree cluster_configuration;  ///< kubeadm ClusterConfiguration
  base::Tree runtime;                ///< containerd config.toml or daemon.json
};

struct Security {
  SecurityProfile profile = SecurityProfile::standard;
};

/// A place on hosts that pods share: gpuadm/spec/storage.hpp.
struct Storage {
  std::string name;
  StorageKind kind = StorageKind::path;
  std::string host;              ///< local: the name of the host with the folder
  std::string path;              ///< local, path: the folder on hosts; cephfs: the one in the file system
  std::string server, exported;  ///< nfs
  std::vector<std::string> monitors;  ///< cephfs: host[:port]
  std::string user;                   ///< cephfs: "ml" for client.ml
  std::string key_file;               ///< cephfs: a local file; empty: hosts of the cluster have the key
  base::Secret key;                   ///< read from it; written only to hosts
  std::string options;                ///< of the mount, separated by commas
  bool default_class = false;         ///< local: volumes of claims without a storage class
  base::Mark mark;
};

/// What a user may hold; an empty text: not limited, except GPUs.
struct UserLimits {
  std::string gpus;     ///< "2", "1/4:3" (shares), "1g.10gb:2" (MIG), or several with commas; empty: none
  std::string cpus;     ///< "8"
  std::string memory;   ///< "64Gi"
  std::string storage;  ///< "100Gi", of all PersistentVolumeClaims together
};

/// A user of the cluster: gpuadm/spec/user.hpp.
struct User {
  std::string name;
  std::string ns;  ///< namespace; empty: the name
  UserLimits limits;
  std::string group;        ///< of another authenticator, such as OIDC, with the same rights; empty: none
  std::string server = {};  ///< address of the API server in the kubeconfig; empty: the cluster's
  int days = 90;            ///< how long the certificate is valid
  bool existing_namespace = false;  ///< may use a namespace that gpuadm did not create
  base::Mark mark = {};
  [[nodiscard]] const std::string& name_space() const { return ns.empty() ? name : ns; }
};

/// A served model: gpuadm/workload/serve.hpp. An empty text, or 0: the default of `gpuadm serve create`.
struct Served {
  std::string name;
  std::string ns = "default";  ///< namespace
  std::string model;           ///< "models:/llama-8b", "hf:ORG/NAME@REVISION"
  std::string engine;
  std::string gpus = "0";     ///< "2", "1/4" or "1g.10gb:2"
  int replicas = 1;           ///< pods
  int context = 0;            ///< tokens
  std::string storage, size;  ///< a claim; or with a size, where a new one is made
  std::string cpus, memory, shm;
  std::string image;  ///< another one; without an engine, of any server
  std::uint16_t server_port = 0;
  std::string health;                ///< path
  std::string key_variable;          ///< of the container, for the API key
  std::vector<std::string> command;  ///< of an image without an engine
  std::string hub_token_file;        ///< of this machine, mode 0600
  bool node_port = false;            ///< a port of every node is open
  bool without_key = false;          ///< also if the engine has no API key
  base::Mark mark = {};
};

struct Cluster {
  std::string name = "gpuadm";
  Kubernetes kubernetes;
  Network network;
  ControlPlane control_plane;
  Swap swap = Swap::keep;
  Runtime runtime;
  Gpu gpu;
  Security security;
  Ssh ssh;
  std::string region;  ///< a name of data/regions.yaml; empty: none
  Mirrors mirrors;
  Proxy proxy;
  std::map<std::string, bool> feature_gates;    ///< for kubelet and control plane; linted against the version
  std::vector<std::string> kubelet_extra_args;  ///< "--flag=value", linted
  Patches patches;
  std::vector<Storage> storage;
  std::vector<User> users;
  std::vector<Served> serve;
  std::vector<Host> hosts;
};

/// Parses a cluster file (apiVersion gpuadm/v1alpha1, kind GpuCluster). Reports all problems at once, one per
/// line, each `source:line:column: what (did you mean …?)`: Fault::spec.
[[nodiscard]] Result<Cluster> parse(std::string_view yaml, std::string_view source);

/// The cluster of `gpuadm init` without a file: this machine if `target` is empty, otherwise
/// `[user@]host[:port]` (IPv6 in brackets). Fault::usage for an invalid target.
[[nodiscard]] Result<Cluster> single(std::string_view target);

/// One target as an endpoint.
[[nodiscard]] Result<Endpoint> parse_target(std::string_view target);

/// The settings of a host with these models of GPU, as named by nvidia-smi: the host's own, otherwise those
/// of the first model that has some, otherwise the cluster's.
[[nodiscard]] GpuLayout layout_of(const Cluster& cluster, const Host& host,
                                  const std::vector<std::string>& models);

/// Whether a key of gpu.models matches this GPU: case-insensitive, with or without the vendor's name.
[[nodiscard]] bool is_model(std::string_view key, std::string_view name);

/// Completes the cluster file with the presets of its region. `regions`: data/regions.yaml. Fault::spec for
/// an unknown region, with the nearest name.
[[nodiscard]] Result<> apply_region(const base::Tree& regions, Cluster& cluster);

/// "1g.18gb", "1g.10gb+me", "1g.24gb-me"
[[nodiscard]] bool is_mig_profile(std::string_view text);

/// "1.36" or "1.36.2", with or without a v. Fault::usage for anything else; `option` is its name in the
/// error.
[[nodiscard]] Result<base::Version> parse_kubernetes_version(std::string_view text, std::string_view option);

/// Locations of `extraArgs` in kubeadm's ClusterConfiguration: paths of keys, {"etcd", "local", "extraArgs"}
/// (kubernetes/kubernetes cmd/kubeadm/app/apis/kubeadm/v1beta4/types.go).
[[nodiscard]] const std::vector<std::vector<std::string>>& extra_args_paths();

/// The completed cluster serialized as a cluster file, including patches.
[[nodiscard]] base::Tree to_tree(const Cluster& cluster);

/// Every key with its type, default and meaning, for `gpuadm config explain`.
struct Key {
  std::string path, type, fallback, message;
};
[[nodiscard]] const std::vector<Key>& keys();

}  // namespace spec
