#include "gpuadm/cluster/adopted.hpp"

#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/cluster/status.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/spec/selected.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

namespace cluster {

namespace {

using base::Tree;

/// A value that Go writes for an unset field. Numbers and `true` are always significant.
bool is_unset(const Tree& value) {
  if (value.is_map()) return value.entries().empty();
  if (value.is_list()) return value.items().empty();
  if (const auto truth = value.as_bool()) return !*truth;
  return value.is_null() || value.text().empty() || value.text() == "0s";
}

/// "10.244.0.0/16,fd00::/48" -> the first
std::string first_network(const std::string& networks) {
  return std::string(base::trim(networks.substr(0, networks.find(','))));
}

/// Labels set by the operator: not those of Kubernetes, its cloud or the GPU software.
bool is_own_label(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return true;
  const std::string_view domain = key.substr(0, slash);
  return std::ranges::none_of(
      std::to_array({"kubernetes.io", "k8s.io", "nvidia.com", "gpuadm.io"}), [&](std::string_view theirs) {
        return domain == theirs ||
               (domain.ends_with(theirs) && domain[domain.size() - theirs.size() - 1] == '.');
      });
}

/// Flags that kubeadm sets for the kubelet, or gpuadm for other keys of the file.
bool is_own_flag(std::string_view flag) {
  return std::ranges::none_of(
      std::to_array<std::string_view>({"container-runtime", "container-runtime-endpoint",
                                       "pod-infra-container-image", "hostname-override", "network-plugin",
                                       "resolv-conf", "register-with-taints", "cgroup-driver"}),
      [&](std::string_view known) { return flag == known; });
}

/// The kubelet's flags set by the operator.
std::vector<std::string> own_flags(const facts::Facts& facts) {
  std::vector<std::string> flags;
  for (const std::string_view word : base::words(facts.kubernetes.kubelet_flags))
    if (word.starts_with("--") && is_own_flag(word.substr(2, word.find('=') - 2))) flags.emplace_back(word);
  return flags;
}

std::set<std::string> as_set(const std::vector<std::string>& words) {
  return {words.begin(), words.end()};
}

/// A kubelet's configuration without settings that other keys of the file express or imply.
Tree settings(Tree kubelet) {
  for (const char* key : {"apiVersion", "kind", "clusterDNS", "clusterDomain", "failSwapOn", "memorySwap",
                          "containerRuntimeEndpoint"})
    kubelet.erase(key);
  return kubelet;
}

class Reader {
 public:
  Reader(const Found& found, const Tree& usual) : found_(found), usual_(usual) {
    const auto plane = found.census.find(found.plane);
    if (plane != found.census.end() && plane->second) plane_ = &*plane->second;
    if (found.made) made_ = *found.made;
    configuration_ = made_.cluster_configuration;
  }

  Adopted read() {
    for (const std::string& why : made_.damaged) note("", "could not be read: " + why);
    if (!read_intent()) read_kubeadm();
    cluster().ssh = found_.asked.ssh;
    read_hosts();
    return std::move(adopted_);
  }

 private:
  spec::Cluster& cluster() { return adopted_.cluster; }
  void note(std::string path, std::string message) {
    adopted_.notes.push_back({std::move(path), std::move(message)});
  }
  [[nodiscard]] std::string flag(const std::string& component, const std::string& name) const {
    const auto flags = made_.flags.find(component);
    if (flags == made_.flags.end()) return {};
    const auto value = flags->second.find(name);
    return value == flags->second.end() ? std::string() : value->second;
  }

