#include "gpuadm/kube/kubeconfig.hpp"

#include "gpuadm/base/digest.hpp"

#include <string_view>

namespace kube {

namespace {

using base::Tree;

const Tree* kubeconfig_entry(const Tree& config, std::string_view list, const std::string& name,
                             std::string_view key) {
  if (const Tree* items = config.find(list))
    for (const Tree& item : items->items())
      if (text_of(item, "name") == name) return item.find(key);
  return nullptr;
}

std::string decoded_entry(const Tree* entry, std::string_view key) {
  return entry ? base::from_base64(text_of(*entry, key)).value_or("") : "";
}

}  // namespace

std::optional<CurrentContext> current_context(const Tree& kubeconfig) {
  const Tree* context =
      kubeconfig_entry(kubeconfig, "contexts", text_of(kubeconfig, "current-context"), "context");
  if (!context) return std::nullopt;
  CurrentContext current{
      text_of(*context, "cluster"), text_of(*context, "user"), text_of(*context, "namespace"), {}, {}};
  current.certificate =
      decoded_entry(kubeconfig_entry(kubeconfig, "users", current.user, "user"), "client-certificate-data");
  current.authority = decoded_entry(kubeconfig_entry(kubeconfig, "clusters", current.cluster, "cluster"),
                                    "certificate-authority-data");
  return current;
}

}  // namespace kube
