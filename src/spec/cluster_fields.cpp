#include "spec/cluster_fields.hpp"

#include "gpuadm/spec/engines.hpp"
#include "gpuadm/spec/network_plugins.hpp"

#include "spec/environment.hpp"
#include "spec/formats.hpp"
#include "spec/hosts.hpp"
#include "spec/listed/served_fields.hpp"
#include "spec/listed/storage_fields.hpp"
#include "spec/listed/user_fields.hpp"

#include <algorithm>
#include <cctype>

namespace spec {

namespace {

/// "Pod network: flannel; bridge: the bridge plugins (nodes in one network segment)."
std::string plugins_help() {
  std::vector<std::string> parts;
  for (const NetworkPluginRow& row : network_plugins)
    parts.push_back(fmt::format("{}{}{}", row.name, row.message.empty() ? "" : ": ", row.message));
  return "Pod network: " + base::join(parts, "; ") + ".";
}

/// A key with one possible value, the type of the file.
Field<Cluster> constant(std::string path, const std::string& value, Meaning meaning) {
  const auto read = [=](const Tree& tree, Cluster&, Problems& problems) {
    if (tree.text() != value)
      add_unexpected(problems, tree, path, value, base::nearest(tree.text(), std::vector{value}));
  };
  return {path,
          value,
          std::move(meaning),
          read,
          [=](const Cluster&) { return Tree(value); },
          Tree::map_of({{"const", value}})};
}

/// "--flag" or "--flag=value", as accepted by the kubelet.
bool is_flag(const std::string& text) {
  return text.starts_with("--") && text.size() > 2 && std::islower(static_cast<unsigned char>(text[2]));
}

bool is_gate(const std::string& text) {
  return !text.empty() && std::isupper(static_cast<unsigned char>(text.front())) &&
         std::ranges::all_of(text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)); });
}

/// host[:port][/path], without a scheme: the registry of an image.
bool is_registry(const std::string& text) {
  return !text.empty() && text.find("://") == std::string::npos && !text.ends_with('/') &&
         std::ranges::all_of(text, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) ||
                  std::string_view("-_.:/[]").find(c) != std::string_view::npos;
         });
}

}  // namespace