  /// A cluster file stored by gpuadm is used unchanged.
  bool read_intent() {
    if (made_.intent.empty()) return false;
    auto intent = parse_intent(made_.intent, found_.plane + ":/etc/kubernetes/gpuadm/cluster.yaml");
    if (!intent) {
      note("", "the stored cluster file is damaged and was not used: " + intent.error().what);
      return false;
    }
    cluster() = std::move(*intent);
    if (found_.view)
      if (const auto runs = base::Version::parse(found_.view->version)) cluster().kubernetes.version = runs;
    note("", "Everything except hosts and ssh is from /etc/kubernetes/gpuadm/cluster.yaml.");
    if (cluster().kubernetes.source == spec::Source::bundle)
      note("kubernetes.source", "it was installed from a bundle: specify it with --bundle");
    if (!cluster().users.empty())
      note("users", "as of the last apply; delete users who were removed since, or apply adds them again");
    if (!cluster().serve.empty())
      note("serve",
           "as of the last apply; delete models that were deleted since, or apply serves them again");
    return true;
  }

  void read_kubeadm() {
    if (found_.plane.empty())
      note("", "No control plane was found: this file describes the hosts, with gpuadm's defaults.");
    else if (configuration_.is_null())
      note("",
           "kubeadm's configuration could not be read: the networks are from the static pods' "
           "flags, "
           "and other settings of kubeadm are unknown.");
    read_kubernetes();
    read_network();
    read_control_plane();
    read_runtime();
    read_gpu();
    read_patches();
  }

  void read_kubernetes() {
    spec::Kubernetes& kubernetes = cluster().kubernetes;
    cluster().name = text_at(configuration_, {"clusterName"});
    if (!base::is_dns_name(cluster().name)) cluster().name = "kubernetes";
    for (const std::string& text :
         {text_at(configuration_, {"kubernetesVersion"}), found_.view ? found_.view->version : std::string(),
          plane_ ? plane_->kubernetes.kubelet.value_or("") : std::string()})
      if (!kubernetes.version) kubernetes.version = base::Version::parse(text);
    if (!kubernetes.version) note("kubernetes", "its version is unknown");
    const auto package =
        plane_ ? plane_->software.packages.find("kubeadm") : decltype(plane_->software.packages.begin()){};
    const bool packaged = plane_ && package != plane_->software.packages.end() && package->second.installed;
    if (plane_ && plane_->kubernetes.kubeadm && !packaged) {
      kubernetes.source = spec::Source::installed;
      note("kubernetes.source",
           "kubeadm was not installed by a package: install it on hosts before they join, or use --bundle "
           "DIR");
    }
    const std::string images = text_at(configuration_, {"imageRepository"});
    if (images != "k8s.gcr.io" && images != "registry.k8s.io") kubernetes.image_repository = images;
  }

  void read_network() {
    spec::Network& network = cluster().network;
    std::string pods = text_at(configuration_, {"networking", "podSubnet"});
    if (pods.empty()) pods = flag("kube-controller-manager", "cluster-cidr");
    std::string services = text_at(configuration_, {"networking", "serviceSubnet"});
    if (services.empty()) services = flag("kube-apiserver", "service-cluster-ip-range");
    if (pods.find(',') != std::string::npos || services.find(',') != std::string::npos)
      note("network", fmt::format("dual-stack: pods {}, services {}; a cluster file has one network for each",
                                  base::printable(pods, 80), base::printable(services, 80)));
    if (pods.empty())
      note("network.podCIDR", "not set in the cluster: this is gpuadm's default");
    else
      network.pod_cidr = first_network(pods);
    if (!services.empty()) network.service_cidr = first_network(services);
    if (const std::string domain = text_at(configuration_, {"networking", "dnsDomain"}); !domain.empty())
      network.dns_domain = domain;
    network.plugin = spec::NetworkPlugin::none;
    note("network.plugin", network_there() + ": not installed by gpuadm; none keeps it unchanged");
  }

  /// The pod network, as far as it can be detected.
  [[nodiscard]] std::string network_there() const {
    if (found_.view && found_.view->daemon_sets)
      for (const facts::DaemonSet& set : *found_.view->daemon_sets)
        for (const char* known : {"flannel", "calico", "cilium", "weave", "kube-router", "antrea", "kindnet"})
          if (set.name.find(known) != std::string::npos)
            return fmt::format("the DaemonSet {}/{}", base::printable(set.ns), base::printable(set.name));
    if (plane_ && !plane_->kubernetes.cni_configs.empty())
      return "/etc/cni/net.d/" + base::printable(plane_->kubernetes.cni_configs.front());
    return "no network plugin was found";
  }

