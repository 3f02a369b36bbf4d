#include "gpuadm/base/text.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/session/census.hpp"

#include <fmt/format.h>

namespace session {

namespace {

constexpr std::string_view kubelet_client = "/var/lib/kubelet/pki/kubelet-client-current.pem";

/// The kubelet rotates the certificate in its own file; its kubeconfig may still contain the first one.
bool is_needed(const facts::Facts& facts, const std::string& path) {
  if (path == kubelet_client) return true;
  return facts.kubernetes.admin_conf &&
         (path.starts_with("/etc/kubernetes/") || path.starts_with("https://")) &&
         path != "/etc/kubernetes/kubelet.conf";
}

std::string way_out(const facts::Facts& facts, const std::string& host, const std::string& path) {
  if (path.ends_with("ca.crt"))
    return "renew the CA manually: kubernetes.io, \"Manual Rotation of CA Certificates\"";
  if (path != kubelet_client) return fmt::format("gpuadm certs renew {}", host);
  return facts.kubernetes.admin_conf
             ? fmt::format(
                   "on {}: kubeadm kubeconfig user --org system:nodes --client-name system:node:NAME "
                   "> /etc/kubernetes/kubelet.conf && systemctl restart kubelet",
                   host)
             : fmt::format("gpuadm reset {}, then gpuadm join it again", host);
}

}  // namespace

base::Result<> refuse_expired(const facts::Census& census) {
  for (const auto& [name, facts] : census) {
    if (!facts || !playbook::is_node(*facts) || !facts->clock.probe_begin || !facts->kubernetes.certificates)
      continue;
    const std::string host = base::printable(name);
    for (const facts::Certificate& certificate : *facts->kubernetes.certificates)
      if (certificate.ends < *facts->clock.probe_begin && is_needed(*facts, certificate.path))
        return base::fail(base::Fault::blocked,
                          fmt::format("{}: the certificate {} expired {:.0f} days ago", host,
                                      base::printable(certificate.path, 200),
                                      (*facts->clock.probe_begin - certificate.ends) / 86400),
                          way_out(*facts, host, certificate.path) + "; then run the same command again");
  }
  return {};
}

}  // namespace session
