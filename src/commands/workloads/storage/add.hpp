#pragma once

#include "commands/command.hpp"

#include <string>
#include <vector>

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

}  // namespace commands
