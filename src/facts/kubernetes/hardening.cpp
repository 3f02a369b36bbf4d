#include "facts/kubernetes/hardening.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"

#include "facts/tree/tree.hpp"

#include <fmt/format.h>

#include <charconv>
#include <set>

namespace facts {

namespace {

using base::Tree;

/// "kube-apiserver", "kube-apiserver image=REF", "kube-apiserver --flag=value"; "kube-apiserver !" means that
/// its flags could not be read completely.
std::map<std::string, StaticPod, std::less<>> read_static_pods(const Sections& sections) {
  std::map<std::string, StaticPod, std::less<>> pods;
  std::set<std::string, std::less<>> found, odd;
  const Section* section = sections.find("static-pods");
  if (!section || section->cut) return pods;
  for (const std::string_view line : section->lines) {
    const std::size_t blank = line.find(' ');
    const std::string name(line.substr(0, blank));
    if (blank == std::string_view::npos) {
      found.insert(name);
      pods.try_emplace(name);
      continue;
    }
    std::string_view word = line.substr(blank + 1);
    if (word.starts_with("image=")) pods[name].image = std::string(word.substr(6));
    if (word == "!") odd.insert(name);
    if (!word.starts_with("--")) continue;
    word.remove_prefix(2);
    const std::size_t equals = word.find('=');
    pods[name].flags[std::string(word.substr(0, equals))] =
        equals == std::string_view::npos ? "true" : std::string(word.substr(equals + 1));
  }
  std::erase_if(pods, [&](const auto& pod) { return !found.contains(pod.first) || odd.contains(pod.first); });
  return pods;
}

/// "600 root root /etc/kubernetes/admin.conf"
std::optional<FileModes> read_files(const Sections& sections, std::string_view name) {
  const Section* section = sections.find(name);
  // stat returns an error if a file was removed; its output is still valid.
  if (!section || section->cut || section->status.value_or(2) > 1) return std::nullopt;
  FileModes files;
  for (const std::string_view line : section->lines) {
    const auto words = base::words(line);
    const std::size_t path = line.find(" /");
    FileMode file;
    if (words.size() < 4 || path == std::string_view::npos) continue;
    const auto [end, error] =
        std::from_chars(words[0].data(), words[0].data() + words[0].size(), file.bits, 8);
    if (error != std::errc() || end != words[0].data() + words[0].size()) continue;
    file.user = std::string(words[1]);
    file.group = std::string(words[2]);
    files.emplace(line.substr(path + 1), std::move(file));
  }
  return files;
}

/// The document of a section with this kind; null if it is truncated, another kind, or invalid.
Tree document(const Sections& sections, const std::string& name, std::string_view kind) {
  const Section* section = sections.find("kube-apiserver/" + name);
  if (!section || section->cut) return {};
  auto tree = base::yaml::read(section->text(), name, base::yaml::Dialect::kubernetes);
  const Tree* given = tree ? tree->find("kind") : nullptr;
  return given && given->text() == kind ? std::move(*tree) : Tree();
}

/// "level Metadata" lines below the line with the file's kind.
std::optional<std::vector<std::string>> words_in(const Sections& sections, const std::string& name,
                                                 std::string_view kind, std::string_view key) {
  const Section* section = sections.find("kube-apiserver/" + name);
  if (!section || section->cut) return std::nullopt;
  std::optional<std::vector<std::string>> values;
  for (const std::string_view line : section->lines) {
    const auto words = base::words(line);
    if (words.size() != 2) continue;
    if (words[0] == "kind:" && words[1] == kind) values.emplace();
    if (values && words[0] == key) values->emplace_back(words[1]);
  }
  return values;
}

std::optional<std::vector<EncryptedResources>> read_encryption(const Sections& sections) {
  const Tree tree = document(sections, "encryption-provider-config", "EncryptionConfiguration");
  const Tree* entries = tree.find("resources");
  if (!entries || entries->items().empty()) return std::nullopt;
  std::vector<EncryptedResources> all;
  for (const Tree& entry : entries->items()) {
    EncryptedResources one;
    if (const Tree* resources = entry.find("resources"))
      for (const Tree& name : resources->items()) one.resources.push_back(name.text());
    if (const Tree* providers = entry.find("providers"))
      for (const Tree& provider : providers->items())
        if (!provider.entries().empty()) one.providers.push_back(provider.entries().front().first);
    if (one.resources.empty() || one.providers.empty()) return std::nullopt;
    all.push_back(std::move(one));
  }
  return all;
}

std::optional<AnonymousAccess> read_anonymous(const Sections& sections) {
  const Tree tree = document(sections, "authentication-config", "AuthenticationConfiguration");
  if (!tree.is_map()) return std::nullopt;
  AnonymousAccess access;
  const Tree* anonymous = tree.find("anonymous");
  if (!anonymous) return access;
  const Tree* enabled = anonymous->find("enabled");
  // Without a boolean `enabled`, the meaning of the file is unknown.
  if (!enabled || !enabled->as_bool()) return std::nullopt;
  access.is_set = true;
  access.enabled = *enabled->as_bool();
  if (const Tree* conditions = anonymous->find("conditions"))
    for (const Tree& condition : conditions->items()) {
      const Tree* path = condition.find("path");
      if (!path) return std::nullopt;
      access.paths.push_back(path->text());
    }
  return access;
}

std::optional<std::string> enforced(const Tree& configuration) {
  const Tree* level = configuration.at({"defaults", "enforce"});
  return level ? std::optional(level->text()) : std::nullopt;
}

std::optional<AdmissionConfig> read_admission(const Sections& sections) {
  const Tree tree = document(sections, "admission-control-config-file", "AdmissionConfiguration");
  if (!tree.is_map()) return std::nullopt;
  AdmissionConfig admission;
  const Tree* plugins = tree.find("plugins");
  for (const Tree& plugin : plugins ? plugins->items() : Tree::List()) {
    const Tree* name = plugin.find("name");
    if (!name) return std::nullopt;
    admission.plugins.push_back(name->text());
    if (name->text() != "PodSecurity") continue;
    if (const Tree* configuration = plugin.find("configuration")) {
      admission.enforce = enforced(*configuration);
      continue;
    }
    const Tree file = document(sections, "pod-security", "PodSecurityConfiguration");
    admission.pod_security_unread = !file.is_map();
    admission.enforce = enforced(file);
  }
  return admission;
}

/// Flags in `Environment=` and `ExecStart=` of the drop-ins of the kubelet's unit. A drop-in in /etc hides
/// one of the same name in /usr/lib.
std::vector<std::string> read_unit_flags(const Sections& sections) {
  std::map<std::string, const Section*> files;
  for (const std::string folder :
       {"/usr/lib/systemd/system/kubelet.service.d/", "/etc/systemd/system/kubelet.service.d/"})
    sections.each(folder, ".conf", [&](const std::string& name, const Section& section) {
      files[name.substr(folder.size())] = &section;
    });
  std::vector<std::string> flags;
  for (const auto& [name, section] : files)
    for (const std::string_view line : section->lines) {
      const std::string_view text = base::trim(line);
      if (!text.starts_with("Environment=") && !text.starts_with("ExecStart=")) continue;
      const std::string plain =
          base::replace_all(base::replace_all(std::string(text), "\"", " "), "=--", "= --");
      for (const std::string_view word : base::words(plain))
        if (word.starts_with("--")) flags.emplace_back(word);
    }
  return flags;
}

Tree static_pod_tree(const StaticPod& pod) {
  Tree flags = Tree::map();
  for (const auto& [name, value] : pod.flags) flags.set(name, value);
  return Tree::map_of({{"image", pod.image}, {"flags", flags}});
}

Tree encrypted_tree(const EncryptedResources& one) {
  return Tree::map_of(
      {{"resources", Tree::list_of(one.resources)}, {"providers", Tree::list_of(one.providers)}});
}

Tree anonymous_tree(const AnonymousAccess& access) {
  if (!access.is_set) return Tree::map();
  return Tree::map_of({{"enabled", access.enabled}, {"paths", Tree::list_of(access.paths)}});
}

Tree admission_tree(const AdmissionConfig& admission) {
  return Tree::map_of({{"plugins", Tree::list_of(admission.plugins)},
                       {"podSecurityEnforce", tree_of(admission.enforce)},
                       {"podSecurityUnread", admission.pod_security_unread}});
}

Tree files_tree(const std::optional<FileModes>& files) {
  if (!files) return {};
  Tree tree = Tree::map();
  for (const auto& [path, file] : *files)
    tree.set(path,
             Tree::map_of(
                 {{"mode", fmt::format("{:04o}", file.bits)}, {"user", file.user}, {"group", file.group}}));
  return tree;
}

}  // namespace

Hardening read_hardening(const Sections& sections) {
  return {.static_pods = read_static_pods(sections),
          .files = read_files(sections, "file-modes"),
          .folders = read_files(sections, "folders"),
          .encryption = read_encryption(sections),
          .audit_levels = words_in(sections, "audit-policy-file", "Policy", "level"),
          .authorizers = words_in(sections, "authorization-config", "AuthorizationConfiguration", "type"),
          .anonymous = read_anonymous(sections),
          .admission = read_admission(sections),
          .unit_flags = read_unit_flags(sections)};
}

Tree hardening_tree(const Hardening& h) {
  Tree pods = Tree::map();
  for (const auto& [name, pod] : h.static_pods) pods.set(name, static_pod_tree(pod));
  return Tree::map_of({{"staticPods", pods},
                       {"files", files_tree(h.files)},
                       {"folders", files_tree(h.folders)},
                       {"encryption", h.encryption ? list_of(*h.encryption, encrypted_tree) : Tree()},
                       {"auditLevels", h.audit_levels ? Tree::list_of(*h.audit_levels) : Tree()},
                       {"authorizers", h.authorizers ? Tree::list_of(*h.authorizers) : Tree()},
                       {"anonymous", h.anonymous ? anonymous_tree(*h.anonymous) : Tree()},
                       {"admission", h.admission ? admission_tree(*h.admission) : Tree()},
                       {"unitFlags", Tree::list_of(h.unit_flags)}});
}

}  // namespace facts