  void read_control_plane() {
    spec::ControlPlane& plane = cluster().control_plane;
    plane.endpoint = text_at(configuration_, {"controlPlaneEndpoint"});
    if (!plane.endpoint.empty() && plane.endpoint.find_first_of(":]") == std::string::npos)
      plane.endpoint += ":6443";  // kubeadm's default
    const std::string announced = flag("kube-apiserver", "advertise-address");
    if (plane_ && !announced.empty() && announced != plane_->network.default_address && planes() == 1)
      plane.advertise_address = announced;
    if (!found_.view || !found_.view->nodes) return;
    const bool tainted = std::ranges::any_of(*found_.view->nodes, [](const facts::Node& node) {
      return std::ranges::any_of(node.taints, [](const facts::Taint& taint) {
        return taint.key == "node-role.kubernetes.io/master" ||
               taint.key == "node-role.kubernetes.io/control-plane";
      });
    });
    if (tainted == (found_.view->nodes->size() == 1))
      plane.schedulable = tainted ? spec::Schedulable::no : spec::Schedulable::yes;
  }

  [[nodiscard]] std::size_t planes() const {
    if (!found_.view || !found_.view->nodes) return 1;
    return static_cast<std::size_t>(std::ranges::count_if(
        *found_.view->nodes, [](const facts::Node& node) { return facts::is_control_plane(node); }));
  }

  void read_runtime() {
    std::string runtime;
    if (found_.view && found_.view->nodes && !found_.view->nodes->empty())
      runtime = found_.view->nodes->front().runtime;
    else if (plane_)
      runtime = plane_->kubernetes.kubelet_flags;
    if (runtime.starts_with("docker:") || runtime.find("cri-dockerd.sock") != std::string::npos)
      cluster().runtime.engine = spec::Engine::docker;
    if (runtime.starts_with("cri-o:") || runtime.find("crio.sock") != std::string::npos)
      cluster().runtime.engine = spec::Engine::crio;
    const Tree* config =
        plane_ && plane_->kubernetes.kubelet_config ? &*plane_->kubernetes.kubelet_config : nullptr;
    if (!config) return;
    const Tree* fails = config->find("failSwapOn");
    // The kubelet's default is to refuse swap.
    cluster().swap = !fails || fails->as_bool().value_or(true) ? spec::Swap::off : spec::Swap::keep;
    if (text_at(*config, {"memorySwap", "swapBehavior"}) == "LimitedSwap")
      cluster().swap = spec::Swap::limited;
  }

  void read_gpu() {
    const bool there = std::ranges::any_of(
        found_.census, [](const auto& of) { return of.second && !of.second->nvidia.pci_gpus.empty(); });
    const auto set_like = [&](std::string_view part) -> const facts::DaemonSet* {
      if (!found_.view || !found_.view->daemon_sets) return nullptr;
      const auto set = std::ranges::find_if(
          *found_.view->daemon_sets, [&](const auto& of) { return of.name.find(part) != std::string::npos; });
      return set == found_.view->daemon_sets->end() ? nullptr : &*set;
    };
    const bool by_operator = found_.view && found_.view->policies && !found_.view->policies->empty();
    if (by_operator) {
      cluster().gpu.stack = spec::GpuStack::gpu_operator;
      note("gpu.stack", "NVIDIA's GPU Operator has a ClusterPolicy");
    } else if (const auto* set = set_like("nvidia-device-plugin")) {
      cluster().gpu.allocator = spec::Allocator::none;
      note("gpu.allocator",
           fmt::format("{}/{} advertises the GPUs and is not installed by gpuadm; none keeps it unchanged",
                       base::printable(set->ns), base::printable(set->name)));
    } else if (there) {
      note("gpu.allocator", "no device plugin: apply installs one; none does not");
    }
  }

