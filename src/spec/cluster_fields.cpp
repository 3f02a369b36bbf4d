#include "spec/cluster_fields.hpp"

#include "spec/formats.hpp"
#include "spec/hosts.hpp"
#include "spec/surroundings.hpp"

#include <algorithm>
#include <cctype>

namespace spec {

namespace {

/// A key with one possible value, which says what the file is.
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

/// "--flag" or "--flag=value", as the kubelet takes them.
bool is_flag(const std::string& text) {
  return text.starts_with("--") && text.size() > 2 && std::islower(static_cast<unsigned char>(text[2]));
}

bool is_gate(const std::string& text) {
  return !text.empty() && std::isupper(static_cast<unsigned char>(text.front())) &&
         std::ranges::all_of(text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)); });
}

/// host[:port][/path], without a scheme: how images name their registry.
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
      constant("apiVersion", std::string(current_format), {"The format of this file; required."}),
      constant("kind", "GpuCluster", {"What this file is; required."}),
      field<C>("name", dns_name(), {"The cluster's name, for its run folder and its kubeconfig."}, &C::name),

      field<C>(
          "kubernetes.version", kubernetes_version(),
          {"Kubernetes to install; a minor version means the newest patch that the hosts' package repository "
           "offers.",
           "what is installed, else what the bundle holds, else the newest minor known here"},
          &C::kubernetes, &Kubernetes::version),
      field<C>(
          "kubernetes.source",
          choice<Source>(
              {{"packages", Source::packages}, {"installed", Source::installed}, {"bundle", Source::bundle}}),
          {"Where Kubernetes comes from: the community package repositories, what is on the host, --bundle."},
          &C::kubernetes, &Kubernetes::source),
      field<C>("kubernetes.nodeName", dns_name(),
               {"Name of the first control plane's node.", "the host's own host name"}, &C::kubernetes,
               &Kubernetes::node_name),
      field<C>("kubernetes.imageRepository", text_where("registry such as registry.k8s.io", is_registry),
               {"Registry of the control plane's images.", "kubeadm's own"}, &C::kubernetes,
               &Kubernetes::image_repository),

      field<C>("network.plugin",
               choice<NetworkPlugin>({{"flannel", NetworkPlugin::flannel},
                                      {"bridge", NetworkPlugin::bridge},
                                      {"none", NetworkPlugin::none}}),
               {"What connects pods: flannel; the bridge plugins on the host (one node); none: you bring "
                "your own."},
               &C::network, &Network::plugin),
      field<C>("network.podCIDR", network(), {"Addresses of pods."}, &C::network, &Network::pod_cidr),
      field<C>("network.serviceCIDR", network(), {"Addresses of services."}, &C::network,
               &Network::service_cidr),
      field<C>("network.dnsDomain", dns_name(), {"Domain of services."}, &C::network, &Network::dns_domain),

      field<C>("controlPlane.endpoint", host_and_port(),
               {"What nodes and clients connect to; a load balancer where there are several control planes.",
                "the first control plane's address"},
               &C::control_plane, &ControlPlane::endpoint),
      field<C>("controlPlane.advertiseAddress", ip_address(),
               {"Address that the API server announces.", "the address of the default route"},
               &C::control_plane, &ControlPlane::advertise_address),
      field<C>("controlPlane.virtualAddress", ip_address(),
               {"Address that moves between the control planes, by kube-vip on each; endpoint is this with "
                "port 6443, where it is "
                "not said.",
                "none"},
               &C::control_plane, &ControlPlane::virtual_address),
      field<C>("controlPlane.schedulable",
               choice<Schedulable>(
                   {{"auto", Schedulable::automatic}, {"yes", Schedulable::yes}, {"no", Schedulable::no}}),
               {"Whether control planes run pods; auto: where the cluster is one node."}, &C::control_plane,
               &ControlPlane::schedulable),

      field<C>(
          "security.profile",
          choice<SecurityProfile>(
              {{"standard", SecurityProfile::standard}, {"hardened", SecurityProfile::hardened}}),
          {"standard: as kubeadm makes it; hardened: what the CIS benchmark asks for beyond that, for new "
           "clusters."},
          &C::security, &Security::profile),
      field<C>(
          "swap", choice<Swap>({{"keep", Swap::keep}, {"limited", Swap::limited}, {"off", Swap::off}}),
          {"keep: the host keeps its swap and pods use none; limited: pods may use it (LimitedSwap); off."},
          &C::swap),
      field<C>("runtime.engine",
               choice<Engine>(
                   {{"containerd", Engine::containerd}, {"docker", Engine::docker}, {"crio", Engine::crio}}),
               {"The container runtime; docker needs Kubernetes 1.23 or older."}, &C::runtime,
               &Runtime::engine),
      field<C>("runtime.ownership",
               choice<Ownership>({{"adopt", Ownership::adopt}, {"install", Ownership::install}}),
               {"adopt: a healthy runtime stays, one that is missing is installed; install: always."},
               &C::runtime, &Runtime::ownership),
      field<C>("runtime.defaultRuntime",
               choice<DefaultRuntime>({{"auto", DefaultRuntime::automatic},
                                       {"runc", DefaultRuntime::runc},
                                       {"nvidia", DefaultRuntime::nvidia}}),
               {"What containers run on that name no runtime; auto: nvidia where pods cannot name one "
                "(Kubernetes before 1.14, or Docker), else as it is."},
               &C::runtime, &Runtime::default_runtime),

      field<C>("gpu.driver",
               choice<DriverPolicy>({{"use", DriverPolicy::use}, {"install", DriverPolicy::install}}),
               {"use: the NVIDIA driver on the host; install: bring one."}, &C::gpu, &Gpu::driver),
      field<C>("gpu.driverBranch", whole_number(100, 9999),
               {"Branch of the driver to install, for example 580.",
                "the newest that serves every GPU of the host"},
               &C::gpu, &Gpu::driver_branch),
      field<C>("gpu.allocator",
               choice<Allocator>({{"devicePlugin", Allocator::device_plugin},
                                  {"dra", Allocator::dra},
                                  {"none", Allocator::none}}),
               {"How pods ask for GPUs: the device plugin, dynamic resource allocation, not at all."},
               &C::gpu, &Gpu::allocator),
      field<C>(
          "gpu.stack", choice<GpuStack>({{"native", GpuStack::native}, {"operator", GpuStack::gpu_operator}}),
          {"Who serves GPUs to pods: gpuadm's own manifests, or NVIDIA's GPU Operator, which you install "
           "and gpuadm writes values for."},
          &C::gpu, &Gpu::stack),
      field<C>("gpu.strategy",
               choice<DeviceStrategy>(
                   {{"runtimeClass", DeviceStrategy::runtime_class}, {"cdi", DeviceStrategy::cdi}}),
               {"How GPUs get into containers: pods name the RuntimeClass nvidia; or by CDI, without one."},
               &C::gpu, &Gpu::strategy),
      field<C>("gpu.mig", mig(),
               {"How each GPU is divided into MIG instances, on hosts that say nothing else."}, &C::gpu,
               &Gpu::mig),
      field<C>("gpu.models", gpu_models(),
               {"Sharing and MIG by model, as nvidia-smi names it; a host's own word goes before."}, &C::gpu,
               &Gpu::models),
      field<C>("gpu.sharing", sharing(), {"How pods share a GPU, on hosts that say nothing else."}, &C::gpu,
               &Gpu::defaults),

      field<C>("ssh.user", user_name(), {"Who logs in.", "as OpenSSH's configuration says"}, &C::ssh,
               &Ssh::user),
      field<C>("ssh.port", port(), {"Port of the SSH servers.", "as OpenSSH's configuration says"}, &C::ssh,
               &Ssh::port),
      field<C>("ssh.identityFile", text("path"),
               {"The private key to log in with.", "the agent's, then as OpenSSH's configuration says"},
               &C::ssh, &Ssh::identity_file),
      field<C>("ssh.sudo",
               choice<SudoPolicy>({{"auto", SudoPolicy::automatic},
                                   {"never", SudoPolicy::never},
                                   {"password", SudoPolicy::password}}),
               {"How to become root; auto: root as it is, sudo without a password, else ask for one."},
               &C::ssh, &Ssh::sudo),
      field<C>("ssh.client",
               choice<SshClient>({{"auto", SshClient::automatic},
                                  {"libssh2", SshClient::libssh2},
                                  {"openssh", SshClient::openssh}}),
               {"The built-in client or the system's; auto: the built-in one where it can log in."}, &C::ssh,
               &Ssh::client),
      field<C>("ssh.hostKeys",
               choice<HostKeys>({{"acceptNew", HostKeys::accept_new},
                                 {"strict", HostKeys::strict},
                                 {"pinned", HostKeys::pinned}}),
               {"Host keys to accept: new ones, shown and stored; known ones only; those of hosts[].hostKey "
                "only."},
               &C::ssh, &Ssh::host_keys),
      field<C>("ssh.window", whole_number(1, 1024), {"Hosts at work at once."}, &C::ssh, &Ssh::window),
      field<C>("ssh.connectTimeout", whole_number(1), {"Seconds for connecting and logging in."}, &C::ssh,
               &Ssh::connect_timeout),
      field<C>("ssh.commandTimeout", whole_number(1),
               {"Seconds for a command, where a step says nothing else."}, &C::ssh, &Ssh::command_timeout),

      field<C>("region", text_where("word such as cn", is_region),
               {"Presets for hosts there, from data/regions.yaml: mirrors and imageRepository that are said "
                "nowhere "
                "else."},
               &C::region),
      field<C>("mirrors.registries", map_of("registry", is_registry_host, url(is_url)),
               {"Registries and where their images are pulled from instead."}, &C::mirrors,
               &Mirrors::registries),
      field<C>("mirrors.packages", map_of("package repository", is_package_repository, url(is_url)),
               {"Mirrors of kubernetes (what stands before /v1.34/), nvidiaContainerToolkit, nvidiaDriver."},
               &C::mirrors, &Mirrors::packages),
      field<C>(
          "mirrors.packageKeys",
          map_of("package repository", is_package_repository,
                 text_where("fingerprints of 40 hexadecimal digits, separated by blanks", is_fingerprints)),
          {"Fingerprints of the keys that sign the mirrors of mirrors.packages, where they are not those of "
           "the "
           "public repositories.",
           "those of playbooks/catalog.yaml"},
          &C::mirrors, &Mirrors::package_keys),
      field<C>("proxy.http", url(is_proxy_url), {"Proxy of the hosts for http, as they reach it."}, &C::proxy,
               &Proxy::http),
      field<C>("proxy.https", url(is_proxy_url), {"Proxy of the hosts for https.", "proxy.http"}, &C::proxy,
               &Proxy::https),
      field<C>(
          "proxy.noProxy",
          list_of("host names, domains and networks", text_where("host, domain or network", is_no_proxy)),
          {"What is reached without it, beside nodes, pods and services."}, &C::proxy, &Proxy::no_proxy),
      field<C>("proxy.loginFile", text("path"),
               {"A file here that only you can read, with USER:PASSWORD for the proxy."}, &C::proxy,
               &Proxy::login_file),
      field<C>("featureGates", map_of("feature gate", is_gate, truth()),
               {"Feature gates of the kubelet and the control plane; those that the version does not know "
                "are refused."},
               &C::feature_gates),
      field<C>("kubelet.extraArgs", list_of("flags", text_where("flag such as --max-pods=200", is_flag)),
               {"Flags of the kubelet; those that the version does not know are refused."},
               &C::kubelet_extra_args),
      field<C>("patches.kubelet", settings(), {"Laid over KubeletConfiguration."}, &C::patches,
               &Patches::kubelet),
      field<C>("patches.kubeProxy", settings(), {"Laid over KubeProxyConfiguration."}, &C::patches,
               &Patches::kube_proxy),
      field<C>("patches.clusterConfiguration", settings(), {"Laid over kubeadm's ClusterConfiguration."},
               &C::patches, &Patches::cluster_configuration),
      field<C>("patches.runtime", settings(), {"Laid over containerd's config.toml or Docker's daemon.json."},
               &C::patches, &Patches::runtime),

      field<C>("hosts", hosts(), {"The machines; at least one, required."}, &C::hosts),
  };
  return fields;
}

}  // namespace spec
