#include "session/connect/kubeconfig.hpp"

#include "gpuadm/base/certificate.hpp"
#include "gpuadm/base/network.hpp"
#include "gpuadm/base/secret_file.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/kube/kubeconfig.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace session {

namespace {

using base::Fault;

Result<> check_certificate(const kube::CurrentContext& context, const std::string& shown) {
  if (context.certificate.empty()) return {};
  const auto certificate = base::read_certificate(context.certificate);
  if (!certificate || certificate->ends > base::now()) return {};
  return base::fail(Fault::usage,
                    fmt::format("--kubeconfig: the certificate in {} ended on {}", shown,
                                base::day_text(std::chrono::floor<std::chrono::days>(certificate->ends))),
                    fmt::format("ask an administrator for another one: gpuadm user kubeconfig {} --renew",
                                base::is_dns_name(context.user) ? context.user : "NAME"));
}

Result<kube::CurrentContext> read_context(const std::filesystem::path& file) {
  const std::string shown = base::printable(file.string(), 300);
  const std::string hint = "an administrator of the cluster makes one: gpuadm user add NAME";
  auto text = base::read_private_file(file);
  if (!text)
    return base::fail(Fault::usage, "--kubeconfig: " + text.error().what,
                      text.error().hint.empty() ? hint : text.error().hint);
  const auto config = base::yaml::read(text->reveal(), shown);
  if (!config || !config->find("contexts"))
    return base::fail(Fault::usage, fmt::format("--kubeconfig: {} is not a kubeconfig", shown), hint);
  auto context = kube::current_context(*config);
  if (!context)
    return base::fail(Fault::usage, fmt::format("--kubeconfig: {} has no current context", shown),
                      "kubectl config use-context NAME --kubeconfig " + base::quote(shown));
  if (context->ns.empty()) context->ns = "default";
  if (!base::is_dns_name(context->ns))
    return base::fail(Fault::usage, fmt::format("--kubeconfig: {}: invalid namespace {}", shown,
                                                base::printable(context->ns, 80)));
  TRY(check_certificate(*context, shown));
  return std::move(*context);
}

/// It becomes the name of a directory.
std::string plain_cluster_name(const std::string& name) {
  const bool plain = !name.empty() && name.size() <= 60 && name.front() != '.' && name.front() != '-' &&
                     std::ranges::all_of(name, [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
                     });
  return plain ? name : "kubeconfig";
}

}  // namespace

Result<std::string> namespace_in_kubeconfig(const std::filesystem::path& file) {
  return TRY(read_context(file)).ns;
}

Result<spec::Cluster> of_kubeconfig(const Hosts& hosts, const std::filesystem::path& file) {
  if (!hosts.file.empty() || !hosts.targets.empty())
    return base::fail(Fault::usage, "--kubeconfig cannot be combined with hosts or a cluster file",
                      "without --kubeconfig, gpuadm connects to the hosts over SSH");
  const kube::CurrentContext context = TRY(read_context(file));
  spec::Cluster cluster = TRY(spec::single(""));
  cluster.name = plain_cluster_name(context.cluster);
  spec::Host& host = cluster.hosts.front();
  host.name = cluster.name;
  host.role = spec::Role::control_plane;
  host.endpoint.local = true;
  host.endpoint.kubeconfig = std::filesystem::absolute(file).string();
  host.endpoint.kube_namespace = context.ns;
  return cluster;
}

}  // namespace session