  void read_patches() {
    const auto part = [&](const char* name) {
      const Tree* tree = usual_.find(name);
      return tree ? *tree : Tree::map();
    };
    spec::Patches& patches = cluster().patches;
    Tree configuration = configuration_;
    for (const char* key :
         {"apiVersion", "kind", "kubernetesVersion", "networking", "controlPlaneEndpoint", "imageRepository"})
      configuration.erase(key);
    if (configuration.is_map())
      patches.cluster_configuration = beyond_usual(configuration, part("clusterConfiguration"));
    Tree proxy = made_.kube_proxy;
    for (const char* key : {"apiVersion", "kind", "clusterCIDR"}) proxy.erase(key);
    if (proxy.is_map()) patches.kube_proxy = beyond_usual(proxy, part("kubeProxy"));
    if (!plane_) return;
    if (plane_->kubernetes.kubelet_config) {
      patches.kubelet = beyond_usual(settings(*plane_->kubernetes.kubelet_config), part("kubelet"));
      note("patches.kubelet", "as on " + found_.plane);
    }
    read_flags();
  }

  void read_flags() {
    for (const std::string_view word : base::words(plane_->kubernetes.kubelet_flags))
      if (word.starts_with("--cgroup-driver="))
        cluster().patches.kubelet["cgroupDriver"] = std::string(word.substr(word.find('=') + 1));
    cluster().kubelet_extra_args = own_flags(*plane_);
    if (!cluster().kubelet_extra_args.empty()) note("kubelet.extraArgs", "as on " + found_.plane);
  }

  void read_hosts() {
    cluster().hosts = found_.asked.hosts;
    for (std::size_t i = 0; i < cluster().hosts.size(); ++i) {
      spec::Host& host = cluster().hosts[i];
      const std::string path = fmt::format("hosts[{}]", i);
      const auto facts = found_.census.find(host.name);
      const bool reached = facts != found_.census.end() && facts->second;
      const facts::Node* node = node_at(host, reached ? &*facts->second : nullptr);
      const bool plane =
          reached ? facts->second->kubernetes.admin_conf : node && facts::is_control_plane(*node);
      host.role = plane ? spec::Role::control_plane : spec::Role::worker;
      if (const auto why = found_.gone.find(host.name); why != found_.gone.end())
        note(path, "unreachable: " + why->second);
      if (!node) {
        if (reached && found_.view && found_.view->nodes)
          note(path, "is not a node of this cluster: apply joins it");
        continue;
      }
      for (const auto& [key, value] : node->labels)
        if (is_own_label(key)) host.labels.emplace(key, value);
      if (reached) compare_kubelets(path, *facts->second);
      name_after(host, *node, i);
    }
    if (std::ranges::none_of(cluster().hosts,
                             [](const auto& of) { return of.role == spec::Role::control_plane; }) &&
        !cluster().hosts.empty())
      cluster().hosts.front().role = spec::Role::control_plane;
  }

  /// A cluster file has one kubelet configuration for all hosts: differences are noted.
  void compare_kubelets(const std::string& path, const facts::Facts& facts) {
    if (!plane_ || &facts == plane_) return;
    const auto& ours = plane_->kubernetes.kubelet_config;
    const auto& theirs = facts.kubernetes.kubelet_config;
    const Tree here = theirs ? settings(*theirs) : Tree::map(), there = ours ? settings(*ours) : Tree::map();
    const std::set<std::string> flags = as_set(own_flags(facts)), plane_flags = as_set(own_flags(*plane_));
    std::set<std::string> other;
    if (ours && theirs)
      for (const Tree& beyond : {beyond_usual(here, there), beyond_usual(there, here)})
        for (const auto& [key, value] : beyond.entries()) other.insert(key);
    std::ranges::set_symmetric_difference(flags, plane_flags, std::inserter(other, other.end()));
    if (other.empty()) return;
    note(path,
         fmt::format("its kubelet differs from {}: {}; the file has one setting for all hosts", found_.plane,
                     base::printable(base::join(std::vector(other.begin(), other.end()), ", "), 400)));
  }

