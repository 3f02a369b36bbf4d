#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"

#include "checks/security/cis_judges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

/// Judges for modes and owners of files.
namespace checks::cis {

namespace {

using Files = std::map<std::string, facts::FileMode, std::less<>>;

bool matches(std::string_view path, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return path == pattern;
  return path.starts_with(pattern.substr(0, star)) && path.ends_with(pattern.substr(star + 1)) &&
         path.size() >= pattern.size();
}

/// The files of an item; skipped with the reason if there are none.
std::vector<const Files::value_type*> files_of(const Item& item, const Subject& subject, Verdicts& out) {
  const auto& kubernetes = subject.facts.kubernetes;
  const bool plane = kubernetes.admin_conf || std::ranges::count(kubernetes.manifests, "kube-apiserver.yaml");
  std::vector<const Files::value_type*> found;
  if (item.id.starts_with("sec.cis.1.") && !plane) {
    out.skip("the host is not a control plane");
    return found;
  }
  if (!plane && !kubernetes.kubelet_conf) {
    out.skip("the host is not a node yet");
    return found;
  }
  if (!kubernetes.hardening.files) {
    out.unknown("modes and owners of files could not be read");
    return found;
  }
  for (const std::string_view pattern : base::split(item.name, ';'))
    for (const auto& file : *kubernetes.hardening.files)
      if (matches(file.first, pattern)) found.push_back(&file);
  if (found.empty())
    out.skip(fmt::format("there is no {}", base::replace_all(std::string(item.name), ";", ", no ")));
  return found;
}

/// "644 /etc/kubernetes/admin.conf, …", at most five.
std::string some(const std::vector<std::string>& texts) {
  constexpr std::size_t most = 5;
  std::vector<std::string> first(texts.begin(),
                                 texts.begin() + static_cast<std::ptrdiff_t>(std::min(most, texts.size())));
  if (texts.size() > most) first.push_back(fmt::format("{} more", texts.size() - most));
  return base::join(first, ", ");
}

/// A path quoted for a shell.
std::string word(const std::string& path) {
  const bool plain =
      path.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") ==
      std::string::npos;
  return plain ? path : base::quote(path);
}

/// The item for the data directory in etcd's manifest.
Item with_data(const Item& item, const facts::StaticPod& etcd) {
  Item one = item;
  const std::string* folder = flag_of(etcd, "data-dir");
  one.name = folder ? std::string_view(*folder) : "/var/lib/etcd";
  return one;
}

/// The kubelet's client CA file; skipped with the reason if it was not read.
std::optional<std::string> client_authority(const Subject& subject, Verdicts& out) {
  const auto& kubernetes = subject.facts.kubernetes;
  const base::Tree* set = kubernetes.kubelet_config
                              ? kubernetes.kubelet_config->at({"authentication", "x509", "clientCAFile"})
                              : nullptr;
  std::string path = set ? set->text() : "/etc/kubernetes/pki/ca.crt";
  const auto& files = kubernetes.hardening.files;
  if (!files || files->contains(path)) return path;
  if (kubernetes.kubelet_conf) out.unknown(fmt::format("mode and owner of {} were not read", path));
  if (!kubernetes.kubelet_conf) out.skip("the host is not a node yet");
  return std::nullopt;
}

}  // namespace

/// The owner of etcd's data; the benchmark requires etcd.
static void etcd_owner(const Item& item, const Subject& subject, Verdicts& out) {
  const auto files = files_of(item, subject, out);
  if (files.empty()) return;
  const auto& [path, file] = *files.front();
  const std::string owner = file.user + ":" + file.group;
  if (owner == item.want) return out.pass(fmt::format("{} belongs to {}", path, owner));
  if (owner == "root:root")
    return out.fail(item.severity, "etcd's data belongs to root:root, since kubeadm runs etcd as root",
                    fmt::format("{} {}", owner, path),
                    "no change is recommended: a user etcd is one more user that can read every secret, and "
                    "etcd still runs as root");
  out.fail(Severity::warning, fmt::format("etcd's data belongs to {}", owner),
           fmt::format("{} {}", owner, path), "chown root:root " + word(path));
}

void etcd_mode(const Item& item, const Subject& subject, Verdicts& out) {
  if (const auto* etcd = pod_of(subject, "etcd", out)) files_have_mode(with_data(item, *etcd), subject, out);
}

void authority_mode(const Item& item, const Subject& subject, Verdicts& out) {
  const auto path = client_authority(subject, out);
  Item one = item;
  if (path) one.name = *path;
  if (path) files_have_mode(one, subject, out);
}

void authority_owner(const Item& item, const Subject& subject, Verdicts& out) {
  const auto path = client_authority(subject, out);
  Item one = item;
  if (path) one.name = *path;
  if (path) files_have_owner(one, subject, out);
}

void etcd_data_owner(const Item& item, const Subject& subject, Verdicts& out) {
  if (const auto* etcd = pod_of(subject, "etcd", out)) etcd_owner(with_data(item, *etcd), subject, out);
}

void files_have_mode(const Item& item, const Subject& subject, Verdicts& out) {
  unsigned most = 0;
  std::from_chars(item.want.data(), item.want.data() + item.want.size(), most, 8);
  constexpr unsigned write = 022, read = 044, others = 07;
  std::vector<std::string> wrong, names, quoted;
  Severity severity = Severity::note;
  const auto files = files_of(item, subject, out);
  for (const auto* file : files) {
    const unsigned more = file->second.bits & 07777 & ~most;
    if (more == 0) continue;
    wrong.push_back(fmt::format("{:o} {}", file->second.bits, file->first));
    names.push_back(file->first);
    quoted.push_back(word(file->first));
    // Members of root's group count as root.
    const unsigned open = file->second.group == "root" ? more & others : more;
    if ((open & write) != 0 || (item.severity == Severity::warning && (open & read) != 0))
      severity = Severity::warning;
  }
  if (wrong.empty()) return;
  const bool several = names.size() > 1;
  const std::string message =
      severity == Severity::warning
          ? fmt::format("users other than root can access {}", some(names))
          : fmt::format("{} {} more permissions than {}", some(names), several ? "have" : "has", item.want);
  out.fail(severity, message, some(wrong),
           remedy(item, fmt::format("chmod {} {}", item.want, base::join(quoted, " "))));
}

void files_have_owner(const Item& item, const Subject& subject, Verdicts& out) {
  std::vector<std::string> wrong, names, quoted;
  for (const auto* file : files_of(item, subject, out)) {
    const std::string owner = file->second.user + ":" + file->second.group;
    if (owner == item.want) continue;
    wrong.push_back(fmt::format("{} {}", owner, file->first));
    names.push_back(file->first);
    quoted.push_back(word(file->first));
  }
  if (wrong.empty()) return;
  out.fail(Severity::warning,
           fmt::format("{} {} not belong to {}", some(names), names.size() > 1 ? "do" : "does", item.want),
           some(wrong), fmt::format("chown {} {}", item.want, base::join(quoted, " ")));
}

}  // namespace checks::cis
