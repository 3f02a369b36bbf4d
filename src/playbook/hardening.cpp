#include "playbook/hardening.hpp"

#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"

#include "playbook/kubeadm.hpp"

#include <fmt/format.h>

namespace playbook {

namespace {

using base::Tree;
using base::Version;

/// The TLS 1.2 suites with forward secrecy and authenticated encryption that every kubelet, API server and
/// etcd since 1.20 supports. TLS 1.3 has its own, which cannot be selected.
constexpr std::string_view ciphers =
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,"
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384";
/// Not below /var/log, which is writable for the system logger's group on Ubuntu.
constexpr std::string_view audit_folder = "/var/lib/kubernetes/audit";

std::string in_folder(std::string_view name) {
  return fmt::format("{}/{}", hardening_folder, name);
}

Tree list_of(std::string_view words) {
  Tree list = Tree::list();
  for (const std::string_view word : base::split(words, ',')) list.push(word);
  return list;
}

Tree volume(std::string_view name, std::string_view path, bool read_only) {
  return Tree::map_of({{"name", name},
                       {"hostPath", path},
                       {"mountPath", path},
                       {"readOnly", read_only},
                       {"pathType", "DirectoryOrCreate"}});
}

Tree limit(std::string_view type, int qps, int burst) {
  Tree tree = Tree::map_of({{"type", type}, {"qps", qps}, {"burst", burst}});
  if (type != "Server") tree.set("cacheSize", 4096);
  return tree;
}

Tree admission_plugin(std::string_view name, Tree configuration) {
  return Tree::map_of({{"name", name}, {"configuration", std::move(configuration)}});
}

/// "192.0.2.7", "FD00:0:0:0:0:0:0:7".
std::string as_openssl_has_it(const base::Cidr& cidr) {
  const auto& byte = cidr.address;
  if (!cidr.v6) return fmt::format("{}.{}.{}.{}", byte[0], byte[1], byte[2], byte[3]);
  std::vector<std::string> groups;
  for (std::size_t i = 0; i < 16; i += 2) groups.push_back(fmt::format("{:X}", byte[i] * 256 + byte[i + 1]));
  return base::join(groups, ":");
}

Composed document(std::string_view message, const Tree& tree) {
  return {"", fmt::format("# Written by gpuadm. {}\n{}", message, base::yaml::write(tree)), std::nullopt};
}

}  // namespace

bool is_hardened(const Context& context) {
  return context.cluster.security.profile == spec::SecurityProfile::hardened;
}

bool limits_anonymous(const Version& kubernetes) {
  return kubernetes >= Version{1, 32, 0};
}

Arguments hardened_api_server(const Version& kubernetes) {
  std::string plugins = "NodeRestriction,EventRateLimit";                     // 1.2.14, 1.2.9
  if (kubernetes >= Version{1, 21, 0}) plugins += ",DenyServiceExternalIPs";  // 1.2.3
  Arguments arguments = {{"admission-control-config-file", in_folder("admission.yaml")},
                         {"enable-admission-plugins", plugins},
                         {"audit-policy-file", in_folder("audit-policy.yaml")},            // 3.2.1
                         {"audit-log-path", fmt::format("{}/audit.log", audit_folder)},    // 1.2.16
                         {"audit-log-maxage", "30"},                                       // 1.2.17
                         {"audit-log-maxbackup", "10"},                                    // 1.2.18
                         {"audit-log-maxsize", "100"},                                     // 1.2.19
                         {"encryption-provider-config", in_folder("encryption.yaml")},     // 1.2.27, 1.2.28
                         {"kubelet-certificate-authority", "/etc/kubernetes/pki/ca.crt"},  // 1.2.5
                         {"profiling", "false"},                                           // 1.2.15
                         {"service-account-extend-token-expiration", "false"},             // 1.2.30
                         {"tls-cipher-suites", std::string(ciphers)},                      // 1.2.29
                         {"tls-min-version", "VersionTLS12"}};
  if (limits_anonymous(kubernetes))
    arguments.emplace_back("authentication-config", in_folder("authentication.yaml"));  // 1.2.1
  return arguments;
}

Arguments hardened_controller_manager() {
  return {{"profiling", "false"},                   // 1.3.2
          {"terminated-pod-gc-threshold", "1000"},  // 1.3.1
          {"tls-cipher-suites", std::string(ciphers)},
          {"tls-min-version", "VersionTLS12"}};
}

Arguments hardened_scheduler() {
  return {{"profiling", "false"},  // 1.4.1
          {"tls-cipher-suites", std::string(ciphers)},
          {"tls-min-version", "VersionTLS12"}};
}

Arguments hardened_etcd() {
  return {{"cipher-suites", std::string(ciphers)}};
}

Tree hardened_volumes() {
  Tree list = Tree::list();
  list.push(volume("gpuadm-apiserver", hardening_folder, true));
  list.push(volume("gpuadm-audit", audit_folder, false));
  return list;
}

Tree hardened_kubelet(const Version& kubernetes) {
  Tree tree = Tree::map_of({{"serverTLSBootstrap", true},                // 4.2.9, 4.2.11, 1.2.5
                            {"readOnlyPort", 0},                         // 4.2.4
                            {"streamingConnectionIdleTimeout", "5m0s"},  // 4.2.5
                            {"eventRecordQPS", 50},                      // 4.2.8
                            // 4.2.13: data loaders of training start thousands of threads.
                            {"podPidsLimit", 16384},
                            {"tlsMinVersion", "VersionTLS12"},
                            {"tlsCipherSuites", list_of(ciphers)}});  // 4.2.12
  // The gate SeccompDefault is on from 1.25 (KEP-2413).
  if (kubernetes >= Version{1, 25, 0}) tree.set("seccompDefault", true);  // 4.2.14
  return tree;
}

Tree hardened_kube_proxy() {
  return Tree::map_of({{"metricsBindAddress", "127.0.0.1:10249"}});  // 4.3.1
}

Result<std::vector<Composed>> compose_admission(const Context& context) {
  Tree limits = Tree::list();
  limits.push(limit("Server", 5000, 20000));
  limits.push(limit("Namespace", 50, 500));
  limits.push(limit("User", 50, 500));
  Tree plugins = Tree::list();
  plugins.push(admission_plugin("EventRateLimit",
                                Tree::map_of({{"apiVersion", "eventratelimit.admission.k8s.io/v1alpha1"},
                                              {"kind", "Configuration"},
                                              {"limits", limits}})));
  if (context.kubernetes >= Version{1, 23, 0}) {  // 5.2.1
    const char* version = context.kubernetes >= Version{1, 25, 0} ? "v1" : "v1beta1";
    plugins.push(admission_plugin(
        "PodSecurity",
        Tree::map_of(
            {{"apiVersion", fmt::format("pod-security.admission.config.k8s.io/{}", version)},
             {"kind", "PodSecurityConfiguration"},
             {"defaults", Tree::map_of({{"enforce", "baseline"},
                                        {"enforce-version", "latest"},
                                        {"audit", "restricted"},
                                        {"audit-version", "latest"},
                                        {"warn", "baseline"},
                                        {"warn-version", "latest"}})},
             {"exemptions",
              Tree::map_of({{"usernames", Tree::list()},
                            {"runtimeClasses", Tree::list()},
                            // The pod network and the GPU software need access to the host.
                            {"namespaces",
                             list_of("kube-system,kube-flannel,gpu-operator,nvidia-gpu-operator")}})}})));
  }
  return std::vector{document("Admission configuration of the API server.",
                              Tree::map_of({{"apiVersion", "apiserver.config.k8s.io/v1"},
                                            {"kind", "AdmissionConfiguration"},
                                            {"plugins", plugins}}))};
}

Result<std::vector<Composed>> compose_authentication(const Context& context) {
  Tree conditions = Tree::list();
  // Probes of the kubelet and of load balancers, and the first requests of a node that joins with a token.
  for (const char* path :
       {"/healthz", "/livez", "/readyz", "/api/v1/namespaces/kube-public/configmaps/cluster-info"})
    conditions.push(Tree::map_of({{"path", path}}));
  const char* version = context.kubernetes >= Version{1, 34, 0} ? "v1" : "v1beta1";
  return std::vector{
      document("Anonymous access to the API server.",
               Tree::map_of({{"apiVersion", fmt::format("apiserver.config.k8s.io/{}", version)},
                             {"kind", "AuthenticationConfiguration"},
                             {"anonymous", Tree::map_of({{"enabled", true}, {"conditions", conditions}})}}))};
}

std::string node_addresses(const Context& context) {
  std::string text;
  const auto add = [&](const spec::Host& host, const facts::Facts& facts) {
    const std::string node = node_name({context.cluster, context.decisions, host, facts, context.catalog,
                                        context.bundle, context.kubernetes});
    text += node;
    for (const facts::Address& address : facts.network.all_addresses)
      if (const auto cidr = base::Cidr::parse(address.cidr)) text += " " + as_openssl_has_it(*cidr);
    text += "\n";
  };
  if (!context.census) {
    add(context.host, context.facts);
    return text;
  }
  for (const spec::Host& host : context.cluster.hosts)
    if (const auto facts = context.census->find(host.name); facts != context.census->end() && facts->second)
      add(host, *facts->second);
  return text;
}

}  // namespace playbook
