#include "gpuadm/base/text.hpp"

#include "checks/security/cis_judges.hpp"

#include <fmt/format.h>

#include <algorithm>

/// Judges for the API server that read more than single flags.
namespace checks::cis {

namespace {

/// Paths that the kubelet's probes, and `kubeadm join` with a token, request anonymously.
bool is_harmless(const std::string& path) {
  for (const char* known : {"/livez", "/readyz", "/healthz", "/version",
                            "/api/v1/namespaces/kube-public/configmaps/cluster-info"})
    if (path == known) return true;
  return path.starts_with("/livez/") || path.starts_with("/readyz/") || path.starts_with("/healthz/");
}

void judge_conditions(const Item& item, const facts::AnonymousAccess& access, const std::string& file,
                      Verdicts& out) {
  std::vector<std::string> more;
  for (const std::string& path : access.paths)
    if (!is_harmless(path)) more.push_back(path);
  if (!access.enabled) return out.pass(fmt::format("anonymous requests are off in {}", file));
  if (access.paths.empty())
    return out.fail(item.severity, "kube-apiserver accepts anonymous requests for every path",
                    fmt::format("{}: anonymous without conditions", file),
                    remedy(item, fmt::format("limit anonymous in {} to /livez, /readyz and /healthz", file)));
  if (!more.empty())
    return out.fail(item.severity,
                    fmt::format("kube-apiserver accepts anonymous requests for {}", base::join(more, ", ")),
                    fmt::format("{}: conditions of anonymous", file),
                    fmt::format("remove these paths from anonymous.conditions in {}", file));
  out.pass(fmt::format("anonymous requests are limited to {}", base::join(access.paths, ", ")));
}

/// The authorization modes, or unknown if their file was not read.
std::optional<std::vector<std::string>> modes_of(const facts::StaticPod& pod, const Subject& subject,
                                                 Verdicts& out) {
  if (const std::string* file = flag_of(pod, "authorization-config")) {
    const auto& read = subject.facts.kubernetes.hardening.authorizers;
    if (!read || read->empty()) {
      out.unknown(fmt::format("{} could not be read", *file));
      return std::nullopt;
    }
    return *read;
  }
  const std::string* flag = flag_of(pod, "authorization-mode");
  std::vector<std::string> modes;
  for (const std::string_view mode : parts_of(flag ? std::string_view(*flag) : "AlwaysAllow"))
    modes.emplace_back(mode);
  return modes;
}

std::string modes_text(const Item& item, const facts::StaticPod& pod) {
  const std::string* file = flag_of(pod, "authorization-config");
  return file ? fmt::format("{}: --authorization-config={}", manifest_of(item.part), *file)
              : flag_text(item, pod);
}

/// The effect of an audit log limit that is not set, or nothing.
std::optional<long long> default_limit(const Item& item, const std::optional<base::Version>& version) {
  if (item.name == "audit-log-maxsize") return 100;
  if (!version || version->minor < 36) return std::nullopt;
  return item.name == "audit-log-maxage" ? 366 : 100;
}

/// Seconds of "1m0s" and similar, or nothing.
std::optional<double> seconds_of(std::string_view text) {
  double all = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = base::to_int(text.substr(0, digits));
    text.remove_prefix(digits);
    const double unit = text.starts_with("ms")  ? 0.001
                        : text.starts_with("h") ? 3600
                        : text.starts_with("m") ? 60
                        : text.starts_with("s") ? 1
                                                : 0;
    if (!number || unit == 0) return std::nullopt;
    all += static_cast<double>(*number) * unit;
    text.remove_prefix(text.starts_with("ms") ? 2 : 1);
  }
  return all;
}

}  // namespace

void anonymous(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  if (!pod) return;
  const auto& access = subject.facts.kubernetes.hardening.anonymous;
  const std::string* flag = flag_of(*pod, item.name);
  if (const std::string* file = flag_of(*pod, "authentication-config")) {
    if (!access) return out.unknown(fmt::format("{} could not be read", *file));
    if (access->is_set) return judge_conditions(item, *access, *file, out);
  }
  if (flag && as_boolean(*flag) == "false") return out.pass("kube-apiserver has --anonymous-auth=false");
  const auto version = version_of(*pod, subject);
  // Before 1.32 there is only all or none, and kubeadm's own probes and `kubeadm join` need some.
  const bool limits = !version || version->minor >= 32;
  const std::string why = limits
                              ? ""
                              : "; the probes of kubeadm's manifest and `kubeadm join` need them, and only "
                                "Kubernetes 1.32 can limit them to paths";
  out.fail(item.severity, "kube-apiserver accepts anonymous requests" + why, flag_text(item, *pod),
           limits ? remedy(item,
                           "limit anonymous requests to /livez, /readyz and /healthz in a file for "
                           "--authentication-config")
                  : "no change is recommended before Kubernetes 1.32: --anonymous-auth=false breaks the "
                    "probes of the API "
                    "server");
}