  /// The node's name if it is not in use; the address is the one of the connection.
  void name_after(spec::Host& host, const facts::Node& node, std::size_t index) {
    if (host.name == node.name || !base::is_dns_name(node.name)) return;
    if (host.endpoint.address.empty() && !host.endpoint.local) host.endpoint.address = host.name;
    for (std::size_t i = 0; i < cluster().hosts.size(); ++i)
      if (i != index && cluster().hosts[i].name == node.name) return;
    host.name = node.name;
  }

  [[nodiscard]] const facts::Node* node_at(const spec::Host& host, const facts::Facts* facts) const {
    if (!found_.view || !found_.view->nodes) return nullptr;
    if (facts) return facts::node_of(*found_.view, *facts);
    const auto node = std::ranges::find(*found_.view->nodes, host.name, &facts::Node::name);
    return node == found_.view->nodes->end() ? nullptr : &*node;
  }

  const Found& found_;
  const Tree& usual_;
  const facts::Facts* plane_ = nullptr;  ///< of the control-plane node that was queried
  facts::Made made_;
  Tree configuration_;
  Adopted adopted_;
};

}  // namespace

Tree beyond_usual(const Tree& found, const Tree& usual) {
  Tree beyond = Tree::map();
  for (const auto& [key, value] : found.entries()) {
    const Tree* known = usual.find(key);
    // `false` in place of the usual `true` was set explicitly.
    if (is_unset(value) && !(known && value.as_bool())) continue;
    if (value.is_map()) {
      Tree inner = beyond_usual(value, known && known->is_map() ? *known : Tree::map());
      if (!inner.entries().empty()) beyond.set(key, std::move(inner));
      continue;
    }
    const bool one_of = known && known->is_list() && value.is_scalar() &&
                        std::ranges::find(known->items(), value) != known->items().end();
    if (!one_of && !(known && *known == value)) beyond.set(key, value);
  }
  return beyond;
}

std::vector<spec::Host> other_nodes(const Found& found) {
  std::vector<spec::Host> others;
  if (!found.view || !found.view->nodes || found.asked.hosts.empty()) return others;
  std::set<std::string> known;
  for (const auto& [host, facts] : found.census)
    if (const facts::Node* node = facts ? facts::node_of(*found.view, *facts) : nullptr)
      known.insert(node->name);
  for (const spec::Host& host : found.asked.hosts) known.insert({host.name, host.endpoint.address});
  for (const facts::Node& node : *found.view->nodes) {
    if (known.contains(node.name) || known.contains(node.address) || !base::is_dns_name(node.name) ||
        node.address.empty())
      continue;
    const auto address = spec::parse_target(
        node.address.find(':') == std::string::npos ? node.address : "[" + node.address + "]");
    if (!address) continue;
    spec::Host host;
    host.name = node.name;
    host.endpoint = found.asked.hosts.front().endpoint;
    host.endpoint.local = false;
    host.endpoint.host_key.clear();
    host.endpoint.address = address->address;
    others.push_back(std::move(host));
  }
  return others;
}

Adopted read_back(const Found& found, const Tree& usual) {
  return Reader(found, usual).read();
}

Result<spec::Cluster> parse_intent(std::string_view text, const std::string& source) {
  Tree tree = TRY(base::yaml::read(text, source));
  Tree placeholder = Tree::list();
  placeholder.push(Tree::map_of({{"name", "placeholder"}, {"local", true}}));
  tree.set("hosts", std::move(placeholder));
  return spec::parse_selected(base::yaml::write(tree), source);
}

}  // namespace cluster
