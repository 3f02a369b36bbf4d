#include "spec/listed/storage_fields.hpp"

#include "gpuadm/base/network.hpp"
#include "gpuadm/spec/storage.hpp"

#include "spec/environment.hpp"

#include <algorithm>
#include <set>

namespace spec {

namespace {

const std::string storage_prefix = "storage[].";
constexpr std::size_t longest_name = 40;  // it is a part of the names of PersistentVolumes and systemd units

bool is_name(const std::string& text) {
  return base::is_dns_name(text) && text.find('.') == std::string::npos && text.size() <= longest_name;
}

/// An absolute path without "." and "..". Other characters have a meaning in systemd units, mount options or
/// the journal.
bool is_path(const std::string& text) {
  if (!text.starts_with('/') || (text.size() > 1 && text.ends_with('/')) || text.size() > 200) return false;
  if (!std::ranges::all_of(text, [](char c) {
        return is_alphanumeric(c) || std::string_view("/._-+@=").find(c) != std::string_view::npos;
      }))
    return false;
  for (const std::string_view part : base::split(std::string_view(text).substr(1), '/'))
    if ((part.empty() && text != "/") || part == "." || part == "..") return false;
  return true;
}

constexpr const char* path_pattern =
    R"(^(?=.{1,200}$)(?!.*/\.\.?(/|$))/([A-Za-z0-9._+@=-]+(/[A-Za-z0-9._+@=-]+)*)?$)";

/// "host[:port]", of a monitor of Ceph.
bool is_monitor(const std::string& text) {
  return is_registry_host(text);
}

bool is_ceph_user(const std::string& text) {
  return text.size() <= 100 && is_alphanumeric(text.front()) && std::ranges::all_of(text, [](char c) {
           return is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
         });
}

/// "ro,vers=4.2". A key would be visible in `mount` and in the unit.
bool are_options(const std::string& text) {
  return std::ranges::all_of(base::split(text, ','), [](std::string_view option) {
    const std::string_view name = option.substr(0, option.find('='));
    return !name.empty() && std::ranges::all_of(option, [](char c) {
      return is_alphanumeric(c) || std::string_view("._-=:/").find(c) != std::string_view::npos;
    });
  });
}

/// Mount options. Those with a key are refused without being printed.
Type<std::string> mount_options() {
  Type<std::string> type =
      text_where("mount options such as ro,vers=4.2", are_options, R"(^(?!.*secret)[-A-Za-z0-9._=:/,]+$)");
  type.read = [any = type.read](const Tree& tree, const std::string& path,
                                Problems& problems) -> std::optional<std::string> {
    if (!tree.is_scalar() || tree.text().find("secret") == std::string::npos)
      return any(tree, path, problems);
    problems.add(tree.mark,
                 fmt::format("{}: a key is visible in mount options; for CephFS, use keyFile", path));
    return std::nullopt;
  };
  return type;
}

/// Folders that gpuadm, the cluster or the system delete or fill.
bool is_reserved(const std::string& path) {
  constexpr std::string_view reserved[] = {"/bin",
                                           "/boot",
                                           "/dev",
                                           "/etc",
                                           "/lib",
                                           "/lib64",
                                           "/proc",
                                           "/run",
                                           "/sbin",
                                           "/srv/gpuadm",
                                           "/sys",
                                           "/tmp",
                                           "/usr",
                                           "/var/lib/containerd",
                                           "/var/lib/cni",
                                           "/var/lib/docker",
                                           "/var/lib/etcd",
                                           "/var/lib/gpuadm",
                                           "/var/lib/kubelet",
                                           "/var/run"};
  return path == "/" || path == "/var" || path == "/var/lib" || path == "/srv" || path == "/home" ||
         path == "/root" || std::ranges::any_of(reserved, [&](std::string_view folder) {
           return path == folder || path.starts_with(std::string(folder) + "/");
         });
}

bool has_word(const char* words, std::string_view word) {
  return std::ranges::count(base::words(words), word) > 0;
}

Type<StorageKind> kind() {
  Type<StorageKind> type = choice_of(storage_kinds, &StorageKindRow::kind);
  return type;
}

std::string kinds_help() {
  std::vector<std::string> parts;
  for (const StorageKindRow& row : storage_kinds)
    parts.push_back(fmt::format("{}: {}", row.name, row.message));
  return base::join(parts, "; ") + ". Required.";
}

}  // namespace

const std::vector<Field<Storage>>& storage_fields() {
  using S = Storage;
  static const std::vector<Field<S>> fields = {
      field<S>(storage_prefix + "name",
               text_where("DNS label of at most 40 characters", is_name,
                          R"(^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$)"),
               {"Name of the storage; unique, required."}, &S::name),
      field<S>(storage_prefix + "kind", kind(), {kinds_help(), "none"}, &S::kind),
      field<S>(storage_prefix + "host", address(), {"local: name of the host with the folder.", "none"},
               &S::host),
      field<S>(storage_prefix + "path",
               text_where("absolute path of letters, digits and ._-+@=", is_path, path_pattern),
               {"local, path: folder on hosts; cephfs: folder in the file system.", "cephfs: /"}, &S::path),
      field<S>(storage_prefix + "server", address(), {"nfs: address of the server.", "none"}, &S::server),
      field<S>(storage_prefix + "export",
               text_where("absolute path of letters, digits and ._-+@=", is_path, path_pattern),
               {"nfs: path that the server exports.", "none"}, &S::exported),
      field<S>(storage_prefix + "monitors",
               list_of("monitors, host[:port]", text_where("host[:port]", is_monitor)),
               {"cephfs: addresses of the monitors.", "none"}, &S::monitors),
      field<S>(storage_prefix + "user",
               text_where("name of a Ceph user, without client.", is_ceph_user,
                          R"(^[A-Za-z0-9][-A-Za-z0-9._]{0,99}$)"),
               {"cephfs: user, without client.", "none"}, &S::user),
      field<S>(storage_prefix + "keyFile", text("path"),
               {"cephfs: local file with the user's key or keyring, mode 0600.",
                "the key that the hosts of the cluster have"},
               &S::key_file),
      field<S>(storage_prefix + "options", mount_options(), {"nfs, cephfs: mount options.", "those of mount"},
               &S::options),
      field<S>(
          storage_prefix + "defaultClass", only_if_true(),
          {"local: make local-path the default StorageClass, with its volumes on this storage.", "false"},
          &S::default_class),
  };
  return fields;
}

namespace {

/// The keys of a kind, as judge_storage_keys judges them: those that it must have, and none of the others.
Tree schema_of_kind(const StorageKindRow& row) {
  Tree properties = Tree::map();
  std::vector<std::string> required;
  for (const std::string_view key : base::words(row.required)) {
    required.emplace_back(key);
    properties.set(key, Tree::map_of({{"not", schema_of_type("null")}}));
  }
  for (const Field<Storage>& field : storage_fields()) {
    const std::string key = field.path.substr(storage_prefix.size());
    if (key != "name" && key != "kind" && !has_word(row.keys, key))
      properties.set(key, schema_of_type("null"));
  }
  const Tree is_kind =
      Tree::map_of({{"properties", Tree::map_of({{"kind", Tree::map_of({{"const", row.name}})}})},
                    {"required", Tree::list_of({"kind"})}});
  return Tree::map_of(
      {{"if", is_kind},
       {"then", Tree::map_of({{"required", Tree::list_of(required)}, {"properties", properties}})}});
}

Tree storage_schema() {
  Tree schema = schema_of_fields(storage_prefix, storage_fields());
  schema.set("type", "object");
  schema.set("required", Tree::list_of({"name", "kind"}));
  Tree::List kinds;
  for (const StorageKindRow& row : storage_kinds) kinds.push_back(schema_of_kind(row));
  schema.set("allOf", std::move(kinds));
  return schema;
}

}  // namespace

Type<std::vector<Storage>> storages() {
  return list_of_maps("storages", storage_prefix, "name, kind …", storage_fields, storage_schema());
}

void judge_storage_keys(const Storage& storage, const Tree& item, Problems& problems) {
  if (!item.is_map()) return;
  const auto has = [&](std::string_view key) {
    const Tree* value = item.find(key);
    return value && !value->is_null();
  };
  for (const char* key : {"name", "kind"})
    if (!has(key)) problems.add(item.mark, fmt::format("{}{}: missing", storage_prefix, key));
  if (!has("kind") || !item.find("kind")->is_string()) return;
  const StorageKindRow& row = row_of(storage.kind);
  if (item.find("kind")->text() != row.name) return;  // an unknown kind is reported already
  for (const auto& [key, value] : item.entries())
    if (key != "name" && key != "kind" && !value.is_null() && !has_word(row.keys, key) &&
        std::ranges::any_of(storage_fields(),
                            [&](const auto& field) { return field.path == storage_prefix + key; }))
      problems.add(value.key_mark,
                   fmt::format("{}{}: not a key of kind {}; it has {}", storage_prefix, key, row.name,
                               base::join(std::vector<std::string>{row.keys}, " ")));
  for (const std::string_view key : base::words(row.required))
    if (!has(key))
      problems.add(item.mark, fmt::format("{}{}: missing for kind {}", storage_prefix, key, row.name));
  const bool on_hosts = storage.kind == StorageKind::local || storage.kind == StorageKind::path;
  if (on_hosts && is_reserved(storage.path))
    problems.add(item.find("path")->mark,
                 fmt::format("{}path: {} belongs to the system, to the cluster or to gpuadm; use a folder "
                             "such as /data",
                             storage_prefix, storage.path));
}

void judge_storage(const Cluster& cluster, const Tree& file, Problems& problems) {
  const Tree* list = file.find("storage");
  if (!list || !list->is_list()) return;
  std::set<std::string> names;
  if (std::ranges::count(cluster.storage, true, &Storage::default_class) > 1)
    problems.add(list->mark, "storage[].defaultClass: only one storage can have it");
  for (std::size_t i = 0; i < cluster.storage.size(); ++i) {
    const Storage& storage = cluster.storage[i];
    const Tree& item = list->items()[i];
    judge_storage_keys(storage, item, problems);
    if (!storage.name.empty() && !names.insert(storage.name).second)
      problems.add(storage.mark, fmt::format("{}name: duplicate name {}", storage_prefix, storage.name));
  }
}

void judge_storage_hosts(const Cluster& cluster, const Tree& file, Problems& problems) {
  const Tree* list = file.find("storage");
  if (!list || !list->is_list()) return;
  std::vector<std::string> hosts;
  for (const Host& host : cluster.hosts) hosts.push_back(host.name);
  for (std::size_t i = 0; i < cluster.storage.size(); ++i) {
    const std::string& name = cluster.storage[i].host;
    const Tree* written = list->items()[i].find("host");
    if (name.empty() || !written || std::ranges::find(hosts, name) != hosts.end()) continue;
    const auto near = base::nearest(name, hosts);
    problems.add(written->mark, fmt::format("{}host: the file has no host named {}{}", storage_prefix, name,
                                            near ? fmt::format(" (did you mean {}?)", *near) : ""));
  }
}

}  // namespace spec