void authorizer_is_present(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  const auto modes = pod ? modes_of(*pod, subject, out) : std::nullopt;
  if (!modes || std::ranges::find(*modes, item.want) != modes->end()) return;
  out.fail(item.severity,
           fmt::format("kube-apiserver authorizes by {}, without {}", base::join(*modes, ", "), item.want),
           modes_text(item, *pod), flag_remedy(item, "--authorization-mode=Node,RBAC"));
}

void authorizer_is_absent(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  const auto modes = pod ? modes_of(*pod, subject, out) : std::nullopt;
  if (!modes || std::ranges::find(*modes, item.want) == modes->end()) return;
  out.fail(item.severity, fmt::format("kube-apiserver authorizes every request ({})", item.want),
           modes_text(item, *pod), flag_remedy(item, "--authorization-mode=Node,RBAC"));
}

void always_pull(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  if (!pod) return;
  const std::string* value = flag_of(*pod, item.name);
  const auto parts = parts_of(value ? std::string_view(*value) : std::string_view());
  if (std::ranges::find(parts, item.want) != parts.end()) return;
  out.fail(item.severity,
           "pods can use private images that were pulled with the credentials of others; with "
           "AlwaysPullImages no pod starts without its registry, as in a cluster without internet access",
           flag_text(item, *pod),
           fmt::format("add {} to --{} if every image comes from a registry that is always available",
                       item.want, item.name));
}

/// `want`: the minimum; `unset`: the effect of a log without the limit.
void audit_limit(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  if (!pod) return;
  const std::string fix = flag_remedy(item, fmt::format("--{}={}", item.name, item.want));
  const std::string* log = flag_of(*pod, "audit-log-path");
  if (!log || log->empty())
    return out.fail(item.severity, "kube-apiserver writes no audit log", flag_text(item, *pod), fix);
  const std::string* flag = flag_of(*pod, item.name);
  const auto holds = flag ? base::to_int(*flag) : default_limit(item, version_of(*pod, subject));
  if (flag && !holds)
    return out.unknown(fmt::format("--{}={} is not a number", item.name, base::printable(*flag, 100)));
  if (holds.value_or(0) >= base::to_int(item.want).value_or(0))
    return out.pass(
        fmt::format("kube-apiserver has --{}={}{}", item.name, *holds, flag ? "" : " by default"));
  const std::string message = holds.value_or(0) == 0
                                  ? std::string(item.unset)
                                  : fmt::format("kube-apiserver has --{}={}", item.name, *holds);
  out.fail(item.severity, message, flag_text(item, *pod), fix);
}

/// `want`: the maximum in seconds.
void request_timeout(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  if (!pod) return;
  const std::string* flag = flag_of(*pod, item.name);
  if (!flag) return out.pass(fmt::format("kube-apiserver has --{}={} by default", item.name, item.unset));
  const auto seconds = seconds_of(*flag);
  if (!seconds)
    return out.unknown(fmt::format("--{}={} is not a duration", item.name, base::printable(*flag, 100)));
  if (*seconds > 0 && *seconds <= static_cast<double>(base::to_int(item.want).value_or(0)))
    return out.pass(fmt::format("kube-apiserver has --{}={}", item.name, *flag));
  out.fail(item.severity, fmt::format("kube-apiserver has --{}={}", item.name, *flag), flag_text(item, *pod),
           flag_remedy(item, fmt::format("--{}={}", item.name, item.unset)));
}

void encryption(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  if (!pod) return;
  const std::string* file = flag_of(*pod, item.name);
  const std::string fix = "put secretbox, aescbc or kms first among the providers of secrets";
  if (!file)
    return out.fail(item.severity, "secrets are not encrypted in etcd", flag_text(item, *pod),
                    remedy(item, fix + " in a file for --" + std::string(item.name)));
  const auto& read = subject.facts.kubernetes.hardening.encryption;
  if (!read) return out.unknown(fmt::format("{} could not be read", *file));
  for (const facts::EncryptedResources& entry : *read) {
    const bool secrets = std::ranges::any_of(entry.resources, [](const std::string& name) {
      return name == "secrets" || name == "*." || name == "*.*";
    });
    if (!secrets) continue;
    const std::string& first = entry.providers.front();
    if (!others_than(first, item.want).empty())
      return out.fail(item.severity,
                      first == "identity"
                          ? "secrets are written to etcd without encryption (identity is first)"
                          : fmt::format("secrets are encrypted by {}", first),
                      fmt::format("{}: {}", *file, base::join(entry.providers, ", ")),
                      remedy(item, fix + " in " + *file));
    return out.pass(fmt::format("secrets are encrypted by {}", first));
  }
  out.fail(item.severity, "no provider encrypts secrets", *file + ": no entry for secrets",
           remedy(item, fix + " in " + *file));
}

}  // namespace checks::cis
