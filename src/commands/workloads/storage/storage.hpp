#pragma once

#include "commands/app.hpp"

#include <string>
#include <vector>

/// `gpuadm storage`: places on hosts that pods share, and claims on them.
namespace commands {

struct StorageAddOptions {
  Common common;
  Hosts hosts;                   ///< all hosts of the cluster; with a file, only the file
  std::string name, kind;        ///< of the storage; kinds: spec::storage_kinds
  std::string host, path;        ///< local, path, cephfs
  std::string server, exported;  ///< nfs
  std::vector<std::string> monitors;
  std::string user, key_file;  ///< cephfs
  std::string mount_options;
  bool default_class = false;  ///< local
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Mounts a storage on every host, tests that all hosts have the same share, and adds it to the cluster file:
/// to the operator's, and to the one on the control plane, from which joining hosts get it.
[[nodiscard]] Result<Outcome> storage_add(const StorageAddOptions& options, Io& io);

struct StorageListOptions {
  Common common;
  Hosts hosts;
  Format format = Format::text;
};
/// Prints every storage with its hosts, claims and space. Changes nothing.
[[nodiscard]] Result<Outcome> storage_list(const StorageListOptions& options, Io& io);

struct StorageRemoveOptions {
  Common common;
  Hosts hosts;
  std::string name;
  bool purge = false;  ///< delete claims and their files, too; asks twice
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Unmounts a storage on every host, and removes it from the cluster file. Outcome::blocked while claims
/// exist, unless they are to be deleted. The data stays, unless it is purged.
[[nodiscard]] Result<Outcome> storage_remove(const StorageRemoveOptions& options, Io& io);

struct StorageClaimOptions {
  Common common;
  Hosts hosts;
  std::string name, storage, size, space = "default", owner;
  Format format = Format::text;
};
/// Makes a folder on a storage, and a PersistentVolume and a PersistentVolumeClaim for it.
[[nodiscard]] Result<Outcome> storage_claim(const StorageClaimOptions& options, Io& io);

}  // namespace commands
