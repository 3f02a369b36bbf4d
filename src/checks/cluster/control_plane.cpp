#include "gpuadm/base/text.hpp"

#include "checks/cluster/whole.hpp"
#include "checks/kubelet/certificates.hpp"
#include "checks/queries.hpp"

#include <algorithm>
#include <array>
#include <set>

/// The control plane.
namespace checks {

namespace {

using base::Version;

void healthz(const Whole& w, Verdicts& out) {
  if (!w.facts.ready_status)
    return out.unknown(
        "the API server's state could not be read: no kubectl, or no administrator's kubeconfig");
  if (!w.facts.not_ready.empty())
    return out.fail(
        Severity::blocker, "the API server is not ready", list(w.facts.not_ready),
        "kubectl get --raw '/readyz?verbose', and read the logs of kube-apiserver and etcd (crictl logs)");
  if (*w.facts.ready_status != 0)
    out.fail(Severity::blocker, "the API server does not answer",
             fmt::format("kubectl get --raw /readyz ended with {}", *w.facts.ready_status),
             "crictl ps -a | grep -E 'kube-apiserver|etcd' on the control plane, and their logs");
}

void certs_expiry(const Whole& w, Verdicts& out) {
  int seen = 0;
  std::set<std::string> early;
  for (const auto& [name, host] : w.hosts) {
    if (!host->kubernetes.certificates || !host->clock.probe_begin) continue;
    for (const facts::Certificate& certificate : *host->kubernetes.certificates) {
      if (!certificate.path.starts_with("/etc/kubernetes/")) continue;
      ++seen;
      if (const std::string why = not_yet_valid(certificate, *host->clock.probe_begin); !why.empty()) {
        // One clock makes all certificates of a host invalid.
        if (early.insert(name).second)
          out.fail(certificate.begins ? Severity::blocker : Severity::warning,
                   certificate.begins ? "a certificate of the control plane is not yet valid"
                                      : "a certificate of the control plane is perhaps not yet valid",
                   fmt::format("{} on {}: {}", certificate.path, name, why), set_clock);
        continue;
      }
      const double days = (certificate.ends - *host->clock.probe_begin) / 86400;
      const bool authority = certificate.path.ends_with("ca.crt");
      if (days >= (authority ? 90 : 30)) continue;
      out.fail(days < 7 ? Severity::blocker : Severity::warning,
               days < 0 ? "a certificate of the control plane has expired"
                        : "a certificate of the control plane expires soon",
               fmt::format("{} on {}: {:.0f} days", certificate.path, name, days),
               authority
                   ? "renew the authority by hand: kubernetes.io, \"Manual Rotation of CA Certificates\""
                   : "gpuadm certs renew");
    }
  }
  if (seen == 0) out.unknown("the certificates of the control plane could not be read");
}

void etcd_health(const Whole& w, Verdicts& out) {
  const auto& etcd = w.facts.etcd;
  if (!etcd) return out.unknown("etcd's metrics at 127.0.0.1:2381 could not be read");
  if (const auto leader = etcd->find("etcd_server_has_leader"); leader != etcd->end() && leader->second < 1)
    return out.fail(
        Severity::blocker, "etcd has no leader: the cluster cannot be changed", "etcd_server_has_leader 0",
        "etcdctl endpoint status --cluster -w table in an etcd pod; restore a majority of members");
  if (const auto changes = etcd->find("etcd_server_leader_changes_seen_total");
      changes != etcd->end() && changes->second > 20)
    out.fail(Severity::warning, "etcd changes its leader often: slow disks or a bad network",
             fmt::format("{:.0f} changes since it started", changes->second),
             "move etcd to its own disk; check etcd_disk_wal_fsync_duration_seconds");
}

void etcd_db_size(const Whole& w, Verdicts& out) {
  const auto& etcd = w.facts.etcd;
  if (!etcd) return out.unknown("etcd's metrics at 127.0.0.1:2381 could not be read");
  const auto value = [&](const char* name) {
    const auto place = etcd->find(name);
    return place == etcd->end() ? 0.0 : place->second;
  };
  const double size = value("etcd_mvcc_db_total_size_in_bytes"),
               used = value("etcd_mvcc_db_total_size_in_use_in_bytes");
  const double quota =
      value("etcd_server_quota_backend_bytes") > 0 ? value("etcd_server_quota_backend_bytes") : 2147483648.0;
  if (size <= 0) return out.unknown("the size of etcd's database could not be read");
  const std::string evidence =
      fmt::format("{:.0f} MiB of {:.0f}, {:.0f} in use", size / 1048576, quota / 1048576, used / 1048576);
  if (size > 0.8 * quota)
    return out.fail(Severity::warning, "etcd's database is nearly full: a full one refuses every change",
                    evidence, "gpuadm etcd defrag, or raise --quota-backend-bytes");
  if (size > 256 * 1048576.0 && used < 0.5 * size)
    return out.fail(Severity::note, "half of etcd's file is free space", evidence, "gpuadm etcd defrag");
  out.pass(evidence);
}

void version_skew(const Whole& w, Verdicts& out) {
  const auto* nodes = given(w.facts.nodes, out, "the nodes");
  if (!nodes) return;
  const auto server = Version::parse(w.facts.version);
  if (!server) return out.unknown("the API server's version is not known");
  for (const facts::Node& node : *nodes) {
    const auto kubelet = Version::parse(node.kubelet);
    if (!kubelet) continue;
    const int behind = server->minor - kubelet->minor;
    if (behind >= 0 && behind <= kubelet_lag(w.data.minors, *server)) continue;
    out.fail(
        Severity::blocker,
        behind < 0 ? "a kubelet is newer than the API server" : "a kubelet is too old for the API server",
        fmt::format("{} has {}, the API server {}", node.name, node.kubelet, w.facts.version),
        behind < 0 ? "upgrade the control plane first, or install the kubelet of its version"
                   : "upgrade the kubelet of " + node.name +
                         " minor by minor: drain, kubeadm upgrade node, packages");
  }
}

void version_eol(const Whole& w, Verdicts& out) {
  const auto server = Version::parse(w.facts.version);
  if (!server) return out.unknown("the API server's version is not known");
  const LineState line = state_of_line(w.data.lines.at("kubernetes"), *server, w.data.today);
  const std::string seen = fmt::format("{}; {}", w.facts.version, line.text);
  if (line.state == LineState::State::unknown) return out.unknown(seen);
  if (line.state == LineState::State::ended)
    return out.fail(Severity::warning, "this Kubernetes version no longer gets fixes", seen,
                    fmt::format("kubeadm upgrade plan; one minor at a time, next 1.{}", server->minor + 1));
  out.pass(seen);
}

void deprecated_apis(const Whole& w, Verdicts& out) {
  const auto* apis = given(w.facts.deprecated_apis, out, "its metrics");
  if (apis && !apis->empty())
    out.fail(Severity::warning, "a client uses an API that a future Kubernetes version removes", some(*apis),
             "kubectl get --raw /metrics | grep apiserver_requested_deprecated_apis; the audit log shows the "
             "client");
}

void webhooks(const Whole& w, Verdicts& out) {
  const auto* hooks = given(w.facts.webhooks, out, "the webhooks");
  const auto* endpoints = hooks ? given(w.facts.endpoints, out, "the endpoints") : nullptr;
  if (!endpoints) return;
  for (const facts::Webhook& hook : *hooks)
    for (const std::string& service : hook.failing_services) {
      const auto place = endpoints->find(service);
      if (place != endpoints->end() && place->second) continue;
      out.fail(Severity::warning, "a webhook has no ready pod, and its requests fail",
               fmt::format("{}: service {} has no ready pod", hook.configuration, service),
               "repair the pods of the service, or remove the webhook configuration");
      break;
    }
}

void metrics_server(const Whole& w, Verdicts& out) {
  const auto* services = given(w.facts.api_services, out, "the API services");
  if (!services) return;
  const auto place = std::ranges::find(*services, "v1beta1.metrics.k8s.io", &facts::ApiService::name);
  if (place == services->end()) return out.skip("metrics-server is not installed");
  if (place->available != "True")
    out.fail(Severity::note, "metrics-server does not answer: kubectl top and autoscaling fail",
             place->message,
             "kubectl -n kube-system logs deploy/metrics-server; for x509 errors set serverTLSBootstrap on "
             "the kubelets");
}

constexpr std::array cluster_rows = std::to_array<Check>({
    {.id = "cl.apiserver.healthz",
     .title = "the API server is ready",
     .why = "every client depends on it",
     .reads = "nodes readyz",
     .stages = in_cluster,
     .whole = healthz},
    {.id = "cl.certs-expiry",
     .title = "the control plane's certificates do not expire soon",
     .why = "clients reject expired certificates",
     .reads = "nodes",
     .stages = in_cluster,
     .whole = certs_expiry},
    {.id = "cl.etcd-health",
     .title = "etcd has a leader",
     .why = "etcd stores the cluster's state",
     .reads = "nodes etcd-metrics readyz",
     .stages = in_cluster,
     .whole = etcd_health},
    {.id = "cl.etcd-db-size",
     .title = "etcd has free space",
     .why = "a full one refuses every change",
     .reads = "nodes etcd-metrics readyz",
     .stages = in_cluster,
     .whole = etcd_db_size},
    {.id = "cl.version-skew",
     .title = "the kubelets and the API server have compatible versions",
     .why = "the version skew policy allows few differences",
     .reads = "nodes version",
     .stages = in_cluster,
     .whole = version_skew},
    {.id = "cl.webhooks-blocking",
     .title = "every webhook has a ready pod",
     .why = "pods cannot be created otherwise",
     .reads = "nodes webhooks endpoints",
     .stages = in_cluster,
     .whole = webhooks},
    {.id = "cl.metrics-server",
     .title = "metrics-server answers",
     .why = "kubectl top and autoscalers need it",
     .reads = "nodes apiservices deployments pods",
     .stages = in_cluster,
     .whole = metrics_server},
});

/// After the faults of the report: they stop nothing today.
constexpr std::array cluster_age_rows = std::to_array<Check>({
    {.id = "cl.version-eol",
     .title = "this Kubernetes version is maintained",
     .why = "vulnerabilities are not fixed otherwise",
     .reads = "nodes version",
     .stages = in_cluster,
     .whole = version_eol},
    {.id = "cl.deprecated-apis",
     .title = "no client uses APIs that will be removed",
     .why = "such clients fail after an upgrade",
     .reads = "nodes deprecated-apis version",
     .stages = in_cluster,
     .whole = deprecated_apis},
});

}  // namespace

std::span<const Check> cluster_checks() {
  return cluster_rows;
}

std::span<const Check> cluster_age_checks() {
  return cluster_age_rows;
}

}  // namespace checks
