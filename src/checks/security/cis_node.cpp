#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"
#include "checks/security/cis_judges.hpp"

#include <fmt/format.h>

#include <algorithm>

/// Judges for the kubelet and kube-proxy.
namespace checks::cis {

namespace {

constexpr std::string_view file = "/var/lib/kubelet/config.yaml";

/// The value of a flag of the kubelet, or nothing if it is not set. Flags in its files follow those of its
/// unit, and override them.
std::optional<std::string> kubelet_flag(const Subject& subject, std::string_view name) {
  if (name.empty()) return std::nullopt;
  std::optional<std::string> value;
  const auto& kubernetes = subject.facts.kubernetes;
  const std::string all = base::join(kubernetes.hardening.unit_flags, " ") + " " + kubernetes.kubelet_flags;
  const auto words = base::words(all);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) continue;
    const std::string_view word = words[i].substr(2);
    const std::size_t equals = word.find('=');
    if (word.substr(0, equals) != name) continue;
    if (equals != std::string_view::npos)
      value = std::string(word.substr(equals + 1));
    else
      value = i + 1 < words.size() && !words[i + 1].starts_with("-") ? std::string(words[i + 1]) : "true";
  }
  return value;
}

/// A setting of the kubelet, and its location.
struct Setting {
  std::string value;     ///< of a list, its items separated by ","; empty: not set
  std::string evidence;  ///< "/var/lib/kubelet/config.yaml: readOnlyPort: 10255"
  bool by_flag = false;
};

std::string text_of(const base::Tree& tree) {
  if (!tree.is_list()) return tree.text();
  std::vector<std::string> items;
  for (const base::Tree& item : tree.items()) items.push_back(item.text());
  return base::join(items, ",");
}

/// The setting `name` ("authentication.anonymous.enabled"), or the flag that overrides it.
Setting read_setting(const Subject& subject, std::string_view name, std::string_view flag) {
  if (auto value = kubelet_flag(subject, flag))
    return {*value, fmt::format("the kubelet's --{}={}", flag, *value), true};
  const base::Tree* tree = &*subject.facts.kubernetes.kubelet_config;
  for (const std::string_view key : base::split(name, '.'))
    if (tree) tree = tree->find(key);
  const std::string value = tree ? text_of(*tree) : std::string();
  if (value.empty()) return {{}, fmt::format("{}: no {}", file, name)};
  return {value, fmt::format("{}: {}: {}", file, name, value)};
}

/// Whether the kubelet's configuration is known; skipped with the reason otherwise.
bool is_readable(const Subject& subject, Verdicts& out) {
  const auto& kubernetes = subject.facts.kubernetes;
  if (!kubernetes.kubelet_conf && !kubernetes.kubelet_config && kubernetes.kubelet_config_error.empty())
    out.skip("the host is not a node yet");
  else if (!kubernetes.kubelet_config)
    out.unknown(fmt::format("{} could not be read", file));
  else if (const auto config = kubelet_flag(subject, "config"); config && *config != file)
    out.unknown(fmt::format("the kubelet reads {}, which was not read", *config));
  else if (const auto folder = kubelet_flag(subject, "config-dir"))
    out.unknown(fmt::format("the kubelet also reads {}, which was not read", *folder));
  else
    return true;
  return false;
}

std::string fix_of(const Item& item, std::string_view value) {
  return remedy(item, fmt::format("set {}: {} in {} and restart the kubelet", item.name, value, file));
}

/// Removes the flag if it is wrong.
std::string fix_of(const Item& item, const Setting& setting, std::string_view value) {
  return setting.by_flag
             ? fmt::format("remove --{} from the kubelet's flags, set {}: {} in {} and restart it", item.flag,
                           item.name, value, file)
             : fix_of(item, value);
}

bool bootstraps_certificate(const Subject& subject) {
  return as_boolean(read_setting(subject, "serverTLSBootstrap", "").value) == "true";
}

}  // namespace

