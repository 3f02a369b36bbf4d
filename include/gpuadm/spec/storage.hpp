#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <array>
#include <string>
#include <string_view>

/// Storage: where it is on hosts, and how it is written in a cluster file.
namespace spec {

/// What gpuadm knows about a kind of storage.
struct StorageKindRow {
  StorageKind kind;
  const char* name;
  const char* message;
  const char* keys;      ///< that it can have, in addition to name and kind, separated by blanks
  const char* required;  ///< those that it must have
};

inline constexpr std::array<StorageKindRow, 4> storage_kinds = {{
    {StorageKind::local, "local", "a folder on one host", "host path defaultClass", "host path"},
    {StorageKind::path, "path", "a folder that every host has, on a share that you mount", "path", "path"},
    {StorageKind::nfs, "nfs", "an NFS export", "server export options", "server export"},
    {StorageKind::cephfs, "cephfs", "a folder of CephFS", "monitors path user keyFile options",
     "monitors user"},
}};

[[nodiscard]] constexpr const StorageKindRow& row_of(StorageKind kind) {
  for (const StorageKindRow& row : storage_kinds)
    if (row.kind == kind) return row;
  return storage_kinds.front();
}

/// Whether gpuadm mounts it on every host.
[[nodiscard]] constexpr bool is_mounted(StorageKind kind) {
  return kind == StorageKind::nfs || kind == StorageKind::cephfs;
}

/// The folder on hosts: its own, or the mount point /srv/gpuadm/NAME. It is not below /var/lib/gpuadm, which
/// reset deletes.
[[nodiscard]] std::string place_of(const Storage& storage);
/// The folder gpuadm-NAME on the share. It is made once the share is mounted, so a host without the share
/// does not have it.
[[nodiscard]] std::string marker_of(const Storage& storage);
/// What is mounted: "nas.lab:/export", "10.0.0.1,10.0.0.2:/ml"; otherwise the folder.
[[nodiscard]] std::string source_of(const Storage& storage);
/// Whether a host has it: local storage is on one host only.
[[nodiscard]] bool is_on(const Storage& storage, const Host& host);

/// The storage that the default StorageClass uses, or nullptr.
[[nodiscard]] const Storage* find_default_class(const Cluster& cluster);

/// The storage of that name, or nullptr.
[[nodiscard]] const Storage* find_storage(const Cluster& cluster, std::string_view name);

/// A storage from the values of its keys, as validated in a cluster file. Fault::usage with all problems.
[[nodiscard]] Result<Storage> read_storage(const base::Tree& values);
/// The opposite, without the key.
[[nodiscard]] base::Tree to_tree(const Storage& storage);

/// The text of a cluster file with one more storage; everything else, comments included, stays as it is.
/// Fault::spec if the result would not be valid, or if `storage` is written in a form that cannot be
/// extended.
[[nodiscard]] Result<std::string> with_storage(std::string_view file, std::string_view source,
                                               const Storage& storage);
/// The text of a cluster file without that storage. Fault::spec if its lines cannot be removed alone.
[[nodiscard]] Result<std::string> without_storage(std::string_view file, std::string_view source,
                                                  std::string_view name);

/// The key in a file of Ceph: one line with the key, or a keyring with `key = …`. Fault::usage if it has
/// none; the message does not contain it.
[[nodiscard]] Result<std::string> ceph_key_in(std::string_view text, const std::string& source);

}  // namespace spec
