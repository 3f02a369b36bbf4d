#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/base/yaml.hpp"

#include "facts/kubernetes/etcd.hpp"
#include "facts/kubernetes/hardening.hpp"
#include "facts/read.hpp"
#include "facts/text/words.hpp"
#include "facts/tree/tree.hpp"

#include <fmt/format.h>

#include <cstring>

namespace facts {

namespace {

std::vector<std::string> names_in(const Sections& sections, std::initializer_list<std::string_view> folders) {
  std::vector<std::string> names;
  for (const std::string_view folder : folders)
    for (const std::string_view line : sections.lines(folder)) names.emplace_back(line);
  return names;
}

/// "    server: https://192.0.2.1:6443"
std::string server_of(const Sections& sections, std::string_view name) {
  for (const std::string_view line : sections.lines(name))
    if (const auto words = base::words(line); words.size() == 2 && words[0] == "server:")
      return std::string(words[1]);
  return {};
}

/// "current-context: system:node:one@kubernetes", as written by kubeadm: the user before the last @, the
/// cluster after it. The context of a TLS bootstrap has neither.
void read_context(const Sections& sections, std::string_view name, Kubernetes& kubernetes) {
  for (const std::string_view line : sections.lines(name)) {
    const auto words = base::words(line);
    if (words.size() != 2 || words[0] != "current-context:") continue;
    const std::string_view context = words[1];
    const std::size_t at = context.rfind('@');
    if (at == std::string_view::npos) continue;
    kubernetes.cluster_name = std::string(context.substr(at + 1));
    if (constexpr std::string_view user = "system:node:"; context.starts_with(user))
      kubernetes.node_name = std::string(context.substr(user.size(), at - user.size()));
  }
}

/// Line ends are not part of a certificate.
std::string ca_sha256(const Sections& sections) {
  std::string text;
  for (const std::string_view line : sections.lines("/etc/kubernetes/pki/ca.crt")) text += base::trim(line);
  return text.empty() ? text : base::sha256(text);
}

std::optional<std::string> version_of(const Sections& sections, std::string_view name) {
  const Section* section = sections.find(name);
  if (!section || section->status.value_or(1) != 0) return std::nullopt;
  return version_in(section->first());
}

std::optional<std::string> kubectl_version(const Sections& sections) {
  const auto text = sections.text("kubectl");
  const auto json = text ? base::json::read(*text, "kubectl version") : base::fail(base::Fault::parse, "");
  const base::Tree* version = json ? json->at({"clientVersion", "gitVersion"}) : nullptr;
  return version ? known(version->text()) : std::nullopt;
}

/// One image reference per line. A truncated list, or one with an error, is not used.
std::vector<std::string> images_of(const Sections& sections) {
  const Section* section = sections.find("kubeadm-images");
  std::vector<std::string> images;
  if (!section || section->status.value_or(1) != 0) return images;
  for (const std::string_view line : sections.lines("kubeadm-images"))
    if (line.find_first_of(" \t\"'") == std::string_view::npos && line.rfind(':') != std::string_view::npos)
      images.emplace_back(line);
  return images;
}

void read_kubelet(const Sections& sections, Kubernetes& kubernetes) {
  if (const auto text = sections.text("/var/lib/kubelet/config.yaml")) {
    auto config = base::yaml::read(*text, "/var/lib/kubelet/config.yaml", base::yaml::Dialect::kubernetes);
    if (config)
      kubernetes.kubelet_config = std::move(*config);
    else
      kubernetes.kubelet_config_error = config.error().what;
  }
  for (const std::string_view file :
       {"/var/lib/kubelet/kubeadm-flags.env", "/etc/default/kubelet", "/etc/sysconfig/kubelet"}) {
    const auto text = sections.text(file);
    if (!text) continue;
    auto values = assignments(*text);
    for (const char* name : {"KUBELET_KUBEADM_ARGS", "KUBELET_EXTRA_ARGS"}) {
      if (values[name].empty()) continue;
      if (!kubernetes.kubelet_flags.empty()) kubernetes.kubelet_flags += ' ';
      kubernetes.kubelet_flags += values[name];
    }
  }
}

/// {"policyName":"static",…}; the line may be truncated.
std::optional<std::string> policy_in(const Sections& sections, std::string_view name) {
  const std::string text = sections.first(name).value_or("");
  constexpr std::string_view key = "\"policyName\":\"";
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = at + key.size();
  return text.substr(begin, text.find('"', begin) - begin);
}

/// "36 35 98:0 / /var/lib rw,noatime shared:1 - ext4 …": the longest mount point is used.
std::optional<bool> shared_mount(const Sections& sections) {
  std::optional<bool> shared;
  std::size_t longest = 0;
  for (const std::string_view line : sections.lines("/proc/self/mountinfo")) {
    const auto words = base::words(line);
    if (words.size() < 7 || words[4].size() < longest) continue;
    longest = words[4].size();
    shared = line.find(" shared:") < line.find(" - ");
  }
  return shared;
}

/// "Nov 20 10:00:00 2027 GMT", as openssl writes it; more may follow.
std::optional<double> date_in(std::string_view text) {
  static constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const auto words = base::words(text);
  if (words.size() < 4) return std::nullopt;
  const auto month = months.find(words[0]);
  const auto day = base::to_int(words[1]), year = base::to_int(words[3]);
  if (words[0].size() != 3 || month == std::string_view::npos || month % 3 != 0 || !day || !year)
    return std::nullopt;
  return base::parse_time(fmt::format("{:04}-{:02}-{:02}T{}Z", *year, month / 3 + 1, *day, words[2]));
}

/// "kube-scheduler 0 ok"
void read_components(const Sections& sections, Kubernetes& kubernetes) {
  if (!sections.find("control-plane")) return;
  auto& components = kubernetes.components.emplace();
  for (const std::string_view line : sections.lines("control-plane")) {
    const auto words = base::words(line);
    const auto status = words.size() > 1 ? base::to_int(words[1]) : std::nullopt;
    if (!status) continue;
    const std::size_t rest = line.find(words[1], words[0].size()) + words[1].size();
    components.push_back(
        {std::string(words[0]), static_cast<int>(*status), std::string(base::trim(line.substr(rest)))});
  }
}

void read_state(const Sections& sections, Kubernetes& kubernetes) {
  kubernetes.cpu_state = policy_in(sections, "/var/lib/kubelet/cpu_manager_state");
  kubernetes.memory_state = policy_in(sections, "/var/lib/kubelet/memory_manager_state");
  kubernetes.shared_mount = shared_mount(sections);
  if (sections.find("/var/lib/kubelet/device-plugins/"))
    kubernetes.device_plugins = names_in(sections, {"/var/lib/kubelet/device-plugins/"});
  read_components(sections, kubernetes);
  for (const std::string_view line : sections.lines("kubelet-log")) kubernetes.kubelet_log.emplace_back(line);
  if (!sections.find("certificates")) return;
  auto& certificates = kubernetes.certificates.emplace();
  for (const std::string_view line : sections.lines("certificates")) {
    const std::size_t blank = line.find(' '), from = line.find(" from ");
    if (blank == std::string_view::npos) continue;
    if (const auto ends = date_in(line.substr(blank)))
      certificates.push_back({std::string(line.substr(0, blank)), *ends,
                              from == std::string_view::npos
                                  ? std::nullopt
                                  : date_in(line.substr(from + std::strlen(" from ")))});
  }
}

}  // namespace

std::string listed_image(const Kubernetes& tools, std::string_view name, const base::Version& kubernetes) {
  const auto version = tools.kubeadm ? base::Version::parse(*tools.kubeadm) : std::nullopt;
  if (!version || version->minor != kubernetes.minor ||
      (kubernetes.patch >= 0 && version->patch != kubernetes.patch))
    return {};
  for (const std::string& image : tools.images) {
    const std::string_view last = std::string_view(image).substr(image.rfind('/') + 1);
    if (last.substr(0, last.find(':')) == name) return image;
  }
  return {};
}

void read_kubernetes(const Sections& sections, Facts& facts) {
  Kubernetes& kubernetes = facts.kubernetes;
  kubernetes.kubeadm = version_of(sections, "kubeadm");
  kubernetes.kubelet = version_of(sections, "kubelet");
  kubernetes.kubectl = kubectl_version(sections);
  kubernetes.images = images_of(sections);
  kubernetes.admin_conf = facts.software.paths.contains("/etc/kubernetes/admin.conf");
  kubernetes.kubelet_conf = facts.software.paths.contains("/etc/kubernetes/kubelet.conf");
  kubernetes.bootstrap_conf = facts.software.paths.contains("/etc/kubernetes/bootstrap-kubelet.conf");
  kubernetes.ca = facts.software.paths.contains("/etc/kubernetes/pki/ca.crt");
  kubernetes.ca_sha256 = ca_sha256(sections);
  kubernetes.admin_server = server_of(sections, "/etc/kubernetes/admin.conf");
  kubernetes.kubelet_server = server_of(sections, "/etc/kubernetes/kubelet.conf");
  for (const char* name : {"/etc/kubernetes/admin.conf", "/etc/kubernetes/kubelet.conf"})
    read_context(sections, name, kubernetes);
  kubernetes.manifests = names_in(sections, {"/etc/kubernetes/manifests/"});
  kubernetes.cni_configs = names_in(sections, {"/etc/cni/net.d/"});
  kubernetes.cni_binaries = names_in(sections, {"/opt/cni/bin/", "/usr/lib/cni/", "/usr/libexec/cni/"});
  kubernetes.etcd_data = !sections.lines("/var/lib/etcd/").empty();
  read_kubelet(sections, kubernetes);
  read_state(sections, kubernetes);
  if (const Section* mode = sections.find("kube-proxy-mode"); mode && mode->status == 0)
    kubernetes.proxy_mode = known(mode->first());
  read_etcd_times(sections, kubernetes);
  kubernetes.hardening = read_hardening(sections);
}

namespace {

Tree certificate_tree(const Certificate& c) {
  Tree tree = Tree::map_of({{"path", c.path}, {"ends", c.ends}});
  if (c.begins) tree.set("begins", *c.begins);
  return tree;
}

Tree component(const Component& part) {
  return Tree::map_of({{"name", part.name}, {"status", part.status}, {"message", part.message}});
}

}  // namespace

Tree kubernetes_tree(const Kubernetes& k) {
  return Tree::map_of({{"kubeadm", tree_of(k.kubeadm)},
                       {"kubelet", tree_of(k.kubelet)},
                       {"kubectl", tree_of(k.kubectl)},
                       {"images", Tree::list_of(k.images)},
                       {"adminConf", k.admin_conf},
                       {"adminServer", k.admin_server},
                       {"kubeletConf", k.kubelet_conf},
                       {"kubeletServer", k.kubelet_server},
                       {"clusterName", k.cluster_name},
                       {"nodeName", k.node_name},
                       {"bootstrapConf", k.bootstrap_conf},
                       {"ca", k.ca},
                       {"caSha256", k.ca_sha256},
                       {"manifests", Tree::list_of(k.manifests)},
                       {"etcdData", k.etcd_data},
                       {"cniConfigs", Tree::list_of(k.cni_configs)},
                       {"cniBinaries", Tree::list_of(k.cni_binaries)},
                       {"kubeletConfig", tree_of(k.kubelet_config)},
                       {"kubeletConfigError", k.kubelet_config_error},
                       {"kubeletFlags", k.kubelet_flags},
                       {"kubeletLog", Tree::list_of(k.kubelet_log)},
                       {"devicePlugins", k.device_plugins ? Tree::list_of(*k.device_plugins) : Tree()},
                       {"certificates", k.certificates ? list_of(*k.certificates, certificate_tree) : Tree()},
                       {"components", k.components ? list_of(*k.components, component) : Tree()},
                       {"cpuState", tree_of(k.cpu_state)},
                       {"memoryState", tree_of(k.memory_state)},
                       {"sharedMount", tree_of(k.shared_mount)},
                       {"hardening", hardening_tree(k.hardening)}});
}

}  // namespace facts
