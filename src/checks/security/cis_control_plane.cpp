#include "gpuadm/base/text.hpp"

#include "checks/security/cis.hpp"

#include <fmt/format.h>

#include <algorithm>

/// Sections 1.3 (controller manager), 1.4 (scheduler), 2 (etcd), 3.2 (audit policy) and 5.2 (Pod Security) of
/// the benchmark.
namespace checks {

namespace cis {

namespace {

constexpr std::string_view manager = "kube-controller-manager";
constexpr std::string_view scheduler = "kube-scheduler";
constexpr std::string_view etcd = "etcd";

void pods_are_collected(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  if (!pod) return;
  const std::string* flag = flag_of(*pod, item.name);
  const auto number = flag ? base::to_int(*flag) : std::nullopt;
  if (flag && !number)
    return out.unknown(fmt::format("--{}={} is not a number", item.name, base::printable(*flag, 100)));
  if (number && *number > 0)
    return out.pass(fmt::format("terminated pods are removed when there are more than {}", *number));
  const std::string fix = flag_remedy(item, fmt::format("--{}={}", item.name, item.want));
  if (number) return out.fail(item.severity, "terminated pods are never removed", flag_text(item, *pod), fix);
  out.fail(item.severity,
           fmt::format("terminated pods are removed when there are more than {} by default", item.unset),
           flag_text(item, *pod), fix);
}

/// `want`: "RotateKubeletServerCertificate", a feature gate that is on unless it is set to false.
void gate_is_on(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  if (!pod) return;
  const std::string* gates = flag_of(*pod, item.name);
  for (const std::string_view gate : parts_of(gates ? std::string_view(*gates) : std::string_view())) {
    const std::size_t equals = gate.find('=');
    if (equals == std::string_view::npos || gate.substr(0, equals) != item.want) continue;
    if (as_boolean(gate.substr(equals + 1)) != "false") return out.pass(fmt::format("{} is on", item.want));
    return out.fail(item.severity, fmt::format("the feature gate {} is off", item.want),
                    flag_text(item, *pod),
                    fmt::format("remove {} from --{} in {}", gate, item.name, manifest_of(item.part)));
  }
  out.pass(fmt::format("{} is on by default", item.want));
}

void listens_on_loopback(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  if (!pod) return;
  const std::string* address = flag_of(*pod, item.name);
  if (address && (address->starts_with("127.") || *address == "::1"))
    return out.pass(fmt::format("{} listens on {}", item.part, *address));
  out.fail(item.severity,
           fmt::format("{} listens on {}", item.part, address ? *address : "all addresses by default"),
           flag_text(item, *pod), flag_remedy(item, fmt::format("--{}={}", item.name, item.want)));
}

/// Whether the CA for etcd's clients differs from the API server's.
void etcd_has_its_own_authority(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  const facts::StaticPod* server = pod ? pod_of(subject, "kube-apiserver", out) : nullptr;
  if (!pod || !server) return;
  const std::string* own = flag_of(*pod, item.name);
  const std::string* other = flag_of(*server, "client-ca-file");
  if (!own)
    return out.fail(item.severity, "etcd has no authority for client certificates", flag_text(item, *pod),
                    flag_remedy(item, std::string(item.want)));
  if (!other || *own != *other) return out.pass(fmt::format("etcd verifies its clients with {}", *own));
  out.fail(Severity::warning, "etcd accepts every client certificate of the cluster",
           fmt::format("{}: --client-ca-file={}", flag_text(item, *pod), *other),
           flag_remedy(item, std::string(item.want)));
}

void audit_policy(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  if (!pod) return;
  const std::string* file = flag_of(*pod, item.name);
  if (!file)
    return out.fail(item.severity, "there is no audit policy, and no request is recorded",
                    flag_text(item, *pod),
                    flag_remedy(item, "--audit-policy-file, --audit-log-path and its limits"));
  const auto& levels = subject.facts.kubernetes.hardening.audit_levels;
  if (!levels) return out.unknown(fmt::format("{} could not be read", *file));
  const auto records = std::ranges::count_if(*levels, [](const std::string& one) { return one != "None"; });
  if (records > 0) return out.pass(fmt::format("{} of {} rules record requests", records, levels->size()));
  out.fail(item.severity, "the audit policy records no request",
           fmt::format("{}: {}", *file, levels->empty() ? "no rules" : "levels " + base::join(*levels, ", ")),
           remedy(item, fmt::format("end the rules in {} with one of the level Metadata", *file)));
}

void pod_security(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  if (!pod) return;
  const std::string fix =
      "set enforce: baseline as default of PodSecurity in a file for "
      "--admission-control-config-file";
  const std::string* off = flag_of(*pod, "disable-admission-plugins");
  const auto disabled = parts_of(off ? std::string_view(*off) : std::string_view());
  if (std::ranges::find(disabled, "PodSecurity") != disabled.end())
    return out.fail(
        item.severity, "Pod Security admission is off",
        fmt::format("{}: --disable-admission-plugins={}", manifest_of(item.part), *off),
        fmt::format("remove PodSecurity from --disable-admission-plugins in {}", manifest_of(item.part)));
  const std::string* file = flag_of(*pod, item.name);
  if (!file)
    return out.fail(item.severity, "namespaces without a Pod Security label admit privileged pods",
                    flag_text(item, *pod), remedy(item, fix));
  const auto& admission = subject.facts.kubernetes.hardening.admission;
  if (!admission || admission->pod_security_unread)
    return out.unknown(fmt::format("the defaults of PodSecurity could not be read from {}", *file));
  const std::string level = admission->enforce.value_or("privileged");
  if (level == "baseline" || level == "restricted")
    return out.pass(fmt::format("pods are limited to the level {} by default", level));
  out.fail(item.severity, "namespaces without a Pod Security label admit privileged pods",
           fmt::format("{}: enforce: {}", *file, admission->enforce ? level : "not set"), remedy(item, fix));
}

constexpr Item control_plane_items[] = {
    {"sec.cis.1.3.1", "terminated pods are removed",
     "their objects fill etcd and slow down every list of pods", "static-pods", pods_are_collected, manager,
     "terminated-pod-gc-threshold", "1000", "12500", true},
    {"sec.cis.1.3.2", "profiling of the controller manager is off",
     "profiles expose the program's internal state and cost CPU time", "static-pods", flag_is, manager,
     "profiling", "false", "true", true},
    {"sec.cis.1.3.3", "each controller has its own service account",
     "a shared account has the permissions of all controllers", "static-pods", flag_is, manager,
     "use-service-account-credentials", "true", "false"},
    {"sec.cis.1.3.4", "service account tokens are signed with their own key",
     "the key can be replaced independently", "static-pods", flags_are_set, manager,
     "service-account-private-key-file", "--service-account-private-key-file=/etc/kubernetes/pki/sa.key"},
    {"sec.cis.1.3.5", "pods get the authority of the API server's certificate",
     "pods cannot verify the API server without it", "static-pods", flags_are_set, manager, "root-ca-file",
     "--root-ca-file=/etc/kubernetes/pki/ca.crt"},
    {"sec.cis.1.3.6", "serving certificates of kubelets are rotated",
     "a certificate that is not rotated expires", "static-pods", gate_is_on, manager, "feature-gates",
     "RotateKubeletServerCertificate"},
    {"sec.cis.1.3.7", "the controller manager listens on the loopback address",
     "its metrics and health endpoints are needed only on this host", "static-pods", listens_on_loopback,
     manager, "bind-address", "127.0.0.1"},
    {"sec.cis.1.4.1", "profiling of the scheduler is off",
     "profiles expose the program's internal state and cost CPU time", "static-pods", flag_is, scheduler,
     "profiling", "false", "true", true},
    {"sec.cis.1.4.2", "the scheduler listens on the loopback address",
     "its metrics and health endpoints are needed only on this host", "static-pods", listens_on_loopback,
     scheduler, "bind-address", "127.0.0.1"},
    {"sec.cis.2.1", "etcd has a serving certificate",
     "without it traffic between etcd and its clients is not encrypted", "static-pods", flags_are_set, etcd,
     "cert-file,key-file"},
    {"sec.cis.2.2", "etcd's clients need a certificate",
     "without one every client can read and change everything in the cluster", "static-pods", flag_is, etcd,
     "client-cert-auth", "true", "false", false, Severity::warning},
    {"sec.cis.2.3", "etcd does not use a self-signed certificate",
     "clients cannot verify a self-signed certificate", "static-pods", flag_is, etcd, "auto-tls", "false",
     "false", false, Severity::warning},
    {"sec.cis.2.4", "etcd has a certificate for its peers",
     "without it traffic between members is not encrypted", "static-pods", flags_are_set, etcd,
     "peer-cert-file,peer-key-file"},
    {"sec.cis.2.5", "etcd's peers need a certificate",
     "without one any program can become a member and get all data", "static-pods", flag_is, etcd,
     "peer-client-cert-auth", "true", "false", false, Severity::warning},
    {"sec.cis.2.6", "etcd does not use a self-signed certificate for peers",
     "peers cannot verify a self-signed certificate", "static-pods", flag_is, etcd, "peer-auto-tls", "false",
     "false", false, Severity::warning},
    {"sec.cis.2.7", "etcd has its own certificate authority",
     "with the cluster's authority every node and user can log in to etcd", "static-pods",
     etcd_has_its_own_authority, etcd, "trusted-ca-file",
     "--trusted-ca-file=/etc/kubernetes/pki/etcd/ca.crt"},
    {"sec.cis.3.2.1",
     "an audit policy records requests",
     "without it, it cannot be determined later who did what",
     "static-pods kube-apiserver/audit-policy-file",
     audit_policy,
     "kube-apiserver",
     "audit-policy-file",
     {},
     {},
     true},
};

constexpr Item policy_items[] = {
    {"sec.cis.5.2.1",
     "Pod Security admission limits pods to a level by default",
     "without limits a user who can create a pod can become root on its node",
     "static-pods kube-apiserver/admission-control-config-file kube-apiserver/pod-security",
     pod_security,
     "kube-apiserver",
     "admission-control-config-file",
     {},
     {},
     true},
};

constexpr auto control_plane_rows = checks_of<control_plane_items>();
constexpr auto policy_rows = checks_of<policy_items>();

}  // namespace

}  // namespace cis

std::span<const Check> cis_control_plane_checks() {
  return cis::control_plane_rows;
}

std::span<const Check> cis_policy_checks() {
  return cis::policy_rows;
}

}  // namespace checks
