#include "checks/security/cis.hpp"

#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>

/// Judges for flags of static pods.
namespace checks::cis {

namespace {

bool has_manifest(const Subject& subject, std::string_view part) {
  return std::ranges::count(subject.facts.kubernetes.manifests, fmt::format("{}.yaml", part)) > 0;
}

/// Whether a part of kube-scheduler's configuration is in a file that is not read.
bool is_in_file(const Item& item, const facts::StaticPod& pod, Verdicts& out) {
  const std::string* file = item.part == "kube-scheduler" ? flag_of(pod, "config") : nullptr;
  if (!file || item.name != "profiling") return false;
  out.unknown(fmt::format("kube-scheduler's setting is in {}, which was not read", *file));
  return true;
}

}  // namespace

const facts::StaticPod* pod_of(const Subject& subject, std::string_view part, Verdicts& out) {
  const auto& kubernetes = subject.facts.kubernetes;
  const auto& pods = kubernetes.hardening.static_pods;
  if (const auto place = pods.find(part); place != pods.end()) return &place->second;
  if (subject.facts.software.tools.empty() && subject.facts.software.paths.empty())
    out.unknown("the probe read nothing of this host");
  else if (has_manifest(subject, part))
    out.unknown(fmt::format("the flags of {} could not be read from {}", part, manifest_of(part)));
  else if (kubernetes.admin_conf || has_manifest(subject, "kube-apiserver"))
    out.skip(fmt::format("{} is not a static pod on this host", part));
  else
    out.skip("the host is not a control plane");
  return nullptr;
}

const std::string* flag_of(const facts::StaticPod& pod, std::string_view name) {
  const auto place = pod.flags.find(name);
  return place == pod.flags.end() ? nullptr : &place->second;
}

std::string manifest_of(std::string_view part) {
  return fmt::format("/etc/kubernetes/manifests/{}.yaml", part);
}

std::optional<base::Version> version_of(const facts::StaticPod& pod, const Subject& subject) {
  const std::string& image = pod.image;
  const std::size_t colon = image.rfind(':');
  if (colon != std::string::npos && image.find('@') == std::string::npos)
    if (const auto version = base::Version::parse(image.substr(colon + 1))) return version;
  if (subject.facts.kubernetes.kubelet)
    if (const auto version = base::Version::parse(*subject.facts.kubernetes.kubelet)) return version;
  return subject.kubernetes;
}

std::string flag_text(const Item& item, const facts::StaticPod& pod) {
  if (const std::string* value = flag_of(pod, item.name))
    return fmt::format("{}: --{}={}", manifest_of(item.part), item.name, *value);
  return fmt::format("{}: no --{}", manifest_of(item.part), item.name);
}

std::string_view as_boolean(std::string_view text) {
  constexpr std::string_view yes[] = {"1", "t", "T", "TRUE", "True"},
                             no[] = {"0", "f", "F", "FALSE", "False"};
  if (std::ranges::find(yes, text) != std::end(yes)) return "true";
  return std::ranges::find(no, text) == std::end(no) ? text : "false";
}

bool has_feature(const Item& item, const facts::StaticPod& pod, const Subject& subject, Verdicts& out) {
  const auto version = version_of(pod, subject);
  if (!version || version->minor >= item.since) return true;
  out.skip(fmt::format("Kubernetes {} does not have it; it needs 1.{} or newer", version->minor_text(),
                       item.since));
  return false;
}

std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  for (const std::string_view part : base::split(list, ','))
    if (!base::trim(part).empty()) parts.push_back(part);
  return parts;
}

std::vector<std::string> others_than(std::string_view list, std::string_view allowed) {
  const auto known = parts_of(allowed);
  std::vector<std::string> others;
  for (const std::string_view part : parts_of(list))
    if (std::ranges::find(known, part) == known.end()) others.emplace_back(part);
  return others;
}

std::string remedy(const Item& item, const std::string& what) {
  return what + (item.hardened ? "; for a new cluster: gpuadm init --profile hardened" : "");
}

std::string flag_remedy(const Item& item, const std::string& setting) {
  return remedy(item, fmt::format("set {} in {}", setting, manifest_of(item.part)));
}

