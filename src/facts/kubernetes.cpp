#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"

#include "facts/read.hpp"
#include "facts/words.hpp"

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

void read_kubelet(const Sections& sections, KubernetesTools& kubernetes) {
  if (const auto text = sections.text("/var/lib/kubelet/config.yaml")) {
    auto config = base::yaml::read(*text, "/var/lib/kubelet/config.yaml");
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

}  // namespace

void read_kubernetes(const Sections& sections, Facts& facts) {
  KubernetesTools& kubernetes = facts.kubernetes;
  kubernetes.kubeadm = version_of(sections, "kubeadm");
  kubernetes.kubelet = version_of(sections, "kubelet");
  kubernetes.kubectl = kubectl_version(sections);
  kubernetes.admin_conf = facts.paths.contains("/etc/kubernetes/admin.conf");
  kubernetes.kubelet_conf = facts.paths.contains("/etc/kubernetes/kubelet.conf");
  kubernetes.bootstrap_conf = facts.paths.contains("/etc/kubernetes/bootstrap-kubelet.conf");
  kubernetes.ca = facts.paths.contains("/etc/kubernetes/pki/ca.crt");
  kubernetes.admin_server = server_of(sections, "/etc/kubernetes/admin.conf");
  kubernetes.kubelet_server = server_of(sections, "/etc/kubernetes/kubelet.conf");
  kubernetes.manifests = names_in(sections, {"/etc/kubernetes/manifests/"});
  kubernetes.cni_configs = names_in(sections, {"/etc/cni/net.d/"});
  kubernetes.cni_binaries = names_in(sections, {"/opt/cni/bin/", "/usr/lib/cni/", "/usr/libexec/cni/"});
  kubernetes.etcd_data = !sections.lines("/var/lib/etcd/").empty();
  read_kubelet(sections, kubernetes);
}

}  // namespace facts