const std::vector<Field<Cluster>>& cluster_fields() {
  using C = Cluster;
  static const std::vector<Field<C>> fields = {
      constant("apiVersion", std::string(current_format), {"Format of this file; required."}),
      constant("kind", "GpuCluster", {"Kind of this file; required."}),
      field<C>("name", dns_name(), {"Name of the cluster, for its run directory and kubeconfig."}, &C::name),

      field<C>("kubernetes.version", kubernetes_version(),
               {"Kubernetes to install; a minor version selects its newest patch release in the hosts' "
                "package repository.",
                "the installed version, else the bundle's, else the newest minor that gpuadm knows"},
               &C::kubernetes, &Kubernetes::version),
      field<C>(
          "kubernetes.source",
          choice<Source>(
              {{"packages", Source::packages}, {"installed", Source::installed}, {"bundle", Source::bundle}}),
          {"Source of Kubernetes: the community package repositories, the host's installation, or --bundle."},
          &C::kubernetes, &Kubernetes::source),
      field<C>("kubernetes.nodeName", dns_name(),
               {"Node name of the first control-plane node.", "host name of the host"}, &C::kubernetes,
               &Kubernetes::node_name),
      field<C>("kubernetes.imageRepository",
               text_where("registry such as registry.k8s.io", is_registry,
                          R"(^(?!.*://)[-A-Za-z0-9_.:/\[\]]*[-A-Za-z0-9_.:\[\]]$)"),
               {"Registry for the control plane's images.", "kubeadm's default"}, &C::kubernetes,
               &Kubernetes::image_repository),

      field<C>("network.plugin", choice_of(network_plugins, &NetworkPluginRow::plugin), {plugins_help()},
               &C::network, &Network::plugin),
      field<C>("network.podCIDR", network(), {"Network of the pods."}, &C::network, &Network::pod_cidr),
      field<C>("network.serviceCIDR", network(), {"Network of the services."}, &C::network,
               &Network::service_cidr),
      field<C>("network.dnsDomain", dns_name(), {"DNS domain of the cluster."}, &C::network,
               &Network::dns_domain),

      field<C>("controlPlane.endpoint", host_and_port(),
               {"Address of the API server for nodes and clients; with several control-plane nodes, a load "
                "balancer.",
                "address of the first control-plane node"},
               &C::control_plane, &ControlPlane::endpoint),
      field<C>("controlPlane.advertiseAddress", ip_address(),
               {"Address that the API server advertises.", "address of the default route's interface"},
               &C::control_plane, &ControlPlane::advertise_address),
      field<C>("controlPlane.virtualAddress", ip_address(),
               {"Virtual IP address of the API servers, managed by kube-vip; endpoint defaults to it with "
                "port 6443.",
                "none"},
               &C::control_plane, &ControlPlane::virtual_address),
      field<C>("controlPlane.schedulable",
               choice<Schedulable>(
                   {{"auto", Schedulable::automatic}, {"yes", Schedulable::yes}, {"no", Schedulable::no}}),
               {"Whether control-plane nodes run pods; auto: only in a cluster of one node."},
               &C::control_plane, &ControlPlane::schedulable),

      field<C>("security.profile",
               choice<SecurityProfile>(
                   {{"standard", SecurityProfile::standard}, {"hardened", SecurityProfile::hardened}}),
               {"standard: kubeadm's defaults; hardened: also what the CIS benchmark requires, for new "
                "clusters."},
               &C::security, &Security::profile),
      field<C>(
          "swap", choice<Swap>({{"keep", Swap::keep}, {"limited", Swap::limited}, {"off", Swap::off}}),
          {"keep: swap stays enabled and pods do not use it; limited: pods may use it (LimitedSwap); off."},
          &C::swap),
      field<C>("runtime.engine", choice_of(engines, &EngineRow::engine),
               {"Container runtime; docker requires Kubernetes 1.23 or older, or "
                "cri-dockerd on the host."},
               &C::runtime, &Runtime::engine),
      field<C>(
          "runtime.ownership",
          choice<Ownership>({{"adopt", Ownership::adopt}, {"install", Ownership::install}}),
          {"adopt: use the installed runtime, install one only if none is there; install: always install."},
          &C::runtime, &Runtime::ownership),
      field<C>("runtime.defaultRuntime",
               choice<DefaultRuntime>({{"auto", DefaultRuntime::automatic},
                                       {"runc", DefaultRuntime::runc},
                                       {"nvidia", DefaultRuntime::nvidia}}),
               {"Default runtime of containers; auto: nvidia if pods cannot select one "
                "(Kubernetes before 1.14, or Docker), otherwise unchanged."},
               &C::runtime, &Runtime::default_runtime),

      field<C>("gpu.driver",
               choice<DriverPolicy>({{"use", DriverPolicy::use}, {"install", DriverPolicy::install}}),
               {"use: the NVIDIA driver on the host; install: install one."}, &C::gpu, &Gpu::driver),
      field<C>("gpu.driverBranch", whole_number(100, 9999),
               {"Branch of the driver to install, for example 580.",
                "longest supported one for all GPUs of the host"},
               &C::gpu, &Gpu::driver_branch),
      field<C>("gpu.allocator",
               choice<Allocator>({{"devicePlugin", Allocator::device_plugin},
                                  {"dra", Allocator::dra},
                                  {"none", Allocator::none}}),
               {"How pods request GPUs: device plugin, dynamic resource allocation, or none."}, &C::gpu,
               &Gpu::allocator),
      field<C>("gpu.stack",
               choice<GpuStack>({{"native", GpuStack::native}, {"operator", GpuStack::gpu_operator}}),
               {"gpuadm's own manifests, or NVIDIA's GPU Operator, which you install "
                "with values written by gpuadm."},
               &C::gpu, &Gpu::stack),
      field<C>("gpu.strategy",
               choice<DeviceStrategy>(
                   {{"runtimeClass", DeviceStrategy::runtime_class}, {"cdi", DeviceStrategy::cdi}}),
               {"How GPUs get into containers: RuntimeClass nvidia, or CDI without a RuntimeClass."}, &C::gpu,
               &Gpu::strategy),
      field<C>("gpu.mig", mig(), {"MIG instances of each GPU; default for all hosts."}, &C::gpu, &Gpu::mig),
      field<C>("gpu.models", gpu_models(),
               {"Sharing and MIG by model name in nvidia-smi; settings of a host take precedence."}, &C::gpu,
               &Gpu::models),
      field<C>("gpu.sharing", sharing(), {"How pods share a GPU; default for all hosts."}, &C::gpu,
               &Gpu::defaults),

      field<C>("ssh.user", user_name(), {"Login user.", "from OpenSSH's configuration"}, &C::ssh, &Ssh::user),
      field<C>("ssh.port", port(), {"SSH port.", "from OpenSSH's configuration"}, &C::ssh, &Ssh::port),
      field<C>("ssh.identityFile", text("path"),
               {"Private key for the login.", "keys of the agent, then from OpenSSH's configuration"},
               &C::ssh, &Ssh::identity_file),
      field<C>("ssh.sudo",
               choice<SudoPolicy>({{"auto", SudoPolicy::automatic},
                                   {"never", SudoPolicy::never},
                                   {"password", SudoPolicy::password}}),
               {"How to become root; auto: root login, or sudo; prompts if it requires a password."}, &C::ssh,
               &Ssh::sudo),
      field<C>("ssh.client",
               choice<SshClient>({{"auto", SshClient::automatic},
                                  {"libssh2", SshClient::libssh2},
                                  {"openssh", SshClient::openssh}}),
               {"SSH client: built-in (libssh2) or the system's; auto: the built-in one if it can log in."},
               &C::ssh, &Ssh::client),
      field<C>("ssh.hostKeys",
               choice<HostKeys>({{"acceptNew", HostKeys::accept_new},
                                 {"strict", HostKeys::strict},
                                 {"pinned", HostKeys::pinned}}),
               {"Host keys to accept: new ones, shown and stored; only known ones; those of hosts[].hostKey "
                "only."},
               &C::ssh, &Ssh::host_keys),
      field<C>("ssh.window", whole_number(1, 1024), {"Number of hosts processed in parallel."}, &C::ssh,
               &Ssh::window),
      field<C>("ssh.connectTimeout", whole_number(1),
               {"Time limit for connecting and logging in, in seconds."}, &C::ssh, &Ssh::connect_timeout),
      field<C>("ssh.commandTimeout", whole_number(1),
               {"Time limit for a command without its own limit, in seconds."}, &C::ssh,
               &Ssh::command_timeout),

      field<C>("region", text_where("word such as cn", is_region, "^[-a-z]+$"),
               {"Presets from data/regions.yaml for mirrors and imageRepository that are not set "
                "otherwise."},
               &C::region),
      field<C>("mirrors.registries", map_of("registry", is_registry_host, url(is_url)), {"Registry mirrors."},
               &C::mirrors, &Mirrors::registries),
      field<C>("mirrors.packages", map_of("package repository", is_package_repository, url(is_url)),
               {"Mirrors of kubernetes (URL up to /v1.34/), nvidiaContainerToolkit, nvidiaDriver."},
               &C::mirrors, &Mirrors::packages),
      field<C>("mirrors.packageKeys",
               map_of("package repository", is_package_repository,
                      text_where("fingerprints of 40 hexadecimal digits, separated by blanks",
                                 is_fingerprints, R"(^ *[0-9A-Fa-f]{40}( +[0-9A-Fa-f]{40})* *$)")),
               {"Fingerprints of the signing keys of mirrors.packages, if they differ from those of "
                "the "
                "public repositories.",
                "those of playbooks/catalog.yaml"},
               &C::mirrors, &Mirrors::package_keys),
      field<C>("proxy.http", url(is_proxy_url), {"HTTP proxy of the hosts for http URLs."}, &C::proxy,
               &Proxy::http),
      field<C>("proxy.https", url(is_proxy_url), {"HTTP proxy of the hosts for https URLs.", "proxy.http"},
               &C::proxy, &Proxy::https),
      field<C>(
          "proxy.noProxy",
          list_of("host names, domains and networks", text_where("host, domain or network", lacks_proxy)),
          {"Destinations without the proxy, in addition to nodes, pods and services."}, &C::proxy,
          &Proxy::no_proxy),
      field<C>("proxy.loginFile", text("path"), {"Local file with USER:PASSWORD for the proxy, mode 0600."},
               &C::proxy, &Proxy::login_file),
      field<C>("featureGates", map_of("feature gate", is_gate, truth()),
               {"Feature gates of the kubelet and the control plane; unknown ones "
                "are rejected."},
               &C::feature_gates),
      field<C>("kubelet.extraArgs",
               list_of("flags", text_where("flag such as --max-pods=200", is_flag, "^--[a-z]")),
               {"Flags of the kubelet; unknown ones are rejected."}, &C::kubelet_extra_args),
      field<C>("patches.kubelet", settings(), {"Merged into KubeletConfiguration."}, &C::patches,
               &Patches::kubelet),
      field<C>("patches.kubeProxy", settings(), {"Merged into KubeProxyConfiguration."}, &C::patches,
               &Patches::kube_proxy),
      field<C>("patches.clusterConfiguration", settings(), {"Merged into kubeadm's ClusterConfiguration."},
               &C::patches, &Patches::cluster_configuration),
      field<C>("patches.runtime", settings(),
               {"Merged into containerd's config.toml or Docker's daemon.json."}, &C::patches,
               &Patches::runtime),

      field<C>("storage", storages(), {"Places on hosts that pods share; gpuadm storage add writes them."},
               &C::storage),
      field<C>("users", users(),
               {"Users with a namespace, quotas and a kubeconfig, as gpuadm user add makes them; apply adds "
                "and changes them, and removes none."},
               &C::users),
      field<C>(
          "serve", served_models(),
          {"Served models, as gpuadm serve create makes them; apply creates and updates them, and deletes "
           "none."},
          &C::serve),
      field<C>("hosts", hosts(), {"Hosts; at least one, required."}, &C::hosts),
  };
  return fields;
}

}  // namespace spec
