#include "gpuadm/base/digest.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/kube/kubeconfig.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/user.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

constexpr std::string_view begin_certificate = "-----BEGIN CERTIFICATE-----";

const Tree* config_map_named(std::span<const Tree> objects, std::string_view ns, std::string_view name) {
  for (const Tree& object : objects)
    if (text_of(object, "kind") == "ConfigMap" && text_at(object, {"metadata", "namespace"}) == ns &&
        text_at(object, {"metadata", "name"}) == name)
      return object.find("data");
  return nullptr;
}

}  // namespace

Tree signing_request(const std::string& name, const std::string& user, const std::string& request_pem,
                     std::chrono::days lifetime, const base::Version& kubernetes) {
  Tree spec = Tree::map_of({{"request", base::base64(request_pem)},
                            {"signerName", "kubernetes.io/kube-apiserver-client"},
                            {"usages", Tree::list_of({"digital signature", "client auth"})}});
  // https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/
  if (kubernetes >= base::Version{1, 22, -1})
    spec.set("expirationSeconds",
             static_cast<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(lifetime).count()));
  return Tree::map_of({{"apiVersion", "certificates.k8s.io/v1"},
                       {"kind", "CertificateSigningRequest"},
                       {"metadata", Tree::map_of({{"name", name}, {"labels", labels_of(user_kind, user)}})},
                       {"spec", std::move(spec)}});
}

SigningState signing_state(const Tree& request) {
  SigningState state;
  if (const Tree* conditions = request.at({"status", "conditions"}))
    for (const Tree& condition : conditions->items()) {
      const std::string type = text_of(condition, "type");
      if (type == "Failed" || type == "Denied")
        state.refusal =
            base::printable(fmt::format("{}: {} {}", base::lower(type), text_of(condition, "reason"),
                                        text_of(condition, "message")),
                            500);
    }
  if (auto pem = base::from_base64(text_at(request, {"status", "certificate"})))
    state.certificate = std::move(*pem);
  return state;
}

std::string why_not_signed(std::span<const Tree> controller_managers) {
  std::vector<const Tree*> pods;
  for (const Tree& pod : controller_managers)
    if (text_of(pod, "kind") == "Pod") pods.push_back(&pod);
  if (pods.empty()) return "there is no pod of kube-controller-manager, which signs certificates";
  bool runs = false, has_key = false;
  for (const Tree* pod : pods) {
    runs = runs || text_at(*pod, {"status", "phase"}) == "Running";
    const Tree* containers = pod->at({"spec", "containers"});
    for (const Tree& container : containers ? containers->items() : Tree::List())
      for (const char* list : {"command", "args"})
        if (const Tree* words = container.find(list))
          for (const Tree& word : words->items()) {
            const std::string text = word.text();
            if (text.starts_with("--controllers=") && text.find("-csrsigning") != std::string::npos)
              return "the controller csrsigning is turned off (" + base::printable(text, 200) + ")";
            has_key = has_key || text.starts_with("--cluster-signing-key-file=") ||
                      text.starts_with("--cluster-signing-kube-apiserver-client-key-file=");
          }
  }
  if (!runs) return "kube-controller-manager, which signs certificates, does not run";
  if (!has_key) return "kube-controller-manager has no key for signing (--cluster-signing-key-file)";
  return "";
}

Result<ApiServer> api_server_of(std::span<const Tree> config_maps, const std::string& server) {
  ApiServer api;
  api.server = server;
  if (const Tree* info = config_map_named(config_maps, "kube-public", "cluster-info")) {
    const auto config = base::yaml::read(text_of(*info, "kubeconfig"), "kube-public/cluster-info");
    const Tree* clusters = config ? config->find("clusters") : nullptr;
    const Tree* cluster =
        clusters && !clusters->items().empty() ? clusters->items().front().find("cluster") : nullptr;
    if (cluster) {
      if (api.server.empty()) api.server = text_of(*cluster, "server");
      api.authority =
          base::from_base64(text_of(*cluster, "certificate-authority-data")).value_or(std::string());
    }
  }
  if (api.authority.empty())
    if (const Tree* root = config_map_named(config_maps, "kube-system", "kube-root-ca.crt"))
      api.authority = text_of(*root, "ca.crt");
  if (!spec::is_api_server(api.server))
    return base::fail(api.server == server && !server.empty() ? Fault::usage : Fault::remote,
                      api.server.empty()
                          ? "the address of the API server is unknown: the cluster has no "
                            "ConfigMap kube-public/cluster-info"
                          : "invalid address of an API server: " + base::printable(api.server, 200),
                      "--server https://ADDRESS:6443");
  if (!api.authority.starts_with(begin_certificate))
    return base::fail(Fault::remote,
                      "the certificate of the cluster's authority is in neither of the ConfigMaps "
                      "kube-public/cluster-info and kube-system/kube-root-ca.crt",
                      "kubectl -n kube-public get configmap cluster-info -o yaml");
  return api;
}

Tree kubeconfig_of(const std::string& cluster, const std::string& user, const std::string& ns,
                   const ApiServer& api, const std::string& certificate, const std::string& key) {
  const std::string context = user + "@" + cluster;
  const auto entry = [](const std::string& name, const char* kind, Tree value) {
    return Tree(Tree::List{Tree::map_of({{"name", name}, {kind, std::move(value)}})});
  };
  return Tree::map_of(
      {{"apiVersion", "v1"},
       {"kind", "Config"},
       {"clusters", entry(cluster, "cluster",
                          Tree::map_of({{"server", api.server},
                                        {"certificate-authority-data", base::base64(api.authority)}}))},
       {"users", entry(user, "user",
                       Tree::map_of({{"client-certificate-data", base::base64(certificate)},
                                     {"client-key-data", base::base64(key)}}))},
       {"contexts",
        entry(context, "context", Tree::map_of({{"cluster", cluster}, {"user", user}, {"namespace", ns}}))},
       {"current-context", context}});
}

std::string certificate_in_kubeconfig(const Tree& kubeconfig) {
  return kube::current_context(kubeconfig).value_or(kube::CurrentContext{}).certificate;
}

std::string authority_in_kubeconfig(const Tree& kubeconfig) {
  return kube::current_context(kubeconfig).value_or(kube::CurrentContext{}).authority;
}

}  // namespace workload