/// The setting has the value `want`; if it is not set, `unset` applies.
void setting_is(const Item& item, const Subject& subject, Verdicts& out) {
  if (!is_readable(subject, out)) return;
  if (item.since > 0 && kubernetes_before(subject, item.since))
    return out.skip(fmt::format("it needs Kubernetes 1.{} or newer", item.since));
  const Setting setting = read_setting(subject, item.name, item.flag);
  const bool is_set = !setting.value.empty();
  const std::string_view holds = is_set ? as_boolean(setting.value) : item.unset;
  // 0 and 1 are numbers if a number is required.
  if (holds == item.want || (is_set && setting.value == item.want))
    return out.pass(fmt::format("{} is {}{}", item.name, item.want, is_set ? "" : " by default"));
  out.fail(item.severity,
           is_set ? fmt::format("the kubelet has {}: {}", item.name, setting.value)
                  : fmt::format("the kubelet has {}: {} by default", item.name, item.unset),
           setting.evidence, fix_of(item, setting, item.want));
}

/// The setting does not have the value `want`.
void setting_is_not(const Item& item, const Subject& subject, Verdicts& out) {
  if (!is_readable(subject, out)) return;
  const Setting setting = read_setting(subject, item.name, item.flag);
  const bool is_set = !setting.value.empty();
  if (setting.value != item.want)
    return out.pass(fmt::format("{} is {}{}", item.name, is_set ? setting.value : std::string(item.unset),
                                is_set ? "" : " by default"));
  out.fail(item.severity, fmt::format("the kubelet has {}: {}", item.name, setting.value), setting.evidence,
           fix_of(item, setting, item.unset));
}

void has_client_authority(const Item& item, const Subject& subject, Verdicts& out) {
  if (!is_readable(subject, out)) return;
  const Setting setting = read_setting(subject, item.name, item.flag);
  if (!setting.value.empty()) return out.pass(fmt::format("{} is {}", item.name, setting.value));
  out.fail(item.severity, "the kubelet has no authority for client certificates", setting.evidence,
           fix_of(item, item.want));
}

/// In the file, 0 means the default of 4 hours; as a flag, it means that nothing is closed.
void streams_end(const Item& item, const Subject& subject, Verdicts& out) {
  if (!is_readable(subject, out)) return;
  const Setting setting = read_setting(subject, item.name, item.flag);
  const bool is_zero = setting.value.empty() || setting.value.find_first_of("123456789") == std::string::npos;
  if (!is_zero) return out.pass(fmt::format("{} is {}", item.name, setting.value));
  if (!setting.by_flag) return out.pass(fmt::format("{} is {} by default", item.name, item.unset));
  out.fail(item.severity, "idle connections of exec, attach and port-forward are never closed",
           setting.evidence, fix_of(item, setting, item.want));
}

void has_no_other_name(const Item& item, const Subject& subject, Verdicts& out) {
  if (!is_readable(subject, out)) return;
  const auto name = kubelet_flag(subject, item.flag);
  if (!name) return out.pass(fmt::format("the kubelet has no --{}", item.flag));
  if (*name == base::lower(subject.facts.machine.hostname))
    return out.pass(fmt::format("--{} is the host's name", item.flag));
  out.fail(item.severity,
           fmt::format("the node name {} differs from the host name; kubeadm sets this flag if the node was "
                       "given another name",
                       *name),
           fmt::format("the kubelet's --{}={}", item.flag, *name),
           "no change is recommended: a node cannot be renamed; to change it, remove the node, rename the "
           "host and "
           "node name where a new node is made");
}

/// `want`: the minimum of events per second; 0 means no limit.
void records_events(const Item& item, const Subject& subject, Verdicts& out) {
  if (!is_readable(subject, out)) return;
  const Setting setting = read_setting(subject, item.name, item.flag);
  if (setting.value.empty())
    return out.pass(
        fmt::format("{} is {} by default", item.name, kubernetes_before(subject, 27) ? "5" : "50"));
  const auto number = base::to_int(setting.value);
  if (!number) return out.unknown(setting.evidence + " is not a number");
  if (*number == 0 || *number >= base::to_int(item.want).value_or(0))
    return out.pass(fmt::format("{} is {}", item.name, *number));
  out.fail(item.severity, fmt::format("the kubelet records at most {} events a second", *number),
           setting.evidence, fix_of(item, setting, item.unset));
}