void flag_is(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  if (!pod || is_in_file(item, *pod, out)) return;
  const std::string* value = flag_of(*pod, item.name);
  const std::string_view holds = value ? as_boolean(*value) : item.unset;
  if (holds == item.want)
    return out.pass(value ? fmt::format("{} has --{}={}", item.part, item.name, *value)
                          : fmt::format("{} has --{}={} by default", item.part, item.name, item.unset));
  const std::string message =
      value                ? fmt::format("{} has --{}={}", item.part, item.name, *value)
      : item.unset.empty() ? fmt::format("{} has no --{}", item.part, item.name)
                           : fmt::format("{} has --{}={} by default", item.part, item.name, item.unset);
  out.fail(item.severity, message, flag_text(item, *pod),
           flag_remedy(item, fmt::format("--{}={}", item.name, item.want)));
}

void flag_is_absent(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  if (!pod) return;
  const std::string* value = flag_of(*pod, item.name);
  if (!value) return out.pass(fmt::format("{} has no --{}", item.part, item.name));
  out.fail(item.severity, fmt::format("{} has --{}={}", item.part, item.name, *value), flag_text(item, *pod),
           fmt::format("remove --{} from {}", item.name, manifest_of(item.part)));
}

void flags_are_set(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  if (!pod) return;
  std::vector<std::string> missing;
  for (const std::string_view name : parts_of(item.name)) {
    const std::string* value = flag_of(*pod, name);
    if (!value || value->empty()) missing.push_back(fmt::format("--{}", name));
  }
  if (missing.empty()) return;
  const std::string names = base::join(missing, ", ");
  out.fail(item.severity, fmt::format("{} has no {}", item.part, names),
           fmt::format("{}: no {}", manifest_of(item.part), names),
           flag_remedy(item, item.want.empty() ? names : std::string(item.want)));
}

void flag_has(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  if (!pod || !has_feature(item, *pod, subject, out)) return;
  const std::string* value = flag_of(*pod, item.name);
  const auto parts = parts_of(value ? std::string_view(*value) : item.unset);
  if (std::ranges::find(parts, item.want) != parts.end())
    return out.pass(fmt::format("--{} of {} has {}", item.name, item.part, item.want));
  out.fail(item.severity, fmt::format("--{} of {} does not have {}", item.name, item.part, item.want),
           flag_text(item, *pod),
           remedy(item, fmt::format("add {} to --{} in {}", item.want, item.name, manifest_of(item.part))));
}

void flag_lacks(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  if (!pod) return;
  const std::string* value = flag_of(*pod, item.name);
  const auto parts = parts_of(value ? std::string_view(*value) : std::string_view());
  if (std::ranges::find(parts, item.want) == parts.end())
    return out.pass(value ? fmt::format("--{} of {} does not have {}", item.name, item.part, item.want)
                          : fmt::format("{} has no --{}", item.part, item.name));
  out.fail(item.severity, fmt::format("--{} of {} has {}", item.name, item.part, item.want),
           flag_text(item, *pod),
           fmt::format("remove {} from --{} in {}", item.want, item.name, manifest_of(item.part)));
}

std::string_view strong_ciphers() {
  // TLS 1.2 with forward secrecy and authenticated encryption; those of TLS 1.3 cannot be selected in Go.
  return "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,"
         "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305,"
         "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,"
         "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305,"
         "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256";
}

void flag_ciphers(const Item& item, const Subject& subject, Verdicts& out) {
  const facts::StaticPod* pod = pod_of(subject, item.part, out);
  if (!pod) return;
  if (const std::string* least = flag_of(*pod, "tls-min-version"); least && *least == "VersionTLS13")
    return out.pass(fmt::format("{} accepts only TLS 1.3, whose cipher suites are all strong", item.part));
  const std::string setting = fmt::format("--{} to suites of ECDHE with GCM or ChaCha20", item.name);
  const std::string* value = flag_of(*pod, item.name);
  if (!value || value->empty())
    return out.fail(item.severity,
                    fmt::format("{} accepts every cipher suite of its Go version, including CBC", item.part),
                    flag_text(item, *pod), flag_remedy(item, setting));
  const auto weak = others_than(*value, strong_ciphers());
  if (!weak.empty())
    out.fail(item.severity, fmt::format("{} accepts {}", item.part, base::join(weak, ", ")),
             flag_text(item, *pod), flag_remedy(item, setting));
}

}  // namespace checks::cis