void has_certificate(const Item& item, const Subject& subject, Verdicts& out) {
  if (!is_readable(subject, out)) return;
  const Setting certificate = read_setting(subject, "tlsCertFile", "tls-cert-file");
  const Setting key = read_setting(subject, "tlsPrivateKeyFile", "tls-private-key-file");
  if (!certificate.value.empty() && !key.value.empty())
    return out.pass(fmt::format("the kubelet serves {}", certificate.value));
  if (bootstraps_certificate(subject))
    return out.pass("the kubelet gets its serving certificate from the cluster (serverTLSBootstrap)");
  out.fail(item.severity, "the kubelet serves a certificate that it signed itself",
           fmt::format("{}: no serverTLSBootstrap, no tlsCertFile", file),
           remedy(item, fmt::format("set serverTLSBootstrap: true in {}, restart the kubelet and approve its "
                                    "request: kubectl certificate approve",
                                    file)));
}

void rotates_certificate(const Item& item, const Subject& subject, Verdicts& out) {
  if (!is_readable(subject, out)) return;
  const base::Tree* gate =
      subject.facts.kubernetes.kubelet_config->at({"featureGates", "RotateKubeletServerCertificate"});
  const auto gates = kubelet_flag(subject, "feature-gates").value_or("");
  const auto parts = parts_of(gates);
  const bool off = std::ranges::any_of(parts, [](std::string_view part) {
    return part.starts_with("RotateKubeletServerCertificate=") && as_boolean(part.substr(31)) == "false";
  });
  if (off || (gate && gate->as_bool() == false))
    return out.fail(item.severity, "the feature gate RotateKubeletServerCertificate is off",
                    off ? "the kubelet's --feature-gates=" + gates : std::string(file) + ": featureGates",
                    "remove RotateKubeletServerCertificate from the kubelet's feature gates and restart it");
  out.pass(bootstraps_certificate(subject)
               ? "the serving certificate from the cluster is rotated"
               : "the gate is on by default; without serverTLSBootstrap there is nothing to rotate "
                 "(sec.cis.4.2.9)");
}

void has_strong_ciphers(const Item& item, const Subject& subject, Verdicts& out) {
  if (!is_readable(subject, out)) return;
  if (read_setting(subject, "tlsMinVersion", "tls-min-version").value == "VersionTLS13")
    return out.pass("the kubelet accepts only TLS 1.3, whose cipher suites are all strong");
  const Setting setting = read_setting(subject, item.name, item.flag);
  constexpr std::string_view wanted = "suites of ECDHE with GCM or ChaCha20";
  if (setting.value.empty())
    return out.fail(item.severity, "the kubelet accepts every cipher suite of its Go version, including CBC",
                    setting.evidence, fix_of(item, wanted));
  const auto weak = others_than(setting.value, strong_ciphers());
  if (!weak.empty())
    out.fail(item.severity, fmt::format("the kubelet accepts {}", base::join(weak, ", ")), setting.evidence,
             fix_of(item, setting, wanted));
}

void limits_processes(const Item& item, const Subject& subject, Verdicts& out) {
  if (!is_readable(subject, out)) return;
  const Setting setting = read_setting(subject, item.name, item.flag);
  const auto number = base::to_int(setting.value);
  if (!setting.value.empty() && !number) return out.unknown(setting.evidence + " is not a number");
  if (number && *number > 0) return out.pass(fmt::format("a pod has at most {} processes", *number));
  out.fail(item.severity, "a pod can use all process numbers of its node", setting.evidence,
           fix_of(item, setting, item.want));
}

/// kube-proxy has no file on the host: its listening address is checked.
void proxy_listens_on_loopback(const Item& item, const Subject& subject, Verdicts& out) {
  if (!subject.facts.kubernetes.kubelet_conf) return out.skip("the host is not a node yet");
  const auto& listeners = subject.facts.network.listeners;
  if (!listeners) return out.unknown("listening ports could not be read");
  constexpr int port = 10249;
  bool found = false;
  for (const facts::Listener& one : *listeners) {
    if (one.port != port || !(one.process.empty() || one.process.starts_with("kube-proxy"))) continue;
    found = true;
    if (one.address.starts_with("127.") || one.address == "::1" || one.address == "[::1]") continue;
    return out.fail(item.severity, "other hosts can read kube-proxy's metrics",
                    fmt::format("kube-proxy listens on {}:{}", one.address, port),
                    remedy(item,
                           "set metricsBindAddress: 127.0.0.1:10249 in the ConfigMap kube-proxy of "
                           "kube-system and restart its pods"));
  }
  if (found) return out.pass("kube-proxy serves its metrics on the loopback address");
  out.skip("kube-proxy serves no metrics on this host");
}

}  // namespace checks::cis
